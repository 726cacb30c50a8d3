"""Every flag of the recorded releases: preset -> words -> preset, and what argparse makes of the words."""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.flag_words import samples, tables
from tui.hiding import is_secret_flag
from tui.presets import Preset, dump_preset, load_preset
from tui.presets.importing import import_words
from tui.sglang.command import build_arguments
from tui.sglang.flags import RELEASES, Flag, FlagInventory, load_inventory
from tui.sglang.parse import parse_flags
from tui.sglang.references import FlagValue

DECIDED = frozenset({"model-path", "host", "port"})
SECRETS = frozenset(
    flag.name for release in RELEASES for flag in load_inventory(release).flags if is_secret_flag(f"--{flag.name}")
)
APART = DECIDED | SECRETS | {"config"}  # what a preset has a place of its own for, or keeps by reference


def words_of(flags: dict[str, Any], inventory: FlagInventory) -> list[str]:
    return build_arguments(flags, "m", None, 1, (inventory,))


def back(words: list[str], release: str) -> Mapping[str, FlagValue]:
    """By way of what reads pasted and recorded command lines; what SGLang's parser would refuse isn't among them."""
    assert parse_flags(words, [load_inventory(release)]).troubles == ()
    return import_words(["python", "-m", "sglang.launch_server", *words], {}, "p", release).preset.flags


def standard_parser(inventory: FlagInventory) -> argparse.ArgumentParser:
    """argparse with the flags of a release and no types: only which words belong to which flag."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    for flag in inventory.flags:
        parser.add_argument(*flag.option_strings, dest=flag.name, **options(flag))
    return parser


def options(flag: Flag) -> dict[str, Any]:
    if flag.action == "boolean":
        return {"action": argparse.BooleanOptionalAction}
    return {"action": "store_true"} if flag.is_switch else {"nargs": flag.nargs}


PARSERS = {release: standard_parser(load_inventory(release)) for release in RELEASES}


@pytest.mark.parametrize("release", RELEASES)
def test_every_flag_of_a_release_comes_back_with_every_kind_of_value(release: str) -> None:
    inventory = load_inventory(release)
    for flag in inventory.flags:
        for value in [] if flag.name in APART else samples(flag):
            words = words_of({flag.name: value}, inventory)
            assert back(words, release) == {flag.name: value}, words


@pytest.mark.parametrize("release", RELEASES)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_tables_come_back_and_argparse_reads_them_alike(data: st.DataObject, release: str) -> None:
    inventory = load_inventory(release)
    table = data.draw(tables(inventory, without=APART))
    words = words_of(table, inventory)
    assert back(words, release) == table
    read = vars(PARSERS[release].parse_args(words))
    for name, value in table.items():
        if isinstance(value, list):
            assert [type(item)(text) for item, text in zip(value, read[name], strict=True)] == value
        else:
            assert read[name] == (value if isinstance(value, bool) else str(value))


@given(data=st.data(), release=st.sampled_from(RELEASES))
@settings(max_examples=10, deadline=None)
def test_tables_come_back_from_a_preset_file(
    data: st.DataObject, release: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    table = data.draw(tables(load_inventory(release), without=DECIDED | SECRETS))
    path = tmp_path_factory.mktemp("presets") / "p.toml"
    path.write_text(dump_preset(Preset(name="p", model="m", flags=table)))
    assert load_preset(path).flags == table


_WORDS = st.one_of(
    st.sampled_from([option for flag in load_inventory("0.5.23").flags for option in flag.option_strings]),
    st.sampled_from(["1", "-1", "-1.5", "x", "", "--tp", "--mem-fraction", "--cuda-graph-bs-decode", "--m", "--t"]),
    st.sampled_from(["--cuda-graph-bs-decode=1", "--tp=2", "--no-lora-strict-loading", "--disable-radix-cache", "--x"]),
)


@given(st.lists(_WORDS, max_size=7))
@settings(max_examples=150, deadline=None)
def test_a_line_is_refused_where_argparse_refuses_it(words: list[str]) -> None:
    """Values are left out of it: the standard library's parser was given no types here."""
    own = [
        trouble
        for trouble in parse_flags(["--model-path", "m", *words], [load_inventory("0.5.23")]).troubles
        if trouble.kind != "bad value"
    ]
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            PARSERS["0.5.23"].parse_args(["--model-path", "m", *words])
    except (argparse.ArgumentError, SystemExit):
        assert own, words
    else:
        assert own == [], words


def test_switches_that_are_off_and_values_with_dashes() -> None:
    inventory = load_inventory("0.5.23")
    flags: dict[str, Any] = {"lora-strict-loading": False, "disable-radix-cache": False, "chat-template": "--x"}
    assert words_of(flags, inventory)[4:] == ["--no-lora-strict-loading", "--chat-template=--x"]
