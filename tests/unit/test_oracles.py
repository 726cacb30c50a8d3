"""What real SGLang releases answered (`tests/fixtures/oracles`), against facts that don't come from them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.oracles.cases import CARDS, EAGLE, HYBRID, STORY_CARD, STRATEGY, list_cases
from tests.oracles.record import CONFIGS, RECORDED
from tui.sglang.flags import load_inventory

GIB = 1 << 30
SIZED = ("0.5.11", "0.5.23")
RELEASES = ("0.5.6.post2", *SIZED)
# 48 linear layers: a window of 3 inputs of 10240 channels in bf16, and 48 heads' states of 128 x 128 in fp32.
SLOT_BYTES = 48 * (3 * 10240 * 2 + 48 * 128 * 128 * 4)
# 16 full-attention layers with 4 heads' keys and values of 256 in bf16.
TOKEN_BYTES = 16 * 4 * 2 * 256 * 2


def read_cases(release: str) -> list[dict[str, Any]]:
    recorded = json.loads((RECORDED / f"{release}.json").read_text())
    assert recorded["sglang"] == release
    cases: list[dict[str, Any]] = recorded["cases"]
    return cases


def find_case(release: str, *argv: str, card: str = STORY_CARD, config: str = HYBRID) -> dict[str, Any]:
    found = [
        case
        for case in read_cases(release)
        if (case["argv"], case["card"]["name"], case["config"]) == (list(argv), CARDS[card].name, config)
    ]
    assert found, (release, argv)
    return found[-1]  # the one with given memory, where there are two


def story(release: str, fraction: str, *argv: str) -> dict[str, Any]:
    return find_case(release, "--mem-fraction-static", fraction, *EAGLE, STRATEGY[release], "extra_buffer", *argv)


@pytest.mark.parametrize("release", RELEASES)
def test_every_case_of_the_table_is_recorded_whole(release: str) -> None:
    cases = read_cases(release)
    asked = [(CARDS[case.card].name, case.config, list(case.argv), case.given) for case in list_cases(release)]
    assert [(case["card"]["name"], case["config"], case["argv"], case.get("given")) for case in cases] == asked
    inventory = load_inventory(release)
    for case in cases:
        assert (CONFIGS / f"{case['config']}.json").exists()
        assert all(inventory.find(word) for word in case["argv"] if word.startswith("--"))
        if "error" in case:
            assert case["error"]["type"] in {"RuntimeError", "ValueError", "AssertionError"}
            assert re.fullmatch(r"srt/[\w/]+\.py:\d+", case["error"]["raised_in"])
        else:
            assert 0 < case["resolved"]["mem_fraction_static"] < 1
            assert case["resolved"]["chunked_prefill_size"] > 0
            assert ("pools" in case) == ("given" in case)


@pytest.mark.parametrize("release", SIZED)
def test_sizes_add_up_to_what_was_given(release: str) -> None:
    sized = [case for case in read_cases(release) if "max_total_num_tokens" in case.get("pools", {})]
    assert len(sized) > 50
    for case in sized:
        pools, given = case["pools"], case["given"]
        slack_gib = given["before_gib"] * (1 - case["resolved"]["mem_fraction_static"])
        multimodal_gib = 100 / 1024 if release == "0.5.23" and case["config"].startswith("qwen") else 0.0
        rest_bytes = (given["after_gib"] - slack_gib - multimodal_gib) * GIB
        state_bytes = 0
        if "rest_gib" in pools:
            padding = 1 if release == "0.5.23" else 0
            state_bytes = (pools["state_slots"] + padding) * pools["state_bytes_per_slot"]
            state_bytes += pools["draft_reserve_gib"] * GIB
        assert pools["kv_budget_bytes"] == pytest.approx(rest_bytes - state_bytes, abs=2000)
        user_limit = case["resolved"]["max_total_tokens"] or pools["kv_budget_bytes"]
        tokens = min(int(pools["kv_budget_bytes"] // pools["bytes_per_token"]), user_limit)
        page = case["resolved"]["page_size"]
        assert pools["max_total_num_tokens"] == tokens // page * page


@pytest.mark.parametrize("release", SIZED)
def test_the_logged_lines_say_the_same_sizes(release: str) -> None:
    for case in read_cases(release):
        if "max_total_num_tokens" in case.get("pools", {}):
            log = "\n".join(case["log"])
            tokens = {int(found) for found in re.findall(r"KV Cache is allocated\..* #tokens: (\d+)", log)}
            assert case["pools"]["max_total_num_tokens"] in tokens
            slots = re.findall(r"max_mamba_cache_size: (\d+)", log)
            assert [int(found) for found in slots] == [case["pools"][key] for key in ("state_slots",) if slots]


@pytest.mark.parametrize("release", SIZED)
def test_the_shapes_of_the_story_are_those_computed_by_hand(release: str) -> None:
    pools = story(release, "0.80", "--max-running-requests", "8")["pools"]
    assert pools["state_bytes_per_slot"] == SLOT_BYTES == 153_944_064
    assert pools["bytes_per_token"] == TOKEN_BYTES == 65_536


def test_the_story_ends_as_it_was_told() -> None:
    case = story("0.5.11", "0.80", "--max-running-requests", "48")
    assert case["error"]["message"] == "Not enough memory. Please try to increase --mem-fraction-static."
    pools = case["pools"]
    assert pools["rest_gib"] == pytest.approx(43.34 - 94.3 * 0.2)  # 24.48
    assert pools["draft_reserve_gib"] == pytest.approx(48 * 4 * SLOT_BYTES / GIB, abs=1e-6)  # 27.53
    assert pools["rest_gib"] < pools["draft_reserve_gib"]
    assert story("0.5.11", "0.80")["error"] == case["error"]  # unset means 48 with a draft
    assert story("0.5.11", "0.80")["resolved"]["max_running_requests"] == 48


def test_the_ways_out_of_the_story() -> None:
    """Slots and requests from the split of the rest by 0.9/1.9, five slots a request: computed by hand."""
    eight = story("0.5.11", "0.80", "--max-running-requests", "8")["pools"]
    rest_bytes = (43.34 - 94.3 * 0.2) * GIB - 8 * 4 * SLOT_BYTES
    slots = int(rest_bytes * 0.9 / 1.9 // SLOT_BYTES)
    assert (eight["state_slots"], eight["max_running_requests"]) == (slots, 8) == (65, 8)
    assert eight["max_total_num_tokens"] == int(rest_bytes - slots * SLOT_BYTES) // TOKEN_BYTES == 173_227
    half = story("0.5.11", "0.80", "--max-running-requests", "48", "--mamba-ssm-dtype", "bfloat16")["pools"]
    assert half["state_bytes_per_slot"] == SLOT_BYTES - 48 * 48 * 128 * 128 * 2
    assert (half["state_slots"], half["max_running_requests"]) == (67, 67 // 5)
    newer = story("0.5.23", "0.80", "--max-running-requests", "48")["pools"]
    assert (newer["state_slots"], newer["max_running_requests"]) == (31, 31 // 5)


@pytest.mark.parametrize(("release", "fraction"), [("0.5.11", 0.863), ("0.5.23", 0.858)])
def test_the_fraction_chosen_for_the_story_is_the_one_computed_by_hand(release: str, fraction: float) -> None:
    """97887 MiB less 13440 or 13904, to three places; then what a vision tower of 24 x 1152 x 1152 takes off."""
    chosen = find_case(release)["resolved"]["mem_fraction_static"]
    assert chosen == pytest.approx(fraction * 0.95 * (1 - 0.1 * (24 * 1152**2 / (24 * 1024**2) - 1)), abs=1e-12)


@pytest.mark.parametrize("release", RELEASES)
def test_a_prefill_is_chunked_by_the_size_of_the_card(release: str) -> None:
    small = 4096 if release == "0.5.23" else 2048
    chunks = {"RTX 4080": 2048, "RTX 4090": small, "L40S": 4096, "H100": 8192, "H200": 8192, "B200": 16384}
    for card, chunk in chunks.items():
        resolved = find_case(release, card=card, config="gpt-oss-20b")["resolved"]
        assert resolved["chunked_prefill_size"] == chunk, card
