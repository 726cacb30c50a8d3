"""Which flags a SGLang release takes, from recorded inventories: `load_inventory("0.5.11").find("--tp")`.

The inventories (`data/flags-RELEASE.json`) hold facts only: one object a flag with `options`, `dest` (argparse's
name) and, where they differ from the usual, `action` ("store" unless "store_true", "boolean" for `--x/--no-x`, or
"deprecated" for a name that is kept and does nothing), `type` ("str" unless "int", "float", "human_int" as in 8k,
"json", "json_list", "nullable_str"), `choices`, `default` (null when absent), `nargs`, `required` and `deprecated`.
Each was printed by the release's own argument parser (`tests/oracles/flag_inventory.py`). Defaults are the parser's,
the same on every machine; choices that SGLang keeps in a set are sorted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from tui.errors import UsageError

FlagType = Literal["str", "int", "float", "human_int", "json", "json_list", "nullable_str"]
Action = Literal["store", "store_true", "boolean", "deprecated"]

RELEASES = ("0.5.6.post2", "0.5.11", "0.5.23")
_DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag of a release.

    Attributes:
        option_strings: all its spellings, the main one first.
        dest: the name under which argparse stores it; for parallel sizes the long one (`tensor_parallel_size`) in
            releases up to 0.5.11.
        type: how a value is read; None for switches.
        choices: the values it takes, or None for any.
        default: the parser's default; SGLang resolves many None later, from the GPU and the model.
        nargs: `?`, `*` or `+` as in argparse, or None.
        action: `boolean` flags also have a `--no-` spelling; a `deprecated` one does nothing.
        deprecated: takes effect, with a warning.
        help: SGLang's own words, where its parser was asked; none are recorded.
    """

    option_strings: tuple[str, ...]
    dest: str
    type: FlagType | None
    choices: tuple[Any, ...] | None
    default: Any
    nargs: str | None
    action: Action
    required: bool
    deprecated: bool
    help: str = ""

    @property
    def name(self) -> str:
        """The main spelling without dashes: `mem-fraction-static`."""
        return self.option_strings[0].lstrip("-")

    @property
    def is_switch(self) -> bool:
        """It takes no value."""
        return self.action != "store"


@dataclass(frozen=True, slots=True, eq=False)
class FlagInventory:
    """All flags of one release, in the order of its usage text. Each is one of a kind: hashed by what it is."""

    release: str
    flags: tuple[Flag, ...]
    by_option: Mapping[str, Flag]

    def find(self, option: str) -> Flag | None:
        """The flag that has exactly this spelling, with its dashes."""
        return self.by_option.get(option)

    def resolve(self, option: str) -> Flag | None:
        """The flag that argparse takes this option for: an exact spelling, or a prefix of one flag's alone."""
        exact = self.find(option)
        if exact is not None:
            return exact
        meant = {flag.name: flag for name, flag in self.by_option.items() if name.startswith(option)}
        return next(iter(meant.values())) if len(meant) == 1 else None


@lru_cache(maxsize=len(RELEASES))
def load_inventory(release: str) -> FlagInventory:
    """The recorded inventory of one release.

    Raises:
        UsageError: no inventory of that release was recorded.
    """
    if release not in RELEASES:
        raise UsageError(f"no flag inventory of SGLang {release}", f"recorded are {', '.join(RELEASES)}")
    raw = json.loads((_DATA / f"flags-{release}.json").read_bytes())
    return make_inventory(release, tuple(_read_flag(item) for item in raw["flags"]))


def make_inventory(release: str, flags: tuple[Flag, ...]) -> FlagInventory:
    """An inventory of these flags."""
    return FlagInventory(release, flags, {option: flag for flag in flags for option in spellings(flag)})


def _read_flag(item: dict[str, Any]) -> Flag:
    action: Action = item.get("action", "store")
    choices = item.get("choices")
    return Flag(
        option_strings=tuple(item["options"]),
        dest=item["dest"],
        type=item.get("type", "str") if action == "store" else None,
        choices=None if choices is None else tuple(choices),
        default=item.get("default"),
        nargs=item.get("nargs"),
        action=action,
        required=item.get("required", False),
        deprecated=item.get("deprecated", False),
    )


def spellings(flag: Flag) -> tuple[str, ...]:
    """All its options, `--no-x` among them."""
    if flag.action != "boolean":
        return flag.option_strings
    return flag.option_strings + tuple("--no-" + option.removeprefix("--") for option in flag.option_strings)
