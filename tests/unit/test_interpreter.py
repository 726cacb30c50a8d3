"""Interpreters are real programs here: small scripts that answer the question, and a real Python without SGLang."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from tui.errors import RefusedError
from tui.sglang.interpreter import Interpreter, find_interpreter, read_sglang_version, server_argv

# Never imported: the import of SGLang takes seconds and may touch a GPU.
TRAP = "raise SystemExit('SGLang was imported')"
PYTHON = sys.executable


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{body}\n")
    path.chmod(0o755)
    return path


def answering(path: Path, version: str = "0.5.11") -> Path:
    return script(path, f"echo {version}")


def with_package(path: Path, version: str = "0.5.6.post2") -> Path:
    """A wrapper of the real Python whose import path holds the metadata of an installed SGLang."""
    site = path.parent.parent / "site"
    (site / "sglang").mkdir(parents=True)
    (site / "sglang" / "__init__.py").write_text(TRAP)
    metadata = site / f"sglang-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sglang\nVersion: {version}\n")
    return script(path, f'PYTHONPATH="{site}" exec "{PYTHON}" "$@"')


def real(path: Path) -> Path:
    """The real Python, without SGLang."""
    return script(path, f'exec "{PYTHON}" "$@"')


def broken(path: Path) -> Path:
    return script(path, "exit 3")


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No interpreter of this machine is seen unless a test names it."""
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "own" / "python"))


def find(preset: str | None = None, settings: str | None = None, simulated: Path | None = None) -> Interpreter:
    return find_interpreter(preset, settings, simulated, Path("/c/config.toml"))


def test_the_version_is_read_from_the_package_without_importing_it(tmp_path: Path) -> None:
    assert read_sglang_version(with_package(tmp_path / "venv" / "bin" / "python")) == "0.5.6.post2"


def test_files_in_the_current_folder_are_not_taken_for_an_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = real(tmp_path / "bin" / "python")
    with_package(tmp_path / "other" / "bin" / "python")
    monkeypatch.chdir(tmp_path / "other" / "site")
    assert read_sglang_version(python) is None


def test_noise_in_front_of_the_answer_is_ignored(tmp_path: Path) -> None:
    assert read_sglang_version(script(tmp_path / "python", "echo 'module loaded: cuda 12'; echo 0.5.23")) == "0.5.23"


def test_a_found_version_is_asked_for_once_and_a_missing_one_again(tmp_path: Path) -> None:
    python = script(tmp_path / "python", f"echo . >> {tmp_path}/asked; cat {tmp_path}/version 2>/dev/null || echo none")
    assert read_sglang_version(python) is None
    (tmp_path / "version").write_text("0.5.11\n")
    assert [read_sglang_version(python) for _ in range(3)] == ["0.5.11"] * 3
    assert (tmp_path / "asked").read_text().count(".") == 2


def test_an_upgrade_is_seen_by_who_has_asked_before(tmp_path: Path) -> None:
    """As by an open front end, while somebody follows its advice to upgrade."""
    python = with_package(tmp_path / "venv" / "bin" / "python", "0.5.11")
    assert find(str(python)).sglang_version == "0.5.11"
    shutil.rmtree(tmp_path / "venv" / "site")
    with_package(python, "0.5.23")
    assert find(str(python)).sglang_version == "0.5.23"


def test_a_change_of_an_editable_installation_is_seen(tmp_path: Path) -> None:
    python = with_package(tmp_path / "venv" / "bin" / "python")
    arguments = tmp_path / "venv" / "site" / "sglang" / "srt" / "server_args.py"
    arguments.parent.mkdir()
    arguments.write_text(TRAP)
    before = find(str(python)).stamp
    assert find(str(python)).stamp == before
    later = time.time() + 100
    os.utime(arguments, (later, later))
    assert find(str(python)).stamp != before


def test_a_simulated_machine_wins_over_what_is_named(tmp_path: Path) -> None:
    python = answering(tmp_path / "sim" / "bin" / "python", "0.5.23")
    named = str(answering(tmp_path / "named"))
    found = find(named, named, tmp_path / "sim")
    assert (found, found.is_simulated) == (Interpreter(python, "0.5.23"), True)
    assert not find(named).is_simulated


def test_the_preset_wins_over_the_settings_and_those_over_the_search(tmp_path: Path) -> None:
    one, two = answering(tmp_path / "one", "0.5.1"), answering(tmp_path / "two", "0.5.2")
    answering(tmp_path / "path" / "python3", "0.5.3")
    assert find(str(one), str(two)).python == one
    assert find(None, str(two)).python == two
    assert find().python == tmp_path / "path" / "python3"


def test_home_and_relative_paths_and_bare_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = answering(tmp_path / "path" / "python3.12")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("~/path/python3.12", "path/python3.12", "./path/python3.12", "python3.12"):
        assert find(name) == Interpreter(python, "0.5.11")


def test_a_link_of_a_virtual_environment_is_kept(tmp_path: Path) -> None:
    base = answering(tmp_path / "base" / "python")
    (tmp_path / "venv").mkdir()
    link = tmp_path / "venv" / "python"
    link.symlink_to(base)
    assert find(str(link)).python == link


@pytest.mark.parametrize("where", ["preset", "settings", "simulated"])
def test_a_named_one_that_is_missing_is_refused(tmp_path: Path, where: str) -> None:
    answering(tmp_path / "path" / "python3")
    named = tmp_path / "absent" / "bin" / "python"
    value = {"preset": str(named), "settings": str(named), "simulated": tmp_path / "absent"}[where]
    with pytest.raises(RefusedError) as caught:
        find(**{where: value})  # type: ignore[arg-type]  # one of three, each with its own type
    assert caught.value.what == f"no Python at {named}"
    remedies = {"preset": "the preset's [engine]", "settings": "in /c/config.toml", "simulated": "SGLTUI_SIMULATED"}
    assert remedies[where] in caught.value.hint


def test_a_named_one_that_is_unusable_is_refused(tmp_path: Path) -> None:
    answering(tmp_path / "path" / "python3")
    plain = tmp_path / "plain"
    plain.touch()
    with pytest.raises(RefusedError, match=f"{plain} can't be started: Permission denied when asked"):
        find(str(plain))
    with pytest.raises(RefusedError, match="ended with status 3 when asked for its SGLang version"):
        find(str(broken(tmp_path / "broken")))
    without = real(tmp_path / "without")
    with pytest.raises(
        RefusedError, match=f"{without} has no SGLang; install it .{without} -m pip install sglang. or correct"
    ):
        find(str(without))


def own(tmp_path: Path, _: pytest.MonkeyPatch) -> Path:
    return tmp_path / "own" / "python"


def virtual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "virtual"))
    return tmp_path / "virtual" / "bin" / "python"


def conda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path / "conda"))
    return tmp_path / "conda" / "bin" / "python"


def python3(tmp_path: Path, _: pytest.MonkeyPatch) -> Path:
    return tmp_path / "path" / "python3"


def python(tmp_path: Path, _: pytest.MonkeyPatch) -> Path:
    return tmp_path / "path" / "python"


def behind_script(tmp_path: Path, _: pytest.MonkeyPatch) -> Path:
    script(tmp_path / "path" / "sglang", "").write_text(f"#!{tmp_path}/tool/bin/python3.12\nimport sys\n")
    return tmp_path / "tool" / "bin" / "python3.12"


ORDER = [own, virtual, conda, python3, python, behind_script]


@pytest.mark.parametrize("first", range(len(ORDER)), ids=[place.__name__ for place in ORDER])
def test_the_search_takes_the_first_that_has_sglang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    places = [place(tmp_path, monkeypatch) for place in ORDER]
    for number, place in enumerate(places):
        if number < first:
            (broken if number % 2 else real)(place)
        else:
            answering(place, f"0.5.{number}")
    assert find() == Interpreter(places[first], f"0.5.{first}")


@pytest.mark.parametrize(
    "head",
    [
        "#!{python}\n",
        "#!{python} -sE\n",
        "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n",
        "#!/bin/sh\n'''exec' {python} \"$0\" \"$@\"\n' '''\n",
    ],
)
def test_heads_of_console_scripts(tmp_path: Path, head: str) -> None:
    python = answering(tmp_path / "tool" / "bin" / "python3")
    script(tmp_path / "path" / "sglang", "").write_text(head.format(python=python) + "import sys\n")
    assert find().python == python


@pytest.mark.parametrize("head", ["#!/usr/bin/env python3\n", "\x7fELF", "#!/bin/sh\necho\n", ""])
def test_other_programs_named_sglang_are_no_python(tmp_path: Path, head: str) -> None:
    script(tmp_path / "path" / "sglang", "").write_text(head)
    with pytest.raises(RefusedError, match="no Python with SGLang found"):
        find()


def test_none_says_where_it_looked_and_what_to_do(tmp_path: Path) -> None:
    one, two = real(tmp_path / "path" / "python3"), broken(tmp_path / "path" / "python")
    with pytest.raises(RefusedError) as caught:
        find()
    assert caught.value.what == f"no Python with SGLang found (looked at {one}, {two})"
    assert "name it as `python` in /c/config.toml, or try `sgltui demo`" in caught.value.hint
    one.unlink()
    two.unlink()
    with pytest.raises(RefusedError, match="looked at nothing: there is no Python"):
        find()


def test_server_argv(tmp_path: Path) -> None:
    interpreter = Interpreter(tmp_path / "bin" / "python", "0.5.11")
    arguments = ["--model-path", "m", "--port", "30000"]
    assert server_argv(interpreter, "launch_server", arguments) == [
        str(tmp_path / "bin" / "python"),
        "-m",
        "sglang.launch_server",
        *arguments,
    ]
    with pytest.raises(RefusedError, match=f"no `sglang` command at {tmp_path}/bin/sglang; use entry = "):
        server_argv(interpreter, "serve", arguments)
    script(tmp_path / "bin" / "sglang", "").chmod(0o644)
    with pytest.raises(RefusedError):
        server_argv(interpreter, "serve", arguments)
    script(tmp_path / "bin" / "sglang", "")
    assert server_argv(interpreter, "serve", arguments) == [str(tmp_path / "bin" / "sglang"), "serve", *arguments]
