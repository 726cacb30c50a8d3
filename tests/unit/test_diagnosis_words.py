"""What is shown of a diagnosis: the contract's fields, the report, and no secrets anywhere."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.diagnosing import LOGS, QUIT, SCHEDULER, diagnose, upto
from tui.diagnosis.answer import to_json
from tui.diagnosis.redaction import redact
from tui.diagnosis.report import Surroundings, write_report
from tui.diagnosis.words import describe_change, explain, headline

FIELDS = {
    "schema", "sglang", "launch_first_line", "ready_line", "reached_ready", "stage", "outcome", "root_cause_line",
    "root_cause_text", "class", "is_memory", "confidence", "fraction_direction", "explanation", "changes",
    "secondary_lines", "memory",
}  # fmt: skip
STAGES = {
    "args", "import", "download", "distributed init", "weight load", "memory pool", "cuda graph capture", "warmup",
    "ready", "runtime", "shutdown",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(path.stem for path in LOGS.glob("*.log")))
def test_the_answer_has_the_contract_s_fields(name: str) -> None:
    answer = json.loads(json.dumps(to_json(diagnose((LOGS / f"{name}.log").read_bytes(), returncode=-9))))
    assert set(answer) >= FIELDS
    assert answer["stage"] in STAGES
    assert answer["outcome"] in {"failed", "running", "stopped", "unknown"}
    assert answer["confidence"] in {"high", "medium", "low"}
    assert answer["fraction_direction"] in {"up", "down", "leave", None}
    assert all(set(change) >= {"set", "unset", "upgrade"} for change in answer["changes"])
    assert (answer["root_cause_line"] is None) == (answer["root_cause_text"] is None)


def test_a_healthy_log_has_no_root() -> None:
    answer = to_json(diagnose(upto("runtime")))
    assert (answer["class"], answer["root_cause_line"], answer["fraction_direction"]) == ("none", None, None)
    assert answer["reached_ready"] is True


# --- secrets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("HF_TOKEN=hf_abcdefghijklmnop", "HF_TOKEN=***"),
        ("use hf_abcdefghijklmnop now", "use *** now"),
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer ***"),
        ("'authorization': 'Token 12345'", "'authorization': '***'"),
        ("python -m x --api-key sekret --port 1", "python -m x --api-key *** --port 1"),
        ("--api-key=sekret", "--api-key=***"),
        ("ServerArgs(api_key='sekret', tp_size=1)", "ServerArgs(api_key='***', tp_size=1)"),
        ("{'admin_api_key': 'sekret'}", "{'admin_api_key': '***'}"),
        ("api_key=None", "api_key=None"),
        ("ssl_keyfile_password='p w'", "ssl_keyfile_password='***'"),
        ("max_total_tokens=4096, tokenizer_path='t'", "max_total_tokens=4096, tokenizer_path='t'"),
        ("KeyError: 'lm_head.weight'", "KeyError: 'lm_head.weight'"),
    ],
)
def test_secrets_are_replaced(text: str, shown: str) -> None:
    assert redact(text) == shown


def test_home_directories_are_replaced_where_asked_for() -> None:
    text = "/home/bob/models/m and /Users/ann/x, /root/.cache, /rooted"
    assert redact(text, homes=True) == "~/models/m and ~/x, ~/.cache, /rooted"
    assert redact(text) == text


def test_a_known_secret_is_found_wherever_it_stands() -> None:
    assert redact("GET /?k=Zx81qq", ["Zx81qq", ""]) == "GET /?k=***"


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=300))
def test_redaction_ends(text: str) -> None:
    redact(text, homes=True)


SECRET = "Zx81qq-very-secret"


def log_with_secrets() -> list[str]:
    first, *rest = upto("memory pool")
    dump = first.replace("tp_size=1", f"tp_size=1, api_key='{SECRET}', model_x='/home/bob/m'")
    error = f"RuntimeError: cannot open /home/bob/models with {SECRET} and hf_abcdefghijklmnop"
    return [dump, *rest, *SCHEDULER, error, "", QUIT]


def test_no_secret_in_the_answer_nor_in_the_report() -> None:
    found = diagnose(log_with_secrets(), returncode=-9)
    answer = json.dumps(to_json(found, [SECRET]))
    report = write_report(
        found, Surroundings(context=[(1, log_with_secrets()[0]), (8, found.root_text or "")], secrets=(SECRET,))
    )
    for text in (answer, report):
        assert SECRET not in text
        assert "hf_abc" not in text
    assert "/home/bob" not in report
    assert "~/models" in report


# --- words


def test_the_report_has_what_a_tracker_asks_for() -> None:
    found = diagnose((LOGS / "story-mamba-spec-pool.log").read_bytes(), release="0.5.11", returncode=-9)
    report = write_report(found, Surroundings({"tp_size": 1, "mem_fraction_static": 0.8}, [(37, "RuntimeError")]))
    for part in ("SGLang 0.5.11", "pool_budget_negative", "exit: -9", "tp_size=1", ">     37 |", "weights_gib | 51.3"):
        assert part in report


def test_a_fence_in_a_line_doesn_t_end_the_block() -> None:
    found = diagnose((LOGS / "story-mamba-spec-pool.log").read_bytes())
    assert "````" in write_report(found, Surroundings(context=[(1, "```")]))


def test_sentences() -> None:
    found = diagnose((LOGS / "graph-oom-number-in-progress-bar.log").read_bytes(), returncode=-9)
    assert headline(found).startswith("failed in cuda graph capture: out of memory while capturing graphs")
    words = explain(found)
    assert "Lower --mem-fraction-static" in words
    assert "The last reading was 0.13 GiB." in words
    assert describe_change(found.changes[0]).startswith("--cuda-graph-max-bs ")


def test_what_isn_t_memory_says_so() -> None:
    found = diagnose((LOGS / "triton-shared-memory-not-vram.log").read_bytes(), returncode=-9)
    assert "It isn't a matter of GPU memory" in explain(found)


@pytest.mark.parametrize(("fraction", "offered"), [("0.35", [0.43]), ("0.95", []), ("0.97", [])])
def test_a_fraction_that_is_offered_is_higher_than_the_one_that_failed(fraction: str, offered: list[float]) -> None:
    """94.21 GiB free before the weights and 60.0 behind them: 1 - 60.0 / 94.21 + 0.02 is the least, 0.43 gives room."""
    error = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
    start = [line.replace("static=0.85", f"static={fraction}") for line in upto("memory pool")]
    found = diagnose([*start, *SCHEDULER, error, "", QUIT], returncode=-9)
    assert found.failure == "pool_budget_negative"
    fractions = [change.set.get("mem-fraction-static") for change in found.changes]
    assert [value for value in fractions if value is not None] == offered


def test_with_dp_attention_flags_are_told_for_all_replicas() -> None:
    """Each of four takes a quarter of what is typed: its log has 2048 tokens of a chunk and 64 requests."""
    divided = "mem_fraction_static=0.85, chunked_prefill_size=2048, dp_size=4, enable_dp_attention=True"
    start = [line.replace("mem_fraction_static=0.85", divided) for line in upto("runtime")]
    error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    found = diagnose([*start, *SCHEDULER, error, "", QUIT], returncode=-9)
    assert found.failure == "activation_oom"
    offered = {name: value for change in found.changes for name, value in change.set.items()}
    assert offered["chunked-prefill-size"] == 4096
    assert offered["max-running-requests"] == 128
