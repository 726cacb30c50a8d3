"""Published configs of a few models, for those whose files aren't here: sizes follow from them alone."""

from __future__ import annotations

from pathlib import Path

from tui.model.errors import ModelNotFoundError
from tui.model.find import find_model

_FOLDER = Path(__file__).parent / "configs"
_FILES = {
    "deepseek-ai/DeepSeek-R1": "deepseek-r1.json",
    "deepseek-ai/DeepSeek-R1-0528": "deepseek-r1.json",
    "deepseek-ai/DeepSeek-V3": "deepseek-r1.json",
    "deepseek-ai/DeepSeek-V3-0324": "deepseek-r1.json",
    "lmsys/sglang-EAGLE3-LLaMA3.1-Instruct-8B": "eagle3-llama-3.1-8b.json",
    "meta-llama/Llama-3.1-8B": "llama-3.1-8b.json",
    "meta-llama/Llama-3.1-8B-Instruct": "llama-3.1-8b.json",
    "openai/gpt-oss-20b": "gpt-oss-20b.json",
    "Qwen/Qwen3-VL-8B-Instruct": "qwen3-vl-8b.json",
    "Qwen/Qwen3-0.6B": "qwen3-0.6b.json",
    "Qwen/Qwen3-8B": "qwen3-8b.json",
    "Qwen/Qwen3-30B-A3B": "qwen3-30b-a3b.json",
    "Qwen/Qwen3-32B": "qwen3-32b.json",
    "Qwen/Qwen3-235B-A22B-FP8": "qwen3-235b-a22b-fp8.json",
    "Qwen/Qwen3.5-27B": "qwen3.6-27b.json",
    "Qwen/Qwen3.5-35B-A3B": "qwen3.5-35b-a3b.json",
    "Qwen/Qwen3.6-27B": "qwen3.6-27b.json",
}


def published_config(model_id: str) -> Path | None:
    """The config of a model by its Hugging Face id, or None."""
    file = _FILES.get(model_id)
    return None if file is None else _FOLDER / file


def find_config(path_or_id: str, *, cache_dir: Path | None = None) -> tuple[Path, bool]:
    """What `find_model` finds, else the published config; and whether it is that one.

    Raises:
        ModelNotFoundError: it is neither here nor among the published ones.
        ModelError: it is here, and can't be a model.
    """
    try:
        return find_model(path_or_id, cache_dir=cache_dir), False
    except ModelNotFoundError as error:
        published = published_config(path_or_id)
        if published is None or error.file is not None:  # a download that isn't complete says so
            raise
        return published, True
