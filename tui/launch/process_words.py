"""What a running server was really given, secrets included, read from its main process; records hold none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tui.keeper.identity import PROC, ProcessIdentity


def read_process(server: ProcessIdentity) -> tuple[Sequence[str], Mapping[str, str]]:
    """Its command line and environment; empty when it is gone. The main process keeps both as they were."""
    try:
        argv, block = ((PROC / str(server.pid) / name).read_bytes() for name in ("cmdline", "environ"))
    except OSError:
        return (), {}
    if not server.is_alive():
        return (), {}
    words = [word.decode(errors="surrogateescape") for word in argv.split(b"\0")[:-1]]
    pairs = (entry.decode(errors="surrogateescape").partition("=") for entry in block.split(b"\0"))
    return words, {name: value for name, given, value in pairs if given}
