from __future__ import annotations

import json
import tempfile
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui.errors import UsageError
from tui.presets import Engine, LaunchDefaults, Preset, Reference, dump_preset, load_preset
from tui.presets.importing import import_command, import_words
from tui.sglang.command import build_arguments
from tui.sglang.flags import RELEASES, Flag, load_inventory
from tui.sglang.references import Scalar

FIXTURE = Path(__file__).parents[1] / "fixtures" / "imports" / "commands.toml"
CASES: list[dict[str, Any]] = tomllib.loads(FIXTURE.read_text())["case"]
ACCEPTED = [case for case in CASES if "refused" not in case]
REFUSED = [case for case in CASES if "refused" in case]
SECRETS = ("hf_AbCdEfGhIjKl", "sk-123456", "topsecret", "sk-verysecret")


def by_name(case: dict[str, Any]) -> str:
    return str(case["name"])


def references(table: dict[str, Any]) -> dict[str, Any]:
    return {name: Reference("env", value["env"]) if isinstance(value, dict) else value for name, value in table.items()}


def test_there_are_sixty_and_more() -> None:
    assert len(ACCEPTED) >= 60
    assert len({case["name"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", ACCEPTED, ids=by_name)
def test_a_pasted_command_line(case: dict[str, Any]) -> None:
    imported = import_command(case["text"])
    preset = imported.preset
    assert preset.model == case["model"]
    assert dict(preset.flags) == references(case.get("flags", {}))
    assert dict(preset.env) == references(case.get("env", {}))
    assert preset.launch.gpus == (tuple(case["gpus"]) if "gpus" in case else None)
    assert (preset.launch.port, preset.launch.host) == (case.get("port"), case.get("host"))
    assert (preset.engine.python, preset.engine.sglang) == (case.get("python"), case.get("sglang"))
    assert (preset.engine.entry, preset.launch.restart) == (
        case.get("entry", "launch_server"),
        case.get("restart", "no"),
    )
    assert imported.servers == case.get("servers", 1)


@pytest.mark.parametrize("case", ACCEPTED, ids=by_name)
def test_what_is_not_kept_is_said_and_nothing_else(case: dict[str, Any]) -> None:
    remarks = import_command(case["text"]).remarks
    lost = [remark.text for remark in remarks if remark.kind != "changed"]
    changed = [remark.text for remark in remarks if remark.kind == "changed"]
    for said, expected in ((lost, case.get("says", [])), (changed, case.get("changes", []))):
        assert len(said) == len(expected), said
        assert all(any(part.strip() in text for text in said) for part in expected), said


@pytest.mark.parametrize("case", ACCEPTED, ids=by_name)
def test_an_import_is_a_preset_without_secrets(case: dict[str, Any], tmp_path: Path) -> None:
    imported = import_command(case["text"], name="pasted")
    path = tmp_path / "pasted.toml"
    path.write_text(dump_preset(imported.preset))
    assert load_preset(path) == imported.preset
    everything = path.read_text() + "".join(remark.text for remark in imported.remarks)
    assert not [secret for secret in SECRETS if secret in everything]
    assert all(remark.text.isprintable() for remark in imported.remarks)


@pytest.mark.parametrize("case", REFUSED, ids=by_name)
def test_what_is_no_server_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r".") as caught:
        import_command(case["text"])
    assert case["refused"] in str(caught.value)


def test_one_of_several_servers_is_chosen() -> None:
    [case] = [case for case in CASES if case["name"] == "two servers"]
    assert import_command(case["text"], number=2).preset.flags == {"disaggregation-mode": "decode"}
    with pytest.raises(UsageError, match="it starts 2"):
        import_command(case["text"], number=3)


def test_too_much_text_is_refused() -> None:
    with pytest.raises(UsageError, match="64 KiB"):
        import_command("python -m sglang.launch_server --model-path m/x " + "a" * (64 << 10))


def test_yaml_that_explodes_or_never_ends_is_read_in_bounds() -> None:
    levels = "\n".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 30))
    text = f"a0: &a0 {{x: y}}\n{levels}\nsvc:\n  <<: *a29\n  command: sglang serve --model-path m/x\n"
    assert import_command(text).preset.model == "m/x"
    for hostile in ("command: " + "[" * 60_000, "loop: &l [*l]\ncommand: sglang serve"):
        with pytest.raises(UsageError, match="not valid YAML"):
            import_command(hostile)


def test_a_running_server() -> None:
    words = [
        "/opt/v/bin/python",
        "-m",
        "sglang.launch_server",
        "--model-path",
        "$x",
        "--api-key",
        "hunter22",
        "--tp",
        "2",
    ]
    imported = import_words(words, {"CUDA_VISIBLE_DEVICES": "0,1"}, "mine")
    assert imported.preset.launch.gpus == (0, 1)
    assert imported.preset.flags == {"api-key": Reference("env", "SGLANG_API_KEY"), "tp-size": 2}
    assert imported.preset.model == "$x"
    assert "hunter22" not in repr(imported)


def test_what_is_no_text_is_refused() -> None:
    """A preset is UTF-8; a path of a process needn't be, and JSON and units can write half of a character."""
    server = ["python", "-m", "sglang.launch_server", "--model-path", "/m/\udcff"]
    with pytest.raises(UsageError, match="no text"):
        import_words(server, {})
    unit = "[Service]\nExecStart=/v/bin/python -m sglang.launch_server --model-path m/\\udcff\n"
    for text in (json.dumps(server), unit):
        with pytest.raises(UsageError, match="no text"):
            import_command(text)


def test_a_here_string_ends_where_it_stands() -> None:
    text = "MODEL=m/x\ncat <<< hello\npython -m sglang.launch_server --model-path $MODEL\n"
    assert import_command(text).preset.model == "m/x"


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)


@st.composite
def flags_of_a_release(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    inventory = load_inventory(draw(st.sampled_from(RELEASES)))
    usual = [flag for flag in inventory.flags if flag.name not in ("model-path", "host", "port")]
    chosen = draw(st.lists(st.sampled_from(usual), max_size=8, unique_by=lambda flag: flag.name))
    return inventory.release, {flag.name: draw(values(flag)) for flag in chosen}


def values(flag: Flag) -> st.SearchStrategy[Any]:
    if "api-key" in flag.name or flag.name == "ssl-keyfile-password":
        return st.just(Reference("env", f"SGLANG_{flag.name.upper().replace('-', '_')}"))
    if flag.is_switch:
        return st.just(True)
    one: st.SearchStrategy[Scalar]
    if flag.choices is not None:
        one = st.sampled_from(flag.choices)
    elif flag.type in ("int", "human_int"):
        one = st.integers(-(10**12), 10**12)
    elif flag.type == "float":
        one = st.floats(0, 1e15)  # argparse takes -1e+16 for an option
    else:
        one = TEXT.filter(lambda text: not text.startswith("-"))
    return st.lists(one, min_size=1, max_size=3) if flag.nargs in ("+", "*") else one


@settings(max_examples=60, deadline=None)
@given(flags_of_a_release())
def test_flags_of_every_release_come_back_from_their_command_line(chosen: tuple[str, dict[str, Any]]) -> None:
    release, flags = chosen
    resolved = {name: "hunter22" if isinstance(value, Reference) else value for name, value in flags.items()}
    words = ["python", "-m", "sglang.launch_server", *build_arguments(resolved, "m/x", None, 30000)]
    imported = import_words(words, {}, "round", release)
    engine, launch = Engine(sglang=release), LaunchDefaults(port=30000)
    assert imported.preset == Preset(name="round", model="m/x", engine=engine, flags=flags, launch=launch)
    assert {name: type(value) for name, value in imported.preset.flags.items()} == {
        name: type(value) for name, value in flags.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "round.toml"
        path.write_text(dump_preset(imported.preset))
        assert load_preset(path) == imported.preset


FRAGMENTS = st.sampled_from(
    [
        *(
            "python -m sglang.launch_server",
            "sglang serve",
            "--model-path m/x",
            "--tp",
            "2",
            "\\\n",
            "\n",
            "'",
            '"',
            "$X",
        ),
        *(
            "${X:-1}",
            "$(",
            ")",
            "`",
            "<<EOF",
            "EOF",
            "&&",
            ";",
            "|",
            "> log",
            "docker run",
            "-e A=b",
            "-v /a:/b",
            "img:v1",
        ),
        *(
            "ExecStart=",
            "command:",
            "- ",
            ": ",
            "&a",
            "*a",
            "<<: ",
            "%h",
            "\x1b[31m",
            "--api-key",
            "hunter22",
            "env",
            "A=(",
        ),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(FRAGMENTS | TEXT, max_size=25), st.sampled_from(["", " "]))
def test_rubbish_is_imported_or_refused_and_never_breaks(parts: list[str], between: str) -> None:
    with suppress(UsageError):
        assert import_command(between.join(parts)).preset.model
