"""Recorded runs of real servers, and the kinds of lines that they logged."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.support.logs import FIXTURES

REAL = FIXTURES / "real"
LOG_STAMP = re.compile(r"\[(?=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
# What real servers say and simulated ones don't, with what is indented below it; each with its reason.
LEFT_OUT = {
    "is not supported on current platform|support AWQ|support GGUF": "a CPU's warnings",
    "torch native attention backend|init_cpu_threads|init_threads|Cannot detect CUDA arch": "a CPU's lines",
    "Fail to set RLIMIT_NOFILE": "the recording machine's limits",
    "Ignore import error when loading|openai_harmony|OpenAIServingResponses": "packages that are missing there",
    "ORJSONResponse is deprecated": "FastAPI is newer than the release",
    "fallback token IDs for yes/no|Failed to load generation config": "the tiny model is incomplete",
    "GET /health|Health check request": "the recorder's polling",
    r"GET /model_info HTTP/1\.0": "the keeper's polling",
    "nanobind|leaked|skipped remainder|refleaks": "native modules' reports at exit",
    "resource_tracker": "a semaphore of the real server that is left behind",
    "Waiting for (connections to close|background tasks)": "the recorder's poll was still being answered",
}


def kinds(log: str) -> list[str]:
    """Lines without stamps, figures and names, without those that are left out."""
    text = LOG_STAMP.sub("\n[", log.replace("\r", "\n"))  # another process may write into a line that isn't ended
    lines = text.split("\n")
    kept: list[str] = []
    dropped, bar = False, ""
    for line in filter(None, lines):
        dropped = (dropped and line.startswith("  ")) or any(re.search(pattern, line) for pattern in LEFT_OUT)
        kind = normalize(line)
        is_redrawn = kind == bar  # how often is a matter of time, and others may write in between
        if "loading shards" in kind:
            bar = kind
        elif "Load weight begin" in kind:
            bar = ""
        if not dropped and not is_redrawn:
            kept.append(kind)
    return kept


def normalize(line: str) -> str:
    line = re.sub(r"server_args=(ServerArgs\(|\{).*", r"server_args=\1", line)
    line = re.sub(r"\S*site(-packages)?/|PY/lib/python3.11/|/\S*/(?=multiprocessing|asyncio)", "", line)
    line = re.sub(r"model/qwen3|Qwen/Qwen3-0.6B", "MODEL", line)
    line = line.replace("available_cpu_mem", "available_gpu_mem").replace("cpu graph", "cuda graph")
    line = re.sub(r"it/s|s/it", "rate", line)
    return re.sub(r"-?\d+(\.\d+)?", "N", re.sub(r"\[[\d:<?, .]*(rate|\?)", "[", line)).replace("  ", " ")


def is_tokenizer_line(line: str) -> bool:
    """Said by every process once it has its tokenizer, or of what comes with it; so anywhere between the others."""
    return "tokenizer" in line.lower() or "HuggingFace chat template" in line


def fields(value: Any) -> Any:
    """The names of an object's fields, one level down into lists."""
    if isinstance(value, list):
        return [fields(item) for item in value]
    if "loads" in value:
        return set(value), fields(value["loads"])
    return set(value) if isinstance(value, dict) else value


def recorded(release: str, name: str) -> str:
    return (REAL / release / f"{name}.log").read_text()


def recorded_run(release: str, name: str) -> dict[str, Any]:
    run: dict[str, Any] = json.loads((REAL / release / "runs.json").read_bytes())[name]
    return run
