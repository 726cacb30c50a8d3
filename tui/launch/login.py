"""Whether systemd's login manager ends a user's processes at logout, keepers and servers among them."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

_KEY = "KillUserProcesses"
_YES = frozenset({"yes", "true", "1", "on"})
# Later ones win; a file of the same name further in front hides one behind (logind.conf.d(5)).
_FOLDERS = ("etc/systemd", "run/systemd", "usr/local/lib/systemd", "usr/lib/systemd")


@dataclass(frozen=True, slots=True)
class LoginRules:
    """What is set.

    Attributes:
        kills_at_logout: processes of this user end with the last session.
        source: the file that says so, or None.
    """

    kills_at_logout: bool
    source: Path | None = None


def find_login_rules(root: Path = Path("/"), user: str | None = None) -> LoginRules:
    """The rules of a machine whose file system starts at `root`; the default of systemd is not to kill."""
    setting, source = False, None
    for path in _files(root):
        value = _read(path)
        if value is not None:
            setting, source = value, path
    name = user or pwd.getpwuid(os.geteuid()).pw_name
    lingers = (root / "var/lib/systemd/linger" / name).exists()
    return LoginRules(setting and not lingers, source)


def _files(root: Path) -> list[Path]:
    """In the order in which they are read."""
    mains = [root / folder / "logind.conf" for folder in _FOLDERS]
    drop_ins: dict[str, Path] = {}
    for folder in _FOLDERS:
        for path in (root / folder / "logind.conf.d").glob("*.conf"):
            drop_ins.setdefault(path.name, path)
    main = next((path for path in mains if path.exists()), None)
    return [*([main] if main else []), *(drop_ins[name] for name in sorted(drop_ins))]


def _read(path: Path) -> bool | None:
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return None
    values = [value.strip() for key, _, value in (line.partition("=") for line in lines) if key.strip() == _KEY]
    return values[-1].lower() in _YES if values else None
