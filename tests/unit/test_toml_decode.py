"""Files as people break them: each error names the line that an editor would show."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import msgspec
import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Meta

from tests.support.unprivileged import run_unprivileged
from tui.toml_decode import TomlError, read_toml
from tui.toml_decode.lines import find_line
from tui.toml_decode.words import describe_value, name_key

Port = Annotated[int, Meta(ge=1, le=65535, description="a port from 1 to 65535")]


class Inner(msgspec.Struct, frozen=True, kw_only=True):
    port: Port = 1
    gpus: Annotated[tuple[int, ...], Meta(description="a list of numbers")] = ()


class Outer(msgspec.Struct, frozen=True, kw_only=True):
    model: Annotated[str, Meta(description="a model")]
    launch: Inner | None = None


def fail(tmp_path: Path, text: str | bytes) -> TomlError:
    path = tmp_path / "x.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(TomlError) as caught:
        read_toml(path).decode(Outer)
    assert str(caught.value).startswith(str(path))
    return caught.value


def test_a_good_file(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(b'\xef\xbb\xbfmodel = "m"\r\n[launch]\r\nport = 8000\r\n')  # as Windows' editors save it
    assert read_toml(path).decode(Outer) == Outer(model="m", launch=Inner(port=8000))


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (
            'model = "m"\n\n[launch]\nprot = 3\n',
            4,
            "unknown key launch.prot; did you mean port? keys of [launch]: gpus",
        ),
        ('model = "m"\nlunch = 3\n', 2, "unknown key lunch; did you mean launch? keys and tables: launch, model"),
        (
            'model = "m"\n[launch]\ngpus = [\n  0,\n]\nport = "80a"\n',
            6,
            "launch.port is '80a', but must be a port from 1",
        ),
        ('model = "m"\nlaunch = { gpus = [0, "x"] }', 2, "launch.gpus[1] is 'x', but must be a list of numbers"),
        ('model = "m"\nlaunch.port = 70000', 2, "launch.port is 70000, but must be a port from 1 to 65535"),
        ('model = "m"\nlaunch.port = true', 2, "launch.port is true, but must be a port"),
        ('model = "m"\nlaunch.port = 1.5', 2, "launch.port is 1.5, but must be a port"),
        ('model = "m"\nlaunch.port = 2026-11-29', 2, "launch.port is a date or time, but must be a port"),
        ('model = "m"\nlaunch = 3', 2, "launch is 3, but must be a table"),
        ('model = "m"\n[[launch]]', 2, "launch is a list, but must be a table"),
        ("model = 3", 1, "model is 3, but must be a model"),
        ("# nothing\n", None, "model is missing; it must be a model"),
        ('[launch]\nport = 3\nmodel = "m"', 3, "model is missing: here it belongs to [launch]; move model to the top"),
        ('model = "m"\n"\\u001b[2J" = 1', 2, r"unknown key \x1b[2J"),
    ],
)
def test_wrong_keys_and_values(tmp_path: Path, text: str, line: int | None, said: str) -> None:
    error = fail(tmp_path, text)
    assert error.line == line
    assert said in str(error)
    assert f"x.toml:{line}: " in str(error) or line is None


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a = 1\nmodel = qwen\n", 2, 'at column 9: a value is missing or not quoted; text stands in "quotes"'),
        ("a = 1\na = 2\nb = 3\n", 2, "a key is written twice; keep one of the two"),
        ("a = 1\na = 2", 2, "a key is written twice"),
        ("[a]\nb = 1\n[a]\n", 3, "a table is written twice"),
        ("a\n", 1, "a key without a value"),
        ("a = 1 b = 2\n", 1, "something follows a complete value"),
        ('a = 1\nb = """one\ntwo\nthree\n', 2, "a text without closing quotes"),
        ('a = 1\nb = "one\nc = 2\n', 2, "a text without closing quotes"),
        ("a = 1\n\nb = [1,\n2,\n", 3, "a value or a list isn't finished"),
        ("a = [1\n", 1, "a list without its closing bracket"),
        ("a = " + "[" * 100_000, None, "nested too deeply"),
        ("a = " + "9" * 5000, None, "not valid TOML"),
    ],
)
def test_broken_syntax(tmp_path: Path, text: str, line: int | None, said: str) -> None:
    error = fail(tmp_path, text)
    assert error.line == line
    assert said in str(error)


def test_not_utf8_names_the_line(tmp_path: Path) -> None:
    error = fail(tmp_path, b'model = "m"\n# gr\xfc\xdfe\n')
    assert (error.line, "not UTF-8" in str(error)) == (2, True)


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    assert "larger than 1 MiB" in str(fail(tmp_path, b"#" * ((1 << 20) + 1)))


def test_a_file_of_one_mebibyte_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    text = b'model = "m"\n#'
    path.write_bytes(text + b"x" * ((1 << 20) - len(text)))
    assert read_toml(path).decode(Outer).model == "m"


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(TomlError, match=r"x\.toml: can't be read: No such file or directory"):
        read_toml(tmp_path / "x.toml")


def test_an_unreadable_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.touch(0o000)
    code = """if True:
        import sys
        from pathlib import Path
        from tui.toml_decode import TomlError, read_toml
        try:
            read_toml(Path(sys.argv[1]))
        except TomlError as error:
            print(error)
    """
    assert "x.toml: can't be read: Permission denied" in run_unprivileged(code, str(path))


def test_folders_and_pipes_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (tmp_path, tmp_path / "pipe.toml"):
        with pytest.raises(TomlError, match="not a file"):
            read_toml(path)


def test_a_path_with_control_codes_is_escaped(tmp_path: Path) -> None:
    with pytest.raises(TomlError) as caught:
        read_toml(tmp_path / "\x1b[2J.toml")
    assert "\x1b" not in str(caught.value)
    assert r"\x1b[2J.toml" in str(caught.value)


LINES = """\
model = "m" # model
text = \"\"\"
[launch]
port = 1
\"\"\"
"quoted key" = 1

[launch]
gpus = [ # [flags]
  1, 2,
]
port = 2

[a.b]
c = { d = { e = 1 } }
f.g = 1
"""


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (("model",), 1),
        (("text",), 2),
        (("quoted key",), 6),
        (("launch",), 8),
        (("launch", "gpus"), 9),
        (("launch", "port"), 12),
        (("launch", "absent"), 8),
        (("absent",), None),
        (("a",), 14),
        (("a", "b"), 14),
        (("a", "b", "c", "d", "e"), 15),
        (("a", "b", "f", "g"), 16),
        ((), None),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_lines_of_keys(keys: tuple[str, ...], line: int | None, line_end: str) -> None:
    assert find_line(LINES.replace("\n", line_end), keys) == line


def test_behind_a_very_long_statement_no_line_is_told_rather_than_a_wrong_one() -> None:
    text = 'model = """\n' + "port = 1\n" * 300 + '"""\nport = 2\n'
    assert find_line(text, ("port",)) is None


KEYS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
VALUES = st.one_of(st.integers(), st.text(max_size=20), st.lists(st.integers(), max_size=4), st.booleans())


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=4), st.dictionaries(KEYS, VALUES, min_size=1, max_size=4))
def test_every_key_is_found_on_the_line_that_starts_with_it(top: dict[str, object], table: dict[str, object]) -> None:
    text = tomli_w.dumps(top) + "\n[the_table]\n" + tomli_w.dumps(table)
    lines = text.split("\n")
    for names in [*((key,) for key in top), *(("the_table", key) for key in table)]:
        line = find_line(text, names)
        assert line is not None
        assert lines[line - 1].startswith(tomli_w.dumps({names[-1]: 0}).removesuffix("0\n"))


def test_long_values_are_shortened_and_escaped() -> None:
    assert describe_value("x" * 500) == repr("x" * 60 + "…")
    assert describe_value("\x1b]52;c;\x07") == r"'\x1b]52;c;\x07'"
    assert describe_value(10**500).startswith("1000000000")
    assert len(describe_value(10**500)) < 70
    assert name_key(("launch", "gpus", 1)) == "launch.gpus[1]"


@pytest.mark.parametrize(
    "key",
    [
        "a." * 400_000,
        '"a" . ' * 100_000,
        "[" + "a." * 100_000,
        "'a'" + " " * 99 + "." + "a." * 50_000,
        ("a" * 100 + ".") * 9_000,
    ],
)
def test_a_name_of_thousands_of_parts_is_refused_at_once(tmp_path: Path, key: str) -> None:
    """tomllib's time grows with the square of them: hours."""
    path = tmp_path / "x.toml"
    path.write_text(f'a = """\nb.c.d\n"""\n{key}b = 1\n')
    with pytest.raises(TomlError, match="more than 64 parts") as caught:
        read_toml(path)
    assert caught.value.line == 4


def test_dots_in_values_are_no_parts(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("a = '" + "1.2, " * 100 + "'\nb = '''\n" + "1.5 2.5\n" * 100 + "'''\n")
    assert set(read_toml(path).values) == {"a", "b"}
