"""The lint of a launch: whose flags, which words, which model and cards, and what stops it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from tui.budget.types import Card
from tui.errors import RefusedError, SgltuiError, UsageError
from tui.gpu import GpuSnapshot
from tui.launch.fit import Warn
from tui.launch.planning import cards_of, merge_words, server_environment
from tui.launch.spec import LaunchSpec
from tui.lint import Finding, Fix, Severity, lint
from tui.model.errors import ModelError, UnknownArchitectureError
from tui.model.find import find_model
from tui.model.read import read_model
from tui.model.shapes import Model
from tui.paths import Places
from tui.sglang.config_file import Merged
from tui.sglang.interpreter import Interpreter
from tui.sglang.parse import parse_flags
from tui.sglang.target import Target, ask_target, cached_target

_DECIDED_HERE = ("model-path", "port", "host")


class Checked(Struct, frozen=True):
    """What was found, and against whose flags.

    Attributes:
        merged: the words that were looked at; None where the config file can't be used.
    """

    target: Target
    findings: tuple[Finding, ...]
    merged: Merged | None

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What SGLang would end with."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.ERROR)


def check_spec(
    spec: LaunchSpec,
    target: Target,
    cards: Sequence[Card] | None = None,
    hub: Path | None = None,
    model: Model | None = None,
) -> Checked:
    """The lint of a launch that isn't made yet; unless its model is given, it is read where its files are here.

    Args:
        spec: the launch.
        target: whose flags.
        cards: the GPUs it will see, where they are known.
        hub: the Hugging Face cache to look in, instead of the one that the environment says.
        model: its shapes, where they were read already.
    """
    try:
        merged = merge_words(spec, target)
    except UsageError as error:
        fault = Finding("config-file", Severity.ERROR, "config", error.what, error.hint or "correct the file")
        return Checked(target, (fault,), None)
    read = model or _read_model(spec.model, hub)
    found = lint(merged.words, target, read, cards, server_environment(spec.env))
    return Checked(target, (*found, *_overruled(merged)), merged)


def settle_target(spec: LaunchSpec, interpreter: Interpreter, places: Places, warn: Warn) -> Target:
    """Whose flags a launch is held against.

    A good launch never waits: only where recorded flags would refuse it, the interpreter is asked for its own.
    """
    known = cached_target(interpreter, places.flag_cache)
    if known.own or not _is_doubtful(spec, known):
        return known
    return ask_target(interpreter, places.flag_cache, plain_environment(spec), tell_of_asking(warn, interpreter))


def check_flags(
    spec: LaunchSpec, target: Target, gpus: Sequence[GpuSnapshot], hub: Path | None, warn: Warn, *, force: bool
) -> None:
    """Refuse a launch that SGLang would refuse; tell of the rest.

    Raises:
        RefusedError: there is an error, and it isn't forced.
    """
    checked = check_spec(spec, target, cards_of(gpus) or None, hub)
    for finding in checked.findings:
        if finding.severity is Severity.WARNING:
            warn(f"{finding.what}; {finding.remedy}")
    if not checked.errors:
        return
    told = "; ".join(f"{finding.what} ({finding.remedy})" for finding in checked.errors)
    if not force:
        hint = "see `sgltui preset check`, or launch it all the same with --force"
        raise RefusedError(f"SGLang {checked.target.release.text} would refuse it: {told}", hint)
    warn(f"launched all the same: {told}")


def tell_of_asking(warn: Warn, interpreter: Interpreter) -> Callable[[], None]:
    """Why it takes a while."""
    return lambda: warn(f"asking {interpreter.python} for its own flags, which may take a minute")


def plain_environment(spec: LaunchSpec) -> dict[str, str]:
    """What a launch adds to the environment, without what is only referred to."""
    return {name: value for name, value in spec.env.items() if isinstance(value, str)}


def _is_doubtful(spec: LaunchSpec, target: Target) -> bool:
    """Its words can't be parsed with these flags."""
    try:
        words = merge_words(spec, target).words
    except UsageError:
        return False
    return bool(parse_flags(words, target.inventories).troubles)


def _read_model(name: str, hub: Path | None) -> Model | None:
    """None where its files aren't here, or nobody can read them: other rules still count."""
    try:
        return read_model(find_model(name, cache_dir=hub), name)
    except (ModelError, UnknownArchitectureError, SgltuiError):
        return None


def _overruled(merged: Merged) -> list[Finding]:
    """What a config file says in vain: the launch decides it, and the command line wins."""
    found = []
    for word in merged.words[: merged.from_file]:
        name = word.removeprefix("--").replace("_", "-")
        if word.startswith("--") and name in _DECIDED_HERE:
            what = f"{name} in {merged.file} has no effect: the launch decides it"
            place = "model = …, above all tables" if name == "model-path" else f"{name} in [launch]"
            found.append(
                Finding("config-overruled", Severity.WARNING, name, what, f"write {place}", Fix(unset=(name,)))
            )
    return found
