"""Runs a real SGLang's memory-pool sizing for given free memory, and prints what it computed and would log.

Run and asked as `resolve_flags` is; each case has besides `"given": {"before_gib": 94.3, "after_gib": 43.34}`: free
memory before the weights and when the pools are sized (GiB, per rank; from 0.5.14 on a draft model is loaded by then).
The answer to a case: `{"resolved": {...}, "pools": {...}, "log": [...]}`, and "error" when it ended with one.

The real `ModelRunner` is constructed and walks its own way up to the finished pools of the target model. Replaced in
the child process are only the measuring of free memory, the process groups, the placement of experts and the loading
of weights; tensors for the GPU are made on torch's meta device. The draft model's own KV pool, CUDA graphs and
activations are not reached.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.oracles.asking import Case, failure
from tests.oracles.pretence import meta_tensors
from tests.oracles.resolve_flags import main, prepare, resolved_fields
from tests.oracles.runners import size_pools

# Lines that say what was sized or why not.
TELLING = ("Memory pool", "allocated", "sliding window memory pool", "Reserving", "max_running_requests", "larger than")


class _Listener(logging.Handler):
    """Keeps the lines that the sizing logs."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        if any(word in line for word in TELLING):
            self.lines.append(line.strip())


def _make_ask(release: str, folder: Path) -> Callable[[Case], dict[str, Any]]:
    def ask(case: Case) -> dict[str, Any]:
        server_args = prepare(case, folder)
        listener = _Listener()
        logging.getLogger().addHandler(listener)
        pools: dict[str, Any] = {}
        result = {"resolved": resolved_fields(server_args), "pools": pools, "log": listener.lines}
        try:
            with meta_tensors():
                size_pools(release, server_args, case["given"], pools)
        except Exception as error:  # noqa: BLE001  # whatever SGLang raises is what was asked for
            result["error"] = failure(error)
        return result

    return ask


if __name__ == "__main__":
    main(_make_ask, ["sglang.srt.model_executor.model_runner", "sglang.srt.model_executor.pool_configurator"])
