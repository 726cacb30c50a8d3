"""What the evidence of each preset is worth on this machine: its GPUs, and the SGLang that would run it."""

from __future__ import annotations

from tui.errors import SgltuiError
from tui.gpu import GpuReading
from tui.paths import Places
from tui.presets import Preset
from tui.presets.proof import Here, Standing, here, standing_of
from tui.settings import Settings
from tui.sglang.interpreter import find_interpreter


class Judge:
    """Judges presets; each interpreter is asked for its release once, and only where a proof depends on it."""

    def __init__(self, places: Places, settings: Settings, reading: GpuReading) -> None:
        self._places = places
        self._settings = settings
        self._names = [gpu.name for gpu in reading.gpus]
        self._releases: dict[str | None, str | None] = {}

    def judge(self, preset: Preset) -> tuple[Standing, str]:
        """How far a preset can be trusted here, and why."""
        if preset.evidence is None or preset.evidence.digest is None:
            return standing_of(preset, Here())
        return standing_of(preset, here(self._names, self._release(preset.engine.python)))

    def _release(self, python: str | None) -> str | None:
        if python not in self._releases:
            settings, places = self._settings, self._places
            try:
                found = find_interpreter(python, settings.python, places.simulated, places.settings_file)
            except SgltuiError:  # no SGLang here: nothing is proven here
                self._releases[python] = None
            else:
                self._releases[python] = found.sglang_version
        return self._releases[python]
