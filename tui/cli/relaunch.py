"""`sgltui relaunch`."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence

from tui.cli.context import Context, open_context
from tui.cli.launch import wait_until_ready
from tui.cli.say import say
from tui.errors import ExitCode, RefusedError
from tui.keeper.stop import StopRequest
from tui.launch.again import last_that_worked
from tui.launch.records import Recorded, find_launch
from tui.launch.relaunch import Draft, Relauncher
from tui.sglang.edit import FlagEdit
from tui.text import printable


def relaunch(options: argparse.Namespace) -> ExitCode:
    """Launch a server again, with some flags changed: show what changes, stop the old one, start the new one."""
    context = open_context(options)
    relauncher = Relauncher(context.places, context.settings, context.reader, say)
    draft = relauncher.draft(_base(context, options), read_edit(options.set, options.unset), options.on)
    for line in describe(draft):
        say(line)
    if options.dry_run:
        print(shlex.join(draft.command))
        return ExitCode.DONE
    grace_s = context.settings.grace_s if options.grace is None else options.grace
    stop = StopRequest(grace_s, context.settings.release_wait_s, kill=False)
    address = relauncher.relaunch(draft, stop, force=options.force)
    print(address, flush=True)
    return wait_until_ready(context, address, options.timeout) if options.wait else ExitCode.DONE


def _base(context: Context, options: argparse.Namespace) -> Recorded:
    if not options.back:
        return find_launch(context.places, options.address)
    name = options.address.partition("/")[0]
    find_launch(context.places, name)  # says so if there is no such name
    worked = last_that_worked(context.places, name)
    if worked is None:
        raise RefusedError(f"no earlier launch of {name} became ready", f"see `sgltui history {name}`")
    return worked


def read_edit(to_set: Sequence[str], to_unset: Sequence[str]) -> FlagEdit:
    """`FLAG=VALUE` sets one, `FLAG` alone switches it on; several values stand behind one flag, parted by blanks."""
    edit = FlagEdit()
    for text in to_set:
        name, equals, value = text.removeprefix("--").partition("=")
        # One word as it is: JSON and paths have blanks too, and a list is given as `cuda-graph-bs=1 2 4`.
        edit = edit.setting(name, *([value] if equals else []))
    for name in to_unset:
        edit = edit.unsetting(name.removeprefix("--"))
    return edit


def describe(draft: Draft) -> list[str]:
    """What changes, a line a flag."""
    lines = [f"{line.sign} {printable(line.text)}" for line in draft.changes]
    was, now = draft.base.launch.sglang_version, draft.release
    if was is not None and was != now:
        lines.insert(0, f"SGLang {now}, which was {was}")
    return lines or [f"the flags of {draft.base.address}, unchanged"]
