from __future__ import annotations

import contextlib
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.models import CONFIGS, all_configs, decode, load_fixture
from tui.model.architecture import compute_weights
from tui.model.config import decode_config
from tui.model.errors import ModelError, UnknownArchitectureError
from tui.model.read import read_model
from tui.model.section import Section
from tui.model.shapes import GroupedQuery, KdaState, Latent, LightningState, Mamba2State, Model, State

RECORDED = load_fixture("shapes.json")
EVERY_ANSWER = [(release, name) for release, answers in RECORDED.items() for name in answers]
DOCUMENTS = all_configs()
HYBRID = DOCUMENTS["qwen3.6-27b"]
DENSE = DOCUMENTS["qwen3-8b"]


def decoded(name: str) -> Model:
    return decode(DOCUMENTS[name], name).model


def changed(document: dict[str, Any], *path: str, to: Any) -> dict[str, Any]:
    """A copy with one value replaced, or left out where `to` is ...."""
    result = copy.deepcopy(document)
    inner = result
    for key in path[:-1]:
        inner = inner[key]
    if to is ...:
        inner.pop(path[-1], None)
    else:
        inner[path[-1]] = to
    return result


def refusal(document: dict[str, Any]) -> ModelError:
    with pytest.raises(ModelError) as caught:
        decode(document)
    return caught.value


def slot_bytes(state: State, tp: int) -> int:
    """A slot's bytes as SGLang's `mamba_cache_per_req` counts them: convolution in bf16, recurrence in float32."""
    if isinstance(state, Mamba2State):
        groups = state.groups if state.groups % tp == 0 else tp
        conv = (state.intermediate + 2 * groups * state.state_size) // tp * (state.conv_kernel - 1)
        ssm = state.heads * state.head_dim * state.state_size // tp
    elif isinstance(state, KdaState):
        channels = state.heads * state.head_dim + 2 * state.key_heads * state.key_head_dim
        conv = channels // tp * (state.conv_kernel - 1)
        ssm = state.heads * state.head_dim**2 // tp
    else:
        conv, ssm = 0, state.heads * state.head_dim**2 // tp
    return (2 * conv + 4 * ssm) * len(state.layers)


@pytest.mark.parametrize(("release", "name"), EVERY_ANSWER)
def test_a_config_means_what_it_means_to_sglang(release: str, name: str) -> None:
    model, answer = decoded(name), RECORDED[release][name]
    # ModelConfig doesn't see what flag resolution sets before it: bfloat16 for gpt-oss in MXFP4.
    assert model.dtype == ("bfloat16" if name == "gpt-oss-20b" else answer["dtype"])
    assert model.context_length == answer["context_length"]
    assert (model.multimodal, model.num_layers) == (answer["multimodal"], answer["layers"])
    assert model.nextn_layers == answer["nextn_layers"]
    assert (model.quantization.method if model.quantization else None) == answer["quantization"]
    if "vision" in answer:
        assert model.vision is not None
        assert [model.vision.num_hidden_layers, model.vision.hidden_size] == answer["vision"]


@pytest.mark.parametrize(("release", "name"), EVERY_ANSWER)
def test_attention_has_the_shape_that_sglang_gives_it(release: str, name: str) -> None:
    attention, answer = decoded(name).attention, RECORDED[release][name]
    full = attention.full
    assert full.heads == answer["heads"]
    if isinstance(full, Latent):
        assert [full.kv_lora_rank, full.rope_dim, full.index_head_dim] == answer["latent"]
    else:
        # 0.5.11 with transformers 5.6 leaves Mixtral's values without a width.
        widths = [found or full.v_head_dim for found in answer["grouped"]]
        assert [full.kv_heads, full.head_dim, full.v_head_dim] == widths
    assert (attention.sliding is not None) == ("sliding" in answer)
    if attention.sliding is not None:
        shape = attention.sliding
        assert [shape.kv_heads, shape.head_dim, shape.v_head_dim, attention.window] == answer["sliding"]
        assert list(attention.sliding_layers) == answer["sliding_layers"]
        assert list(attention.full_layers) == answer["full_layers"]


@pytest.mark.parametrize(("release", "name"), EVERY_ANSWER)
def test_a_state_has_the_bytes_that_sglang_gives_it(release: str, name: str) -> None:
    model, answer = decoded(name), RECORDED[release][name]
    if model.state is None:
        assert "state_bytes" not in answer
        return
    for tp, expected in answer["state_bytes"].items():
        assert slot_bytes(model.state, int(tp)) == expected
    if answer["attention_layers"] is not None:
        assert list(model.attention.full_layers) == answer["attention_layers"]
    if answer.get("state_layers") is not None:
        assert list(model.state.layers) == answer["state_layers"]


def test_the_story_s_model_has_the_shapes_computed_by_hand() -> None:
    model = decoded("qwen3.6-27b")
    # Every fourth of 64 layers is attention: 4 key-value heads of 256.
    assert model.attention.full == GroupedQuery(heads=24, kv_heads=4, head_dim=256, v_head_dim=256)
    assert model.attention.full_layers == tuple(range(3, 64, 4))
    # 48 layers: 3 inputs of 48*128 + 2*16*128 channels in bf16, 48 heads' states of 128 x 128 in float32.
    assert isinstance(model.state, Mamba2State)
    assert slot_bytes(model.state, 1) == 48 * (3 * 10240 * 2 + 48 * 128 * 128 * 4) == 153_944_064
    assert slot_bytes_of("qwen3.5-9b") == 51_511_296
    assert slot_bytes_of("qwen3.5-35b-a3b") == 64_389_120
    assert (model.state_dtype, model.mtp_layers, model.nextn_layers) == ("float32", 1, 0)


def slot_bytes_of(name: str) -> int:
    state = decoded(name).state
    assert state is not None
    return slot_bytes(state, 1)


@pytest.mark.parametrize(
    ("name", "keys_bytes", "sliding_bytes"),
    # Logged on two ranks: keys of a token in all full layers, in all sliding layers.
    [("gemma-4-12b-awq", 8192, 81920), ("gemma-4-26b-a4b-awq", 5120, 51200), ("gemma-4-31b-awq", 20480, 204800)],
)
def test_gemma_4_takes_the_bytes_that_were_logged(name: str, keys_bytes: int, sliding_bytes: int) -> None:
    attention = decoded(name).attention
    full, sliding = attention.full, attention.sliding
    assert isinstance(full, GroupedQuery)
    assert sliding is not None
    assert max(1, full.kv_heads // 2) * full.head_dim * 2 * len(attention.full_layers) == keys_bytes
    assert max(1, sliding.kv_heads // 2) * sliding.head_dim * 2 * len(attention.sliding_layers) == sliding_bytes
    # 42 layers, 18 of which share another's keys and values, and have a place for them all the same.
    shared = decoded("gemma-4-e4b").attention
    assert len(shared.full_layers) + len(shared.sliding_layers) == 42


def test_what_depends_on_the_release_is_said() -> None:
    assert decoded("llama4-scout").attention.pooled_since == "0.5.8"
    assert decoded("gpt-oss-20b").attention.pooled_since is None
    since = {
        name: decoded(name).sglang_since for name in ("qwen3-8b", "qwen3.6-27b", "ling-3.0-tiny", "gemma-4-12b-awq")
    }
    assert since == {"qwen3-8b": None, "qwen3.6-27b": "0.5.9", "ling-3.0-tiny": "0.5.19", "gemma-4-12b-awq": "0.5.13"}


def test_a_sparse_index_is_charged_where_a_layer_has_its_own() -> None:
    every = decoded("deepseek-v3.2").attention.full
    assert isinstance(every, Latent)
    assert every.index_layers == tuple(range(61))
    document = changed(DOCUMENTS["glm-5.2-fp8"], "index_topk_freq", to=4)
    some = decode(document).model.attention.full
    assert isinstance(some, Latent)
    assert some.index_layers == (0, 1, *range(5, 78, 4))
    # Qwen4-Exp: one key of 128 in bf16 for 4 tokens.
    assert decoded("qwen3.8-flash-next-nvfp4").index_bytes_per_layer == 64


def test_the_dtype_is_what_auto_becomes() -> None:
    float32 = changed(DENSE, "torch_dtype", to="float32")
    assert decode(float32).model.dtype == decode(changed(DENSE, "torch_dtype", to=...)).model.dtype == "float16"
    assert decode(changed(float32, "dtype", to="bfloat16")).model.dtype == "bfloat16"
    assert decoded("gemma2-2b").dtype == "bfloat16"  # float32 in its config
    plain = changed(DOCUMENTS["gpt-oss-20b"], "quantization_config", to=...)
    assert decode(plain).model.dtype == "float16"
    assert "float8" in refusal(changed(DENSE, "torch_dtype", to="float8_e4m3fn")).what


def test_a_quantisation_is_called_as_sglang_calls_it() -> None:
    fp8 = decoded("qwen3-30b-a3b-fp8").quantization
    assert fp8 is not None
    assert (fp8.method, fp8.block) == ("fp8", (128, 128))
    document = changed(DENSE, "quantization_config", to={"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"})
    modelopt = decode(document).model.quantization
    assert modelopt is not None
    assert (modelopt.method, modelopt.block, modelopt.kv_cache_fp8) == ("modelopt_fp8", None, True)


def test_a_quantisation_beside_the_config_is_found(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(DENSE))
    quantization = {
        "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}
    }
    (tmp_path / "hf_quant_config.json").write_text(json.dumps(quantization))
    found = read_model(tmp_path, "nvfp4").quantization
    assert found is not None
    assert (found.method, found.kv_cache_fp8) == ("modelopt_fp4", True)


def test_a_head_is_tied_when_the_whole_model_says_so() -> None:
    assert not decoded("devstral-small-2-24b-awq").tied_embeddings
    assert decoded("gemma3-4b").tied_embeddings  # its class's default
    # transformers' class for the text says true; SGLang takes the word of the whole config.
    assert not decoded("qwen3-vl-30b-a3b").tied_embeddings


@pytest.mark.parametrize("key", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "64", True, [64], {}, 1e30, float("nan"), 10**40, ...])
def test_a_size_that_cannot_be_one_is_named(key: str, value: Any) -> None:
    for document, path in ((DENSE, (key,)), (HYBRID, ("text_config", key))):
        error = refusal(changed(document, *path, to=value))
        assert error.key == ".".join(path)
        assert ".".join(path) in error.what
        assert "model.json" in error.what


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("text_config", "full_attention_interval"), 0),
        (("text_config", "linear_num_value_heads"), 10**9),
        (("text_config", "tie_word_embeddings"), "yes"),
        (("text_config",), []),
        (("architectures",), "Qwen3_5ForConditionalGeneration"),
        (("architectures",), []),
        (("vision_config", "hidden_size"), -1),
        (("quantization_config",), {"quant_method": 8}),
        (("quantization_config",), {"quant_method": "fp8", "weight_block_size": [128]}),
        (("quantization_config",), {"quant_method": "awq", "bits": 0}),
        (("tie_word_embeddings",), 3),
    ],
)
def test_other_values_that_cannot_be_are_named(path: tuple[str, ...], value: Any) -> None:
    error = refusal(changed(HYBRID, *path, to=value))
    assert error.key is not None
    assert error.key.startswith(path[0]) or path == ("tie_word_embeddings",)


def test_scaled_positions_have_bounds() -> None:
    for factor in (0.0, -2.0, float("inf"), float("nan"), 1e12, "4", True):
        document = changed(DENSE, "rope_scaling", to={"type": "linear", "factor": factor})
        assert refusal(document).key == "rope_scaling.factor"


def test_a_layer_list_that_is_too_short_is_named() -> None:
    error = refusal(changed(DOCUMENTS["gpt-oss-20b"], "layer_types", to=["full_attention"]))
    assert error.what.endswith("layer_types: has 1 entries for 24 layers")


def test_defaults_of_a_class_stand_in_only_where_it_has_them() -> None:
    assert decode(changed(DENSE, "head_dim", to=...)).model.attention.full == decoded("qwen3-8b").attention.full
    without = changed(HYBRID, "text_config", "linear_key_head_dim", to=...)
    assert decode(without).model.state == decoded("qwen3.6-27b").state
    assert refusal(changed(DOCUMENTS["minicpm-sala"], "mixer_types", to=["other"])).key == "mixer_types"
    assert refusal(changed(DOCUMENTS["deepseek-r1"], "num_attention_heads", to=...)).key == "num_attention_heads"
    # What the text part of a multimodal config leaves out: Gemma 3 4B as it is published.
    assert decoded("gemma3-4b").attention.full == GroupedQuery(heads=8, kv_heads=4, head_dim=256, v_head_dim=256)


def test_an_architecture_that_nobody_knows_is_said_to_be_so() -> None:
    with pytest.raises(UnknownArchitectureError) as caught:
        decode(changed(DENSE, "architectures", to=["Mamba2ForCausalLM"]))
    assert "Mamba2ForCausalLM" in caught.value.what
    assert caught.value.hint


def test_lightning_and_kda_are_told_apart() -> None:
    assert isinstance(decoded("minicpm-sala").state, LightningState)
    assert isinstance(decoded("ring-2.5").state, LightningState)
    assert isinstance(decoded("ling-3.0-tiny").state, KdaState)
    assert decoded("ling-3.0-flash-fin").attention.full_layers == (5, 11, 17, 23, 29, 35, 41)


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.json")), ids=lambda path: path.stem)
def test_every_config_is_read_from_its_file(path: Path) -> None:
    model = read_model(path, path.stem)
    assert (model.weights is None) == (model.weights_trouble is not None)


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_garbage_in_a_config_is_refused_by_name_and_nothing_worse(data: st.DataObject) -> None:
    document = copy.deepcopy(DOCUMENTS[data.draw(st.sampled_from(sorted(DOCUMENTS)))])
    for _ in range(data.draw(st.integers(1, 4))):
        place = document
        key = data.draw(st.sampled_from(sorted(place)))
        if isinstance(place[key], dict) and place[key] and data.draw(st.booleans()):
            place = place[key]
            key = data.draw(st.sampled_from(sorted(place)))
        place[key] = data.draw(_VALUES)
    with contextlib.suppress(ModelError):
        found = compute_weights(decode_config(Section(Path("config.json"), "", document), "garbage"))
        assert isinstance(found, str) or all(group.size_bytes > 0 for group in found.target)
