"""Editing a command line: what is changed, what stays as it was typed, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui.errors import UsageError
from tui.sglang.edit import DiffLine, FlagEdit, diff_words, edit_words, given_flags
from tui.sglang.flags import RELEASES, Flag, load_inventory
from tui.sglang.parse import inventories_for, parse_flags
from tui.sglang.versions import parse_release

V11, V23 = load_inventory("0.5.11"), load_inventory("0.5.23")
TYPED = ("--model-path", "m", "--tp", "2", "--mem-frac=0.8", "--cuda-graph-bs", "1", "2", "--trust-remote-code")


def test_a_flag_is_changed_in_its_place_and_the_rest_stays_as_typed() -> None:
    edit = FlagEdit().setting("mem-fraction-static", "0.85").setting("max-running-requests", "8").unsetting("tp-size")
    assert edit_words(TYPED, edit, V11) == (
        *("--model-path", "m", "--mem-fraction-static", "0.85", "--cuda-graph-bs", "1", "2", "--trust-remote-code"),
        *("--max-running-requests", "8"),
    )


def test_every_spelling_means_the_same_flag() -> None:
    for name in ("tp", "tp-size", "tensor-parallel-size"):
        assert edit_words(TYPED, FlagEdit(((name, ("4",)),)), V11)[2:4] == ("--tensor-parallel-size", "4")
        assert "--tp" not in edit_words(TYPED, FlagEdit(unset=(name,)), V11)


def test_a_name_of_another_release_is_understood() -> None:
    """0.5.11's main spelling is --tensor-parallel-size, 0.5.23's is --tp-size; 0.5.14 renamed cuda-graph-max-bs."""
    assert edit_words(("--tp", "1"), FlagEdit((("tp-size", ("4",)),)), V11) == ("--tensor-parallel-size", "4")
    for name, inventory, written in (
        ("cuda-graph-max-bs-decode", V11, "--cuda-graph-max-bs"),
        ("cuda-graph-max-bs", V23, "--cuda-graph-max-bs-decode"),
        ("mamba-scheduler-strategy", V23, "--mamba-radix-cache-strategy"),
    ):
        words = ("8",) if "bs" in name else ("extra_buffer",)
        assert edit_words((), FlagEdit(((name, words),)), inventory) == (written, *words)


def test_a_flag_typed_twice_is_changed_once() -> None:
    words = ("--tp", "1", "--dtype", "auto", "--tp-size", "2")
    assert edit_words(words, FlagEdit((("tp-size", ("4",)),)), V11) == (
        "--tensor-parallel-size",
        "4",
        "--dtype",
        "auto",
    )


def test_values_that_look_like_options_are_joined() -> None:
    assert edit_words((), FlagEdit((("chunked-prefill-size", ("-1",)),)), V11) == ("--chunked-prefill-size=-1",)


def test_both_words_of_a_switch_are_one_flag() -> None:
    switch = next(flag for flag in V23.flags if flag.action == "boolean")
    positive, negative = f"--{switch.name}", f"--no-{switch.name}"
    assert edit_words((positive,), FlagEdit(((f"no-{switch.name}", ()),)), V23) == (negative,)
    assert edit_words((negative,), FlagEdit(((switch.name, ()),)), V23) == (positive,)
    assert edit_words((negative,), FlagEdit(unset=(switch.name,)), V23) == ()


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("max-runing-requests", ("8",), r"0\.5\.11 has no flag --max-runing-requests; did you mean max-running-req"),
        ("max-running-requests", ("many",), r"--max-running-requests many: must be a whole number"),
        ("max-running-requests", (), r"--max-running-requests needs a value"),
        ("max-running-requests", ("8", "9"), r"takes one value, and '8 9' was given"),
        ("trust-remote-code", ("yes",), r"--trust-remote-code takes no value"),
        ("mamba-ssm-dtype", ("int4",), r"--mamba-ssm-dtype int4: must be one of .*bfloat16"),
    ],
)
def test_what_the_release_refuses_is_refused(name: str, words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        edit_words(TYPED, FlagEdit(((name, words),)), V11)


def test_the_difference_flag_by_flag() -> None:
    before = ("--tp", "2", "--api-key", "hunter2", "--dtype", "auto")
    after = ("--tp-size", "2", "--api-key=hunter3", "--max-running-requests", "8")
    assert diff_words(before, after, V11) == (
        DiffLine(" ", "--tensor-parallel-size 2"),
        DiffLine(" ", "--api-key ***"),
        DiffLine("-", "--dtype auto"),
        DiffLine("+", "--max-running-requests 8"),
    )


def _words_of(flag: Flag) -> st.SearchStrategy[tuple[str, ...]]:
    """Words that the release takes behind a flag, by its recorded kind."""
    values: dict[str | None, st.SearchStrategy[str]] = {
        "int": st.integers(-9, 10**6).map(str),
        "human_int": st.integers(-9, 10**6).map(str),
        "float": st.floats(0, 1, allow_nan=False).map(str),
        "json": st.just("{}"),
        "json_list": st.just("[1]"),
    }
    one = st.sampled_from(list(map(str, flag.choices))) if flag.choices else values.get(flag.type, st.just("word"))
    if flag.is_switch:
        return st.just(())
    return st.lists(one, min_size=1, max_size=3).map(tuple) if flag.nargs in ("+", "*") else one.map(lambda x: (x,))


EDITED = st.sampled_from(RELEASES).flatmap(
    lambda release: st.sampled_from(load_inventory(release).flags).flatmap(
        lambda flag: st.tuples(st.just(release), st.just(flag), _words_of(flag))
    )
)


@settings(max_examples=300)
@given(EDITED)
def test_what_is_set_is_what_the_parser_reads(case: tuple[str, Flag, tuple[str, ...]]) -> None:
    release, flag, words = case
    if len(words) > 1 and any(word.startswith("-") for word in words):
        return  # no command line can say that
    inventory = load_inventory(release)
    edited = edit_words(("--model-path", "m"), FlagEdit(((flag.name, words),)), inventory)
    assert not parse_flags(edited, inventories_for(parse_release(release))).troubles
    assert {one.name: one.words for one in given_flags(edited, inventory)}[flag.name] == words
    if flag.name != "model-path":
        assert edit_words(edited, FlagEdit(unset=(flag.name,)), inventory) == ("--model-path", "m")
