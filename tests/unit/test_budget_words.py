"""A budget as a person reads it: parts, bars, rows, sentences; hand-computed cells and figures."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from textual.content import Content

from tests.support.budgets import EXCEEDS, FITS, TOTAL_GIB, UNKNOWN, card, exact, timeline
from tui.app.budgets import BudgetAnswer, BudgetQuestion
from tui.app.core import LaunchRequest
from tui.app.glyphs import ASCII, UNICODE, Glyphs
from tui.app.notices import Trouble
from tui.app.widgets.budget_bar import bar_content, bar_lines
from tui.app.widgets.budget_lines import budget_lines
from tui.app.widgets.budget_parts import KINDS, fills_of, fullest
from tui.app.widgets.budget_rows import rows_of, table_lines
from tui.app.widgets.budget_timeline import timeline_chart, timeline_lines
from tui.app.widgets.budget_words import change_lines, describe_change, verdict_lines
from tui.app.wrapping import cut, wrapped
from tui.budget.types import FlagChange, MemoryBudget, RankBudget, Stage, Verdict
from tui.gpu import GpuReading
from tui.units import GIB

QUESTION = BudgetQuestion(LaunchRequest("p"), (), GpuReading())


def plain(lines: list[Content]) -> list[str]:
    return [line.plain for line in lines]


def rank_of(total_gib: int, *items: tuple[str, float], free: float = 0, gpu: int = 0) -> RankBudget:
    """A GPU that holds these."""
    at_end = timeline(("serving", free, Stage.RUNTIME))
    return RankBudget(gpu, total_gib * GIB, tuple(exact(name, gib) for name, gib in items), at_end)


def bar(rank: RankBudget, cells: int, glyphs: Glyphs = UNICODE, stage: Stage | None = None) -> str:
    budget = replace(FITS, ranks=(rank,), stage_of_failure=stage)
    return bar_content(fills_of(budget)[0], cells, glyphs).plain


def test_a_bar_is_in_proportion() -> None:
    rank = rank_of(100, ("weights", 50), ("KV cache", 25))
    assert bar(rank, 40) == "W" * 20 + "K" * 10 + "·" * 10
    assert bar(rank, 42, ASCII) == "|" + "W" * 20 + "K" * 10 + "." * 10 + "|"


def test_parts_stand_in_one_order_and_the_smallest_is_seen() -> None:
    rank = rank_of(96, ("KV cache", 40), ("draft KV cache", 0.1), ("weights", 40), ("other processes", 0.2))
    assert re.fullmatch(r"\?W+K+k·+", bar(rank, 40))


def test_what_does_not_fit_is_marked_behind_the_limit() -> None:
    # 60 of weights and 30 of state against 100 less 20 kept: 10 too much, which reach into what is kept.
    rank = rank_of(100, ("weights", 60), ("kept out of the pools", 20), ("state reserve for drafts", 30), free=-10)
    assert bar(rank, 50, stage=Stage.POOL) == "W" * 30 + "R" * 10 + "▶" * 5 + "·" * 5
    assert bar(rank, 52, ASCII, Stage.POOL) == "|" + "W" * 30 + "R" * 10 + ">" * 5 + "." * 5 + "|"


def test_a_need_beyond_all_measure_leaves_the_rest_readable() -> None:
    rank = rank_of(100, ("weights", 50), ("state reserve for drafts", 1000), free=-950)
    assert bar(rank, 60) == "W" * 20 + "R" * 20 + "▶" * 20


def test_weights_that_do_not_fit_are_short_by_what_they_lack_alone() -> None:
    rank = rank_of(100, ("weights", 130), ("kept out of the pools", 15), free=-30)
    fill = fills_of(replace(FITS, ranks=(rank,), stage_of_failure=Stage.WEIGHTS))[0]
    assert fill.short == 30 * GIB
    assert [row.name for row in rows_of(fill, UNICODE)] == ["weights", "doesn't fit"]


def test_what_is_needed_in_passing_is_missing_too() -> None:
    # At the end 90 of 100 are held; while the draft loads it is 104.
    points = timeline(("pools", 15, Stage.POOL), ("draft", -4, Stage.DRAFT), ("serving", 10, Stage.RUNTIME))
    rank = replace(rank_of(100, ("weights", 80), ("draft weights", 10)), timeline=points)
    fill = fills_of(replace(FITS, ranks=(rank,), stage_of_failure=Stage.DRAFT))[0]
    assert (fill.needed, fill.short) == (104 * GIB, 4 * GIB)
    rows = {row.name: row.gib.strip() for row in rows_of(fill, UNICODE)}
    assert rows == {"weights": "80.00", "draft weights": "10.00", "needed in passing": "14.00", "doesn't fit": "4.00"}


def test_gpus_that_are_filled_alike_share_a_line_and_the_fullest_is_told() -> None:
    alike = [rank_of(96, ("weights", 40), free=56, gpu=gpu) for gpu in (0, 1, 2)]
    crowded = rank_of(96, ("weights", 40), ("other processes", 30), free=26, gpu=3)
    budget = replace(FITS, ranks=(*alike, crowded), cards=tuple(card(index) for index in range(4)))
    fills = fills_of(budget)
    assert [fill.gpus for fill in fills] == [(0, 1, 2), (3,)]
    assert fullest(fills).gpus == (3,)
    names = {one.index: one.name for one in budget.cards}
    first, second = plain(bar_lines(fills, names, 80, UNICODE))
    assert re.fullmatch(r"0-2 RTX PRO 6000  W+·+  40\.0 / 96\.0 GiB", first)
    assert re.fullmatch(r"3 RTX PRO 6000    \?+W+·+  70\.0 / 96\.0 GiB", second)
    assert any("on GPU 3" in line for line in plain(lines_of(budget, 100)))


def test_every_part_has_a_letter_of_its_own() -> None:
    signs = [kind.sign for kind in KINDS]
    assert len(set(signs)) == len(signs)
    assert not set(signs) & {UNICODE.free, ASCII.free, UNICODE.overflow, ASCII.overflow}
    assert len({kind.style for kind in KINDS}) == len(KINDS)


def test_a_component_that_nobody_knows_here_is_shown_by_its_name() -> None:
    fill = fills_of(replace(FITS, ranks=(rank_of(96, ("weights", 40), ("LoRA adapters", 2)),)))[0]
    assert [(row.sign, row.name) for row in rows_of(fill, UNICODE)][:2] == [("W", "weights"), ("+", "LoRA adapters")]


def test_figures_say_how_they_are_known_and_stand_point_under_point() -> None:
    lines = plain(table_lines(fills_of(FITS)[0], 118, UNICODE, title="component"))
    assert lines[0].split() == ["component", "GiB", "how", "known", "where", "it", "comes", "from"]
    assert re.fullmatch(r"x driver +0\.60 +measured +as the driver says", lines[1])
    assert re.fullmatch(
        r"C context, loading +~0\.8 +est\. 0\.4-1\.3 +CUDA context .* 0\.7, load overhead 0\.1", lines[3]
    )
    assert re.fullmatch(r"K KV cache +10\.58 +exact +173 294 tokens x 65 536 bytes \(bfloat16\)", lines[7])
    assert re.fullmatch(r"G CUDA graphs +~1\.4 +est\. 0\.6-2\.8 +prefill graphs 0\.9, decode graphs 0\.5", lines[8])
    assert re.fullmatch(
        r"· stays free +~14\.0 +est\. 13\.0-15\.0 +while it serves; at the tightest moment \(draft\) 10\.5 GiB",
        lines[-1],
    )
    assert len({line.index(".", 20) for line in lines[1:]}) == 1  # behind the names


def test_parts_add_up_to_what_the_items_are() -> None:
    fill = fills_of(FITS)[0]
    assert fill.needed == sum(item.size for item in FITS.ranks[0].items)
    assert fill.free == TOTAL_GIB * GIB - fill.needed
    assert round(fill.needed / GIB) == 82


def test_the_whole_table_has_each_item_and_cuts_nothing() -> None:
    text = "\n".join(plain(table_lines(fills_of(FITS)[0], 78, UNICODE, title="component", whole=True)))
    for item in FITS.ranks[0].items:
        assert item.component in text
    assert "…" not in text
    assert "W weights" in text
    assert "G prefill graphs" in text


@pytest.mark.parametrize("width", [46, 57, 68, 77, 118])  # the narrowest; the editor at 100, 120; 80 columns; much room
@pytest.mark.parametrize("budget", [FITS, EXCEEDS], ids=["fits", "exceeds"])
def test_where_figures_come_from_is_told_in_full_at_every_width(budget: MemoryBudget, width: int) -> None:
    """Beside the figure, on several lines where it is long; below it where that column would be a ribbon."""
    fill = fills_of(budget)[0]
    lines = plain(table_lines(fill, width, UNICODE, title="component"))
    text = "".join("\n".join(lines).split())
    for row in rows_of(fill, UNICODE):
        assert all(word in text for word in wrapped(row.reason, 1000, UNICODE)[0].split()), row.name
    assert "…" not in text
    assert any(line.startswith("    as the driver says") for line in lines) == (width < 68)


@pytest.mark.parametrize("budget", [FITS, EXCEEDS, UNKNOWN], ids=["fits", "exceeds", "unknown"])
@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_no_line_is_wider_than_its_place_and_no_number_is_cut(budget: MemoryBudget, glyphs: Glyphs) -> None:
    for width in range(46, 170, 4):
        for whole in (False, True):
            lines = plain(lines_of(budget, width, glyphs, whole=whole))
            assert max(map(cell_len, lines)) <= width
            for line in lines:
                assert glyphs is UNICODE or line.isascii()
                assert not re.search(r"\d(…|\.\.)$", line) or re.search(r"\s\d+(\.\d+)?(…|\.\.)$", line), line
    text = " ".join(plain(lines_of(budget, 60, glyphs))).replace("  ", " ")
    for number in re.findall(r"\d+\.\d\d GiB", budget.reason):
        assert number in text


def lines_of(budget: MemoryBudget, width: int, glyphs: Glyphs = UNICODE, *, whole: bool = False) -> list[Content]:
    return budget_lines(BudgetAnswer(QUESTION, budget), width, 100, glyphs, whole=whole)


def test_the_answer_comes_first_then_what_to_do_then_the_evidence() -> None:
    lines = plain(lines_of(EXCEEDS, 118))
    marks = ["DOESN'T FIT", "What would fit", "0 RTX PRO 6000", "component", "GiB free after", "SGLang would end with"]
    places = [next(place for place, line in enumerate(lines) if mark in line) for mark in marks]
    assert places == sorted(places)
    assert "· extra_buffer doesn't double the state: it needs 5 slots a request, not 3" in lines


def test_blank_lines_are_for_those_who_have_room() -> None:
    answer = BudgetAnswer(QUESTION, EXCEEDS)
    stacks = [budget_lines(answer, 118, height, UNICODE) for height in range(12, 60)]
    first = next(place for place, stack in enumerate(stacks) if any(not line.plain for line in stack))
    tight, roomy = stacks[first - 1 : first + 1]
    assert [line.plain for line in roomy if line.plain] == plain(tight)


def test_who_has_more_room_sees_the_stages_as_a_chart() -> None:
    lines = plain(budget_lines(BudgetAnswer(QUESTION, EXCEEDS), 118, 40, UNICODE))
    place = lines.index("GiB free after each stage")
    bars = ["▇" * 40, "▇" * 18, "the start ends here"]  # of 93.3: 42.2 is 18.1 fortieths
    assert lines[place + 1 : place + 4] == [
        f"  start    93.3  {bars[0]}",
        f"  weights  42.2  {bars[1]}",
        f"✗ pools    -4.0  {bars[2]}",
    ]


def test_a_chart_needs_room_and_ascii_has_its_own_bars() -> None:
    points = timeline(("start", 10, Stage.WEIGHTS), ("serving", 5, Stage.RUNTIME))
    assert timeline_chart(points, 20, UNICODE) == []
    assert timeline_chart((), 80, UNICODE) == []
    *_, last = plain(timeline_chart(points, 41, ASCII))
    assert last == "  serving   5.0  " + "=" * 12


def test_the_chart_comes_before_blank_lines_and_before_all_notes_but_the_first() -> None:
    answer, chart = BudgetAnswer(QUESTION, EXCEEDS), "GiB free after each stage"
    stacks = {height: budget_lines(answer, 118, height, UNICODE) for height in range(12, 60)}
    least = min(height for height, stack in stacks.items() if chart in plain(stack))
    assert all(line.plain for line in stacks[least])
    notes = plain(stacks[least])[plain(stacks[least]).index(chart) + 4 :]
    assert len(stacks[least]) - len(notes) + min(len(notes), 4) == least
    many = replace(EXCEEDS, notes=tuple(f"a note of a line, number {number}" for number in range(9)))
    longer = budget_lines(BudgetAnswer(QUESTION, many), 118, least + 2, UNICODE)
    assert chart in plain(longer)
    assert len(longer) > least + 2, "the others have to be scrolled to"


def test_the_place_of_changes_is_kept_while_they_are_looked_for() -> None:
    whole = budget_lines(BudgetAnswer(QUESTION, EXCEEDS), 118, 40, UNICODE)
    first = budget_lines(BudgetAnswer(QUESTION, replace(EXCEEDS, changes=()), lacks_changes=True), 118, 40, UNICODE)
    assert len(first) == len(whole)
    assert "What would fit…" in [line.plain for line in first]
    assert [line.plain for line in first][7:] == [line.plain for line in whole][7:]


@pytest.mark.parametrize(
    ("verdict", "reason", "shown"),
    [
        (Verdict.FITS, "173k tokens", " FITS  173k tokens"),
        (Verdict.TIGHT, "173k tokens, but 0.20 GiB may be missing", " TIGHT  173k tokens, but 0.20 GiB may be missing"),
        (Verdict.EXCEEDS, "it is 3.05 GiB short", " DOESN'T FIT  it is 3.05 GiB short"),
        (Verdict.UNKNOWN, "can't tell: no weights", " CAN'T TELL  no weights"),
    ],
)
def test_the_verdict_is_a_word(verdict: Verdict, reason: str, shown: str) -> None:
    assert plain(verdict_lines(replace(FITS, verdict=verdict, reason=reason), 80, UNICODE))[0] == shown


def test_what_would_fit_in_columns_where_they_have_room() -> None:
    title, first, _, third = plain(change_lines(EXCEEDS.changes, 118, UNICODE))
    assert title == "What would fit"
    assert first == "1  max-running-requests 8     173k tokens, 8 requests   costs 40 of 48 requests"
    assert third == "3  SGLang 0.5.13 or later     168k tokens, 6 requests   costs an upgrade of SGLang"
    narrow = plain(change_lines(EXCEEDS.changes, 60, UNICODE))
    assert narrow[1:3] == ["1  max-running-requests 8 · 173k tokens, 8 requests · costs", "   40 of 48 requests"]
    assert change_lines((), 118, UNICODE) == []


def test_a_change_that_only_just_starts_says_so() -> None:
    title, line = plain(change_lines(EXCEEDS.changes[3:], 118, UNICODE))
    assert title == "What would start at least"
    assert line.startswith("1  no speculation   barely: 212k tokens, 15 requests   costs the speed")


def test_changes_in_words() -> None:
    change = FlagChange({"a": "1", "b": "true"}, ("c", "d"), "0.5.13", Verdict.FITS, "", "")
    assert describe_change(change) == "a 1 and b and without c, d and SGLang 0.5.13 or later"


def test_free_memory_is_told_up_to_where_it_ends() -> None:
    points = (
        *timeline(("start", 94.3, Stage.WEIGHTS), ("pools", -3.1, Stage.POOL), ("draft graphs", -9, Stage.GRAPH)),
    )
    assert plain(timeline_lines(points, 80, UNICODE)) == ["GiB free after  start 94.3 · ✗ pools -3.1"]
    assert plain(timeline_lines(points, 80, ASCII)) == ["GiB free after  start 94.3 - ! pools -3.1"]


def test_why_there_is_no_plan_and_what_to_do() -> None:
    answer = BudgetAnswer(QUESTION, None, Trouble("nobody/x isn't in the Hugging Face cache", "`hf download nobody/x`"))
    assert plain(budget_lines(answer, 80, 20, UNICODE)) == [
        " CAN'T TELL  nobody/x isn't in the Hugging Face cache",
        "· `hf download nobody/x`",
    ]


def test_text_from_outside_stays_text() -> None:
    hostile = replace(FITS, reason="[bold]\x1b[31m\n[/x] 漢字", notes=("\x07[link=x]",), warnings=("\u202e",))
    text = "\n".join(plain(lines_of(hostile, 80)))
    assert r"[bold]\x1b[31m [/x] 漢字" in text
    assert all(character.isprintable() or character == "\n" for character in text)


_TEXTS = st.text(st.sampled_from("ab 1.2,\u202f漢"), max_size=60)


@settings(max_examples=100, deadline=None)
@given(_TEXTS, st.integers(6, 40))
def test_wrapping_keeps_the_words_and_cutting_keeps_their_ends(text: str, width: int) -> None:
    lines = wrapped(text, width, UNICODE)
    assert all(cell_len(line) <= width for line in lines)
    words = [word.replace("\u202f", " ") for word in text.split(" ") if word]
    if all(cell_len(word) <= width for word in words):
        assert " ".join(lines).split() == " ".join(words).split()
    short = cut(text, width, UNICODE)
    assert cell_len(short) <= width
    kept = short.removesuffix("…")
    assert " ".join(text.split()).startswith(" ".join(kept.split()))


def test_numbers_and_their_units_are_never_parted() -> None:
    text = "the pool of 173294 tokens has 24.48 GiB, and no more"
    assert cut(text, 20, UNICODE) == "the pool of…"
    assert cut(text, 28, UNICODE) == "the pool of 173 294 tokens…"
    assert wrapped(text, 20, UNICODE) == ["the pool of", "173 294 tokens has", "24.48 GiB, and no", "more"]
