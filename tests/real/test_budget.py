"""The budget against the real SGLang: its own arithmetic over random flags, and a server's own figures."""

from __future__ import annotations

import re
from itertools import groupby

import pytest

from tests.oracles.random_cases import draw_cases
from tests.oracles.record import ask_cases, describe_case
from tests.real.machine import Engine, RealMachine
from tests.support.budget_oracle import compare_error, compare_flags, compare_pools
from tui.budget.plan import plan
from tui.budget.refusal import RefusedLaunch
from tui.budget.types import Card, Measured, PlanRequest
from tui.model.read import read_model
from tui.sglang.parse import inventories_for, parse_flags
from tui.sglang.versions import parse_release

CASES = 150
SEEDS = {"0.5.11": 11, "0.5.23": 23}


def test_random_flags_are_resolved_and_sized_as_the_real_one_does(engine: Engine) -> None:
    cases = sorted(draw_cases(engine.release, SEEDS[engine.release], CASES), key=lambda case: case.card)
    wrong = []
    for _, group in groupby(cases, key=lambda case: case.card):
        same_card = list(group)
        for case, found in zip(same_card, ask_cases(engine.python, same_card), strict=True):
            row = describe_case(case) | found
            try:
                compare_flags(engine.release, row)
                if "error" in row:
                    compare_error(engine.release, row)
                if "pools" in row:
                    compare_pools(engine.release, row)
            except (AssertionError, RefusedLaunch, pytest.fail.Exception) as error:
                wrong.append((" ".join(case.argv), case.card, case.config, case.given, str(error)[:400]))
    assert wrong == []


def test_a_hybrid_server_sizes_its_pools_as_planned(real_machine: RealMachine, engine: Engine) -> None:
    """On a CPU, with the machine's RAM in the place of a GPU's: what it logs against the plan for what was free."""
    flags = ("--load-format", "dummy", "--max-total-tokens", "1000000000", "--mem-fraction-static", "0.05")
    server = real_machine.launch("one", *flags, preset="hybrid")
    server.wait_for_log("max_total_num_tokens=")
    log = server.log
    before_gib, after_gib = (float(find(rf"{words}avail mem=([\d.]+) GB", log)) for words in ("begin. ", "end.*?"))
    slots, tokens = int(find(r"max_mamba_cache_size: (\d+)", log)), int(find(r"#tokens: (\d+)", log))

    release = parse_release(engine.release)
    words = [*flags, "--disable-overlap-schedule", "--attention-backend", "torch_native"]
    request = PlanRequest(
        model=read_model(engine.hybrid_model, "hybrid"),
        flags=parse_flags(words, inventories_for(release)),
        release=release,
        cards=(Card(0, "RAM", None),),
        smallest_total_mib=None,
        measured=Measured(before_gib, before_gib - after_gib),
    )
    budget = plan(request)
    assert budget.state is not None
    assert budget.kv is not None
    # The pool is divided 0.9 to 1: exact, whatever was free when it was sized.
    padding = 1 if request.rules.padding_slot else 0
    state_bytes, kv_bytes = (slots + padding) * budget.state.slot_bytes, tokens * budget.kv.bytes_per_token
    assert state_bytes / kv_bytes == pytest.approx(0.9, rel=1e-3)
    # Two printed decimals, and what else happened on the machine between the log line and the sizing.
    assert budget.state.slots == pytest.approx(slots, rel=0.15)
    assert budget.kv.tokens == pytest.approx(tokens, rel=0.15)
    # Both are counted from the slots: so many slots a request, whatever the number of them.
    requests = int(find(r"max_running_requests=(\d+), context_len", log))
    assert budget.state.slots is not None
    assert budget.max_running_requests is not None
    assert budget.max_running_requests / budget.state.slots == pytest.approx(requests / slots, rel=1e-3)


def find(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match is not None, pattern
    return match[1]
