"""Lines of logs, and following them through the stages of a launch."""

from __future__ import annotations

from datetime import datetime

from tui.diagnosis.stages import StageTracker

FIRED_UP = "[2026-11-29 17:00:00] The server is fired up and ready to roll!"
SHARDS = "Loading safetensors checkpoint shards:  33% Completed | {}/3 [00:01<00:02,  1.31it/s]"
PLAIN = "Traceback (most recent call last):"
FRAME = '  File "x/scheduler.py", line 3918, in run_scheduler_process'
MAIN_FRAME = '  File "<frozen runpy>", line 198, in _run_module_as_main'
ORPHAN = "BrokenPipeError: [Errno 32] Broken pipe"  # the main process was killed; its scheduler found out


def stamp(text: str) -> datetime:
    """The server's local time, which has no zone."""
    return datetime.fromisoformat(text)


def follow(*lines: str) -> StageTracker:
    tracker = StageTracker()
    for line in lines:
        tracker.feed(line)
    return tracker
