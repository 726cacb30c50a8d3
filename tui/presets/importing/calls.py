"""From commands to server calls: what stands before a server is understood, or said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from tui.errors import UsageError
from tui.presets.importing.containers import read_container, release_of, say_what_starts, with_entrypoint
from tui.presets.importing.remarks import Remarks, quote
from tui.presets.importing.server import Call, find_start
from tui.presets.importing.shell import read_shell
from tui.presets.importing.words import Invocation, Word, split_assignment

# What every launch of ours is anyway: in the background, outliving the terminal, with a log of its own.
_ANYWAY = frozenset({"nohup", "setsid", "exec", "time", "command", "env", "then", "do", "else", "!", "{", "unbuffer"})
_SHELLS = frozenset({"sh", "bash", "zsh", "dash"})
_ENVIRONMENTS = frozenset({"uv", "conda", "mamba", "micromamba", "poetry", "pipenv", "pixi", "hatch", "rye", "pdm"})
_ADVICE = {
    **dict.fromkeys(_ENVIRONMENTS, "if SGLang lives in that environment, give its Python in [engine] python"),
    **dict.fromkeys(("srun", "sbatch", "salloc"), "launch it inside of a job of yours"),
    "ssh": "launch it on that machine",
    **dict.fromkeys(("singularity", "apptainer", "enroot"), "sgltui starts servers of this machine, not in containers"),
}
_MAX_DEPTH = 8


def find_calls(invocations: Sequence[Invocation], remarks: Remarks, depth: int = 0) -> list[Call]:
    """All servers that the commands call."""
    calls: list[Call] = []
    others: list[str] = []
    for invocation in invocations:
        found = _calls_of(invocation, remarks, depth)
        calls += found
        if not found:
            others.append(" ".join(word.text for word in invocation.words))
            say_what_starts(invocation.words, remarks)
    if calls:
        for other in others:
            remarks.lost(f"another command: {quote(other)}")
    return calls


def _calls_of(invocation: Invocation, remarks: Remarks, depth: int) -> list[Call]:
    """The server that a command is, or those inside of one of its words."""
    words = with_entrypoint(invocation.words)
    start = find_start(words)
    if start is not None:
        at, calls = start.at, [Call(start.arguments, start.entry, start.python or invocation.python)]
    else:
        at, calls = _find_nested(words, remarks, depth)
    for call in calls:
        before = dict(invocation.environment)
        _read_prefix(words[:at], call, before, remarks)
        call.environment = before | call.environment
    if calls:
        _say_output(invocation, remarks)
    return calls


def _find_nested(words: Sequence[Word], remarks: Remarks, depth: int) -> tuple[int, list[Call]]:
    """Servers inside of one word: `bash -c "…"`, `ssh box "…"`, `tmux new -d "…"`, `sbatch --wrap="…"`."""
    for at, word in enumerate(words if depth < _MAX_DEPTH else ()):
        if "sglang" in word.text and any(blank in word.text for blank in " \n"):
            text = word.text.partition("=")[2] if word.text.startswith("--wrap=") else word.text
            try:
                calls = find_calls(read_shell(text, remarks), remarks, depth + 1)
            except UsageError:  # not a command after all
                continue
            if calls:
                return at, calls
    return 0, []


def _read_prefix(words: Sequence[Word], call: Call, before: dict[str, Word], remarks: Remarks) -> None:
    """What stands before the server: variables, containers, and programs that start others."""
    unknown: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        container = read_container([*words[at:], Word("")], remarks)
        assignment = split_assignment(word)
        if container is not None:
            before |= container.environment
            call.gpus = container.gpus or call.gpus
            call.volumes += container.volumes
            call.ports += container.ports
            call.restart = call.restart or container.restart
            call.release = release_of(container.image) if container.image else call.release
            call.python, call.is_contained = None, True
            words, at = [word for word in container.rest if word.text], 0
            continue
        if assignment is not None:
            before[assignment[0]] = assignment[1]
        elif not _is_understood(word.text, unknown):
            unknown.append(word.text)
        at += 1
    _say_prefix(unknown, remarks)


def _is_understood(text: str, before: Sequence[str]) -> bool:
    program = PurePosixPath(text).name
    return not before and (program in _ANYWAY or program in _SHELLS or text in {"-c", "-lc", "-ec", "-l", "-e"})


def _say_prefix(words: Sequence[str], remarks: Remarks) -> None:
    if words:
        program = PurePosixPath(words[0]).name
        advice = f"; {_ADVICE[program]}" if program in _ADVICE else ""
        remarks.lost(f"{quote(' '.join(words))} in front of the server{advice}")


def _say_output(invocation: Invocation, remarks: Remarks) -> None:
    if invocation.output:
        where = quote(" ".join(invocation.output))
        remarks.changed(f"{where}: each launch writes a log of its own, and `sgltui logs` shows it")
