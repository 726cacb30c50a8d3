"""What must not leave a log: keys, tokens, the user's name in paths. Replaced in everything that is shown of it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tui.hiding import HIDDEN

_LEAST = 4  # characters of a secret that is looked for by its value

_TOKENS = re.compile(
    r"\bhf_[A-Za-z0-9]{8,200}"
    r"|\bsk-[A-Za-z0-9_-]{8,200}"
    r"|(?<=Bearer )[\w.~+/=-]{4,2000}"
    r"|(?<=Basic )[\w+/=-]{4,2000}",
    re.ASCII,
)
_VALUE = r"(?:(?P<single>')[^'\n]{1,2000}|(?P<double>\")[^\"\n]{1,2000}|(?!None\b)[^\s'\",)&]{1,2000})"
_NAMED = re.compile(
    r"(?P<name>(?:--)?(?:admin[-_])?(?:api[-_]?key|hf[-_]token|auth[-_]token|access[-_]token|password|passwd|secret)"
    rf"(?:[-_]\w{{1,20}})?['\"]?(?:=|: ?| )){_VALUE}",
    re.ASCII | re.IGNORECASE,
)
_AUTHORIZATION = re.compile(r"(?i)(authorization['\"]?(?:=|: |:(?! ))['\"]?)(?!bearer |basic )[^'\",)\n]{1,2000}")
_HOMES = re.compile(r"/(?:home|Users)/[^/\s'\":,)]{1,64}|/root(?=[/\s'\":,)]|$)", re.ASCII)


def redact(text: str, secrets: Iterable[str] = (), *, homes: bool = False) -> str:
    """The text without secrets; `secrets` are values that are known to be. `homes`: their paths become `~` too."""
    for secret in secrets:
        if len(secret) >= _LEAST:
            text = text.replace(secret, HIDDEN)
    text = _TOKENS.sub(HIDDEN, text)
    text = _NAMED.sub(_hide, text)
    text = _AUTHORIZATION.sub(rf"\g<1>{HIDDEN}", text)
    return _HOMES.sub("~", text) if homes else text


def _hide(match: re.Match[str]) -> str:
    return f"{match['name']}{match['single'] or match['double'] or ''}{HIDDEN}"
