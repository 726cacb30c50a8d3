"""Whether a process is one of SGLang's, told by marks that an editor, a shell or a script about SGLang doesn't have.

Measured on 0.5.6.post2, 0.5.11 and 0.5.23: the main process keeps its command line; its children give themselves a
title, over their command line and, cut to 15 bytes, over their name.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from tui.keeper import procfs
from tui.keeper.identity import PROC

_TITLE = re.compile(
    r"sglang::(?:scheduler|detokenizer|data_parallel_controller|tokenizer_worker|multi_tokenizer_router)[\w:.-]*"
)
_NAME_BYTES = 15
_PYTHON = re.compile(r"(?:pypy|python)[\d.]*t?")
_HELPER = re.compile(r"from multiprocessing\.(?:spawn import spawn_main|resource_tracker import main)\b.*")
# Options of the interpreter that have a value in a word of its own.
_WITH_VALUE = frozenset({"-W", "-X", "--check-hash-based-pycs"})


def is_main(pid: int) -> bool:
    """`python [options] -m sglang.launch_server …` or `python …/sglang serve …`, run by a Python."""
    return _is_python(pid) and is_main_command(procfs.command_line(pid))


def is_child(pid: int) -> bool:
    """It calls itself a scheduler, detokenizer and so on, in its command line and in its name, and is a Python."""
    title = " ".join(procfs.command_line(pid)).strip()
    return (
        _TITLE.fullmatch(title) is not None
        and procfs.name(pid) == title.encode()[:_NAME_BYTES].decode(errors="replace")
        and _is_python(pid)
    )


def is_helper(pid: int) -> bool:
    """What multiprocessing runs: children of SGLang look like this until their imports are done. So do strangers'."""
    words = procfs.command_line(pid)
    if not _is_python(pid) or "-c" not in words:
        return False
    return _HELPER.match(" ".join(words[words.index("-c") + 1 :])) is not None


def is_main_command(words: list[str]) -> bool:
    """The words start a server; not merely speak of one."""
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-m", "-c", "-"):
        at += 2 if words[at] in _WITH_VALUE else 1
    program = words[at : at + 2]
    if len(program) < 2:  # noqa: PLR2004 - `-m MODULE`, or `SCRIPT serve`
        return False
    return program == ["-m", "sglang.launch_server"] or (Path(program[0]).name == "sglang" and program[1] == "serve")


def _is_python(pid: int) -> bool:
    try:
        program = os.readlink(PROC / str(pid) / "exe")  # noqa: PTH115 - a link that may say "(deleted)"
    except OSError:
        return False
    return _PYTHON.fullmatch(Path(program.removesuffix(" (deleted)")).name) is not None
