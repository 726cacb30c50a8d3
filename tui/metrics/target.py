"""A running server as somebody to be asked: where it listens, what it demands, and what it is able to tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msgspec import Struct

from tui.errors import UsageError
from tui.keeper.files import LaunchFiles
from tui.launch.access import endpoint_of, running_words
from tui.launch.records import Recorded
from tui.metrics.live import Figures
from tui.sglang.defaults import LEAST_REQUESTS, SPECULATIVE_REQUESTS
from tui.sglang.http import Endpoint
from tui.sglang.versions import Release, parse_release
from tui.sglang.words import Words


class Target(Struct, frozen=True):
    """One launch that serves.

    Attributes:
        directory: of its records.
        has_metrics: it was started with --enable-metrics.
        replicas: data-parallel ones.
        asked_running: requests that it was to run at once, on all of them; SGLang allows at most so many.
    """

    address: str
    directory: Path
    endpoint: Endpoint
    log: Path
    release: Release | None
    has_metrics: bool
    replicas: int
    asked_running: int


def find_target(recorded: Recorded) -> Target:
    """How to ask a launch. Its API key is that of its command line, as its process has it."""
    words = running_words(recorded)
    return Target(
        address=recorded.address,
        directory=recorded.files.directory,
        endpoint=endpoint_of(recorded, words),
        log=recorded.files.log,
        release=_release(recorded.launch.sglang_version),
        has_metrics=words.has("--enable-metrics"),
        replicas=max(1, words.get_int("--dp-size", 1)),
        asked_running=words.get_int("--max-running-requests", _usual_running(words)),
    )


def _usual_running(words: Words) -> int:
    """What it allows where nobody asks for more or less, if it has the memory."""
    return SPECULATIVE_REQUESTS if words.has("--speculative-algorithm") else LEAST_REQUESTS


class Capacity(Struct, frozen=True):
    """What a server settled on at its start, by its log; None where that doesn't tell.

    Attributes:
        max_running: requests at once, of all replicas.
        kv_tokens: of one replica's KV cache.
        slots: of its state pool; None also for models without such a state.
        slot_places: requests at once that those allow, of all replicas; None where fewer were asked for.
    """

    max_running: int | None = None
    kv_tokens: int | None = None
    slots: int | None = None
    slot_places: int | None = None

    @property
    def figures(self) -> Figures:
        """As a source."""
        return Figures(max_running=self.max_running, slot_places=self.slot_places, kv_tokens=self.kv_tokens)


def read_capacity(target: Target) -> Capacity | None:
    """From the explanation that is written when it becomes ready; None as long as there is none."""
    try:
        memory: dict[str, Any] = json.loads((LaunchFiles(target.directory).diagnosis).read_bytes())["memory"]
        running, kv, state = memory["max_running_requests"], memory["kv"] or {}, memory["mamba"] or {}
        running, slots = running and running * target.replicas, state.get("slots")
        is_capped = bool(running and slots) and running < target.asked_running
        return Capacity(running, kv.get("tokens"), slots, running if is_capped else None)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # not yet, or of another version of ours
        return None


def _release(version: str | None) -> Release | None:
    try:
        return parse_release(version) if version else None
    except UsageError:  # a build that calls itself something else
        return None
