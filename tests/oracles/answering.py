"""What all oracles share: modules of SGLang without static types, and one JSON answer on standard output."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any


def module(name: str) -> Any:
    """A module of SGLang or torch, which exist only in the interpreter that runs an oracle."""
    return importlib.import_module(name)


def sglang_release() -> str:
    """The version of the SGLang beside this interpreter, read without importing it."""
    return version("sglang")


def hide_the_machine() -> None:
    """Forget what would let answers differ between machines: GPUs, SGLang's own variables, the network."""
    for name in [name for name in os.environ if name.startswith(("SGLANG_", "SGL_", "NVIDIA_"))]:
        del os.environ[name]
    os.environ.update(CUDA_VISIBLE_DEVICES="", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")


def answer(ask: Callable[[], dict[str, Any]], render: Callable[[dict[str, Any]], str] = json.dumps) -> None:
    """Print what `ask` returns as JSON; all that SGLang prints meanwhile goes to standard error."""
    with contextlib.redirect_stdout(sys.stderr):
        result = ask()
    sys.stdout.write(render(result) + "\n")
