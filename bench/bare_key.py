"""What a key costs in Textual alone: an `Input`, and a `Static` that shows what was typed. bench/editor.py's floor.

The same terminal of 160x48, measured the same way: from the moment the key reaches the app to the end of the first
paint that shows it. Once with a single line that changes, once with as many as change in the flag editor where a
budget that fitted doesn't any more.

python bench/bare_key.py
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time

from textual.app import App, ComposeResult
from textual.events import Key
from textual.widgets import Input, Static

KEYS = 60
WIDTH = 90


class BareApp(App[None]):
    """A field above what is made of it."""

    CSS = "Static { height: 1fr; width: 90; }"

    def __init__(self, lines: int) -> None:
        super().__init__()
        self.painted = asyncio.Event()
        self.worked_until = 0.0
        self._lines = lines
        self._is_shown = False

    @property
    def is_headless(self) -> bool:
        """The driver writes nowhere; what it is given to write is made all the same."""
        return False

    def compose(self) -> ComposeResult:
        """Both."""
        yield Input()
        yield Static(markup=False)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what was typed, on as many lines."""
        line = f"{event.value:.>{WIDTH}}"
        self.query_one(Static).update("\n".join([line] * self._lines), layout=False)
        self._is_shown = True

    def post_display_hook(self) -> None:
        """A paint has ended."""
        if self._is_shown:
            self._is_shown, self.worked_until = False, time.process_time()
            self.painted.set()


async def type_keys(lines: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each key by the clock, and of CPU time."""
    app = BareApp(lines)
    keys_ms, cpu_ms = [], []
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.press("x")
        for _ in range(KEYS):
            await pilot.pause(0.2)
            app.painted.clear()
            started, worked = time.perf_counter(), time.process_time()
            app.post_message(Key("x", "x"))
            await app.painted.wait()
            keys_ms.append((time.perf_counter() - started) * 1000)
            cpu_ms.append((app.worked_until - worked) * 1000)
    return keys_ms, cpu_ms


def main() -> int:
    """Print the medians."""
    for lines in (1, 31):
        keys_ms, cpu_ms = asyncio.run(type_keys(lines))
        clock, cpu = statistics.median(keys_ms), statistics.median(cpu_ms)
        print(f"Textual alone, {lines} lines changed by a key: median {clock:.1f} ms; CPU time {cpu:.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
