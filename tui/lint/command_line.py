"""What argparse would refuse, with the flag that was probably meant; and deprecated flags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher

from msgspec.structs import replace

from tui.hiding import HIDDEN, is_secret_flag
from tui.lint.case import Case
from tui.lint.finding import Finding, Fix, Severity
from tui.sglang.flag_history import find_life
from tui.sglang.flags import FlagInventory
from tui.sglang.parse import FlagTrouble, Given, Trouble
from tui.sglang.references import FlagValue
from tui.sglang.renames import GONE, SUCCESSORS
from tui.sglang.translate import translate

_IDS = {
    Trouble.UNKNOWN: "unknown-flag",
    Trouble.AMBIGUOUS: "ambiguous-flag",
    Trouble.NO_VALUE: "missing-value",
    Trouble.BAD_VALUE: "bad-value",
    Trouble.STRAY: "stray-word",
}
_ALIKE, _MOST_TYPOS = 0.8, 4
_MOST_GUESSES = 2


def find_troubles(case: Case, values: Mapping[str, FlagValue]) -> Iterator[Finding]:
    """What the parser refuses.

    Args:
        case: the command line.
        values: what was typed behind unknown flags, by name: a renamed flag keeps it.
    """
    hides = any(is_secret_flag(f"--{name}") for name in values)
    for trouble in case.flags.troubles:
        shown = trouble
        if hides and not trouble.option.startswith("--"):  # perhaps a part of the secret
            shown = replace(trouble, option="", text="a word on the command line belongs to no flag")
        yield _unknown(case, shown, values) if shown.kind is Trouble.UNKNOWN else _plain(shown)


def find_deprecated(case: Case) -> Iterator[Finding]:
    """Flags that still work, or do nothing any more."""
    for given in case.flags.given.values():
        if given.flag.deprecated:
            yield _deprecated(case, given)


def _deprecated(case: Case, given: Given) -> Finding:
    name, release = given.flag.name, case.release.text
    if given.flag.action == "deprecated":
        remedy = GONE.get(name, "leave it out")
        return Finding(
            "no-effect-deprecated",
            Severity.WARNING,
            name,
            f"--{name} does nothing in SGLang {release}",
            remedy,
            Fix(unset=(name,)),
        )
    successor = SUCCESSORS.get(name)
    remedy = f"write {successor}" if successor else "see its help: `sgltui flags` shows it"
    return Finding("deprecated-flag", Severity.WARNING, name, f"--{name} is deprecated in SGLang {release}", remedy)


def _plain(trouble: FlagTrouble) -> Finding:
    name = trouble.option.lstrip("-")
    text = f"the value of {trouble.option} can't be read" if is_secret_flag(trouble.option) else trouble.text
    remedies = {
        Trouble.AMBIGUOUS: "spell it out",
        Trouble.NO_VALUE: "write a value behind it",
        Trouble.BAD_VALUE: "correct the value",
        Trouble.STRAY: "take it out, or write the flag that it belongs to in front",
    }
    return Finding(_IDS[trouble.kind], Severity.ERROR, name, text, remedies[trouble.kind])


def _unknown(case: Case, trouble: FlagTrouble, values: Mapping[str, FlagValue]) -> Finding:
    name = trouble.option.lstrip("-")
    if not name:
        return _plain(replace(trouble, kind=Trouble.STRAY))
    severity = Severity.ERROR if case.target.is_exact else Severity.WARNING
    found = Finding("unknown-flag", severity, name, trouble.text, "leave it out", Fix(unset=(name,)))
    spelled = name.replace("_", "-")
    if spelled != name and _is_flag(case, spelled):
        return replace(found, remedy=f"SGLang spells it --{spelled}", fix=_move(name, spelled, values))
    return _explain_history(case, found, values) or _explain_typo(case, found, values)


def _explain_history(case: Case, found: Finding, values: Mapping[str, FlagValue]) -> Finding | None:
    """Another release has it; None if none is known to."""
    life = find_life(f"--{found.flag}")
    why = None if life is None else life.describe(case.release)
    if life is None or why is None:
        return None
    found = replace(found, what=f"{found.what}: {why}")
    moved = translate({found.flag: values.get(found.flag, True)}, None, case.target)
    if moved.flags:
        new = " ".join(_words(key, value) for key, value in moved.flags.items())
        return replace(found, id="renamed-flag", remedy=f"write {new}", fix=Fix(moved.flags, (found.flag,)))
    remedy = moved.changes[0].why if moved.changes else moved.lost[0].remedy
    return replace(found, id="later-flag" if life.gone is None else "removed-flag", remedy=remedy)


def _explain_typo(case: Case, found: Finding, values: Mapping[str, FlagValue]) -> Finding:
    guesses = list(dict.fromkeys(guess for it in case.target.inventories for guess in _guess(found.flag, it)))
    if not guesses:
        return found
    meant = " or ".join(f"--{guess}" for guess in guesses[:_MOST_GUESSES])
    fix = _move(found.flag, guesses[0], values) if len(guesses) == 1 else None
    return replace(found, remedy=f"did you mean {meant}?", fix=fix)


def _move(old: str, new: str, values: Mapping[str, FlagValue]) -> Fix | None:
    """None for a secret, whose value must not stand in a finding."""
    if is_secret_flag(f"--{old}") or is_secret_flag(f"--{new}"):
        return None
    return Fix({new: values.get(old, True)}, (old,))


def _words(name: str, value: FlagValue) -> str:
    if value is True:
        return f"--{name}"
    if is_secret_flag(f"--{name}"):
        return f"--{name} {HIDDEN}"
    return f"--{name} {' '.join(map(str, value)) if isinstance(value, list) else value}"


def _is_flag(case: Case, name: str) -> bool:
    return any(inventory.find(f"--{name}") is not None for inventory in case.target.inventories)


def _guess(name: str, inventory: FlagInventory) -> list[str]:
    """Names that are spelled much like it, the likeliest first. Only near ones are compared: it runs at each key."""
    words = set(name.split("-"))
    matcher = SequenceMatcher(b=name, autojunk=False)
    scored: list[tuple[float, str]] = []
    for option in inventory.by_option:
        other = option.lstrip("-")
        is_near = abs(len(other) - len(name)) <= _MOST_TYPOS and (
            other[:2] == name[:2] or words & set(other.split("-"))
        )
        if not is_near:
            continue
        matcher.set_seq1(other)
        if matcher.real_quick_ratio() >= _ALIKE and matcher.quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE:
            scored.append((matcher.ratio(), other))
    return [other for _, other in sorted(scored, reverse=True)]
