"""What a real SGLang's parser makes of command lines: `{"lines": [argv…], "configs": [path…]}` on standard input.

Prints, for each line, the values by argparse's names that differ from the defaults, or the refusal; and for each config
file the words that SGLang's own merger puts in front.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from typing import Any

from tests.oracles.answering import answer, hide_the_machine, module


class _Refused(Exception):  # noqa: N818 - an answer
    pass


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise _Refused(message)


def make_parser() -> _Parser:
    parser = _Parser(prog="sglang serve")
    module("sglang.srt.server_args").ServerArgs.add_cli_args(parser)
    return parser


def parse(parser: _Parser, argv: list[str]) -> dict[str, Any]:
    try:
        given = vars(parser.parse_args(["--model-path", "m", *argv]))
    except _Refused as refusal:
        return {"refused": str(refusal)}
    defaults = vars(parser.parse_args(["--model-path", "m"]))
    return {"values": {name: value for name, value in given.items() if value != defaults[name]}}


def merge(parser: _Parser, paths: Iterable[str]) -> list[Any]:
    try:
        merger = module("sglang.srt.utils.server_args_config_parser").ConfigArgumentMerger(parser)
    except ModuleNotFoundError:
        merger = module("sglang.srt.server_args_config_parser").ConfigArgumentMerger(parser)
    return [_merge_one(merger, path) for path in paths]


def _merge_one(merger: Any, path: str) -> Any:
    try:
        return merger.merge_config_with_args(["--tp", "1", "--config", path, "--port", "2"])
    except ValueError as error:
        return {"refused": str(error)}


def ask() -> dict[str, Any]:
    """Answers to all that was asked."""
    asked = json.load(sys.stdin)
    parser = make_parser()
    return {"lines": [parse(parser, argv) for argv in asked["lines"]], "configs": merge(parser, asked["configs"])}


if __name__ == "__main__":
    hide_the_machine()
    answer(ask, lambda found: json.dumps(found, default=str))
