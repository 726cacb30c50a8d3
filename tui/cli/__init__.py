"""The command line: one thin function a sub-command. Textual is imported only when the UI is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from tui.cli.parser import build_parser
from tui.errors import ExitCode, SgltuiError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Errors go to stderr as one line: what happened, and what to do next.
    """
    options = build_parser().parse_args(arguments)
    module, _, function = options.run.partition(":")
    try:
        return int(getattr(import_module(module), function)(options))
    except SgltuiError as error:
        print(f"sgltui: {_one_line(str(error))}", file=sys.stderr)
        return int(error.exit_code)
    except BrokenPipeError:
        # Whoever reads has seen enough (`| head`); nothing more can be written, not even at interpreter exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.DONE)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"sgltui: {_one_line(where)}{error.strerror or error}", file=sys.stderr)
        return int(ExitCode.FAILED)
    except KeyboardInterrupt:
        print("sgltui: interrupted", file=sys.stderr)
        return int(ExitCode.INTERRUPTED)


def _one_line(text: str) -> str:
    """Names and paths in messages come from outside: no line breaks, no control codes."""
    return "".join(char if char.isprintable() else " " for char in text)
