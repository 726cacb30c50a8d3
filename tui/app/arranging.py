"""What a person set and arranged: keys, theme, layout, and how to be called when something happens."""

from __future__ import annotations

import os
from functools import partial

from msgspec import structs
from textual.theme import Theme

from tui.app import colors, theme
from tui.app.bridge import in_thread
from tui.app.calls import Calls
from tui.app.changing import ChangingApp
from tui.app.commands.dashboard import GO_TO_FINDING
from tui.app.core import Core
from tui.app.glyphs import Glyphs
from tui.app.layout import Layout, LayoutFile, changed
from tui.app.messages import Remember
from tui.app.news import News, Watch, notice_of, summary
from tui.app.notices import Notice, note, problem, trouble_of
from tui.app.preferences import Preferences
from tui.errors import SgltuiError
from tui.keeper.states import State
from tui.observe import Snapshot

_SETTLE_S = 1.5  # so long after a death its cause may still become better known
_KEEP_AFTER_S = 0.5  # several changes in a row are written once


class ArrangingApp(ChangingApp):
    """An app whose keys and looks are a person's own.

    Attributes:
        arrangement: of the screen, as it is now.
    """

    def __init__(
        self,
        core: Core,
        glyphs: Glyphs,
        preferences: Preferences,
        layout_file: LayoutFile | None,
        *,
        where: str,
        read_only: bool,
    ) -> None:
        super().__init__(core, glyphs, preferences.keys, read_only=read_only)
        self._preferences = preferences
        self._layout_file = layout_file
        self._arranging_trouble: Notice | None = None
        self.arrangement = self._read_layout()
        self._is_kept = True
        self._machine = where
        self._watch = Watch()
        self._calls = Calls(preferences.notify, self._write, os.environ)
        for one in theme.THEMES:
            self.register_theme(one)
        if self.no_color:  # Textual would make greys of the terminal's colours, and its black of the terminal's own
            for name in theme.ANSI_NAMES:
                self.unregister_theme(name)
        self.theme = theme.starting_theme(os.environ, (preferences.theme, self.arrangement.theme))
        self._theme_before = self.theme

    def on_mount(self) -> None:
        """Say what can't be used, and from now on keep what is arranged."""
        self.set_keymap(self.keys.keymap())
        self.theme_changed_signal.subscribe(self, self._theme_chosen)
        if self._arranging_trouble is not None:
            self.tell(self._arranging_trouble)

    def on_unmount(self) -> None:
        """Keep what was arranged last, and leave the terminal as it was."""
        self._calls.end()
        if not self._is_kept and self._layout_file is not None:
            try:
                self._layout_file.write(self.arrangement)
            except SgltuiError as error:
                self.log.warning(str(error))

    def on_remember(self, message: Remember) -> None:
        """A person arranged something."""
        self._remember(changed(self.arrangement, message.changes))

    def tell_news(self, snapshot: Snapshot) -> None:
        """What happened since the last look; of a failure a moment later, when more is known."""
        for news in self._watch.look(snapshot):
            if news.state is State.FAILED:
                self.set_timer(_SETTLE_S, partial(self._announce, news))
            else:
                self._announce(news)
        self._calls.show_title(" ".join(filter(None, [f"sgltui {self._machine}", summary(snapshot)])))

    def _announce(self, news: News) -> None:
        if self.snapshot is None:
            return
        notice = notice_of(news, self.snapshot, finding_key=self.keys.first(GO_TO_FINDING))
        if notice is not None:
            if news.name not in self.stopping:  # who stops it here is told by the stop itself
                self.tell(notice)
            self._calls.call(notice.text)

    def _theme_chosen(self, chosen: Theme) -> None:
        if chosen.name != self._theme_before:  # else it is the one to begin with, which nobody has chosen here
            self._theme_before, name = chosen.name, colors.without_mono(chosen.name)
            self._remember(structs.replace(self.arrangement, theme=name))
            if self._preferences.theme not in (None, name):
                self.tell(note(f"the settings say theme = {self._preferences.theme!r}: that is used the next time"))

    def _remember(self, layout: Layout) -> None:
        if layout == self.arrangement:
            return
        self.arrangement = layout
        if self._layout_file is not None and self._is_kept:
            self._is_kept = False
            self.set_timer(_KEEP_AFTER_S, partial(self._start, "layout", "the screen", self._keep_layout))

    async def _keep_layout(self) -> None:
        """Write it; that it can't be is said once."""
        file = self._layout_file
        if file is None or self._is_kept:
            return
        self._is_kept = True
        try:
            await in_thread(partial(file.write, self.arrangement))
        except SgltuiError as error:
            self._layout_file = None
            self.tell(problem("the screen", trouble_of(error)))

    def _read_layout(self) -> Layout:
        if self._layout_file is None:
            return Layout()
        try:
            return self._layout_file.read()
        except SgltuiError as error:
            self._arranging_trouble = problem("the screen", trouble_of(error))
            return Layout()

    def _write(self, data: str) -> None:
        """To the terminal, between two frames."""
        if self._driver is not None:
            self._driver.write(data)
            self._driver.flush()
