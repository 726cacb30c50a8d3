"""What argparse would refuse, with the flag that was probably meant; and deprecated flags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from tui.hiding import HIDDEN, is_secret_flag
from tui.lint.case import Case
from tui.lint.finding import Finding, Fix, Severity
from tui.sglang.flag_history import find_life
from tui.sglang.meant import find_meant, find_spelling, near_names, typed_value
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
_MOST_GUESSES = 2


def find_troubles(case: Case, words: Sequence[str]) -> Iterator[Finding]:
    """What the parser refuses of the case's words."""
    hides = any(is_secret_flag(word) for word in words if word.startswith("--"))
    for trouble in case.flags.troubles:
        shown = trouble
        if hides and not trouble.option.startswith("--"):  # perhaps a part of the secret
            shown = replace(trouble, option="", text="a word on the command line belongs to no flag")
        yield _unknown(case, shown) if shown.kind is Trouble.UNKNOWN else _plain(case, shown)


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


def _plain(case: Case, trouble: FlagTrouble) -> Finding:
    name = trouble.option.lstrip("-")
    text = f"the value of {trouble.option} can't be read" if is_secret_flag(trouble.option) else trouble.text
    remedies = {
        Trouble.AMBIGUOUS: "spell it out",
        Trouble.NO_VALUE: "write a value behind it",
        Trouble.BAD_VALUE: "correct the value",
        Trouble.STRAY: "take it out, or write the flag that it belongs to in front",
    }
    found = Finding(_IDS[trouble.kind], Severity.ERROR, name, text, remedies[trouble.kind])
    moved = find_meant(trouble, case.target) if trouble.kind is Trouble.AMBIGUOUS else None
    if moved:  # the release took its name for the beginning of others
        new = " ".join(_words(key, value) for key, value in moved.items())
        found = replace(found, remedy=f"{found.remedy}: it became {new}", fix=Fix(moved, (name,)))
    return found


def _unknown(case: Case, trouble: FlagTrouble) -> Finding:
    name = trouble.option.lstrip("-")
    if not name:
        return _plain(case, replace(trouble, kind=Trouble.STRAY))
    severity = Severity.ERROR if case.target.is_exact else Severity.WARNING
    found = Finding("unknown-flag", severity, name, trouble.text, "leave it out", Fix(unset=(name,)))
    value, spelled = typed_value(trouble), find_spelling(name, case.target)
    if spelled is not None:
        return replace(found, remedy=f"SGLang spells it --{spelled}", fix=_move(name, spelled, value))
    return _explain_history(case, found, value) or _explain_typo(case, found, value)


def _explain_history(case: Case, found: Finding, value: FlagValue) -> Finding | None:
    """Another release has it; None if none is known to."""
    life = find_life(f"--{found.flag}")
    why = None if life is None else life.describe(case.release)
    if life is None or why is None:
        return None
    found = replace(found, what=f"{found.what}: {why}")
    moved = translate({found.flag: value}, None, case.target)
    if moved.flags:
        new = " ".join(_words(key, value) for key, value in moved.flags.items())
        return replace(found, id="renamed-flag", remedy=f"write {new}", fix=Fix(moved.flags, (found.flag,)))
    remedy = moved.changes[0].why if moved.changes else moved.lost[0].remedy
    return replace(found, id="later-flag" if life.gone is None else "removed-flag", remedy=remedy)


def _explain_typo(case: Case, found: Finding, value: FlagValue) -> Finding:
    guesses = near_names(found.flag, case.target)
    if not guesses:
        return found
    meant = " or ".join(f"--{guess}" for guess in guesses[:_MOST_GUESSES])
    fix = _move(found.flag, guesses[0], value) if len(guesses) == 1 else None
    return replace(found, remedy=f"did you mean {meant}?", fix=fix)


def _move(old: str, new: str, value: FlagValue) -> Fix | None:
    """None for a secret, whose value must not stand in a finding."""
    if is_secret_flag(f"--{old}") or is_secret_flag(f"--{new}"):
        return None
    return Fix({new: value}, (old,))


def _words(name: str, value: FlagValue) -> str:
    if value is True:
        return f"--{name}"
    if is_secret_flag(f"--{name}"):
        return f"--{name} {HIDDEN}"
    return f"--{name} {' '.join(map(str, value)) if isinstance(value, list) else value}"
