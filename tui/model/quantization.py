"""How a checkpoint is quantised: what SGLang calls it, and what a quantised matrix takes.

Sources: `_parse_quant_hf_config` and `_parse_modelopt_quant_config` of SGLang's `configs/model_config.py`, and the
`create_weights` of `layers/quantization/*.py` (0.5.11 and 0.5.23).
"""

from __future__ import annotations

from msgspec import Struct, field

from tui.model.modules import ModuleSet
from tui.model.section import Section
from tui.model.shapes import Quantization

_FLOAT32, _FLOAT16 = 4, 2
_FP4_SCALARS = 2 * _FLOAT32  # NVFP4: a global scale for the weights and one for the activations
_MOST_BITS, _MOST_GROUP = 16, 1 << 20


class Scheme(Struct, frozen=True):
    """What a quantised matrix takes: packed elements, and scales for blocks, groups, rows or the whole.

    Attributes:
        bits: of an element.
        block: rows and columns that share a float32 scale.
        group: elements of a row that share a scale.
        scale_bytes: of a group's scale; 0 for none.
        zero_points: each group has a zero point of `bits` too.
        row_bytes: of each row's scale and index.
        column_bytes: of what each input column has (GPTQ's order).
        whole_bytes: of what the matrix has once.
        skipped: modules that aren't quantised.
        experts_only: only routed experts are.
    """

    bits: int
    block: tuple[int, int] | None = None
    group: int | None = None
    scale_bytes: int = 0
    zero_points: bool = False
    row_bytes: int = 0
    column_bytes: int = 0
    whole_bytes: int = 0
    skipped: ModuleSet = field(default_factory=ModuleSet)
    experts_only: bool = False

    def matrix_bytes(self, rows: int, columns: int) -> int:
        """Bytes of a matrix with `rows` outputs and `columns` inputs, all its scales included."""
        size = _bits_to_bytes(rows * columns * self.bits) + self.whole_bytes
        size += rows * self.row_bytes + columns * self.column_bytes
        if self.block is not None:
            size += _ceil(rows, self.block[0]) * _ceil(columns, self.block[1]) * _FLOAT32
        if self.group is not None:
            groups = rows * _ceil(columns, self.group)
            size += groups * self.scale_bytes + (_bits_to_bytes(groups * self.bits) if self.zero_points else 0)
        return size


class QuantizationConfig(Struct, frozen=True):
    """A checkpoint's quantisation.

    Attributes:
        summary: what the budget wants to know.
        scheme: what matrices take; None if that can't be said from the config alone.
    """

    summary: Quantization
    scheme: Scheme | None


def read_quantization(section: Section) -> QuantizationConfig:
    """A `quantization_config`, or the content of a `hf_quant_config.json`.

    Raises:
        ModelError: a value in it can't be one.
    """
    nested = section.child("quantization")
    if nested is not None:
        section = nested
    method = _method(section)
    block = _weight_block(section) if method == "fp8" else _compressed_block(section)
    reader = _SCHEMES.get(method)
    kv_cache_fp8 = method.startswith("modelopt") and _asks_for_fp8_cache(section)
    return QuantizationConfig(Quantization(method, block, kv_cache_fp8), reader(section) if reader else None)


def _method(section: Section) -> str:
    """The method's name, told from the algorithm where ModelOpt wrote the config."""
    name = (section.text("quant_method") or "modelopt").lower()
    algorithm = (section.text("quant_algo") or "").upper()
    if name != "modelopt":
        return name
    if algorithm == "MIXED_PRECISION":
        return "modelopt_mixed"
    if algorithm == "MXFP8":
        return "mxfp8"
    return f"modelopt_{kind}" if (kind := _modelopt_kind(algorithm)) else name


def _modelopt_kind(algorithm: str) -> str | None:
    return next((kind.lower() for kind in ("FP4", "FP8") if kind in algorithm), None)


def _asks_for_fp8_cache(section: Section) -> bool:
    if isinstance(section.get("kv_cache_scheme"), dict):
        scheme = section.child("kv_cache_scheme")
        return scheme is not None and scheme.get("type") == "float" and scheme.get("num_bits") == 8  # noqa: PLR2004 - FP8
    return (section.text("kv_cache_quant_algo") or "").upper() == "FP8"


def _weight_block(section: Section) -> tuple[int, int] | None:
    return _pair(section, "weight_block_size")


def _compressed_block(section: Section) -> tuple[int, int] | None:
    weights = _group_weights(section)
    return None if weights is None else _pair(weights, "block_structure")


def _pair(section: Section, key: str) -> tuple[int, int] | None:
    sizes = section.numbers(key)
    if not sizes:
        return None
    if len(sizes) != 2 or 0 in sizes:  # noqa: PLR2004 - rows and columns
        raise section.error(key, "is not the rows and columns of a block")
    return sizes[0], sizes[1]


def _group_weights(section: Section) -> Section | None:
    """How `compressed-tensors` quantises the weights of its first group of modules."""
    groups = section.child("config_groups")
    if groups is None or not groups.values:
        return None
    group = groups.child(next(iter(groups.values)))
    return None if group is None else group.child("weights")


def _skipped(section: Section) -> ModuleSet:
    names: list[str] = []
    for key in ("modules_to_not_convert", "ignore", "exclude_modules", "ignored_layers"):
        names += section.texts(key)
    return ModuleSet(tuple(names))


def _fp8(section: Section) -> Scheme:
    block = _weight_block(section)
    whole = 0 if block else 2 * _FLOAT32  # a scale for the weights and one for the activations
    return Scheme(8, block=block, whole_bytes=whole, skipped=_skipped(section))


def _fp4(section: Section) -> Scheme:
    group = section.count("group_size", 16, most=_MOST_GROUP)
    return Scheme(4, group=group, scale_bytes=1, whole_bytes=_FP4_SCALARS, skipped=_skipped(section))


def _mxfp4(section: Section) -> Scheme:
    return Scheme(4, group=32, scale_bytes=1, skipped=_skipped(section), experts_only=True)


def _awq(section: Section) -> Scheme:
    zero_points = section.flag("zero_point", default=True)
    group = section.count("group_size", 128, most=_MOST_GROUP)
    return Scheme(_bits(section, "bits"), None, group, _FLOAT16, zero_points, skipped=_skipped(section))


def _gptq(section: Section) -> Scheme:
    bits, skipped = _bits(section, "bits"), _skipped(section)
    if section.get("group_size") == -1:  # one group a row
        return Scheme(bits, row_bytes=_FLOAT16, skipped=skipped)
    group = section.count("group_size", 128, most=_MOST_GROUP)
    return Scheme(bits, None, group, _FLOAT16, zero_points=True, column_bytes=_FLOAT32, skipped=skipped)


def _compressed(section: Section) -> Scheme | None:
    """`compressed-tensors`, where all modules are quantised alike."""
    weights, groups = _group_weights(section), section.child("config_groups")
    if weights is None or groups is None or len(groups.values) > 1:
        return None
    bits, skipped = _bits(weights, "num_bits"), _skipped(section)
    if section.text("format") == "nvfp4-pack-quantized":
        return Scheme(bits, group=16, scale_bytes=1, whole_bytes=_FP4_SCALARS, skipped=skipped)
    block = _compressed_block(section)
    if block is not None:
        return Scheme(bits, block=block, skipped=skipped)
    if weights.optional("group_size", most=_MOST_GROUP) is not None:
        zero_points = not weights.flag("symmetric", default=True)
        return Scheme(bits, None, weights.count("group_size"), _FLOAT16, zero_points, skipped=skipped)
    by_row = weights.text("strategy") == "channel"
    return Scheme(bits, row_bytes=_FLOAT32 if by_row else 0, whole_bytes=2 * _FLOAT32, skipped=skipped)


def _bits(section: Section, key: str) -> int:
    return section.count(key, 4, most=_MOST_BITS)


_SCHEMES = {
    "fp8": _fp8,
    "modelopt_fp8": _fp8,
    "modelopt_fp4": _fp4,
    "mxfp4": _mxfp4,
    "awq": _awq,
    "awq_marlin": _awq,
    "gptq": _gptq,
    "gptq_marlin": _gptq,
    "compressed-tensors": _compressed,
}


def _ceil(size: int, unit: int) -> int:
    return -(-size // unit)


def _bits_to_bytes(bits: int) -> int:
    return _ceil(bits, 8)
