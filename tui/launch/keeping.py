"""Giving a launch to a keeper: a new launch to its first one, an unattended server to the next."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from tui.errors import SgltuiError, UsageError
from tui.keeper.files import LaunchFiles
from tui.keeper.members import MARK_VARIABLE
from tui.keeper.records import LaunchRecords, try_lock
from tui.keeper.states import State
from tui.launch.config_words import read_words
from tui.launch.ports import Promise
from tui.launch.records import LaunchRecord
from tui.sglang.command import Command
from tui.sglang.versions import parse_release

_PACKAGE_PARENT = Path(__file__).parents[2]
_LIMIT_S = 20
_NO_READY_BEFORE = "0.5.12"


def hand_over(
    files: LaunchFiles,
    command: Command,
    record: LaunchRecord,
    environment: Mapping[str, str],
    promise: Promise,
    *,
    lock: int | None = None,
) -> None:
    """Start a keeper for a recorded launch and wait until it has detached itself.

    Args:
        files: of the launch.
        command: of the server.
        record: what is in `launch.json`.
        environment: of the server, less our mark.
        promise: of its port; the keeper holds it from here on.
        lock: of the launch in progress, to be held until the keeper is on record.

    Raises:
        SgltuiError: it didn't start; the launch is recorded as failed.
    """
    order = make_order(command.argv, {**environment, MARK_VARIABLE: record.mark}, record)
    why = start_keeper("attend", files, order, promise, lock=lock)
    if why is not None:
        _record_failure(files, why)
        raise SgltuiError(f"the keeper of {files.directory} didn't start: {why}", "see `sgltui ps`")


def make_order(
    argv: Sequence[str], environment: Mapping[str, str], record: LaunchRecord, *, lacks: str | None = None
) -> dict[str, Any]:
    """What a keeper is told through a pipe, since it may hold secrets: `tui.keeper.order.Order`."""
    words = read_words(argv, record.sglang_version, record.cwd)
    return {
        "argv": list(argv),
        "environment": dict(environment),
        "cwd": record.cwd,
        "api_key": words.get("--api-key"),
        "tls": words.has("--ssl-certfile"),
        "has_ready": _may_have_ready(record.sglang_version),
        "lacks": lacks,
    }


def _may_have_ready(version: str | None) -> bool:
    """0.5.11 has no /ready; asking it all the same would only be one more line in its log."""
    try:
        return version is None or parse_release(version).includes(_NO_READY_BEFORE)
    except UsageError:  # a build that calls itself something else
        return True


def gpu_environment(indices: Iterable[int]) -> dict[str, str]:
    """Make the server see exactly its GPUs, numbered as NVML does (by PCI bus).

    Indices rather than uuids: parts of SGLang read this variable as numbers.
    """
    visible = ",".join(map(str, indices))
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": visible} if visible else {}


def start_keeper(
    verb: Literal["attend", "adopt"],
    files: LaunchFiles,
    order: Mapping[str, Any],
    promise: Promise | None,
    *,
    lock: int | None = None,
) -> str | None:
    """Start a keeper and wait until it is on record and detached; why it isn't, or None."""
    holding = () if promise is None else (promise.fileno(),)
    locks = () if lock is None else (lock,)
    # Neither a module in the current folder nor the user's PYTHONPATH may stand in for one of ours.
    words = [sys.executable, "-P", "-m", "tui.keeper", verb, str(files.directory.absolute()), *map(str, holding)]
    try:
        done = subprocess.run(
            words,
            cwd="/",
            pass_fds=holding + locks,
            input=json.dumps(order).encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(_PACKAGE_PARENT)},
            start_new_session=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    return _last_line(done.stderr) or _last_line(_read(files.keeper_log)) or "no reason given"


def _record_failure(files: LaunchFiles, why: str) -> None:
    """Nothing was started, unless a keeper has the launch after all."""
    lock = try_lock(files.lock)
    if lock is not None:
        LaunchRecords(files).end(State.FAILED, cause=f"its keeper didn't start: {why}", unstarted=True)
        os.close(lock)


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it never came so far
        return b""
