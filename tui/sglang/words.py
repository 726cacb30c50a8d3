"""What a typed command line asks for, read as SGLang's own parser would: aliases, unique prefixes, last one wins."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tui.sglang.flags import RELEASES, FlagInventory, load_inventory


class Words:
    """The words of a server's command line, to be asked for single flags.

    Args:
        words: as typed behind `python -m sglang.launch_server`.
        sglang_version: the release that will read them; the nearest recorded inventory is used.
    """

    def __init__(self, words: Sequence[str], sglang_version: str | None = None) -> None:
        self._inventory = nearest_inventory(sglang_version)
        self._values = _collect(words, self._inventory)

    def has(self, option: str) -> bool:
        """The flag that `option` (any full spelling) names is given; never where the release has no such flag."""
        return self._find(option) is not None

    def get(self, option: str) -> str | None:
        """The last value given for it, or None."""
        values = self._find(option)
        return values[-1] if values else None

    def get_int(self, option: str, default: int) -> int:
        """The value as a whole number; `default` when it isn't given or SGLang will refuse it anyway."""
        text = self.get(option)
        return int(text) if text is not None and text.isdecimal() else default

    def gpu_count(self) -> int:
        """How many GPUs of this machine the server will use: TP x PP, times DP unless that shares them."""
        nodes = max(1, self.get_int("--nnodes", 1))
        ranks = self.get_int("--tp-size", 1) * self.get_int("--pp-size", 1)
        replicas = 1 if self.has("--enable-dp-attention") else self.get_int("--dp-size", 1)
        return max(1, ranks * replicas // nodes)

    def _find(self, option: str) -> list[str] | None:
        flag = self._inventory.find(option)
        return None if flag is None else self._values.get(flag.name)


def nearest_inventory(sglang_version: str | None) -> FlagInventory:
    """The recorded inventory that fits a release best."""
    return load_inventory(nearest_release(sglang_version))


@lru_cache(maxsize=64)  # a plan asks five times
def nearest_release(sglang_version: str | None) -> str:
    """The newest recorded release that isn't newer than `sglang_version`, else the oldest; 0.5.11 when unknown."""
    if sglang_version is None:
        return "0.5.11"
    wanted = _version_key(sglang_version)
    not_newer = [release for release in RELEASES if _version_key(release) <= wanted]
    return not_newer[-1] if not_newer else RELEASES[0]


def _version_key(version: str) -> tuple[int, ...]:
    """`0.5.6.post2` -> (0, 5, 6): enough to tell inventories apart."""
    numbers = []
    for part in version.split(".")[:3]:
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        numbers.append(int(digits or 0))
    return tuple(numbers)


def _collect(words: Sequence[str], inventory: FlagInventory) -> dict[str, list[str]]:
    """Values by the main name of each flag, in the order typed; unknown flags are left to SGLang to refuse."""
    found: dict[str, list[str]] = {}
    values: list[str] | None = None
    for word in words:
        if word.startswith("--"):
            option, has_value, value = word.partition("=")
            flag = inventory.resolve(option)
            values = None if flag is None else found.setdefault(flag.name, [])
            if values is not None and has_value:
                values.append(value)
        elif values is not None:
            values.append(word)
    return found
