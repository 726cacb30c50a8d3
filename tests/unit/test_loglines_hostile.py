"""Log lines of any text: bounded time, no exception, no event without its words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.logs import read_log
from tui.sglang import log_events as ev
from tui.sglang.log_rules import STARTS
from tui.sglang.loglines import event_of, parse_event, split_line

QUICK = settings(max_examples=100, deadline=None)


@pytest.mark.parametrize(
    "line",
    [
        "x" * 1_000_000,
        "[" * 1_000_000,
        "\r" * 1_000_000,
        "a." * 500_000,
        "name-" * 200_000 + " | ",
        "Capturing batches (bs=" + "1" * 1_000_000,
        "Loading safetensors checkpoint shards: 10%" + "|" * 1_000_000,
        "[2026-11-29 17:00:00] Load weight end. type=" + "a" * 1_000_000,
        "[2026-11-29 17:00:00] Load weight end. type=a, quant=" + ", quant=" * 100_000,
        "[2026-11-29 17:00:00] max_total_num_tokens=" + "1" * 1_000_000,
        "[2026-11-29 17:00:00" + " TP1" * 200_000,
    ],
    ids=lambda line: line[:30].strip() or "CRs",
)
def test_lines_of_a_megabyte_are_read_in_bounded_time_and_say_nothing(line: str) -> None:
    assert all(event_of(part) is None for part in split_line(line))


# --- properties

PIECES = st.sampled_from(
    [*STARTS, "[2026-11-29 17:00:00 TP0] ", " avail mem=1.5 GB", "\r", "100%| 3/3 [", "\0", "\n", "'"]
)


@QUICK
@given(st.lists(PIECES | st.text(max_size=20), max_size=6).map("".join))
def test_no_text_raises_and_no_event_comes_without_its_words(text: str) -> None:
    for part in split_line(text):
        event = event_of(part)
        if event is not None:
            assert any(start in text for start in STARTS)
            assert (part.timestamp is None) == isinstance(event, ev.UNSTAMPED)


@QUICK
@given(st.data())
def test_a_damaged_line_never_raises(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["fragments/pools.log", "fragments/graphs.log", "fragments/bars.log"]))
    line = data.draw(st.sampled_from([line for line in read_log(name) if line]))
    start = data.draw(st.integers(0, len(line)))
    end = data.draw(st.integers(start, len(line)))
    for part in split_line(line[:start] + data.draw(st.text(max_size=5)) + line[end:]):
        event_of(part)


@QUICK
@given(st.integers(0, 10**15 - 1), st.decimals(-(10**6), 10**6, places=2))
def test_figures_survive_as_printed(tokens: int, gib: object) -> None:
    message = f"KV Cache is allocated. #tokens: {tokens}, KV size: {gib} GB"
    assert parse_event(message) == ev.KvCache(tokens, None, None, float(str(gib)), None, None)
