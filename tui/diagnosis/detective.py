"""Reads a log as it grows, keeps what may tell why its newest launch fails, and says so when asked.

Pure: bytes in, facts out. The state is bounded, however long the log is. A `server_args=` line, a usage text or another
start over begins a new launch: what the earlier one left is forgotten.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from tui.diagnosis import scan
from tui.diagnosis.figures import Figures
from tui.diagnosis.findings import Finding, FindingReader
from tui.diagnosis.heads import Evidence, EvidenceReader
from tui.diagnosis.last_words import LAST_WORDS, LastWords
from tui.diagnosis.progress import Progress, Stage
from tui.diagnosis.rule import Circumstances
from tui.diagnosis.server_args import Value, find_secrets, parse_server_args
from tui.diagnosis.stages import StageTracker
from tui.sglang import log_events as ev
from tui.sglang.loglines import LogLine, event_of, split_line
from tui.sglang.versions import Release

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[ -/]{0,4}[@-~]")
_ECHOES = ("Receive: obj=", "Finish: obj=")
_OFTEN = "KV cache pool is full. Retract requests."  # a full pool says so with each batch; no failure begins like that
# How a launch begins before its arguments are logged.
_BEGINS = ("nohup: ignoring input", "usage: ")
_ADVICE = "UserWarning: 'python -m sglang.launch_server'"
# What a launch leaves behind its end.
_ENDS = (
    *("nanobind: ", " - leaked", " - ... skipped", "See https://nanobind", "kill_process_tree called", "Killed"),
    *("Sleeping 5 seconds before crash", "No live scheduler", "Dumping requests before crash"),
)
_TRACKER = "resource_tracker: There appear to be"
_HYBRID = re.compile(
    r"Qwen3Next|Qwen3_5|FalconH1|NemotronH|JetNemotron|JetVLM|Kimi(?:Linear|K3)|Bamba|GraniteMoeHybrid|Lfm2"
)
_STAGE_MARKS = (
    ev.DistributedInitBegin,
    ev.LoadWeightBegin,
    ev.LoadWeightEnd,
    ev.MemoryPoolEnd,
    ev.GraphCaptureBegin,
    ev.GraphProgress,
)


class Mark(Struct, frozen=True):
    """A line of progress, for who asks where it stopped."""

    line: int
    text: str


@dataclass(slots=True)
class Launch:
    """What is known of the launch that is being read.

    Attributes:
        first_line: 1-based; of the whole file, so are all others.
        ready_line: where it said that it is ready, if it may be believed.
        false_ready_line: where it said so although its port is another's.
        drained_line: where somebody had asked it to end.
        quit_line: where the main process killed its tree.
        crash: a child that the main process found dead, with its line.
        finished: it logged its orderly end.
        revived: lines of a working server came after its end: another one writes into this file.
        mark: the newest line of progress.
        last_words: what was announced and may explain why nothing came after it.
    """

    first_line: int = 1
    ready_line: int | None = None
    false_ready_line: int | None = None
    drained_line: int | None = None
    quit_line: int | None = None
    crash: tuple[int, ev.ChildCrashed] | None = None
    finished: bool = False
    revived: bool = False
    mark: Mark | None = None
    last_words: tuple[int, LastWords] | None = None
    usage_line: int | None = None
    arguments: str | None = None


class Detective:
    """Follows one log.

    Args:
        release: of the server, as far as known.
    """

    def __init__(self, release: Release | None = None) -> None:
        self.release = release
        self.secrets: set[str] = set()
        self._carry = b""
        self._line = 0
        self._own_end = 0
        self._time: datetime | None = None
        self._batch = b""
        self._arguments: dict[str, Value] | None = None
        self._says_elapsed = True
        self.launch = Launch()
        self.figures = Figures()
        self._tracker = StageTracker()
        self._reader = EvidenceReader(self._look, release)
        self._findings = FindingReader()

    # --- what is known

    @property
    def line_count(self) -> int:
        """Lines that have been read."""
        return self._line

    @property
    def progress(self) -> Progress:
        """Where the launch is."""
        return self._tracker.progress

    @property
    def arguments(self) -> dict[str, Value]:
        """What SGLang settled on; read once it is asked for."""
        if self._arguments is None:
            self._arguments = parse_server_args(self.launch.arguments) if self.launch.arguments else {}
        return self._arguments

    @property
    def last_time(self) -> datetime | None:
        """The newest time stamp, in the server's local time."""
        return self._time

    @property
    def last_batch(self) -> ev.Event | None:
        """The newest batch that was logged."""
        lines = split_line(self._batch.decode("utf-8", "replace"))
        return event_of(lines[-1])

    @property
    def is_hybrid(self) -> bool | None:
        """Whether the model has recurrent state, as far as the log tells."""
        rank = self.figures.fullest
        if rank.mamba is not None or self.arguments.get("max_mamba_cache_size") is not None:
            return True
        return None if rank.model_class is None else _HYBRID.match(rank.model_class) is not None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What it warned of."""
        return self._findings.found

    def evidence(self) -> tuple[list[Evidence], list[Evidence], list[int]]:
        """Strong and weak evidence, and the lines of consequences; an announced traceback without an end counts."""
        unfinished = self._reader.unfinished()
        strong = [*self._reader.strong, unfinished] if unfinished else list(self._reader.strong)
        return strong, list(self._reader.weak), list(self._reader.consequences)

    # --- reading

    def feed(self, data: bytes) -> None:
        """What the log has grown by; it may end anywhere."""
        data = self._carry + data
        end = data.rfind(b"\n") + 1
        self._carry = scan.shorten_carry(data[end:])
        if end:
            self._scan(b"\n" + data[:end])

    def feed_lines(self, lines: tuple[bytes, ...]) -> None:
        """Complete lines without their ends."""
        if lines:
            self.feed(b"\n".join(lines) + b"\n")

    def close(self) -> None:
        """The log is over: what has no end is its last line."""
        if self._carry:
            carry, self._carry = self._carry, b""
            self._scan(b"\n" + carry + b"\n")

    def _scan(self, text: bytes) -> None:
        at, end = 0, len(text)
        while True:
            start = scan.find_unusual(text, at)
            if start > at + 1:
                self._skip(text, at + 1, start)
            if start >= end:
                break
            at = text.index(b"\n", start)
            self._line += 1
            self._take(text[start:at])
        self._time = scan.last_time(text) or self._time

    def _skip(self, text: bytes, start: int, stop: int) -> None:
        """Usual lines: they count, and they show that something works."""
        if self._tracker.progress.stage is Stage.READY and (work := scan.find_work(text, start, stop)) is not None:
            for part in split_line(text[slice(*work)].decode("utf-8", "replace")):
                self._tracker.follow(part, event_of(part))
        last = max(text.rfind(b"] Decode batch", start, stop), text.rfind(b"] Prefill batch", start, stop))
        if last >= 0:
            self._batch = text[text.rfind(b"\n", 0, last) + 1 : text.index(b"\n", last)]
        lines = text.count(b"\n", start, stop)
        if scan.shows_life(text, start, stop):
            self._live_on()
        self._line += lines
        self._own_end = self._line

    def _take(self, line: bytes) -> None:
        text = scan.shorten(line).decode("utf-8", "replace")
        if text.startswith("  ") and scan.is_plain(text):
            self._read_indented(LogLine(None, (), text.rstrip("\r")))
            return
        if "\x1b" in text:
            text = _ANSI.sub("", text)
        for part in split_line(text):
            self._read(part)

    def _read_indented(self, line: LogLine) -> None:
        """A frame of a traceback, or a line of code: half of a failed log."""
        self._tracker.follow(line, None)
        if self._reader.feed(self._line, line, None):
            self._own_end = self._line

    def _read(self, line: LogLine) -> None:
        message = line.message
        self._time = line.timestamp or self._time
        if line.timestamp is not None and message.startswith(_ECHOES):
            self._own_end = self._line
            return
        if line.timestamp is not None and message.startswith(_OFTEN):
            self._findings.feed(self._line, message)
            self._own_end = self._line
            return
        event = event_of(line)
        if isinstance(event, ev.ServerArgsLogged):
            self._read_arguments(line)
        elif line.timestamp is None:
            self._read_unstamped(message)
        self._tracker.follow(line, event)
        if event is not None:
            self._read_event(line, event)
        is_strong = self._reader.feed(self._line, line, event)
        if line.timestamp is not None and event is None:
            self._findings.feed(self._line, message)
        if is_strong or event is not None or message.startswith(_ENDS):
            self._own_end = self._line
        for words in LAST_WORDS:
            if words.literal in message:
                self.launch.last_words = self._line, words

    def _read_unstamped(self, message: str) -> None:
        if message.startswith(_BEGINS) or _ADVICE in message:
            self._read_start(message)
        elif _TRACKER in message:
            self._own_end = self._line

    def _read_event(self, line: LogLine, event: ev.Event) -> None:
        launch = self.launch
        self.figures.add(line.ranks, event)
        if isinstance(event, _STAGE_MARKS):
            launch.mark = Mark(self._line, line.message)
            self._reader.live_on()
        if isinstance(event, ev.LoadWeightEnd):
            self._says_elapsed = event.elapsed_s is not None
        if isinstance(event, ev.Ready):
            self._read_ready()
        elif isinstance(event, ev.Draining | ev.HttpShutdown):
            if not self._reader.strong and launch.quit_line is None:
                launch.drained_line = launch.drained_line or self._line
        elif isinstance(event, ev.SigquitReceived):
            launch.quit_line = launch.quit_line or self._line
        elif isinstance(event, ev.ChildCrashed):
            launch.crash = launch.crash or (self._line, event)
        elif isinstance(event, ev.PrefillBatch | ev.DecodeBatch):
            self._live_on()

    def _read_ready(self) -> None:
        """Believed unless something had ended the launch before: then another server answers on its port."""
        if self._tracker.progress.stage is Stage.READY:
            self._reader.disprove()
            if not self._reader.strong:
                self.launch.ready_line = self.launch.ready_line or self._line
                return
        self.launch.false_ready_line = self._line

    def _live_on(self) -> None:
        if self.launch.quit_line is not None:
            self.launch.revived = True
        else:
            self._reader.live_on()

    # --- the cut between launches

    def _read_arguments(self, line: LogLine) -> None:
        if self._own_end >= self.launch.first_line or self.launch.arguments is not None:
            self._restart()
        self.launch.arguments = line.message
        self._arguments = None
        if any(word in line.message for word in ("key='", "key': '", "password='", "password': '")):
            self.secrets.update(find_secrets(line.message))

    def _read_start(self, message: str) -> None:
        launch = self.launch
        if self._own_end >= launch.first_line and (launch.arguments is not None or launch.usage_line is not None):
            self._restart()
            self._tracker = StageTracker()
        if message.startswith("usage: "):
            self.launch.usage_line = self._line

    def _restart(self) -> None:
        """Another launch begins behind the last line that was certainly the earlier one's."""
        first = self._own_end + 1
        self.launch, self.figures = Launch(first_line=first), Figures()
        self._reader.keep_from(first)
        self._findings.keep_from(first)

    def _look(self, ranks: tuple[str, ...], frames: str) -> Circumstances:
        """What is known now of a rank."""
        stage, loads = self._tracker.where(ranks)
        rank = self.figures.of(ranks)
        at = Circumstances(
            stage=Stage.RUNTIME if stage is Stage.READY else stage, loads=loads, pools=rank.pools, frames=frames
        )
        return replace(at, hybrid=self.is_hybrid) if stage is Stage.MEMORY_POOL else at

    def guess_release(self) -> str | None:
        """The recorded release that these lines look like: how arguments are dumped, and what ends a load."""
        arguments = self.launch.arguments
        if arguments is None:
            return None
        if arguments.startswith("server_args={"):
            return "0.5.23"
        return "0.5.11" if self._says_elapsed else "0.5.6.post2"
