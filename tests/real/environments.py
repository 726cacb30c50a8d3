"""Virtual environments with a real SGLang that serves on the CPU, made once and kept.

Each lies in `$SGLTUI_REAL_CACHE/RELEASE` (default: `$XDG_CACHE_HOME/sgltui/real/RELEASE`), about 2.7 GB. pip is used
as the user has set it up; `SGLTUI_REAL_PIP_ARGS` adds arguments, for instance the index that has torch's CPU build.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from platformdirs import PlatformDirs

# Installed without their dependencies: those are CUDA builds. The releases of xgrammar are the ones that SGLang pins.
PACKAGES = {
    "0.5.11": ("sglang==0.5.11", "xgrammar==0.1.32"),
    "0.5.23": ("sglang==0.5.23", "xgrammar==0.2.7"),
}
_LIMIT_S = 1800
_HERE = Path(__file__).parent


class UnavailableError(Exception):
    """An environment can't be made here; says why."""


def ensure_environment(release: str) -> Path:
    """The interpreter that has this SGLang release; its environment is made if it isn't there.

    Raises:
        UnavailableError: pip couldn't install it, mostly for want of a network or of torch's CPU build.
    """
    cache = Path(os.environ.get("SGLTUI_REAL_CACHE") or PlatformDirs("sgltui").user_cache_path / "real")
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / release
    with _locked(cache / f"{release}.lock"):
        if not _is_made(folder, release):
            _make(folder, release)
    return _python(folder)


def _python(folder: Path) -> Path:
    return folder / "venv" / "bin" / "python"


def _is_made(folder: Path, release: str) -> bool:
    """The marker is written last, and says from what: a half-made or an outdated environment is made again."""
    marker = folder / "made-from.txt"
    return marker.exists() and marker.read_text() == _recipe(release)


def _make(folder: Path, release: str) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir()
    _run([sys.executable, "-m", "venv", str(folder / "venv")])
    _install(folder, ["-r", str(_requirements(release))])
    _install(folder, ["--no-deps", *PACKAGES[release]])
    (folder / "made-from.txt").write_text(_recipe(release))


def _requirements(release: str) -> Path:
    return _HERE / f"requirements-{release}.txt"


def _recipe(release: str) -> str:
    packages = "\n".join(PACKAGES[release])
    return f"# Python {platform.python_version()}\n{_requirements(release).read_text()}{packages}\n"


def _install(folder: Path, arguments: Sequence[str]) -> None:
    extra = shlex.split(os.environ.get("SGLTUI_REAL_PIP_ARGS", ""))
    pip = [str(_python(folder)), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    _run([*pip, *extra, *arguments])


def _run(argv: Sequence[str]) -> None:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{shlex.join(argv)}: {error}") from error
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or [done.stderr[-500:]]
        raise UnavailableError(f"{shlex.join(argv)} failed: {' '.join(errors)}")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One at a time makes an environment; the others wait for it."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
