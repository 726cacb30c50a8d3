"""Fixtures around a fake libnvidia-ml.so.1: the real nvidia-ml-py on a machine without a GPU.

The library is found by the dynamic linker, so it must be there when a Python process starts: whatever reads GPUs
through it runs in a child process with `FakeNvml.environment`. What the control file may say is in `fake_nvml.c`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

import pytest

_SOURCE = Path(__file__).parent.parent / "fake_nvml" / "fake_nvml.c"
_CHILD = Path(__file__).with_name("gpu_child.py")
_SONAME = "libnvidia-ml.so.1"
_NO_GCC = "gcc is not installed: the fake NVML can't be compiled"


class FakeNvml:
    """A machine whose GPUs are what `tell` said last."""

    def __init__(self, library_directory: Path, directory: Path) -> None:
        self._library_directory = library_directory
        self._control = directory / "nvml-control"
        self._calls = directory / "nvml-calls"

    @property
    def environment(self) -> dict[str, str]:
        """For a child process that shall see this machine's GPUs."""
        return {**os.environ, "LD_LIBRARY_PATH": str(self._library_directory), **self.own}

    @property
    def own(self) -> dict[str, str]:
        """What tells this machine from other fake ones; it is looked at with each call."""
        return {"FAKE_NVML_CONTROL": str(self._control), "FAKE_NVML_CALLS": str(self._calls)}

    def tell(self, *lines: str) -> None:
        """From now on these lines describe the machine, and nothing that was told before."""
        whole = self._control.with_suffix(".new")
        whole.write_text("".join(f"{line}\n" for line in lines))
        whole.replace(self._control)

    def count_calls(self, function: str) -> int:
        """How often an NVML function was called."""
        return self._calls.read_text().splitlines().count(function) if self._calls.exists() else 0


class GpuChild:
    """A child process that reads GPUs when it is asked to, for as long as its block lasts."""

    def __init__(self, environment: dict[str, str]) -> None:
        words = [sys.executable, str(_CHILD)]
        self.command = " ".join(words)
        self._process = subprocess.Popen(
            words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()
        assert kind is not None or self._process.returncode == 0

    @contextmanager
    def fork(self, environment: Mapping[str, str]) -> Iterator[Self]:
        """A child of it in its place, which has read nothing yet."""
        parent, self.pid = self.pid, self.ask(f"fork {json.dumps(environment)}")
        try:
            yield self
        finally:
            self.pid = parent
            assert self.ask("end") == 0

    def ask(self, word: str) -> Any:
        """The answer to `read`, `close` (of one NvmlReader) or `memory` (the keeper's reading), from JSON."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"the child that reads GPUs ended at `{word}`; its traceback is above"
        return json.loads(answer)


@pytest.fixture(scope="session")
def fake_nvml_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the compiled library; each test worker has its own."""
    gcc = shutil.which("gcc") or _give_up()
    directory = tmp_path_factory.mktemp("fake_nvml")
    options = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-Wl,-soname,{_SONAME}"]
    subprocess.run([gcc, *options, "-o", str(directory / _SONAME), str(_SOURCE)], check=True)
    return directory


def _give_up() -> NoReturn:
    """A person's machine may lack gcc; where everything must be proved, it may not."""
    if os.environ.get("CI"):
        pytest.fail(_NO_GCC)
    pytest.skip(_NO_GCC)


@pytest.fixture
def fake_nvml(fake_nvml_directory: Path, tmp_path: Path) -> FakeNvml:
    """A fake driver of one idle GPU, until the test tells otherwise."""
    return FakeNvml(fake_nvml_directory, tmp_path)


@pytest.fixture(scope="session")
def gpu_parent(fake_nvml_directory: Path) -> Iterator[GpuChild]:
    """What children are forked from: it has imported all, and opened no driver."""
    with GpuChild({**os.environ, "LD_LIBRARY_PATH": str(fake_nvml_directory)}) as parent:
        yield parent


@pytest.fixture
def gpu_child(fake_nvml: FakeNvml, gpu_parent: GpuChild) -> Iterator[GpuChild]:
    """A child that sees the fake driver's GPUs."""
    with gpu_parent.fork(fake_nvml.own) as child:
        yield child
