"""Stands in for SGLang's kernel package, whose wheels can't even be imported without the CUDA libraries.

SGLang imports its names all over, and on the path of a dense model with plain torch attention it calls none of them.
So every name and every submodule can be imported here, and a call fails: whatever runs is SGLang's own code.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import torch  # type: ignore[import-not-found]  # only in the environments that servers run in

__version__ = "0.0.0+standin"

# SGLang asks with hasattr() for these operators, and takes another path where they exist.
_PROBED = frozenset(
    {
        "convert_weight_packed",  # the one that turns the AMX path on
        "fused_qk_norm_cpu",
        "fused_qk_norm_rope_cpu",
        "gdn_attention",
        "get_device_accessible_ptr",
    }
)


class _Kernel:
    """Something that can be imported and passed around, and not called."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> _Kernel:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Kernel(f"{self.__name__}.{name}")

    def __call__(self, *_: object, **__: object) -> None:
        raise RuntimeError(f"{self.__name__}: the kernel package is a stand-in here")


class _Module(ModuleType):
    """A module that has every name."""

    def __getattr__(self, name: str) -> _Kernel:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Kernel(f"{self.__name__}.{name}")


class _Submodules(MetaPathFinder, Loader):
    """Finds every submodule of this package."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        return ModuleSpec(fullname, self, is_package=True) if fullname.startswith(f"{__name__}.") else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


class _Operators:
    """`torch.ops.sgl_kernel`: some models look their CPU operators up while they are imported."""

    def __getattr__(self, name: str) -> _Kernel:
        if name in _PROBED or not name.endswith("_cpu"):
            raise AttributeError(name)
        return _Kernel(f"torch.ops.{__name__}.{name}")


sys.meta_path.append(_Submodules())
sys.modules[__name__].__class__ = _Module
torch.ops.sgl_kernel = _Operators()
