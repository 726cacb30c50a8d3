"""The processes of one server, as its main process sees them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from multiprocessing import connection
from multiprocessing.process import BaseProcess

from tui.simulator.children import SPAWN, Children
from tui.simulator.controller import run_controller, start_replica
from tui.simulator.ranks import list_replicas
from tui.simulator.setup import Setup
from tui.simulator.startup import Outcome
from tui.simulator.workers import run_detokenizer


class Tree:
    """Schedulers (or the controller over them) and detokenizer of one server; the resource tracker comes with them.

    Attributes:
        requests: the way to the first rank, or to the controller.
    """

    def __init__(self, setup: Setup) -> None:
        self._schedulers = Children()
        replicas = list_replicas(setup.args)
        if len(replicas) == 1:
            self.requests = start_replica(self._schedulers, setup, replicas[0])
        else:
            self.requests, far_end = SPAWN.Pipe()
            self._schedulers.start(run_controller, setup, far_end)
            far_end.close()
        self._detokenizer_report, theirs = SPAWN.Pipe(duplex=False)
        self._detokenizer = SPAWN.Process(target=run_detokenizer, args=(setup, theirs))
        self._detokenizer.start()
        theirs.close()

    def wait_until_ready(self) -> Outcome:
        """What the first rank reports, once all of them are ready.

        Raises:
            ChildDiedError: a scheduler was killed before it could report.
        """
        return self._schedulers.wait_until_ready()[0]

    def wait_for_detokenizer(self) -> bool:
        """Until it is there, since no answer is before; False when it died on the way."""
        try:
            self._detokenizer_report.recv()
        except EOFError:
            return False
        return True

    @property
    def has_live_scheduler(self) -> bool:
        """A scheduler still runs."""
        return any(process.is_alive() for process in self._schedulers.processes)

    def watch(self, on_death: Callable[[str, int | None, int | None], None]) -> None:
        """Call `on_death(name, pid, exit code)` from another thread at the first death of a child."""
        threading.Thread(target=self._wait_for_death, args=(on_death,), daemon=True).start()

    def _wait_for_death(self, on_death: Callable[[str, int | None, int | None], None]) -> None:
        children: dict[str, BaseProcess] = {
            f"scheduler_{index}": process for index, process in enumerate(self._schedulers.processes)
        }
        children["detokenizer"] = self._detokenizer
        dead = connection.wait([process.sentinel for process in children.values()])
        name, process = next((name, process) for name, process in children.items() if process.sentinel in dead)
        process.join()
        on_death(name, process.pid, process.exitcode)
