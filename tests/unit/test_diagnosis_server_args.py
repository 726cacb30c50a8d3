"""The dump of the arguments, in both of its forms; secrets never come out of it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.logs import read_log
from tui.diagnosis.server_args import Value, find_secrets, flag_values, parse_server_args, typed_chunk


def dump_of(name: str) -> str:
    line = next(line for line in read_log(f"real/{name}.log") if "server_args=" in line)
    return line.partition("] ")[2]


@pytest.mark.parametrize("name", ["0.5.6.post2/term", "0.5.11/term", "0.5.23/term"])
def test_a_real_dump(name: str) -> None:
    arguments = parse_server_args(dump_of(name))
    assert arguments["model_path"] == "model/qwen3"
    assert arguments["mem_fraction_static"] == 0.1
    assert arguments["tp_size"] == 1
    assert arguments["max_total_tokens"] == 4096
    assert arguments["disable_radix_cache"] is False
    assert arguments["context_length"] is None
    assert "api_key" not in arguments


def test_quotes_and_brackets_inside_of_values() -> None:
    text = (
        "server_args=ServerArgs(model_path='a, tp_size=8, (x', served_model_name=\"it's\", bs=[1, 2, (3,)], "
        "graph=Config(decode=Phase(max_bs=256, names=['x)']), k=1), tp_size=2, mem_fraction_static=0.85)"
    )
    assert parse_server_args(text) == {
        "model_path": "a, tp_size=8, (x",
        "served_model_name": "it's",
        "tp_size": 2,
        "mem_fraction_static": 0.85,
    }


def test_secrets_are_found_and_left_out() -> None:
    for text in (
        "server_args=ServerArgs(api_key='sk-12345', hf_token='hf_x', max_total_tokens=7, tokenizer_path='t')",
        "server_args={'api_key': 'sk-12345', 'hf_token': 'hf_x', 'max_total_tokens': 7, 'tokenizer_path': 't'}",
    ):
        assert parse_server_args(text) == {"max_total_tokens": 7, "tokenizer_path": "t"}
        assert find_secrets(text) == ("sk-12345", "hf_x")


def test_flags_have_dashes_and_are_set() -> None:
    assert flag_values({"tp_size": 2, "context_length": None, "disable_radix_cache": False}) == {"tp-size": 2}


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="abc_='\"()[]{},: \\0123.NoneTruekey", max_size=200))
def test_anything_is_survived(text: str) -> None:
    for shape in ("ServerArgs(", "{"):
        assert isinstance(parse_server_args(f"server_args={shape}{text}"), dict)


NAMES = st.from_regex(r"[a-h][a-h0-9_]{0,20}", fullmatch=True)
VALUES = st.one_of(st.none(), st.booleans(), st.integers(-9999, 9999), st.text(alphabet="ab'\"\\ ,=()", max_size=12))


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(NAMES, VALUES, max_size=8))
def test_what_python_prints_is_read_back(arguments: dict[str, str | int | bool | None]) -> None:
    assert parse_server_args(f"server_args={arguments!r}") == arguments
    shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    assert parse_server_args(f"server_args=ServerArgs({shown})") == arguments


@pytest.mark.parametrize(
    ("logged", "typed"),
    [
        ({"chunked_prefill_size": 8192, "dp_size": 4, "enable_dp_attention": False}, 8192),
        ({"chunked_prefill_size": 2048, "dp_size": 4, "enable_dp_attention": True}, 8192),
        ({"chunked_prefill_size": 4096, "attn_dp_size": 2, "dp_size": 1}, 8192),
        ({"chunked_prefill_size": -1, "dp_size": 4, "enable_dp_attention": True}, -1),
        ({}, None),
    ],
)
def test_a_chunk_is_logged_as_each_replica_s_share(logged: dict[str, Value], typed: int | None) -> None:
    assert typed_chunk(logged) == typed
