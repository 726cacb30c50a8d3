"""What the terminal UI asks of the product: the headless core behind one protocol, so that a fake can stand in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from tui.gpu import GpuReading
from tui.keeper.states import State
from tui.metrics.limits import Bound, Limit
from tui.metrics.live import LiveMetrics
from tui.observe import Snapshot
from tui.sglang.edit import DiffLine, FlagEdit

if TYPE_CHECKING:
    from tui.budget.types import FlagChange, MemoryBudget
    from tui.launch.explanation import Explanation
    from tui.launch.gpu_choices import JudgedChoice
    from tui.launch.history import Attempt
    from tui.launch.preset_saving import PresetDraft  # which takes the importer and the diagnosis with it
    from tui.metrics.smoke import Smoke
    from tui.presets import Preset, PresetProblem
    from tui.presets.proof import Standing
    from tui.sglang.flags import FlagInventory


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """What a person asked to launch; None leaves the choice to the preset and the core.

    Attributes:
        preset: its name.
        name: of the server to be.
        gpus: indices as typed, `0,1`.
        edit: of the preset's flags.
    """

    preset: str
    name: str | None = None
    gpus: str | None = None
    port: int | None = None
    edit: FlagEdit = field(default_factory=FlagEdit)

    @property
    def label(self) -> str:
        """What the server is called until it has a name."""
        return self.name or self.preset


@dataclass(frozen=True, slots=True)
class LaunchedServer:
    """A launch that was made, whose budget is asked for as if it were made again.

    Attributes:
        name, launch: `NAME/LAUNCH`.
        state: where it is; files that were missing may be there once it has come further.
        pids: its processes; what they hold counts as free.
    """

    name: str
    launch: str
    state: State
    pids: frozenset[int] = field(default=frozenset(), compare=False)


@dataclass(frozen=True, slots=True)
class Adjusted:
    """A launch that takes the place of another one: its flags, with some of them changed.

    Attributes:
        name, launch: `NAME/LAUNCH`, whose flags it starts from.
        gpus: indices as typed; None: those that it had.
        pids: what runs under the name now; what that holds counts as free.
    """

    name: str
    launch: str
    edit: FlagEdit = field(default_factory=FlagEdit)
    gpus: str | None = None
    pids: frozenset[int] = field(default=frozenset(), compare=False)

    @property
    def label(self) -> str:
        """What the server is called."""
        return self.name


Editable = Adjusted | LaunchRequest
"""A launch to be made, whose flags a person may still change."""


class FlagSheet(Struct, frozen=True):
    """The flags that a launch starts from, and those that there are.

    Attributes:
        release: that would run it.
        words: as recorded, without secrets.
        gpus: indices as typed.
        is_own: the flags are the installation's own, with its help.
    """

    release: str
    model: str
    words: tuple[str, ...]
    inventory: FlagInventory
    gpus: str
    is_own: bool = False


class Worked(Struct, frozen=True):
    """An earlier launch that became ready.

    Attributes:
        difference: from the newest launch to it.
    """

    about: Adjusted
    difference: tuple[DiffLine, ...]


class StopOutcome(Struct, frozen=True):
    """How a stop ended.

    Attributes:
        survivors: pids that are still there.
        released: its GPU memory came back; None where no GPU can be read.
        memory_before_bytes, memory_after_bytes: what it held on its GPUs, and what of that isn't back; None: unknown.
        seconds: from the request until the memory was back or the wait for it ended.
    """

    name: str
    survivors: tuple[int, ...]
    released: bool | None
    memory_before_bytes: int | None
    memory_after_bytes: int | None
    seconds: float


class Core(Protocol):
    """The product without a screen. Every method may block; the UI calls none of them on its event loop."""

    @property
    def grace_s(self) -> float:
        """How long `stop` lets a server finish its requests before it kills it, in seconds."""
        ...

    def snapshot(self) -> Snapshot:
        """Look at the machine now; one thread calls it, about once a second."""
        ...

    def engine(self) -> str:
        """What runs servers, where no preset says otherwise: its release and its interpreter.

        Raises:
            SgltuiError: nothing would; says what to do.
        """
        ...

    def presets(self) -> tuple[tuple[Preset, ...], tuple[PresetProblem, ...]]:
        """The presets that can be read, and why the others can't."""
        ...

    def standings(self, presets: Sequence[Preset]) -> Mapping[str, tuple[Standing, str]]:
        """How far each preset can be trusted on this machine, and why; may ask their interpreters for a release."""
        ...

    def watch_presets(self, stop: Event, changed: Callable[[], object]) -> None:
        """Call `changed` after each change of a preset until `stop` is set, in a thread of its own."""
        ...

    def plan(
        self, about: LaunchRequest | LaunchedServer | Adjusted, gpus: GpuReading, *, changes: bool = True
    ) -> MemoryBudget:
        """The memory budget of a launch, with changes that would make it fit; asked twice, it comes at once.

        Args:
            about: what would be launched.
            gpus: the machine as it was last seen.
            changes: look for them; without, the budget of a launch that is to be made comes at once.

        Raises:
            SgltuiError: nobody can tell; says why, and what to do.
        """
        ...

    def gpu_choices(self, about: Editable, gpus: GpuReading) -> tuple[JudgedChoice, ...]:
        """The GPUs that a launch could be given, each with what the plan says; its own choice of GPUs doesn't count.

        Raises:
            SgltuiError: its record or preset can't be read, or its flags can't be meant.
        """
        ...

    def explain(self, about: LaunchedServer, gpus: GpuReading) -> Explanation:
        """What is the matter with a launch; of a long log a part is read each time, so that it never takes long.

        Raises:
            SgltuiError: nobody can tell; says why, and what to do.
        """
        ...

    def report(self, about: LaunchedServer, gpus: GpuReading) -> str:
        """The same as Markdown for a bug tracker, without secrets; reads the whole log.

        Raises:
            SgltuiError: nobody can tell; says why, and what to do.
        """
        ...

    def live_history(self, address: str) -> tuple[LiveMetrics, ...]:
        """What `NAME/LAUNCH` did in the last hour, oldest first, as far as somebody looked."""
        ...

    def limit(self, address: str) -> Limit:
        """What limits it now, by its last minute."""
        ...

    def relief(self, address: str, bound: Bound, gpus: GpuReading) -> tuple[FlagChange, ...]:
        """Changes that would give it more of what limits it, with their price; takes some tenths of a second.

        Raises:
            SgltuiError: nobody can plan for it; says why.
        """
        ...

    def attempts_at(self, name: str) -> tuple[Attempt, ...]:
        """The attempts at one server, oldest first."""
        ...

    def launch(self, request: LaunchRequest) -> str:
        """Start a server and return `NAME/LAUNCH`.

        Raises:
            SgltuiError: refused, or it couldn't be started.
        """
        ...

    def sheet(self, about: Editable, *, ask: bool) -> FlagSheet:
        """The flags of the launch or the preset that it starts from.

        `ask`: the installation itself, which may take a minute the first time.

        Raises:
            SgltuiError: its record or preset can't be read, or no interpreter can run it.
        """
        ...

    def last_worked(self, name: str) -> Worked:
        """The newest earlier launch that became ready.

        Raises:
            SgltuiError: there is none.
        """
        ...

    def draft_preset(self, address: str, name: str) -> PresetDraft:
        """What saving a launch as a preset of this name would write; reads its log where nothing was kept of that.

        Raises:
            SgltuiError: its record can't be read, or the name can't be a preset's.
        """
        ...

    def save_preset(self, draft: PresetDraft) -> Path | None:
        """Write it; the earlier version is kept, and its path returned.

        Raises:
            SgltuiError: the file was changed since, or can't be written; what was there is there still.
        """
        ...

    def relaunch(self, about: Adjusted) -> str:
        """Stop what runs under the name, wait until its memory is back, start the new one; return `NAME/LAUNCH`.

        Raises:
            SgltuiError: refused, and nothing was stopped; or the old one couldn't be stopped, or the new one started.
        """
        ...

    def smoke(self, address: str) -> Smoke:
        """Send a server one small request; the result is kept beside its launch. May take minutes.

        Raises:
            SgltuiError: it isn't to be asked, or the result can't be kept.
        """
        ...

    def stop(self, name: str, *, kill: bool) -> StopOutcome:
        """Stop a server and wait until it is gone and its memory is back; may take minutes.

        A kill may come while a stop of the same server still waits, from another thread.

        Raises:
            SgltuiError: refused, or it couldn't be stopped.
        """
        ...

    def close(self) -> None:
        """Let go of the GPU driver and files; servers go on running."""
        ...
