"""Log lines: every expected value was read by eye in the recorded or collected line."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.logs import FIXTURES, REAL_LOGS, read_log
from tui.sglang import log_events as ev
from tui.sglang.log_rules import RULES
from tui.sglang.loglines import LogLine, event_of, parse_event, parse_line, split_line

QUICK = settings(max_examples=100, deadline=None)


def stamp(text: str) -> datetime:
    """The server's local time, which has no zone."""
    return datetime.fromisoformat(text)


def events(name: str) -> list[ev.Event | None]:
    """One entry a thing said: a line of a bar with a stamped line glued to it has two."""
    return [event_of(part) for line in read_log(name) if line for part in split_line(line)]


# --- real lines


def test_the_stamp_of_a_real_line() -> None:
    line = parse_line("[2026-11-29 17:18:21 TP0] Load weight begin. avail mem=18.50 GB\n")
    assert line == LogLine(stamp("2026-11-29 17:18:21"), ("TP0",), "Load weight begin. avail mem=18.50 GB")


def test_what_0_5_11_says_while_it_starts() -> None:
    found = [event for event in events("real/0.5.11/mamba-q3next.log") if event is not None]
    assert found == [
        ev.ServerArgsLogged(as_dict=False),
        ev.DistributedInitBegin(),
        ev.DistributedInitEnd(elapsed_s=0.05, usage_gib=0.0),
        ev.LoadWeightBegin(avail_gib=20.44),
        ev.LoadWeightEnd("Qwen3NextForCausalLM", 20.43, usage_gib=0.01, elapsed_s=0.05, dtype=None, quant=None),
        ev.MambaCache(18669, conv_gib=0.08, ssm_gib=0.85, intermediate_ssm_gib=None, intermediate_conv_gib=None),
        ev.KvCache(4356164, k_gib=0.52, v_gib=0.52, kv_gib=None, dtype=None, label=None),
        ev.MemoryPoolEnd(avail_gib=18.28),
        ev.PoolSummary(4356164, 2048, 16384, 4096, 2048, available_gib=18.28),
        ev.Ready(),
        ev.HttpListening("http://127.0.0.1:31021"),
        ev.ProcessException("Scheduler"),
        ev.SigquitReceived(),
    ]


def test_what_0_5_23_says_while_it_starts() -> None:
    found = [event for event in events("real/0.5.23/killsched.log") if event is not None]
    assert found == [
        ev.ServerArgsLogged(as_dict=True),
        ev.DistributedInitBegin(),
        ev.DistributedInitEnd(elapsed_s=0.02, usage_gib=None),
        ev.MemoryBaseline(usage_gib=0.0),
        ev.LoadWeightBegin(avail_gib=21.44),
        ev.ShardProgress(0, 1),
        ev.ShardProgress(1, 1),
        ev.LoadWeightEnd("Qwen3ForCausalLM", 21.44, usage_gib=0.0, elapsed_s=0.01, dtype=None, quant=None),
        ev.KvCache(4096, k_gib=0.0, v_gib=0.0, kv_gib=None, dtype="torch.bfloat16", label=None),
        ev.MemoryPoolEnd(avail_gib=21.4),
        ev.PoolSummary(4096, 4096, 16384, 2048, 2048, available_gib=21.4),
        ev.HttpListening("http://127.0.0.1:31013"),
        ev.PrefillBatch(1, 28, 0, running=0, queued=0, token_usage=0.01, tokens_per_s=23.15),
        ev.Ready(),
        ev.PrefillBatch(1, 1, 0, running=0, queued=0, token_usage=0.0, tokens_per_s=1.15),
        ev.PrefillBatch(1, 1, 0, running=0, queued=0, token_usage=0.0, tokens_per_s=0.84),
        ev.ChildCrashed("scheduler_0", 882, -9),
        ev.SigquitReceived(),
    ]


def test_what_0_5_6_says_while_it_starts_and_serves() -> None:
    found = [event for event in events("real/0.5.6.post2/term.log") if event is not None]
    assert found[:13] == [
        ev.ServerArgsLogged(as_dict=False),
        ev.DistributedInitBegin(),
        ev.DistributedInitEnd(elapsed_s=None, usage_gib=0.0),
        ev.LoadWeightBegin(avail_gib=18.18),
        ev.ShardProgress(0, 1),
        ev.ShardProgress(1, 1),
        ev.LoadWeightEnd("Qwen3ForCausalLM", 18.17, usage_gib=0.01, elapsed_s=None, dtype="torch.bfloat16", quant=None),
        ev.KvCache(4096, k_gib=0.0, v_gib=0.0, kv_gib=None, dtype=None, label=None),
        ev.MemoryPoolEnd(avail_gib=18.13),
        ev.PoolSummary(4096, 2048, 16384, 2048, 2048, available_gib=18.13),
        ev.HttpListening("http://127.0.0.1:31063"),
        ev.PrefillBatch(1, 28, 0, running=0, queued=0, token_usage=0.0, tokens_per_s=None),
        ev.Ready(),
    ]
    decoding = [event for event in found if isinstance(event, ev.DecodeBatch)]
    assert decoding[:2] == [
        ev.DecodeBatch(1, queued=0, tokens=26, token_usage=0.01, tokens_per_s=1.04, accept_length=None),
        ev.DecodeBatch(1, queued=0, tokens=66, token_usage=0.02, tokens_per_s=24.92, accept_length=None),
    ]
    assert found[-2:] == [ev.Draining(), ev.GracefulExit(remaining=0)]


def test_how_real_servers_end() -> None:
    address = "error while attempting to bind on address ('127.0.0.1', 31031): address already in use"
    assert events("real/0.5.11/portinuse-long.log").count(ev.BindError(f"[Errno 98] {address}")) == 1
    assert ev.WarmupFailed() in events("real/0.5.11/portinuse-long.log")
    assert ev.GracefulExit(remaining=1) in events("real/0.5.23/termload.log")
    assert ev.ChildCrashed("detokenizer", 25218, -9) in events("real/0.5.11/killdetok.log")
    assert ev.HttpShutdown() in events("real/0.5.23/int.log")
    assert events("real/0.5.11/badvalue.log")[-1] == ev.ArgparseError(
        "argument --mem-fraction-static: invalid float value: 'abc'"
    )


LITERALS: dict[str, type[ev.Event]] = {
    "] Load weight begin.": ev.LoadWeightBegin,
    "] Load weight end.": ev.LoadWeightEnd,
    "] KV Cache is allocated.": ev.KvCache,
    "] Mamba Cache is allocated.": ev.MambaCache,
    "] Memory pool end.": ev.MemoryPoolEnd,
    "] max_total_num_tokens=": ev.PoolSummary,
    "] server_args=": ev.ServerArgsLogged,
    "] The server is fired up": ev.Ready,
    "] Prefill batch": ev.PrefillBatch,
    "] Decode batch": ev.DecodeBatch,
    " loading shards:": ev.ShardProgress,
    " checkpoint shards:": ev.ShardProgress,
    "] Gracefully exiting": ev.GracefulExit,
    "] Scheduler hit an exception": ev.ProcessException,
    "sglang serve: error:": ev.ArgparseError,
}


@pytest.mark.parametrize("path", REAL_LOGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_in_every_real_log_each_such_line_is_understood_and_no_other(path: Path) -> None:
    for line in read_log(str(path.relative_to(FIXTURES))):
        event = event_of(parse_line(line))
        expected = next((kind for literal, kind in LITERALS.items() if literal in line[:120]), None)
        if expected is not None:
            assert isinstance(event, expected), line[:200]
        elif event is not None:
            assert not isinstance(event, tuple(LITERALS.values())), line[:200]


# --- collected lines of servers on GPUs


def test_ranks_stamps_and_outer_prefixes() -> None:
    lines = [parse_line(line) for line in read_log("fragments/prefixes.log") if line]
    assert [line.ranks for line in lines] == [
        ("TP0",),
        ("TP0",),
        ("TP0",),
        ("TP0",),
        (),
        ("TP0", "EP0"),
        ("DP0", "TP0", "EP0"),
        ("PP1", "TP1"),
        ("DP7", "TP7"),
        (),
        (),
        ("TP0",),
        ("TP0",),
        (),
        (),
    ]
    unstamped = [index for index, line in enumerate(lines) if line.timestamp is None]
    assert unstamped == [9, 10, 13, 14]
    assert lines[11].timestamp == stamp("2026-06-10 03:00:21.123")
    assert lines[12].timestamp == stamp("2025-02-04 05:29:17")
    assert lines[13].message.startswith("Exception: Capture cuda graph failed: CUDA out of memory.")
    assert lines[14].message == "#Input tokens: 1972"


def test_events_behind_all_those_prefixes() -> None:
    assert events("fragments/prefixes.log") == [
        ev.LoadWeightEnd("LlamaForCausalLM", 63.72, None, None, "torch.bfloat16", None),
        ev.KvCache(None, 27.13, 27.13, None, None, None),
        ev.PoolSummary(444500, None, 16384, 2049, 131072, None),
        ev.MemoryPoolEnd(3.41),
        ev.MemoryPoolEnd(25.26),
        ev.GraphCaptureEnd("cuda", 26.07, 6.37, 22.72),
        ev.KvCache(1029388, 47.12, 47.12, None, None, None),
        ev.LoadWeightEnd("Qwen3ForCausalLM", 76.05, 2.33, 6.21, "torch.bfloat16", None),
        None,
        None,
        None,
        ev.MemoryPoolEnd(3.41),
        ev.MemoryPoolEnd(1.68),
        None,
        None,
    ]


def test_pools_of_hybrid_sliding_window_mla_and_draft_models() -> None:
    messages = [parse_line(line).message for line in read_log("fragments/pools.log") if line]
    assert [parse_event(message) for message in messages] == [
        ev.MambaCache(186, 0.10, 4.38, None, None),
        ev.KvCache(327310, 2.50, 2.50, None, None, None),
        ev.MemoryPoolEnd(4.49),
        ev.MambaCache(48, 0.10, 2.58, 1.05, 0.02),
        ev.KvCache(240128, 1.37, 1.37, None, "torch.float8_e4m3fn", None),
        ev.SlidingWindowPools(24248, 19398),
        ev.KvCache(19398, 3.70, 3.70, None, None, None),
        ev.KvCache(24248, 0.46, 0.46, None, None, None),
        ev.SwaKvPool(8.33, 19398, 24248),
        ev.KvCache(383872, None, None, 19.36, None, None),
        ev.KvCache(1669816, 76.44, 76.44, None, "torch.bfloat16", None),
        None,
        ev.LoadWeightEnd(
            "Qwen4ExpForConditionalGeneration", 29.01, 82.97, 787.55, None, "modelopt_fp4, quant_algo=NVFP4"
        ),
        ev.LoadWeightBegin(28.81),
        ev.LoadWeightEnd("Qwen4ExpForCausalLMMTP", 30.67, -1.86, 94.49, None, "modelopt_fp4, quant_algo=NVFP4"),
    ]


def test_graph_captures_in_every_release_s_words() -> None:
    assert events("fragments/graphs.log") == [
        ev.GraphCaptureEnd("cuda", 7.23, 0.93, 0.53),
        ev.GraphCaptureEnd("cuda", 4.86, 0.26, 3.79),
        ev.GraphCaptureBegin("piecewise cuda", 0.08),
        ev.GraphCaptureBegin("target prefill cuda", 12.59),
        ev.GraphCaptureEnd("target decode cuda", 12.26, 0.34, 10.54),
        ev.GraphCaptureBegin("target verify cuda", 26.27),
        ev.GraphCaptureEnd("npu", 8.04, 0.80, 10.30),
        ev.GraphCaptureEnd("cuda", 1.95, -5.29, 7.20),
        ev.PoolSummary(392920, 8192, 16384, 4096, 40960, 10.54),
        ev.HttpListening("socket ('127.0.0.1', 32648)"),
    ]


def test_bars_redrawn_and_with_other_lines_glued_to_them() -> None:
    assert events("fragments/bars.log") == [
        ev.ShardProgress(2, 14),
        ev.ShardProgress(15, 16),
        ev.LoadWeightEnd("Qwen3MoeForCausalLM", 121.90, 16.39, 5.05, None, None),
        ev.GraphProgress(0, 7, size=24, avail_gib=4.0),
        ev.GraphProgress(74, 74, size=4, avail_gib=21.24),
        None,
        ev.GraphCaptureBegin("cuda", 1.45),
        None,
        ev.PrefillBatch(1, 1, 0, running=0, queued=None, token_usage=0.0, tokens_per_s=None),
    ]
    glued = parse_line(read_log("fragments/bars.log")[1])
    assert (glued.timestamp, glued.ranks) == (stamp("2026-05-07 13:39:14"), ("DP1", "TP1", "EP1"))


def test_other_programs_lines_say_nothing_and_are_kept_whole() -> None:
    assert set(events("fragments/unstamped.log")) == {None}
    jit = "2025-05-02 16:14:33,560 - INFO - flashinfer.jit: Prebuilt kernels not found, using JIT backend"
    assert jit in read_log("fragments/unstamped.log")
    assert parse_line(jit).message == jit


@pytest.mark.parametrize(
    ("message", "event"),
    [  # as the sources of 0.5.11 and 0.5.23 format them; no recorded log has them
        ("SWA KV Cache is allocated. dtype: torch.bfloat16, #tokens: 8, K size: 0.10 GB, V size: 0.20 GB", "SWA"),
        ("Full KV Cache is allocated. dtype: torch.bfloat16, #tokens: 8, K size: 0.10 GB, V size: 0.20 GB", "Full"),
        (
            "MiniMax M3 index KV Cache is allocated. dtype: torch.uint8, #tokens: 8, K size: 1.00 GB, V size: 2.00 GB",
            "MiniMax M3 index",
        ),
        (
            "Post-capture KV sizing: draft KV cache allocated. dtype: torch.bfloat16, #tokens: 8, KV size: 1.00 GB",
            "draft",
        ),
    ],
)
def test_the_pool_s_label(message: str, event: str) -> None:
    found = parse_event(message)
    assert isinstance(found, ev.KvCache)
    assert (found.label, found.tokens) == (event, 8)


FURTHER: list[tuple[str, ev.Event]] = [
    (
        "Capture draft extend cuda graph begin (step 2). This can take up to several minutes. avail mem=3.10 GB",
        ev.GraphCaptureBegin("draft extend cuda", 3.10),
    ),
    ("Capture Frozen-KV MTP draft cuda graph begin.", ev.GraphCaptureBegin("frozen-kv mtp draft cuda", None)),
    (
        "Capturing prefill shape (num_tokens=64 avail_mem=7.20 GB):  50%|█████     | 3/6 [00:01<00:01,  2.1it/s]",
        ev.GraphProgress(3, 6, 64, 7.20),
    ),
    (
        "Compiling num tokens (num_tokens=64):  50%|█████     | 3/6 [00:01<00:01,  2.1it/s]",
        ev.GraphProgress(3, 6, 64, None),
    ),
    ("Fetching 17 files:  12%|█▏        | 2/17 [00:01<00:08,  1.75it/s]", ev.FetchProgress(2, 17)),
    (
        (
            "Decode batch [40], #running-req: 3, #full token: 900, full token usage: 0.31, mamba num: 4, "
            "mamba usage: 0.02, accept len: 2.75, accept rate: 0.69, cuda graph: True, "
            "gen throughput (token/s): 201.70, #queue-req: 7"
        ),
        ev.DecodeBatch(3, 7, 900, 0.31, 201.70, 2.75, slot_usage=0.02),
    ),
    ("Init torch distributed ends. elapsed=1.31 s, mem usage=0.39 GB", ev.DistributedInitEnd(1.31, 0.39)),
    ("launch_server.py: error: unrecognized arguments: --x", ev.ArgparseError("unrecognized arguments: --x")),
    ("SIGTERM received on node_rank 1; stopping", ev.Draining()),
]


@pytest.mark.parametrize(("message", "event"), FURTHER)
def test_further_words_of_the_sources(message: str, event: ev.Event) -> None:
    assert parse_event(message) == event


@pytest.mark.parametrize(
    "message",
    [
        "Load weight end. Committed real weights after CUDA graph capture in 3.10 s (capture overlap window 1.00 s)",
        "KV Cache VA upper bound. dtype: torch.bfloat16, #tokens: 8, K size: 9.00 GB, V size: 9.00 GB",
        "Capture cuda graph bs [1, 2, 4, 8]",
        "max_total_tokens=400000000 is larger than the profiled value 4525898. Use the profiled value instead.",
        "Subprocess",
        "Scheduler hit an exception",
    ],
)
def test_what_only_looks_like_it(message: str) -> None:
    assert parse_event(message) is None


# --- echoes


@pytest.mark.parametrize(
    "line",
    [
        "Memory pool end. avail mem=3.40 GB",
        "The server is fired up and ready to roll!",
        "[2026-11-29 17:00:00] Receive: obj=G(text='\\n[2026-11-29 17:00:00] Memory pool end. avail mem=3.4 GB')",
        "[2026-11-29 17:00:00] Receive: \r[2026-11-29 17:00:00] The server is fired up and ready to roll!",
        "[2026-11-29 17:00:00] Fetching 17 files:  12%|█▏  | 2/17 [00:01<00:08,  1.75it/s]",
        "explain this: [2026-11-29 17:00:00] The server is fired up and ready to roll!",
        "'text':[2026-11-29 17:00:00] The server is fired up and ready to roll!",
        "[2026-11-29 17:00:00] sglang serve: error: unrecognized arguments: --x",
        "[2026-13-45 17:00:00] The server is fired up and ready to roll!",
    ],
)
def test_an_echo_is_no_event(line: str) -> None:
    assert [event_of(part) for part in split_line(line)] == [None]


def test_a_hole_of_nul_bytes_before_a_line_is_skipped() -> None:
    line = parse_line("\0" * 4096 + "[2026-11-29 17:00:00] Memory pool end. avail mem=3.41 GB")
    assert event_of(line) == ev.MemoryPoolEnd(3.41)


def test_every_rule_s_beginning_is_part_of_its_pattern() -> None:
    for rule in RULES:
        assert rule.pattern.match("") is None, rule.start
