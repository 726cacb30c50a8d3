"""Launching again with adjusted flags: the old server goes only for one that can take its place."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from tests.support.command_line import CommandLine
from tests.support.keeping import is_running

MODEL = "Qwen/Qwen3-0.6B"
KEY = "api-key=sesame"
STORY = (
    *("--mem-fraction-static", "0.8", "--mamba-scheduler-strategy", "extra_buffer"),
    *("--speculative-algorithm", "EAGLE", "--speculative-num-steps", "3"),
    *("--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4"),
)


def argv_of(launch: Path) -> list[str]:
    words: list[str] = json.loads((launch / "launch.json").read_bytes())["argv"]
    return words


def value_of(argv: list[str], option: str) -> str | None:
    return argv[argv.index(option) + 1] if option in argv else None


def test_the_story_ends_well(command_line: CommandLine, unused_tcp_port: int) -> None:
    """It fails as typed; eight requests fit, and the flags of an attempt that failed aren't gone back to."""
    place = ("--name", "story", "--port", str(unused_tcp_port))
    launch = ("launch", "--model", "Qwen/Qwen3.6-27B", *place, "--force", "--wait", "--", *STORY)
    assert command_line.run(*launch).returncode == 1
    done = command_line.run("relaunch", "story", "--set", "max-running-requests=8", "--wait")
    assert done.returncode == 0, done.stderr
    assert "+ --max-running-requests 8" in done.stderr
    assert command_line.ps("story")["state"] == "ready"
    failed, ready = command_line.launches("story")
    assert argv_of(ready)[: len(argv_of(failed))] == argv_of(failed)
    assert command_line.json("history", "story")[-1]["changed"] == ["--max-running-requests 8"]

    refused = command_line.run("relaunch", "story", "--back")
    assert refused.returncode == 1
    assert "no earlier launch of story became ready" in refused.stderr
    command_line.ok("stop", "story")


def test_a_running_server_is_replaced_in_its_place(command_line: CommandLine, unused_tcp_port: int) -> None:
    place = ("--name", "small", "--port", str(unused_tcp_port))
    command_line.ok("launch", "--model", MODEL, *place, "--wait", "--", "--max-total-tokens", "32768")
    old = command_line.ps("small")
    changes = ("--set", "max-total-tokens=16384", "--set", "trust-remote-code", "--unset", "log-level")
    done = command_line.run("relaunch", "small", *changes, "--wait")
    assert done.returncode == 0, done.stderr
    changed = [line.removeprefix("sgltui: ") for line in done.stderr.splitlines()]
    assert changed[:3] == ["- --max-total-tokens 32768", "+ --max-total-tokens 16384", "+ --trust-remote-code"]
    new = command_line.ps("small")
    assert not is_running(old["pid"])
    assert (new["state"], new["port"], new["gpus"]) == ("ready", old["port"], old["gpus"])
    assert new["memory_gib"] < old["memory_gib"]
    first, second = map(argv_of, command_line.launches("small"))
    assert value_of(second, "--max-total-tokens") == "16384"
    assert "--trust-remote-code" in second
    assert value_of(first, "--port") == value_of(second, "--port") == str(old["port"])

    back = command_line.run("relaunch", "small", "--back", "--wait")
    assert back.returncode == 0, back.stderr
    assert "+ --max-total-tokens 32768" in back.stderr
    third = argv_of(command_line.launches("small")[-1])
    assert value_of(third, "--max-total-tokens") == "32768"
    assert "--trust-remote-code" not in third


def test_what_cannot_be_launched_stops_nothing(command_line: CommandLine) -> None:
    """Nor does a secret that was typed by hand: nobody has kept it."""
    flags = ("--max-total-tokens", "32768", "--api-key", "sesame")
    command_line.ok("launch", "--model", MODEL, "--name", "small", "--wait", "--", *flags)
    old = command_line.ps("small")
    taken = socket.create_server(("127.0.0.1", 0))
    for status, says, arguments in (
        (
            2,
            "has no flag --max-runing-requests; did you mean max-running-requests",
            ("--set", KEY, "--set", "max-runing-requests=8"),
        ),
        (
            2,
            "--max-running-requests many: must be a whole number",
            ("--set", KEY, "--set", "max-running-requests=many"),
        ),
        (3, "it won't fit", ("--set", KEY, "--set", "mem-fraction-static=0.001")),
        (1, "refuse it: --context-length is 0", ("--set", KEY, "--set", "context-length=0")),
        (1, "there is no GPU 7", ("--set", KEY, "--on", "7")),
        (1, "is taken by", ("--set", KEY, "--set", f"port={taken.getsockname()[1]}")),
        (1, "the value of --api-key isn't on record", ()),
    ):
        done = command_line.run("relaunch", "small", *arguments)
        assert (done.returncode, done.stdout) == (status, ""), done.stderr
        assert says in done.stderr
    shown = command_line.run("relaunch", "small", "--set", KEY, "--set", "max-total-tokens=16384", "--dry-run")
    assert shown.returncode == 0
    assert "--max-total-tokens 16384" in shown.stdout
    assert "sesame" not in shown.stdout + shown.stderr
    taken.close()
    now = command_line.ps("small")
    assert (now["pid"], now["state"], now["launch"]) == (old["pid"], "ready", old["launch"])
    command_line.ok("stop", "small")


def test_secrets_come_from_where_they_came_from(command_line: CommandLine) -> None:
    command_line.write_preset(
        "safe",
        f'model = "{MODEL}"\n[flags]\nmax-total-tokens = 32768\napi-key = {{ env = "MY_KEY" }}\n'
        '[env]\nHF_TOKEN = { env = "MY_TOKEN" }\n',
    )
    known = {"MY_KEY": "sesame-1", "MY_TOKEN": "sesame-2"}
    command_line.ok("launch", "safe", "--wait", env=known)
    old = command_line.ps("safe")
    refused = command_line.run("relaunch", "safe", "--set", "max-total-tokens=16384", env={"MY_KEY": "sesame-1"})
    assert refused.returncode == 1
    assert "MY_TOKEN, which isn't set" in refused.stderr
    assert command_line.ps("safe")["pid"] == old["pid"], "still running"

    done = command_line.run("relaunch", "safe", "--set", "max-total-tokens=16384", "--wait", env=known)
    assert done.returncode == 0, done.stderr
    assert "sesame" not in done.stdout + done.stderr
    environment = Path(f"/proc/{command_line.ps('safe')['pid']}/environ").read_bytes().split(b"\0")
    assert b"HF_TOKEN=sesame-2" in environment
    assert b"sesame-1" in Path(f"/proc/{command_line.ps('safe')['pid']}/cmdline").read_bytes().split(b"\0")
    for path in command_line.places.instances.rglob("*.json*"):
        assert b"sesame" not in path.read_bytes(), path.name
    command_line.ok("stop", "safe")
