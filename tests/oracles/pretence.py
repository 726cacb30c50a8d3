"""Pretends to SGLang that a CUDA machine with given cards is here. What is stubbed, and nothing else:

- `nvidia-smi`, found first on PATH: answers the one query for total memory that SGLang's defaults start from;
- `torch.version.cuda` and torch.cuda's questions about the machine (is there one, how many, which capability, name
  and properties, memory, current device): SGLang asks them while it is imported and while it resolves flags;
- streams and events, which the model runner makes before it loads anything;
- `torch.library.register_fake` for operators of the kernel package, which has no CPU build: dropped;
- `is_flashinfer_available`: the package is a fixed dependency of SGLang on CUDA, and has no CPU build.

Tensors for "cuda" are made on torch's meta device: they have sizes, and no memory.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from tests.oracles.answering import module

COUNT = 8


@dataclass(frozen=True, slots=True)
class Card:
    """A GPU as SGLang sees it.

    Attributes:
        name: as NVML names it.
        total_mib: as `nvidia-smi` prints it.
        capability: of CUDA, major and minor.
    """

    name: str
    total_mib: int
    capability: tuple[int, int]


class Inert:
    """A stream or an event on which nothing is ever queued."""

    def __init__(self, *_args: object, **_kwargs: object) -> None: ...


def pretend_gpus(card: Card, folder: Path) -> None:
    """Put COUNT such cards here; before anything of SGLang is imported. `folder` receives the stub program."""
    _put_nvidia_smi(card, folder)
    torch = module("torch")
    torch.version.cuda = "12.9"
    total_bytes = card.total_mib << 20
    properties = SimpleNamespace(
        name=card.name,
        major=card.capability[0],
        minor=card.capability[1],
        total_memory=total_bytes,
        multi_processor_count=132,
        warp_size=32,
    )
    answers = {
        "is_available": True,
        "device_count": COUNT,
        "current_device": 0,
        "get_device_capability": card.capability,
        "get_device_name": card.name,
        "get_device_properties": properties,
        "mem_get_info": (total_bytes, total_bytes),
        "set_device": None,
    }
    for name, value in answers.items():
        setattr(torch.cuda, name, _always(value))
    torch.cuda.Stream = torch.cuda.Event = Inert
    torch.library.register_fake = _without_kernels(torch.library.register_fake)


def pretend_flashinfer(release: str) -> None:
    """Let flag resolution believe that flashinfer is installed; after SGLang's flags have been imported."""
    # The sampler imports these two without asking.
    sampling: Any = ModuleType("flashinfer.sampling")
    sampling.min_p_sampling_from_probs = sampling.top_k_top_p_sampling_from_probs = None
    sys.modules[sampling.__name__] = sampling
    if release == "0.5.23":
        # SGLang's own way to override a fact about the machine.
        module("sglang.srt.runtime_context").override_platform(has_flashinfer=True).install()
    else:
        module("sglang.srt.server_args").is_flashinfer_available = _always(True)


def meta_tensors() -> Any:
    """A context in which every new tensor for a GPU lies on torch's meta device."""
    overrides = module("torch.overrides")
    factories = _factories()

    def run(_self: Any, function: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if function in factories and str(kwargs.get("device")).startswith("cuda"):
            kwargs["device"] = "meta"
        return function(*args, **kwargs)

    mode: Any = type("OnMeta", (overrides.TorchFunctionMode,), {"__torch_function__": run})
    return mode()


def _factories() -> set[Any]:
    torch = module("torch")
    return {torch.zeros, torch.ones, torch.empty, torch.full, torch.arange, torch.tensor, torch.empty_strided}


def _always(value: Any) -> Any:
    return lambda *_args, **_kwargs: value


def _without_kernels(register_fake: Any) -> Any:
    def register(operator: Any, *args: Any, **kwargs: Any) -> Any:
        if str(operator).startswith("sgl_kernel::"):
            return lambda function: function
        return register_fake(operator, *args, **kwargs)

    return register


def _put_nvidia_smi(card: Card, folder: Path) -> None:
    program = folder / "nvidia-smi"
    lines = "".join(f"echo {card.total_mib}\n" for _ in range(COUNT))
    program.write_text(f'#!/bin/sh\ncase "$*" in *memory.total*) ;; *) exit 1;; esac\n{lines}')
    program.chmod(0o755)
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
