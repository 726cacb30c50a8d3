"""Reading typed command lines as argparse of each release does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui.budget.parallel import read_parallel
from tui.budget.refusal import RefusedLaunch
from tui.sglang.flags import RELEASES, load_inventory
from tui.sglang.parse import parse_flags
from tui.sglang.words import Words, nearest_release


@pytest.mark.parametrize("release", ["0.5.6.post2", "0.5.11", "0.5.23"])
@pytest.mark.parametrize(
    "typed", [["--tp", "2"], ["--tp-size", "2"], ["--tensor-parallel-size=2"], ["--tensor-par", "2"]]
)
def test_every_spelling_of_tensor_parallel_size_counts_two_gpus(release: str, typed: list[str]) -> None:
    assert Words(typed, release).gpu_count() == 2


def test_pipeline_stages_multiply_and_data_parallel_replicas_unless_they_share() -> None:
    assert Words(["--tp", "2", "--pp-size", "2", "--dp", "2"]).gpu_count() == 8
    assert Words(["--tp", "4", "--dp", "4", "--enable-dp-attention"]).gpu_count() == 4
    assert Words(["--tp", "16", "--nnodes", "2"]).gpu_count() == 8


SIZES = st.sampled_from((1, 2, 4))


@settings(deadline=None)
@given(tensor=SIZES, pipeline=SIZES, replicas=SIZES, shared=st.booleans())
def test_a_launch_counts_as_a_plan_does(tensor: int, pipeline: int, replicas: int, shared: bool) -> None:
    sizes = {"--tp": tensor, "--pp-size": pipeline, "--dp-size": replicas}
    words = [word for option, size in sizes.items() for word in (option, str(size))]
    words += ["--enable-dp-attention"] if shared else []
    for release in RELEASES:
        try:
            planned = read_parallel(parse_flags(words, [load_inventory(release)])).local_ranks
        except RefusedLaunch:
            continue
        assert Words(words, release).gpu_count() == planned


def test_the_last_one_wins_and_what_sglang_will_refuse_counts_as_not_given() -> None:
    words = Words(["--port", "1", "--no-such-flag", "9", "--port=31000", "--tp", "two"])
    assert words.get("--port") == "31000"
    assert words.gpu_count() == 1


def test_an_ambiguous_prefix_means_nothing() -> None:
    assert not Words(["--p", "31000"]).has("--port")


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.5.11", "0.5.11"),
        ("0.5.14.post1", "0.5.11"),
        ("0.5.23rc0", "0.5.23"),
        ("0.6.0.dev12+g1a2b", "0.5.23"),
        ("0.4.9", "0.5.6.post2"),
        (None, "0.5.11"),
    ],
)
def test_the_nearest_inventory_is_never_newer_than_the_release_if_that_can_be(
    version: str | None, expected: str
) -> None:
    assert nearest_release(version) == expected


@pytest.mark.parametrize("release", ["0.5.6.post2", "0.5.11", "0.5.23"])
def test_a_flag_that_the_release_does_not_have_is_not_given(release: str) -> None:
    words = Words(["--tp", "2"], release)
    assert not words.has("--ssl-certfile")  # from 0.5.11 on
    assert words.get("--no-such-flag-in-any-release") is None
