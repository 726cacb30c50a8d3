"""The product as the UI asks for it: the same functions that the other commands call."""

from __future__ import annotations

from tui.app.core import LaunchRequest, StopOutcome
from tui.cli.context import Context
from tui.keeper.stop import StopRequest
from tui.launch.spec import spec_from_preset
from tui.launch.start import Launcher
from tui.launch.stop import stop_launch
from tui.observe import Observer, Snapshot
from tui.presets import Preset, PresetProblem, find_preset, load_presets
from tui.units import GIB


class LocalCore:
    """This machine, or a simulated one.

    Args:
        context: where records are, and how GPUs are read.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._observer = Observer(context.places, context.reader)

    @property
    def grace_s(self) -> float:
        """How long a stop lets requests run."""
        return self._context.settings.grace_s

    def snapshot(self) -> Snapshot:
        """Look at the machine now."""
        return self._observer.observe()

    def presets(self) -> tuple[tuple[Preset, ...], tuple[PresetProblem, ...]]:
        """The presets that can be read, and why the others can't."""
        found = load_presets(self._context.places)
        return found.presets, found.problems

    def launch(self, request: LaunchRequest) -> str:
        """Start a server and return `NAME/LAUNCH`."""
        context = self._context
        spec = spec_from_preset(find_preset(context.places, request.preset))
        spec = spec.changed(name=request.name, gpus=request.gpus, port=request.port)
        return Launcher(context.places, context.settings, context.reader).launch(spec)

    def stop(self, name: str, *, kill: bool) -> StopOutcome:
        """Stop a server and wait until it is gone and its memory is back."""
        settings = self._context.settings
        request = StopRequest(settings.grace_s, settings.release_wait_s, kill)
        report = stop_launch(self._context.places, name, request)
        return StopOutcome(
            name=name,
            survivors=report.survivors,
            released=report.released,
            memory_before_bytes=_bytes(report.memory_before_gib),
            memory_after_bytes=_bytes(report.memory_after_gib),
            seconds=report.seconds,
        )

    def close(self) -> None:
        """Let go of the GPU driver; servers go on running."""
        self._context.reader.close()


def _bytes(size_gib: float | None) -> int | None:
    return None if size_gib is None else round(size_gib * GIB)
