"""`sgltui explain` of launches on a simulated machine: the log, the records and the model's config together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.command_line import CommandLine
from tests.support.planning import EAGLE
from tests.support.waiting import wait_until
from tui.launch.records import find_launch

STORY = ("--mem-fraction-static", "0.8", *EAGLE, "--mamba-scheduler-strategy", "extra_buffer")
HYBRID = "Qwen/Qwen3.6-27B"
DENSE = "Qwen/Qwen3-0.6B"


def explained(command_line: CommandLine, *words: str) -> dict[str, Any]:
    done = command_line.run("explain", *words, "--json")
    assert done.returncode == 0, done
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def kept_diagnosis(command_line: CommandLine, name: str, outcome: str) -> dict[str, Any]:
    """What the keeper has had written beside the records."""
    directory = find_launch(command_line.places, name).files.directory
    path = directory / "diagnosis.json"

    def read() -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {}
        return answer

    wait_until(lambda: read().get("outcome") == outcome, what=f"{path} says {outcome}: {read()}")
    return read()


def test_the_story_from_its_own_launch(command_line: CommandLine) -> None:
    failed = command_line.run("launch", "--model", HYBRID, "--name", "story", "--force", "--wait", "--", *STORY)
    assert failed.returncode == 1, failed
    answer = explained(command_line, "story")
    assert (answer["outcome"], answer["class"]) == ("failed", "pool_budget_negative")
    assert answer["root_cause_text"] == "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
    assert "48 requests x 4 draft tokens takes 27.53 GiB" in answer["explanation"]
    assert answer["fraction_direction"] == "leave"
    assert answer["changes"][0]["set"] == {"max-running-requests": 8}
    kept = kept_diagnosis(command_line, "story", "failed")
    assert (kept["class"], kept["changes"]) == (answer["class"], answer["changes"])
    (listed,) = json.loads(command_line.ok("ps", "--json"))
    assert listed["cause"] == kept["brief"]
    assert listed["cause"].startswith("state for drafts 27.5 GiB, the pools have 24.")
    (attempt,) = json.loads(command_line.ok("history", "story", "--json"))
    assert (attempt["cause"], attempt["short_gib"]) == (kept["brief"], kept["short_gib"])
    told = command_line.run("explain", "story").stdout
    assert "✗" in told
    assert "(a consequence)" in told


def test_a_good_start_and_what_it_measured(command_line: CommandLine) -> None:
    command_line.ok("launch", "--model", DENSE, "--name", "good", "--wait")
    answer = explained(command_line, "good")
    assert (answer["outcome"], answer["class"], answer["reached_ready"]) == ("running", "none", True)
    assert answer["root_cause_line"] is None
    assert answer["memory"]["weights_gib"] > 0
    assert kept_diagnosis(command_line, "good", "running")["class"] == "none"
    compared = json.loads(command_line.ok("plan", "--compare", "good", "--json"))
    rows = {row["component"]: row for row in compared["compare"]["rows"]}
    assert rows["weights"]["logged_gib"] == answer["memory"]["weights_gib"]
    assert rows["KV cache"]["planned_gib"] is not None

    def basis() -> str:
        again = json.loads(command_line.ok("plan", "--model", DENSE, "--json"))
        [weights] = [item for item in again["ranks"][0]["items"] if item["component"] == "weights"]
        return str(weights["basis"])

    wait_until(lambda: basis() == "measured", what="it is kept for the next plan, just behind its diagnosis")


def test_a_launch_that_was_stopped(command_line: CommandLine) -> None:
    command_line.ok("launch", "--model", DENSE, "--name", "one", "--wait")
    command_line.ok("stop", "one")
    assert explained(command_line, "one")["outcome"] == "stopped"


def test_a_log_of_somebody_else(command_line: CommandLine, tmp_path: Path) -> None:
    log = tmp_path / "other.log"
    log.write_text("sglang serve: error: unrecognized arguments: --x\n")
    assert explained(command_line, str(log), "--exit", "2")["class"] == "unknown_flag"
