"""A diagnosis as Markdown for a bug tracker: versions, flags, figures, the root line with what stands around it.

Secrets and the paths of home directories are replaced: it is made to be shown to others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from tui.diagnosis.diagnosis import Diagnosis
from tui.diagnosis.redaction import redact
from tui.diagnosis.server_args import Value
from tui.diagnosis.words import describe_change, explain, headline

_TOLD = (
    *("model_path", "dtype", "quantization", "kv_cache_dtype", "tp_size", "dp_size", "pp_size", "ep_size"),
    *("mem_fraction_static", "max_running_requests", "max_total_tokens", "chunked_prefill_size", "context_length"),
    *("page_size", "attention_backend", "speculative_algorithm", "speculative_num_steps", "speculative_eagle_topk"),
    *("speculative_num_draft_tokens", "mamba_ssm_dtype", "mamba_scheduler_strategy", "mamba_radix_cache_strategy"),
    *("max_mamba_cache_size", "disable_radix_cache", "disable_cuda_graph", "cuda_graph_max_bs"),
)


class Surroundings(Struct, frozen=True):
    """What a report tells beside the diagnosis.

    Attributes:
        context: numbered lines around the root.
        machine: facts like the GPU's name and the driver's version.
    """

    arguments: Mapping[str, Value] = field(default_factory=dict)
    context: Sequence[tuple[int, str]] = ()
    machine: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()


def write_report(diagnosis: Diagnosis, around: Surroundings) -> str:
    """The whole document."""
    parts = [
        f"## SGLang {diagnosis.release or 'of unknown version'}: {diagnosis.failure}",
        explain(diagnosis),
        _facts(diagnosis, around),
        _context(diagnosis, around.context),
        _figures(diagnosis),
        _arguments(around.arguments),
        _changes(diagnosis),
    ]
    return redact("\n\n".join(part for part in parts if part), around.secrets, homes=True) + "\n"


def _facts(diagnosis: Diagnosis, around: Surroundings) -> str:
    facts = {
        "outcome": headline(diagnosis),
        "stage": diagnosis.stage.value,
        "exit": "" if diagnosis.returncode is None else str(diagnosis.returncode),
        **around.machine,
    }
    return "\n".join(f"- {name}: {value}" for name, value in facts.items() if value)


def _context(diagnosis: Diagnosis, lines: Sequence[tuple[int, str]]) -> str:
    if not lines:
        return "" if diagnosis.root_text is None else _fenced([diagnosis.root_text])
    marked = [f"{'>' if number == diagnosis.root_line else ' '} {number:>6} | {text}" for number, text in lines]
    return _fenced(marked)


def _figures(diagnosis: Diagnosis) -> str:
    rows = [(name, value) for name, value in diagnosis.memory.items() if value is not None]
    if not rows:
        return ""
    return "\n".join(["| figure | value |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


def _arguments(arguments: Mapping[str, Value]) -> str:
    told = [f"{name}={arguments[name]!r}" for name in _TOLD if arguments.get(name) is not None]
    return _fenced(told) if told else ""


def _changes(diagnosis: Diagnosis) -> str:
    items = [f"{describe_change(change)} ({change.effect})" for change in diagnosis.changes]
    return _listed("Changes that may help:", [*items, *diagnosis.advice])


def _listed(title: str, items: Iterable[str]) -> str:
    lines = [f"{number}. {item}" for number, item in enumerate(items, 1)]
    return "\n".join([title, "", *lines]) if lines else ""


def _fenced(lines: Sequence[str]) -> str:
    fence = "```"
    while any(fence in line for line in lines):
        fence += "`"
    return "\n".join([fence, *lines, fence])
