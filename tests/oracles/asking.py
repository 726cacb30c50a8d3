"""Asks SGLang one case after another, each in a forked child: SGLang keeps what it resolved in its process."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

Case = dict[str, Any]


def ask_each(cases: list[Case], ask: Callable[[Case], dict[str, Any]]) -> list[dict[str, Any]]:
    """What `ask` answers to each case; what it raises is an answer too."""
    return [_ask_in_a_child(case, ask) for case in cases]


def _ask_in_a_child(case: Case, ask: Callable[[Case], dict[str, Any]]) -> dict[str, Any]:
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(_answer(case, ask)))
    child.start()
    sender.close()
    result: dict[str, Any] = receiver.recv()  # EOFError: the child has printed why it failed
    child.join()
    return result


def _answer(case: Case, ask: Callable[[Case], dict[str, Any]]) -> dict[str, Any]:
    try:
        return ask(case)
    except Exception as error:  # noqa: BLE001  # whatever SGLang raises is what was asked for
        return {"error": failure(error)}


def failure(error: Exception) -> dict[str, Any]:
    """An exception of SGLang as data: its type, its text and the line of SGLang that raised it.

    Raises:
        RuntimeError: nothing of SGLang raised it: an oracle is broken.
    """
    place = _raised_in(error.__cause__ or error)
    if place is None:
        raise RuntimeError("not SGLang's doing") from error
    return {"type": type(error).__name__, "message": str(error), "raised_in": place}


def _raised_in(error: BaseException) -> str | None:
    """The innermost frame within SGLang, as `srt/server_args.py:123`; None if there is none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        _, found, path = Path(frame.filename).as_posix().rpartition("/site-packages/sglang/")
        if found:
            return f"{path}:{frame.lineno}"
    return None
