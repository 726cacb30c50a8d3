from __future__ import annotations

import copy
import functools
import json
from math import prod
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.real.make_model import make_dense_model, make_hybrid_model
from tests.support.models import CONFIGS, FIXTURES, all_configs, decode, load_fixture, on_rank
from tui.model.architecture import compute_weights
from tui.model.headers import StoredTensor
from tui.model.published import find_config
from tui.model.read import read_model
from tui.model.shapes import Experts, Model, Shard, Vision, WeightGroup
from tui.model.sharding import check_sharding, rank_bytes, rank_parts
from tui.model.tensors import group_stored

ROWS = [json.loads(line) for line in (FIXTURES / "budget" / "weights.jsonl").read_text().splitlines()]
DOCUMENTS = all_configs()
RANKS = load_fixture("ranks.json")
CHECKPOINTS = load_fixture("checkpoints.json")
CHECKPOINT_RANKS = load_fixture("checkpoint_ranks.json")
# The router of Nemotron-H is float32 in 0.5.11, that of GLM-4.7-Flash in 0.5.23, and experts' biases of gpt-oss are
# divided among EP ranks too: less than 0.3 % all together.
TOLERANCE = {"nemotron-3-nano-30b-a3b": 0.003, "glm-4.7-flash": 0.001, "gpt-oss-20b": 0.003}


@functools.cache
def decided(name: str) -> Model | str:
    """The model with its weights, or why they can't be computed."""
    decoded = decode(DOCUMENTS[name], name)
    weights = compute_weights(decoded)
    return weights if isinstance(weights, str) else replace(decoded.model, weights=weights)


def computed(name: str) -> Model:
    model = decided(name)
    assert isinstance(model, Model), model
    return model


def counted(name: str) -> bool:
    return isinstance(decided(name), Model)


def recorded() -> list[tuple[str, str, str]]:
    """Of the models whose weights can be computed."""
    return [
        (release, name, case)
        for release, found in RANKS.items()
        for name in found
        if counted(name)
        for case in found[name]
    ]


def target(model: Model) -> tuple[WeightGroup, ...]:
    assert model.weights is not None
    return model.weights.target


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_published_models_take_what_their_parameters_take(row: dict[str, Any]) -> None:
    model = computed(row["config"])
    for tp, expected in row["expect_bytes_per_rank"].items():
        assert on_rank(model, tp=int(tp)) == pytest.approx(expected, rel=row["tol_rel"])
        assert check_sharding(model, int(tp), int(tp), 1) is None
    for tp in row["tp_invalid"]:
        assert check_sharding(model, int(tp), int(tp), 1)
    if row["quant"] == "bf16" and row["published"]["params_match_arithmetic"]:
        assert sum(group.size_bytes for group in target(model)) == 2 * row["published"]["params"]


@pytest.mark.parametrize(("release", "name", "case"), recorded())
def test_a_rank_holds_what_sglang_makes_on_it(release: str, name: str, case: str) -> None:
    first, _, kind = case.partition(" ")
    tp, number = int(first), int(kind[2:] or 1) if kind[:2] in {"ep", "dp"} else 1
    model, expected = computed(name), RANKS[release][name][case]
    if kind == "draft":
        assert model.weights is not None
        # The draft worker has an embedding and a head of its own for a while; SGLang 0.5.11 builds GLM's otherwise.
        body = expected - 2 * 2 * model.vocab_size * model.hidden_size
        assert on_rank(model, model.weights.draft) == pytest.approx(body, rel=0.02)
        return
    attention_tp, ep = (tp // number, 1) if kind.startswith("dp") else (tp, number)
    found = on_rank(model, tp=tp, attention_tp=attention_tp, ep=ep, vision_dp=kind == "vdp")
    # Scales for an fp8 KV cache, a float32 each, aren't weights.
    assert found == pytest.approx(expected, rel=TOLERANCE.get(name, 0), abs=2000)
    assert check_sharding(model, tp, attention_tp, ep) is None


@pytest.mark.parametrize("name", sorted(CHECKPOINTS))
def test_a_checkpoint_s_tensors_are_divided_as_sglang_divides_them(name: str) -> None:
    document = copy.deepcopy(DOCUMENTS[name])
    document.pop("quantization_config", None)
    model = decode(document, name).model
    stored = []
    for entry in CHECKPOINTS[name]:
        layers = [layer for first, last in entry[2] for layer in range(first, last + 1)] if len(entry) > 2 else [0]
        elements = prod(entry[1])
        stored += [StoredTensor(entry[0].replace("#", str(layer)), "BF16", elements, 2 * elements) for layer in layers]
    model = replace(model, weights=group_stored(stored, model))
    for tp, expected in CHECKPOINT_RANKS[name].items():
        # Some parameters are float32 in SGLang, whatever the checkpoint has.
        assert on_rank(model, tp=int(tp)) == pytest.approx(expected, rel=TOLERANCE.get(name, 0), abs=80_000)


def test_the_draft_of_the_story_takes_what_was_computed_by_hand() -> None:
    model = computed("qwen3.6-27b")
    hidden, width = 5120, 17408
    attention = hidden * (2 * 24 * 256 + 2 * 4 * 256) + 24 * 256 * hidden + 2 * 256
    by_hand = 2 * hidden * hidden + attention + 3 * hidden * width + 5 * hidden
    assert model.weights is not None
    assert on_rank(model, model.weights.draft) == 2 * by_hand
    assert 2 * by_hand / 2**30 == pytest.approx(0.791, abs=0.0005)


def test_parts_say_where_the_bytes_are() -> None:
    row = next(row for row in ROWS if row["id"] == "w-qwen3.6-27b")["breakdown_tp1"]
    parts = parts_of(computed("qwen3.6-27b"), tp=1)
    assert parts["token embedding"] == row["embed"]
    assert parts["mlp"] == row["mlp"]
    assert parts["vision tower"] == row["vision"]
    assert parts["attention"] == row["q+gate"] + row["k,v"] + row["o"]
    assert parts["norms"] == pytest.approx(row["norms"] + row["qk norm"], abs=20_000)
    assert sum(parts.values()) == on_rank(computed("qwen3.6-27b"))


def parts_of(
    model: Model, tp: int, layers: range | None = None, *, first: bool = True, last: bool = True
) -> dict[str, int]:
    return rank_parts(
        target(model),
        model,
        tp=tp,
        attention_tp=tp,
        ep=1,
        pp_layers=range(model.num_layers) if layers is None else layers,
        is_first_stage=first,
        is_last_stage=last,
        vision_dp=False,
    )


def test_stages_of_a_pipeline_share_the_layers() -> None:
    model = computed("llama-3.1-8b")
    first = parts_of(model, 1, range(16), last=False)
    second = parts_of(model, 1, range(16, 32), first=False)
    assert "lm_head" not in first
    assert "token embedding" not in second
    assert sum(first.values()) + sum(second.values()) == on_rank(model)
    tied = parts_of(computed("qwen3-0.6b"), 1, range(14, 28), first=False)
    assert tied["token embedding"] == 151936 * 1024 * 2  # the last stage needs a copy for its head


def test_a_vocabulary_is_padded_for_its_ranks() -> None:
    # 73448 words: 73472 are a multiple of 64 and of 8 ranks; of 3 ranks only 73536 are.
    model = decode(DOCUMENTS["minicpm-sala"]).model
    group = WeightGroup("lm_head", None, Shard.VOCABULARY, 73448 * 4096 * 2, 0)
    assert [on_rank(model, (group,), tp=tp) // 4096 // 2 for tp in (1, 8, 3)] == [73472, 9184, 24512]


def test_key_value_heads_are_copied_where_ranks_outnumber_them() -> None:
    model = decode(DOCUMENTS["qwen3-30b-a3b"]).model  # 4 of them
    group = WeightGroup("attention", 3, Shard.KV_HEADS, 4000, 4000)
    assert [on_rank(model, (group,), tp=tp) for tp in (1, 2, 4, 8, 16)] == [4000, 2000, 1000, 1000, 1000]
    # Gemma 4's layers differ: one global head, eight in sliding layers.
    model = decode(DOCUMENTS["gemma-4-12b-awq"]).model
    full, sliding = (WeightGroup("attention", layer, Shard.KV_HEADS, 800, 800) for layer in (5, 0))
    assert (on_rank(model, (full,), tp=8), on_rank(model, (sliding,), tp=8)) == (800, 100)


def test_fused_projections_split_into_queries_and_what_may_be_copied() -> None:
    model = decode(DOCUMENTS["phi-4"]).model  # 40 heads, 10 key-value heads
    tensor = StoredTensor("model.layers.0.self_attn.qkv_proj.weight", "BF16", 60 * 128 * 5120, 60 * 128 * 5120 * 2)
    sizes = {group.shard: group.size_bytes for group in group_stored([tensor], model).target}
    assert sizes == {Shard.ATTENTION: 40 * 128 * 5120 * 2, Shard.KV_HEADS: 20 * 128 * 5120 * 2}


@pytest.mark.parametrize(
    ("name", "tp", "attention_tp", "ep", "words"),
    [
        ("qwen3-8b", 3, 3, 1, ("32 attention heads", "3 ranks")),
        ("phi-4", 4, 4, 1, ("10 key-value heads", "4 ranks")),
        ("qwen3-30b-a3b-fp8", 4, 4, 1, ("768", "192", "4 ranks", "128")),
        ("qwen3-235b-a22b-fp8", 8, 8, 1, ("1536", "192", "128")),
        ("qwen3-30b-a3b", 6, 2, 4, ("TP 6", "EP 4")),
        ("glm-4.5-air-reap-82b-awq", 64, 1, 64, ("96 experts", "64 ranks")),
        ("minicpm-sala", 6, 6, 1, ("32 attention heads",)),
        ("gemma-4-e4b", 8, 8, 1, ("12 heads", "vision")),
    ],
)
def test_what_sglang_refuses_to_divide_is_said_with_numbers(
    name: str, tp: int, attention_tp: int, ep: int, words: tuple[str, ...]
) -> None:
    sentence = check_sharding(decode(DOCUMENTS[name]).model, tp, attention_tp, ep)
    assert sentence is not None
    assert all(word in sentence for word in words), sentence


def test_what_a_flag_makes_possible_is_not_refused() -> None:
    # Whole experts on each rank: 768 wide is a multiple of 128.
    assert check_sharding(decode(DOCUMENTS["qwen3-30b-a3b-fp8"]).model, 8, 8, 8) is None
    # Attention on each rank for itself.
    assert check_sharding(decode(DOCUMENTS["qwen2.5-7b"]).model, 8, 1, 1) is None
    # Its tower can run data-parallel.
    model = replace(decode(DOCUMENTS["qwen3.6-27b"]).model, vision=Vision(None, 1152, heads=5))
    assert check_sharding(model, 2, 2, 1) is None
    odd = replace(decode(DOCUMENTS["mixtral-8x7b"]).model, experts=Experts(8, 14337))
    assert "14337" in (check_sharding(odd, 2, 2, 1) or "")


def test_what_cannot_be_computed_is_said_in_a_sentence(tmp_path: Path) -> None:
    gemma = read_model(CONFIGS / "gemma-4-31b-awq.json", "gemma")
    assert gemma.weights is None
    assert gemma.weights_trouble is not None
    assert "Gemma4ForConditionalGeneration" in gemma.weights_trouble
    quantised = DOCUMENTS["qwen3-8b"] | {"quantization_config": {"quant_method": "bitsandbytes"}}
    (tmp_path / "config.json").write_text(json.dumps(quantised))
    trouble = read_model(tmp_path, "bnb").weights_trouble
    assert trouble is not None
    assert "bitsandbytes" in trouble


@pytest.mark.parametrize(
    ("quantization", "per_element"),
    [
        ({"quant_method": "fp8"}, 1),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 1 + 4 / 128**2),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, 0.5 + 2.5 / 128),
        ({"quant_method": "gptq", "bits": 8, "group_size": 128}, 1 + 3 / 128),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, 0.5 + 2.5 / 64),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 0.5 + 1 / 16),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, 1),
        ({"quant_method": "mxfp4"}, 2),  # experts alone, and this model has none
    ],
)
def test_a_quantised_matrix_takes_its_elements_and_scales(quantization: dict[str, Any], per_element: float) -> None:
    document = DOCUMENTS["qwen3-8b"] | {"quantization_config": quantization}
    decoded = decode(document)
    weights = compute_weights(decoded)
    assert not isinstance(weights, str)
    mlp = sum(group.size_bytes for group in weights.target if group.part == "mlp")
    assert mlp == pytest.approx(36 * 3 * 4096 * 12288 * per_element, rel=0.002)
    head = next(group for group in weights.target if group.part == "lm_head")
    assert (head.size_bytes, head.convertible) == (151936 * 4096 * 2,) * 2


def test_modules_that_are_left_alone_stay_as_they_are() -> None:
    for skipped in (["model.layers.0.mlp"], ["re:.*layers\\.0\\.mlp.*"], ["*layers.0.mlp*"]):
        quantization = {"quant_method": "fp8", "modules_to_not_convert": skipped}
        weights = compute_weights(decode(DOCUMENTS["qwen3-8b"] | {"quantization_config": quantization}))
        assert not isinstance(weights, str)
        mlp = {group.layer: group.size_bytes for group in weights.target if group.part == "mlp"}
        assert mlp[0] == 2 * 3 * 4096 * 12288
        assert mlp[1] == pytest.approx(3 * 4096 * 12288, rel=0.001)
    # An expression that can't be decided without running it.
    quantization["modules_to_not_convert"] = ["re:(.*)*mlp"]
    assert isinstance(compute_weights(decode(DOCUMENTS["qwen3-8b"] | {"quantization_config": quantization})), str)


def test_files_written_for_the_real_sglang_are_read(tmp_path: Path) -> None:
    folder = make_dense_model(tmp_path / "dense")
    model = read_model(folder, "dense")
    assert model.weights is not None
    assert model.weights.exact
    in_file = (folder / "model.safetensors").stat().st_size - 8
    header_bytes = int.from_bytes((folder / "model.safetensors").read_bytes()[:8], "little")
    assert on_rank(model) == in_file - header_bytes
    without_files = read_model(folder / "config.json", "dense")
    assert on_rank(without_files) == on_rank(model)
    hybrid = read_model(make_hybrid_model(tmp_path / "hybrid"), "hybrid")
    assert hybrid.weights is not None
    assert not hybrid.weights.exact


def test_a_draft_belongs_to_no_stage() -> None:
    model = computed("glm-4.7-flash")
    assert model.weights is not None
    whole = rank_bytes(
        model.weights.draft,
        model,
        tp=1,
        attention_tp=1,
        ep=1,
        pp_layers=range(0),
        is_first_stage=False,
        is_last_stage=True,
        vision_dp=False,
    )
    assert whole == sum(group.size_bytes for group in model.weights.draft) > 0


def test_an_eagle3_draft_has_a_head_of_its_own_and_one_wide_layer() -> None:
    """By hand from llama_eagle3.py: embedding, fc of three streams, attention over two, MLP, smaller head, norms."""
    path, is_published = find_config("lmsys/sglang-EAGLE3-LLaMA3.1-Instruct-8B", cache_dir=Path("/nowhere"))
    assert is_published
    embedding, head, fc = 128256 * 4096, 32000 * 4096, 3 * 4096 * 4096
    attention, mlp, norms = (4096 + 2 * 1024) * 8192 + 4096 * 4096, 3 * 4096 * 14336, 4 * 4096
    parameters = embedding + head + fc + attention + mlp + norms
    assert sum(group.size_bytes for group in target(read_model(path, "draft"))) == 2 * parameters
