"""What holds for every plan, whatever the flags."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.planning import EAGLE, STORY, make_plan_request
from tui.budget.changes import apply_change, find_changes
from tui.budget.plan import plan
from tui.budget.types import MemoryBudget, Verdict
from tui.sglang.flags import load_inventory
from tui.sglang.parse import Flags, inventories_for, name_of, parse_flags
from tui.sglang.versions import parse_release

CARDS = ("NVIDIA GeForce RTX 4090:24564", "NVIDIA H100 80GB HBM3:81559", "NVIDIA RTX PRO 6000 Blackwell:97887")
CONFIGS = ("llama-3.1-8b", "qwen3-32b", "qwen3.6-27b", "qwen3.5-9b", "gpt-oss-20b", "glm-4.7-flash")
RELEASES = ("0.5.6.post2", "0.5.9", "0.5.11", "0.5.13", "0.5.16", "0.5.19", "0.5.23")
FRACTIONS = st.integers(40, 97).map(lambda percent: percent / 100)


@st.composite
def words(draw: st.DrawFn) -> list[str]:
    """Flags that decide about memory."""
    chosen: list[str] = []
    for name, values in (
        ("--mem-fraction-static", st.sampled_from(("0.6", "0.8", "0.9", "0.95"))),
        ("--max-running-requests", st.sampled_from(("1", "8", "64", "512"))),
        ("--chunked-prefill-size", st.sampled_from(("2048", "8192"))),
        ("--context-length", st.sampled_from(("4096", "131072"))),
        ("--kv-cache-dtype", st.just("fp8_e4m3")),
        ("--mamba-ssm-dtype", st.just("bfloat16")),
    ):
        if draw(st.booleans()):
            chosen += [name, draw(values)]
    if draw(st.booleans()):
        chosen += ["--disable-radix-cache"]
    return chosen


def plan_of(config: str, flags: Sequence[str], release: str = "0.5.11", gpu: str = CARDS[2]) -> MemoryBudget:
    return plan(make_plan_request(config, flags, release, gpu))


def story(*flags: str) -> MemoryBudget:
    return plan(make_plan_request("qwen3.6-27b", [*EAGLE, *flags], "0.5.11", given=STORY))


@given(st.sampled_from(CONFIGS), words(), st.sampled_from(RELEASES), st.sampled_from(CARDS), st.sampled_from((1, 2)))
@settings(max_examples=80, deadline=None)
def test_items_add_up_to_what_is_used(config: str, flags: list[str], release: str, gpu: str, ranks: int) -> None:
    request = make_plan_request(config, [*flags, "--tp-size", str(ranks)], release, gpu, ranks)
    for rank in plan(request).ranks:
        assert sum(item.size for item in rank.items) == rank.total - rank.timeline[-1].free
        for item in rank.items:
            assert 0 <= item.low <= item.size <= item.high or item.size < 0
        for point in rank.timeline:
            assert point.low <= point.free <= point.high


@given(st.sampled_from(CONFIGS), words(), FRACTIONS, FRACTIONS)
@settings(max_examples=60, deadline=None)
def test_a_higher_fraction_never_means_fewer_tokens(config: str, flags: list[str], one: float, other: float) -> None:
    low, high = (plan_of(config, [*flags, "--mem-fraction-static", str(fraction)]) for fraction in sorted((one, other)))
    if low.kv is not None and high.kv is not None and low.kv.tokens is not None and high.kv.tokens is not None:
        assert low.kv.tokens <= high.kv.tokens


@given(st.integers(1, 400), st.integers(1, 400))
@settings(max_examples=60, deadline=None)
def test_more_requests_never_leave_more_tokens(one: int, other: int) -> None:
    """0.5.11 reserves drafts' states for each allowed request."""
    few, many = (
        story(
            "--mem-fraction-static",
            "0.9",
            "--mamba-scheduler-strategy",
            "extra_buffer",
            "--max-running-requests",
            str(n),
        )
        for n in sorted((one, other))
    )
    assert few.kv is not None
    assert many.kv is not None
    assert (few.kv.tokens or 0) >= (many.kv.tokens or 0)
    assert few.state is not None
    assert many.state is not None
    assert few.state.reserve <= many.state.reserve


@given(st.integers(1, 10**6), st.integers(1, 10**6))
@settings(max_examples=40, deadline=None)
def test_a_longer_context_takes_more_of_the_reserve(one: int, other: int) -> None:
    tables = []
    for context in sorted((one, other)):
        budget = plan_of("llama-3.1-8b", ["--context-length", str(context), "--max-running-requests", "64"])
        tables.append(next(item.size for item in budget.ranks[0].items if item.component == "request table"))
    assert tables == sorted(tables)


@given(st.sampled_from(CONFIGS), words(), st.sampled_from(RELEASES), st.sampled_from(CARDS), st.booleans())
@settings(max_examples=30, deadline=None)
def test_an_offered_change_does_what_it_says(
    config: str, flags: list[str], release: str, gpu: str, speculates: bool
) -> None:
    request = make_plan_request(config, [*flags, *(EAGLE if speculates else ())], release, gpu)
    budget = plan(request)
    for change in find_changes(request, budget):
        outcome = plan(apply_change(request, change))
        assert outcome.verdict is change.verdict
        assert outcome.verdict in (Verdict.FITS, Verdict.TIGHT)
        assert (budget.verdict, outcome.verdict) != (Verdict.TIGHT, Verdict.TIGHT)


def test_a_flag_that_was_renamed_goes_by_its_newest_name() -> None:
    old, new = (
        parse_flags([word, "4000"], inventories_for(parse_release(release)))
        for word, release in (("--grpc-http-sidecar-port", "0.5.11"), ("--smg-http-sidecar-port", "0.5.23"))
    )
    assert old == new == Flags({"smg-http-sidecar-port": 4000})


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_flags_written_as_words_are_read_back(data: st.DataObject) -> None:
    release = parse_release("0.5.11")
    inventory = load_inventory("0.5.11")
    pool = [
        flag
        for flag in inventory.flags
        if flag.type in ("int", "float")
        and not flag.choices
        and not flag.nargs
        # A flag goes by the name that the newest release has for it, which this one needn't know.
        and inventory.find(f"--{name_of(flag)}") is not None
    ]
    chosen = data.draw(st.lists(st.sampled_from(pool), max_size=6, unique_by=lambda flag: flag.name))
    numbers = {flag.name: data.draw(st.integers(0, 10**6)) for flag in chosen}
    flags = parse_flags(
        [word for name, n in numbers.items() for word in (f"--{name}", str(n))], inventories_for(release)
    )
    again = parse_flags(
        [word for name, n in flags.values.items() for word in (f"--{name}", str(n))], inventories_for(release)
    )
    assert flags.troubles == ()
    assert again == flags
    assert sorted(map(float, flags.values.values())) == sorted(map(float, numbers.values()))
