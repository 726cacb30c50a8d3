"""What a fresh interpreter loads: a static graph can't prove that an import is deferred."""

from __future__ import annotations

import subprocess
import sys

import pytest

_SHOW = "import sys; import {module}; print(*sorted(name.partition('.')[0] for name in sys.modules))"
_OURS = {"tui"}
# As `main` does it: the command's module is imported on top of what every command needs, and of nothing else.
_EACH_COMMAND = """
import os, pkgutil, sys
import tui.cli
for module in pkgutil.iter_modules(tui.cli.__path__):
    if os.fork() == 0:
        __import__(f"tui.cli.{module.name}")
        os._exit(0)
    if os.wait()[1]:
        sys.exit(f"tui.cli.{module.name} can't be the first to be imported")
"""


def loaded_by(module: str) -> set[str]:
    answer = subprocess.run(
        [sys.executable, "-c", _SHOW.format(module=module)], capture_output=True, text=True, check=True
    )
    return set(answer.stdout.split())


@pytest.mark.parametrize(
    "module",
    [
        "tui.cli",
        "tui.cli.ps",
        "tui.cli.launch",
        "tui.cli.logs",
        "tui.cli.stop",
        "tui.cli.ui",
        "tui.cli.keys",
        "tui.observe",
    ],
)
def test_the_command_line_loads_neither_textual_nor_rich(module: str) -> None:
    assert not loaded_by(module) & {"textual", "rich"}


def test_the_keeper_loads_the_standard_library_alone() -> None:
    # What site-packages' own start-up hooks load (coverage, editable installs) isn't the keeper's doing.
    by_python_itself = loaded_by("sys")
    ours = loaded_by("tui.keeper.main") - by_python_itself
    assert ours - set(sys.stdlib_module_names) <= _OURS


def test_each_command_imports_what_it_needs() -> None:
    """Most tests of commands wouldn't see it: there, all of them have been imported."""
    done = subprocess.run([sys.executable, "-c", _EACH_COMMAND], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_listing_servers_asks_no_driver_before_it_must() -> None:
    assert "pynvml" not in loaded_by("tui.cli.ps")
