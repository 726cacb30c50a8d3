"""The flags of an installed SGLang, from its own parser: a short-lived Python of its own, off the GPU, with limits."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from tui.sglang.ask import TooMuchError, run_apart
from tui.sglang.flags import Flag, FlagInventory, make_inventory
from tui.text import printable

LIMIT_S = 120.0  # imports torch: 6 to 11 s on an idle machine, 40 s measured on a busy one
_MAX_BYTES = 8 << 20  # 0.5.23 prints 0.2 MiB
_TAIL_BYTES = 4096
_SCRIPT = Path(__file__).with_name("print_flags.py")

# Types by the name of the function that reads them; any other is taken for text, which nothing is refused for.
_TYPES = {
    "int": "int",
    "float": "float",
    "human_readable_int": "human_int",
    "loads": "json",
    "json_list_type": "json_list",
    "nullable_str": "nullable_str",
    "parse_cuda_graph_config_arg": "json",
}
_NOTHING = "DeprecatedAction"  # takes the flag, warns, and stores nothing


class IntrospectionError(Exception):
    """Its flags can't be had; the message says why, to follow the interpreter's path."""


def introspect(
    python: Path, release: str, environment: Mapping[str, str] | None = None, limit_s: float = LIMIT_S
) -> FlagInventory:
    """Ask an interpreter for the flags of its SGLang, help texts included. Takes seconds.

    Args:
        python: the interpreter.
        release: what its package says it is.
        environment: what a launch adds to this process's own variables.
        limit_s: after so many seconds it is killed together with all it has started.

    Raises:
        IntrospectionError: it can't be started, didn't finish, failed, or answered something else.
    """
    with tempfile.TemporaryFile() as errors:
        answer = _run(python, {**os.environ, **(environment or {}), **_OFF_THE_GPU}, errors, limit_s)
    return read_answer(answer, release)


_OFF_THE_GPU = {"CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def read_answer(answer: bytes, release: str) -> FlagInventory:
    """The inventory that `print_flags.py` printed.

    Raises:
        IntrospectionError: it isn't one.
    """
    try:
        items = json.loads(answer)["flags"]
        flags = tuple(_read_flag(item) for item in items)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise IntrospectionError(f"answered something else than its flags ({type(error).__name__})") from error
    if not flags:
        raise IntrospectionError("has a parser without flags")
    return make_inventory(release, flags)


def _run(python: Path, environment: Mapping[str, str], errors: IO[bytes], limit_s: float) -> bytes:
    argv = [str(python), "-u", "-c", _SCRIPT.read_text(encoding="utf-8")]
    folder = tempfile.gettempdir()
    try:
        return run_apart(
            argv, limit_s, _MAX_BYTES, errors=errors, environment=environment, folder=folder, ends_all=True
        )
    except subprocess.TimeoutExpired:
        raise IntrospectionError(f"didn't tell its flags within {limit_s:g} s") from None
    except TooMuchError:
        raise IntrospectionError("printed more than any parser has to say") from None
    except subprocess.CalledProcessError as error:
        why = _last_line(errors) or f"status {error.returncode}"
        raise IntrospectionError(f"failed to load SGLang's flags: {why}") from None
    except OSError as error:
        raise IntrospectionError(f"can't be started: {error.strerror}") from error


def _last_line(errors: IO[bytes]) -> str:
    """What Python said last: the exception."""
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - _TAIL_BYTES))
    lines = [line for line in errors.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return printable(lines[-1].strip())[:300] if lines else ""


def _read_flag(item: Mapping[str, Any]) -> Flag:
    options = tuple(str(option) for option in item["options"])
    kind = item["kind"]
    is_boolean = kind == "BooleanOptionalAction"
    if is_boolean:
        options = tuple(option for option in options if not option.startswith("--no-"))
    action: Any = "store"
    if is_boolean:
        action = "boolean"
    elif item["switch"]:
        action = "deprecated" if kind == _NOTHING else "store_true"
    choices = item["choices"]
    return Flag(
        option_strings=options,
        dest=str(item["dest"]),
        type=None if action != "store" else _TYPES.get(item["type"], "str"),  # type: ignore[arg-type]  # from the table
        choices=None if choices is None else tuple(choices),
        default=item["default"],
        nargs=None if action != "store" or item["nargs"] is None else str(item["nargs"]),
        action=action,
        required=bool(item["required"]),
        deprecated=kind.startswith("Deprecated"),
        help=str(item["help"]),
    )
