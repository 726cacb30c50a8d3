"""From the name of a launch, or the path of any log, to a diagnosis: reads the log, the records and the model's config.

`python -m tui.launch.explain DIRECTORY` writes the diagnosis of a launch that has ended into its own directory; the
keeper's short-lived child.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from msgspec import Struct, field, structs
from msgspec.structs import replace

from tui.atomic import write_atomic
from tui.diagnosis.advice import advise
from tui.diagnosis.arithmetic import has_arithmetic, release_of, request_of, work_out
from tui.diagnosis.conclude import conclude
from tui.diagnosis.detective import Detective
from tui.diagnosis.diagnosis import Diagnosis, Ending
from tui.diagnosis.stored import to_document
from tui.errors import SgltuiError, UsageError
from tui.gpu import GpuReading
from tui.gpu.open import open_reader
from tui.keeper.files import LaunchFiles
from tui.keeper.states import ENDED, State
from tui.keeper.steps import step
from tui.launch.access import proven_endpoint
from tui.launch.again import spec_of
from tui.launch.measured import key_of, store
from tui.launch.records import Recorded, find_launch, read_launch
from tui.logs.file import LogFile
from tui.logs.numbered import find_numbered
from tui.logs.text import sanitize
from tui.model.errors import ModelError
from tui.model.find import find_model
from tui.model.published import published_config
from tui.model.read import read_model
from tui.model.shapes import Model
from tui.paths import Places, expand_user, find_places
from tui.sglang.http import NoAnswerError, get
from tui.sglang.server_info import PATH as SERVER_INFO
from tui.sglang.server_info import parse_server_info
from tui.sglang.versions import Release, parse_release
from tui.units import GIB, MIB

_ANSWER_LIMIT_S = 5.0
_BLOCK_BYTES = MIB
_CONTEXT_LINES = 3


class Case(Struct, frozen=True):
    """What is to be explained, and what is known of it beside its log.

    Attributes:
        log: the file.
        address: `NAME/LAUNCH`, for a launch of ours.
        model: a folder or an id in the place of the one that the log names.
        gpus: uuids of the GPUs it was given.
        machine: GPU and driver, for a report.
    """

    log: Path
    release: Release | None = None
    ending: Ending = field(default_factory=Ending)
    address: str | None = None
    model: str | None = None
    hub: Path | None = None
    card_mib: int | None = None
    gpus: tuple[str, ...] = ()
    machine: Mapping[str, str] = field(default_factory=dict)


class Explained(Struct, frozen=True):
    """A diagnosis with the detective that made it, whose arguments and secrets a report needs."""

    case: Case
    diagnosis: Diagnosis
    detective: Detective

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that must not be shown."""
        return tuple(sorted(self.detective.secrets))


def find_case(places: Places, target: str) -> Case:
    """The launch or the file that is meant: a path with a slash in front, or one that is there, is a file.

    Raises:
        UsageError: it is neither, or can't be looked at.
    """
    path = expand_user(target)
    try:
        is_file, exists = path.is_file(), path.exists()
    except OSError as error:  # too long a name, or a folder that isn't for us
        raise UsageError(f"{target} can't be looked at: {error.strerror}") from error
    if is_file or target.startswith(("/", "./", "../", "~")):
        if not exists:
            raise UsageError(f"there is no file {target}", "name a log, or a launch as `sgltui ps` lists it")
        return Case(path)
    return case_of(find_launch(places, target), hub=places.hub)


def case_of(recorded: Recorded, hub: Path | None = None) -> Case:
    """A launch of ours: what its records tell."""
    launch, ended = recorded.launch, recorded.exit
    state = recorded.current_state()
    now = datetime.now() if state not in ENDED and recorded.is_local else None  # noqa: DTZ005 - as logs have it
    gpus = ", ".join(dict.fromkeys(gpu.name for gpu in launch.gpus))
    return Case(
        log=recorded.files.log,
        release=parse_release(launch.sglang_version) if launch.sglang_version else None,
        ending=Ending(
            returncode=ended.returncode if ended is not None else None,
            now=now,
            killed_by=ended.killed_by if ended is not None else None,
            asked=state is State.STOPPED,
        ),
        address=recorded.address,
        model=launch.model,
        hub=hub,
        gpus=tuple(gpu.uuid for gpu in launch.gpus) if recorded.is_local else (),
        machine={"GPUs": f"{len(launch.gpus)} x {gpus}"} if gpus else {},
    )


def with_gpus(case: Case, reading: GpuReading) -> Case:
    """The case with the size of its smallest GPU, which no log tells."""
    sizes = [gpu.memory.total_bytes for gpu in reading.gpus if gpu.uuid in case.gpus and gpu.memory is not None]
    if not sizes:
        return case
    least = min(sizes)
    return replace(case, card_mib=least // MIB, ending=replace(case.ending, card_gib=least / GIB))


def explain(case: Case) -> Explained:
    """Read the log and say what is the matter.

    Raises:
        SgltuiError: the log can't be read.
    """
    detective = Detective(case.release)
    for block in read_blocks(case.log):
        detective.feed(block)
    detective.close()
    return Explained(case, judge(detective, case), detective)


def judge(detective: Detective, case: Case) -> Diagnosis:
    """The diagnosis of what was read so far, with numbers where the model's config can be had."""
    found = conclude(detective, case.ending)
    release = release_of(found)
    advised = advise(found, detective, release)
    if not has_arithmetic(advised) or release is None:
        return advised
    model, is_published = _model(case, advised.model or "")
    logged = detective.figures.fullest.model_class
    if model is not None and logged not in (None, model.architecture):
        return advised  # what is in that place now isn't what the log tells of
    request = None if model is None else request_of(detective, model, release, case.card_mib)
    if request is None:
        return advised
    worked = work_out(advised, request)
    if is_published and worked is not advised:
        return replace(worked, reason=f"{worked.reason} Sizes are by the model's published config")
    return worked


def read_blocks(path: Path) -> Iterator[bytes]:
    """A log from its oldest byte that is kept, in blocks.

    Raises:
        SgltuiError: it isn't there, or can't be read.
    """
    log = LogFile.open(path)
    if log is None:
        raise UsageError(f"there is no log {path}", "`sgltui logs NAME -f` waits for its first line")
    with closing(log):
        at = log.start
        while block := log.read(at, _BLOCK_BYTES):
            yield block
            at += len(block)


def read_context(path: Path, line: int, around: int = _CONTEXT_LINES) -> list[tuple[int, str]]:
    """The lines around one, with their numbers, made safe to show.

    Raises:
        SgltuiError: the log can't be read.
    """
    wanted = range(max(1, line - around), line + around + 1)
    return [(number, sanitize(text)) for number, (_, text) in find_numbered(path, wanted).items()]


def _model(case: Case, logged: str) -> tuple[Model | None, bool]:
    """The model, and whether only its published config is at hand."""
    for name in dict.fromkeys(filter(None, (case.model, logged))):
        try:
            return read_model(find_model(name, cache_dir=case.hub), name), False
        except ModelError:
            continue
    file = published_config(logged) or published_config(case.model or "")
    return (None, False) if file is None else (read_model(file, logged), True)


def write_diagnosis(directory: Path, places: Places) -> Path:
    """Write the diagnosis of a launch into its directory, whole or not at all, and keep what it measured.

    Raises:
        SgltuiError: its records or its log can't be read.
        OSError: it can't be written.
    """
    path, state = LaunchFiles(directory).diagnosis, None
    # Two of us may be at it, of a server that died as it became ready: the last word is that of its last state.
    while state is not (state := (recorded := read_launch(directory)).current_state()):
        _write_once(recorded, state, path, places)
    return path


def _write_once(recorded: Recorded, state: State, path: Path, places: Places) -> None:
    case = with_gpus(case_of(recorded, hub=places.hub), open_reader(places).read())
    explained = explain(case)
    document = to_document(explained.diagnosis, explained.secrets, state)
    document["memory"]["server"] = _ask_for_figures(recorded) or _figures_before(path)
    step("explainer-writes")
    write_atomic(path, json.dumps(document, ensure_ascii=False, indent=1).encode() + b"\n")
    _keep_figures(recorded, explained, document["memory"], places)


def _ask_for_figures(recorded: Recorded) -> dict[str, Any] | None:
    """What a server that is ready says of its memory itself; once, since it costs it a line in its log."""
    if recorded.current_state() is not State.READY:
        return None
    try:
        answer = get(proven_endpoint(recorded), SERVER_INFO, _ANSWER_LIMIT_S)
        return parse_server_info(answer.body) if answer.status == HTTPStatus.OK else None
    except (NoAnswerError, ValueError):  # an extra: the log has told the most of it
        return None


def _figures_before(path: Path) -> dict[str, Any] | None:
    """What was written of it while it was ready."""
    try:
        told: dict[str, Any] | None = json.loads(path.read_bytes())["memory"]["server"]
    except (OSError, ValueError, KeyError, TypeError):  # there was no such time
        return None
    return told


def _places_of(directory: Path, here: Places) -> Places:
    """The launch's own state folder and machine, whatever the environment of who asks says."""
    simulated = read_launch(directory).launch.simulated
    return structs.replace(here, state=directory.parents[2], simulated=Path(simulated) if simulated else None)


def _keep_figures(recorded: Recorded, explained: Explained, memory: Mapping[str, Any], places: Places) -> None:
    """For the next plan; only what this machine measured with a known release on one kind of GPU."""
    launch, release = recorded.launch, explained.case.release
    names = {gpu.name for gpu in launch.gpus}
    if release is not None and len(names) == 1 and recorded.is_local:
        key = key_of(spec_of(launch), release, names.pop(), places.hub)
        store(places, key, recorded.address, memory)


def main(arguments: list[str]) -> int:
    """Write `diagnosis.json` of each launch directory named; status 1 where one couldn't be."""
    os.nice(10)  # the server it tells of comes first
    places, status = find_places(), 0
    for directory in map(Path, arguments):
        try:
            write_diagnosis(directory, _places_of(directory, places))
        except (SgltuiError, OSError) as error:
            sys.stderr.write(f"{directory}: {error}\n")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
