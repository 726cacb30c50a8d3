"""What budgets are asked of, and answered with; pure functions from what is seen of the machine."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from msgspec import Struct

from tui.app.core import Adjusted, LaunchedServer, LaunchRequest
from tui.app.notices import Trouble
from tui.budget.types import MemoryBudget
from tui.gpu import GpuReading, GpuSnapshot
from tui.gpu.others import held_by_others
from tui.keeper.states import ALIVE
from tui.observe import Instance, Snapshot
from tui.units import MIB

_STEP_BYTES = 64 * MIB  # less than this changes no plan so that anybody would see it

Subject = LaunchedServer | LaunchRequest | Adjusted


@dataclass(frozen=True, slots=True)
class BudgetQuestion:
    """Whose budget is asked for. Equal questions have the same answer.

    Attributes:
        about: a launch that was made, or one to be made.
        occupied: what others hold of each GPU, in steps; and which GPUs running servers have.
        gpus: the machine as it was seen.
        in_steps: somebody is typing: the budget is wanted at once, the changes that would make it fit when that pauses.
    """

    about: Subject
    occupied: tuple[tuple[str, int, bool], ...]
    gpus: GpuReading = field(compare=False, repr=False)
    in_steps: bool = field(default=False, compare=False)


class BudgetAnswer(Struct, frozen=True):
    """The budget, or why there is none.

    Attributes:
        lacks_changes: those that would make it fit are still looked for.
    """

    question: BudgetQuestion
    budget: MemoryBudget | None
    trouble: Trouble = Trouble("")
    lacks_changes: bool = False


def ask_about_server(instance: Instance, snapshot: Snapshot) -> BudgetQuestion:
    """The launch of a server, on its GPUs, with its own memory free."""
    pids = frozenset(member.pid for member in instance.members)
    gpus = [gpu for gpu in snapshot.gpus.gpus if gpu.uuid in instance.gpus]
    about = LaunchedServer(instance.name, instance.launch, instance.state, pids)
    return BudgetQuestion(about, _occupied(gpus, pids, ()), snapshot.gpus)


def ask_about_request(request: LaunchRequest, snapshot: Snapshot) -> BudgetQuestion:
    """A launch that a person thinks of; its name and port change nothing about its memory."""
    about = LaunchRequest(request.preset, gpus=request.gpus, edit=request.edit)
    given = {uuid for one in snapshot.instances if one.local and one.state in ALIVE for uuid in one.gpus}
    return BudgetQuestion(about, _occupied(snapshot.gpus.gpus, frozenset(), given), snapshot.gpus)


def again(instance: Instance) -> Adjusted:
    """The same launch in its own place."""
    return Adjusted(instance.name, instance.launch, pids=frozenset(member.pid for member in instance.members))


def ask_about_adjusted(about: Adjusted, snapshot: Snapshot) -> BudgetQuestion:
    """A launch in the place of one that was made; others that run keep their GPUs."""
    others = (one for one in snapshot.instances if one.local and one.state in ALIVE and one.name != about.name)
    given = {uuid for one in others for uuid in one.gpus}
    return BudgetQuestion(about, _occupied(snapshot.gpus.gpus, about.pids, given), snapshot.gpus)


def _occupied(
    gpus: Iterable[GpuSnapshot], own: frozenset[int], given: Collection[str]
) -> tuple[tuple[str, int, bool], ...]:
    return tuple((gpu.uuid, round(held_by_others(gpu, own) / _STEP_BYTES), gpu.uuid in given) for gpu in gpus)
