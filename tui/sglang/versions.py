"""SGLang's version numbers, as packages and people write them: releases, post releases, pre-releases, own builds."""

from __future__ import annotations

import functools

from msgspec import Struct
from packaging.version import InvalidVersion, Version

from tui.errors import UsageError

OLDEST_KNOWN = Version("0.5.6")
NEWEST_KNOWN = Version("0.5.23")
_NOT_A_RELEASE = Version("0.1")  # setuptools-scm writes 0.0.0.devN where it finds no tag


@functools.total_ordering
class Release(Struct, frozen=True):
    """One SGLang, ordered by its number.

    Attributes:
        text: the version as it was given: `0.5.11.post1+cu128`.
        number: the version without its local part.
    """

    text: str
    number: Version

    def __lt__(self, other: Release) -> bool:
        return self.number < other.number

    def includes(self, version: str) -> bool:
        """Whether it has what came with that release; a pre-release of it doesn't yet."""
        return self.number >= _number(version)

    @property
    def has_number(self) -> bool:
        """False for a build from a checkout without tags, which says nothing of where it stands."""
        return self.number >= _NOT_A_RELEASE


@functools.lru_cache(maxsize=256)  # a plan asks forty times
def _number(version: str) -> Version:
    return Version(version)


@functools.lru_cache(maxsize=256)
def parse_release(text: str) -> Release:
    """Read a version.

    Raises:
        UsageError: it isn't one.
    """
    try:
        version = Version(text.strip())
    except InvalidVersion:
        raise UsageError(f"{text!r} isn't a version of SGLang", "write it as 0.5.11 or 0.5.23.post1") from None
    return Release(text.strip(), Version(version.public))


def describe_doubts(release: Release) -> list[str]:
    """What isn't certain when rules of the known releases are applied to this one; empty for a plain known release."""
    if not release.has_number:
        text = f"SGLang {release.text} was built from a checkout without a release number: {NEWEST_KNOWN} is assumed"
        return [f"{text}; give the release it stands nearest to with --sglang"]
    doubts = []
    plain = Version(release.number.base_version)
    if plain > NEWEST_KNOWN:
        doubts.append(f"SGLang {release.text} is newer than {NEWEST_KNOWN}, the newest whose rules are known here")
    if plain < OLDEST_KNOWN:
        doubts.append(f"SGLang {release.text} is older than {OLDEST_KNOWN}, the oldest whose rules are known here")
    if release.number.is_prerelease:
        doubts.append(f"SGLang {release.text} is a pre-release: parts of {plain} may be in it already")
    if "+" in release.text:
        doubts.append(f"SGLang {release.text} is a build of its own: what was patched in it isn't known")
    return doubts
