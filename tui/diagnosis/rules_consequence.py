"""Lines that tell of another process's end. They come first in many logs, and are last in most; never the cause."""

from __future__ import annotations

from tui.diagnosis.rule import Reach, Role, Rule, make_rule

_C = Role.CONSEQUENCE

CONSEQUENCES: tuple[Rule, ...] = (
    make_rule(
        "barrier",
        "rank_died_elsewhere",
        "there are other ranks that didn't",
        role=_C,
        words="this rank waited for another one, which never came",
        sample="ValueError: TP rank 1 could finish the model loading, but there are other ranks that didn't finish "
        "loading. It is likely due to unexpected failures (e.g., OOM) or a slow node.",
    ),
    make_rule(
        "peer-gone",
        "rank_died_elsewhere",
        ("Connection closed by peer", "Connection reset by peer", "Connection was likely closed"),
        role=_C,
        words="another rank was gone, and its connection with it",
        sample="Exception: Capture cuda graph failed: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] "
        "Connection closed by peer [127.0.0.1]:41873",
    ),
    make_rule(
        "monitored-barrier",
        "rank_died_elsewhere",
        ("monitoredBarrier", "Please check rank"),
        role=_C,
        words="this rank waited for another one, which never came",
        sample="[rank3]:[E602 02:10:21.426633564 ProcessGroupGloo.cpp:143] Rank 3 successfully reached "
        "monitoredBarrier, but received errors while waiting for send/recv from rank 2. Please check rank 2 logs.",
    ),
    make_rule(
        "remote-exit",
        "rank_died_elsewhere",
        ("remote process exited", "ncclRemoteError", "ncclSystemError: System call"),
        role=_C,
        words="another rank was gone in the middle of a collective",
        sample="torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error, "
        "NCCL version 2.27.5",
    ),
    make_rule(
        "orphan",
        "killed_from_outside",
        ("BrokenPipeError", "Broken pipe"),
        role=_C,
        words="the main process was gone while a child still loaded",
        sample="BrokenPipeError: [Errno 32] Broken pipe",
    ),
    make_rule(
        "end-of-pipe",
        "rank_died_elsewhere",
        "EOFError",
        pattern=r"^EOFError\b",
        role=_C,
        words="a child process was gone before it could report",
        sample="EOFError",
    ),
    make_rule(
        "scheduler-dead",
        "rank_died_elsewhere",
        ("scheduler is dead", "scheduler died during initialization", "Initialization failed. Please see the error"),
        role=_C,
        words="a scheduler process was gone",
        sample="Rank 0 scheduler is dead. Please check if there are relevant logs.",
    ),
    make_rule(
        "sigquit",
        "self_sigkill",
        ("Received sigquit from a child process", "SIGQUIT received. "),
        role=_C,
        words="a child process failed, so SGLang killed its whole tree, itself included",
        sample="Received sigquit from a child process. It usually means the child failed.",
    ),
    make_rule(
        "interrupted",
        "killed_from_outside",
        "KeyboardInterrupt",
        pattern=r"^KeyboardInterrupt\b",
        role=_C,
        words="it was interrupted from the keyboard",
        sample="KeyboardInterrupt",
    ),
    make_rule(
        "cancelled",
        "killed_from_outside",
        ("CancelledError", "SystemExit"),
        pattern=r"^(?:asyncio\.exceptions\.)?(?:CancelledError|SystemExit)\b",
        role=_C,
        words="it was being ended",
        sample="asyncio.exceptions.CancelledError",
    ),
    make_rule(
        "shell-killed",
        "self_sigkill",
        ("Killed", "Exit code: "),
        pattern=r"^(?:\S{1,200}: line \d{1,6}:\s{1,8}\d{1,9} )?Killed(?:$|\s)|^Exit code: -?\d{1,4}$",
        role=_C,
        reach=Reach.LINE,
        words="the shell's word for SIGKILL, which SGLang sends itself after an error",
        sample="./run.sh: line 19: 867080 Killed                  python -m sglang.launch_server",
    ),
)
