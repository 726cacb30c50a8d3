"""Version numbers, and which release's rules they get."""

from __future__ import annotations

import pytest

from tui.budget.rules import Fraction, Rules, StateSplit, rules_of
from tui.errors import UsageError
from tui.sglang.versions import describe_doubts, parse_release


def rules(version: str) -> Rules:
    return rules_of(parse_release(version))


@pytest.mark.parametrize("text", ["", "latest", "0.5.x", "v", "main"])
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(UsageError, match="isn't a version of SGLang"):
        parse_release(text)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("0.5.11", []),
        ("0.5.23.post1", []),
        ("0.5.6.post2", []),
        ("0.5.24", ["newer than 0.5.23"]),
        ("0.4.9.post2", ["older than 0.5.6"]),
        ("0.5.14rc0", ["a pre-release: parts of 0.5.14"]),
        ("0.5.12+cu128.local", ["a build of its own"]),
        ("0.0.0.dev11582+g4df60434d", ["without a release number: 0.5.23 is assumed"]),
    ],
)
def test_doubts_are_said(version: str, words: list[str]) -> None:
    doubts = describe_doubts(parse_release(version))
    assert len(doubts) == len(words)
    assert all(word in doubt for word, doubt in zip(words, doubts, strict=True))


def test_the_breakpoints_of_state_and_drafts() -> None:
    """What changed when, by the wheels of these releases."""
    assert [rules(version).split for version in ("0.5.6.post2", "0.5.8", "0.5.12.post1", "0.5.13", "0.5.23")] == [
        StateSplit.SLOTS_WITH_DRAFTS,
        StateSplit.RESERVED_FIRST,
        StateSplit.RESERVED_FIRST,
        StateSplit.JOINT,
        StateSplit.JOINT,
    ]
    assert [rules(version).draft_first for version in ("0.5.13.post1", "0.5.14rc0", "0.5.14")] == [False, False, True]
    assert [rules(version).padding_slot for version in ("0.5.16", "0.5.17")] == [False, True]
    assert [rules(version).draft_reserve_mib for version in ("0.5.9", "0.5.10", "0.5.13", "0.5.14")] == [
        2048,
        4096,
        4096,
        0,
    ]
    assert [rules(version).multimodal_reserve_mib for version in ("0.5.17", "0.5.18")] == [0, 100]
    assert [rules(version).small_card_chunk for version in ("0.5.19", "0.5.20")] == [2048, 4096]


def test_newer_and_unnumbered_builds_have_the_newest_rules() -> None:
    newest = rules("0.5.23")
    assert rules("0.6.0") == rules("0.0.0.dev5+g123abc") == newest
    assert rules("0.4.3.post2").fraction is Fraction.STEPS
