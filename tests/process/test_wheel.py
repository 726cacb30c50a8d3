"""What `pip install .` brings: built here without the network, used without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import tui

ROOT = Path(tui.__file__).parents[1]


def test_an_installed_wheel_finds_its_shipped_presets(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "--wheel-dir", str(tmp_path), str(ROOT)], check=True)
    [wheel] = tmp_path.glob("sgltui-*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)

    def run(*words: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(site), "SGLTUI_STATE_DIR": str(tmp_path)}
        environment["SGLTUI_CONFIG_DIR"] = str(tmp_path)
        command = [sys.executable, *words]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert str(site) in run("-c", "import tui; print(tui.__file__)")
    listed = run("-m", "tui", "preset", "list")
    shipped = [path.stem for path in (ROOT / "presets").glob("*.toml")]
    assert len(shipped) >= 4
    for name in shipped:
        assert name in listed
