"""The simulated machine: its memory, its GPUs, its interpreter."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.support.recordings import recorded
from tests.support.simulated import (
    Server,
    read_gpu,
    read_titles,
    used,
)
from tui.gpu.simulated import SimulatedReader
from tui.machine_file import ForeignProcess
from tui.simulator.machine import Machine, create_machine, default_gpus, make_gpu

GIB = 1 << 30


def test_memory_in_the_log_is_the_memory_that_readers_see(
    make_machine: Callable[..., Machine], start_server: Callable[..., Server]
) -> None:
    gpus = default_gpus()
    machine = make_machine(foreign=[ForeignProcess(gpus[0].uuid, 4242, "mallory", "python train.py", 20000)])
    server = start_server(machine)
    server.wait_until_ready()
    gpu = read_gpu(machine)
    assert gpu.memory is not None
    assert f"available_gpu_mem={gpu.memory.free_bytes / GIB:.2f} GB" in server.log
    assert [(process.user, process.command) for process in gpu.processes if process.pid == 4242] == [
        ("mallory", "python train.py")
    ]
    holders = [process for process in gpu.processes if process.command == "sglang::scheduler"]
    assert sum(process.used_bytes or 0 for process in gpu.processes) == gpu.memory.used_bytes
    assert len(holders) == 1
    # The first figure is what was free before the load: all but the reserve, the foreigner and CUDA's own 700 MiB.
    assert f"Load weight begin. avail mem={(97887 - 614 - 20000 - 700) / 1024:.2f} GB" in server.log


def test_weights_that_do_not_fit_run_out_of_memory(
    make_machine: Callable[..., Machine], start_server: Callable[..., Server]
) -> None:
    small = make_gpu(0, "NVIDIA GeForce RTX 4090", 24564, 411)
    server = start_server(make_machine(gpus=[small]), model="Qwen/Qwen3-32B")
    assert server.wait_for_end() == -signal.SIGKILL
    assert "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate" in server.log
    assert "GPU 0 has a total capacity of 23.59 GiB of which" in server.log
    assert "Load weight end" not in server.log
    assert "Received sigquit from a child process. It usually means the child failed." in server.log


def test_two_ranks_take_two_gpus(simulated_machine: Machine, start_server: Callable[..., Server]) -> None:
    server = start_server(simulated_machine, "--tp", "2")
    server.wait_until_ready()
    assert used(simulated_machine, 0) == used(simulated_machine, 1) > 50 * GIB
    assert {"sglang::scheduler_TP0", "sglang::scheduler_TP1"} <= read_titles(server)
    assert re.search(r"\[[\d: -]+ TP0\] max_total_num_tokens=", server.log)
    # Perhaps not at the start of a line: the other rank's bar may not have ended its own.
    assert re.search(r"\[[\d: -]+ TP1\] Memory pool end\.", server.log)


def test_visible_devices_choose_the_gpu_and_bound_the_ranks(
    simulated_machine: Machine, start_server: Callable[..., Server]
) -> None:
    visible = {"CUDA_VISIBLE_DEVICES": simulated_machine.gpus[1].uuid}
    start_server(simulated_machine, env=visible).wait_until_ready()
    assert used(simulated_machine, 0) == 0
    assert used(simulated_machine, 1) > GIB
    beyond = start_server(simulated_machine, "--tp", "2", "--mem-fraction-static", "0.1", env=visible)
    assert beyond.wait_for_end() == -signal.SIGKILL
    assert "CUDA error: invalid device ordinal" in beyond.log
    none = start_server(simulated_machine, env={"CUDA_VISIBLE_DEVICES": ""})
    assert none.wait_for_end() == 1
    assert none.log.splitlines()[-1] == recorded("0.5.11", "nogpu").splitlines()[-1]


def test_a_hybrid_model_with_drafts_fails_and_fits_as_computed(
    simulated_machine: Machine, start_server: Callable[..., Server]
) -> None:
    """0.5.11 reserves draft state for 48 requests unless told otherwise; computed by hand for a card of 96 GB.

    Rest at 0.8: 24.4 GiB. 48 x 4 x 146.81 MiB = 27.5 GiB don't fit; 8 x 4 x 146.81 MiB = 4.6 GiB do, and leave
    65 slots: (24.4 - 4.6) x 0.9 / 1.9 / 0.1434.
    """
    flags = [
        *("--mem-fraction-static", "0.8", "--mamba-scheduler-strategy", "extra_buffer"),
        *("--speculative-algorithm", "EAGLE", "--speculative-num-steps", "3", "--speculative-eagle-topk", "1"),
        *("--speculative-num-draft-tokens", "4"),
    ]
    failing = start_server(simulated_machine, *flags, model="Qwen/Qwen3.6-27B")
    assert failing.wait_for_end() == -signal.SIGKILL
    assert "Max running requests is reset to 48 for speculative decoding." in failing.log
    assert "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static." in failing.log

    fitting = start_server(simulated_machine, *flags, "--max-running-requests", "8", model="Qwen/Qwen3.6-27B")
    fitting.wait_until_ready()
    assert "max_mamba_cache_size: 65," in fitting.log
    assert "type=Qwen3_5ForCausalLMMTP" in fitting.log
    assert "max_running_requests=8," in fitting.log


def test_the_interpreter_and_the_console_script_have_sglang(
    make_machine: Callable[..., Machine],
) -> None:
    machine = make_machine("it's a machine", release="0.5.23")
    asked = "import importlib.metadata as m, sglang; print(m.version('sglang'), sglang.__version__)"
    told = subprocess.run([machine.python, "-c", asked], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["0.5.23", "0.5.23"]
    command = [str(machine.sglang), "serve", "--model-path", "x", "--no-such-flag"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert refused.stderr.endswith("sglang serve: error: unrecognized arguments: --no-such-flag\n")
    assert "is still supported" not in refused.stderr


def test_servers_need_the_standard_library_alone(simulated_machine: Machine) -> None:
    ours = {"tui", "__main__", "__mp_main__"}
    code = (
        "import sys, tui.simulator.server, tui.simulator.lifecycle, tui.simulator.web\n"
        f"print({{name.partition('.')[0] for name in sys.modules}} - set(sys.stdlib_module_names) - {ours})"
    )
    told = subprocess.run([simulated_machine.python, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set()"


def test_a_machine_that_is_there_is_kept(tmp_path: Path) -> None:
    first = create_machine(tmp_path, release="0.5.23", pace=0.5)
    ghost = first.add_ghost("left", first.gpus[0].uuid, GIB)
    again = create_machine(tmp_path, release="0.5.11")
    assert again == first
    assert used(again) == GIB
    ghost.unlink()
    assert used(again) == 0


def test_a_broken_machine_is_a_problem_to_show(tmp_path: Path) -> None:
    (tmp_path / "machine.json").write_text("{}")
    reading = SimulatedReader(tmp_path).read()
    assert reading.simulated
    assert reading.problem is not None
    assert str(tmp_path) in reading.problem.what
