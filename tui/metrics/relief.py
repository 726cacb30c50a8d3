"""The changes that would relieve what limits a running server, planned with its own model, flags and GPUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tui.budget.relief import more_kv, more_requests, more_slots
from tui.budget.types import FlagChange, PlanRequest
from tui.gpu import GpuReading
from tui.launch.again import spec_of
from tui.launch.planning import cards_of, make_request, smallest_total
from tui.launch.records import Recorded
from tui.metrics.limits import Bound
from tui.paths import Places
from tui.sglang.versions import NEWEST_KNOWN, parse_release

_RELIEF: Mapping[Bound, Callable[[PlanRequest], tuple[FlagChange, ...]]] = {
    Bound.SLOTS: more_slots,
    Bound.KV: more_kv,
    Bound.REQUESTS: more_requests,
}


def find_relief(places: Places, recorded: Recorded, reading: GpuReading, bound: Bound) -> tuple[FlagChange, ...]:
    """Changes with their price, cheapest first; none where no flag would help, or its GPUs aren't to be read.

    Takes as long as some ten plans: some tenths of a second.

    Raises:
        SgltuiError: its model can't be read.
    """
    relieve, launch = _RELIEF.get(bound), recorded.launch
    given = {gpu.uuid for gpu in launch.gpus}
    gpus = [gpu for gpu in reading.gpus if gpu.uuid in given]
    if relieve is None or not gpus or len(gpus) != len(given):
        return ()
    own = [member.pid for member in recorded.living_members()]
    release = parse_release(launch.sglang_version or str(NEWEST_KNOWN))
    request = make_request(spec_of(launch), release, cards_of(gpus, own), smallest_total(reading), hub=places.hub)
    return relieve(request)
