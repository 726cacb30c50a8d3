"""`sgltui flags`, `sgltui preset check` and `sgltui preset translate`, in this process."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tui.cli import main
from tui.presets import load_preset

_PRESET = """model = "org/none"

[engine]
sglang = "0.5.11"

[flags]
tp-size = 2
mamba-scheduler-strategy = "extra_buffer"
cuda-graph-max-bs = 8
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own presets, one of them."""
    monkeypatch.setenv("SGLTUI_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("SGLTUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.delenv("SGLTUI_SIMULATED", raising=False)
    presets = tmp_path / "config" / "presets"
    presets.mkdir(parents=True)
    (presets / "old.toml").write_text(_PRESET)
    return presets


def test_flags_as_json_and_for_people(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.is_dir()
    assert main(["flags", "--sglang", "0.5.23", "--json", "mamba-radix"]) == 0
    [flag] = json.loads(capsys.readouterr().out)
    assert flag["options"] == ["--mamba-radix-cache-strategy"]
    assert (flag["kind"], flag["default"], flag["deprecated"]) == ("choice", "auto", False)
    assert "extra_buffer_lazy" in flag["choices"]
    assert main(["flags", "--sglang", "0.5.11", "lora-strict"]) == 0
    assert "--lora-strict-loading, --no-lora-strict-loading" in capsys.readouterr().out
    assert main(["flags", "--sglang", "0.5.23", "mamba-scheduler-strategy"]) == 1
    assert "SGLang 0.5.20 removed it" in capsys.readouterr().err


def test_a_preset_is_checked_for_its_own_release_and_shown_for_another(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["preset", "check", "old"]) == 0
    assert capsys.readouterr().out == "old: clean for SGLang 0.5.11\n"
    assert main(["preset", "check", "old", "--for", "0.5.23"]) == 0
    shown = capsys.readouterr().out
    assert '-mamba-scheduler-strategy = "extra_buffer"' in shown
    assert '+mamba-radix-cache-strategy = "extra_buffer"' in shown
    assert "+cuda-graph-max-bs-decode = 8" in shown
    assert (folder / "old.toml").read_text() == _PRESET


def test_a_refused_preset_has_status_1_and_its_findings_as_json(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.toml").write_text(_PRESET.replace("0.5.11", "0.5.23"))
    (folder / "torn.toml").write_text("model = ")
    assert main(["preset", "check", "--json", "bad"]) == 1
    [row] = json.loads(capsys.readouterr().out)
    assert [(finding["id"], finding["severity"]) for finding in row["findings"]] == [
        ("renamed-flag", "error"),
        ("ambiguous-flag", "error"),
    ]
    assert row["findings"][0]["change"] == {
        "set": {"mamba-radix-cache-strategy": "extra_buffer"},
        "unset": ["mamba-scheduler-strategy"],
    }
    assert main(["preset", "check", str(folder / "torn.toml"), "old"]) == 1
    captured = capsys.readouterr()
    assert "old: clean" in captured.out
    assert "torn.toml" in captured.err


def test_a_translation_is_written_with_consent_and_the_earlier_file_is_kept(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())  # nobody there to ask
    assert main(["preset", "translate", "old", "--to", "0.5.23"]) == 2
    assert (folder / "old.toml").read_text() == _PRESET
    assert main(["preset", "translate", "old", "--to", "0.5.23", "--yes"]) == 0
    preset = load_preset(folder / "old.toml")
    assert preset.flags == {"tp-size": 2, "mamba-radix-cache-strategy": "extra_buffer", "cuda-graph-max-bs-decode": 8}
    assert preset.engine.sglang == "0.5.23"
    assert (folder / "old.toml.~1~").read_text() == _PRESET
    capsys.readouterr()
    assert main(["preset", "translate", "old", "--to", "0.5.23", "--yes"]) == 0
    assert "right for SGLang 0.5.23 as it is" in capsys.readouterr().err
    assert main(["preset", "check", "old"]) == 0
