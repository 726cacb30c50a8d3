"""`sgltui preset diff`."""

from __future__ import annotations

import argparse
from dataclasses import replace

from tui.cli.context import open_context
from tui.cli.say import say
from tui.errors import ExitCode, UsageError
from tui.presets import dump_preset, find_preset
from tui.presets.store import diff_texts, newest_version


def diff_presets(options: argparse.Namespace) -> ExitCode:
    """Print what differs, as a unified diff; nothing where they say the same."""
    context = open_context(options)
    first = find_preset(context.places, options.preset)
    if options.other is not None:
        second = find_preset(context.places, options.other)
        texts = dump_preset(first), dump_preset(replace(second, name=first.name))
        diff = diff_texts(*texts, str(first.path), str(second.path))
    else:
        kept = None if first.path is None else newest_version(first.path)
        if kept is None or first.path is None:
            raise UsageError(f"no earlier version of {first.name} was kept", "give another preset to compare it with")
        diff = diff_texts(_text(kept.read_bytes()), _text(first.path.read_bytes()), str(kept), str(first.path))
    if diff:
        print(diff)
    else:
        say("they say the same")
    return ExitCode.DONE


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
