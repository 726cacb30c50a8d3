"""Prints since when, and until when, each flag of the recorded inventories exists, from the wheels of the releases.

Run with the wheels of all releases from 0.5.6.post2 to 0.5.23 in one folder (`pip download --no-deps`):
`python -m tests.oracles.flag_history FOLDER > tui/sglang/data/flag-history.json`.

Nothing is imported: a release's parser is read as text. It refuses to answer where that reading disagrees with an
inventory that the release's own parser printed.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path

from packaging.version import Version

from tui.sglang.flags import RELEASES, load_inventory

_ARGUMENTS = re.compile(r"sglang/srt/(server_args|arg_groups/(fields/)?\w+)\.py")


def read_wheel(wheel: Path) -> str:
    """The files of a release that define flags, as one text."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if _ARGUMENTS.fullmatch(name)]
        return "\n".join(archive.read(name).decode() for name in sorted(names))


def has_flag(text: str, option: str) -> bool:
    """Whether the text adds it to a parser: by hand, as a spelling of a field, or by the field's own name."""
    quoted = re.escape(f'"{option}"')
    by_hand = rf'add_argument\(\s*(?:"--[\w-]+",\s*)*{quoted}'
    as_spelling = rf"(names|aliases|flag|cli|option)[^\n]{{0,40}}{quoted}"
    by_name = rf"^\s+{option[2:].replace('-', '_')}:\s*A\["
    is_field = "A[" in text and re.search(as_spelling, text) is not None
    return is_field or re.search(by_hand, text) is not None or re.search(by_name, text, re.MULTILINE) is not None


def read_history(folder: Path) -> dict[str, list[str | None]]:
    """First release that has a flag (None: the oldest that is known), and the first that hasn't any more."""
    texts = {Version(wheel.name.split("-")[1]): read_wheel(wheel) for wheel in folder.glob("sglang-*.whl")}
    versions = sorted(texts)
    history: dict[str, list[str | None]] = {}
    for option in sorted(
        {option for name in RELEASES for flag in load_inventory(name).flags for option in flag.option_strings}
    ):
        there = [has_flag(texts[version], option) for version in versions]
        for name in RELEASES:
            if there[versions.index(Version(name))] != (load_inventory(name).find(option) is not None):
                raise SystemExit(f"{option}: the text of {name} was misread")
        first, last = there.index(True), len(there) - 1 - there[::-1].index(True)
        since = None if first == 0 else str(versions[first])
        gone = None if last == len(versions) - 1 else str(versions[last + 1])
        if since or gone:
            history[option] = [since, gone]
    return history


if __name__ == "__main__":
    rows = ",\n".join(
        f"  {json.dumps(option)}: {json.dumps(row)}" for option, row in read_history(Path(sys.argv[1])).items()
    )
    sys.stdout.write(f'{{"schema": 1, "flags": {{\n{rows}\n}}}}\n')
