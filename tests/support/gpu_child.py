"""Run as a program: reads GPUs once for each word on its standard input, and answers with a line of JSON.

At the word `fork` it goes on in a child whose machine is another, as one that was started for it, and that tells its
pid; at the word `end` the child ends, and its parent goes on and tells how.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from typing import Any

import msgspec

from tui.gpu.nvml import NvmlReader
from tui.keeper.gpu_memory import read_gpu_memory


def main() -> None:
    reader = NvmlReader()
    for line in sys.stdin:
        word, *environment = line.split(maxsplit=1)
        if word == "end":
            break
        if word == "fork":
            serve_in_child(json.loads(environment[0]))
        else:
            tell(answer(reader, word))
    reader.close()


def serve_in_child(environment: dict[str, str]) -> None:
    pid = os.fork()
    if pid == 0:
        os.environ.update(environment)
        tell(os.getpid())
        main()
        sys.exit()
    _, status = os.waitpid(pid, 0)
    tell(os.waitstatus_to_exitcode(status))


def tell(what: Any) -> None:
    print(json.dumps(what), flush=True)  # noqa: T201 - the answer is its output


def answer(reader: NvmlReader, word: str) -> Any:
    if word == "read":
        return msgspec.to_builtins(reader.read())
    if word == "close":
        return reader.close()
    memory = read_gpu_memory(None)
    return None if memory is None else dataclasses.asdict(memory)


if __name__ == "__main__":
    main()
