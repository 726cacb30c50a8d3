"""Child processes made with the spawn method, as SGLang makes them, that report when they are ready."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from tui.simulator.startup import Outcome

SPAWN = multiprocessing.get_context("spawn")


class ChildDiedError(Exception):
    """A child was gone before it could report anything."""

    def __init__(self, index: int, exit_code: int | None) -> None:
        super().__init__(
            f"Rank {index} scheduler died during initialization (exit code: {exit_code}). If exit code is -9 "
            "(SIGKILL), a common cause is the OS OOM killer. Run `dmesg -T | grep -i oom` to check."
        )


class Children:
    """Those of one process, in the order of their start."""

    def __init__(self) -> None:
        self.processes: list[BaseProcess] = []
        self._reports: list[Connection] = []

    def start(self, target: Callable[..., None], *arguments: Any) -> None:
        """Run `target(*arguments, report)` in a child; it sends an `Outcome` through `report`."""
        report, theirs = SPAWN.Pipe(duplex=False)
        process = SPAWN.Process(target=target, args=(*arguments, theirs))
        process.start()
        theirs.close()
        self.processes.append(process)
        self._reports.append(report)

    def wait_until_ready(self) -> list[Outcome]:
        """One report a child.

        Raises:
            ChildDiedError: one was killed before it could report.
        """
        return [self._receive(index, report) for index, report in enumerate(self._reports)]

    def _receive(self, index: int, report: Connection) -> Outcome:
        try:
            outcome: Outcome = report.recv()
        except EOFError as error:
            self.processes[index].join()
            raise ChildDiedError(index, self.processes[index].exitcode) from error
        return outcome
