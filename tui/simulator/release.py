"""What was recorded from one SGLang release: its resolved arguments, and the bodies of its endpoints.

`data/RELEASE.json` comes from servers of that release that ran on a CPU; what they had chosen for a CPU (device,
attention backend, chunk and graph sizes) is replaced by that release's choice for a GPU of 96 GB.
`data/tracebacks/RELEASE-NAME.txt` comes from such servers that failed, some of them by our doing: `died` had its
scheduler killed, `import` met a kernel package that can't be loaded (whose own frames are left out), `download` a hub
that answers 503 (whose address is put back), `runtime` a forward pass that can't work (cut where the model begins).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_DATA = Path(__file__).parent / "data"


def read_recording(release: str) -> dict[str, Any]:
    """Its parts.

    `server_args`, `server_info`, `internal_state`, `internal_state_omits`, `model_info`, `gauges`, `loads`.
    """
    recording: dict[str, Any] = json.loads((_DATA / f"{release}.json").read_bytes())
    return recording


def read_traceback(release: str, name: str) -> str:
    """A recorded traceback; `{site}` and `{stdlib}` stand for folders."""
    return (_DATA / "tracebacks" / f"{release}-{name}.txt").read_text()
