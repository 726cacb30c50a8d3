"""What is asked about the selected server is answered behind the screen, one question at a time; the newest is next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

from tui.app.bridge import in_thread
from tui.app.core import Core
from tui.app.findings import ExplanationAnswer, ExplanationQuestion
from tui.app.notices import trouble_of

Q = TypeVar("Q")


class NewestNext(ABC, Generic[Q]):
    """Answers one question after the other; of those that come meanwhile only the newest."""

    def __init__(self) -> None:
        self._next: Q | None = None
        self._is_at_work = False

    def ask(self, question: Q) -> bool:
        """This is to be answered next. True when nobody is at work: `work` must be awaited then."""
        self._next = question
        return not self._is_at_work

    async def work(self) -> None:
        """Answer until nothing is asked any more."""
        self._is_at_work = True
        try:
            while (question := self._next) is not None:
                self._next = None
                await self._answer(question)
        finally:
            self._is_at_work = False

    @abstractmethod
    async def _answer(self, question: Q) -> None:
        """Answer it, on the event loop; what takes long, in a thread."""


class Inquiry(NewestNext[ExplanationQuestion]):
    """Asks the core what is the matter with a server.

    Args:
        core: a look is short, but a file system may hang; nothing else is asked then.
        show: gets each answer, on the event loop.
    """

    def __init__(self, core: Core, show: Callable[[ExplanationAnswer], None]) -> None:
        super().__init__()
        self._core = core
        self._show = show

    async def _answer(self, question: ExplanationQuestion) -> None:
        try:
            found = await in_thread(partial(self._core.explain, question.about, question.gpus))
        except Exception as error:  # noqa: BLE001 whatever fails stands in the panel, and the next one is asked
            self._show(ExplanationAnswer(question.about, None, trouble_of(error)))
        else:
            self._show(ExplanationAnswer(question.about, found))
