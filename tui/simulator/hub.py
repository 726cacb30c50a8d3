"""The simulated machine's Hugging Face cache: the config of each model that the simulated server knows, no weights.

A plan reads these as it reads real ones, and computes the weights from the architecture.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from tui.atomic import write_atomic

_SNAPSHOT = "snapshots/simulated"


def write_models(hub: Path) -> None:
    """Write `models--ORG--NAME/…/config.json` for each known model that isn't there yet."""
    for config in resources.files("tui.simulator").joinpath("data", "configs").iterdir():
        path = hub / f"models--{config.name.removesuffix('.json')}" / _SNAPSHOT / "config.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, config.read_bytes())
