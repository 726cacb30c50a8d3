"""Lines from outside are shown as text, and as nothing but text."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tui.logs.highlight import LineKind, classify, split
from tui.logs.lines import LineBuffer, shorten
from tui.logs.text import sanitize

REAL = Path(__file__).parents[1] / "fixtures" / "real"

_PIECES = st.sampled_from(
    [
        b"\x1b",
        b"\x1b[",
        b"\x1b]0;",
        b"\x07",
        b"\x9b",
        b"\x9d",
        b"\xc2\x9b",
        b"\r",
        b"\n",
        b"\t",
        b"\0",
        b"\x7f",
        b"31m",
        b"x",
    ]
    + [character.encode() for character in "\u202e\u2066\u200b\ufeff\u2028é漢█"]
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(_PIECES, st.binary(max_size=8)), max_size=60).map(b"".join), st.integers(1, 200))
@example(b"\x1b]" * 3000, 100)
@example(b"\x9d" * 3000, 100)
def test_no_control_escape_or_direction_character_gets_through(line: bytes, limit: int) -> None:
    text = sanitize(line, limit=limit)
    assert text.isprintable() or all(unicodedata.category(c) not in {"Cc", "Cs", "Zl", "Zp"} for c in text)
    assert not {unicodedata.bidirectional(c) for c in text} & {
        "LRE",
        "RLE",
        "LRO",
        "RLO",
        "PDF",
        "LRI",
        "RLI",
        "FSI",
        "PDI",
    }
    assert len(text) <= limit + len("… (+100000)")


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=80).filter(str.isprintable))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert sanitize(text.encode()) == text


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (b"", ""),
        (b"[2026-11-29 16:49:08] plain", "[2026-11-29 16:49:08] plain"),
        (b"CR before LF\r", "CR before LF"),
        (b"bar 50%\rbar 100%", "bar 100%"),
        (b"\rbar 50%\r                ", "bar 50%"),  # tqdm wipes its line
        (b"bar 50%\r\x1b[K\r\0\0", "bar 50%"),
        (
            b"bar 50%\rbar 100%[2026-05-07 13:39:14 TP1] Load weight end. elapsed=5.05 s",
            "bar 100%[2026-05-07 13:39:14 TP1] Load weight end. elapsed=5.05 s",
        ),
        (b"\x1b[1;33m'--disable-cuda-graph'\x1b[0m is deprecated", "'--disable-cuda-graph' is deprecated"),
        (b"\x1b[38;2;1;2;3mtrue\x1b[m \x9b31mraw \xc2\x9b4mC1\x1b[0", "true raw C1"),
        (b"[/bold] \x1b[31mred\x1b]0;title\x07 [rank0]: x", "[/bold] red [rank0]: x"),
        (b"a\x1b]8;;http://h\x1b\\link\x1b]8;;\x1b\\b", "alinkb"),
        (b"a\x1bPq#0\x1b\\b\x1b_x\xc2\x9cc\xc2\x9dy\x07d", "abcd"),
        (b"a\x1b]0;never ended", "a0;never ended"),  # rather too much than a line hidden
        (b"a\x1b(Bb\x1b7c\x1bMd\x1b=e", "abcde"),
        (b"a\tb\tc", "a       b       c"),
        (b"a\0\0b\x08c\x7fd\xc2\x85e", "abcde"),
        (b"\xe2\x96[2026-11-29 16:49:08] half a block", "\ufffd\ufffd[2026-11-29 16:49:08] half a block"),
        (b"\x9b[2026-11-29 16:49:08] the other half", "\ufffd[2026-11-29 16:49:08] the other half"),
        ("ab\u202egnp.exe \u2066x\u2069 z\u200bw\ufeff".encode(), "abgnp.exe x zw"),
        ("漢字 | ██▏ | é".encode(), "漢字 | ██▏ | é"),
        (b"x" * 4000, "x" * 4000),
        (b"x" * 4001, "x" * 4000 + "… (+1)"),
        (b"x" * 10_000_000, "x" * 4000 + "… (+9996000)"),
        ("漢".encode() * 4003, "漢" * 4000 + "… (+3)"),
        (b"\0" * 60_000 + b"after a hole", "after a hole"),
        (b"\0" * 3_000_000 + b"after a hole", "after a hole"),
        (b"\rbar 1%" * 1_000_000 + b"\rbar 99%", "bar 99%"),
        (b"bar\r" + b"x" * 1_000_000, "x" * 4000 + "… (+996000)"),
    ],
    ids=lambda value: repr(value[:30]),
)
def test_lines_as_they_come(line: bytes, shown: str) -> None:
    assert sanitize(line) == shown


def test_the_limit_is_the_callers() -> None:
    assert sanitize(b"abcdef", limit=4) == "abcd… (+2)"


def test_a_line_without_an_end_is_held_in_bounded_memory() -> None:
    buffer = LineBuffer(4096)
    for _ in range(100):
        assert buffer.feed(b"\rstep" * 1000) == []
    assert len(buffer.partial) < 4096
    assert sanitize(buffer.partial) == "step"
    (line,) = buffer.feed(b" done\n")
    assert line == shorten(b"\rstep" * 1000, b"\rstep" * 1000 + b" done", 100 * 5000 + 5)
    assert buffer.partial == b""


@settings(max_examples=50, deadline=None)
@given(st.lists(st.binary(max_size=40).map(lambda piece: piece.replace(b"x", b"\n")), max_size=20))
def test_a_buffer_returns_every_line_once(pieces: list[bytes]) -> None:
    buffer = LineBuffer(1 << 20)
    lines = [line for piece in pieces for line in buffer.feed(piece)]
    assert [*lines, buffer.partial] == b"".join(pieces).split(b"\n")


def test_a_shortened_line_tells_how_much_it_lacks() -> None:
    line = b"a" * 5000 + b"b" * 5000
    assert shorten(line, line, len(line)) == b"a" * 2048 + b" [6928 bytes left out] " + b"b" * 1024


def kinds(release: str, name: str) -> dict[LineKind, list[str]]:
    found: dict[LineKind, list[str]] = {kind: [] for kind in LineKind}
    for line in (REAL / release / name).read_bytes().split(b"\n"):
        text = sanitize(line)
        found[classify(text)].append(text)
    return found


def test_kinds_in_a_real_log() -> None:
    found = kinds("0.5.11", "term.log")
    assert [text[22:] for text in found[LineKind.READY]] == ["The server is fired up and ready to roll!"]
    assert [text.rpartition("] ")[2] for text in found[LineKind.ERROR]] == [
        "ERROR:    Exception in ASGI application",
        "AttributeError: '_IncludedRouter' object has no attribute 'path'",
    ]
    assert len(found[LineKind.ACCESS]) == 27
    assert all('HTTP/1.1" ' in text for text in found[LineKind.ACCESS])
    assert sum("batch, #" in text for text in found[LineKind.BATCH]) == len(found[LineKind.BATCH]) == 15
    assert all("Warning: " in text or "is deprecated" in text for text in found[LineKind.WARNING])
    assert all(text.startswith(("Traceback", "  File", "   ")) for text in found[LineKind.TRACEBACK])
    assert any("Ignore import error when loading" in text for text in found[LineKind.PLAIN])


@pytest.mark.parametrize(
    ("release", "name", "expected"),
    [
        ("0.5.11", "notenough.log", "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."),
        ("0.5.11", "notenough.log", "Received sigquit from a child process. It usually means the child failed."),
        ("0.5.11", "badflag.log", "sglang serve: error: unrecognized arguments: --no-such-flag 3"),
        ("0.5.11", "portinuse.log", "ERROR:    [Errno 98] error while attempting to bind on address"),
        ("0.5.11", "killsched.log", "crashed with exit code -9. Triggering SIGQUIT for cleanup..."),
        ("0.5.23", "notenough.log", "ValueError: Loaded weights leave no GPU memory for the KV cache"),
        ("0.5.23", "badchoice.log", "error: argument --attention-backend: invalid choice"),
    ],
)
def test_what_real_servers_die_of_is_an_error(release: str, name: str, expected: str) -> None:
    assert any(expected in text for text in kinds(release, name)[LineKind.ERROR])


@pytest.mark.parametrize("release", ["0.5.11", "0.5.23"])
def test_a_good_start_has_no_error_though_it_says_the_word(release: str) -> None:
    found = kinds(release, "termgrp.log")
    assert [text for text in found[LineKind.ERROR] if "SIGQUIT received" not in text and "crashed" not in text] == []
    assert any("error" in text.lower() for text in found[LineKind.PLAIN])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[2026-06-11 05:11:58 TP1] Scheduler hit an exception: Traceback (most recent call last):", LineKind.ERROR),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 384.00 MiB.", LineKind.ERROR),
        ("[rank1]: torch.OutOfMemoryError: CUDA out of memory.", LineKind.ERROR),
        ("Exception: Capture cuda graph failed: CUDA out of memory.", LineKind.ERROR),
        ("asyncio.exceptions.CancelledError", LineKind.ERROR),
        ("Fatal Python error: Bus error", LineKind.ERROR),
        ("Killed", LineKind.ERROR),
        ("./run.sh: line 7: 48211 Killed                  python -m sglang.launch_server", LineKind.ERROR),
        ("2026-08-31T19:41:52.922414Z ERROR engine.launch_phase_sigquit_handler: Received sigquit", LineKind.ERROR),
        ("bar: 94%|[2026-05-07 13:39:14 DP1 TP1] Scheduler hit an exception: Traceback (most …", LineKind.ERROR),
        ("RuntimeError: torn [2026-05-07 13:39:14] another process goes on", LineKind.ERROR),
        ("[rank0]: Traceback (most recent call last):", LineKind.TRACEBACK),
        ('[rank0]:   File "/x/model.py", line 3, in forward', LineKind.TRACEBACK),
        ("           ^^^^^^^^^^^^^^^^^^", LineKind.TRACEBACK),
        ("[rank0]:[W928 17:07:13.511609939 ProcessGroupNCCL.cpp:1538] Warning: WARNING: destroy", LineKind.WARNING),
        (
            "W0911 10:24:10.440000 1 torch/utils/cpp_extension.py:2425] TORCH_CUDA_ARCH_LIST is not set",
            LineKind.WARNING,
        ),
        ("/v/torch/cuda/__init__.py:63: FutureWarning: The pynvml package is deprecated.", LineKind.WARNING),
        ("[2026-11-05 07:00:27] KV cache pool is full. Retract requests. #retracted_reqs: 1", LineKind.WARNING),
        (
            '[2026-11-29 16:49:14] INFO:     127.0.0.1:57732 - "GET /error HTTP/1.1" 500 Internal Server Error',
            LineKind.ACCESS,
        ),
        ("[2026-11-05 07:00:27] server_args=ServerArgs(x='RuntimeError: ')", LineKind.PLAIN),
        (
            "[2026-11-05 07:00:27] Receive: obj=GenerateReqInput(text='RuntimeError: [2026-11-05 07:00:27] Killed')",
            LineKind.PLAIN,
        ),
        (
            "[2026-11-05 07:00:27] Finish: obj=GenerateReqInput(text='x'), out={'text': 'CUDA out of memory'}",
            LineKind.PLAIN,
        ),
        ("[2026-11-05 07:00:02] Ignore import error when loading sglang.srt.models.mindspore", LineKind.PLAIN),
        ("2025-05-02 16:14:33,560 - INFO - flashinfer.jit: error-free", LineKind.PLAIN),
        ("", LineKind.PLAIN),
    ],
)
def test_kinds_of_lines_seen_elsewhere(text: str, kind: LineKind) -> None:
    assert classify(text) is kind


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[2026-11-29 16:49:08] a", ("", "[2026-11-29 16:49:08] ", "", "a")),
        ("[2026-06-10 03:00:21.123 TP0] a", ("", "[2026-06-10 03:00:21.123", " TP0] ", "a")),
        ("bar[20:52:05 DP1 TP1 EP1] a", ("bar", "[20:52:05", " DP1 TP1 EP1] ", "a")),
        ("[rank0]: a", ("", "", "[rank0]: ", "a")),
        ("  0%| | 0/13 [00:00<?, ?it/s]", ("", "", "", "  0%| | 0/13 [00:00<?, ?it/s]")),
    ],
)
def test_a_line_in_parts(text: str, parts: tuple[str, str, str, str]) -> None:
    assert split(text) == parts
