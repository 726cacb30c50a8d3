"""Budgets are worked out behind the screen: the newest question comes next, and those it overtook are dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from msgspec import structs

from tui.app.bridge import in_thread
from tui.app.budgets import BudgetAnswer, BudgetQuestion
from tui.app.core import Core
from tui.app.notices import Trouble, trouble_of
from tui.budget.types import Verdict

QUIET_S = 0.15  # between the keys of somebody who types
_PATIENCE_S = 20.0  # reading the headers of hundreds of files over a slow network takes seconds
_TOO_SLOW = Trouble(
    f"the model's files haven't been read within {_PATIENCE_S:.0f} s",
    "the disk or network that they are on may hang; select it again to try once more",
)


class Planner:
    """Asks the core in a thread, one question at a time.

    Args:
        core: may take seconds.
        show: gets each answer, on the event loop.
    """

    def __init__(self, core: Core, show: Callable[[BudgetAnswer], None]) -> None:
        self._core = core
        self._show = show
        self._waiting: dict[type, BudgetQuestion] = {}
        self._is_at_work = False
        self._asked = asyncio.Event()

    def ask(self, question: BudgetQuestion) -> bool:
        """This is to be answered next, instead of an older question about the same kind of thing.

        True when nobody is at work: `work` must be awaited then.
        """
        kind = type(question.about)
        self._waiting.pop(kind, None)
        self._waiting[kind] = question
        self._asked.set()
        return not self._is_at_work

    async def work(self) -> None:
        """Answer until nothing is asked any more."""
        self._is_at_work = True
        try:
            while self._waiting:
                _, question = self._waiting.popitem()
                await self._work_on(question)
        finally:
            self._is_at_work = False

    async def _work_on(self, question: BudgetQuestion) -> None:
        """In one step, or the budget first: looking for changes takes ten times as long, and is no use between keys."""
        answer = await self._answer(question, changes=not question.in_steps)
        budget = answer.budget
        may_change = budget is not None and budget.verdict in (Verdict.TIGHT, Verdict.EXCEEDS)
        if not (question.in_steps and may_change):
            self._show(answer)
            return
        self._show(structs.replace(answer, lacks_changes=True))
        if await self._is_quiet():
            self._show(await self._answer(question, changes=True))
        else:  # unless it is overtaken
            self._waiting.setdefault(type(question.about), replace(question, in_steps=False))

    async def _is_quiet(self) -> bool:
        """Nothing was asked for a moment."""
        self._asked.clear()
        try:
            async with asyncio.timeout(QUIET_S):
                await self._asked.wait()
        except TimeoutError:
            return True
        return False

    async def _answer(self, question: BudgetQuestion, *, changes: bool) -> BudgetAnswer:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                budget = await in_thread(partial(self._core.plan, question.about, question.gpus, changes=changes))
        except TimeoutError:
            return BudgetAnswer(question, None, _TOO_SLOW)
        except Exception as error:  # noqa: BLE001 whatever fails stands in the budget's place, and the next one is planned
            return BudgetAnswer(question, None, trouble_of(error))
        return BudgetAnswer(question, budget)
