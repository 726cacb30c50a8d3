"""A pasted command line as a preset: shell, `docker run`, compose, systemd, batch systems. Nothing is ever run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from tui.errors import UsageError
from tui.presets.importing.assemble import assemble
from tui.presets.importing.calls import find_calls
from tui.presets.importing.cleaning import clean
from tui.presets.importing.compose import Service, is_compose, read_services
from tui.presets.importing.containers import release_of, say_image
from tui.presets.importing.remarks import Remark, Remarks
from tui.presets.importing.server import Call
from tui.presets.importing.shell import read_shell
from tui.presets.importing.systemd import Unit, is_unit
from tui.presets.importing.words import Invocation, Word
from tui.presets.preset import Preset

__all__ = ["Imported", "Remark", "import_command", "import_words"]
from tui.text import printable

_SERVER = re.compile(r"launch_server|sglang\s+serve")
_NOT_FOUND = UsageError(
    "no server of SGLang is started in that",
    "paste the line with `python -m sglang.launch_server …` or `sglang serve …`",
)


class Imported(Struct, frozen=True):
    """What became of a command line.

    Attributes:
        preset: holds no secret and no path.
        remarks: what was changed, isn't clear or couldn't be kept.
        servers: how many there were; the preset is of one of them.
    """

    preset: Preset
    remarks: tuple[Remark, ...]
    servers: int = 1


def import_command(text: str, name: str | None = None, number: int = 1) -> Imported:
    """The preset of the server that a text starts.

    Args:
        text: as somebody pasted it.
        name: of the preset; None: after its model.
        number: which server, where there are several, from 1 on.

    Raises:
        UsageError: there is no server in it, or it can't be read.
    """
    remarks = Remarks()
    calls = _read(clean(text, remarks), remarks)
    return _choose(calls, name, number, remarks)


def import_words(
    words: Sequence[str], environment: Mapping[str, str], name: str | None = None, release: str | None = None
) -> Imported:
    """The preset of a running server, from its argument vector and the release that reads it, where that is known.

    Raises:
        UsageError: it isn't a server of SGLang.
    """
    remarks = Remarks()
    given = {variable: Word(value) for variable, value in environment.items()}
    calls = find_calls([Invocation([Word(word) for word in words], given)], remarks)
    for call in calls:
        call.release = release
    return _choose(calls, name, 1, remarks)


def _choose(calls: Sequence[Call], name: str | None, number: int, remarks: Remarks) -> Imported:
    if not calls and remarks.obstacle is not None:
        hint = "write what it starts behind the image: `python3 -m sglang.launch_server …` or `sglang serve …`"
        raise UsageError(f"no server of SGLang is started in that: {printable(remarks.obstacle)}", hint)
    if not calls:
        raise _NOT_FOUND
    if not 1 <= number <= len(calls):
        raise UsageError(f"there is no server {number} in that", f"it starts {len(calls)}")
    if len(calls) > 1:
        remarks.lost(f"{len(calls)} servers are started: this is number {number}; import the others one by one")
    preset = assemble(calls[number - 1], name, remarks)
    try:
        msgspec.json.encode(preset)
    except UnicodeEncodeError:
        what = "the server's command line holds bytes or escapes that are no text, and a preset is text"
        raise UsageError(what, "rename the path that isn't UTF-8") from None
    return Imported(preset, remarks.all(), len(calls))


def _read(text: str, remarks: Remarks) -> list[Call]:
    if text.lstrip().startswith("[") and (words := _read_list(text)) is not None:
        return find_calls([Invocation(words)], remarks)
    if is_unit(text):
        return _read_unit(text, remarks)
    if is_compose(text) and not text.lstrip().startswith(("docker", "#!")):
        return [call for service in read_services(text, remarks) for call in _read_service(service, remarks)]
    return find_calls(_read_shell(text, remarks), remarks)


def _read_list(text: str) -> list[Word] | None:
    """A JSON list of words, as records and `docker inspect` have it."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return [Word(word) for word in value] if value and all(isinstance(word, str) for word in value) else None


def _read_shell(text: str, remarks: Remarks) -> list[Invocation]:
    """The commands; prose around them, whose apostrophes open quotes, is left out."""
    try:
        return read_shell(text, remarks)
    except UsageError:
        lines = text.split("\n")
        first = next((at for at, line in enumerate(lines) if _SERVER.search(line)), None)
        if not first:
            raise
        while first > 0 and lines[first - 1].rstrip().endswith("\\"):
            first -= 1
        paragraph = "\n".join(lines[first:]).partition("\n\n")[0]
        found = read_shell(paragraph, remarks)
        remarks.lost("the text around the command, which is no shell")
        return found


def _read_unit(text: str, remarks: Remarks) -> list[Call]:
    unit = Unit(text, remarks)
    calls = find_calls(unit.invocations, remarks)
    for call in calls:
        call.restart, call.restart_pause_s = call.restart or unit.restarts, unit.pause_s
    return calls


def _read_service(service: Service, remarks: Remarks) -> list[Call]:
    commands = read_shell(service.script, remarks) if service.script is not None else [Invocation(service.words)]
    calls = find_calls(commands, remarks)
    for call in calls:
        call.environment = service.environment | call.environment
        call.gpus, call.restart = call.gpus or service.gpus, service.restarts
        call.volumes += service.volumes
        call.python, call.is_contained = None, True
        if service.image is not None:
            call.release = release_of(service.image)
            say_image(service.image, remarks)
    return calls
