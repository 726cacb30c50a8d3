"""Recorded runs of real servers, and the kinds of lines that they logged."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.support.logs import FIXTURES

REAL = FIXTURES / "real"
LOG_STAMP = re.compile(r"\[(?=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
# What the recordings say and the simulation doesn't, each with its reason.
LEFT_OUT = {
    "is not supported on current platform|support AWQ|support GGUF": "a CPU's warnings, with the line that follows",
    "torch native attention backend|init_cpu_threads|init_threads|Cannot detect CUDA arch": "a CPU's lines",
    "Fail to set RLIMIT_NOFILE": "the recording machine's limits",
    "Ignore import error when loading": "packages that were missing in the recording",
    "fallback token IDs for yes/no": "the tiny recorded model's vocabulary",
    "GET /health|Health check request": "the recorder's polling",
    "nanobind|leaked|skipped remainder|refleaks": "native modules' reports at exit",
    "resource_tracker": "a semaphore of the real server that is left behind",
    "Waiting for (connections to close|background tasks)": "the recorder's poll was still being answered",
}


def kinds(log: str) -> list[str]:
    """Lines without stamps, figures and names, without those that are left out."""
    text = LOG_STAMP.sub("\n[", log.replace("\r", "\n"))  # another process may write into a line that isn't ended
    lines = text.split("\n")
    kept: list[str] = []
    skip_next = False
    for line in lines:
        dropped = any(re.search(pattern, line) for pattern in LEFT_OUT)
        if not dropped and not (skip_next and line.startswith("  warnings.warn")) and line:
            kept.append(normalize(line))
        skip_next = dropped
    return kept


def normalize(line: str) -> str:
    line = re.sub(r"server_args=(ServerArgs\(|\{).*", r"server_args=\1", line)
    line = re.sub(r"\S*site(-packages)?/|PY/lib/python3.11/|/\S*/(?=multiprocessing|asyncio)", "", line)
    line = re.sub(r"model/qwen3|Qwen/Qwen3-0.6B", "MODEL", line)
    line = line.replace("available_cpu_mem", "available_gpu_mem").replace("cpu graph", "cuda graph")
    line = re.sub(r"it/s|s/it", "rate", line)
    return re.sub(r"-?\d+(\.\d+)?", "N", re.sub(r"\[[\d:<?, .]*(rate|\?)", "[", line)).replace("  ", " ")


def is_tokenizer_line(line: str) -> bool:
    """Said by every process once it is there, so anywhere between the others."""
    return "tokenizer" in line.lower()


def recorded(release: str, name: str) -> str:
    return (REAL / release / f"{name}.log").read_text()


def recorded_run(release: str, name: str) -> dict[str, Any]:
    run: dict[str, Any] = json.loads((REAL / release / "runs.json").read_bytes())[name]
    return run
