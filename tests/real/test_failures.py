"""Starts that fail, and what the product says about them."""

from __future__ import annotations

from tests.real.machine import Engine, RealMachine
from tests.real.servers import choose_port

NO_MEMORY = {
    "0.5.11": "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    "0.5.23": "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=1e-05.",
}


def assert_fails(machine: RealMachine, cause: str, returncode: int, *flags: str) -> None:
    """`launch --wait` has status 1 and tells the cause, `ps` as well, and nothing is left."""
    done = machine.run("launch", "--wait", "--force", *machine.launch_words("one", *flags, port=choose_port()))
    assert done.returncode == 1, done.stderr
    assert cause in done.stderr
    row = machine.ps("one")
    assert row["state"] == "failed"
    assert row["cause"].startswith(cause)
    server = machine.find("one")
    ended = server.wait_for_end()
    assert (ended["returncode"], ended["asked"], ended["was_ready"]) == (returncode, False, False)
    assert server.processes() == {}


def test_an_unknown_flag(real_machine: RealMachine) -> None:
    cause = "sglang serve: error: unrecognized arguments: --no-such-flag 3"
    assert_fails(real_machine, cause, 2, "--no-such-flag", "3")


def test_a_value_that_is_no_number(real_machine: RealMachine) -> None:
    cause = "sglang serve: error: argument --mem-fraction-static: invalid float value: 'abc'"
    assert_fails(real_machine, cause, 2, "--mem-fraction-static", "abc")


def test_a_model_that_nobody_has(real_machine: RealMachine) -> None:
    cause = "OSError: We couldn't connect to "
    assert_fails(real_machine, cause, 1, "--model-path", "nobody/no-such-model")


def test_not_enough_memory(real_machine: RealMachine, engine: Engine) -> None:
    """The scheduler fails, and the main process ends all of it with SIGKILL: -9 isn't the kernel's doing."""
    assert_fails(real_machine, NO_MEMORY[engine.release], -9, "--mem-fraction-static", "0.00001")
