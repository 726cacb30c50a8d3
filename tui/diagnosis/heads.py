"""Which lines of a log are evidence of a failure: the heads of tracebacks, and lines that a rule knows.

A traceback counts as strong where SGLang announced it ("Scheduler hit an exception") or nobody caught it. Others are
weak: logged by code that lived on, unless nothing lives on after them. Tracebacks of several ranks may be interleaved
line by line, so the frames of one can't always be told from another's; their heads can.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum

from tui.diagnosis.rule import Circumstances, Reach, Role, Rule
from tui.diagnosis.rules import WARMUP_FAILED, candidates
from tui.sglang.log_events import Event, ProcessException, WarmupFailed
from tui.sglang.loglines import LogLine
from tui.sglang.versions import Release

_TRACEBACK = "Traceback (most recent call last):"
_CHAIN = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
# The outermost frame of an exception that nobody caught: `python -m`, a script or `python -c`, a spawned process.
_UNCAUGHT = re.compile(r'  File "[^"]{0,500}", line \d{1,9}, in (?:_run_module_as_main|<module>|_bootstrap)$', re.ASCII)
_NAME = r"(?:(?:\w{1,100}\.){1,20}\w{1,100}|[A-Z]\w{0,100})"
_HEAD = re.compile(rf"{_NAME}(?:: |:$|$)", re.ASCII)
# An exception's name in front of a message that stands alone: `ValueError: `, `torch.cuda.OutOfMemoryError: `.
_EXCEPTION = re.compile(r"(?:\w{1,60}\.){0,8}\w{0,60}(?:Error|Exception|Interrupt|OutOfResources|Exit): ", re.ASCII)
_TORCH_RANK = re.compile(r"\[rank\d{1,5}\]: ?(?!\[)")  # torch puts it before each line of a rank's traceback
_LINE_LIMIT = 400  # characters of an unstamped line that a rule looks at, unless it is an exception's head
_HEAD_LIMIT = 4096
_FRAMES_LIMIT = 4096
_KEPT = 128  # pieces of evidence of each strength; what comes later is mostly their consequences
_NEAR = 80
# Warnings, and what may quote anything: access lines, arguments, prompts.
_ECHOES = ("Warning:", "WARNING", "INFO:", "Receive: obj=", "Finish: obj=", "server_args=")


class Strength(IntEnum):
    """How sure it is that a line ended the process."""

    WEAK = 0  # it may have been logged and lived through
    UNCAUGHT = 1  # it ended a process, though perhaps not the server
    STRONG = 2


@dataclass(slots=True)
class Evidence:
    """One line that tells of a failure.

    Attributes:
        line: 1-based number of the physical line.
        block: the chain of tracebacks it stands in, or a number of its own.
        rule: None for an exception that no rule knows.
        found: the rule's groups.
        count: how often the same rule matched in a row.
    """

    line: int
    text: str
    ranks: tuple[str, ...]
    at: Circumstances
    strength: Strength
    block: int
    rule: Rule | None
    found: dict[str, str] = field(default_factory=dict)
    count: int = 1

    @property
    def role(self) -> Role:
        """Of its rule; an exception that no rule knows may be the cause."""
        return Role.CAUSE if self.rule is None else self.rule.role


@dataclass(slots=True)
class _Block:
    """A chain of tracebacks that is being read."""

    number: int
    line: int
    ranks: tuple[str, ...]
    strength: Strength
    otherwise: Rule | None = None  # what it is where no rule knows its head
    frames: str = ""
    awaits_frame: bool = True
    awaits_head: bool = True
    heads: int = 0


class EvidenceReader:
    """Collects evidence from the lines of one launch.

    Args:
        look: what is known of the moment, for a rank and the frames above the line.
        release: of the server, as far as known.
    """

    def __init__(self, look: Callable[[tuple[str, ...], str], Circumstances], release: Release | None) -> None:
        self._look = look
        self._release = release
        self.strong: list[Evidence] = []
        self.weak: list[Evidence] = []
        self.consequences: list[int] = []
        self._blocks: list[_Block] = []
        self._chained = False
        self._number = 0

    def feed(self, number: int, line: LogLine, event: Event | None) -> bool:
        """The next line; whether it is strong evidence, or part of a traceback that is."""
        if line.timestamp is not None:
            return self._feed_stamped(number, line, event)
        message = _TORCH_RANK.sub("", line.message, count=1) if line.message.startswith("[rank") else line.message
        if message.endswith(_TRACEBACK):
            return self._begin(number, line, announced=False)
        if self._blocks and self._continue(number, message):
            return self._blocks[-1].strength is not Strength.WEAK
        return self._feed_plain(number, message)

    def live_on(self) -> None:
        """The server went on working: what was weak so far was lived through."""
        self.weak.clear()
        self._blocks = [block for block in self._blocks if block.strength is not Strength.WEAK]

    def disprove(self) -> None:
        """The server is ready: what some helper process died of before wasn't the end."""
        self.live_on()
        self.strong = [piece for piece in self.strong if piece.strength is Strength.STRONG]

    def keep_from(self, line: int) -> None:
        """Forget what stands before a line: it belongs to an earlier launch."""
        self.strong = [piece for piece in self.strong if piece.line >= line]
        self.weak = [piece for piece in self.weak if piece.line >= line]
        self.consequences = [number for number in self.consequences if number >= line]
        self._blocks = [block for block in self._blocks if block.line >= line]

    def unfinished(self) -> Evidence | None:
        """An announced traceback whose end isn't in the log."""
        block = next((b for b in self._blocks if b.strength is not Strength.WEAK and not b.heads), None)
        if block is None:
            return None
        at = self._look(block.ranks, block.frames)
        return Evidence(block.line, _TRACEBACK, block.ranks, at, Strength.STRONG, block.number, block.otherwise)

    # --- tracebacks

    def _begin(self, number: int, line: LogLine, *, announced: bool) -> bool:
        if self._chained and line.timestamp is None and self._blocks:
            block = self._blocks[-1]
            block.awaits_frame = block.awaits_head = True
        else:
            self._number += 1
            strength = Strength.STRONG if announced else Strength.WEAK
            self._blocks = [*self._blocks[-15:], _Block(self._number, number, line.ranks, strength)]
        self._chained = False
        return announced

    def _continue(self, number: int, message: str) -> bool:
        """Whether the line belongs to the traceback that is being read."""
        block = self._blocks[-1]
        if message in _CHAIN:
            self._chained = True
            return True
        if message.startswith((" ", "\t")):
            self._read_frame(block, message)
            return True
        waiting = next((b for b in reversed(self._blocks) if b.awaits_head), None)
        if waiting is None or not message:
            return not message
        if not _HEAD.match(message) and not self._is_known(message, waiting):
            return False  # a progress bar, or another process' line
        waiting.awaits_head = waiting.awaits_frame = False
        waiting.heads += 1
        self._record(number, message, waiting)
        return True

    def _is_known(self, message: str, block: _Block) -> bool:
        """A rule knows it, although it doesn't look like an exception's name with its message."""
        text = message[:_LINE_LIMIT]
        tried = candidates(text)
        return (
            bool(tried) and self._match(text, self._look(block.ranks, block.frames), Reach.HEAD, tried)[0] is not None
        )

    def _read_frame(self, block: _Block, message: str) -> None:
        if not message.startswith("  File "):
            return
        if block.awaits_frame:
            block.awaits_frame = False
            if _UNCAUGHT.match(message) and block.strength is Strength.WEAK:
                self._promote(block)
        block.frames = (block.frames + message[-160:] + "\n")[-_FRAMES_LIMIT:]  # the deepest say most

    def _promote(self, block: _Block) -> None:
        """Nobody caught it, nor what came before it in its chain."""
        block.strength = Strength.UNCAUGHT
        for piece in self.weak:
            if piece.block == block.number:
                piece.strength = Strength.UNCAUGHT
                self.strong.append(piece)
        self.weak = [piece for piece in self.weak if piece.block != block.number]

    def _record(self, number: int, message: str, block: _Block) -> None:
        text = message[:_HEAD_LIMIT]
        at = self._look(block.ranks, block.frames)
        rule, found = self._match(text, at, Reach.HEAD, candidates(text))
        rule = rule or block.otherwise
        self._keep(Evidence(number, text, block.ranks, at, block.strength, block.number, rule, found))

    # --- lines that stand alone

    def _feed_stamped(self, number: int, line: LogLine, event: Event | None) -> bool:
        if line.message.endswith(_TRACEBACK):
            is_strong = self._begin(number, line, announced=isinstance(event, ProcessException | WarmupFailed))
            if isinstance(event, WarmupFailed):
                self._blocks[-1].otherwise = WARMUP_FAILED
            return is_strong
        return self._feed_alone(number, line.message, line.ranks, Reach.STAMPED)

    def _feed_plain(self, number: int, message: str) -> bool:
        if not message or message[0].isspace():
            return False
        return self._feed_alone(number, message, (), Reach.LINE)

    def _feed_alone(self, number: int, message: str, ranks: tuple[str, ...], reach: Reach) -> bool:
        if reach is Reach.STAMPED and is_echo(message):
            return False
        tried = candidates(message[:_LINE_LIMIT])
        if not tried:
            return False
        at = self._look(ranks, "")
        rule, found = self._match(message[:_LINE_LIMIT], at, reach, tried)
        if rule is None:
            return False
        self._number += 1
        strength = Strength.STRONG if rule.fatal else Strength.WEAK
        self._keep(Evidence(number, message[:_HEAD_LIMIT], ranks, at, strength, self._number, rule, found))
        return strength is Strength.STRONG

    def _match(
        self, text: str, at: Circumstances, reach: Reach, tried: Iterable[Rule]
    ) -> tuple[Rule | None, dict[str, str]]:
        """The first rule that fits, with what its groups found."""
        for rule in tried:
            if not rule.reaches(reach):
                continue
            match = rule.pattern.search(text)
            if match is None or (reach is Reach.STAMPED and not _leads(text, match.start(), fatal=rule.fatal)):
                continue
            if rule.applies(at, self._release):
                return rule, {name: value for name, value in match.groupdict().items() if value is not None}
        return None, {}

    def _keep(self, piece: Evidence) -> None:
        if piece.role is Role.CONSEQUENCE and len(self.consequences) < _KEPT:
            self.consequences.append(piece.line)
        kept = self.weak if piece.strength is Strength.WEAK else self.strong
        if kept and _repeats(piece, kept[-1]):
            kept[-1].count += 1
            return
        if len(kept) < _KEPT:
            kept.append(piece)


def is_echo(message: str) -> bool:
    """A stamped message that may quote anything, or only warns."""
    return message.startswith(_ECHOES)


def _leads(text: str, start: int, *, fatal: bool) -> bool:
    """A rule's words stand at the beginning of a message, or behind an exception's name or uvicorn's level.

    Where nothing must go on after it to count, near the beginning is enough.
    """
    if start == 0 or text.startswith(("ERROR:    ", "ERROR: ", "CRITICAL: ")):
        return True
    return _EXCEPTION.match(text) is not None or (not fatal and start <= _NEAR)


def _repeats(piece: Evidence, last: Evidence) -> bool:
    """Thousands of equal lines are one piece of evidence."""
    same = piece.rule is not None and piece.rule is last.rule and piece.at == last.at
    return same and piece.block != last.block and piece.role is not Role.CONSEQUENCE
