"""What the selected server does, what limits it, and what would help: what is known of that, and when to ask again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from msgspec import Struct

from tui.app.core import LaunchedServer
from tui.app.notices import Trouble
from tui.budget.types import FlagChange
from tui.diagnosis.diagnosis import Change
from tui.gpu import GpuReading
from tui.keeper.states import State
from tui.metrics.limits import Bound, Limit
from tui.metrics.live import LiveMetrics
from tui.observe import Instance

# For the key that shows it; the panel's sentence says more.
_LACKS = {Bound.SLOTS: "slots", Bound.KV: "KV", Bound.REQUESTS: "requests", Bound.COMPUTE: "compute"}


@dataclass(frozen=True, slots=True)
class AdviceQuestion:
    """What limits this server, by its figures up to then, on the machine as it was seen."""

    about: LaunchedServer
    at: datetime
    gpus: GpuReading = field(compare=False, repr=False)


class AdviceAnswer(Struct, frozen=True):
    """What it did in the last hour, what limits it now, and what would help.

    Attributes:
        history: oldest first.
        changes: best first; None while they are worked out.
        trouble: why nobody can tell what would help.
    """

    about: LaunchedServer
    history: tuple[LiveMetrics, ...]
    limit: Limit
    changes: tuple[FlagChange, ...] | None = None
    trouble: Trouble | None = None


class Advice:
    """Follows the selection.

    Args:
        ask: passes a question on; its answer comes to `take`.
    """

    def __init__(self, ask: Callable[[AdviceQuestion], object]) -> None:
        self._ask = ask
        self._about: LaunchedServer | None = None
        self._asked: AdviceQuestion | None = None
        self.answer: AdviceAnswer | None = None

    def select(self, one: Instance | None, gpus: GpuReading | None, *, covered: bool) -> None:
        """This server is looked at now; it is asked about when it tells something new, unless the screen is covered."""
        about = LaunchedServer(one.name, one.launch, one.state) if one is not None and one.live is not None else None
        if about != self._about:
            self._about, self.answer = about, None
        if about is None or gpus is None or one is None or one.live is None or covered:
            return
        question = AdviceQuestion(about, one.live.at, gpus)
        if question != self._asked:
            self._asked = question
            self._ask(question)

    def take(self, answer: AdviceAnswer) -> bool:
        """What was found, if it is about what is looked at; tells whether it is, and says anything new."""
        if answer.about != self._about:
            return False
        is_news, self.answer = answer != self.answer, answer
        return is_news

    @property
    def is_known(self) -> bool:
        """The selected server tells what it does."""
        return self._about is not None

    @property
    def words(self) -> str:
        """What there is to see, for the key that shows it."""
        lacks = _LACKS.get(self.answer.limit.bound) if self.answer is not None else None
        return "live" if lacks is None else f"limit: {lacks}"

    @property
    def changes(self) -> tuple[Change, ...]:
        """What would help, as offers for its next launch."""
        if self.answer is None or self._about is None or self._about.state is not State.READY:
            return ()
        return tuple(
            Change(dict(one.set), one.unset, one.upgrade, one.effect, one.costs) for one in self.answer.changes or ()
        )
