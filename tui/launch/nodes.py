"""Servers that span several machines: one launch a node, of which node 0 is to be stopped first."""

from __future__ import annotations

from tui.errors import SgltuiError
from tui.launch.config_words import read_words
from tui.launch.records import find_launch
from tui.paths import Places


def is_follower(places: Places, name: str) -> bool:
    """Another node than the first. It ignores SIGTERM in 0.5.23, and ends by itself when node 0 is gone."""
    try:
        launch = find_launch(places, name).launch
    except SgltuiError:  # the stop itself tells what is wrong with it
        return False
    return read_words(launch.argv, launch.sglang_version, launch.cwd).get_int("--node-rank", 0) > 0
