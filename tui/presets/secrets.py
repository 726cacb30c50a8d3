"""Which environment variables hold secrets, told by their names; and which change what program is run at all."""

from __future__ import annotations

import re
from collections.abc import Iterable

# HF_TOKEN and WANDB_API_KEY, but neither TOKENIZERS_PARALLELISM nor MAX_TOKENS.
_SECRET_VARIABLE = re.compile(r"SECRET|PASSWORD|PASSWD|(TOKEN|(^|_|API)KEY)(_|$)", re.IGNORECASE)
_POWERFUL = frozenset(
    {"PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP"}
)


def is_secret_variable(name: str) -> bool:
    """Its value mustn't be kept, nor shown."""
    return _SECRET_VARIABLE.search(name) is not None


def powerful_variables(names: Iterable[str]) -> tuple[str, ...]:
    """Those that decide which code a server runs: allowed in a preset, and shown."""
    return tuple(name for name in names if name in _POWERFUL)
