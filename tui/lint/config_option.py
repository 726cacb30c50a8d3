"""`--config` in a spelling that SGLang takes and ignores: only the two words `--config FILE` are read.

server_args.py prepare_server_args (0.5.6.post2:4475, 0.5.11:7280, 0.5.23:683) looks for the word itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui.lint.finding import Finding, Severity
from tui.sglang.config_file import OPTION
from tui.sglang.target import Target


def find_idle_config(words: Sequence[str], target: Target) -> Iterator[Finding]:
    """Config files that won't be read."""
    for place, word in enumerate(words):
        option, equals, value = word.partition("=")
        if not option.startswith("--c") or (option == OPTION and not equals):
            continue
        meant = next(filter(None, (inventory.resolve(option) for inventory in target.inventories)), None)
        if meant is None or OPTION not in meant.option_strings:
            continue
        file = value if equals else next(iter(words[place + 1 :]), "")
        what = f"SGLang doesn't read {word}: only `{OPTION} FILE`, in two words, is looked at"
        yield Finding("config-ignored", Severity.WARNING, OPTION.lstrip("-"), what, f"write {OPTION} {file}")
