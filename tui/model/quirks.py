"""Where a family's weights in SGLang differ from what its checkpoint and the general rules say.

Each is read in the family's file under `models/` of SGLang 0.5.11 and 0.5.23, and shows in the parameters it makes.
"""

from __future__ import annotations

from typing import Final

from tui.model import placement
from tui.model.placement import Place
from tui.model.shapes import Model, Shard

# Vision towers that SGLang can run data-parallel (`--mm-enable-dp-encoder`); others stay divided.
WITH_VISION_DP: Final = frozenset(
    (
        *(
            "Qwen2_5_VLForConditionalGeneration",
            "Qwen3VLForConditionalGeneration",
            "Qwen3VLMoeForConditionalGeneration",
        ),
        *("Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration", "Qwen4ExpForConditionalGeneration"),
        *("KimiK25ForConditionalGeneration", "KimiVLForConditionalGeneration", "KimiK3ForConditionalGeneration"),
        *("InternVLChatModel", "Glm4vForConditionalGeneration", "Glm4vMoeForConditionalGeneration"),
        *("Glm5NextForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration"),
    )
)
_COPIED_EMBEDDING = "Gemma3", "Gemma4"  # a plain embedding, on each rank
_HEAD_OF_ITS_OWN = "Lfm2"  # also where it is tied to the embedding
_FLOAT32_HEAD = "FalconH1"
_FLOAT32 = 4


def is_dropped(place: Place, model: Model) -> bool:
    """SGLang doesn't load it: a tied lm_head, Llama 4's vision tower unless `--enable-multimodal` is given."""
    if place.part == placement.VISION_TOWER:
        return model.architecture.startswith("Llama4") and not model.multimodal
    tied = model.tied_embeddings and not model.architecture.startswith(_HEAD_OF_ITS_OWN)
    return place.part == placement.LM_HEAD and tied


def adjusted_shard(place: Place, model: Model) -> Shard:
    """How the family's tensor is divided."""
    if place.shard is Shard.VISION and model.architecture not in WITH_VISION_DP:
        return Shard.TENSOR
    if place.part == placement.EMBEDDING and model.architecture.startswith(_COPIED_EMBEDDING):
        return Shard.COPIED
    return place.shard


def head_bytes(model: Model, size_bytes: int, dtype_bytes: int) -> int:
    """What an lm_head takes, of which `size_bytes` are in the model's dtype."""
    wide = model.architecture.startswith(_FLOAT32_HEAD)
    return size_bytes * _FLOAT32 // dtype_bytes if wide else size_bytes


def copies_head(model: Model) -> bool:
    """The head is a copy of the embedding, and not in the checkpoint."""
    return model.tied_embeddings and model.architecture.startswith(_HEAD_OF_ITS_OWN)


def makes_all_keys(model: Model) -> bool:
    """Each layer is given keys and values, as wide as its queries' heads, whatever its checkpoint leaves out.

    Gemma 4's leaves out values that equal the keys, and keys and values that are those of another layer.
    """
    return model.architecture.startswith("Gemma4")
