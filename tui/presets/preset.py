"""What a preset holds, and what each key may be. The descriptions are what error messages say is allowed."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tui.sglang.interpreter import Entry
from tui.sglang.references import FlagValue, Reference

_NAME = r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z"
_LINE = r"\A[^\x00-\x1f\x7f]+\Z"
_HOST = r"\A[A-Za-z0-9:][A-Za-z0-9.:_-]*\Z"
_RELEASE = r"\A[0-9][0-9A-Za-z.+-]*\Z"

NAME_RULE = "letters, digits, `.`, `_` and `-`, at most 64, the first one a letter or digit"

Text = Annotated[str, Meta(description='a text in "quotes"')]
Name = Annotated[str, Meta(pattern=_NAME, description="a name of letters, digits, `.`, `_` and `-`, at most 64")]
Model = Annotated[str, Meta(pattern=_LINE, description='a Hugging Face model id or a folder, in "quotes"')]
Release = Annotated[str, Meta(pattern=_RELEASE, description='a release of SGLang in "quotes", like "0.5.11"')]
Python = Annotated[str, Meta(pattern=_LINE, description="the path of a Python that has SGLang")]
Host = Annotated[str, Meta(pattern=_HOST, description='a host name or address, like "127.0.0.1"')]
Port = Annotated[int, Meta(ge=1, le=65535, description="a port from 1 to 65535")]
Day = Annotated[dt.date, Meta(description="a date like 2026-11-29")]
_Figure = Annotated[float, Meta(ge=0, description="a number from 0 on")]
_Count = Annotated[int, Meta(ge=0, description="a whole number from 0 on")]
_Gpu = Annotated[int, Meta(ge=0)] | Annotated[str, Meta(pattern=r"\A(GPU|MIG)-[0-9A-Za-z/-]+\Z")]
Gpus = Annotated[
    tuple[_Gpu, ...], Meta(min_length=1, description='a list of GPU indices or uuids, like [0, "GPU-1f…"]')
]


def is_name(text: str) -> bool:
    """It can name a preset, and so a file."""
    return re.search(_NAME, text) is not None


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One table of a preset."""


class Engine(_Table, frozen=True, kw_only=True):
    """Which SGLang runs it.

    Attributes:
        python: the interpreter; None: the settings' or the first that has SGLang.
        sglang: the release it was written for, as its author typed it; None: not said.
        entry: how the server is started: `python -m sglang.launch_server` or `sglang serve`.
    """

    python: Python | None = None
    sglang: Release | None = None
    entry: Annotated[Entry, Meta(description='"launch_server" or "serve"')] = "launch_server"


class LaunchDefaults(_Table, frozen=True, kw_only=True):
    """What a launch starts from when it isn't told otherwise.

    Attributes:
        gpus: indices or uuids; None: chosen at launch.
        port, host: where it listens; None: the settings' first free port, SGLang's own default host.
        name: of the server; None: the preset's.
        restart: whether a server that fails is launched again; not where it must fail again.
        restart_limit: how often.
        restart_backoff_s: the pause before the first restart in seconds; it doubles each time, up to 5 minutes.
        group: servers that are launched and stopped together.
        order: in their group: lower numbers start first, each waits until the one before is ready.
    """

    gpus: Gpus | None = None
    port: Port | None = None
    host: Host | None = None
    name: Name | None = None
    restart: Annotated[Literal["no", "on-failure"], Meta(description='"no" or "on-failure"')] = "no"
    restart_limit: Annotated[int, Meta(ge=1, le=1000, description="a number of restarts, from 1 on")] = 3
    restart_backoff_s: Annotated[float, Meta(ge=0, le=3600, description="a number of seconds, up to an hour")] = 5.0
    group: Name | None = None
    order: Annotated[int, Meta(description="a whole number")] = 0


class Evidence(_Table, frozen=True, kw_only=True):
    """What is known to work.

    Attributes:
        status: `verified` on the hardware that is named, or only `computed`.
        note: in a person's words.
        gpu, gpus, driver: on what, and on how many of them.
        sglang, date: with which release, when.
        launch: `NAME/LAUNCH` that proved it, whose records are kept.
        weights_gib, draft_weights_gib, kv_gib: of the fullest rank, as its log says.
        kv_tokens, state_slots, max_running_requests, context_length, mem_fraction_static: as SGLang resolved them.
        peak_memory_gib: what all its processes held at most, on all its GPUs.
        seconds_to_ready: from the start of the process.
        smoke: whether a request was answered well; None: none was made.
        time_to_first_token_s, tokens_per_s: of that request.
        digest: of what was proved; it no longer fits when model, flags, variables, release or GPU were changed since.
    """

    status: Annotated[Literal["computed", "verified"], Meta(description='"computed" or "verified"')]
    note: Text = ""
    gpu: Text | None = None
    gpus: Annotated[int, Meta(ge=1, description="a number of GPUs")] | None = None
    driver: Text | None = None
    sglang: Release | None = None
    date: Day | None = None
    launch: Text | None = None
    weights_gib: _Figure | None = None
    draft_weights_gib: _Figure | None = None
    kv_gib: _Figure | None = None
    kv_tokens: _Count | None = None
    state_slots: _Count | None = None
    max_running_requests: _Count | None = None
    context_length: _Count | None = None
    mem_fraction_static: _Figure | None = None
    peak_memory_gib: _Figure | None = None
    seconds_to_ready: _Figure | None = None
    smoke: Annotated[bool, Meta(description="true or false")] | None = None
    time_to_first_token_s: _Figure | None = None
    tokens_per_s: _Figure | None = None
    digest: Text | None = None


@dataclass(frozen=True, slots=True)
class Preset:
    """A launch that is worth keeping.

    Attributes:
        name: also the name of its file.
        model: a Hugging Face model id or a folder.
        flags: SGLang's flags without dashes; True is a switch, a list several words.
        env: environment variables.
        evidence: None: nothing is claimed.
        path: the file it was read from, or None.
    """

    name: str
    model: str
    description: str = ""
    engine: Engine = field(default_factory=Engine)
    flags: Mapping[str, FlagValue] = field(default_factory=dict)
    env: Mapping[str, str | Reference] = field(default_factory=dict)
    launch: LaunchDefaults = field(default_factory=LaunchDefaults)
    evidence: Evidence | None = None
    path: Path | None = field(default=None, compare=False)
