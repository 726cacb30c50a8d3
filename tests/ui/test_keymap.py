"""Other keys for commands: what the settings may say, what is refused, and what then stands on the screen."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.support.fake_core import EMPTY, FakeCore, preset, story
from tests.support.screen import running, screen_lines, screen_text, until, until_shown
from tui.app.commands import PLACES, all_commands
from tui.app.commands.dashboard import KILL, STOP
from tui.app.commands.log import SEARCH
from tui.app.keys import name_of, written
from tui.app.preferences import Preferences, read_preferences
from tui.app.screens.confirm import ConfirmScreen
from tui.app.screens.help import HelpScreen
from tui.app.screens.launch import LaunchScreen
from tui.cli import main
from tui.paths import Places
from tui.settings import load_settings
from tui.toml_decode import TomlError


def preferences(folder: Path, text: str) -> Preferences:
    file = folder / "config.toml"
    file.write_text(text)
    return read_preferences(load_settings(Places(folder, folder)), file)


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(TomlError) as caught:
        preferences(folder, text)
    return str(caught.value).removeprefix(f"{folder}/")


@pytest.mark.parametrize(
    ("key", "name", "on_screen"),
    [
        ("x", "x", "x"),
        ("X", "X", "X"),
        ("?", "question_mark", "?"),
        ("question_mark", "question_mark", "?"),
        ("/", "slash", "/"),
        (":", "colon", ":"),
        (",", "comma", ","),
        ("+", "plus", "+"),
        ("-", "minus", "-"),
        ("@", "at", "@"),
        ("ü", "ü", "ü"),
        ("f9", "f9", "F9"),
        ("escape", "escape", "Esc"),
        ("ctrl+x", "ctrl+x", "Ctrl-X"),
        ("alt+left", "alt+left", "Alt-Left"),
        ("shift+a", "A", "A"),
        ("shift+tab", "shift+tab", "Shift-Tab"),
    ],
)
def test_keys_by_name_and_by_character(key: str, name: str, on_screen: str) -> None:
    assert name_of(key) == name
    assert written(name) == on_screen


@pytest.mark.parametrize(
    "key", ["", " ", "\x1b", "\n", "f25", "esc", "hyper+x", "ctrl+", "++", "no-key", "xy", "ctrl-x"]
)
def test_there_are_no_such_keys(key: str) -> None:
    assert name_of(key) is None


def test_every_declared_key_exists_and_has_one_meaning_in_its_place() -> None:
    commands = all_commands()
    assert len({command.id for command in commands}) == len(commands)
    for place in PLACES:
        taken: dict[str, str] = {}
        for command in {one.id: one for one in place.commands}.values():
            for key in command.keys:
                name = name_of(key)
                assert name is not None, f"{command.id}: {key}"
                assert taken.setdefault(name, command.id) == command.id, f"{name} {place.name}"


def test_no_command_is_called_like_a_table_of_commands() -> None:
    tables = {command.id.partition(".")[0] for command in all_commands() if "." in command.id}
    assert not tables & {command.id for command in all_commands()}


def test_keys_from_the_settings(tmp_path: Path) -> None:
    keys = preferences(
        tmp_path, '[keys]\nstop = ["f8", "ctrl+k"]\nkill = []\nlog.search = "s"\n"log.next-match" = "?"\n'
    ).keys
    assert keys.of(STOP) == ("f8", "ctrl+k")
    assert keys.words(STOP) == "F8, Ctrl-K"
    assert keys.of(KILL) == ()
    assert keys.first(KILL) == ""
    assert keys.of(SEARCH) == ("s",)


def test_two_commands_may_swap_their_keys(tmp_path: Path) -> None:
    keys = preferences(tmp_path, '[keys]\nstop = "X"\nkill = ["x", "f9"]\n').keys
    assert keys.of(STOP) == ("X",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('python = "x"\n[keys]\nstopp = "x"', "config.toml:3: there is no command 'stopp'; did you mean stop or"),
        ('[keys.log]\nserch = "x"', "config.toml:2: there is no command 'log.serch'; did you mean log.search"),
        ('[keys]\nstop = "f99"', "config.toml:2: there is no key 'f99', which stop should have; a key is a character"),
        ('[keys]\n\nstop = ["x", 9]', "config.toml:3: the keys of stop must be a text or a list of texts"),
        ("[keys]\nstop = true", "config.toml:2: the keys of stop must be a text or a list of texts"),
        ('keys = "vim"', "config.toml:1: keys is 'vim', but must be a table of commands and their keys"),
        ('[keys]\nstop = "r"', "config.toml:2: stop and relaunch share the key r on the dashboard; give one of them"),
        ('[keys]\nlog.search = "n"', "config.toml:2: log.search and log.next-match share the key n in the log"),
        ('[keys]\nlog.wrap = "down"', "config.toml:2: log.wrap and down share the key Down in the log"),
        ('[keys]\ndown = "e"', "config.toml:2: down and log.next-problem share the key e in the log"),
        ('[keys]\nstop = "?"', "config.toml:2: stop and help share the key ? on the dashboard"),
        ('[keys.question]\nyes = "enter"', "config.toml:2: question.yes and question.answer share the key Enter in a"),
        ('[keys.question]\nanswer = "x"', "config.toml:2: the key of question.answer can't be changed"),
        ('[keys]\nquit = "ctrl+c"', "config.toml:2: quit can't have Ctrl-C: it says how to leave"),
        ('theme = "dracul"', "config.toml:1: there is no theme 'dracul'; did you mean dracula?"),
        ('notify = ["bel"]', "config.toml:1: notify[0] is 'bel', but must be a list of"),
    ],
)
def test_what_is_refused_names_file_line_and_remedy(tmp_path: Path, text: str, words: str) -> None:
    assert refusal(tmp_path, text).startswith(words)


async def test_the_screen_does_and_shows_what_was_set(tmp_path: Path) -> None:
    set_keys = preferences(
        tmp_path,
        '[keys]\nstop = "f8"\nkill = []\nhelp = ["f1", "h"]\nlaunch = "n"\ndown = "f7"\n'
        '[keys.question]\nyes = "j"\nno = "k"\n',
    )
    core = FakeCore(story(tmp_path))
    async with running(core, preferences=set_keys, size=(120, 70)) as (app, pilot):
        await until_shown(pilot, app, "● ready")
        footer = screen_lines(app)[-1]
        assert "n launch" in footer
        assert "F8 stop" in footer
        assert "kill" not in footer
        for key in ("x", "f9", "X", "a", "j", "question_mark"):
            await pilot.press(key)
        assert type(app.screen).__name__ == "Dashboard"
        await pilot.press("f7", "h")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen), "help")
        assert "F8" in screen_text(app)
        assert "Kill the selected" not in screen_text(app), "no key does it"
        await pilot.press("escape", "f8")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen), "a question")
        await until_shown(pilot, app, "j yes   k, Enter no")
        await pilot.press("y", "n")
        assert isinstance(app.screen, ConfirmScreen)
        await pilot.press("j")
        await until(pilot, lambda: core.stops == [("qwen36-mtp", False)], "the stop")


async def test_a_command_without_a_key_can_have_one(tmp_path: Path) -> None:
    set_keys = preferences(tmp_path, '[keys]\ntheme = "T"\n')
    async with running(FakeCore(EMPTY), preferences=set_keys) as (app, pilot):
        await until_shown(pilot, app, "No servers yet.")
        await pilot.press("T")
        await until_shown(pilot, app, "sgltui-light")


async def test_words_name_the_keys_that_were_set(tmp_path: Path) -> None:
    set_keys = preferences(tmp_path, '[keys]\nlaunch = "n"\nquit = "Q"\n')
    async with running(FakeCore(EMPTY, [preset()]), preferences=set_keys) as (app, pilot):
        await until_shown(pilot, app, "Press n to launch one from a preset.")
        await pilot.press("ctrl+c")
        await until_shown(pilot, app, "Q leaves; servers go on running")
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, LaunchScreen), "the form")


def test_the_list_of_keys_is_a_table_that_the_settings_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SGLTUI_CONFIG_DIR", str(tmp_path))
    (tmp_path / "config.toml").write_text('[keys]\nstop = "f8"\nkill = []\n')
    assert main(["keys"]) == 0
    printed = capsys.readouterr().out
    table = tomllib.loads(printed)["keys"]
    assert table["stop"] == "f8"
    assert table["kill"] == []
    assert table["help"] == ["?", "f1"]
    assert table["log"]["search"] == "/"
    (tmp_path / "config.toml").write_text(printed)
    keys = read_preferences(load_settings(Places(tmp_path, tmp_path)), tmp_path / "config.toml").keys
    assert keys.of(STOP) == ("f8",)
    assert main(["keys", "--json"]) == 0
    assert '"id": "log.search"' in capsys.readouterr().out


def test_a_wrong_table_is_refused_before_anything_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SGLTUI_CONFIG_DIR", str(tmp_path))
    (tmp_path / "config.toml").write_text('[keys]\nstop = "r"\n')
    assert main(["keys"]) == 2
    assert "config.toml:2: stop and relaunch share the key r on the dashboard" in capsys.readouterr().err
