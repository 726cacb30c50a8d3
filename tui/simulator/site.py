"""The stand-in interpreter of a simulated machine: `bin/python`, `bin/sglang` and a tiny `sglang` package."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

_PACKAGE_PARENT = Path(__file__).resolve().parents[2]

_WRAPPER = """#!/bin/sh
# Python with the simulated SGLang {release}, and nothing else changed.
PYTHONPATH={path}${{PYTHONPATH:+:$PYTHONPATH}}
SGLTUI_SIMULATED={directory}
export PYTHONPATH SGLTUI_SIMULATED
exec {python} "$@"
"""

_CONSOLE_SCRIPT = """#!/bin/sh
'''exec' {wrapper} "$0" "$@"
' '''
import sys

if __name__ == "__main__":
    from sglang.cli import main

    sys.exit(main())
"""

_INIT = '''"""A stand-in: the simulated SGLang {release}."""

__version__ = "{release}"
'''

_LAUNCH_SERVER = """if __name__ == "__main__":
    import sys

    from tui.simulator.server import main

    sys.exit(main(sys.argv[1:], as_module=__file__))
"""

_CLI = """import sys


def main():
    from tui.simulator.server import main as serve

    if sys.argv[1:2] != ["serve"]:
        print("usage: sglang serve --model-path MODEL [options]", file=sys.stderr)
        return 2
    return serve(sys.argv[2:])
"""

_METADATA = """Metadata-Version: 2.1
Name: sglang
Version: {release}
Summary: A stand-in for tests and demonstrations
"""


def write_interpreter(directory: Path, release: str) -> None:
    """Write (or write again) `bin/` and `site/` of the machine in `directory`."""
    site = directory / "site"
    path = shlex.quote(f"{site}:{_PACKAGE_PARENT}")
    wrapper = _WRAPPER.format(
        release=release, path=path, directory=shlex.quote(str(directory)), python=shlex.quote(sys.executable)
    )
    files = {
        "bin/python": wrapper,
        "bin/sglang": _CONSOLE_SCRIPT.format(wrapper=shlex.quote(str(directory / "bin" / "python"))),
        "site/sglang/__init__.py": _INIT.format(release=release),
        "site/sglang/launch_server.py": _LAUNCH_SERVER,
        "site/sglang/cli.py": _CLI,
        f"site/sglang-{release}.dist-info/METADATA": _METADATA.format(release=release),
    }
    for name, text in files.items():
        _write_if_changed(directory / name, text)


def _write_if_changed(path: Path, text: str) -> None:
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.chmod(0o755 if path.parent.name == "bin" else 0o644)
    temporary.replace(path)
