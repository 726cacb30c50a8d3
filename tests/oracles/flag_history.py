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


Spans = list[tuple[str | None, str | None]]


def read_history(folder: Path) -> dict[str, Spans]:
    """Each flag's spans: the first release that has it (None: the oldest), and the first that hasn't any more."""
    texts = {Version(wheel.name.split("-")[1]): read_wheel(wheel) for wheel in folder.glob("sglang-*.whl")}
    versions = sorted(texts)
    history: dict[str, Spans] = {}
    for option in sorted(
        {one for name in RELEASES for flag in load_inventory(name).flags for one in flag.option_strings}
    ):
        there = [has_flag(texts[version], option) for version in versions]
        for name in RELEASES:
            if there[versions.index(Version(name))] != (load_inventory(name).find(option) is not None):
                raise SystemExit(f"{option}: the text of {name} was misread")
        if not all(there):
            history[option] = _spans(there, [str(version) for version in versions])
    return history


def _spans(there: list[bool], versions: list[str]) -> Spans:
    spans: Spans = []
    for index, has in enumerate(there):
        had = index > 0 and there[index - 1]
        if has and not had:
            spans.append((versions[index] if index else None, None))
        elif had and not has:
            spans[-1] = (spans[-1][0], versions[index])
    return spans


if __name__ == "__main__":
    found = read_history(Path(sys.argv[1]))
    rows = ",\n".join(f"  {json.dumps(option)}: {json.dumps(spans)}" for option, spans in found.items())
    sys.stdout.write(f'{{"schema": 1, "flags": {{\n{rows}\n}}}}\n')
