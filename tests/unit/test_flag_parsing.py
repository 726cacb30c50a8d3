"""Flags as values: read as SGLang's argparse reads them, and its refusals."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui.sglang.flags import load_inventory
from tui.sglang.parse import Flags, Trouble, inventories_for, parse_flags, read_human_integer
from tui.sglang.versions import parse_release


def read(sglang: str, *words: str) -> Flags:
    return parse_flags(words, inventories_for(parse_release(sglang)))


def test_spellings_of_one_flag_are_one_flag() -> None:
    for words in (("--tp", "2"), ("--tp-size", "2"), ("--tensor-parallel-size=2",), ("--tensor-p", "2")):
        assert read("0.5.11", *words) == Flags({"tp-size": 2})
        assert read("0.5.23", *words) == Flags({"tp-size": 2})


def test_values_have_their_types_and_the_last_one_wins() -> None:
    flags = read(
        "0.5.11",
        *("--mem-fraction-static", "0.8", "--mem-fraction-static", "0.9", "--cuda-graph-bs", "1", "2", "4"),
        *("--disable-radix-cache", "--chunked-prefill-size", "-1", "--max-total-tokens", "8Ki"),
    )
    assert flags == Flags(
        {
            "mem-fraction-static": 0.9,
            "cuda-graph-bs": (1, 2, 4),
            "disable-radix-cache": True,
            "chunked-prefill-size": -1,
            "max-total-tokens": 8192,
        }
    )


@pytest.mark.parametrize(
    ("text", "number"), [("8192", 8192), ("8k", 8000), ("1.5M", 1_500_000), ("8Ki", 8192), ("2G", 2_000_000_000)]
)
def test_sizes_with_a_suffix(text: str, number: int) -> None:
    """The suffixes of SGLang 0.5.11's own docstring (utils/common.py:2328)."""
    assert read_human_integer(text) == number


@pytest.mark.parametrize("text", ["8K", "1.5Ki", "k", "", "8 k", "nan", "1e3"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        read_human_integer(text)


@pytest.mark.parametrize(
    ("words", "kind", "part"),
    [
        (("--no-such-flag", "3"), Trouble.UNKNOWN, "--no-such-flag isn't a flag in SGLang 0.5.11"),
        (("--speculative-num",), Trouble.AMBIGUOUS, "--speculative-num-draft-tokens, --speculative-num-steps"),
        (("--tp",), Trouble.NO_VALUE, "--tp: needs a value"),
        (("--tp", "two"), Trouble.BAD_VALUE, "--tp two: must be a whole number"),
        (("--mem-fraction-static", "nan"), Trouble.BAD_VALUE, "must be a finite number"),
        (("--kv-cache-dtype", "int3"), Trouble.BAD_VALUE, "must be one of auto, fp8_e5m2"),
        (("--disable-radix-cache", "yes"), Trouble.STRAY, "'yes' belongs to no flag"),
        (("stray",), Trouble.STRAY, "'stray' belongs to no flag"),
        (("-x",), Trouble.UNKNOWN, "-x"),
    ],
)
def test_what_argparse_would_refuse(words: tuple[str, ...], kind: Trouble, part: str) -> None:
    [trouble] = read("0.5.11", *words).troubles
    assert trouble.kind is kind
    assert part in trouble.text


def test_between_recorded_releases_either_neighbour_is_believed() -> None:
    """0.5.17 has flags of both, and choices of both; its own inventory isn't recorded."""
    flags = read("0.5.17", "--mamba-scheduler-strategy", "extra_buffer", "--cuda-graph-bs-decode", "1", "2")
    assert flags == Flags({"mamba-scheduler-strategy": "extra_buffer", "cuda-graph-bs-decode": (1, 2)})
    assert [trouble.kind for trouble in read("0.5.11", "--cuda-graph-bs-decode", "1").troubles] == [Trouble.UNKNOWN]


@pytest.mark.parametrize(
    ("version", "recorded"),
    [
        ("0.5.6.post2", ["0.5.6.post2"]),
        ("0.5.11.post1+cu128", ["0.5.11"]),
        ("0.5.11+cu128", ["0.5.11"]),
        ("0.5.9", ["0.5.6.post2", "0.5.11"]),
        ("0.5.23rc1", ["0.5.11", "0.5.23"]),
        ("0.5.24", ["0.5.23"]),
        ("0.4.9", ["0.5.6.post2"]),
    ],
)
def test_whose_inventory_is_read(version: str, recorded: list[str]) -> None:
    assert [inventory.release for inventory in inventories_for(parse_release(version))] == recorded


@given(st.lists(st.text(string.printable, max_size=12), max_size=8))
@settings(max_examples=100, deadline=None)
def test_any_words_are_read_or_refused(words: list[str]) -> None:
    read("0.5.23", *words)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_values_written_as_words_are_read_back(data: st.DataObject) -> None:
    inventory = load_inventory("0.5.11")
    flags = data.draw(st.lists(st.sampled_from([flag for flag in inventory.flags if flag.type == "int"]), max_size=5))
    numbers = {
        flag.name: data.draw(st.integers(-1, 10**6)) for flag in flags if flag.choices is None and not flag.nargs
    }
    words = [word for name, number in numbers.items() for word in (f"--{name}", str(number))]
    found = parse_flags(words, [inventory])
    assert found.troubles == ()
    assert sorted(found.values.values()) == sorted(numbers.values())
