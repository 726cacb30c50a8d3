"""The grammar of the command line. Each sub-command names the function that runs it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
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
            self.error("only `launch` takes flags behind `--`")
        if passed_on is not None and hasattr(options, _PASSED_ON):
            setattr(options, _PASSED_ON, passed_on)
        if getattr(options, "read_only", False) and getattr(options, "changes", False):
            self.error("--read-only: nothing is changed")
        if getattr(options, "timeout", None) is not None and not options.wait:
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
    _add_launch(commands)
    _add_ps(commands)
    _add_gpus(commands)
    _add_logs(commands)
    _add_stop(commands)
    _add_preset(commands)
    _add_ui(commands)
    return parser


_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - its only name


def _add(commands: _Commands, name: str, run: str, text: str) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    command.set_defaults(run=run)
    return command


def _add_launch(commands: _Commands) -> None:
    launch = _add(commands, "launch", "tui.cli.launch:launch", "launch a server and leave it running")
    launch.add_argument("preset", nargs="?", metavar="PRESET", help="a preset's name, or a path that ends in .toml")
    launch.add_argument("--model", metavar="PATH_OR_ID", help="launch this model without a preset")
    launch.add_argument("--name", help="its name here (default: the preset's, or the model's)")
    launch.add_argument("--on", metavar="0,1", help="GPUs by index or uuid (default: the preset's, else the freest)")
    launch.add_argument("--port", type=_port, help="default: the preset's, else the first free one from 30000 on")
    launch.add_argument("--wait", action="store_true", help="until it is ready; status 1 and the cause if it fails")
    launch.add_argument("--timeout", type=_seconds, metavar="S", help="with --wait: give up waiting after S seconds")
    _add_presets_option(launch)
    launch.usage = "sgltui launch [options] (PRESET | --model PATH_OR_ID) [-- SGLANG_FLAGS...]"
    launch.set_defaults(**{_PASSED_ON: ()}, changes=True)


def _add_ps(commands: _Commands) -> None:
    ps = _add(commands, "ps", "tui.cli.ps:ps", "list the servers")
    ps.add_argument("--json", action="store_true", help="for scripts")
    ps.add_argument("--watch", action="store_true", help="again every second, until ctrl-c")


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


def _add_stop(commands: _Commands) -> None:
    stop = _add(commands, "stop", "tui.cli.stop:stop", "stop servers and wait until their memory is back")
    stop.add_argument("names", nargs="+", metavar="NAME", help="as `sgltui ps` lists them")
    stop.add_argument(
        "--grace",
        type=_seconds,
        metavar="S",
        help="how long it may drain before it is killed (grace_s in settings, or 30)",
    )
    stop.add_argument("--kill", action="store_true", help="kill at once; running requests are lost")
    stop.add_argument("--json", action="store_true", help="for scripts")
    stop.set_defaults(changes=True)


def _add_preset(commands: _Commands) -> None:
    preset = _add(commands, "preset", "tui.cli.preset:list_presets", "list and show presets")
    actions = preset.add_subparsers(metavar="ACTION", required=True, prog="sgltui preset")
    for name, run, text in (
        ("list", "tui.cli.preset:list_presets", "all presets, and what is wrong with broken ones"),
        ("show", "tui.cli.preset:show_preset", "one preset as TOML, and where it comes from"),
    ):
        action = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        action.set_defaults(run=run)
        _add_presets_option(action)
        if name == "show":
            action.add_argument("preset", metavar="PRESET", help="a preset's name, or a path that ends in .toml")


def _add_ui(commands: _Commands) -> None:
    _add_ui_options(_add(commands, "ui", "tui.cli.ui:ui", "open the terminal UI (the default)"))
    demo = _add(commands, "demo", "tui.cli.ui:demo", "open the UI over simulated GPUs and servers; needs no GPU")
    _add_ui_options(demo)


# SUPPRESS below: given before or after the command's name, an option must not be undone by the other parser's default.


def _add_ui_options(parser: argparse.ArgumentParser) -> None:
    hidden = argparse.SUPPRESS
    parser.add_argument("--read-only", action="store_true", default=hidden, help="change nothing, only look")
    parser.add_argument("--ascii", action="store_true", default=hidden, help="draw with ASCII characters only")
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


def _count(text: str) -> int:
    if text.isdecimal():
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} isn't a number of lines")
