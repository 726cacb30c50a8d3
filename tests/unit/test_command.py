from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui.errors import UsageError
from tui.keeper.secret_words import SECRET_FLAGS, is_secret_flag
from tui.sglang.command import (
    TypedFlags,
    build_arguments,
    make_command,
    redact,
    split_flag_words,
)
from tui.sglang.flags import RELEASES, load_inventory
from tui.sglang.references import ResolvedValue, Secret


class StrictParser(argparse.ArgumentParser):
    """argparse itself, as SGLang uses it: the judge of what a prefix means."""

    def error(self, message: str) -> None:  # type: ignore[override]  # the real one exits the process
        raise ValueError(message)


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def parser(release: str) -> StrictParser:
    parser = StrictParser(add_help=False)
    for flag in load_inventory(release).flags:
        parser.add_argument(*flag.option_strings, dest=flag.name, nargs="?")
    return parser


def meaning(parser: StrictParser, option: str) -> str | None:
    """The main name of the flag that an option stands for, or None where argparse refuses it."""
    try:
        given = vars(parser.parse_args([option, "value"]))
    except ValueError:
        return None
    return next(name for name, value in given.items() if value == "value")


def prefixes(parser: StrictParser, initials: str) -> Iterator[str]:
    """All prefixes of all options that start with one of these letters."""
    options = [option for action in parser._actions for option in action.option_strings if option[2] in initials]
    yield from sorted({option[:end] for option in options for end in range(3, len(option) + 1)})


def test_story_arguments() -> None:
    flags: dict[str, ResolvedValue] = {
        "mem-fraction-static": 0.8,
        "max-running-requests": 8,
        "speculative-algorithm": "EAGLE",
        "enable-metrics": True,
        "disable-radix-cache": False,
        "cuda-graph-bs": [1, 2, 4],
        "schedule-conservativeness": 1e-05,
    }
    assert build_arguments(flags, "Qwen/Qwen3.6-27B", None, 30000) == [
        *("--model-path", "Qwen/Qwen3.6-27B", "--port", "30000", "--mem-fraction-static", "0.8"),
        *("--max-running-requests", "8", "--speculative-algorithm", "EAGLE", "--enable-metrics"),
        *("--cuda-graph-bs", "1", "2", "4", "--schedule-conservativeness", "1e-05"),
    ]


def test_host_and_a_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    words = build_arguments({}, "~/models/qwen", "0.0.0.0", 1)
    assert words == ["--model-path", "/home/ann/models/qwen", "--port", "1", "--host", "0.0.0.0"]
    assert build_arguments({}, "~other/qwen", None, 1)[1] == "~other/qwen"


def test_values_that_start_with_a_dash_are_joined(parser: StrictParser) -> None:
    words = build_arguments({"api-key": Secret("-x"), "chunked-prefill-size": -1}, "m", None, 1)
    assert words[4:] == ["--api-key=-x", "--chunked-prefill-size=-1"]
    given = vars(parser.parse_args(words))
    assert (given["api-key"], given["chunked-prefill-size"]) == ("-x", "-1")
    assert redact(words)[4:] == ["--api-key=***", "--chunked-prefill-size=-1"]


def test_an_integer_secret_is_still_text() -> None:
    command = make_command(build_arguments({"seed-of": Secret("1234")}, "m", None, 1))
    assert command.argv[-2:] == ("--seed-of", "1234")
    assert command.shown[-2:] == ("--seed-of", "***")
    assert "1234" not in repr(command)
    assert [type(word) for word in command.argv] == [str] * 6


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("--api-key s3cret --tp 2", "--api-key *** --tp 2"),
        ("--api-key=s3cret --tp 2", "--api-key=*** --tp 2"),
        ("--api-k s3cret", "--api-k ***"),
        ("--ap=s3cret", "--ap=***"),
        ("--admin-api-key s3cret", "--admin-api-key ***"),
        ("--ad s3cret", "--ad ***"),
        ("--ssl-keyfile /key.pem --ssl-keyfile-p s3cret", "--ssl-keyfile /key.pem --ssl-keyfile-p ***"),
        ("--api-key --api-key s3cret", "--api-key *** ***"),  # a mistake, and still a secret
        ("--api-key=a=s3cret", "--api-key=***"),
        ("--api-key", "--api-key"),
        ("", ""),
        ("-- --tp 2", "-- --tp 2"),
    ],
)
def test_secrets_of_typed_words_are_hidden(typed: str, shown: str) -> None:
    assert redact(typed.split()) == shown.split()


def test_every_spelling_of_a_secret_flag_is_known(parser: StrictParser) -> None:
    secret = {flag.removeprefix("--") for flag in SECRET_FLAGS}
    for option in prefixes(parser, "as"):
        flag = meaning(parser, option)
        assert flag is None or is_secret_flag(option) == (flag in secret), option


WORD = st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=6)
SECRET_OPTION = st.sampled_from(
    [flag[:end] for flag in SECRET_FLAGS for end in range(3, len(flag) + 1) if flag[:end] != "--ssl-keyfile"]
)
MARK = "~s3cret~"


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.one_of(
            WORD.map(lambda word: [word]),
            st.tuples(st.just("--tp-size"), WORD).map(list),
            SECRET_OPTION.map(lambda option: [option, MARK]),
            SECRET_OPTION.map(lambda option: [f"{option}={MARK}"]),
            SECRET_OPTION.map(lambda option: [option]),
            st.tuples(SECRET_OPTION, SECRET_OPTION).map(lambda pair: [*pair, MARK]),
            st.just([Secret(MARK)]),
            st.just([*build_arguments({"x": Secret(MARK), "y": Secret("-" + MARK)}, "m", None, 1)]),
        ),
        max_size=6,
    )
)
def test_a_secret_never_survives(groups: list[list[str]]) -> None:
    words = [word for group in groups for word in group]
    command = make_command(words)
    assert command.argv == tuple(words)
    assert len(command.shown) == len(words)
    assert not any(MARK in word for word in command.shown)
    assert MARK not in repr(command)


@settings(max_examples=50, deadline=None)
@given(st.lists(WORD | WORD.map(lambda word: f"--x{word}={word}")))
def test_what_is_no_secret_is_shown_as_it_is(words: list[str]) -> None:
    assert redact(words) == words


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", TypedFlags(None, None, None, ())),
        ("--tp 2 --enable-metrics", TypedFlags(None, None, None, ("--tp", "2", "--enable-metrics"))),
        ("--port 1 --tp=2 --host ::", TypedFlags(None, "::", 1, ("--tp=2",))),
        ("--port=65535 --model m --po 2", TypedFlags("m", None, 2, ())),
        ("--model-path=a=b --hos h", TypedFlags("a=b", "h", None, ())),
        ("--model-impl auto --model-pa p", TypedFlags("p", None, None, ("--model-impl", "auto"))),
        ("--api-key --x", TypedFlags(None, None, None, ("--api-key", "--x"))),
    ],
)
def test_words_that_the_launch_decides_are_taken_out(typed: str, expected: TypedFlags) -> None:
    assert split_flag_words(typed.split(), load_inventory("0.5.11")) == expected


@pytest.mark.parametrize(
    "typed", ["--port", "--port --tp", "--port x", "--port 0", "--port=65536", "--port=", "--host"]
)
def test_a_port_or_host_without_a_proper_value_is_refused(typed: str) -> None:
    with pytest.raises(UsageError, match=r"^--(port|host) "):
        split_flag_words(typed.split(), load_inventory("0.5.11"))


def test_every_spelling_of_model_host_and_port_is_taken_out(parser: StrictParser, release: str) -> None:
    taken = {"model-path", "host", "port"}
    for option in prefixes(parser, "mhp"):
        flag = meaning(parser, option)
        rest = split_flag_words([option, "80"], load_inventory(release)).rest
        assert (rest == ()) == (flag in taken) or flag is None, option


@pytest.mark.parametrize(
    "typed", ["--apikey", "--api_key", "--Api-Key", "--hf-token", "--password", "--my-secret", "--key"]
)
def test_a_mistyped_secret_flag_hides_its_value_too(typed: str) -> None:
    assert redact([typed, "open-sesame", "--tp", "2"]) == [typed, "***", "--tp", "2"]
    assert redact([f"{typed}=open-sesame"]) == [f"{typed}=***"]


@pytest.mark.parametrize(
    "harmless", ["--tokenizer-path", "--max-total-tokens", "--ssl-keyfile", "--bucket-time-to-first-token"]
)
def test_flags_that_only_sound_secret_keep_their_values(harmless: str) -> None:
    assert redact([harmless, "value"]) == [harmless, "value"]
