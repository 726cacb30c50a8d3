from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.models import DTYPES, all_configs, decode, write_header, write_safetensors
from tui.model.errors import IncompleteModelError, ModelError
from tui.model.headers import HEADER_LIMIT_BYTES, StoredTensor, read_checkpoint, read_header
from tui.model.read import read_model
from tui.model.shapes import Model, Shard, WeightGroup
from tui.model.tensors import group_stored

Entry = dict[str, Any]
GOOD: Entry = {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}


def header_of(path: Path, entries: Any, data_bytes: int = 12) -> Path:
    write_header(path, json.dumps(entries).encode(), data_bytes)
    return path


def refused(path: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        read_header(path)
    assert str(path) in caught.value.what
    return caught.value


def test_a_file_written_by_hand_is_read(tmp_path: Path) -> None:
    # 8 bytes little-endian: 0x48 = 72 bytes of header; then 4 bytes for two numbers of 16 bits.
    text = b'{"a.weight":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}}'.ljust(72)
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"\x48\0\0\0\0\0\0\0" + text + b"\x80\x3f\x00\x40")
    assert read_header(path) == [StoredTensor("a.weight", "BF16", 2, 4)]


def test_every_dtype_has_its_width(tmp_path: Path) -> None:
    widths = {
        "F64": 8,
        "F32": 4,
        "F16": 2,
        "BF16": 2,
        "F8_E4M3": 1,
        "F8_E5M2": 1,
        "F8_E8M0": 1,
        "U8": 1,
        "I32": 4,
        "BOOL": 1,
    }
    assert set(DTYPES) <= set(widths)
    path = tmp_path / "model.safetensors"
    for dtype, width in widths.items():
        header_of(path, {"x": {"dtype": dtype, "shape": [5, 8], "data_offsets": [0, 40 * width]}}, 40 * width)
        assert read_header(path) == [StoredTensor("x", dtype, 40, 40 * width)]
    header_of(path, {"x": {"dtype": "F4", "shape": [5, 8], "data_offsets": [0, 20]}}, 20)
    assert read_header(path)[0].size_bytes == 20


def test_scalars_and_empty_tensors_are_tensors(tmp_path: Path) -> None:
    entries = {
        "scalar": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},
        "empty": {"dtype": "F32", "shape": [0, 7], "data_offsets": [4, 4]},
        "__metadata__": {"format": "pt", "shape": "a text"},
    }
    found = read_header(header_of(tmp_path / "m.safetensors", entries, 4))
    assert [(tensor.name, tensor.elements) for tensor in found] == [("scalar", 1), ("empty", 0)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "ends within its header"),
        (b"\x01\0\0", "ends within its header"),
        (struct.pack("<Q", 1 << 40) + b"{}", "1099511627776 bytes long"),
        (struct.pack("<Q", HEADER_LIMIT_BYTES + 1), "bytes long"),
        (struct.pack("<Q", 50) + b"{}", "ends within its header"),
        (struct.pack("<Q", 4) + b"{\xff\xff}", "not JSON"),
        (struct.pack("<Q", 2) + b"[]", "not JSON"),
        (struct.pack("<Q", 5) + b"null ", "not JSON"),
        (b"<!DOCTYPE html><html>", "bytes long"),
    ],
)
def test_what_is_no_safetensors_file_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    assert words in refused(path).what


def test_a_header_as_long_as_allowed_is_not_refused_for_its_length(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", HEADER_LIMIT_BYTES))
        file.truncate(8 + 1000)
    assert isinstance(refused(path), IncompleteModelError)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dtype": "BF17"}, "dtype BF17 is unknown"),
        ({"dtype": 16}, "dtype"),
        ({"shape": [2, -3]}, "shape"),
        ({"shape": [2, 2.5]}, "shape"),
        ({"shape": "23"}, "shape"),
        ({"shape": [2, 4]}, "don't hold"),
        ({"shape": [1 << 40, 1 << 40]}, "don't hold"),
        ({"shape": [1] * 100}, "don't hold"),
        ({"data_offsets": [0, 8]}, "don't hold"),
        ({"data_offsets": [12, 0]}, "don't hold"),
        ({"data_offsets": [-12, 0]}, "don't hold"),
        ({"data_offsets": [0]}, "data_offsets"),
        ({"data_offsets": None}, "data_offsets"),
    ],
)
def test_a_damaged_entry_is_refused_with_its_tensor(tmp_path: Path, change: Entry, words: str) -> None:
    error = refused(header_of(tmp_path / "m.safetensors", {"some.weight": GOOD | change}))
    assert "some.weight" in error.what
    assert words in error.what


def test_tensors_that_overlap_are_refused(tmp_path: Path) -> None:
    second = GOOD | {"data_offsets": [6, 18]}
    assert "overlap" in refused(header_of(tmp_path / "m.safetensors", {"a": GOOD, "b": second}, 18)).what


def test_a_file_that_is_cut_off_is_an_unfinished_download(tmp_path: Path) -> None:
    error = refused(header_of(tmp_path / "m.safetensors", {"a": GOOD}, 11))
    assert isinstance(error, IncompleteModelError)
    assert "11 of its 12 bytes" in error.what
    assert "download" in error.hint


def test_what_could_steer_a_terminal_is_shown_as_text(tmp_path: Path) -> None:
    error = refused(header_of(tmp_path / "m.safetensors", {"\x1b[31mred": GOOD | {"dtype": "\x1b]0;"}}))
    assert "\x1b" not in str(error)


def test_a_pipe_is_not_read_for_ever(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.safetensors")
    refused(tmp_path / "model.safetensors")


@settings(max_examples=100, deadline=None)
@given(content=st.binary(max_size=200) | st.binary(max_size=100).map(lambda text: struct.pack("<Q", len(text)) + text))
def test_no_content_leads_to_anything_but_a_refusal(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "m.safetensors"
    path.write_bytes(content)
    try:
        read_header(path)
    except ModelError as error:
        text = str(error)
        assert text.isprintable(), text


_ENTRIES = st.dictionaries(
    st.text(max_size=5),
    st.fixed_dictionaries(
        {
            "dtype": st.sampled_from(["BF16", "F32", "F8_E4M3", "?"]),
            "shape": st.lists(st.integers(-1, 5), max_size=3),
            "data_offsets": st.lists(st.integers(-2, 60), min_size=2, max_size=2),
        }
    ),
    max_size=4,
)


@settings(max_examples=100, deadline=None)
@given(entries=_ENTRIES)
def test_what_is_accepted_fits_into_the_file(entries: Entry, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = header_of(tmp_path_factory.mktemp("fuzz") / "m.safetensors", entries, 40)
    try:
        tensors = read_header(path)
    except ModelError:
        return
    assert sum(tensor.size_bytes for tensor in tensors) <= 40


def write_index(folder: Path, entries: Any) -> None:
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": entries}))


def checkpoint_refusal(folder: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        read_checkpoint(folder)
    return caught.value


def test_an_index_says_which_files_are_read(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "one.safetensors", {"a": ("BF16", (2,))})
    write_safetensors(tmp_path / "two.safetensors", {"b": ("BF16", (3,))})
    write_safetensors(tmp_path / "not-of-it.safetensors", {"c": ("BF16", (4,))})
    write_index(tmp_path, {"a": "one.safetensors", "b": "two.safetensors"})
    found = read_checkpoint(tmp_path)
    assert found is not None
    assert [tensor.name for tensor in found] == ["a", "b"]


def test_a_missing_file_of_the_index_is_named(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "one.safetensors", {"a": ("BF16", (2,))})
    write_index(tmp_path, {"a": "one.safetensors", "b": "two.safetensors"})
    error = checkpoint_refusal(tmp_path)
    assert isinstance(error, IncompleteModelError)
    assert error.file == tmp_path / "two.safetensors"
    # A snapshot of the cache holds links; the blob behind this one was never written.
    (tmp_path / "two.safetensors").symlink_to(tmp_path / "blobs" / "0")
    assert checkpoint_refusal(tmp_path).file == tmp_path / "two.safetensors"


def test_a_tensor_that_the_header_lacks_is_named(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "one.safetensors", {"a": ("BF16", (2,))})
    write_index(tmp_path, {"a": "one.safetensors", "lost.weight": "one.safetensors"})
    error = checkpoint_refusal(tmp_path)
    assert isinstance(error, IncompleteModelError)
    assert "lost.weight" in error.what
    assert "one.safetensors" in error.what


@pytest.mark.parametrize("entries", [None, [], {}, {"a": 1}, {"a": "../one.safetensors"}, {"a": ".."}, {"a": "x\0"}])
def test_an_index_that_cannot_be_one_is_refused(tmp_path: Path, entries: Any) -> None:
    write_index(tmp_path, entries)
    assert checkpoint_refusal(tmp_path).file == tmp_path / "model.safetensors.index.json"


def test_without_an_index_a_missing_part_is_noticed(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "model-00001-of-00003.safetensors", {"a": ("BF16", (2,))})
    write_safetensors(tmp_path / "model-00003-of-00003.safetensors", {"c": ("BF16", (2,))})
    error = checkpoint_refusal(tmp_path)
    assert isinstance(error, IncompleteModelError)
    assert error.file == tmp_path / "model-00002-of-00003.safetensors"


def test_the_same_weights_under_other_names_are_not_read_twice(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "consolidated.safetensors", {"output.weight": ("BF16", (2,))})
    write_safetensors(tmp_path / "model.safetensors", {"lm_head.weight": ("BF16", (2,))})
    found = read_checkpoint(tmp_path)
    assert found is not None
    assert [tensor.name for tensor in found] == ["lm_head.weight"]


def tiny_model(**changes: Any) -> Model:
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    return decode(all_configs()["llama-3.1-8b"] | sizes | {"vocab_size": 100} | changes).model


def groups_of(model: Model, *tensors: tuple[str, str, int]) -> dict[tuple[str, int | None, Shard], WeightGroup]:
    stored = [StoredTensor(name, dtype, elements, elements * DTYPES[dtype]) for name, dtype, elements in tensors]
    weights = group_stored(stored, model)
    return {(group.part, group.layer, group.shard): group for group in (*weights.target, *weights.draft)}


def test_tied_heads_count_once_and_others_twice() -> None:
    tensors = (("model.embed_tokens.weight", "BF16", 6400), ("lm_head.weight", "BF16", 6400))
    assert list(groups_of(tiny_model(tie_word_embeddings=True), *tensors)) == [
        ("token embedding", None, Shard.VOCABULARY)
    ]
    assert len(groups_of(tiny_model(), *tensors)) == 2


def test_floating_point_is_converted_and_packed_numbers_are_not() -> None:
    found = groups_of(
        tiny_model(),
        ("model.layers.0.mlp.up_proj.weight", "F32", 1000),
        ("model.layers.0.mlp.down_proj.qweight", "I32", 1000),
        ("model.layers.1.mlp.down_proj.weight", "F8_E4M3", 1000),
        ("model.layers.1.mlp.down_proj.weight_scale_inv", "F32", 10),
    )
    first, second = found["mlp", 0, Shard.TENSOR], found["mlp", 1, Shard.TENSOR]
    assert (first.size_bytes, first.convertible) == (2000 + 4000, 2000)
    assert (second.size_bytes, second.convertible) == (1000 + 40, 0)


def test_layers_behind_the_last_are_the_draft_s() -> None:
    model = tiny_model()
    stored = [
        StoredTensor(name, "BF16", 10, 20)
        for name in (
            "model.layers.1.self_attn.q_proj.weight",
            "model.layers.2.self_attn.q_proj.weight",
            "model.layers.2.eh_proj.weight",
            "model.layers.2.embed_tokens.weight",
            "model.layers.2.shared_head.head.weight",
            "mtp.fc.weight",
            "mtp.layers.0.mlp.up_proj.weight",
        )
    ]
    weights = group_stored(stored, model)
    assert [(group.part, group.layer) for group in weights.target] == [("attention", 1)]
    # Without the embedding and the head, which the draft shares with the target in the end.
    assert sum(group.size_bytes for group in weights.draft) == 4 * 20
    assert {group.layer for group in weights.draft} == {None}


def test_a_folder_is_read_with_its_tensors(tmp_path: Path) -> None:
    document = all_configs()["llama-3.1-8b"] | {"num_hidden_layers": 1, "hidden_size": 64, "vocab_size": 128}
    (tmp_path / "config.json").write_text(json.dumps(document))
    write_safetensors(tmp_path / "model.safetensors", {"model.embed_tokens.weight": ("BF16", (128, 64))})
    weights = read_model(tmp_path, "tiny").weights
    assert weights is not None
    assert weights.exact
    assert sum(group.size_bytes for group in weights.target) == 128 * 64 * 2
