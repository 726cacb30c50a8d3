"""Which server may be sent requests: one of ours that is ready, on this machine, behind its own port."""

from __future__ import annotations

import ipaddress

from tui.errors import RefusedError
from tui.keeper.names import addresses
from tui.keeper.readiness import owns_port, reachable
from tui.keeper.states import State
from tui.launch.records import Recorded
from tui.metrics.target import Target, find_target


def find_ready(recorded: Recorded, *, remote_ok: bool = False) -> Target:
    """How to ask it.

    Raises:
        RefusedError: it isn't to be asked: not ready, not here, or its port is somebody else's.
    """
    launch, state = recorded.launch, recorded.current_state()
    if not recorded.is_local:
        raise RefusedError(f"{recorded.address} runs on {launch.machine.hostname}", "test it there")
    if state is not State.READY:
        raise RefusedError(f"{recorded.address} isn't ready: it is {state}", "see `sgltui ps`")
    if not (remote_ok or _is_loopback(launch.host)):
        raise RefusedError(
            f"{launch.name} listens on {launch.host} alone, which isn't this machine's loopback",
            "give --remote-ok to send requests there all the same",
        )
    target = find_target(recorded)
    if not owns_port(recorded.living_members(), launch.port, launch.host):
        raise RefusedError(f"port {launch.port} isn't listened on by {recorded.address}", "see `sgltui ps`")
    return target


def _is_loopback(host: str) -> bool:
    found = addresses(reachable(host))
    return bool(found) and all(ipaddress.ip_address(one.partition("%")[0]).is_loopback for one in found)
