"""The arguments that SGLang settled on, from the `server_args=` line of its log.

Up to 0.5.11 it is the dataclass's own repr, `ServerArgs(model_path='…', tp_size=1, …)`, with other objects nested in
it; in 0.5.23 a dict. Values that may be secrets are dropped here, so that nothing further on has them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

Value = str | int | float | bool | None

_LIMIT = 128 * 1024  # the longest seen are 37 kB
_KEY = re.compile(r"(?:(?P<plain>[a-z_][a-z0-9_]{0,80})=|'(?P<quoted>[a-z_][a-z0-9_]{0,80})': ?)", re.ASCII)
_SECRET = re.compile(r"api_key|(?:^|_)token$|password|passwd|secret|credential|authorization", re.ASCII | re.IGNORECASE)
_OPEN, _CLOSE = "([{", ")]}"
_PLAIN = re.compile(
    r"None|True|False|-?\d{1,18}(?:\.\d{1,20})?(?:e-?\d{1,3})?$|'(?:[^'\\]|\\.)*'$|\"(?:[^\"\\]|\\.)*\"$", re.ASCII
)


def parse_server_args(message: str) -> dict[str, Value]:
    """The arguments with plain values, by name; those with lists or objects are left out, and so are secrets.

    Args:
        message: what stands behind the stamp: `server_args=ServerArgs(…)` or `server_args={…}`; may be cut off.
    """
    body = message[:_LIMIT].partition("=")[2]
    return {
        name: value
        for name, text in _split(body)
        if not _SECRET.search(name) and (value := _read(text)) is not _NOTHING and not isinstance(value, _Nothing)
    }


def find_secrets(message: str) -> tuple[str, ...]:
    """The values of arguments that may be secrets, so that they can be hidden wherever they are quoted."""
    found = [_read(text) for name, text in _split(message[:_LIMIT].partition("=")[2]) if _SECRET.search(name)]
    return tuple(value for value in found if isinstance(value, str) and value)


def flag_values(arguments: Mapping[str, Value]) -> dict[str, Value]:
    """The same by the names of flags, `mem-fraction-static`; unset ones left out."""
    return {
        name.replace("_", "-"): value for name, value in arguments.items() if value is not None and value is not False
    }


def attention_replicas(arguments: Mapping[str, Value]) -> int:
    """Among how many replicas DP attention divides what is asked for; 1 without it."""
    sizes = [arguments.get("attn_dp_size"), arguments.get("enable_dp_attention") and arguments.get("dp_size")]
    return max([1, *(size for size in sizes if isinstance(size, int))])


def typed_chunk(arguments: Mapping[str, Value]) -> int | None:
    """`--chunked-prefill-size` as one would type it: what is logged is each replica's share.

    0.5.6.post2 server_args.py:1571, 0.5.11 server_args.py:2936, 0.5.23 arg_groups/parallel_hook.py:331.
    """
    chunk = arguments.get("chunked_prefill_size")
    if not isinstance(chunk, int):
        return None
    return chunk * attention_replicas(arguments) if chunk > 0 else chunk


class _Nothing:
    """Not a plain value."""


_NOTHING = _Nothing()


def _read(text: str) -> Value | _Nothing:
    if not _PLAIN.match(text):
        return _NOTHING
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return _NOTHING
    return value if value is None or isinstance(value, str | int | float | bool) else _NOTHING


def _split(body: str) -> Iterator[tuple[str, str]]:
    """Names and texts of values at the outermost level; linear, and quotes and brackets are respected."""
    at = body.find("(") + 1 if body.startswith("ServerArgs(") else 1
    while (key := _KEY.match(body, at)) is not None:
        stop = _end_of_value(body, key.end())
        yield key["plain"] or key["quoted"], body[key.end() : stop]
        at = stop + 2  # ", "


_STEP = re.compile(r"[^'\"()\[\]{},]+|'(?:[^'\\]|\\.)*'?|\"(?:[^\"\\]|\\.)*\"?|.", re.DOTALL)


def _end_of_value(body: str, start: int) -> int:
    depth, at = 0, start
    while at < len(body):
        token = _STEP.match(body, at)
        if token is None:
            break
        text = token[0]
        if text in _OPEN:
            depth += 1
        elif text in _CLOSE:
            depth -= 1
            if depth < 0:
                return at
        elif text == "," and depth == 0:
            return at
        at = token.end()
    return at
