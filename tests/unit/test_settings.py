from __future__ import annotations

from pathlib import Path

import pytest

from tui.errors import ExitCode
from tui.paths import Places
from tui.settings import Settings, load_settings
from tui.toml_decode import TomlError


def write(tmp_path: Path, text: str) -> Places:
    (tmp_path / "config.toml").write_text(text)
    return Places(state=tmp_path / "state", config=tmp_path)


def test_without_a_file_all_is_default(tmp_path: Path) -> None:
    settings = load_settings(Places(state=tmp_path, config=tmp_path / "absent"))
    assert settings == Settings()
    assert (settings.python, settings.ascii, settings.port) == (None, False, 30000)
    assert (settings.grace_s, settings.release_wait_s) == (30.0, 60.0)


def test_what_is_set_replaces_the_default(tmp_path: Path) -> None:
    places = write(tmp_path, 'python = "~/sglang/bin/python"\nascii = true\ngrace_s = 5\n')
    assert load_settings(places) == Settings(python="~/sglang/bin/python", ascii=True, grace_s=5.0)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (
            "\nreleasewait_s = 3",
            2,
            "unknown key releasewait_s; did you mean release_wait_s? keys and tables: ascii, grace_s",
        ),
        ("ascii = 1", 1, "ascii is 1, but must be true or false"),
        ("port = 65536", 1, "port is 65536, but must be a port from 1 to 65535"),
        ("port = 0", 1, "port is 0, but must be a port from 1 to 65535"),
        ("grace_s = -1", 1, "grace_s is -1, but must be a number of seconds"),
        ("grace_s = nan", 1, "grace_s is nan, but must be a number of seconds"),
        ("grace_s = inf", 1, "grace_s is inf, but must be a number of seconds"),
        ('release_wait_s = "60"', 1, "release_wait_s is '60', but must be a number of seconds"),
        ('python = ""', 1, "python is '', but must be the path of a Python"),
        ("python = /usr/bin/python", 1, "a value is missing or not quoted"),
    ],
)
def test_errors_say_where_and_what_is_allowed(tmp_path: Path, text: str, line: int, said: str) -> None:
    with pytest.raises(TomlError) as caught:
        load_settings(write(tmp_path, text))
    assert (caught.value.line, caught.value.exit_code) == (line, ExitCode.USAGE)
    assert said in str(caught.value)


def test_a_dangling_link_is_a_problem_rather_than_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "config.toml").symlink_to(tmp_path / "dotfiles" / "config.toml")
    with pytest.raises(TomlError, match="can't be read"):
        load_settings(Places(state=tmp_path, config=tmp_path))
