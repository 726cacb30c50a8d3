"""What a fresh interpreter loads: a static graph can't prove that an import is deferred."""

from __future__ import annotations

import subprocess
import sys

import pytest

_SHOW = "import sys; import {module}; print(*sorted(name.partition('.')[0] for name in sys.modules))"
_OURS = {"tui"}


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


def test_listing_servers_asks_no_driver_before_it_must() -> None:
    assert "pynvml" not in loaded_by("tui.cli.ps")
