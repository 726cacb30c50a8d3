"""Where a launch is, and what ended it: the tables were written by hand from reading the recorded logs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.logs import REAL_LOGS, read_log
from tests.support.stages import FIRED_UP, FRAME, MAIN_FRAME, ORPHAN, PLAIN, SHARDS, follow, stamp
from tui.diagnosis.progress import Progress, Stage
from tui.diagnosis.stages import StageTracker
from tui.sglang.log_rules import STARTS

LOADED = ["import", "distributed init", "weight load", "memory pool", "warmup"]
READY = [*LOADED, "ready"]
STOPPED_IDLE = [*READY, "shutdown"]
STOPPED_AFTER_WORK = [*READY, "runtime", "shutdown"]
FAILED_AT_WORK = [*READY, "runtime"]

NOT_ENOUGH = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
NOT_ENOUGH_0523 = (
    "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=1e-05. Raise "
    "--mem-fraction-static above 0.004 (minimum viable = 1 - available/pre = 0.0031). If using speculative decoding, "
    "draft weights are now counted."
)
NO_HUB = (
    "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached "
    "files."
)
NO_PROCESSOR = "OSError: Can't load image processor for 'model/q35'. If you were trying to load it from"
NO_GPU = "RuntimeError: No accelerator (CUDA, XPU, HPU, NPU, MUSA, MPS) is available."
STAND_IN = "RuntimeError: sgl_kernel.mamba.causal_conv1d_fn_cpu: the kernel package is a stand-in here"
BIND = "[Errno 98] error while attempting to bind on address ('127.0.0.1', "
BAD_FLAG = "sglang serve: error: unrecognized arguments: --no-such-flag 3"
BAD_VALUE = "sglang serve: error: argument --mem-fraction-static: invalid float value: 'abc'"
BAD_CHOICE = "sglang serve: error: argument --attention-backend: invalid choice: 'nosuch' (choose from 'triton', "

# release/name: the stages after "args" in the order they are entered, and how the exception begins
EXPECTED: dict[str, tuple[list[str], str | None]] = {
    "0.5.6.post2/solo": (READY, None),
    "0.5.6.post2/term": (STOPPED_AFTER_WORK, None),
    "0.5.11/badflag": ([], BAD_FLAG),
    "0.5.11/badvalue": ([], BAD_VALUE),
    "0.5.11/clean": (STOPPED_IDLE, None),
    "0.5.11/hugekv": (STOPPED_IDLE, None),
    "0.5.11/int": (STOPPED_IDLE, None),
    "0.5.11/kill": (READY, None),
    "0.5.11/killdetok": (READY, None),
    "0.5.11/killsched": (READY, None),
    "0.5.11/killstart": (LOADED, ORPHAN),
    "0.5.11/llama": (STOPPED_IDLE, None),
    "0.5.11/mamba-mrr48": (FAILED_AT_WORK, STAND_IN),
    "0.5.11/mamba-q35": (["import"], NO_PROCESSOR),
    "0.5.11/mamba-q3next": (FAILED_AT_WORK, STAND_IN),
    "0.5.11/nogpu": ([], NO_GPU),
    "0.5.11/nomodel": ([], NO_HUB),
    "0.5.11/notenough": (["import", "distributed init", "weight load", "memory pool"], NOT_ENOUGH),
    "0.5.11/portinuse": (LOADED, BIND + "31011): address already in use"),
    "0.5.11/portinuse-bysglang": (LOADED, BIND + "31051): address already in use"),  # "fired up" is the other server
    "0.5.11/portinuse-long": (LOADED, BIND + "31031): address already in use"),
    "0.5.11/term": (STOPPED_AFTER_WORK, None),  # with the traceback of a request that failed
    "0.5.11/termgrp": (STOPPED_IDLE, None),
    "0.5.11/termload": (STOPPED_AFTER_WORK, None),
    "0.5.11/termstart": (LOADED, ORPHAN),
    "0.5.11/tp2": (STOPPED_IDLE, None),
    "0.5.23/badchoice": ([], BAD_CHOICE),
    "0.5.23/badflag": ([], BAD_FLAG),
    "0.5.23/badvalue": ([], BAD_VALUE),
    "0.5.23/hugekv": (STOPPED_IDLE, None),
    "0.5.23/int": (STOPPED_IDLE, None),
    "0.5.23/kill": (READY, None),
    "0.5.23/killsched": (READY, None),
    "0.5.23/killstart": (LOADED, ORPHAN),
    "0.5.23/llama": (STOPPED_IDLE, None),  # ends in a KeyboardInterrupt's traceback, after "Shutting down"
    "0.5.23/mamba-q35": (["import"], NO_PROCESSOR),
    "0.5.23/mamba-q3next": (FAILED_AT_WORK, STAND_IN),  # after four tracebacks that it lived through
    "0.5.23/nomodel": ([], NO_HUB),
    "0.5.23/notenough": (["import", "distributed init", "weight load", "memory pool"], NOT_ENOUGH_0523),
    "0.5.23/portinuse": (LOADED, BIND + "31013): address already in use"),
    "0.5.23/portinuse-bysglang": (LOADED, ORPHAN),
    "0.5.23/portinuse-long": (LOADED, BIND + "31101): address already in use"),
    "0.5.23/solo": (STOPPED_IDLE, None),
    "0.5.23/term": (STOPPED_AFTER_WORK, None),
    "0.5.23/termgrp": (STOPPED_IDLE, None),
    "0.5.23/termload": (STOPPED_AFTER_WORK, None),
    "0.5.23/termstart": (LOADED, ORPHAN),
    "0.5.23/tp2": (STOPPED_IDLE, None),
}


def stages_of(lines: list[str]) -> list[Stage]:
    """Each stage once, when it is entered."""
    tracker, stages = StageTracker(), [Stage.ARGS]
    for line in lines:
        tracker.feed(line)
        if tracker.progress.stage is not stages[-1]:
            stages.append(tracker.progress.stage)
    return stages


# --- recorded logs


def test_every_recorded_log_is_in_the_table() -> None:
    assert {f"{path.parent.name}/{path.stem}" for path in REAL_LOGS} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_stages_and_exception_of_a_real_launch(name: str) -> None:
    stages, exception = EXPECTED[name]
    lines = read_log(f"real/{name}.log")
    assert stages_of(lines) == ["args", *stages]
    found = follow(*lines).exception
    assert (found is None) == (exception is None), found
    assert exception is None or (found or "").startswith(exception)


def test_the_time_a_stage_began_is_its_first_line_s() -> None:
    lines = read_log("real/0.5.11/term.log")
    began = {follow(*lines[:end]).progress.stage: follow(*lines[:end]).progress.since for end in range(len(lines))}
    assert began == {
        Stage.ARGS: None,
        Stage.IMPORT: stamp("2026-11-29 16:48:45"),
        Stage.DISTRIBUTED_INIT: stamp("2026-11-29 16:49:07"),
        Stage.WEIGHT_LOAD: stamp("2026-11-29 16:49:08"),
        Stage.MEMORY_POOL: stamp("2026-11-29 16:49:08"),
        Stage.WARMUP: stamp("2026-11-29 16:49:08"),
        Stage.READY: stamp("2026-11-29 16:49:10"),
        Stage.RUNTIME: stamp("2026-11-29 16:49:14"),  # the first request; before it only /health asked
        Stage.SHUTDOWN: stamp("2026-11-29 16:49:24"),
    }


def test_a_failed_request_s_traceback_is_no_exception_while_it_is_read() -> None:
    tracker = StageTracker()
    for line in read_log("real/0.5.11/term.log"):
        tracker.feed(line)
        assert tracker.exception is None, line


def test_tracebacks_lived_through_are_no_exception_while_they_are_read() -> None:
    tracker = StageTracker()
    for line in read_log("real/0.5.23/mamba-q3next.log")[:125]:  # up to "Scheduler hit an exception"
        tracker.feed(line)
        assert tracker.exception is None, line
    assert tracker.progress.stage is Stage.RUNTIME


def test_two_ranks_are_where_the_slower_one_is() -> None:
    lines = read_log("real/0.5.23/tp2.log")
    # TP0 has its weights (line 58) before TP1 begins to load (line 61)
    assert follow(*lines[:60]).progress.stage is Stage.DISTRIBUTED_INIT
    assert follow(*lines[:61]).progress == Progress(Stage.WEIGHT_LOAD, since=stamp("2026-11-29 17:18:22"))
    assert follow(*lines[:62]).progress.stage is Stage.MEMORY_POOL


def test_a_healthy_log_full_of_scary_words() -> None:
    lines = read_log("synthetic/healthy-full-of-scary-words.log")
    assert stages_of(lines) == [
        "args",
        "import",
        "distributed init",
        "weight load",
        "memory pool",
        "cuda graph capture",
        "warmup",
        "ready",
        "runtime",
    ]
    tracker = StageTracker()
    for line in lines:
        tracker.feed(line)
        assert tracker.exception is None, line


# --- bars


LOADING = "[2026-11-29 17:00:01] Load weight begin. avail mem=90.00 GB"
CAPTURE = "Capturing batches (bs=8 avail_mem=3.10 GB):  25%|██▌       | 6/24 [00:01<00:04,  4.11it/s]"


def test_shards_are_counted() -> None:
    since = stamp("2026-11-29 17:00:01")
    tracker = follow(LOADING, "\r" + SHARDS.format(1))
    assert tracker.progress == Progress(Stage.WEIGHT_LOAD, 1, 3, since)
    tracker.feed("\r" + SHARDS.format(1) + "\r" + SHARDS.format(2))
    assert tracker.progress == Progress(Stage.WEIGHT_LOAD, 2, 3, since)


def test_the_count_ends_with_its_stage() -> None:
    end = "[2026-11-29 17:00:09] Load weight end. elapsed=8.0 s, type=M, avail mem=40.00 GB, mem usage=50.00 GB."
    tracker = follow(LOADING, SHARDS.format(3) + end)
    assert tracker.progress == Progress(Stage.MEMORY_POOL, since=stamp("2026-11-29 17:00:09"))


def test_graph_batch_sizes_are_counted() -> None:
    begin = "[2026-11-29 17:00:10 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=9.80 GB"
    assert follow(begin, CAPTURE).progress == Progress(Stage.CUDA_GRAPH_CAPTURE, 6, 24, stamp("2026-11-29 17:00:10"))


def test_downloading_is_a_stage_within_the_load() -> None:
    fetching = "Fetching 17 files:  12%|█▏        | 2/17 [00:01<00:08,  1.75it/s]"
    assert stages_of([LOADING, fetching, SHARDS.format(0)]) == ["args", "weight load", "download", "weight load"]
    assert follow(fetching).progress == Progress(Stage.DOWNLOAD, 2, 17)


def test_with_a_quiet_log_level_the_bars_alone_tell() -> None:
    assert stages_of([SHARDS.format(1), CAPTURE, SHARDS.format(1)]) == [
        "args",
        "weight load",
        "cuda graph capture",
        "weight load",
    ]


def test_a_bar_doesn_t_move_ranks_that_say_where_they_are() -> None:
    tracker = follow(
        LOADING.replace("]", " TP0]"),
        "[2026-11-29 17:00:01 TP1] Init torch distributed begin.",
        SHARDS.format(1),
    )
    assert tracker.progress.stage is Stage.DISTRIBUTED_INIT
    assert follow("[2026-11-29 17:00:01] The server is fired up and ready to roll!", CAPTURE).progress.done is None


# --- ranks and drafts


def rank_line(rank: int, message: str) -> str:
    return f"[2026-11-29 17:00:00 TP{rank}] {message}"


BEGIN = "Load weight begin. avail mem=90.00 GB"
END = "Load weight end. elapsed=8.0 s, type=M, avail mem=40.00 GB, mem usage=50.00 GB."
POOL = "Memory pool end. avail mem=9.00 GB"
GRAPH = "Capture cuda graph begin. This can take up to several minutes. avail mem=9.00 GB"


def test_a_draft_model_goes_through_the_stages_again() -> None:
    lines = [rank_line(0, message) for message in (BEGIN, END, POOL, GRAPH, BEGIN, END, POOL)]
    assert stages_of(lines)[1:] == [
        "weight load",
        "memory pool",
        "cuda graph capture",
        "weight load",
        "memory pool",
    ]


def test_a_rank_at_its_draft_is_ahead_of_one_at_the_target_s_graphs() -> None:
    both = [rank_line(rank, message) for message in (BEGIN, END, POOL, GRAPH) for rank in (0, 1)]
    assert follow(*both, rank_line(0, BEGIN)).progress.stage is Stage.CUDA_GRAPH_CAPTURE
    assert follow(*both, rank_line(0, BEGIN), rank_line(1, BEGIN)).progress.stage is Stage.WEIGHT_LOAD


def test_real_fragment_lines_of_many_ranks() -> None:
    tracker = follow("[2026-05-07 13:39:10 DP0 TP0 EP0] Load weight begin. avail mem=138.29 GB")
    tracker.feed("[2026-05-07 13:39:10 DP1 TP1 EP1] Load weight begin. avail mem=138.29 GB")
    tracker.feed(read_log("fragments/bars.log")[1])  # the bar, and DP1 TP1 EP1 is done
    assert tracker.progress == Progress(Stage.WEIGHT_LOAD, 15, 16, stamp("2026-05-07 13:39:10"))
    tracker.feed("[2026-05-07 13:39:15 DP0 TP0 EP0] " + END)
    assert tracker.progress.stage is Stage.MEMORY_POOL


# --- ready and after

DECODE = "[2026-11-29 17:00:05] Decode batch, #running-req: 1, #token: 26, token usage: 0.01, cuda graph: False"


def test_a_health_probe_isn_t_work_and_a_one_token_reuse_is() -> None:
    prefill = "[2026-11-29 17:00:01] Prefill batch, #new-seq: 1, #new-token: 1, #cached-token: {}, token usage: 0.00"
    assert follow(FIRED_UP, prefill.format(0)).progress.stage is Stage.READY
    assert follow(FIRED_UP, prefill.format(28)).progress.stage is Stage.RUNTIME
    assert follow(FIRED_UP, DECODE).progress.stage is Stage.RUNTIME


def test_the_warm_up_s_batches_aren_t_runtime() -> None:
    assert follow("[2026-11-29 17:00:00] INFO:     Uvicorn running on http://x (Press CTRL+C)", DECODE).progress == (
        Progress(Stage.WARMUP, since=stamp("2026-11-29 17:00:00"))
    )


def test_nothing_leaves_the_shutdown_but_another_launch() -> None:
    ending = follow(FIRED_UP, "[2026-11-29 17:00:02] INFO:     Shutting down", DECODE, FIRED_UP)
    assert ending.progress.stage is Stage.SHUTDOWN
    ending.feed("[2026-11-29 17:05:00] server_args=ServerArgs(model_path='m')")
    assert ending.progress == Progress(Stage.IMPORT, since=stamp("2026-11-29 17:05:00"))


def test_an_echoed_log_moves_nothing() -> None:
    echo = "[2026-11-29 17:00:01] Receive: obj=GenerateReqInput(text='{}')"
    lines = [
        FIRED_UP,
        echo.format("[2026-11-29 17:00:00] SIGTERM received. Draining"),
        echo.format("Traceback (most recent call last):"),
        "SIGTERM received. signum=None",
        "Gracefully exiting... Remaining number of requests 0.",
    ]
    assert stages_of(lines) == ["args", "ready"]
    assert follow(*lines).exception is None


PIECES = st.sampled_from(
    [*STARTS, "[2026-11-29 17:00:00 TP0] ", "[2026-11-29 17:00:00] ", PLAIN, FRAME, MAIN_FRAME, "100%| 3/3 [", "\r"]
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(PIECES | st.text(max_size=8), max_size=4).map("".join), max_size=12))
def test_no_log_breaks_the_tracker_and_line_ends_make_no_difference(lines: list[str]) -> None:
    bare = follow(*lines)
    ended = follow(*(line + "\n" for line in lines))
    assert (bare.progress, bare.exception) == (ended.progress, ended.exception)
