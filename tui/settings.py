"""The user's settings: `config.toml`. Everything has a default; the file needn't be there."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from tui.paths import Places

_DAY_S = 24 * 60 * 60

Seconds = Annotated[float, Meta(ge=0, le=_DAY_S, description="a number of seconds, up to a day")]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a user may set once for all presets.

    Attributes:
        python: the interpreter that runs SGLang, where a preset names none.
        ascii: draw with ASCII characters only.
        mouse: take part in mouse movements; false leaves them to the terminal, which then selects text as ever.
        port: the first port to try for a new server.
        grace_s: how long a server may take to end by itself before it is killed, in seconds.
        release_wait_s: how long to wait for GPU memory to come back after that, in seconds.
        keep_launches: how many launches of a server keep their records and logs; those that a preset names as evidence
            are kept anyway.
        log_limit_mib: what a server's log may grow to before its older lines are moved to compressed files.
        log_total_mib: what the log of one launch may take on the disk in all; the oldest files go first.
        log_days: after so many days a compressed file is deleted.
        theme: the colours of the screen; None: those that were chosen on it last, or by the terminal's background.
        notify: how the terminal calls somebody who looks elsewhere when a server is ready, has failed, or leaves memory
            behind.
        keys: other keys for commands of the screen; what can stand there is checked by the screen.
    """

    python: Annotated[str, Meta(min_length=1, description="the path of a Python that has SGLang")] | None = None
    ascii: Annotated[bool, Meta(description="true or false")] = False
    mouse: Annotated[bool, Meta(description="true or false")] = True
    port: Annotated[int, Meta(ge=1, le=65535, description="a port from 1 to 65535")] = 30000
    grace_s: Seconds = 30.0
    release_wait_s: Seconds = 60.0
    keep_launches: Annotated[int, Meta(ge=1, le=100_000, description="a number of launches, from 1 on")] = 20
    log_limit_mib: Annotated[int, Meta(ge=1, le=1 << 20, description="a number of MiB, from 1 on")] = 256
    log_total_mib: Annotated[int, Meta(ge=1, le=1 << 30, description="a number of MiB, from 1 on")] = 8192
    log_days: Annotated[float, Meta(gt=0, le=100_000, description="a number of days")] = 30.0
    theme: Annotated[str, Meta(min_length=1, description="the name of a theme")] | None = None
    notify: Annotated[
        tuple[Literal["bell", "desktop", "title"], ...], Meta(description='a list of "bell", "desktop" and "title"')
    ] = ()
    keys: Annotated[dict[str, Any], Meta(description="a table of commands and their keys")] = {}


def load_settings(places: Places) -> Settings:
    """The settings of a user.

    Raises:
        TomlError: the file is there and can't be used; says where and why.
    """
    try:
        places.settings_file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return Settings()
    from tui.toml_decode import read_toml  # noqa: PLC0415 - most people have no settings, and pay nothing for TOML

    return read_toml(places.settings_file).decode(Settings)
