"""The lines of SGLang's log that say something, as a table: how the message begins, its pattern, what it becomes.

The formats were read in the packages 0.5.6.post2, 0.5.11 and 0.5.23 (older ones in public logs) and are checked against
recorded logs. Every pattern is anchored and bounded, so that a message of any length costs little.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from tui.sglang.log_events import (
    ArgparseError,
    BindError,
    ChildCrashed,
    DecodeBatch,
    DistributedInitBegin,
    DistributedInitEnd,
    Draining,
    Event,
    FetchProgress,
    GracefulExit,
    GraphCaptureBegin,
    GraphCaptureEnd,
    GraphProgress,
    HttpListening,
    HttpShutdown,
    KvCache,
    LoadWeightBegin,
    LoadWeightEnd,
    MambaCache,
    MemoryBaseline,
    MemoryPoolEnd,
    PoolSummary,
    PrefillBatch,
    ProcessException,
    Ready,
    ServerArgsLogged,
    ShardProgress,
    SigquitReceived,
    SlidingWindowPools,
    SwaKvPool,
    WarmupFailed,
)

Match = re.Match[str]
Builder = Callable[[Match], Event]


class Rule(Struct, frozen=True):
    """One kind of line.

    Attributes:
        start: what the message begins with; a cheap test before the pattern.
        pattern: matched at the beginning of the message.
        build: makes the event of a match.
    """

    start: str
    pattern: re.Pattern[str]
    build: Builder


_INT = r"\d{1,15}"
_NUM = r"-?\d{1,9}(?:\.\d{1,20})?"
_BAR = rf"\s{{0,8}}\d{{1,3}}%[^\[\]]{{0,300}}\|\s?(?P<done>{_INT})/(?P<total>{_INT}) \["
_KV = (
    rf"(?: dtype: (?P<dtype>[\w.]{{1,60}}),)?(?: #tokens: (?P<tokens>{_INT}),)?"
    rf" (?:K size: (?P<k>{_NUM}) GB, V size: (?P<v>{_NUM}) GB|KV size: (?P<kv>{_NUM}) GB)"
)


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


_AVAIL = _compiled(rf"avail mem=({_NUM}) GB")
_USAGE = _compiled(rf"mem usage=({_NUM}) GB")
_ELAPSED = _compiled(rf"elapsed(?:=|: )({_NUM}) s")
_RUNNING = _compiled(rf", #running-req: ({_INT})")
_QUEUED = _compiled(rf", #queue-req: ({_INT})")
_TOKENS = _compiled(rf", #(?:full )?token: ({_INT})")
_TOKEN_USAGE = _compiled(rf", (?:full )?token usage: ({_NUM})")
_THROUGHPUT = _compiled(rf"(?:input|gen) throughput \(token/s\): ({_NUM})")
_SLOT_USAGE = _compiled(rf", mamba usage: ({_NUM})")
_ACCEPT_LENGTH = _compiled(rf", accept len: ({_NUM})")


def _number(figure: re.Pattern[str], match: Match) -> float | None:
    """A figure anywhere in the message: their order changed between releases."""
    found = figure.search(match.string)
    return float(found[1]) if found else None


def _whole(figure: re.Pattern[str], match: Match) -> int | None:
    found = figure.search(match.string)
    return int(found[1]) if found else None


def _text(match: Match, group: str) -> str | None:
    """A group that this pattern may not have, or that took no part."""
    return match.groupdict().get(group)


def _float(match: Match, group: str) -> float | None:
    text = _text(match, group)
    return None if text is None else float(text)


def _int(match: Match, group: str) -> int | None:
    text = _text(match, group)
    return None if text is None or text == "None" else int(text)


def _load_weight_end(match: Match) -> Event:
    return LoadWeightEnd(
        model_class=match["model"],
        avail_gib=float(match["avail"]),
        usage_gib=_number(_USAGE, match),
        elapsed_s=_float(match, "elapsed"),
        dtype=match["dtype"],
        quant=match["quant"],
    )


def _mamba_cache(match: Match) -> Event:
    return MambaCache(
        slots=_int(match, "slots"),
        conv_gib=float(match["conv"]),
        ssm_gib=float(match["ssm"]),
        intermediate_ssm_gib=_float(match, "intermediate_ssm"),
        intermediate_conv_gib=_float(match, "intermediate_conv"),
    )


def _kv_cache(match: Match) -> Event:
    return KvCache(
        tokens=_int(match, "tokens"),
        k_gib=_float(match, "k"),
        v_gib=_float(match, "v"),
        kv_gib=_float(match, "kv"),
        dtype=match["dtype"],
        label=_text(match, "label"),
    )


def _pool_summary(match: Match) -> Event:
    return PoolSummary(
        max_total_num_tokens=int(match["tokens"]),
        chunked_prefill_size=_int(match, "chunk"),
        max_prefill_tokens=_int(match, "prefill"),
        max_running_requests=_int(match, "running"),
        context_len=_int(match, "context"),
        available_gib=_float(match, "avail"),
    )


def _graph_capture(match: Match) -> Event:
    kind, avail = match["kind"].lower(), _number(_AVAIL, match)
    if match["edge"] == "begin":
        return GraphCaptureBegin(kind=kind, avail_gib=avail)
    return GraphCaptureEnd(
        kind=kind, elapsed_s=_number(_ELAPSED, match), usage_gib=_number(_USAGE, match), avail_gib=avail
    )


def _graph_progress(match: Match) -> Event:
    return GraphProgress(
        done=int(match["done"]),
        total=int(match["total"]),
        size=int(match["size"]),
        avail_gib=_float(match, "avail"),
    )


def _prefill_batch(match: Match) -> Event:
    return PrefillBatch(
        new_seqs=int(match["seqs"]),
        new_tokens=int(match["tokens"]),
        cached_tokens=int(match["cached"]),
        running=_whole(_RUNNING, match),
        queued=_whole(_QUEUED, match),
        token_usage=_number(_TOKEN_USAGE, match),
        tokens_per_s=_number(_THROUGHPUT, match),
        slot_usage=_number(_SLOT_USAGE, match),
    )


def _decode_batch(match: Match) -> Event:
    return DecodeBatch(
        running=int(match["running"]),
        queued=_whole(_QUEUED, match),
        tokens=_whole(_TOKENS, match),
        token_usage=_number(_TOKEN_USAGE, match),
        tokens_per_s=_number(_THROUGHPUT, match),
        accept_length=_number(_ACCEPT_LENGTH, match),
        slot_usage=_number(_SLOT_USAGE, match),
    )


def _rule(start: str, rest: str, build: Builder) -> Rule:
    """The message is `start` and then `rest`."""
    return Rule(start, _compiled(re.escape(start) + rest), build)


def _shards(start: str, rest: str) -> Rule:
    return _rule(start, rest + _BAR, lambda m: ShardProgress(int(m["done"]), int(m["total"])))


def _kv(start: str, label: str) -> Rule:
    return Rule(start, _compiled(rf"{label}KV Cache is allocated\.{_KV}"), _kv_cache)


_ARGUMENT_PARSERS = ("sglang serve", "sglang", "launch_server.py")  # the last one: releases before 0.5.11
_PROCESSES = (
    "Scheduler",
    "DetokenizerManager",
    "TokenizerManager",
    "DataParallelController",
    "MultiTokenizerRouter",
    "MultiDetokenizerRouter",
)

RULES: tuple[Rule, ...] = (
    _rule("server_args=", r"(?P<shape>ServerArgs\(|\{)", lambda m: ServerArgsLogged(as_dict=m["shape"] == "{")),
    *(_rule(f"{name}: error: ", "(?P<text>.+)", lambda m: ArgparseError(m["text"])) for name in _ARGUMENT_PARSERS),
    _rule("Fetching ", rf"{_INT} files:{_BAR}", lambda m: FetchProgress(int(m["done"]), int(m["total"]))),
    _rule("Init torch distributed begin", "", lambda _: DistributedInitBegin()),
    _rule("Init parallel begin", "", lambda _: DistributedInitBegin()),
    _rule("Init torch distributed ends", "", lambda m: DistributedInitEnd(_number(_ELAPSED, m), _number(_USAGE, m))),
    _rule("Init parallel ends", "", lambda m: DistributedInitEnd(_number(_ELAPSED, m), _number(_USAGE, m))),
    _rule("Memory baseline taken. ", rf"mem usage=(?P<usage>{_NUM}) GB", lambda m: MemoryBaseline(float(m["usage"]))),
    _rule("Load weight begin. ", rf"avail mem=(?P<avail>{_NUM}) GB", lambda m: LoadWeightBegin(float(m["avail"]))),
    _shards("Loading ", r"(?:safetensors|pt|np_cache) checkpoint shards:"),
    _shards("Multi-thread loading ", r"(?:pt checkpoint )?shards:"),
    _rule(
        "Load weight end. ",
        rf"(?:elapsed=(?P<elapsed>{_NUM}) s, )?type=(?P<model>[\w.]{{1,200}})(?:, dtype=(?P<dtype>[\w.]{{1,60}}))?"
        rf"(?:, quant=(?P<quant>.{{1,200}}?))?, avail mem=(?P<avail>{_NUM}) GB",
        _load_weight_end,
    ),
    _rule(
        "Mamba Cache is allocated.",
        rf"(?: max_mamba_cache_size: (?P<slots>{_INT}),)? conv_state size: (?P<conv>{_NUM}) ?GB,?"
        rf" ssm_state size: (?P<ssm>{_NUM}) ?GB"
        rf"(?: intermediate_ssm_state_cache size: (?P<intermediate_ssm>{_NUM}) ?GB"
        rf" intermediate_conv_window_cache size: (?P<intermediate_conv>{_NUM}) ?GB)?",
        _mamba_cache,
    ),
    _kv("KV Cache is ", ""),
    _kv("Full KV Cache is ", "(?P<label>Full) "),
    _kv("SWA KV Cache is ", "(?P<label>SWA) "),
    _kv("MiniMax ", r"(?P<label>MiniMax [\w -]{1,40}) "),
    _rule("Post-capture KV sizing: ", rf"(?:(?P<label>draft) )?KV cache allocated\.{_KV}", _kv_cache),
    _rule(
        "Use sliding window memory pool",
        rf"(?: \(all SWA\))?\. (?:full_layer_tokens=(?P<full>{_INT}), )?swa_layer_tokens=(?P<swa>{_INT})",
        lambda m: SlidingWindowPools(_int(m, "full"), int(m["swa"])),
    ),
    _rule(
        "SWAKVPool mem usage: ",
        rf"(?P<usage>{_NUM}) GB, swa size: (?P<swa>{_INT}), full size: (?P<full>{_INT})",
        lambda m: SwaKvPool(float(m["usage"]), int(m["swa"]), int(m["full"])),
    ),
    _rule("Memory pool end. ", rf"avail mem=(?P<avail>{_NUM}) GB", lambda m: MemoryPoolEnd(float(m["avail"]))),
    _rule(
        "max_total_num_tokens=",
        rf"(?P<tokens>{_INT})(?:, chunked_prefill_size=(?P<chunk>-?{_INT}|None))?"
        rf", max_prefill_tokens=(?P<prefill>{_INT}), max_running_requests=(?P<running>{_INT}|None)"
        rf", context_len=(?P<context>{_INT})(?:, available_[cg]pu_mem=(?P<avail>{_NUM}) GB)?",
        _pool_summary,
    ),
    _rule("Capture ", r"(?P<kind>[\w -]{1,60}?) graph (?P<edge>begin|end)(?: \(step \d{1,4}\))?\.", _graph_capture),
    _rule(
        "Capturing ",
        rf"(?:batches|num tokens|prefill shape) \((?:bs|num_tokens)=(?P<size>{_INT})"
        rf"(?: avail_mem=(?P<avail>{_NUM}) GB)?[^()]{{0,80}}\):{_BAR}",
        _graph_progress,
    ),
    _rule("Compiling num tokens ", rf"\(num_tokens=(?P<size>{_INT})\):{_BAR}", _graph_progress),
    _rule("INFO:     Uvicorn running on ", r"(?P<url>.{1,200}?) \(Press CTRL", lambda m: HttpListening(m["url"])),
    _rule(
        "ERROR:    ",
        r"(?P<text>\[Errno \d{1,4}\] error while attempting to bind on address .+)",
        lambda m: BindError(m["text"]),
    ),
    _rule("The server is fired up and ready to roll!", "", lambda _: Ready()),
    _rule(
        "Prefill batch",
        rf"(?: \[{_INT}\])?, #new-seq: (?P<seqs>{_INT}), #new-token: (?P<tokens>{_INT})"
        rf", #cached-token: (?P<cached>{_INT})",
        _prefill_batch,
    ),
    _rule("Decode batch", rf"(?: \[{_INT}\])?, #running-req: (?P<running>{_INT})", _decode_batch),
    _rule("SIGTERM received", "", lambda _: Draining()),
    _rule(
        "Gracefully exiting",
        rf"\.\.\. Remaining number of requests (?P<left>{_INT})",
        lambda m: GracefulExit(int(m["left"])),
    ),
    _rule("INFO:     Shutting down", "", lambda _: HttpShutdown()),
    *(
        _rule(name, "(?= hit an exception: Traceback)", lambda m: ProcessException(m[0]))  # the process is the match
        for name in _PROCESSES
    ),
    _rule("Initialization failed. warmup error: Traceback", "", lambda _: WarmupFailed()),
    _rule("Received sigquit from a child process", "", lambda _: SigquitReceived()),
    _rule("SIGQUIT received. ", "", lambda _: SigquitReceived()),
    _rule(
        "Subprocess ",
        rf"(?P<name>[\w:.-]{{1,80}}) \(pid=(?P<pid>{_INT})\) crashed with exit code (?P<code>-?\d{{1,5}})",
        lambda m: ChildCrashed(m["name"], int(m["pid"]), int(m["code"])),
    ),
)
STARTS = tuple(rule.start for rule in RULES)
