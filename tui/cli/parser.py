"""The grammar of the command line. Each sub-command names the function that runs it."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from tui import __version__

_DESCRIPTION = "A terminal process manager for SGLang servers, and a detective for their GPU memory."
_EPILOG = "Without a command the terminal UI opens. `sgltui demo` tries everything on a simulated machine."
_PASSED_ON = "passed_on"


class _Parser(argparse.ArgumentParser):
    """Splits off what stands behind `--` first: those words are SGLang's, and argparse must not read them."""

    def parse_args(  # type: ignore[override]  # the namespace argument is of no use here
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        words = list(sys.argv[1:] if args is None else args)
        own, passed_on = words, None
        if "--" in words:
            at = words.index("--")
            own, passed_on = words[:at], tuple(words[at + 1 :])
        options = super().parse_args(own, namespace)
        if passed_on and not hasattr(options, _PASSED_ON):
            self.error("only `plan` and `launch` take flags behind `--`")
        if passed_on is not None and hasattr(options, _PASSED_ON):
            setattr(options, _PASSED_ON, passed_on)
        changes = getattr(options, "changes", False) and not getattr(options, "dry_run", False)
        if getattr(options, "read_only", False) and changes:
            self.error("--read-only: nothing is changed")
        if getattr(options, "timeout", None) is not None and not options.wait and options.group is None:
            self.error("--timeout goes with --wait")
        return options


def build_parser() -> argparse.ArgumentParser:
    """The parser of `sgltui`."""
    parser = _Parser(prog="sgltui", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"sgltui {__version__}")
    _add_ui_options(parser)
    parser.set_defaults(run="tui.cli.ui:ui")
    # Only the top parser splits at `--`; with prog given, argparse needn't render a usage text to find it.
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=argparse.ArgumentParser, prog="sgltui")
    _add_plan(commands)
    _add_launch(commands)
    _add_relaunch(commands)
    _add_ps(commands)
    _add_gpus(commands)
    _add_logs(commands)
    _add_explain(commands)
    _add_stop(commands)
    _add_adopt(commands)
    _add_test(commands)
    _add_history(commands)
    _add_doctor(commands)
    _add_preset(commands)
    _add_flags(commands)
    _add_ui(commands)
    return parser


_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - its only name


def _add(commands: _Commands, name: str, run: str, text: str) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    command.set_defaults(run=run)
    return command


def _add_plan(commands: _Commands) -> None:
    plan = _add(commands, "plan", "tui.cli.plan:plan", "show what a launch would do with the GPUs' memory")
    plan.add_argument("preset", nargs="?", metavar="PRESET", help="a preset's name, or a path that ends in .toml")
    plan.add_argument("--model", metavar="PATH_OR_ID", help="plan for this model; with a preset, in its place")
    plan.add_argument("--config", metavar="CONFIG.json", help="only the model's config is at hand")
    plan.add_argument("--on", metavar="0,1", help="this machine's GPUs by index or uuid (default: the freest)")
    plan.add_argument("--gpu", metavar="NAME:TOTAL_MIB[:FREE_MIB]", help="plan for such GPUs, here or not")
    plan.add_argument("--gpus", type=_positive, metavar="N", help="with --gpu: so many (default: what is needed)")
    plan.add_argument("--sglang", metavar="VERSION", help="the release (default: the one that would be launched)")
    for option, what in (
        ("--avail-before", "free memory before the weights"),
        ("--weights", "what the weights took"),
        ("--draft-weights", "what the draft model took"),
    ):
        plan.add_argument(option, type=_gib, metavar="GIB", help=f"{what}, measured; replaces the plan's figure")
    plan.add_argument("--compare", metavar="NAME[/LAUNCH]", help="beside what the log of that launch says")
    plan.add_argument("--json", action="store_true", help="for scripts")
    _add_presets_option(plan)
    plan.usage = "sgltui plan [options] (PRESET | --model PATH_OR_ID | --config CONFIG.json) [-- SGLANG_FLAGS...]"
    plan.set_defaults(**{_PASSED_ON: ()})


def _add_launch(commands: _Commands) -> None:
    launch = _add(commands, "launch", "tui.cli.launch:launch", "launch a server and leave it running")
    launch.add_argument("preset", nargs="?", metavar="PRESET", help="a preset's name, or a path that ends in .toml")
    launch.add_argument("--model", metavar="PATH_OR_ID", help="launch this model without a preset")
    launch.add_argument("--group", metavar="GROUP", help="the presets of a group in order, each when the last is ready")
    launch.add_argument("--name", help="its name here (default: the preset's, or the model's)")
    launch.add_argument("--on", metavar="0,1", help="GPUs by index or uuid (default: the preset's, else the freest)")
    launch.add_argument("--port", type=_port, help="default: the preset's, else the first free one from 30000 on")
    launch.add_argument("--force", action="store_true", help="also when it doesn't fit (status 3 otherwise)")
    launch.add_argument("--wait", action="store_true", help="until it is ready; status 1 and the cause if it fails")
    launch.add_argument("--timeout", type=_seconds, metavar="S", help="with --wait: give up waiting after S seconds")
    _add_presets_option(launch)
    launch.usage = "sgltui launch [options] (PRESET | --model PATH_OR_ID | --group GROUP) [-- SGLANG_FLAGS...]"
    launch.set_defaults(**{_PASSED_ON: ()}, changes=True)


def _add_relaunch(commands: _Commands) -> None:
    relaunch = _add(commands, "relaunch", "tui.cli.relaunch:relaunch", "launch a server again, with some flags changed")
    relaunch.add_argument("address", metavar="NAME[/LAUNCH]", help="its newest launch, or the flags of an earlier one")
    relaunch.add_argument(
        "--set", action="append", default=[], metavar="FLAG[=VALUE]", help="max-running-requests=8; may be repeated"
    )
    relaunch.add_argument("--unset", action="append", default=[], metavar="FLAG", help="leave it out; may be repeated")
    relaunch.add_argument("--back", action="store_true", help="the flags of the last launch before that became ready")
    relaunch.add_argument("--on", metavar="0,1", help="GPUs by index or uuid (default: those that it had)")
    relaunch.add_argument("--dry-run", action="store_true", help="show what changes and the command, and do nothing")
    relaunch.add_argument("--force", action="store_true", help="also when it doesn't fit (status 3 otherwise)")
    relaunch.add_argument("--grace", type=_seconds, metavar="S", help="how long the old one may drain")
    relaunch.add_argument("--wait", action="store_true", help="until it is ready; status 1 and the cause if it fails")
    relaunch.add_argument("--timeout", type=_seconds, metavar="S", help="with --wait: give up waiting after S seconds")
    relaunch.set_defaults(changes=True, group=None)


def _add_ps(commands: _Commands) -> None:
    ps = _add(commands, "ps", "tui.cli.ps:ps", "list the servers")
    how = ps.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="for scripts")
    how.add_argument("--prometheus", action="store_true", help="for a node exporter's textfile collector")
    ps.add_argument("--watch", action="store_true", help="a line for each change, until ctrl-c")


def _add_gpus(commands: _Commands) -> None:
    gpus = _add(commands, "gpus", "tui.cli.gpus:gpus", "list the GPUs and who holds their memory")
    gpus.add_argument("--json", action="store_true", help="for scripts")


def _add_logs(commands: _Commands) -> None:
    logs = _add(commands, "logs", "tui.cli.logs:logs", "show the log of a launch")
    logs.add_argument("address", metavar="NAME[/LAUNCH]", help="a server's newest launch, or a certain one")
    logs.add_argument("-f", "--follow", action="store_true", help="go on as it grows, until ctrl-c")
    logs.add_argument("-n", "--lines", type=_count, metavar="N", help="only the last N lines (default with -f: 20)")
    logs.add_argument("--previous", action="store_true", help="the launch before")
    logs.add_argument("--problems", action="store_true", help="only warnings, errors and tracebacks")
    logs.add_argument("--grep", metavar="RE", help="only lines that this regular expression matches")


def _add_explain(commands: _Commands) -> None:
    explain = _add(commands, "explain", "tui.cli.explain:explain", "say why a launch failed, from its log")
    explain.add_argument("target", metavar="NAME[/LAUNCH] | LOGFILE", help="a launch, or any log of SGLang")
    explain.add_argument("--sglang", metavar="VERSION", help="the release that wrote it (default: as recorded)")
    explain.add_argument("--exit", type=int, metavar="CODE", help="how it ended: a status, or minus a signal")
    explain.add_argument("--at", metavar="TIME", help="the moment of looking, for a server that says nothing")
    how = explain.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="for scripts")
    how.add_argument("--report", action="store_true", help="as Markdown for a bug tracker, without secrets")


def _add_stop(commands: _Commands) -> None:
    stop = _add(commands, "stop", "tui.cli.stop:stop", "stop servers and wait until their memory is back")
    stop.add_argument("names", nargs="*", metavar="NAME", help="as `sgltui ps` lists them")
    stop.add_argument("--group", metavar="GROUP", help="the servers of a group, the last one first")
    stop.add_argument("--pid", type=_pid, help="a left-over SGLang server of yours that sgltui didn't start")
    stop.add_argument("--yes", action="store_true", help="with --pid: don't ask")
    stop.add_argument(
        "--grace",
        type=_seconds,
        metavar="S",
        help="how long it may drain before it is killed (grace_s in settings, or 30)",
    )
    stop.add_argument("--kill", action="store_true", help="kill at once; running requests are lost")
    stop.add_argument("--json", action="store_true", help="for scripts")
    stop.set_defaults(changes=True)


def _add_adopt(commands: _Commands) -> None:
    adopt = _add(commands, "adopt", "tui.cli.adopt:adopt", "give servers whose keeper died a new one")
    adopt.add_argument("names", nargs="*", metavar="NAME", help="as `sgltui ps` lists them (default: all of them)")
    adopt.set_defaults(changes=True)


def _add_test(commands: _Commands) -> None:
    test = _add(commands, "test", "tui.cli.test:test", "send a ready server one request, or a small load")
    test.add_argument("name", metavar="NAME", help="as `sgltui ps` lists it")
    test.add_argument("--requests", type=_upto(10_000), metavar="N", help="a load of so many (default: one request)")
    test.add_argument("--concurrency", type=_upto(256), metavar="C", help="so many at a time (default: 8)")
    test.add_argument("--remote-ok", action="store_true", help="also where it listens on no loopback address")
    test.add_argument("--json", action="store_true", help="for scripts")
    test.set_defaults(changes=True)


def _add_history(commands: _Commands) -> None:
    history = _add(commands, "history", "tui.cli.history:history", "list the attempts at a server and how they ended")
    history.add_argument("name", metavar="NAME", help="a server's name")
    history.add_argument("--json", action="store_true", help="for scripts")


def _add_doctor(commands: _Commands) -> None:
    doctor = _add(commands, "doctor", "tui.cli.doctor:doctor", "show what works on this machine, and what to do if not")
    doctor.add_argument("--json", action="store_true", help="for scripts")


def _add_preset(commands: _Commands) -> None:
    preset = _add(commands, "preset", "tui.cli.preset:list_presets", "list, save, import and compare presets")
    actions = preset.add_subparsers(metavar="ACTION", required=True, prog="sgltui preset")
    for name, run, text in (
        (
            "list",
            "tui.cli.preset:list_presets",
            "all presets, how far each is proven here, and what is broken",
        ),
        ("show", "tui.cli.preset:show_preset", "one preset as TOML, and where it comes from"),
        ("save", "tui.cli.preset_save:save_preset", "keep a launch as a preset, with its evidence"),
        ("import", "tui.cli.preset_import:import_preset", "make a preset of a pasted command line or a running server"),
        ("diff", "tui.cli.preset_diff:diff_presets", "what differs between two presets, or since the last version"),
        ("remove", "tui.cli.preset_remove:remove_preset", "take a preset away; its last version stays beside it"),
    ):
        action = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        action.set_defaults(run=run)
        _add_presets_option(action)
        _PRESET_ARGUMENTS[name](action)
    _add_preset_check(actions)
    _add_preset_translate(actions)


def _add_list_arguments(action: argparse.ArgumentParser) -> None:
    action.add_argument("--json", action="store_true", help="for scripts")


def _add_show_arguments(action: argparse.ArgumentParser) -> None:
    action.add_argument("preset", metavar="PRESET", help="a preset's name, or a path that ends in .toml")
    action.add_argument("--json", action="store_true", help="for scripts")


def _add_save_arguments(action: argparse.ArgumentParser) -> None:
    action.add_argument("name", metavar="NAME", help="of the preset")
    action.add_argument("--from", dest="source", metavar="NAME[/LAUNCH]", required=True, help="the launch to keep")
    _add_yes(action, "don't ask before an earlier version is replaced; it is kept")


def _add_import_arguments(action: argparse.ArgumentParser) -> None:
    action.add_argument("file", nargs="?", metavar="FILE", default="-", help="with the command line (default: stdin)")
    action.add_argument("--pid", type=_pid, help="take the flags of this running server of yours")
    action.add_argument("--name", metavar="NAME", help="of the preset (default: after its model)")
    action.add_argument("--nth", type=_positive, metavar="N", default=1, help="which server, if several are started")
    action.add_argument("--dry-run", action="store_true", help="only show it")
    _add_yes(action, "don't ask before an earlier version is replaced; it is kept")


def _add_diff_arguments(action: argparse.ArgumentParser) -> None:
    action.add_argument("preset", metavar="PRESET", help="a preset's name, or a path that ends in .toml")
    action.add_argument("other", nargs="?", metavar="OTHER", help="another one (default: its own last version)")


def _add_remove_arguments(action: argparse.ArgumentParser) -> None:
    action.add_argument("preset", metavar="PRESET", help="a preset's name")
    _add_yes(action, "don't ask")


def _add_yes(action: argparse.ArgumentParser, text: str) -> None:
    action.add_argument("--yes", action="store_true", help=text)
    action.set_defaults(changes=True)


_PRESET_ARGUMENTS = {
    "list": _add_list_arguments,
    "show": _add_show_arguments,
    "save": _add_save_arguments,
    "import": _add_import_arguments,
    "diff": _add_diff_arguments,
    "remove": _add_remove_arguments,
}


def _add_preset_check(actions: _Commands) -> None:
    text = "say what SGLang would refuse of presets, or ignore; status 1 where it would refuse"
    check = _add(actions, "check", "tui.cli.preset_check:check", text)
    check.add_argument("names", nargs="*", metavar="PRESET", help="names, or paths that end in .toml (default: all)")
    check.add_argument("--for", dest="sglang", metavar="VERSION", help="what they become for this release, as a diff")
    check.add_argument("--json", action="store_true", help="for scripts")
    _add_presets_option(check)


def _add_preset_translate(actions: _Commands) -> None:
    text = "rewrite a preset for another release; shows the diff and asks"
    move = _add(actions, "translate", "tui.cli.preset_check:translate_preset", text)
    move.add_argument("preset", metavar="PRESET", help="a preset's name, or a path that ends in .toml")
    move.add_argument("--to", required=True, metavar="VERSION", help="the release it shall be for")
    move.add_argument("--yes", action="store_true", help="don't ask")
    _add_presets_option(move)
    move.set_defaults(changes=True)


def _add_flags(commands: _Commands) -> None:
    flags = _add(commands, "flags", "tui.cli.flags:flags", "list the flags that SGLang takes, with its own help")
    flags.add_argument("pattern", nargs="?", metavar="PATTERN", help="only flags like this, the likeliest first")
    whose = flags.add_mutually_exclusive_group()
    whose.add_argument("--python", metavar="PATH", help="the Python whose SGLang is meant (default: as for a launch)")
    whose.add_argument("--sglang", metavar="VERSION", help="a release; needs none installed, has no help texts")
    flags.add_argument("--json", action="store_true", help="for scripts")


def _add_ui(commands: _Commands) -> None:
    _add_ui_options(_add(commands, "ui", "tui.cli.ui:ui", "open the terminal UI (the default)"))
    _add_web(commands)
    demo = _add(commands, "demo", "tui.cli.ui:demo", "open the UI over simulated GPUs and servers; needs no GPU")
    _add_ui_options(demo)
    keys = _add(commands, "keys", "tui.cli.keys:keys", "list the keys of the UI, as they can stand in config.toml")
    keys.add_argument("--json", action="store_true", help="for scripts")


def _add_web(commands: _Commands) -> None:
    web = _add(commands, "web", "tui.cli.web:web", "serve the terminal UI to a browser on this machine")
    web.add_argument("--port", type=_port, default=8010, help="where the page is (default: 8010)")
    web.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="a loopback address (default: 127.0.0.1)")
    _add_ui_options(web)


# SUPPRESS below: given before or after the command's name, an option must not be undone by the other parser's default.


def _add_ui_options(parser: argparse.ArgumentParser) -> None:
    hidden = argparse.SUPPRESS
    parser.add_argument("--read-only", action="store_true", default=hidden, help="change nothing, only look")
    parser.add_argument("--ascii", action="store_true", default=hidden, help="draw with ASCII characters only")
    parser.add_argument("--no-mouse", action="store_true", default=hidden, help="leave the mouse to the terminal")
    _add_presets_option(parser)


def _add_presets_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--presets", type=Path, metavar="DIR", default=argparse.SUPPRESS, help="a folder with more presets"
    )


def _port(text: str) -> int:
    if text.isdecimal() and 0 < int(text) < 1 << 16:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} isn't a port; give a number from 1 to 65535")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} isn't a duration; give seconds, like 30 or 0.5")
    return seconds


def _positive(text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} isn't a number from 1 on")


def _upto(most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if text.isdecimal() and 0 < int(text) <= most:
            return int(text)
        raise argparse.ArgumentTypeError(f"{text!r} isn't a number from 1 to {most}")

    return number


def _gib(text: str) -> float:
    try:
        size = float(text)
    except ValueError:
        size = float("nan")
    if not math.isfinite(size):
        raise argparse.ArgumentTypeError(f"{text!r} isn't a size; give GiB, like 94.3")
    return size


def _pid(text: str) -> int:
    if text.isdecimal() and int(text) > 1:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} isn't a process id")


def _count(text: str) -> int:
    if text.isdecimal():
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} isn't a number of lines")
