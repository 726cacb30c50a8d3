"""What the three releases told on their endpoints, recorded from real servers, and what it means with many ranks."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.metrics.exposition import Counters, NotSGLangError, parse_metrics
from tui.metrics.live import Figures
from tui.metrics.loads import parse_get_load, parse_loads
from tui.metrics.window import Window
from tui.sglang.server_info import parse_server_info

REAL = Path(__file__).parents[1] / "fixtures" / "real"
RELEASES = ["0.5.6.post2", "0.5.11", "0.5.23"]


def recorded(release: str, name: str) -> bytes:
    return (REAL / release / "endpoints" / name).read_bytes()


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", ["metrics.txt", "metrics_after.txt"])
def test_every_release_tells_who_runs(release: str, name: str) -> None:
    figures, counters = parse_metrics(recorded(release, name))
    assert figures.running is not None
    assert figures.queued == 0
    assert figures.kv_tokens == 4096
    assert figures.kv_usage is not None
    assert 0 <= figures.kv_usage < 0.1
    # A model without state slots, and no speculative decoding.
    assert (figures.slot_usage, figures.accept_length) == (None, None)
    assert counters.prompt_tokens


# The values of the gauges, read in the recordings by eye: four requests of 260 tokens were running.
BUSY = {
    "0.5.11": Figures(running=4, queued=0, tokens_per_s=38.481529773541034, kv_usage=0.26123046875, kv_tokens=4096),
    "0.5.23": Figures(running=4, queued=0, tokens_per_s=7.354344361957411, kv_usage=0.06591796875, kv_tokens=4096),
}


@pytest.mark.parametrize("release", BUSY)
def test_a_busy_server(release: str) -> None:
    figures, counters = parse_metrics(recorded(release, "metrics_busy.txt"))
    assert figures == BUSY[release]
    assert counters.prompt_tokens == 211
    assert counters.first_tokens == {"0.5.11": 7, "0.5.23": 3}[release]
    assert counters.first_token_s == {"0.5.11": 6.689912065001408, "0.5.23": 1.0890679519725381}[release]


@pytest.mark.parametrize("release", ["0.5.11", "0.5.23"])
def test_loads_tell_requests_and_the_cache_but_no_speed(release: str) -> None:
    # Both say gen_throughput 0.0 while four requests run: without --enable-metrics nobody writes it.
    figures = parse_loads(recorded(release, "v1_loads_busy.json"))
    assert (figures.running, figures.queued, figures.max_running, figures.kv_tokens) == (4, 0, 2048, 4096)
    assert figures.kv_usage == {"0.5.11": 0.0474, "0.5.23": 0.0581}[release]
    assert figures.tokens_per_s is None


def test_get_load_counts_those_that_wait_twice() -> None:
    assert parse_get_load(b'[{"dp_rank":0,"num_reqs":5,"num_waiting_reqs":2,"num_tokens":9}]') == Figures(
        running=3, queued=2
    )
    assert parse_get_load(recorded("0.5.6.post2", "get_load.json")).running == 0


def sample(name: str, value: float, **labels: object) -> str:
    words = ",".join(f'{label}="{text}"' for label, text in {"model_name": "m", **labels}.items())
    return f"sglang:{name}{{{words}}} {value}\n"


def exposition(*lines: str) -> bytes:
    return "".join(lines).encode()


def test_tensor_ranks_say_the_same_and_replicas_add_up() -> None:
    # 2 replicas of 2 ranks, all of which tell (--enable-metrics-for-all-schedulers).
    lines = [
        sample(name, value, tp_rank=tp, pp_rank=0, dp_rank=dp)
        for dp, values in enumerate(
            [
                {"num_running_reqs": 3, "num_queue_reqs": 1, "gen_throughput": 100.5, "full_token_usage": 0.5},
                {"num_running_reqs": 4, "num_queue_reqs": 0, "gen_throughput": 50.0, "full_token_usage": 0.25},
            ]
        )
        for tp in (0, 1)
        for name, value in values.items()
    ]
    figures, _ = parse_metrics(exposition(*lines))
    assert (figures.running, figures.queued, figures.tokens_per_s, figures.kv_usage) == (7, 1, 150.5, 0.5)


def test_pipeline_stages_hold_the_same_requests() -> None:
    figures, _ = parse_metrics(exposition(*(sample("num_running_reqs", 5, tp_rank=0, pp_rank=pp) for pp in (0, 1))))
    assert figures.running == 5


def test_retractions_of_ranks_are_the_same_ones() -> None:
    lines = [sample("num_retracted_requests_total", 6, tp_rank=tp, dp_rank=dp) for dp in (0, 1) for tp in (0, 1)]
    _, counters = parse_metrics(exposition(sample("num_running_reqs", 1, dp_rank=0), *lines))
    assert counters.retracted == 12


def test_with_priorities_the_sum_stands_under_an_empty_name() -> None:
    lines = [sample("num_running_reqs", count, priority=priority) for priority, count in (("", 9), ("1", 4), ("2", 5))]
    assert parse_metrics(exposition(*lines))[0].running == 9


def test_a_hybrid_model_that_is_idle_has_slots_all_the_same() -> None:
    idle = exposition(sample("num_running_reqs", 0), sample("mamba_usage", 0), sample("mamba_available_tokens", 65))
    assert parse_metrics(idle)[0].slot_usage == 0
    busy = exposition(sample("num_running_reqs", 6), sample("mamba_usage", 0.46), sample("spec_accept_length", 2.75))
    assert (parse_metrics(busy)[0].slot_usage, parse_metrics(busy)[0].accept_length) == (0.46, 2.75)


def test_an_idle_server_generates_nothing_whatever_its_last_speed_was() -> None:
    idle = exposition(sample("num_running_reqs", 0), sample("gen_throughput", 712.5))
    assert parse_metrics(idle)[0].tokens_per_s == 0


def test_0_5_6_mixes_slots_into_the_usage_of_tokens() -> None:
    mixed = exposition(sample("num_running_reqs", 1), sample("token_usage", 0.9), sample("mamba_usage", 0.9))
    assert parse_metrics(mixed)[0].kv_usage is None


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-1", "1e300"])
def test_impossible_values_arent_told(value: str) -> None:
    lines = [sample("num_running_reqs", 1), f"sglang:full_token_usage {value}\n"]
    assert parse_metrics(exposition(*lines))[0].kv_usage is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>no metrics here</html>",
        b"vllm:num_requests_running 4\n",
        b"sglang:num_running_reqs{ 4\n",
        b"sglang:num_running_reqs four\n",
        b'sglang:num_running_reqs{model_name="' + b"x" * 10_000 + b'"} 1\n',
        b"sglang:num_running_reqs 1\n" * 10_000,
    ],
    ids=["empty", "page", "another server", "open brace", "word", "long line", "many lines"],
)
def test_what_isnt_sglangs_is_refused(body: bytes) -> None:
    with pytest.raises(NotSGLangError):
        parse_metrics(body)


@given(
    st.binary()
    | st.lists(st.sampled_from(["sglang:num_running_reqs", "{", "}", '"', "=", ",", " ", "1", "\\", "\n", "#"])).map(
        lambda words: "".join(words).encode()
    )
)
def test_rubbish_is_refused_and_never_breaks_anything(body: bytes) -> None:
    try:
        figures, _ = parse_metrics(body)
    except NotSGLangError:
        return
    assert figures.running is None or figures.running >= 0


@given(st.binary())
def test_rubbish_for_loads(body: bytes) -> None:
    for parse in (parse_loads, parse_get_load, parse_server_info):
        with suppress(ValueError):
            parse(body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"loads": [], "x": ' + b"[" * 100_000,
        b'{"loads": [{"num_running_reqs": ' + b"9" * 400 + b"}]}",
        b'{"loads": [{"num_running_reqs": -5}]}',
        b'{"loads": {}}',
    ],
    ids=["deep", "huge", "negative", "shape"],
)
def test_what_no_server_means_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"deeply|Expected"):
        parse_loads(body)


def test_server_info_gives_its_memory_and_nothing_else() -> None:
    told = parse_server_info(recorded("0.5.23", "server_info.json"))
    # On a CPU weights are what other programs did to the RAM meanwhile; 0.007 GiB was plausible.
    expected = {"weights_gib": 0.007, "kv_gib": 0.002, "kv_tokens": 4096, "startup_available_gib": 21.155}
    assert told == {**expected, "max_running_requests": 2048}
    assert parse_server_info(recorded("0.5.11", "server_info.json")) == {
        "kv_tokens": 4096,
        "max_running_requests": 2048,
    }
    assert parse_server_info(recorded("0.5.6.post2", "server_info.json")) == {"weights_gib": 0.01, "kv_tokens": 4096}


def test_the_last_minute_by_sums_since_the_start() -> None:
    window = Window()
    first = window.add(0, Counters(first_token_s=9.0, first_tokens=3, prompt_tokens=100, cached_tokens=25))
    assert (first.time_to_first_token_s, first.cache_hit_rate, first.retractions) == (3.0, 0.25, None)
    second = window.add(
        30, Counters(first_token_s=10.0, first_tokens=7, prompt_tokens=200, cached_tokens=115, retracted=2)
    )
    assert (second.time_to_first_token_s, second.cache_hit_rate, second.retractions) == (0.25, 0.9, 2)
    third = window.add(
        89, Counters(first_token_s=10.0, first_tokens=7, prompt_tokens=200, cached_tokens=115, retracted=3)
    )
    assert (third.time_to_first_token_s, third.cache_hit_rate, third.retractions) == (None, None, 1)


def test_a_server_that_counts_from_zero_again_is_another_one() -> None:
    window = Window()
    window.add(0, Counters(prompt_tokens=1000, first_token_s=50, first_tokens=10, retracted=7))
    again = window.add(10, Counters(prompt_tokens=10, first_token_s=0.5, first_tokens=1))
    assert (again.time_to_first_token_s, again.retractions) == (0.5, None)
