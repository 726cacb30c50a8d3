"""What copying through chats, documents and terminals does to a command line, undone: fences, prompts, typography."""

from __future__ import annotations

import re

from tui.errors import UsageError
from tui.presets.importing.remarks import Remarks

MAX_CHARACTERS = 64 * 1024

_BLANKS = dict.fromkeys([0xA0, 0x2002, 0x2003, 0x2009, 0x202F, 0x3000], " ")
_INVISIBLE = dict.fromkeys([0xFEFF, 0x200B, 0x200C, 0x200D, 0x2060, 0xAD])
_QUOTES = {0x201C: '"', 0x201D: '"', 0x201E: '"', 0x2018: "'", 0x2019: "'"}
_DASHES = re.compile(r"(?<=\s)[\u2012-\u2015]-?(?=[a-z])")
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_FENCE = re.compile(r"^\s*(?:```|~~~).*$", re.MULTILINE)
# `$ `, `(venv) user@box:~/x$ `, `[user@box x]# `; a bare `# ` is a comment, but for a command of ours behind it.
_PROMPT = re.compile(
    r"^[ \t]*(?:\([\w.+-]+\)[ \t]*)?(?:\$|%|>>?|(?:\[?[\w.-]+@[\w.-]+[^\n$#%]*[$#%]))[ \t]+(?=\S)"
    r"|^[ \t]*#[ \t]+(?=(?:python[\d.]*|sglang|docker|CUDA_VISIBLE_DEVICES=\S*|nohup)[ \t])",
    re.MULTILINE,
)


def clean(text: str, remarks: Remarks) -> str:
    """The text as it was before it was copied about.

    Raises:
        UsageError: it is larger than 64 thousand characters, or holds a NUL.
    """
    if len(text) > MAX_CHARACTERS:
        raise UsageError("that is larger than 64 KiB", "paste the command line alone")
    if "\0" in text:
        raise UsageError("that holds a NUL character, so it is no text", "paste the command line as text")
    plain = _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).translate(_BLANKS | _INVISIBLE)
    straight = _DASHES.sub("--", plain.translate(_QUOTES))
    if straight != plain:
        remarks.changed("typographic quotes or dashes were taken for \", ' and --")
    return _PROMPT.sub("", _FENCE.sub("", straight))
