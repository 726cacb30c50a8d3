"""Packages that exist for CUDA alone, while SGLang's model classes are imported: any name in them is an inert object.

SGLang leaves out a model class whose file can't be imported, and these packages have no CPU build. Nothing of them
runs: the classes are only constructed.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

PACKAGES = ("flashinfer", "flash_mla", "torchaudio", "deep_gemm", "cutlass", "cuda", "quack")


class _Package(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = MagicMock(name=name)
        setattr(self, name, value)
        return value


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in PACKAGES:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        package = _Package(spec.name)
        package.__path__ = []
        return package

    def exec_module(self, module: ModuleType) -> None: ...


def install() -> None:
    """Let imports of those packages succeed from now on, where they aren't installed."""
    if importlib.util.find_spec("tvm_ffi") is not None:
        importlib.import_module("tvm_ffi")  # looks for CUDA by itself, and must not find ours
    sys.meta_path.append(_Finder())
