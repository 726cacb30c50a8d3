"""`sgltui plan` as scripts call it: JSON on stdout, words for people on stderr, the verdict in the status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import CommandLine
from tests.support.planning import EAGLE, FIXTURES

HYBRID = str(FIXTURES / "configs" / "qwen3.6-27b.json")
DENSE = str(FIXTURES / "configs" / "llama-3.1-8b.json")
CARD = ("--gpu", "NVIDIA RTX PRO 6000 Blackwell:97887", "--sglang", "0.5.11")
STORY = ("--mem-fraction-static", "0.80", *EAGLE, "--mamba-scheduler-strategy", "extra_buffer")


def test_the_story_as_json(command_line: CommandLine) -> None:
    done = command_line.run("plan", "--config", HYBRID, *CARD, "--avail-before", "94.3", "--json", "--", *STORY)
    assert done.returncode == 3
    answer = json.loads(done.stdout)
    assert (answer["schema"], answer["sglang"], answer["verdict"]) == (1, "0.5.11", "exceeds")
    assert (answer["stage_of_failure"], answer["mem_fraction_static"]) == ("pool", 0.8)
    assert answer["mamba"]["slot_bytes"] == 153_944_064
    assert answer["mamba"]["reserve_gib"] == pytest.approx(27.527, abs=0.001)
    assert answer["gpus"] == [{"name": "NVIDIA RTX PRO 6000 Blackwell", "total_mib": 97887, "free_mib": 97887}]
    assert {"set": {"max-running-requests": 8}, "unset": [], "upgrade": None}.items() <= answer["changes"][0].items()


def test_a_change_taken_up_does_what_it_said(command_line: CommandLine) -> None:
    eight = (*STORY, "--max-running-requests", "8")
    done = command_line.run("plan", "--config", HYBRID, *CARD, "--avail-before", "94.3", "--", *eight)
    assert done.returncode == 0
    assert "FITS: 17" in done.stdout
    assert "8 requests at once" in done.stdout
    assert "state for drafts" in done.stdout


@pytest.mark.parametrize(
    ("words", "status", "part"),
    [
        (("plan",), 2, "give a preset, --model or --config"),
        (("plan", "--config", "/no/such.json", *CARD), 2, "/no/such.json"),
        (("plan", "--model", "nobody/has-this", *CARD), 2, "nobody/has-this"),
        (("plan", "--config", DENSE, "--gpu", "no-size", "--sglang", "0.5.11"), 2, "NAME:TOTAL_MIB"),
        (("plan", "--config", DENSE, "--gpu", "X:97887", "--sglang", "newest"), 2, "isn't a version of SGLang"),
        (("plan", "--config", DENSE, *CARD, "--avail-before", "nan"), 2, "isn't a size"),
    ],
)
def test_wrong_usage_is_told_in_a_line(
    command_line: CommandLine, words: tuple[str, ...], status: int, part: str
) -> None:
    done = command_line.run(*words)
    assert (done.returncode, done.stdout) == (status, "")
    assert part in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("flags", "stage", "part"),
    [
        (("--no-such-flag",), "args", "--no-such-flag isn't a flag in SGLang 0.5.11"),
        (("--mem-fraction-static", "1.5"), "args", "must be above 0 and below 1"),
        (("--max-running-requests", "0"), "args", "must be at least 1"),
        (("--tp-size", "3"), "weights", "3"),
        (EAGLE, "args", "can't speculate with Qwen3_5ForConditionalGeneration while no_buffer"),
    ],
)
def test_flags_that_sglang_refuses(command_line: CommandLine, flags: tuple[str, ...], stage: str, part: str) -> None:
    done = command_line.run("plan", "--config", HYBRID, *CARD, "--json", "--", *flags)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["verdict"], answer["stage_of_failure"]) == (3, "exceeds", stage)
    assert part in answer["reason"]


def test_what_cant_be_told(command_line: CommandLine, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"architectures": ["NobodyKnowsThis\\u001b[31mForCausalLM"], "model_type": "nobody"}')
    assert "\x1b" not in command_line.run("plan", "--config", str(config), *CARD).stdout
    done = command_line.run("plan", "--config", str(config), *CARD, "--json")
    assert "Traceback" not in done.stderr
    assert done.returncode == 4
    answer: dict[str, Any] = json.loads(done.stdout)
    assert answer["verdict"] == "unknown"
    assert "NobodyKnowsThis" in answer["reason"]


def test_a_card_of_unknown_size(command_line: CommandLine) -> None:
    words = ("--gpu", "unknown:0", "--sglang", "0.5.11", "--json")
    done = command_line.run("plan", "--config", DENSE, *words)
    assert done.returncode == 4
    assert json.loads(done.stdout)["mem_fraction_static"] == 0.88


def test_a_preset_on_this_machines_gpus(command_line: CommandLine) -> None:
    """The simulated machine's release and cards; the driver says what it keeps."""
    done = command_line.run("plan", "--model", DENSE, "--on", "1", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    items = {item["component"]: item for item in answer["ranks"][0]["items"]}
    assert answer["ranks"][0]["gpu"] == 1
    assert items["reserved by the driver"]["basis"] == "measured"
    assert items["weights"]["bytes"] == 16_060_522_496


def test_the_gpus_that_a_launch_would_get_are_planned(command_line: CommandLine) -> None:
    """Those that the user's own variable allows; and as many as the replicas of a server need."""
    for words, environment, gpus in (
        ((), {"CUDA_VISIBLE_DEVICES": "1"}, [1]),
        (("--", "--dp-size", "2"), {}, [0, 1]),
    ):
        done = command_line.run("plan", "--model", DENSE, "--json", *words, env=environment)
        assert [rank["gpu"] for rank in json.loads(done.stdout)["ranks"]] == gpus, done.stderr
