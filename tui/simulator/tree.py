"""The processes of one server: made with the spawn method, as SGLang does, and watched."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from tui.simulator.setup import Setup
from tui.simulator.startup import Outcome
from tui.simulator.workers import run_detokenizer, run_scheduler


class SchedulerDiedError(Exception):
    """A scheduler was gone before it could report anything."""

    def __init__(self, rank: int, exit_code: int | None) -> None:
        super().__init__(f"Rank {rank} scheduler died during initialization (exit code: {exit_code}).")


class Tree:
    """Schedulers and detokenizer of one server; the resource tracker comes with them."""

    def __init__(self, setup: Setup) -> None:
        context = multiprocessing.get_context("spawn")
        self.requests, ranks_end = context.Pipe()
        self._reports: list[Connection] = []
        self.children: dict[str, BaseProcess] = {}
        for rank in range(setup.args["tp_size"]):
            report, rank_report = context.Pipe(duplex=False)
            arguments = (setup, rank, rank_report, ranks_end if rank == 0 else None)
            self._start(f"scheduler_{rank}", context.Process(target=run_scheduler, args=arguments))
            self._reports.append(report)
            rank_report.close()
        ranks_end.close()
        self._start("detokenizer", context.Process(target=run_detokenizer, args=(setup,)))

    def _start(self, name: str, process: BaseProcess) -> None:
        process.start()
        self.children[name] = process

    def wait_until_ready(self) -> list[Outcome]:
        """One report a rank, in their order.

        Raises:
            SchedulerDiedError: one was killed before it could report.
        """
        return [self._receive(rank, report) for rank, report in enumerate(self._reports)]

    def _receive(self, rank: int, report: Connection) -> Outcome:
        try:
            outcome: Outcome = report.recv()
        except EOFError as error:
            process = self.children[f"scheduler_{rank}"]
            process.join()
            raise SchedulerDiedError(rank, process.exitcode) from error
        return outcome

    @property
    def has_live_scheduler(self) -> bool:
        """A scheduler still runs."""
        return any(process.is_alive() for name, process in self.children.items() if name.startswith("scheduler"))

    def watch(self, on_death: Callable[[str, int | None, int | None], None]) -> None:
        """Call `on_death(name, pid, exit code)` from another thread at the first death of a child."""
        threading.Thread(target=self._wait_for_death, args=(on_death,), daemon=True).start()

    def _wait_for_death(self, on_death: Callable[[str, int | None, int | None], None]) -> None:
        names = {process.sentinel: name for name, process in self.children.items()}
        sentinel = connection.wait(list(names))[0]
        name = next(name for known, name in names.items() if known == sentinel)
        process = self.children[name]
        process.join()
        on_death(name, process.pid, process.exitcode)
