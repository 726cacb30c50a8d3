"""A listening server's life in its main thread: signals, deaths, the warm-up, and the end."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from types import FrameType
from typing import NoReturn

from tui.simulator.ending import kill_tree
from tui.simulator.engine import Engine
from tui.simulator.setup import Context
from tui.simulator.tree import Tree
from tui.simulator.warmup import WarmupError, warm_up
from tui.simulator.web import Web

_DRAIN_TICK_S = 5.0
_CRASH_AFTER_S = 2.0
_DIAGNOSTICS_S, _COREDUMP_S = 5.0, 60.0
_CONNECTION_POLL_S = 0.05
_ACCEPT_POLL_S = 0.25


class Lifecycle:
    """From "Uvicorn running" to the exit status."""

    def __init__(self, context: Context, tree: Tree, engine: Engine, web: Web) -> None:
        self._context = context
        self._setup = context.setup
        self._clock = context.clock
        self._log = context.log
        self._switches = context.switches
        self._tree = tree
        self._engine = engine
        self._web = web
        self._began = time.monotonic()
        self._dies_of_interrupt = not self._setup.is_old and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
        self._events: queue.SimpleQueue[tuple[object, ...]] = queue.SimpleQueue()

    def run(self) -> int:
        """Serve until the end; returns the exit status, where the process gets that far."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, self._note_signal)
        threading.Thread(target=self._web.serve_forever, args=(_ACCEPT_POLL_S,), daemon=True).start()
        self._tree.watch(lambda *death: self._events.put(("death", *death)))
        self._log.uvicorn(f"Uvicorn running on http://{self._address()} (Press CTRL+C to quit)")
        threading.Thread(target=self._warm_up, daemon=True).start()
        return self._wait()

    def _note_signal(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._events.put((number,))

    def _address(self) -> str:
        host, port = self._setup.args["host"], self._setup.args["port"]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def _wait(self) -> int:
        while True:
            event = self._next_event()
            if event is None:
                if self._is_drained():
                    return self._end_after_drain()
            elif event[0] == signal.SIGTERM:
                self._drain()
            elif event[0] == signal.SIGINT:
                return self._end_after_interrupt()
            elif event[0] == signal.SIGQUIT:
                self._end_after_quit()
            elif event[0] == "death":
                self._end_after_death(*event[1:])
            else:
                self._end_after_failed_warmup(str(event[1]))

    def _next_event(self) -> tuple[object, ...] | None:
        """The next event; None when a drain should look again at what is left."""
        if not self._web.is_draining or self._switches.ignore_term:
            return self._events.get()
        period = self._clock.tick(_DRAIN_TICK_S)
        left = period - (time.monotonic() - self._began) % period  # SGLang looks at fixed times since its start
        try:
            return self._events.get(timeout=left)
        except queue.Empty:
            return None

    def _warm_up(self) -> None:
        try:
            if not self._setup.args["skip_server_warmup"]:
                if not self._tree.wait_for_detokenizer():
                    return  # nobody will answer; its death is noticed elsewhere
                warm_up(self._context)
        except WarmupError as error:
            self._events.put(("warmup failed", error))
            return
        self._web.is_up = True
        self._log.line("The server is fired up and ready to roll!")
        self._engine.tell("ready")
        if self._switches.crash_after_ready:
            threading.Timer(self._clock.tick(_CRASH_AFTER_S), self._engine.tell, ["crash"]).start()

    def _drain(self) -> None:
        self._log.line("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
        self._web.is_draining = True

    def _is_drained(self) -> bool:
        left = self._engine.running
        self._log.line(
            f"Gracefully exiting... Remaining number of requests {len(left)}. Remaining requests remaining_rids={left}."
        )
        return not left

    def _end_after_drain(self) -> int:
        kill_tree(self._context, include_self=self._setup.is_old)
        self._close()
        kill_tree(self._context, include_self=False)
        return 0

    def _end_after_interrupt(self) -> int:
        self._close()
        kill_tree(self._context, include_self=False)
        if self._dies_of_interrupt:
            self._log.raw(self._setup.traceback("interrupt"))
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        return 0

    def _close(self) -> None:
        """Close the port at once, and wait for the requests that are being answered."""
        self._log.uvicorn("Shutting down")
        self._web.shutdown()
        self._web.server_close()
        if self._web.serving:
            self._log.uvicorn("Waiting for connections to close. (CTRL+C to force quit)")
        while self._web.serving:
            time.sleep(_CONNECTION_POLL_S)
        self._log.uvicorn("Waiting for application shutdown.")
        self._log.uvicorn("Application shutdown complete.")
        self._log.uvicorn(f"Finished server process [{os.getpid()}]")

    def _end_after_death(self, name: object, pid: object, exit_code: object) -> NoReturn:
        self._log.line(
            f"Subprocess {name} (pid={pid}) crashed with exit code {exit_code}. Triggering SIGQUIT for cleanup..."
        )
        self._end_after_quit()

    def _end_after_quit(self) -> NoReturn:
        self._log.line("SIGQUIT received. signum=None, frame=None. It usually means one child failed.")
        if not self._setup.is_old:
            self._diagnose()
        self._die()

    def _diagnose(self) -> None:
        """0.5.23 first looks for what went wrong on the GPU, while live schedulers keep their memory."""
        self._log.line("Sleeping 5 seconds before crash diagnostics to let GPU activity settle.")
        self._clock.pause(_DIAGNOSTICS_S)
        if self._tree.has_live_scheduler:
            self._log.line("Waiting 60.0 seconds for CUDA coredumps before exiting.")
            self._clock.pause(_COREDUMP_S)
        else:
            self._log.line("No live scheduler processes found; skipping py-spy and CUDA coredump.")

    def _end_after_failed_warmup(self, traceback: str) -> NoReturn:
        self._log.line(f"Initialization failed. warmup error: {traceback}")
        self._die()

    def _die(self) -> NoReturn:
        kill_tree(self._context, include_self=True)
        sys.exit(1)  # never reached: the line above ends this process
