"""What is the matter with a server is asked behind the screen, one question at a time; the newest is the next."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tui.app.bridge import in_thread
from tui.app.core import Core
from tui.app.findings import ExplanationAnswer, ExplanationQuestion
from tui.app.notices import trouble_of


class Inquiry:
    """Asks the core in a thread.

    Args:
        core: a look is short, but a file system may hang; nothing else is asked then.
        show: gets each answer, on the event loop.
    """

    def __init__(self, core: Core, show: Callable[[ExplanationAnswer], None]) -> None:
        self._core = core
        self._show = show
        self._next: ExplanationQuestion | None = None
        self._is_at_work = False

    def ask(self, question: ExplanationQuestion) -> bool:
        """This is to be answered next. True when nobody is at work: `work` must be awaited then."""
        self._next = question
        return not self._is_at_work

    async def work(self) -> None:
        """Answer until nothing is asked any more."""
        self._is_at_work = True
        try:
            while (question := self._next) is not None:
                self._next = None
                self._show(await self._answer(question))
        finally:
            self._is_at_work = False

    async def _answer(self, question: ExplanationQuestion) -> ExplanationAnswer:
        try:
            found = await in_thread(partial(self._core.explain, question.about, question.gpus))
        except Exception as error:  # noqa: BLE001 whatever fails stands in the panel, and the next one is asked
            return ExplanationAnswer(question.about, None, trouble_of(error))
        return ExplanationAnswer(question.about, found)
