"""Failures on demand, for tests and demonstrations: `SGLTUI_SIM="fail=weight load, leak"`.

`fail=STAGE`: it ends at that stage as a real server does, with the lines and the exit status that are known of one:
an unknown flag at "args", a library that can't be loaded at "import", a hub that stops answering at "download", NCCL at
"distributed init", memory at "weight load", "memory pool" and "cuda graph capture", a port in other hands at "listen",
a refusal at "warmup", memory again at the first request after it, "runtime".
`hang=STAGE`: it gets that far, and no further. At "import" the children hang, after the main process has logged its
arguments; at "runtime" requests are accepted and never answered, and the log stands still.
`silent`: another word for `hang=runtime`.
`crash-after-ready`: it loses a scheduler soon after the ready line.
`flood`: once it is ready it logs lines like those of a busy server, thousands a second, to the end.
`answer=503`, `answer=rubbish`, `answer=slow`: every GET is answered with that status, with bytes that aren't HTTP, or
one byte a second; its own warm-up alone is answered properly.
`orphan`: a process is left behind that holds the log open and some memory, in a session of its own, until a signal or
ten minutes end it.
`ignore-term`: it outlives SIGTERM. `leak`: its memory stays taken, held by nobody.

Anything else is refused at the start: a typing error would make a test pass that tries nothing.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

VARIABLE = "SGLTUI_SIM"
# In order, in the words of `tui.diagnosis.progress.Stage`. "listen" is a moment between two of those.
STAGES = (
    *("args", "import", "download", "distributed init", "weight load", "memory pool", "cuda graph capture"),
    *("listen", "warmup", "runtime"),
)
ANSWERS = ("503", "rubbish", "slow")
_CHOICES = {"fail": STAGES, "hang": STAGES, "answer": ANSWERS}
_WORDS = ("crash-after-ready", "flood", "ignore-term", "leak", "orphan", "silent")


class SwitchError(Exception):
    """A word that means nothing; the text names those that do."""

    def __init__(self, word: str) -> None:
        choices = [f"{name}={value}" for name, values in _CHOICES.items() for value in values]
        super().__init__(f"{VARIABLE}: unknown word {word!r} (choose from {', '.join([*choices, *_WORDS])})")


@dataclass(frozen=True, slots=True)
class Switches:
    """What shall go wrong."""

    fail: str | None = None
    hang: str | None = None
    answer: str | None = None
    crash_after_ready: bool = False
    flood: bool = False
    ignore_term: bool = False
    leak: bool = False
    orphan: bool = False

    def strike(self, stage: str) -> bool:
        """Hang here if asked to; tells whether to fail here."""
        self.hang_at(stage)
        return self.fail == stage

    def hang_at(self, stage: str) -> None:
        """Stay here for ever if asked to; signals are still obeyed."""
        while self.hang == stage:
            time.sleep(3600)


def read_switches() -> Switches:
    """The switches of this process's environment.

    Raises:
        SwitchError: there is a word that isn't one of them.
    """
    words = [word.strip() for word in os.environ.get(VARIABLE, "").split(",")]
    chosen = dict(_read(word) for word in words if word)
    if chosen.pop("silent", False):
        chosen["hang"] = "runtime"
    return Switches(**chosen)


def _read(word: str) -> tuple[str, Any]:
    """The name of a field, and its value."""
    name, given, value = word.partition("=")
    known = value in _CHOICES.get(name, ()) if given else name in _WORDS
    if not known:
        raise SwitchError(word)
    return name.replace("-", "_"), value if given else True
