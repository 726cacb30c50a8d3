"""What a launch measured: kept, recalled by the next plan of the same, and put beside a plan."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from tests.support.logs import FIXTURES
from tests.support.planning import RTX_PRO_6000
from tui.budget.types import Card, Measured
from tui.cli import main
from tui.diagnosis.compare import compare
from tui.keeper.files import LaunchFiles
from tui.keeper.states import State
from tui.launch.again import spec_of
from tui.launch.directory import create_launch
from tui.launch.measured import _LOADING, fill, key_of, recall, store
from tui.launch.planning import Described, describe_cards, plan_launch
from tui.launch.records import ExitRecord, GivenGpu, LaunchRecord, Machine, StateRecord
from tui.launch.spec import LaunchSpec
from tui.paths import Places
from tui.sglang.flags import RELEASES, load_inventory
from tui.sglang.parse import name_of
from tui.sglang.versions import parse_release

MODEL = str(FIXTURES / "configs" / "qwen3.6-27b.json")
FLAGS = ("--mem-fraction-static", "0.8", "--max-running-requests", "8")
NAME, _, TOTAL = RTX_PRO_6000.rpartition(":")
RELEASE = parse_release("0.5.11")
# 94.30 - 51.36 - 11.61 - 12.00 - 0.70 = 18.63, and 17.50 are free in the end: 1.13 went nowhere.
LOG = (FIXTURES / "synthetic" / "hybrid-start.log").read_text()


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.setenv("SGLTUI_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("SGLTUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.delenv("SGLTUI_SIMULATED", raising=False)
    return Places(state=tmp_path / "state", config=tmp_path / "config")


def make_launch(places: Places, log: str = LOG, returncode: int = -9) -> LaunchFiles:
    """A launch that has ended."""
    record = LaunchRecord(
        name="qwen",
        launch="20260601T100000Z-0001",
        created_at=datetime.now(UTC),
        argv=[sys.executable, "-m", "sglang.launch_server", "--model-path", MODEL, *FLAGS],
        model=MODEL,
        host="127.0.0.1",
        port=30000,
        gpus=[GivenGpu(0, "GPU-0", NAME)],
        mark="x",
        machine=Machine.this(),
        cwd="/",
        sglang_version="0.5.11",
    )
    places.instances.mkdir(parents=True)
    files = create_launch(places, record)
    files.log.write_text(log)
    files.state.write_bytes(msgspec.json.encode(StateRecord(state=State.FAILED)))
    files.exit.write_bytes(
        msgspec.json.encode(ExitRecord(at=datetime.now(UTC), state=State.FAILED, returncode=returncode, asked=False))
    )
    return files


def spec(*words: str) -> LaunchSpec:
    return LaunchSpec("qwen", MODEL, words=words or FLAGS)


def cards(name: str = NAME) -> list[Card]:
    return describe_cards(Described(name, int(TOTAL), None, 1))


def run_child(files: LaunchFiles) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tui.launch.explain", str(files.directory)],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )


def test_the_child_writes_a_diagnosis_and_keeps_the_figures(places: Places) -> None:
    files = make_launch(places)
    done = run_child(files)
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads((files.directory / "diagnosis.json").read_bytes())
    assert (answer["class"], answer["returncode"], answer["sglang"]) == ("killed_from_outside", -9, "0.5.11")
    recalled = recall(places, spec(), RELEASE, cards())
    assert recalled is not None
    assert recalled.measured == Measured(weights_gib=51.36)
    assert recalled.launch == "qwen/20260601T100000Z-0001"


@pytest.mark.usefixtures("places")
def test_a_directory_that_isn_t_a_launch_is_said(tmp_path: Path) -> None:
    done = run_child(LaunchFiles(tmp_path))
    assert done.returncode == 1
    assert "launch.json is missing" in done.stderr


@pytest.mark.parametrize(
    ("words", "release", "gpu"),
    [
        ((*FLAGS, "--dtype", "float16"), "0.5.11", NAME),
        ((*FLAGS, "--tp-size", "2"), "0.5.11", NAME),
        ((*FLAGS, "--quantization", "fp8"), "0.5.11", NAME),
        ((*FLAGS, "--speculative-algorithm", "EAGLE"), "0.5.11", NAME),
        # Each rank holds the whole attention, or a part of the weights stays on the host, or the model is another one.
        ((*FLAGS, "--dp-size", "2", "--enable-dp-attention"), "0.5.11", NAME),
        ((*FLAGS, "--cpu-offload-gb", "20"), "0.5.11", NAME),
        ((*FLAGS, "--ep-num-redundant-experts", "32"), "0.5.11", NAME),
        ((*FLAGS, "--json-model-override-args", '{"num_hidden_layers": 4}'), "0.5.11", NAME),
        ((*FLAGS, "--revision", "v2"), "0.5.11", NAME),
        (FLAGS, "0.5.23", NAME),
        (FLAGS, "0.5.11", "NVIDIA H100 80GB HBM3"),
        # What these change is how much of the model a rank loads.
        ((*FLAGS, "--cpu-offload-gb", "8"), "0.5.11", NAME),
        ((*FLAGS, "--json-model-override-args", '{"num_hidden_layers": 2}'), "0.5.11", NAME),
        ((*FLAGS, "--mm-enable-dp-encoder"), "0.5.11", NAME),
        ((*FLAGS, "--revision", "main"), "0.5.11", NAME),
        ((*FLAGS, "--moe-runner-backend", "triton"), "0.5.11", NAME),
        ((*FLAGS, "--torchao-config", "int4wo-128"), "0.5.11", NAME),
    ],
)
def test_figures_of_something_else_aren_t_used(places: Places, words: tuple[str, ...], release: str, gpu: str) -> None:
    store(places, key_of(spec(), RELEASE, NAME), "a/b", {"weights_gib": 51.36})
    assert recall(places, spec(*words), parse_release(release), cards(gpu)) is None
    assert recall(places, spec("--mem-fraction-static", "0.5"), RELEASE, cards()) is not None


# How the flags of the three inventories begin that decide which weights a rank holds, in which form and where.
SHAPING = (
    "revision model-impl load-format model-loader- json-model-override-args language- encoder-only quantize- modelopt- "
    "torchao- rl-quant- enable-fp32-lm-head enable-multimodal mm-enable-dp- dp-size attn-cp- dcp- dwdp- enable-dp- "
    "enable-tp-lm-head enable-dense- ep- moe- shared-experts- disable-shared- enforce-shared- cpu-offload- offload- "
    "ple-offload- kt- speculative-draft-model-revision speculative-draft-load- speculative-token-map speculative-moe-"
)


@pytest.mark.parametrize("prefix", SHAPING.split())
def test_each_flag_that_shapes_the_weights_is_part_of_the_key(prefix: str) -> None:
    named = {name_of(flag) for release in RELEASES for flag in load_inventory(release).flags}
    names = [name for name in named if name.startswith(prefix)]
    assert names
    assert [name for name in names if not _LOADING.search(name)] == []


def test_nothing_is_kept_of_a_launch_that_measured_nothing(places: Places) -> None:
    assert not store(places, key_of(spec(), RELEASE, NAME), "a/b", {"weights_gib": None})
    assert recall(places, spec(), RELEASE, cards()) is None


@pytest.mark.parametrize(
    "words",
    ["--context-length 4096", "--kv-cache-dtype fp8_e4m3", "--mamba-ssm-dtype bfloat16", "--max-total-tokens 9"],
)
def test_figures_hold_for_flags_that_leave_the_weights_alone(places: Places, words: str) -> None:
    store(places, key_of(spec(), RELEASE, NAME), "a/b", {"weights_gib": 51.36})
    assert recall(places, spec(*words.split()), RELEASE, cards()) is not None


def test_figures_of_another_model_in_the_same_place_aren_t_used(places: Places, tmp_path: Path) -> None:
    config = tmp_path / "model" / "config.json"
    config.parent.mkdir()
    config.write_bytes(Path(MODEL).read_bytes())
    here = LaunchSpec("qwen", str(config.parent), words=FLAGS)
    store(places, key_of(here, RELEASE, NAME), "a/b", {"weights_gib": 51.36})
    assert recall(places, here, RELEASE, cards()) is not None
    config.write_text(config.read_text().replace('"num_hidden_layers": 64', '"num_hidden_layers": 32'))
    assert recall(places, here, RELEASE, cards()) is None


@pytest.mark.parametrize("rubbish", ["{", "folder", '"weights_gib": "many"', '"server": []'])
def test_what_cant_be_read_is_as_none(places: Places, rubbish: str) -> None:
    store(places, key_of(spec(), RELEASE, NAME), "a/b", {"weights_gib": 51.36})
    (path,) = (places.state / "measured").iterdir()
    if rubbish == "folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_text("{" if rubbish == "{" else path.read_text().replace('"weights_gib": 51.36', rubbish))
    assert recall(places, spec(), RELEASE, cards()) is None


def test_a_launch_that_failed_early_leaves_what_is_known_of_its_draft(places: Places) -> None:
    key = key_of(spec(), RELEASE, NAME)
    store(places, key, "a/1", {"weights_gib": 51.36, "draft_weights_gib": 5.53})
    store(places, key, "a/2", {"weights_gib": 51.4, "draft_weights_gib": None})
    recalled = recall(places, spec(), RELEASE, cards())
    assert recalled is not None
    assert recalled.measured == Measured(weights_gib=51.4, draft_weights_gib=5.53)
    assert recalled.launch == "a/2"


def test_what_was_typed_comes_first(places: Places) -> None:
    store(places, key_of(spec(), RELEASE, NAME), "a/b", {"weights_gib": 51.36, "draft_weights_gib": 5.5})
    recalled = recall(places, spec(), RELEASE, cards())
    assert fill(Measured(weights_gib=40.0), recalled) == (Measured(weights_gib=40.0), None)
    assert fill(Measured(94.0), recalled)[0] == Measured(94.0, 51.36, 5.5)


def test_the_next_plan_starts_from_what_was_measured(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    run_child(make_launch(places))
    words = ["plan", "--config", MODEL, "--gpu", RTX_PRO_6000, "--sglang", "0.5.11", "--json", "--", *FLAGS]
    assert main(words) == 0
    answer = json.loads(capsys.readouterr().out)
    weights = next(item for item in answer["ranks"][0]["items"] if item["component"] == "weights")
    assert (weights["basis"], round(weights["bytes"] / 2**30, 2)) == ("measured", 51.36)
    assert any("qwen/20260601T100000Z-0001 measured" in note for note in answer["notes"])


# --- beside a plan


def test_a_plan_beside_a_log() -> None:
    budget = plan_launch(spec(), RELEASE, cards(), int(TOTAL), measured=Measured(94.3, 50.96))
    memory = {
        "avail_before_gib": 94.3,
        "weights_gib": 51.36,
        "mamba": {"conv_gib": 0.17, "ssm_gib": 11.44},
        "kv": {"k_gib": 6.0, "v_gib": 6.0},
        "graphs_gib": 0.7,
        "free_gib": 17.5,
    }
    comparison = compare(budget, memory)
    rows = {row.component: row for row in comparison.rows}
    assert rows["weights"].difference_gib == 0.4
    assert rows["KV cache"].logged_gib == 12.0
    assert rows["state slots"].planned_gib is not None
    assert comparison.unplanned_gib == 1.13
    assert compare(budget, {}).unplanned_gib is None


def test_compare_prints_both(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    make_launch(places)
    words = ["plan", "--config", MODEL, "--gpu", RTX_PRO_6000, "--sglang", "0.5.11", "--compare", "qwen"]
    assert main([*words, "--json", "--", *FLAGS]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["compare"]["launch"] == "qwen/20260601T100000Z-0001"
    logged = {row["component"]: row["logged_gib"] for row in answer["compare"]["rows"]}
    assert (logged["weights"], logged["state slots"], logged["graphs"]) == (51.36, 11.61, 0.7)
    assert answer["compare"]["unplanned_gib"] == 1.13
    assert main([*words, "--", *FLAGS]) == 0
    out = capsys.readouterr().out
    assert "1.13 GiB went where no line of the log tells" in out


def test_explain_knows_a_launch_by_its_name(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    make_launch(places)
    assert main(["explain", "qwen", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["sglang"], answer["returncode"], answer["outcome"]) == ("0.5.11", -9, "failed")
    assert main(["explain", "qwen"]) == 0
    assert "qwen/20260601T100000Z-0001 failed" in capsys.readouterr().out


def test_a_launch_s_words_are_its_own(places: Places) -> None:
    make_launch(places)
    files = LaunchFiles(places.instances / "qwen" / "20260601T100000Z-0001")
    record = msgspec.json.decode(files.launch.read_bytes(), type=LaunchRecord)
    assert key_of(spec_of(record), RELEASE, NAME) == key_of(spec(), RELEASE, NAME)
