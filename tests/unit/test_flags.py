"""Flag inventories against the usage texts that real releases printed."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest

from tests.support.logs import FIXTURES
from tui.errors import UsageError
from tui.sglang.flags import RELEASES, load_inventory

# Flags that the parser takes and its usage text hides.
HIDDEN = {"--forward-pass-metrics-worker-id", "--forward-pass-metrics-ipc-name"}


def read_usage(release: str) -> str:
    log = (FIXTURES / "real" / release / "badflag.log").read_text()
    return log[log.index("usage: sglang serve") : log.index("sglang serve: error")]


@pytest.mark.parametrize("release", ["0.5.11", "0.5.23"])
def test_every_flag_of_the_usage_is_known_in_its_order(release: str) -> None:
    inventory = load_inventory(release)
    printed = re.findall(r"(?<![\w-])(--[\w-]+)", read_usage(release))
    known = [flag for flag in map(inventory.find, printed) if flag is not None]
    assert [option for option in printed if inventory.find(option) is None] == []
    assert list(dict.fromkeys(flag.option_strings[0] for flag in known)) == [
        flag.option_strings[0] for flag in inventory.flags if flag.option_strings[0] not in HIDDEN
    ]


@pytest.mark.parametrize("release", ["0.5.11", "0.5.23"])
def test_choices_and_switches_are_those_of_the_usage(release: str) -> None:
    usage = re.sub(r"\s+", " ", read_usage(release))
    for flag in load_inventory(release).flags:
        option = flag.option_strings[0]
        if option in HIDDEN:
            continue
        if flag.choices is not None:
            printed = re.search(rf"{option} \[?\{{([^}}]*)\}}", usage)
            assert printed is not None, option
            # SGLang keeps some of them in a set, whose order changes from run to run.
            assert sorted(printed[1].split(",")) == sorted(map(str, flag.choices))
        elif flag.action == "boolean":
            assert f"[{option} | --no-{flag.name}]" in usage
        elif flag.is_switch:
            assert f"[{option}]" in usage
        else:
            assert f"{option} " in usage


def read_server_args(release: str) -> dict[str, Any]:
    """What a real server of the release said it runs with: a repr of its arguments up to 0.5.11, then a dict."""
    printed = re.search(r"server_args=(.*)", (FIXTURES / "real" / release / "term.log").read_text())
    assert printed is not None
    if release == "0.5.23":
        return dict(ast.literal_eval(printed[1]))
    call = ast.parse(printed[1], mode="eval").body
    assert isinstance(call, ast.Call)
    literals = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    return {name: ast.literal_eval(value) for name, value in literals.items() if not isinstance(value, ast.Call)}


@pytest.mark.parametrize("release", RELEASES)
def test_a_real_server_runs_with_these_defaults_except_where_it_was_told_or_decided(release: str) -> None:
    told = {"port", "enable_metrics", "disable_cuda_graph", "disable_overlap_schedule", "skip_server_warmup"}
    decided = {
        "load_balance_method",
        "mamba_scheduler_strategy",
        "disable_piecewise_cuda_graph",
        "boundary_reduction",
        "encoder_transfer_backend",
    }
    running = read_server_args(release)
    defaults = {flag.dest: flag.default for flag in load_inventory(release).flags if flag.default is not None}
    known = {name for name in defaults if name in running}
    assert len(known) > 150
    assert {name for name in known if running[name] != defaults[name]} <= told | decided
    parallel = load_inventory(release).find("--tp-size")
    assert parallel is not None
    assert parallel.default == running["tp_size"]


@pytest.mark.parametrize("release", RELEASES)
def test_the_flags_that_drive_memory_have_their_types(release: str) -> None:
    inventory = load_inventory(release)
    types = {
        "--mem-fraction-static": "float",
        "--max-running-requests": "int",
        "--tp-size": "int",
        "--random-seed": "int",
        "--kv-cache-dtype": "str",
        "--disable-radix-cache": None,
    }
    assert {option: flag.type for option in types if (flag := inventory.find(option))} == types
    model = inventory.find("--model")
    assert model is not None
    assert (model.name, model.dest, model.required, model.is_switch) == ("model-path", "model_path", True, False)


def test_spellings_and_unknown_ones() -> None:
    inventory = load_inventory("0.5.23")
    negated = inventory.find("--no-lora-strict-loading")
    assert negated is inventory.find("--lora-strict-loading")
    assert inventory.find("--no-such-flag") is None
    deprecated = inventory.find("--disable-cuda-graph")
    assert deprecated is not None
    assert deprecated.deprecated


def test_a_release_that_was_not_recorded_is_refused_with_those_that_were() -> None:
    with pytest.raises(UsageError, match=r"0\.4\.0.*0\.5\.6\.post2, 0\.5\.11, 0\.5\.23"):
        load_inventory("0.4.0")
