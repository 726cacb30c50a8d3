"""Whether systemd ends servers when their user logs out, and what keeps them.

What is started from a login belongs to that session's scope, which the login manager may end with it
(`manager_shall_kill` in systemd's logind-core.c); `loginctl enable-linger` changes nothing about that. What is started
by `systemd-run --user` belongs to the user's own manager, which ends with the last session unless the user lingers.
"""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

_KEYS = ("KillUserProcesses", "KillOnlyUsers", "KillExcludeUsers")
_YES = frozenset({"yes", "y", "true", "t", "1", "on"})
# Later ones win; a file of the same name further in front hides one behind (logind.conf.d(5)).
_FOLDERS = ("etc/systemd", "run/systemd", "usr/local/lib/systemd", "usr/lib/systemd")
_SESSION = re.compile(r"/session-[^/]+\.scope(?:/|$)", re.MULTILINE)
_MANAGER = re.compile(r"/user@\d+\.service(?:/|$)", re.MULTILINE)


class Ending(Struct, frozen=True):
    """Why servers that are started from here end at a logout, and what to do about it."""

    why: str
    remedy: str


@dataclass(slots=True)
class _Rules:
    """What the login manager's files say; `excluded` None: they don't, and root is."""

    kills: bool = False
    only: list[str] = field(default_factory=list)
    excluded: list[str] | None = None
    source: Path | None = None


def find_ending(root: Path = Path("/"), user: str | None = None) -> Ending | None:
    """What ends servers that this process starts when its user logs out; None where they go on.

    Args:
        root: where the machine's file system starts.
        user: whose; None: this process's.
    """
    name = user or _own_name()
    try:
        own = (root / "proc/self/cgroup").read_text()
    except OSError:
        return None
    # Innermost first: a manager's scopes stand below `user@UID.service`, and that never below a session's.
    if _MANAGER.search(own):
        return (
            None
            if _lingers(root, name)
            else Ending(
                "servers belong to systemd's manager of your own, which ends with your last session",
                "`loginctl enable-linger` keeps it",
            )
        )
    rules = _read_rules(root)
    if not _SESSION.search(own) or not _kills(rules, name):
        return None
    return Ending(
        f"{rules.source} says that processes of a session end with it: servers end when you log out",
        "`loginctl enable-linger`, then start sgltui by `systemd-run --user --scope sgltui`",
    )


def _kills(rules: _Rules, name: str) -> bool:
    """As `manager_shall_kill` decides."""
    if name in (["root"] if rules.excluded is None else rules.excluded):
        return False
    return name in rules.only if rules.only else rules.kills


def _lingers(root: Path, name: str) -> bool:
    return (root / "var/lib/systemd/linger" / name).exists()


def _own_name() -> str:
    """A user of a container often has no name; then it is the number."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _read_rules(root: Path) -> _Rules:
    """What is set; where nothing is, the distributions' own default, which is not to kill."""
    rules = _Rules()
    for path in _files(root):
        for key, value in _settings(path):
            if key == "KillUserProcesses":
                rules.kills = value.lower() in _YES
            elif key == "KillOnlyUsers":
                rules.only = [*rules.only, *value.split()] if value else []
            else:
                rules.excluded = [*(rules.excluded or []), *value.split()] if value else []
            rules.source = path
    return rules


def _files(root: Path) -> list[Path]:
    """In the order in which they are read."""
    mains = [root / folder / "logind.conf" for folder in _FOLDERS]
    drop_ins: dict[str, Path] = {}
    for folder in _FOLDERS:
        for path in (root / folder / "logind.conf.d").glob("*.conf"):
            drop_ins.setdefault(path.name, path)
    main = next((path for path in mains if path.exists()), None)
    return [*([main] if main else []), *(drop_ins[name] for name in sorted(drop_ins))]


def _settings(path: Path) -> Iterator[tuple[str, str]]:
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return
    for key, _, value in (line.partition("=") for line in lines):
        if key.strip() in _KEYS:
            yield key.strip(), value.strip()
