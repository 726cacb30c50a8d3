"""Explanations of launches for a front end that asks again and again: each look is bounded, and costs what is new."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from tui.diagnosis.detective import Detective
from tui.diagnosis.redaction import redact
from tui.diagnosis.report import Surroundings, write_report
from tui.diagnosis.stored import Answer, answer_of, read_answer
from tui.errors import RefusedError
from tui.gpu import GpuReading
from tui.keeper.states import ENDED, State
from tui.launch.explain import Explained, case_of, explain, read_context, with_gpus
from tui.launch.explanation import Explanation, Mark, Quote
from tui.launch.finding import read_finding
from tui.launch.history import Attempt, read_history
from tui.launch.records import Recorded, find_launch, list_launches
from tui.launch.watch import LogWatch
from tui.logs.file import LogFile
from tui.logs.numbered import find_numbered
from tui.logs.text import sanitize
from tui.paths import Places
from tui.units import MIB

_TURN_BYTES = 8 * MIB  # some 0.1 s of one core
_HEAD_BYTES = MIB  # the arguments, with their secrets, stand there
_SECONDARY_SHOWN, _MARKED = 3, 32
_QUOTE_LIMIT = 500


class Explanations:
    """Explains one launch at a time, and keeps the place in its log while it is asked about again.

    Args:
        places: whose records.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._address = ""
        self._watch: LogWatch | None = None
        self._quoted: tuple[object, tuple[tuple[Quote, ...], dict[int, Mark]]] | None = None
        self._attempts: tuple[object, tuple[Attempt, ...]] | None = None

    def explain(self, address: str, reading: GpuReading) -> Explanation:
        """What is the matter with `NAME/LAUNCH` now; of a long log a part is read each time.

        Raises:
            SgltuiError: its records or its log can't be read.
        """
        recorded = find_launch(self._places, address)
        if not recorded.is_local:
            raise RefusedError(f"{address} was launched on {recorded.launch.machine.hostname}", "explain it there")
        if address != self._address:
            self.close()
            self._address = address
        state = recorded.current_state()
        kept = _kept_answer(recorded) if state in ENDED else None
        if kept is not None:
            return self._explanation(recorded, state, kept, 1.0, None)
        case = with_gpus(case_of(recorded, hub=self._places.hub), reading)
        if self._watch is None:
            self._watch = LogWatch(case)
        self._watch.update(case)
        found = self._watch.catch_up(_TURN_BYTES)
        answer = answer_of(found.diagnosis, found.secrets)
        return self._explanation(recorded, state, answer, self._watch.done, found.secrets)

    def report(self, address: str, reading: GpuReading) -> str:
        """The Markdown report of a launch, for a bug tracker; reads its whole log.

        Raises:
            SgltuiError: its records or its log can't be read.
        """
        case = with_gpus(case_of(find_launch(self._places, address), hub=self._places.hub), reading)
        return report_of(explain(case), reading.driver)

    def history(self, name: str) -> tuple[Attempt, ...]:
        """All launches of a name, oldest first."""
        return read_history(self._places, name)

    def close(self) -> None:
        """Let go of the log."""
        if self._watch is not None:
            self._watch.close()
        self._watch = self._quoted = self._attempts = None
        self._address = ""

    def _explanation(
        self, recorded: Recorded, state: State, answer: Answer, done: float, secrets: Iterable[str] | None
    ) -> Explanation:
        key = (answer.root_line, answer.secondary_lines, tuple(remark.line for remark in answer.findings))
        if self._quoted is None or self._quoted[0] != key:
            hidden = tuple(_secrets_of(recorded) if secrets is None else secrets)
            self._quoted = key, quote_lines(recorded.files.log, answer, hidden)
        quotes, marks = self._quoted[1]
        attempts = self._attempts_until(recorded) if state is State.FAILED else ()
        return Explanation(recorded.address, state, answer, quotes, marks, attempts, done)

    def _attempts_until(self, recorded: Recorded) -> tuple[Attempt, ...]:
        """Read again only when one more is there, or more is known of this one: it takes a look into each log."""
        name, launch = recorded.launch.name, recorded.launch.launch
        key = (recorded.address, tuple(list_launches(self._places, name)), read_finding(recorded))
        if self._attempts is None or self._attempts[0] != key:
            self._attempts = key, tuple(one for one in self.history(name) if one.launch <= launch)
        return self._attempts[1]


def report_of(explained: Explained, driver: str | None) -> str:
    """The report of a diagnosis; `driver` is this machine's.

    Raises:
        SgltuiError: the log can't be read.
    """
    case, root = explained.case, explained.diagnosis.root_line
    context = [] if root is None else read_context(case.log, root)
    machine = dict(case.machine)
    if driver is not None and case.address is not None:
        machine["driver"] = driver
    around = Surroundings(explained.detective.arguments, context, machine, explained.secrets)
    return write_report(explained.diagnosis, around)


def _kept_answer(recorded: Recorded) -> Answer | None:
    """The diagnosis that was kept of its end; None where there is none that can be read."""
    if read_finding(recorded) is None:
        return None
    try:
        return read_answer(recorded.files.diagnosis.read_bytes())
    except OSError:
        return None


def _secrets_of(recorded: Recorded) -> tuple[str, ...]:
    """What its own arguments name as secret."""
    file = LogFile.open(recorded.files.log)
    if file is None:
        return ()
    with closing(file):
        detective = Detective()
        detective.feed(file.read(file.start, _HEAD_BYTES))
        return tuple(sorted(detective.secrets))


def quote_lines(log: Path, answer: Answer, secrets: tuple[str, ...]) -> tuple[tuple[Quote, ...], dict[int, Mark]]:
    """The lines to show, and the marks of all that the diagnosis names.

    Raises:
        SgltuiError: the log can't be read.
    """
    root = answer.root_line
    consequences = answer.secondary_lines[:_MARKED]
    kinds = {remark.line: Mark.FINDING for remark in answer.findings if remark.line is not None}
    kinds |= dict.fromkeys(consequences, Mark.CONSEQUENCE)
    near: tuple[int, ...] = ()
    if root is not None:
        kinds[root] = Mark.ROOT
        near = (root - 1, root, root + 1, *[line for line in consequences if line > root + 1][:_SECONDARY_SHOWN])
    lines = find_numbered(log, {*kinds, *(line for line in near if line > 0)})
    quotes = tuple(
        Quote(
            number,
            lines[number][0],
            redact(sanitize(lines[number][1]), secrets)[:_QUOTE_LIMIT],
            kinds.get(number, Mark.CONTEXT),
        )
        for number in near
        if number in lines
    )
    return quotes, {lines[number][0]: mark for number, mark in kinds.items() if number in lines}
