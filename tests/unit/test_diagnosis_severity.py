"""How loud a line is, alone."""

from __future__ import annotations

from itertools import islice

import pytest

from tests.support.logs import REAL_LOGS
from tests.support.normal_log import serving_lines
from tui.diagnosis.rule import Severity
from tui.diagnosis.severity import severity_of

STAMP = "[2026-06-01 10:00:00 TP1] "


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", Severity.OUT_OF_MEMORY),
        (f"{STAMP}RuntimeError: Prefill out of memory. Try to lower your batch size.", Severity.OUT_OF_MEMORY),
        ("ImportError: libnvrtc.so.12: cannot open shared object file: No such file", Severity.ERROR),
        (f"{STAMP}Received sigquit from a child process. It usually means the child failed.", Severity.ERROR),
        (f"{STAMP}KV cache pool is full. Retract requests. #retracted_reqs: 1", Severity.WARNING),
        (f"{STAMP}Receive: obj=GenerateReqInput(text='CUDA out of memory')", None),
        (f'{STAMP}INFO:     10.0.0.1:4 - "GET /CUDA%20out of memory HTTP/1.1" 404 Not Found', None),
        ("  raise RuntimeError('CUDA out of memory')", None),
        (f"{STAMP}Load weight begin. avail mem=94.21 GB", None),
        ("", None),
    ],
)
def test_a_line(line: str, severity: Severity | None) -> None:
    assert severity_of(line) is severity


def test_healthy_lines_are_quiet() -> None:
    loud = [
        line for line in islice(serving_lines(3), 5000) if severity_of(line.decode()) not in (None, Severity.WARNING)
    ]
    assert loud == []


def test_a_good_real_start_is_quiet() -> None:
    path = next(path for path in REAL_LOGS if path.match("0.5.11/clean.log"))
    loud = [line for line in path.read_text().split("\n") if severity_of(line) is Severity.OUT_OF_MEMORY]
    assert loud == []
