"""The last minute of a log, by lines that real servers wrote and by those that their sources would write."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tui.metrics.batch_lines import BatchLog, _worth_parsing
from tui.metrics.live import Figures

REAL = Path(__file__).parents[1] / "fixtures" / "real"
START = datetime(2026, 11, 30, 1, 0, 0)  # noqa: DTZ001 - logs hold local times


def stamp(seconds: float, ranks: str = "") -> str:
    return f"[{START + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S}{ranks}] "


def write(path: Path, *lines: str) -> Path:
    log = path / "server.log"
    log.write_text("".join(f"{line}\n" for line in lines))
    return log


def read(log: Path, later_s: float = 0.0) -> Figures:
    return BatchLog(log).read(log.stat().st_mtime + later_s).figures


HYBRID = (
    "Decode batch, #running-req: 6, #full token: 900, full token usage: 0.31, mamba num: 30, mamba usage: 0.46, "
    "accept len: 2.75, accept rate: 0.69, cuda graph: True, gen throughput (token/s): 412.70, #queue-req: 2"
)
PREFILL = (
    "Prefill batch, #new-seq: 2, #new-token: 30, #cached-token: 70, token usage: 0.05, #running-req: 4, #queue-req: 1"
)


def test_a_hybrid_model_with_drafts(tmp_path: Path) -> None:
    expected = Figures(running=6, queued=2, tokens_per_s=412.7, kv_usage=0.31, slot_usage=0.46, accept_length=2.75)
    assert read(write(tmp_path, stamp(0) + HYBRID)) == expected


def test_a_prefill_says_who_was_running_before_it(tmp_path: Path) -> None:
    figures = read(write(tmp_path, stamp(0) + HYBRID, stamp(2) + PREFILL))
    assert (figures.running, figures.queued, figures.tokens_per_s, figures.cache_hit_rate) == (6, 1, 412.7, 0.7)


def test_what_a_prefill_began_and_nothing_was_logged_of_since_has_ended(tmp_path: Path) -> None:
    """40 steps that nobody needed: the real server logs a request's 29 tokens of prompt, and no more of it."""
    line = stamp(0) + "Prefill batch, #new-seq: 1, #new-token: 29, #cached-token: 0, token usage: 0.01, "
    log = write(tmp_path, line + "#running-req: 0, #queue-req: 0")
    assert read(log, 15).running == 1
    assert read(log, 16).running == 0


def test_replicas_add_up_and_pipeline_stages_dont(tmp_path: Path) -> None:
    lines = [
        f"{stamp(0, f' DP{dp} PP{pp}')}Decode batch, #running-req: {running}, #token: 10, token usage: 0.{running}0, "
        f"gen throughput (token/s): 10.00, #queue-req: {dp}"
        for dp, running in ((0, 3), (1, 5))
        for pp in (0, 1)
    ]
    figures = read(write(tmp_path, *lines))
    assert (figures.running, figures.queued, figures.tokens_per_s, figures.kv_usage) == (8, 1, 20.0, 0.5)


def test_what_is_older_than_a_minute_isnt_told(tmp_path: Path) -> None:
    log = write(tmp_path, stamp(0) + HYBRID)
    assert read(log, 59).running == 6
    assert read(log, 61) == Figures()
    later = write(tmp_path, stamp(0) + HYBRID, stamp(100) + 'INFO:     1.2.3.4:5 - "GET /model_info HTTP/1.1" 200 OK')
    assert read(later) == Figures()
    assert BatchLog(later).read(later.stat().st_mtime).last_batch_s == 100


def test_retractions_of_the_last_minute(tmp_path: Path) -> None:
    words = (
        "KV cache pool is full. Retract requests. #retracted_reqs: {}, #new_tokens_gained: 2048, #new_token_ratio: 0.7"
    )
    log = write(tmp_path, *(stamp(at) + words.format(count) for at, count in ((0, 4), (70, 1), (100, 2))))
    assert BatchLog(log).read(log.stat().st_mtime).retractions == 3


def test_a_prompt_that_quotes_a_log_isnt_believed(tmp_path: Path) -> None:
    assert read(write(tmp_path, stamp(0) + "INFO:     hello", f"Receive: text='{HYBRID}'", HYBRID)) == Figures()


def test_a_line_that_is_being_written_waits_for_its_end(tmp_path: Path) -> None:
    log = write(tmp_path, stamp(0) + HYBRID)
    with log.open("a") as file:
        file.write(stamp(1) + "Decode batch, #running-req: 9")
    assert read(log).running == 6


def append(log: Path, *lines: str) -> None:
    with log.open("a") as file:
        file.writelines(f"{line}\n" for line in lines)


def test_what_is_appended_joins_what_was_read_before(tmp_path: Path) -> None:
    log = write(tmp_path, stamp(0) + PREFILL, stamp(1) + HYBRID)
    batches = BatchLog(log)
    now = log.stat().st_mtime
    assert batches.read(now).figures.cache_hit_rate == 0.7
    append(log, stamp(30) + PREFILL.replace("#cached-token: 70", "#cached-token: 170"))
    figures = batches.read(log.stat().st_mtime).figures
    assert figures.cache_hit_rate == pytest.approx(240 / 300)
    assert figures.tokens_per_s == 412.7
    append(log, stamp(75) + HYBRID.replace("412.70", "99.00"))
    later = batches.read(log.stat().st_mtime)
    assert later.figures.cache_hit_rate == pytest.approx(170 / 200)
    assert later.figures.tokens_per_s == 99.0


def test_of_many_batches_at_once_all_prompts_count_and_of_each_rank_the_newest_decode_batch(tmp_path: Path) -> None:
    """Equal lines are two events; a line that quotes a batch takes no other's place."""
    lines = []
    for number in range(50):
        lines += [
            stamp(1) + PREFILL,
            stamp(1, " DP0") + HYBRID.replace("412.70", f"{100 + number}.00"),
            stamp(1, " DP1") + HYBRID.replace("412.70", f"{200 + number}.00"),
            stamp(1, " DP1") + "INFO:     somebody wrote 'Decode batch, #running-req: 1'",
        ]
    quoting = stamp(1, " DP0") + "Receive: text='] Decode batch, #running-req: 1'"
    told = BatchLog(log := write(tmp_path, *lines, quoting)).read((tmp_path / "server.log").stat().st_mtime)
    assert told.figures.tokens_per_s == 149 + 249
    assert told.figures.cache_hit_rate == 0.7
    append(log, *[stamp(2) + PREFILL.replace("#cached-token: 70", "#cached-token: 0")] * 50)
    assert read(log).cache_hit_rate == pytest.approx(70 / 130)


def test_a_half_written_line_counts_once_it_is_whole(tmp_path: Path) -> None:
    log = write(tmp_path, stamp(0) + HYBRID)
    batches = BatchLog(log)
    half, rest = (stamp(1) + HYBRID.replace("#running-req: 6", "#running-req: 9")).split(" usage", 1)
    with log.open("a") as file:
        file.write(half)
    assert batches.read(log.stat().st_mtime).figures.running == 6
    append(log, " usage" + rest)
    assert batches.read(log.stat().st_mtime).figures.running == 9


def test_a_log_that_was_truncated_is_read_anew(tmp_path: Path) -> None:
    log = write(tmp_path, stamp(0) + HYBRID, stamp(1) + HYBRID)
    batches = BatchLog(log)
    assert batches.read(log.stat().st_mtime).figures.running == 6
    write(tmp_path, stamp(2) + PREFILL)
    assert batches.read(log.stat().st_mtime).figures == read(log)
    write(tmp_path)
    assert batches.read(log.stat().st_mtime).figures == Figures()


def test_of_a_log_that_grew_by_more_than_a_look_the_end_counts(tmp_path: Path) -> None:
    log = write(tmp_path, stamp(0) + HYBRID)
    batches = BatchLog(log)
    assert batches.read(log.stat().st_mtime).figures.running == 6
    append(log, *[stamp(1) + "x" * 1000] * 5000, stamp(2) + HYBRID.replace("#running-req: 6", "#running-req: 7"))
    assert batches.read(log.stat().st_mtime).figures.running == 7
    append(log, stamp(3) + HYBRID.replace("#running-req: 6", "#running-req: 8"))
    assert batches.read(log.stat().st_mtime).figures.running == 8


def test_a_line_cut_where_reading_begins_isnt_believed(tmp_path: Path) -> None:
    """The quoted line begins where the end that is read does."""
    quoted = stamp(0) + HYBRID + "\n"
    rest = (stamp(0) + "INFO:     x" * 10 + "\n") * 2000
    end = rest[-((128 << 10) - len(quoted)) :]
    assert len(quoted + end) == 128 << 10
    log = tmp_path / "server.log"
    log.write_text("Receive: text='" + quoted + end)
    assert read(log) == Figures()


def test_only_the_end_of_a_long_log_is_read(tmp_path: Path) -> None:
    filler = [stamp(0) + "INFO:     x" * 100] * 2000
    log = write(tmp_path, stamp(0) + HYBRID, *filler, stamp(0) + HYBRID.replace("#running-req: 6", "#running-req: 7"))
    assert read(log).running == 7


@pytest.mark.parametrize("release", ["0.5.6.post2", "0.5.11", "0.5.23"])
def test_what_real_servers_logged(release: str, tmp_path: Path) -> None:
    lines = (REAL / release / "term.log").read_text(errors="replace").splitlines()
    last = max(at for at, line in enumerate(lines) if "] Decode batch" in line)
    figures = read(write(tmp_path, *lines[: last + 1]))
    assert figures.running == 1
    assert figures.queued == 0
    assert figures.kv_usage is not None
    assert figures.tokens_per_s
    assert f"gen throughput (token/s): {figures.tokens_per_s:.2f}" in lines[last]


def test_no_log_says_nothing(tmp_path: Path) -> None:
    assert BatchLog(tmp_path / "server.log").read(0).figures == Figures()
    assert read(write(tmp_path)) == Figures()


def test_of_a_flood_little_is_parsed_and_nothing_old_is_kept(tmp_path: Path) -> None:
    flood = [(stamp(1, " DP0") + HYBRID).encode()] * 2000
    assert list(_worth_parsing([*flood, (stamp(1) + PREFILL).encode()])) == [flood[0], (stamp(1) + PREFILL).encode()]
    batches = BatchLog(log := write(tmp_path, *(stamp(at) + PREFILL for at in range(0, 600, 10))))
    batches.read(log.stat().st_mtime)
    assert len(batches._told) == 7, "those of the last minute"
