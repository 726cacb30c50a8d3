"""The command line: one thin function a sub-command. Textual is imported only when the UI is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper

from tui.cli.parser import build_parser
from tui.cli.say import say
from tui.errors import ExitCode, SgltuiError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Errors go to stderr as one line: what happened, and what to do next.
    """
    _open_closed_streams()
    options = build_parser().parse_args(arguments)
    _tolerate_any_text()
    module, _, function = options.run.partition(":")
    try:
        status = int(getattr(import_module(module), function)(options))
        sys.stdout.flush()  # here, where a full disk or a closed pipe can still be told
    except SgltuiError as error:
        say(str(error))
        return int(error.exit_code)
    except KeyboardInterrupt:
        say("interrupted; what was launched or is being stopped goes on")
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # Whoever reads has seen enough (`| head`).
        _forget_stdout()
        return int(ExitCode.DONE)
    except OSError as error:
        say(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        _forget_stdout()
        return int(ExitCode.FAILED)
    return status


def _open_closed_streams() -> None:
    """Who starts a command with a stream closed (`2>&-`) wants to hear nothing there, and not on another one.

    In this order each gets the number that was closed, which then no socket or record of ours can have.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, PTH123 - for as long as we live


def _tolerate_any_text() -> None:
    """A terminal of another encoding, or a name that is no text, costs an escape and not the whole answer."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _forget_stdout() -> None:
    """Nothing more can be written, not even what the interpreter still holds when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
