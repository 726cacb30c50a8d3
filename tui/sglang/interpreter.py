"""The Python that runs SGLang: found by asking interpreters for its version, never by importing it here."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tui.errors import RefusedError
from tui.sglang.ask import NO_ANSWER, ask, explain_silence
from tui.sglang.references import expand_home
from tui.text import printable

Entry = Literal["launch_server", "serve"]

# Reads the installed package's metadata: importing SGLang takes seconds and may touch a GPU. An entry of sys.path that
# is empty stands for the current folder, whose files are none of our business. The stamp is the newest time among the
# metadata and the files that define flags: an editable installation changes without being installed again. The paths
# behind it are those that change with the installation.
_QUESTION = """
import os, sys
sys.path[:] = [entry for entry in sys.path if entry]
from importlib import metadata, util
def newest(*roots):
    times = [0]
    for root in filter(None, roots):
        for folder, _, names in os.walk(root):
            times += [os.stat(os.path.join(folder, name)).st_mtime_ns for name in names if name.endswith((".py", "A"))]
    return max(times)
try:
    package = metadata.distribution("sglang")
    own_metadata = getattr(package, "_path", None)
    witnesses = [own_metadata]
    try:
        parent = os.path.dirname(util.find_spec("sglang").origin)
        groups = os.path.join(parent, "srt", "arg_groups")
        arguments = os.path.join(parent, "srt", "server_args.py")
        own = 0
        if os.path.exists(arguments):
            own = os.stat(arguments).st_mtime_ns
            witnesses.append(arguments)
        stamp = max(own, newest(groups, own_metadata))
    except (AttributeError, ImportError, OSError, TypeError, ValueError):
        stamp = 0
    print(package.version, stamp, *filter(None, witnesses), sep="\\t")
except metadata.PackageNotFoundError:
    print("none")
"""
_NONE = "none"

# The interpreter in a console script: `#!/path/python`, or, where that would be too long or holds a blank, the shell
# line that installers write instead: '''exec' "/path/python" "$0" "$@".
_SHEBANG = re.compile(rb"#!(/\S*python[^\s/]*)|#!/bin/sh\r?\n'''exec' (?:\"([^\"\n]+)\"|(\S+))")
_HEAD_BYTES = 4096

# Only found ones are kept, and only until their files change: a front end that stays open sees an installation or an
# upgrade that is made meanwhile.
_found: dict[Path, _Answer] = {}


class _Answer(Struct, frozen=True):
    """What an interpreter said, and the files by which it can be told that it would say the same again."""

    version: str
    stamp: str
    witnesses: tuple[tuple[str, int | None], ...]

    @property
    def still_holds(self) -> bool:
        return all(_modified(path) == moment for path, moment in self.witnesses)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python that has SGLang.

    Attributes:
        python: its path; a link of a virtual environment isn't followed, since that would leave the environment.
        sglang_version: the release as its package says it: `0.5.11`, `0.5.6.post2`.
        stamp: changes with the installation; empty when it isn't known.
        is_simulated: a simulated machine's own, whose servers take the flags that are recorded of its release.
    """

    python: Path
    sglang_version: str
    stamp: str = field(default="", compare=False)
    is_simulated: bool = field(default=False, compare=False)


def find_interpreter(
    preset_python: str | None,
    settings_python: str | None,
    simulated: Path | None,
    settings_file: Path | None = None,
) -> Interpreter:
    """The interpreter to launch with.

    A simulated machine's own (`DIR/bin/python`) always; else the preset's, else the settings', else the first with
    SGLang among this one, the active virtual and conda environments, `python3` and `python` on PATH, and the one
    behind the `sglang` command. `settings_file` is only for the message that says where to name one.

    Raises:
        RefusedError: the one that is named can't be used, or none has SGLang.
    """
    if simulated is not None:
        own = _use_named(str(simulated / "bin" / "python"), "SGLTUI_SIMULATED must name a simulated machine's folder")
        return replace(own, is_simulated=True)
    if preset_python is not None:
        return _use_named(preset_python, "correct `python` in the preset's [engine]")
    config = printable(str(settings_file or "config.toml"))
    if settings_python is not None:
        return _use_named(settings_python, f"correct `python` in {config}")
    candidates = tuple(dict.fromkeys(filter(_is_executable, _likely())))
    for python in candidates:
        version = _version_or_none(python)
        if version is not None:
            return Interpreter(python, version, read_stamp(python))
    raise RefusedError(
        f"no Python with SGLang found (looked at {', '.join(map(_show, candidates)) or 'nothing: there is no Python'})",
        f"pip install sglang into one and name it as `python` in {config}, or try `sgltui demo`, which works without",
    )


def server_argv(interpreter: Interpreter, entry: Entry, arguments: Sequence[str]) -> list[str]:
    """The words that start a server.

    Raises:
        RefusedError: `serve` is asked for, and there is no `sglang` command beside the interpreter.
    """
    if entry == "launch_server":
        return [str(interpreter.python), "-m", "sglang.launch_server", *arguments]
    script = interpreter.python.parent / "sglang"
    if not _is_executable(script):
        raise RefusedError(
            f"no `sglang` command at {_show(script)}", 'use entry = "launch_server" in the preset\'s [engine]'
        )
    return [str(script), "serve", *arguments]


def read_sglang_version(python: Path) -> str | None:
    """The version of SGLang in an interpreter, or None when it has none; asked once an installation.

    Raises:
        OSError, subprocess.TimeoutExpired, subprocess.CalledProcessError: it didn't answer (`NO_ANSWER`).
    """
    known = _found.get(python)
    if known is None or not known.still_holds:
        _found.pop(python, None)
        lines = [line for line in ask([str(python), "-c", _QUESTION]).splitlines() if line.strip()]
        version, *more = lines[-1].strip().split("\t") if lines else [_NONE]
        if version == _NONE:
            return None
        witnesses = tuple((path, _modified(path)) for path in more[1:])
        known = _found[python] = _Answer(version, more[0] if more else "", witnesses)
    return known.version


def read_stamp(python: Path) -> str:
    """What tells one installation in an interpreter from the next; empty before its version was read."""
    known = _found.get(python)
    return "" if known is None else known.stamp


def _use_named(name: str, remedy: str) -> Interpreter:
    python = _expand(name)
    shown = _show(python)
    if not python.is_file():
        raise RefusedError(f"no Python at {shown}", remedy)
    try:
        version = read_sglang_version(python)
    except NO_ANSWER as error:
        raise RefusedError(f"{shown} {explain_silence(error)} when asked for its SGLang version", remedy) from error
    if version is None:
        raise RefusedError(f"{shown} has no SGLang", f"install it ({shown} -m pip install sglang) or {remedy}")
    return Interpreter(python, version, read_stamp(python))


def _expand(name: str) -> Path:
    """A path made absolute, `~/` expanded; a bare name (`python3.12`) is looked up on PATH."""
    found = shutil.which(name) if os.sep not in name else None
    return Path(found or expand_home(name)).absolute()


def _version_or_none(python: Path) -> str | None:
    try:
        return read_sglang_version(python)
    except NO_ANSWER:
        return None  # a broken Python somewhere on PATH is no reason to stop looking


def _likely() -> Iterator[Path]:
    """Where SGLang's interpreter usually is, whether it is there or not, the likeliest first."""
    yield Path(sys.executable)
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if os.environ.get(variable):
            yield Path(os.environ[variable], "bin", "python")
    yield from (Path(found) for found in map(shutil.which, ("python3", "python")) if found)
    script = shutil.which("sglang")
    behind = _python_behind(Path(script)) if script else None
    if behind is not None:
        yield behind


def _python_behind(script: Path) -> Path | None:
    """The interpreter that a console script starts with."""
    try:
        with script.open("rb") as file:
            match = _SHEBANG.match(file.read(_HEAD_BYTES))
    except OSError:
        return None
    return Path(os.fsdecode(next(filter(None, match.groups())))) if match else None


def _modified(path: str) -> int | None:
    """When it was, in ns; None where it isn't there."""
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - asked at each plan
    except OSError:
        return None


def _show(path: Path) -> str:
    return printable(str(path))


def _is_executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
