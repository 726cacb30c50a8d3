"""What limits a server is asked behind the screen; what would help is worked out only when that has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from tui.app.advice import AdviceAnswer, AdviceQuestion
from tui.app.bridge import in_thread
from tui.app.core import Core
from tui.app.inquiry import NewestNext
from tui.app.notices import Trouble, trouble_of
from tui.budget.types import FlagChange
from tui.metrics.limits import RELIEVED, Bound, Limit

_PATIENCE_S = 20.0  # as for a budget: the same files are read
_TOO_SLOW = Trouble(f"what would help isn't worked out within {_PATIENCE_S:.0f} s", "its model's disk may hang")
_CANT_TELL = Limit(Bound.UNKNOWN, "nobody answers what it did")

Help = tuple[FlagChange, ...] | Trouble


class Advisor(NewestNext[AdviceQuestion]):
    """Asks the core in a thread.

    Args:
        core: what limits a server it tells at once; what would help takes some tenths of a second.
        show: gets each answer, on the event loop; one that lacks what would help comes a second time.
    """

    def __init__(self, core: Core, show: Callable[[AdviceAnswer], None]) -> None:
        super().__init__()
        self._core = core
        self._show = show
        self._address = ""
        self._known: dict[Bound, Help] = {}  # of that launch

    async def _answer(self, question: AdviceQuestion) -> None:
        address = f"{question.about.name}/{question.about.launch}"
        if address != self._address:
            self._address, self._known = address, {}
        try:
            answer = await in_thread(partial(self._look, question, address))
        except Exception as error:  # noqa: BLE001 whatever fails is told, and the next one is asked
            self._show(AdviceAnswer(question.about, (), _CANT_TELL, (), trouble_of(error)))
            return
        bound = answer.limit.bound
        if bound in RELIEVED and bound not in self._known:
            self._show(answer)
            self._known[bound] = await self._work_out(question, address, bound)
        self._show(_helped(answer, self._known.get(bound, ())))

    def _look(self, question: AdviceQuestion, address: str) -> AdviceAnswer:
        return AdviceAnswer(question.about, self._core.live_history(address), self._core.limit(address))

    async def _work_out(self, question: AdviceQuestion, address: str, bound: Bound) -> Help:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                return await in_thread(partial(self._core.relief, address, bound, question.gpus))
        except TimeoutError:
            return _TOO_SLOW
        except Exception as error:  # noqa: BLE001 whatever fails stands beside what limits it
            return trouble_of(error)


def _helped(answer: AdviceAnswer, known: Help) -> AdviceAnswer:
    if isinstance(known, Trouble):
        return replace(answer, changes=(), trouble=known)
    return replace(answer, changes=known)
