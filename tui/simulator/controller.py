"""The data-parallel controller: where there are several copies of the model, it is the parent of their schedulers."""

from __future__ import annotations

import itertools
import resource
import signal
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import connection
from multiprocessing.connection import Connection

from tui.simulator.children import SPAWN, ChildDiedError, Children
from tui.simulator.clock import make_clock
from tui.simulator.engine import Message
from tui.simulator.log import Log
from tui.simulator.ranks import Rank, list_replicas
from tui.simulator.scheduler import Load
from tui.simulator.setup import Setup
from tui.simulator.workers import IMPORT_S, become, run_scheduler


def run_controller(setup: Setup, requests: Connection, report: Connection) -> None:
    """Start every replica, report that of the first, then hand out requests in turn."""
    become(make_clock(setup.machine.pace), IMPORT_S, "sglang::data_parallel_controller")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a failing scheduler's SIGQUIT ends it, here without a core dump
    children, replicas = Children(), []
    for index, ranks in enumerate(list_replicas(setup.args)):
        Log().line(f"Launch DP{index} starting at GPU #{ranks[0].gpu - setup.args['base_gpu_id']}.")
        replicas.append(start_replica(children, setup, ranks))
    try:
        outcome = children.wait_until_ready()[0]
    except ChildDiedError:
        while True:
            signal.pause()  # the real one doesn't notice either
    outcome.scheduler_pids = [process.pid for process in children.processes]
    report.send(outcome)
    Dispatcher(requests, replicas).run()


def start_replica(children: Children, setup: Setup, ranks: Sequence[Rank]) -> Connection:
    """Start the schedulers of one copy of the model; returns the way to its first rank."""
    requests, far_end = SPAWN.Pipe()
    for rank in ranks:
        children.start(run_scheduler, setup, rank, far_end if rank.is_first else None)
    far_end.close()
    return requests


class Dispatcher:
    """Passes requests to the replicas in turn, what concerns a request to the one that has it, the rest to all."""

    def __init__(self, requests: Connection, replicas: Sequence[Connection]) -> None:
        self._requests = requests
        self._replicas = replicas
        self._living = list(replicas)
        self._turns = itertools.cycle(replicas)
        self._homes: dict[str, Connection] = {}

    def run(self) -> None:
        """Until the main process is gone, and the kernel ends this one with it."""
        while True:
            ready = connection.wait([self._requests, *self._living])
            if self._requests in ready:
                self._hand_out(self._requests.recv())
            for replica in [replica for replica in self._living if replica in ready]:
                self._pass_back(replica)

    def _hand_out(self, message: Message) -> None:
        kind, rid = message[:2]
        if kind == "generate":
            self._homes[rid] = next(self._turns)
        for replica in [self._homes[rid]] if rid in self._homes else self._replicas:
            with suppress(OSError):  # it is dead: its requests are never answered
                replica.send(message)
        if kind == "abort":
            self._homes.pop(rid, None)

    def _pass_back(self, replica: Connection) -> None:
        try:
            update = replica.recv()
        except (EOFError, OSError):
            self._living.remove(replica)
            return
        if isinstance(update[0], Load):
            self._requests.send((*update, self._replicas.index(replica)))
            return
        rid, tokens, done = update
        if done:
            self._homes.pop(rid, None)
        self._requests.send((rid, tokens, done))
