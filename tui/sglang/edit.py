"""Changing a server's command line flag by flag: what is typed stays as it was typed, but for what is changed.

A flag is meant by any of its spellings, also by those of another release: `cuda-graph-max-bs-decode` is what 0.5.11
calls `cuda-graph-max-bs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from msgspec import Struct

from tui.errors import UsageError
from tui.sglang.command import redact
from tui.sglang.flags import Flag, FlagInventory
from tui.sglang.parse import name_of, read_value
from tui.sglang.renames import RENAMES
from tui.toml_decode import did_you_mean


class FlagEdit(Struct, frozen=True):
    """What to change. Names are without dashes.

    Attributes:
        set: each flag with the words behind it; none for a switch.
        unset: flags that are left out.
    """

    set: tuple[tuple[str, tuple[str, ...]], ...] = ()
    unset: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether it changes anything."""
        return bool(self.set or self.unset)

    def setting(self, name: str, *words: str) -> FlagEdit:
        """The same edit, and this flag set."""
        return FlagEdit((*(pair for pair in self.set if pair[0] != name), (name, words)), _without(self.unset, name))

    def unsetting(self, name: str) -> FlagEdit:
        """The same edit, and this flag left out."""
        return FlagEdit(tuple(pair for pair in self.set if pair[0] != name), (*_without(self.unset, name), name))

    def forgetting(self, name: str) -> FlagEdit:
        """The same edit without a word about this flag."""
        return FlagEdit(tuple(pair for pair in self.set if pair[0] != name), _without(self.unset, name))


class GivenFlag(Struct, frozen=True):
    """One flag of a command line.

    Attributes:
        name: the release's main spelling without dashes; as typed where the release has no such flag.
        option: the same with dashes, or its `--no-` spelling.
        words: what stands behind it.
        typed: all of its words as they were typed.
    """

    name: str
    option: str
    words: tuple[str, ...]
    typed: tuple[str, ...]


class DiffLine(Struct, frozen=True):
    """One flag in a comparison of two command lines; without secrets.

    Attributes:
        sign: `-` what goes, `+` what comes, a blank for what stays.
    """

    sign: str
    text: str


def given_flags(words: Iterable[str], inventory: FlagInventory) -> tuple[GivenFlag, ...]:
    """Each flag that is typed, in order; words in front of the first are nobody's and aren't told."""
    found: list[list[str]] = []
    for word in words:
        if word.startswith("--"):
            found.append([word])
        elif found:
            found[-1].append(word)
    return tuple(_given(typed, inventory) for typed in found)


def find_flag(name: str, inventory: FlagInventory) -> Flag:
    """The flag of a release that is meant, by any spelling without dashes.

    Raises:
        UsageError: it has none; names the nearest.
    """
    flag = _lookup(name, inventory)
    if flag is None:
        names = [flag.name for flag in inventory.flags]
        near = did_you_mean(name, names, "flags").partition("flags: ")[0].strip()
        hint = near or f"`sgltui flags --sglang {inventory.release}` lists them"
        raise UsageError(f"SGLang {inventory.release} has no flag --{name}", hint)
    return flag


def check_words(flag: Flag, words: Sequence[str]) -> None:
    """Refuse what the release's own parser would.

    Raises:
        UsageError: a value is missing, there is one too many, or it is of another kind.
    """
    option = f"--{flag.name}"
    if flag.is_switch:
        if words:
            raise UsageError(f"{option} takes no value, and {' '.join(words)!r} was given")
        return
    if not words and flag.nargs not in ("?", "*"):
        raise UsageError(f"{option} needs a value", f"give it as {flag.name}=VALUE")
    if len(words) > 1 and flag.nargs not in ("+", "*"):
        raise UsageError(f"{option} takes one value, and {' '.join(words)!r} was given")
    for word in words:
        try:
            read_value(flag, word)
        except ValueError as error:
            raise UsageError(f"{option} {word}: {error}") from None


def edit_words(words: Sequence[str], edit: FlagEdit, inventory: FlagInventory) -> tuple[str, ...]:
    """The words with the edit made: a flag that was typed is changed in its place, another one comes at the end.

    Raises:
        UsageError: a flag that the release doesn't have, or a value that it doesn't take.
    """
    wanted = dict(_checked(edit, inventory))
    # As typed, too: a flag that the release has under another name is left out where its old one stands.
    known = filter(None, (_lookup(name, inventory) for name in edit.unset))
    gone = {*edit.unset, *(flag.name for flag in known)}
    edited: list[tuple[str, ...]] = [_leading(words)]
    written = set()
    for given in given_flags(words, inventory):
        if given.name in wanted:
            if given.name not in written:
                edited.append(wanted[given.name])
                written.add(given.name)
        elif given.name not in gone:
            edited.append(given.typed)
    edited += [typed for name, typed in wanted.items() if name not in written]
    return tuple(chain.from_iterable(edited))


def option_words(option: str, words: Sequence[str]) -> tuple[str, ...]:
    """An option as it is typed; a value that looks like another option is joined to it."""
    if len(words) == 1 and words[0].startswith("-"):
        return (f"{option}={words[0]}",)
    return (option, *words)


def diff_words(before: Sequence[str], after: Sequence[str], inventory: FlagInventory) -> tuple[DiffLine, ...]:
    """Two command lines compared flag by flag, in the order of the new one; what goes stands where it was."""
    old = {given.name: _shown(given) for given in given_flags(before, inventory)}
    new = {given.name: _shown(given) for given in given_flags(after, inventory)}
    return tuple(chain.from_iterable(_compare(name, old, new) for name in _merged(list(old), list(new))))


def _compare(name: str, old: dict[str, str], new: dict[str, str]) -> Iterator[DiffLine]:
    if old.get(name) == new.get(name):
        yield DiffLine(" ", new[name])
        return
    if name in old:
        yield DiffLine("-", old[name])
    if name in new:
        yield DiffLine("+", new[name])


def _merged(old: list[str], new: list[str]) -> Iterator[str]:
    """All names: the old ones in their order, then what is new."""
    yield from old
    yield from (name for name in new if name not in old)


def _shown(given: GivenFlag) -> str:
    return " ".join(redact((given.option, *given.words)))


def _given(typed: Sequence[str], inventory: FlagInventory) -> GivenFlag:
    option, equals, value = typed[0].partition("=")
    flag = inventory.resolve(option)
    name = option.removeprefix("--") if flag is None else flag.name
    words = ((value,) if equals else ()) + tuple(typed[1:])
    return GivenFlag(name, option if flag is None else _main(option, flag), words, tuple(typed))


def _main(option: str, flag: Flag) -> str:
    """The main spelling of an option; the `--no-` word of a switch means something else than its other one."""
    is_negated = flag.action == "boolean" and option.startswith("--no-") and option not in flag.option_strings
    return f"--no-{flag.name}" if is_negated else f"--{flag.name}"


def _lookup(name: str, inventory: FlagInventory) -> Flag | None:
    exact = inventory.find(f"--{name}")
    if exact is not None:
        return exact
    newest = next((flag for flag in inventory.flags if name_of(flag) == name), None)
    return newest or inventory.resolve(f"--{name}") or _renamed(name, inventory)


def _renamed(name: str, inventory: FlagInventory) -> Flag | None:
    """The flag that has this name in another release, where its values mean the same."""
    pairs = ((row.old, row.new) for row in RENAMES if not row.values)
    others = (other for pair in pairs for one, other in (pair, pair[::-1]) if one == name)
    return next((flag for other in others if (flag := inventory.find(f"--{other}")) is not None), None)


def _checked(edit: FlagEdit, inventory: FlagInventory) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each flag to be set, with all of its words."""
    for name, words in edit.set:
        flag = find_flag(name, inventory)
        check_words(flag, words)
        yield flag.name, option_words(_main(f"--{name}", flag), words)


def _leading(words: Sequence[str]) -> tuple[str, ...]:
    first = next((at for at, word in enumerate(words) if word.startswith("--")), len(words))
    return tuple(words[:first])


def _without(names: Iterable[str], name: str) -> tuple[str, ...]:
    return tuple(one for one in names if one != name)
