"""Run as a program: reads GPUs once for each word on its standard input, and answers with a line of JSON."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any

import msgspec

from tui.gpu.nvml import NvmlReader
from tui.keeper.gpu_memory import read_gpu_memory


def main() -> None:
    reader = NvmlReader()
    for line in sys.stdin:
        print(json.dumps(answer(reader, line.strip())), flush=True)  # noqa: T201 - the answer is its output
    reader.close()


def answer(reader: NvmlReader, word: str) -> Any:
    if word == "read":
        return msgspec.to_builtins(reader.read())
    if word == "close":
        return reader.close()
    memory = read_gpu_memory(None)
    return None if memory is None else dataclasses.asdict(memory)


if __name__ == "__main__":
    main()
