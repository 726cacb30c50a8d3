from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from tui.errors import RefusedError, UsageError
from tui.paths import Places
from tui.presets import Engine, Preset, Reference, load_preset, load_presets
from tui.presets.store import check_removable, draft, newest_version, remove, save

PLAIN = Preset(name="mine", model="m/x", flags={"tp-size": 2})
BY_HAND = 'model = "m/x"  # my favourite\n[flags]\ntp-size = 1\n'


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(state=tmp_path / "state", config=tmp_path / "config")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_preset_is_saved_where_users_have_theirs(places: Places) -> None:
    plan = draft(places, PLAIN)
    assert (plan.before, plan.diff) == (None, "")
    assert save(plan) is None
    assert load_preset(places.user_presets / "mine.toml") == PLAIN
    assert draft(places, PLAIN).changes_nothing


def test_a_project_keeps_its_own(places: Places, tmp_path: Path) -> None:
    of_project = Places(places.state, places.config, project_presets=tmp_path / "project")
    save(draft(of_project, PLAIN))
    assert [path.name for path in (tmp_path / "project").iterdir()] == ["mine.toml"]


def test_a_preset_with_variables_is_for_its_owner_alone(places: Places) -> None:
    path = places.user_presets / "mine.toml"
    save(draft(places, PLAIN))
    path.chmod(0o644)
    save(draft(places, replace(PLAIN, env={"HF_TOKEN": Reference("env", "HF_TOKEN")})))
    assert mode(path) == 0o600


def test_what_was_written_by_hand_is_kept_and_the_difference_shown(places: Places) -> None:
    path = places.user_presets / "mine.toml"
    path.parent.mkdir(parents=True)
    path.write_text(BY_HAND)
    path.chmod(0o640)
    plan = draft(places, PLAIN)
    assert '-model = "m/x"  # my favourite' in plan.diff
    assert "+tp-size = 2" in plan.diff
    kept = save(plan)
    assert kept == path.with_name("mine.toml.~1~")
    assert kept.read_text() == BY_HAND
    assert (mode(kept), mode(path)) == (0o640, 0o640)
    assert [preset.name for preset in load_presets(places).presets if preset.path and preset.path.parent == path.parent]
    second = save(draft(places, replace(PLAIN, description="again")))
    assert second is not None
    assert second.name == "mine.toml.~2~"
    assert newest_version(path) == second
    assert load_preset(path).description == "again"


def test_a_file_that_was_edited_meanwhile_is_left_alone(places: Places) -> None:
    path = places.user_presets / "mine.toml"
    save(draft(places, PLAIN))
    plan = draft(places, replace(PLAIN, description="mine"))
    path.write_text(BY_HAND)
    with pytest.raises(RefusedError, match="was changed meanwhile"):
        save(plan)
    assert path.read_text() == BY_HAND
    assert newest_version(path) is None


def test_a_file_that_came_up_meanwhile_is_left_alone(places: Places) -> None:
    plan = draft(places, PLAIN)
    path = places.user_presets / "mine.toml"
    path.parent.mkdir(parents=True)
    path.write_text(BY_HAND)
    with pytest.raises(RefusedError, match="was changed meanwhile"):
        save(plan)
    assert path.read_text() == BY_HAND


def test_a_link_to_somewhere_else_stays_one(places: Places, tmp_path: Path) -> None:
    elsewhere = tmp_path / "dotfiles" / "mine.toml"
    elsewhere.parent.mkdir()
    elsewhere.write_text(BY_HAND)
    link = places.user_presets / "mine.toml"
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    save(draft(places, PLAIN))
    assert link.is_symlink()
    assert load_preset(elsewhere) == PLAIN


def test_a_folder_that_cannot_be_written_changes_nothing(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    save(draft(places, PLAIN))
    path = places.user_presets / "mine.toml"

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tui.atomic.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save(draft(places, replace(PLAIN, engine=Engine(sglang="0.5.23"))))
    assert load_preset(path) == PLAIN
    assert newest_version(path) is None, "what could be written of a copy isn't one"


@pytest.mark.parametrize("name", ["../../x", "", ".x", "a/b", "x" * 65, "$(id)", "a b", "a\n", "é"])
def test_a_name_that_is_no_name_is_refused(places: Places, name: str) -> None:
    with pytest.raises(UsageError, match="can't be a preset's name"):
        draft(places, replace(PLAIN, name=name))


def test_a_folder_in_its_place_is_refused(places: Places) -> None:
    (places.user_presets / "mine.toml").mkdir(parents=True)
    with pytest.raises(UsageError, match="is no file"):
        draft(places, PLAIN)


def test_a_removed_preset_stays_as_an_earlier_version(places: Places) -> None:
    save(draft(places, PLAIN))
    path = places.user_presets / "mine.toml"
    kept = remove(path)
    assert not path.exists()
    assert load_preset_text(kept) == PLAIN
    assert newest_version(path) == kept


def test_what_is_shipped_cannot_be_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.presets.store.find_shipped_presets", lambda: tmp_path)
    with pytest.raises(UsageError, match="comes with sgltui"):
        check_removable(tmp_path / "x.toml")


def load_preset_text(path: Path) -> Preset:
    """An earlier version, under the name it had."""
    copy = path.parent / "copy" / "mine.toml"
    copy.parent.mkdir()
    copy.write_bytes(path.read_bytes())
    return load_preset(copy)
