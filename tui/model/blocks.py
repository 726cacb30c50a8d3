"""The blocks that decoder layers are made of: their parameters, named as in Hugging Face checkpoints.

Shapes are those of the layers that SGLang's `models/*.py` build; `tests` compare the sums with what releases 0.5.11 and
0.5.23 allocate.
"""

from __future__ import annotations

from collections.abc import Iterator

from tui.model.blueprint import Parameter
from tui.model.section import Section
from tui.model.shapes import GroupedQuery, Latent, Mamba2State

_FLOAT32 = 4


def linear(name: str, rows: int, columns: int, *, bias: bool = False, plain: bool = False) -> Iterator[Parameter]:
    """A matrix, and a bias for its outputs."""
    yield Parameter(f"{name}.weight", (rows, columns), plain=plain)
    if bias:
        yield Parameter(f"{name}.bias", (rows,))


def norm(name: str, width: int, *, bias: bool = False) -> Iterator[Parameter]:
    """A normalisation."""
    yield Parameter(f"{name}.weight", (width,))
    if bias:
        yield Parameter(f"{name}.bias", (width,))


def grouped_query(
    name: str,
    hidden: int,
    shape: GroupedQuery,
    *,
    bias: bool = False,
    output_bias: bool = False,
    head_norms: bool = False,
    gated: bool = False,
    output_width: int | None = None,
) -> Iterator[Parameter]:
    """Grouped-query attention; `gated`: the query projection makes an output gate as well.

    `output_width`: of what it gives, where that isn't as wide as what it gets.
    """
    width = shape.heads * shape.head_dim
    yield from linear(f"{name}.q_proj", 2 * width if gated else width, hidden, bias=bias)
    yield from linear(f"{name}.k_proj", shape.kv_heads * shape.head_dim, hidden, bias=bias)
    yield from linear(f"{name}.v_proj", shape.kv_heads * shape.v_head_dim, hidden, bias=bias)
    yield from linear(f"{name}.o_proj", output_width or hidden, shape.heads * shape.v_head_dim, bias=output_bias)
    if head_norms:
        yield from norm(f"{name}.q_norm", shape.head_dim)
        yield from norm(f"{name}.k_norm", shape.head_dim)


def latent(name: str, hidden: int, shape: Latent, section: Section, *, indexed: bool) -> Iterator[Parameter]:
    """Multi-head latent attention, with the indexer of a sparse one."""
    heads, rank, rope = shape.heads, shape.kv_lora_rank, shape.rope_dim
    nope, value, query_rank = section.count("qk_nope_head_dim"), section.count("v_head_dim"), _query_rank(section)
    if query_rank is None:
        yield from linear(f"{name}.q_proj", heads * (nope + rope), hidden)
    else:
        yield from linear(f"{name}.q_a_proj", query_rank, hidden)
        yield from norm(f"{name}.q_a_layernorm", query_rank)
        yield from linear(f"{name}.q_b_proj", heads * (nope + rope), query_rank)
    yield from linear(f"{name}.kv_a_proj_with_mqa", rank + rope, hidden)
    yield from norm(f"{name}.kv_a_layernorm", rank)
    yield from linear(f"{name}.kv_b_proj", heads * (nope + value), rank)
    yield from linear(f"{name}.o_proj", hidden, heads * value)
    if indexed and shape.index_head_dim is not None:
        yield from _indexer(f"{name}.indexer", hidden, shape.index_head_dim, query_rank or hidden, section)


def _indexer(name: str, hidden: int, width: int, query_rank: int, section: Section) -> Iterator[Parameter]:
    heads = section.count("index_n_heads")
    yield from linear(f"{name}.wq_b", heads * width, query_rank)
    yield from linear(f"{name}.wk", width, hidden)
    yield from linear(f"{name}.weights_proj", heads, hidden, plain=True)
    for kind in ("weight", "bias"):
        yield Parameter(f"{name}.k_norm.{kind}", (width,), element_bytes=_FLOAT32)


def _query_rank(section: Section) -> int | None:
    return section.optional("q_lora_rank")


def gated_delta_net(name: str, hidden: int, state: Mamba2State) -> Iterator[Parameter]:
    """A gated delta net. The projections to a number a head are too narrow for blocks of scales: never quantised."""
    keys = 2 * state.groups * state.state_size
    yield from linear(f"{name}.in_proj_qkv", keys + state.intermediate, hidden)
    yield from linear(f"{name}.in_proj_z", state.intermediate, hidden)
    yield from linear(f"{name}.in_proj_ba", 2 * state.heads, hidden, plain=True)
    yield Parameter(f"{name}.conv1d.weight", (keys + state.intermediate, 1, state.conv_kernel), plain=True)
    yield Parameter(f"{name}.A_log", (state.heads,), element_bytes=_FLOAT32)
    yield Parameter(f"{name}.dt_bias", (state.heads,))
    yield from norm(f"{name}.norm", state.head_dim)
    yield from linear(f"{name}.out_proj", hidden, state.intermediate)


def mamba2(name: str, hidden: int, state: Mamba2State) -> Iterator[Parameter]:
    """A Mamba2 mixer."""
    convolved = state.intermediate + 2 * state.groups * state.state_size
    yield from linear(f"{name}.in_proj", state.intermediate + convolved + state.heads, hidden)
    yield Parameter(f"{name}.conv1d.weight", (convolved, 1, state.conv_kernel), plain=True)
    yield Parameter(f"{name}.conv1d.bias", (convolved,))
    yield Parameter(f"{name}.A_log", (state.heads,), element_bytes=_FLOAT32)
    yield Parameter(f"{name}.D", (state.heads,))
    yield Parameter(f"{name}.dt_bias", (state.heads,))
    yield from norm(f"{name}.norm", state.intermediate)
    yield from linear(f"{name}.out_proj", hidden, state.intermediate)


def gated_mlp(name: str, hidden: int, width: int, *, bias: bool = False) -> Iterator[Parameter]:
    """An MLP with a gate."""
    yield from linear(f"{name}.gate_proj", width, hidden, bias=bias)
    yield from linear(f"{name}.up_proj", width, hidden, bias=bias)
    yield from linear(f"{name}.down_proj", hidden, width, bias=bias)


def plain_mlp(name: str, hidden: int, width: int, *, bias: bool = False) -> Iterator[Parameter]:
    """An MLP without a gate."""
    yield from linear(f"{name}.up_proj", width, hidden, bias=bias)
    yield from linear(f"{name}.down_proj", hidden, width, bias=bias)


def experts(name: str, count: int, hidden: int, width: int, *, gated: bool = True) -> Iterator[Parameter]:
    """Routed experts."""
    first = "gate_up_proj" if gated else "up_proj"
    yield Parameter(f"{name}.{first}.weight", (count, 2 * width if gated else width, hidden))
    yield Parameter(f"{name}.down_proj.weight", (count, hidden, width))


def router(name: str, count: int, hidden: int, *, correction: bool = False) -> Iterator[Parameter]:
    """What chooses experts."""
    yield from linear(name, count, hidden, plain=True)
    if correction:
        yield Parameter(f"{name}.e_score_correction_bias", (count,), element_bytes=_FLOAT32)
