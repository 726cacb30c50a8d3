"""From what a detective has collected, and what is known of the end, to a diagnosis; numbers and flags come after."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from tui.diagnosis.choose import choose_root
from tui.diagnosis.classes import CLASSES, NONE, UNKNOWN, Direction
from tui.diagnosis.derived import FOREIGN_SHARE, derive
from tui.diagnosis.detective import Detective
from tui.diagnosis.diagnosis import Confidence, Diagnosis, Ending, Outcome
from tui.diagnosis.heads import Evidence, Strength
from tui.diagnosis.progress import Stage
from tui.diagnosis.rule import Role
from tui.diagnosis.silence import judge_silence

_KILLED = frozenset({-9, -15, -2, -1, 137, 143, 130})
_STARTING_SHORT = frozenset({"pool_budget_negative", "weights_oom", "mamba_budget_negative", "mamba_pool_alloc_oom"})
_OF_NEXT = frozenset({"slow_release", "http_port_in_use", "internal_port_in_use"})
_LOADING = frozenset({Stage.IMPORT, Stage.DOWNLOAD, Stage.DISTRIBUTED_INIT, Stage.WEIGHT_LOAD})
_HANGS = frozenset({"stale_jit_lock", "false_unhealthy", "slow_release"})
_CAPACITY = re.compile(r"GPU \d{1,3} has a total capacity of (?P<total>[\d.]{1,12}) GiB", re.ASCII)
_FULL_GIB = 0.5  # so little left before a graph that the next one fails


class Verdict(Struct, frozen=True):
    """What is the matter, before it is put into words.

    Attributes:
        line, text: the root; None where no line says it.
        words: the sentence of the rule, or of how it was found.
    """

    failure: str
    outcome: Outcome
    confidence: Confidence
    words: str
    line: int | None = None
    text: str | None = None
    stage: Stage | None = None
    direction: Direction | None = None
    rule: str | None = None
    is_memory: bool | None = None


def judge(detective: Detective, ending: Ending) -> Verdict:
    """The procedure: the root line first, then the process's end, then silence."""
    strong, weak, _ = detective.evidence()
    launch = detective.launch
    gone = ending.returncode not in (None, 0) or ending.killed_by is not None or launch.quit_line is not None
    stopped = ending.asked or launch.drained_line is not None
    unready = launch.ready_line is None and ending.now is None and ending.returncode is None
    if launch.drained_line is not None:
        strong = [p for p in strong if p.line < launch.drained_line or _is_of_next(p)]
    if stopped or (ending.now is not None and not gone):
        # It lives, or ended as it should: what was only logged was lived through.
        weak = [piece for piece in weak if stopped and _is_of_next(piece)]
    root = choose_root(strong, weak, weak_counts=gone or unready)
    if root is not None:
        return _by_line(detective, ending, root)
    if stopped:
        return Verdict(NONE, Outcome.STOPPED, Confidence.HIGH, "it was asked to end, and there was no error before")
    return _by_end(detective, ending) or _by_silence(detective, ending) or _healthy(detective, ending)


def _is_of_next(piece: Evidence) -> bool:
    """Behind an orderly end: what only another launch can say, which wrote nothing else before."""
    return piece.rule is not None and piece.rule.failure in _OF_NEXT


def _by_line(detective: Detective, ending: Ending, root: Evidence) -> Verdict:
    rule = root.rule
    stage = _stage(root)
    if rule is None:
        words = "it ended with an error that isn't in the table of known ones"
        return Verdict(UNKNOWN, Outcome.FAILED, Confidence.LOW, words, root.line, root.text, stage)
    sure = Confidence.HIGH if root.strength is not Strength.WEAK or detective.launch.quit_line else Confidence.MEDIUM
    if rule.role is Role.SYMPTOM:
        sure = Confidence.MEDIUM
    is_over = ending.returncode is not None or detective.launch.quit_line is not None
    outcome = Outcome.RUNNING if rule.failure in _HANGS and not is_over else Outcome.FAILED
    failure, words, direction = rule.failure, rule.describe(root.found), rule.direction
    foreign = _foreign(detective, root, ending.card_gib) if failure in _STARTING_SHORT else None
    if foreign is not None:
        failure, words, direction = "gpu_memory_foreign", f"{words}; {foreign}", None
    return Verdict(failure, outcome, sure, words, root.line, root.text, stage, direction, rule.id)


def _stage(root: Evidence) -> Stage:
    """A model is looked for before the arguments are settled, so its absence is told in an earlier stage."""
    access = root.rule is not None and root.rule.failure == "model_access"
    return Stage.DOWNLOAD if access and root.at.stage in (Stage.ARGS, Stage.IMPORT) else root.at.stage


def _foreign(detective: Detective, root: Evidence, card_gib: float | None) -> str | None:
    """Who else holds the memory: a server that still writes into this log, or whoever had it before the weights."""
    least = detective.figures.least_before
    if detective.launch.revived:
        had = f"only {least[1]:.2f} GiB were free before the weights, and " if least is not None else ""
        return f"{had}another server, which still writes into this log, holds the rest"
    capacity = _CAPACITY.search(root.text)
    before = detective.figures.of(root.ranks).avail_before
    total = float(capacity["total"]) if capacity is not None else card_gib
    if total is None or before is None:
        return None
    if total - before < FOREIGN_SHARE * total:
        return None
    return f"only {before:.2f} of {total:.2f} GiB were free before the weights: other processes hold the rest"


def _by_end(detective: Detective, ending: Ending) -> Verdict | None:
    """No line tells; the way it ended may."""
    stage = _stage_now(detective)
    if ending.killed_by == "kernel":
        words = "the kernel killed it because the machine's memory, or its cgroup's, ran out"
        return Verdict("host_oom", Outcome.FAILED, Confidence.HIGH, words, stage=stage, is_memory=True)
    found = _by_consequences(detective, ending, stage)
    if found is None and ending.returncode not in (None, 0):
        words = f"it ended with status {ending.returncode}, and its log tells of no error"
        return Verdict(UNKNOWN, Outcome.FAILED, Confidence.LOW, words, stage=stage)
    return found


def _by_consequences(detective: Detective, ending: Ending, stage: Stage) -> Verdict | None:
    """What other processes said when one was gone."""
    launch = detective.launch
    consequences = _consequences(detective)
    orphan = next((p for p in consequences if p.rule is not None and p.rule.failure == "killed_from_outside"), None)
    if orphan is None and launch.crash is not None:
        return _by_crash(*launch.crash, stage)
    waiting = next((p for p in consequences if p.rule is not None and p.rule.failure == "rank_died_elsewhere"), None)
    if waiting is not None and waiting.rule is not None:
        if waiting.rule.id == "scheduler-dead" and stage in _LOADING and ending.returncode in _KILLED:
            words = "a scheduler was killed while it loaded, without an error of its own: most likely the kernel, for "
            words += "want of host memory. Its log (dmesg) tells"
            return Verdict("host_oom", Outcome.FAILED, Confidence.LOW, words, waiting.line, waiting.text, stage)
        words = f"{waiting.rule.describe(waiting.found)}; what ended that one isn't in this log"
        return Verdict(
            "rank_died_elsewhere", Outcome.FAILED, Confidence.MEDIUM, words, waiting.line, waiting.text, stage
        )
    if orphan is None and launch.quit_line is not None:
        words = "a child process failed and SGLang killed its own tree; what the child died of isn't in this log"
        text = "Received sigquit from a child process."
        return Verdict("self_sigkill", Outcome.FAILED, Confidence.LOW, words, launch.quit_line, text, stage)
    if orphan is not None or ending.returncode in _KILLED:
        return _by_kill(detective, ending, stage)
    return None


def _consequences(detective: Detective) -> Sequence[Evidence]:
    strong, weak, _ = detective.evidence()
    return [piece for piece in (*strong, *weak) if piece.role is Role.CONSEQUENCE]


def _by_crash(line: int, crash: object, stage: Stage) -> Verdict:
    code, name = getattr(crash, "exit_code", 0), getattr(crash, "name", "a child")
    text = f"Subprocess {name} crashed with exit code {code}"
    if code in _KILLED:
        words = f"somebody, or the kernel, killed its {name} (signal {-code}); it logged no error before"
        return Verdict("killed_from_outside", Outcome.FAILED, Confidence.MEDIUM, words, line, text, stage)
    if code == -7:  # noqa: PLR2004 - SIGBUS
        words = f"its {name} met a bus error: shared memory that was full, or left over by a killed server"
        return Verdict("dev_shm_exhausted", Outcome.FAILED, Confidence.LOW, words, line, text, stage)
    words = f"its {name} crashed in native code (status {code}) without saying why"
    return Verdict(UNKNOWN, Outcome.FAILED, Confidence.LOW, words, line, text, stage)


def _by_kill(detective: Detective, ending: Ending, stage: Stage) -> Verdict:
    launch = detective.launch
    last, bar, mark = launch.last_words, detective.figures.bar, launch.mark
    if last is not None and last[1].of_end:
        return Verdict(last[1].failure, Outcome.FAILED, Confidence.LOW, last[1].words, last[0], last[1].literal, stage)
    if stage is Stage.CUDA_GRAPH_CAPTURE and mark is not None and (bar.last_avail or _FULL_GIB) < _FULL_GIB:
        words = f"it ended while capturing graphs, with {bar.last_avail} GiB of GPU memory left"
        return Verdict("cuda_graph_oom", Outcome.FAILED, Confidence.LOW, words, mark.line, mark.text, stage)
    words = (
        "somebody, or the kernel for want of host memory, killed it: there is no error before, and SGLang didn't kill "
        "itself. The kernel's log (dmesg) tells which"
    )
    if ending.killed_by == "somebody" or ending.returncode in (-15, -2, -1, 143, 130):
        words = "somebody ended it with a signal; its log tells of no error"
    return Verdict("killed_from_outside", Outcome.FAILED, Confidence.MEDIUM, words, stage=stage)


def _by_silence(detective: Detective, ending: Ending) -> Verdict | None:
    """It lives, and says nothing."""
    last = detective.last_time
    if ending.now is None or ending.returncode is not None or last is None:
        return None
    seconds = (ending.now - last).total_seconds()
    launch, stage = detective.launch, detective.progress.stage
    patience = judge_silence(stage, seconds)
    if patience is None:
        return None
    words = f"it has said nothing for {seconds:.0f} s in {stage}: {patience.words}"
    failure = patience.failure
    line, text = (launch.mark.line, launch.mark.text) if launch.mark else (None, None)
    if launch.last_words is not None and not launch.last_words[1].of_end:
        line, told = launch.last_words
        failure, words, text = told.failure, told.words, told.literal
    return Verdict(failure, Outcome.RUNNING, Confidence.MEDIUM, words, line, text, stage)


def _healthy(detective: Detective, ending: Ending) -> Verdict:
    stage = detective.progress.stage
    if ending.returncode == 0:
        return Verdict(NONE, Outcome.STOPPED, Confidence.HIGH, "it ended by itself without an error")
    if detective.launch.ready_line is not None:
        return Verdict(NONE, Outcome.RUNNING, Confidence.HIGH, "nothing is wrong with it, as far as its log tells")
    outcome = Outcome.RUNNING if ending.now is not None else Outcome.UNKNOWN
    return Verdict(NONE, outcome, Confidence.MEDIUM, f"it is in {stage}, and its log tells of no error")


def _stage_now(detective: Detective) -> Stage:
    stage = detective.progress.stage
    return Stage.RUNTIME if stage is Stage.READY else stage


def conclude(detective: Detective, ending: Ending) -> Diagnosis:
    """The diagnosis by the log alone, without changes of flags."""
    verdict = judge(detective, ending)
    kind = CLASSES[verdict.failure]
    launch = detective.launch
    _, _, consequences = detective.evidence()
    usual = kind.directions[0]
    return Diagnosis(
        release=detective.release.text if detective.release else None,
        assumed_release=None if detective.release else detective.guess_release(),
        launch_first_line=launch.first_line,
        ready_line=launch.ready_line,
        stage=verdict.stage or detective.progress.stage,
        outcome=verdict.outcome,
        root_line=verdict.line,
        root_text=verdict.text,
        failure=verdict.failure,
        confidence=verdict.confidence,
        direction=verdict.direction or usual,
        reason=verdict.words,
        is_memory=_is_memory(verdict, ending),
        secondary_lines=_secondary(detective, verdict.line, consequences),
        memory=detective.figures.to_json(detective.arguments),
        findings=(*detective.findings, *derive(detective, ending)),
        rule=verdict.rule,
        model=_text(detective.arguments.get("model_path")),
        returncode=ending.returncode,
    )


def _is_memory(verdict: Verdict, ending: Ending) -> bool | None:
    """SIGKILL out of nowhere may be the kernel's, for want of host memory."""
    if verdict.is_memory is not None:
        return verdict.is_memory
    is_open = verdict.failure == "killed_from_outside" and ending.returncode in (-9, 137) and ending.killed_by is None
    return None if is_open else CLASSES[verdict.failure].is_memory


def _secondary(detective: Detective, root: int | None, consequences: Sequence[int]) -> tuple[int, ...]:
    strong, _, _ = detective.evidence()
    lines = {*consequences, *(piece.line for piece in strong)}
    launch = detective.launch
    lines.update(line for line in (launch.quit_line, launch.crash and launch.crash[0], launch.false_ready_line) if line)
    return tuple(sorted(line for line in lines if line != root))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
