"""What is known of the selected server's trouble, and when to ask again: a log that grows may tell more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from msgspec import Struct

from tui.app.core import LaunchedServer
from tui.app.notices import Trouble
from tui.diagnosis.diagnosis import Change
from tui.gpu import GpuReading
from tui.keeper.states import ALIVE, State
from tui.launch.explanation import Explanation
from tui.observe import Instance

_AGAIN_S = 2.0
_READING_ON_S = 0.25  # some MiB each time: a third of a core at most, while a long log is read for the first time
_WENT_WRONG = frozenset({State.FAILED, State.LOST})


@dataclass(frozen=True, slots=True)
class ExplanationQuestion:
    """What is the matter with this launch, on the machine as it was seen."""

    about: LaunchedServer
    gpus: GpuReading = field(compare=False, repr=False)


class ExplanationAnswer(Struct, frozen=True):
    """The explanation, or why there is none."""

    about: LaunchedServer
    explanation: Explanation | None
    trouble: Trouble = Trouble("")


class Alarm(Protocol):
    """A timer."""

    def stop(self) -> None:
        """Don't ring any more."""
        ...


class Findings:
    """Follows the selection.

    Args:
        ask: passes a question on; its answer comes to `take`.
        later: calls back after so many seconds.
    """

    def __init__(
        self, ask: Callable[[ExplanationQuestion], object], later: Callable[[float, Callable[[], None]], Alarm]
    ) -> None:
        self._ask = ask
        self._later = later
        self._about: LaunchedServer | None = None
        self._asked: LaunchedServer | None = None
        self._gpus: GpuReading | None = None
        self._answer: ExplanationAnswer | None = None
        self._alarm: Alarm | None = None
        self._is_covered = False

    def select(self, one: Instance | None, gpus: GpuReading | None, *, covered: bool) -> None:
        """This server is looked at now; while the screen is covered, nothing is asked."""
        about = None
        if one is not None and one.local and gpus is not None:
            about = LaunchedServer(one.name, one.launch, one.state)
        if not _same_launch(about, self._about):
            self._answer = self._asked = None
        self._about, self._gpus, self._is_covered = about, gpus, covered
        if about != self._asked:
            self._ask_now()

    def take(self, answer: ExplanationAnswer) -> bool:
        """What was found, if it is about what is looked at; tells whether it is, and says anything new."""
        if not _same_launch(answer.about, self._about):
            return False
        is_news, self._answer = answer != self._answer, answer
        found = answer.explanation
        if found is None or not found.is_settled:
            self._ring(_AGAIN_S if found is None or found.done >= 1 else _READING_ON_S)
        return is_news

    @property
    def explanation(self) -> Explanation | None:
        """Of the selected server, as far as known."""
        return self._answer.explanation if self._answer is not None else None

    @property
    def trouble(self) -> Trouble | None:
        """Why there is none."""
        answer = self._answer
        return answer.trouble if answer is not None and answer.explanation is None else None

    @property
    def is_bad(self) -> bool:
        """The server went wrong, or goes wrong: that is the first thing to be seen of it."""
        if self._about is None:
            return False
        found = self.explanation
        is_failing = found is not None and not found.answer.is_healthy
        return self._about.state in _WENT_WRONG or (is_failing and self._about.state is not State.STOPPED)

    @property
    def count(self) -> int:
        """Things worth telling of a server that runs."""
        found = self.explanation
        is_alive = self._about is not None and self._about.state in ALIVE
        return len(found.answer.findings) if found is not None and is_alive else 0

    @property
    def has_news(self) -> bool:
        """There is something to tell."""
        return self.is_bad or self.count > 0

    @property
    def words(self) -> str:
        """What the finding is, for the key that shows it."""
        if self.is_bad:
            return "why it failed" if self._about is not None and self._about.state not in ALIVE else "its trouble"
        return f"{self.count} finding{'' if self.count == 1 else 's'}"

    @property
    def question(self) -> ExplanationQuestion | None:
        """What is asked about the selected server."""
        if self._about is None or self._gpus is None:
            return None
        return ExplanationQuestion(self._about, self._gpus)

    @property
    def changes(self) -> tuple[Change, ...]:
        """What would help the selected server, best first."""
        found = self.explanation
        return found.answer.changes if found is not None else ()

    def _ask_now(self) -> None:
        self._stop_alarm()
        if self._about is not None and self._gpus is not None and not self._is_covered:
            self._asked = self._about
            self._ask(ExplanationQuestion(self._about, self._gpus))

    def _ring(self, seconds: float) -> None:
        self._stop_alarm()
        self._alarm = self._later(seconds, self._wake)

    def _wake(self) -> None:
        """Covered, it is asked when the screen is seen again."""
        self._alarm = self._asked = None
        self._ask_now()

    def _stop_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.stop()
            self._alarm = None


def _same_launch(one: LaunchedServer | None, other: LaunchedServer | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.name, one.launch) == (other.name, other.launch)
