"""The diagnosis as it is kept and shown: the fields of `sgltui explain --json`, secrets replaced, read back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from tui.diagnosis.answer import SCHEMA, to_json
from tui.diagnosis.classes import NONE, Direction
from tui.diagnosis.diagnosis import Change, Confidence, Diagnosis, Outcome
from tui.diagnosis.progress import Stage
from tui.diagnosis.rule import Severity
from tui.keeper.states import State


class Remark(msgspec.Struct, frozen=True):
    """A finding as it is kept; `line` is None where it follows from figures."""

    id: str
    line: int | None
    count: int
    severity: Severity
    text: str


class Answer(msgspec.Struct, frozen=True):
    """A diagnosis without secrets. Sizes in GiB, lines 1-based.

    Attributes:
        failure: a key of `CLASSES`, or of a newer release's.
        state: of the launch when it was judged; None where nobody kept it.
    """

    schema: int
    outcome: Outcome
    stage: Stage
    failure: str = msgspec.field(name="class")
    confidence: Confidence
    explanation: str
    launch_first_line: int = 1
    ready_line: int | None = None
    root_line: int | None = msgspec.field(name="root_cause_line", default=None)
    root_text: str | None = msgspec.field(name="root_cause_text", default=None)
    direction: Direction | None = msgspec.field(name="fraction_direction", default=None)
    brief: str | None = None
    short_gib: float | None = None
    changes: tuple[Change, ...] = ()
    advice: tuple[str, ...] = ()
    secondary_lines: tuple[int, ...] = ()
    memory: dict[str, Any] = {}
    findings: tuple[Remark, ...] = ()
    returncode: int | None = None
    sglang: str | None = None
    state: State | None = None

    @property
    def is_healthy(self) -> bool:
        """Nothing is wrong, as far as the log tells."""
        return self.failure == NONE


def answer_of(diagnosis: Diagnosis, secrets: Iterable[str] = ()) -> Answer:
    """What may be shown of a diagnosis."""
    return msgspec.convert(to_json(diagnosis, secrets), Answer)


def to_document(diagnosis: Diagnosis, secrets: Iterable[str], state: State) -> dict[str, Any]:
    """What is kept beside a launch: the contract's fields, and the state it was in."""
    return to_json(diagnosis, secrets) | {"state": state.value}


def read_answer(data: bytes) -> Answer | None:
    """What was kept; None where it is of a newer schema, or isn't whole."""
    try:
        answer = msgspec.json.decode(data, type=Answer)
    except msgspec.DecodeError:  # ValidationError is one
        return None
    return answer if answer.schema == SCHEMA else None
