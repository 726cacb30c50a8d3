"""Bytes of recurrent state a slot (one sequence's state on one rank): convolution windows and SSM matrices.

Source: SGLang 0.5.11 and 0.5.23 configs/mamba_utils.py (Mamba2StateShape, KimiLinearStateShape), executed for the
27B: 153 944 064 bytes.
"""

from __future__ import annotations

import typing

from msgspec import Struct

from tui.model.shapes import KdaState, LightningState, Mamba2State, State

_FLOAT32_BYTES = 4
DTYPE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "float8_e4m3fn": 1}


class StateBytes(Struct, frozen=True):
    """One slot's bytes on one rank, all linear layers together.

    Attributes:
        conv_window: bytes of one token's column of the convolution windows; 0 where there are none.
        conv_kernel: tokens in a window, plus one.
    """

    conv: int
    ssm: int
    conv_window: int
    conv_kernel: int

    @property
    def slot(self) -> int:
        """What SGLang calls `mamba_cache_per_req`."""
        return self.conv + self.ssm


def state_bytes(state: State, ranks: int, layers: int, conv_dtype_bytes: int, ssm_dtype_bytes: int) -> StateBytes:
    """Bytes of a slot.

    Args:
        state: its shape.
        ranks: attention TP; SGLang has already refused numbers that don't divide the heads.
        layers: linear layers that are charged (all of them, or a pipeline stage's).
        conv_dtype_bytes: of an element of the convolution windows.
        ssm_dtype_bytes: of an element of the matrices.
    """
    window, kernel = _conv_window(state, ranks)
    conv = window * max(kernel - 1, 0) * conv_dtype_bytes * layers
    return StateBytes(
        conv=conv,
        ssm=_ssm_elements(state, ranks) * ssm_dtype_bytes * layers,
        conv_window=window * conv_dtype_bytes * layers,
        conv_kernel=kernel,
    )


def _conv_window(state: State, ranks: int) -> tuple[int, int]:
    """Elements that one token adds to a layer's convolution windows, and the kernel's length."""
    if isinstance(state, Mamba2State):
        # Where groups don't divide evenly each rank gets one of its own (extra_groups_for_head_shards).
        groups = ranks if state.groups % ranks else state.groups
        return (state.intermediate + 2 * groups * state.state_size) // ranks, state.conv_kernel
    if isinstance(state, KdaState):
        heads, keys = state.heads * state.head_dim, state.key_heads * state.key_head_dim
        return (heads + 2 * keys) // ranks, state.conv_kernel
    return 0, 0


def replay_ring_bytes(state: State, ranks: int, layers: int, records: int, conv_dtype_bytes: int) -> int:
    """Scratch with which `--enable-linear-replayssm-spec` replays drafts, for one request (GDN) or slot (KDA).

    Source: SGLang 0.5.23 configs/mamba_utils.py replayssm_ring_bytes_per_req.
    """
    if isinstance(state, LightningState):
        return 0
    heads, width, keys, key_width, is_kda = _ring_shape(state, ranks)
    if is_kda:
        values = 2 * heads * width * conv_dtype_bytes + 2 * keys * key_width * conv_dtype_bytes
        gates = heads * _FLOAT32_BYTES + heads * key_width * _FLOAT32_BYTES
        return layers * records * (values + gates)
    halves = 2 if conv_dtype_bytes != _FLOAT32_BYTES else 1  # values and keys have a low part of their own
    values = (heads * width + keys * key_width) * conv_dtype_bytes * halves
    return layers * records * (values + heads * _FLOAT32_BYTES)


def _ring_shape(state: Mamba2State | KdaState, ranks: int) -> tuple[int, int, int, int, bool]:
    """Heads, their width, key heads, their width, and whether it is KDA."""
    if isinstance(state, Mamba2State):
        return state.heads // ranks, state.head_dim, -(-state.groups // ranks), state.state_size, False
    return state.heads // ranks, state.head_dim, -(-state.key_heads // ranks), state.key_head_dim, True


def _ssm_elements(state: State, ranks: int) -> int:
    if isinstance(state, Mamba2State):
        return state.heads // ranks * state.head_dim * state.state_size
    if isinstance(state, KdaState | LightningState):
        return state.heads // ranks * state.head_dim * state.head_dim
    typing.assert_never(state)
