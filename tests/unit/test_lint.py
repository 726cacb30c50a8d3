"""Each rule of the lint with a line that breaks it. What SGLang says to such lines stands in its sources, which the
rules name; `tests/real/test_flags.py` asks the real parsers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.support.planning import load_model
from tui.budget.types import Card
from tui.lint import Finding, Fix, Severity, lint
from tui.model.shapes import Model, Quantization
from tui.sglang.flags import load_inventory
from tui.sglang.target import Target, recorded_target
from tui.sglang.versions import parse_release

H100 = Card(0, "NVIDIA H100 80GB HBM3", 81559, capability=(9, 0))
A100 = Card(0, "NVIDIA A100-SXM4-80GB", 81920, capability=(8, 0))
L4 = Card(0, "NVIDIA L4", 23034, capability=(8, 9))
T4 = Card(0, "Tesla T4", 15360, capability=(7, 5))
RTX_6000 = Card(0, "NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887, capability=(12, 0))
B200 = Card(0, "NVIDIA B200", 183359, capability=(10, 0))
DECODE = "--disaggregation-mode decode --disaggregation-decode-enable-radix-cache"
DENSE, HYBRID = "qwen3-0.6b", "qwen3.6-27b"


def target(release: str) -> Target:
    return recorded_target(parse_release(release))


def found(words: str, release: str = "0.5.23", model: Model | None = None, *cards: Card) -> dict[str, Finding]:
    findings = lint(["--model-path", "m", *words.split()], target(release), model, cards or None)
    return {finding.id: finding for finding in findings}


@pytest.mark.parametrize(
    ("words", "release", "identity", "part", "remedy"),
    [
        ("--max-runing-requests 8", "0.5.23", "unknown-flag", "isn't a flag", "did you mean --max-running-requests?"),
        (
            "--reasoning_parser qwen3",
            "0.5.11",
            "unknown-flag",
            "--reasoning_parser",
            "SGLang spells it --reasoning-parser",
        ),
        ("--enable-reasoning", "0.5.11", "unknown-flag", "--enable-reasoning", ""),
        (
            "--mamba-scheduler-strategy auto",
            "0.5.23",
            "renamed-flag",
            "0.5.20 removed it",
            "--mamba-radix-cache-strategy auto",
        ),
        (
            "--mamba-radix-cache-strategy auto",
            "0.5.11",
            "renamed-flag",
            "from 0.5.14 on",
            "--mamba-scheduler-strategy auto",
        ),
        ("--cuda-graph-max-bs 8", "0.5.23", "ambiguous-flag", "--cuda-graph-max-bs-prefill", "spell it out"),
        ("--torchao-config int8wo", "0.5.23", "removed-flag", "0.5.18 removed it", "--quantization"),
        ("--enable-unified-memory", "0.5.11", "later-flag", "SGLang has it from", "stay with"),
        ("--tp two", "0.5.23", "bad-value", "must be a whole number", "correct"),
        ("--kv-cache-dtype int3", "0.5.11", "bad-value", "must be one of auto", "correct"),
        ("--tp", "0.5.23", "missing-value", "needs a value", "write a value"),
        ("--speculative-num 3", "0.5.11", "ambiguous-flag", "--speculative-num-steps", "spell it out"),
        ("--disable-radix-cache yes", "0.5.11", "stray-word", "belongs to no flag", "take it out"),
        ("--disable-cuda-graph", "0.5.23", "deprecated-flag", "deprecated", "--cuda-graph-backend-decode disabled"),
        ("--collect-tokens-histogram", "0.5.11", "no-effect-deprecated", "does nothing", "leave it out"),
        ("--config=a.yaml", "0.5.23", "config-ignored", "doesn't read", "--config a.yaml"),
        ("--conf a.yaml", "0.5.11", "config-ignored", "doesn't read", "--config a.yaml"),
        ("--ssl-keyfile k", "0.5.23", "ssl-half", "certificate", "--ssl-certfile"),
        ("--export-metrics-to-file", "0.5.6.post2", "metrics-folder", "where", "--export-metrics-to-file-dir"),
        ("--disable-priority-preemption", "0.5.23", "priority-off", "no effect", "--enable-priority-scheduling"),
        ("--enable-two-batch-overlap", "0.5.11", "two-batch-overlap", "all-to-all", "--moe-a2a-backend"),
        ("--enable-dp-lm-head", "0.5.23", "dp-lm-head", "one replica", "--attn-dp-size"),
        ("--enable-dp-lm-head --dp 2", "0.5.11", "dp-lm-head", "exclude each other", "leave one"),
        ("--speculative-num-steps 3", "0.5.11", "no-speculation", "nothing speculates", "--speculative-algorithm"),
        ("--hicache-ratio 2", "0.5.11", "no-hicache", "no effect", "--enable-hierarchical-cache"),
        (
            "--enable-hierarchical-cache --disable-radix-cache",
            "0.5.6.post2",
            "cache-on-and-off",
            "exclude",
            "leave one",
        ),
        ("--enable-torch-compile --disable-cuda-graph-padding", "0.5.23", "compile-each-batch", "exclude", "leave one"),
        ("--speculative-algorithm NGRAM --pp-size 2", "0.5.11", "pipeline-speculation", "exclude", "leave one"),
        ("--dp 2 --nnodes 2", "0.5.23", "replicas-over-nodes", "exclude", "leave one"),
        ("--encoder-only --language-only", "0.5.11", "encoder-or-language", "exclude", "leave one"),
        ("--served-model-name a:b", "0.5.23", "name-with-colon", "no colon", "correct"),
        ("--enable-priority-scheduling --schedule-policy lpm", "0.5.11", "priority-policy", "fcfs or lof", "correct"),
        ("--moe-dense-tp-size 4", "0.5.11", "dense-tp", "must be 1", "correct"),
        ("--gpu-id-step 0", "0.5.23", "gpu-step", "at least 1", "correct"),
        ("--schedule-conservativeness -1", "0.5.23", "conservativeness", "0 or more", "correct"),
        ("--tokenizer-worker-num 0", "0.5.11", "tokenizers", "at least 1", "correct"),
        ("--chunked-prefill-size 100 --page-size 64", "0.5.23", "uneven-chunk", "pages of 64", "write 64"),
        ("--max-lora-rank 16", "0.5.6.post2", "no-lora", "no effect", "give one"),
        ("--enable-lora --max-lora-rank 16", "0.5.23", "lora", "--lora-target-modules", "name adapters"),
        ("--lora-paths a=b --speculative-algorithm EAGLE", "0.5.11", "lora", "EAGLE", "leave"),
        ("--lora-paths a=b --speculative-algorithm STANDALONE", "0.5.23", "lora", "STANDALONE", "leave"),
        ("--lora-paths a=b --max-loaded-loras 4", "0.5.11", "lora", "8 may be in one batch", "--max-loras-per-batch"),
        ("--lora-paths a b c --max-loaded-loras 2 --max-loras-per-batch 1", "0.5.23", "lora", "3 are named", "raise"),
        ("--lora-paths a --max-loras-per-batch 0", "0.5.23", "lora", "a batch of none", "1 or more"),
        ("--lora-paths a --lora-target-modules all q_proj", "0.5.6.post2", "lora", "stands for all", "others out"),
        ("--lora-paths a --enable-lora-overlap-loading", "0.5.11", "lora", "16 at most", "give it"),
        ("--lora-paths a --lora-use-virtual-experts", "0.5.11", "lora", "it is csgmv", "triton"),
        ("--enable-prefix-mm-cache", "0.5.23", "prefix-mm-cache", "only encodes", "--encoder-only"),
        (
            "--disaggregation-mode prefill --disaggregation-transfer-backend fake",
            "0.5.11",
            "fake-prefill",
            "exclude each other",
            "leave one",
        ),
        ("--encoder-only --disaggregation-mode decode", "0.5.23", "encoder-and-disaggregation", "exclude", "leave one"),
        (
            "--disaggregation-mode decode --disaggregation-decode-enable-radix-cache",
            "0.5.11",
            "decode-radix-transfer",
            "it is mooncake",
            "give nixl",
        ),
        (
            f"{DECODE} --disaggregation-transfer-backend nixl --speculative-algorithm NGRAM",
            "0.5.11",
            "decode-radix-speculation",
            "exclude",
            "leave one",
        ),
        (
            f"{DECODE} --disaggregation-transfer-backend fake",
            "0.5.23",
            "decode-radix-fake",
            "exclude",
            "leave one",
        ),
        ("--disaggregation-decode-enable-radix-cache", "0.5.23", "decode-radix-off", "only a decode server", "give"),
    ],
)
def test_what_a_command_line_alone_tells(words: str, release: str, identity: str, part: str, remedy: str) -> None:
    finding = found(words, release)[identity]
    assert part in finding.what
    assert remedy in finding.remedy


@pytest.mark.parametrize(
    ("words", "config", "card", "identity", "severity"),
    [
        ("--context-length 9999999", DENSE, H100, "long-context", Severity.ERROR),
        ("--mamba-full-memory-ratio 0.5", DENSE, H100, "no-effect", Severity.NOTE),
        ("--ep-size 2", DENSE, H100, "no-effect", Severity.NOTE),
        ("--swa-full-tokens-ratio 0.5", DENSE, H100, "no-effect", Severity.NOTE),
        ("--speculative-algorithm EAGLE3", DENSE, H100, "no-draft-model", Severity.ERROR),
        ("--tp 2", DENSE, H100, "too-few-gpus", Severity.ERROR),
        ("--base-gpu-id 1", DENSE, H100, "too-few-gpus", Severity.ERROR),
        ("--attention-backend trtllm_mla", DENSE, H100, "backend-on-card", Severity.ERROR),
        ("--attention-backend trtllm_mha", DENSE, T4, "backend-on-card", Severity.ERROR),
        ("--quantization fp8", DENSE, T4, "quantization-on-card", Severity.ERROR),
        ("--mem-fraction-static 1.5", DENSE, H100, "refused", Severity.ERROR),
        ("--speculative-algorithm EAGLE --speculative-eagle-topk 2", HYBRID, H100, "refused", Severity.ERROR),
    ],
)
def test_what_a_model_or_a_card_cannot_take(
    words: str, config: str, card: Card, identity: str, severity: Severity
) -> None:
    assert found(words, "0.5.23", load_model(config), card)[identity].severity is severity


@pytest.mark.parametrize(
    ("own", "typed", "release", "is_refused"),
    [
        ("fp8", "awq", "0.5.23", True),
        ("fp8", "w8a8_fp8", "0.5.6.post2", True),
        ("awq", "fp8", "0.5.11", True),
        ("mxfp4", "fp8", "0.5.11", True),
        ("compressed-tensors", "fp8", "0.5.23", True),
        ("compressed-tensors", "w8a8_fp8", "0.5.11", False),
        ("awq", "awq_marlin", "0.5.11", False),
        ("gptq", "moe_wna16", "0.5.23", False),
        ("fp8", "fp8", "0.5.23", False),
        ("fp8", "modelopt_fp4", "0.5.23", False),  # requantised while it loads
        ("modelopt_fp8", "fp8", "0.5.23", False),  # what is typed gives way
    ],
)
def test_a_quantisation_that_the_checkpoint_is_not_of(own: str, typed: str, release: str, is_refused: bool) -> None:
    """SGLang: "Quantization method specified in the model config (fp8) does not match ...": model_config.py:2143."""
    model = structs.replace(load_model(DENSE), quantization=Quantization(own))
    faults = found(f"--quantization {typed}", release, model, B200)
    assert ("quantization-mismatch" in faults) is is_refused
    if is_refused:
        assert own in faults["quantization-mismatch"].what
        assert faults["quantization-mismatch"].fix == Fix(unset=("quantization",))


@pytest.mark.parametrize(
    ("words", "release", "card", "part"),
    [
        ("--kv-cache-dtype nvfp4", "0.5.23", H100, "SM100 or SM120, and this one is SM90"),
        ("--kv-cache-dtype mxfp8", "0.5.23", H100, "Blackwell"),
        ("--kv-cache-dtype fp8_e5m2 --attention-backend trtllm_mla", "0.5.11", B200, "takes auto, fp8_e4m3"),
        ("--kv-cache-dtype bf16 --attention-backend trtllm_mla", "0.5.6.post2", B200, "takes auto, fp8_e4m3"),
        ("--kv-cache-dtype fp4_e2m1 --attention-backend flashinfer", "0.5.11", B200, "not flashinfer"),
        ("--kv-cache-dtype nvfp4 --decode-attention-backend triton", "0.5.23", B200, "not triton"),
        ("--kv-cache-dtype nvfp4 --attention-backend triton", "0.5.23", B200, "not triton"),
        ("--kv-cache-dtype fp8_e4m3 --attention-backend trtllm_mha", "0.5.23", RTX_6000, "on SM120"),
        ("--kv-cache-dtype nvfp4", "0.5.23", B200, ""),
        ("--kv-cache-dtype fp4_e2m1 --attention-backend triton", "0.5.11", B200, ""),
        ("--kv-cache-dtype fp8_e4m3", "0.5.11", T4, ""),  # FlashInfer: nothing in SGLang tells
        ("--kv-cache-dtype fp8_e4m3 --attention-backend triton", "0.5.11", T4, "from CUDA capability 8.9 on"),
        ("--kv-cache-dtype fp8_e4m3 --decode-attention-backend triton", "0.5.23", A100, "and this card has 8.0"),
        ("--kv-cache-dtype fp8_e4m3 --attention-backend triton", "0.5.23", L4, ""),
        ("--kv-cache-dtype fp8_e5m2 --attention-backend triton", "0.5.11", A100, ""),
        ("--kv-cache-dtype fp8_e4m3 --dsa-prefill-backend tilelang", "0.5.23", A100, "with TileLang needs"),
        ("--kv-cache-dtype bf16 --attention-backend trtllm_mla", "0.5.11", B200, ""),
    ],
)
def test_a_kv_cache_that_a_card_or_a_backend_cannot_read(words: str, release: str, card: Card, part: str) -> None:
    faults = found(words, release, load_model(DENSE), card)
    told = [fault.what for name, fault in faults.items() if name in ("kv-dtype-on-card", "kv-dtype-of-backend")]
    assert bool(told) is bool(part), faults
    assert not part or part in told[0]


def test_an_fp8_cache_with_the_backend_that_latent_attention_gets_on_an_older_card() -> None:
    """SGLang chooses Triton for it there: 0.5.11 server_args.py _get_default_attn_backend."""
    model = load_model("glm-4.7-flash")
    fault = found("--kv-cache-dtype fp8_e4m3", "0.5.11", model, A100)["kv-dtype-on-card"]
    assert fault.fix == Fix({"kv-cache-dtype": "fp8_e5m2"})
    words = "--kv-cache-dtype fp8_e4m3 --attention-backend flashinfer"
    assert "kv-dtype-on-card" not in found(words, "0.5.11", model, A100)
    assert "kv-dtype-on-card" not in found("--kv-cache-dtype fp8_e4m3", "0.5.11", model, L4)


def test_heads_that_tensor_parallelism_cannot_divide() -> None:
    cards = [structs.replace(H100, index=index) for index in range(3)]
    assert "uneven-shards" in found("--tp 3", "0.5.23", load_model(DENSE), *cards)


@pytest.mark.parametrize(
    ("words", "config"),
    [
        ("--attention-backend trtllm_mha", DENSE),
        ("--mamba-radix-cache-strategy extra_buffer", HYBRID),
        ("--speculative-algorithm EAGLE", HYBRID),
        ("--chunked-prefill-size -1 --page-size 64", DENSE),
        ("--enable-priority-scheduling --schedule-policy fcfs", DENSE),
        ("--speculative-algorithm NGRAM", DENSE),
        ("--lora-paths a=b --max-loras-per-batch 1 --max-loaded-loras 1", DENSE),
        ("--enable-lora --max-lora-rank 16 --lora-target-modules all", DENSE),
        ("--disaggregation-mode decode --disaggregation-decode-enable-radix-cache", DENSE),
    ],
)
def test_what_is_right_is_left_alone(words: str, config: str) -> None:
    assert found(words, "0.5.23", load_model(config), B200) == {}


def test_between_recorded_releases_an_unknown_flag_is_a_doubt() -> None:
    """0.5.17 may have flags that neither recorded neighbour has."""
    assert found("--enable-flag-of-its-own", "0.5.17")["unknown-flag"].severity is Severity.WARNING
    assert found("--enable-flag-of-its-own", "0.5.23")["unknown-flag"].severity is Severity.ERROR


def test_a_secret_is_never_repeated() -> None:
    for words in ("--api-key s3cret s3cret", "--api-key -s3cret", "--apikey s3cret", "--api-key", "--api_key=s3cret"):
        findings = lint(words.split(), target("0.5.23"))
        assert findings
        assert "s3cret" not in str([(finding.what, finding.remedy) for finding in findings]), words


def test_a_fix_is_data() -> None:
    fix = found("--mamba-scheduler-strategy no_buffer")["renamed-flag"].fix
    assert fix is not None
    assert (dict(fix.set), fix.unset) == ({"mamba-radix-cache-strategy": "no_buffer"}, ("mamba-scheduler-strategy",))


def test_the_worst_comes_first() -> None:
    findings = lint(
        ["--disable-cuda-graph", "--tp", "two", "--mamba-full-memory-ratio", "1"], target("0.5.23"), load_model(DENSE)
    )
    assert [finding.severity for finding in findings] == [Severity.ERROR, Severity.WARNING, Severity.NOTE]


_OPTIONS = [option for flag in load_inventory("0.5.23").flags for option in flag.option_strings]
_WORD = st.one_of(st.sampled_from(_OPTIONS), st.text(max_size=8), st.sampled_from(["0", "-1", "1e400", "--", "--x=1"]))


@given(st.lists(_WORD, max_size=8), st.sampled_from(["0.5.6.post2", "0.5.11", "0.5.17", "0.5.23", "0.6.0"]))
@settings(max_examples=60, deadline=None)
def test_any_line_is_judged(words: list[str], release: str) -> None:
    lint(words, target(release), load_model(HYBRID), [H100])
