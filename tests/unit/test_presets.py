from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui.errors import ExitCode, UsageError
from tui.hiding import is_secret_flag
from tui.paths import Places
from tui.presets import (
    Engine,
    Evidence,
    LaunchDefaults,
    Preset,
    Reference,
    dump_preset,
    find_preset,
    load_preset,
    load_presets,
)
from tui.toml_decode import TomlError

FULL = """\
model = "Qwen/Qwen3.6-27B"

[preset]
name = "full"
description = "all of it"

[engine]
python = "/opt/sglang/bin/python"
sglang = "0.5.11"
entry = "serve"

[flags]
mem-fraction-static = 0.8
max-running-requests = 8
speculative-algorithm = "EAGLE"
enable-metrics = true
disable-radix-cache = false
cuda-graph-bs = [1, 2, 4]
api-key = { env = "SGLANG_API_KEY" }
admin-api-key = { file = "~/.secrets/admin" }
ssl-keyfile = "/etc/ssl/key.pem"
ssl-keyfile-password.command = "pass show sglang"

[env]
HF_TOKEN = { env = "HF_TOKEN" }
CUDA_DEVICE_ORDER = "PCI_BUS_ID"
TOKENIZERS_PARALLELISM = "false"

[launch]
gpus = [0, "GPU-8f6c1d2e-1111-2222-3333-444455556666"]
port = 30000
host = "127.0.0.1"
name = "mtp"

[evidence]
status = "verified"
note = "overnight"
gpu = "NVIDIA RTX PRO 6000"
sglang = "0.5.11"
date = 2026-11-29
"""

EXPECTED = Preset(
    name="full",
    model="Qwen/Qwen3.6-27B",
    description="all of it",
    engine=Engine(python="/opt/sglang/bin/python", sglang="0.5.11", entry="serve"),
    flags={
        "mem-fraction-static": 0.8,
        "max-running-requests": 8,
        "speculative-algorithm": "EAGLE",
        "enable-metrics": True,
        "disable-radix-cache": False,
        "cuda-graph-bs": [1, 2, 4],
        "api-key": Reference("env", "SGLANG_API_KEY"),
        "admin-api-key": Reference("file", "~/.secrets/admin"),
        "ssl-keyfile": "/etc/ssl/key.pem",
        "ssl-keyfile-password": Reference("command", "pass show sglang"),
    },
    env={
        "HF_TOKEN": Reference("env", "HF_TOKEN"),
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "TOKENIZERS_PARALLELISM": "false",
    },
    launch=LaunchDefaults(
        gpus=(0, "GPU-8f6c1d2e-1111-2222-3333-444455556666"), port=30000, host="127.0.0.1", name="mtp"
    ),
    evidence=Evidence(
        status="verified", note="overnight", gpu="NVIDIA RTX PRO 6000", sglang="0.5.11", date=dt.date(2026, 11, 29)
    ),
)


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def refuse(tmp_path: Path, text: str, name: str = "x") -> TomlError:
    with pytest.raises(TomlError) as caught:
        load_preset(write(tmp_path, name, text))
    return caught.value


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    """Three folders of presets; the shipped one is a stand-in."""
    monkeypatch.setattr("tui.presets.library.find_shipped_presets", lambda: tmp_path / "shipped")
    return Places(state=tmp_path / "state", config=tmp_path / "config", project_presets=tmp_path / "project")


def test_a_full_preset(tmp_path: Path) -> None:
    preset = load_preset(write(tmp_path, "full", FULL))
    assert preset == EXPECTED
    assert preset.path == tmp_path / "full.toml"
    assert [type(value) for value in preset.flags.values()][:5] == [float, int, str, bool, bool]


def test_a_model_is_enough(tmp_path: Path) -> None:
    preset = load_preset(write(tmp_path, "qwen3.5", 'model = "~/models/qwen"'))
    assert preset == Preset(name="qwen3.5", model="~/models/qwen")
    assert (preset.engine.entry, preset.launch.port, preset.evidence) == ("launch_server", None, None)


def flag(line: str) -> str:
    return f'model = "m"\n[flags]\n{line}\n'


def variable(line: str) -> str:
    return f'model = "m"\n[env]\n{line}\n'


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("[flags]\ntp-size = 2", None, "model is missing; it must be a Hugging Face model id or a folder"),
        ('[flags]\nmodel = "m"', 2, "move model to the top of the file, before the first [table]"),
        ('model = ""', 1, "model is '', but must be a Hugging Face model id"),
        ('model = "m"\n[launch]\nprot = 1', 3, "unknown key launch.prot; did you mean port?"),
        ('model = "m"\n[flag]\ntp-size = 2', 2, "unknown key flag; did you mean flags?"),
        ('model = "m"\n[launch]\ngpus = "0"', 3, "launch.gpus is '0', but must be a list of GPU indices or uuids"),
        ('model = "m"\n[launch]\ngpus = []', 3, "launch.gpus is a list, but must be a list of GPU indices or uuids"),
        ('model = "m"\n[launch]\ngpus = [-1]', 3, "launch.gpus[0] is -1, but must be a list of GPU indices or uuids"),
        ('model = "m"\n[launch]\ngpus = ["RTX"]', 3, "launch.gpus[0] is 'RTX', but must be a list of GPU indices"),
        ('model = "m"\n[launch]\nname = "../x"', 3, "launch.name is '../x', but must be a name of letters"),
        ('model = "m"\n[launch]\nhost = "a b"', 3, "launch.host is 'a b', but must be a host name or address"),
        ('model = "m"\n[engine]\nentry = "launch"', 3, """but must be "launch_server" or "serve\""""),
        ('model = "m"\n[engine]\nsglang = 0.5', 3, "engine.sglang is 0.5, but must be a release of SGLang in"),
        (
            'model = "m"\n[evidence]\nnote = "n"',
            2,
            """evidence.status is missing; it must be "computed" or "verified\"""",
        ),
        (
            'model = "m"\n[preset]\nname = "y"',
            3,
            "preset.name is 'y', but the file is named 'x'; rename the file to y.toml",
        ),
        (flag("--tp-size = 2"), 3, "flag '--tp-size' has dashes in front; write it without: 'tp-size'"),
        (flag("tp_size = 2"), 3, "'tp_size' can't be a flag; SGLang spells it tp-size"),
        (flag('"tp size" = 2'), 3, "'tp size' can't be a flag"),
        (flag('"a=b" = 2'), 3, "'a=b' can't be a flag"),
        (flag("port = 30001"), 3, "port doesn't belong in [flags]; write port in [launch]"),
        (flag('model-path = "m"'), 3, "model-path doesn't belong in [flags]"),
        (flag("tp = { size = 2 }"), 3, "flags.tp is a table, but not one of { env ="),
        (flag("speculative.num-steps = 2"), 3, "flags.speculative is a table, but not one of"),
        ('model = "m"\n[flags.tp]\nsize = 2', 2, "flags.tp is a table, but not one of"),
        (flag('x = { env = "A", file = "/b" }'), 3, "flags.x is a table, but not one of"),
        (flag('x = { env = "A B" }'), 3, "'A B' can't be an environment variable; use letters, digits and `_`"),
        (flag(r'"a_\u001b" = 1'), 3, r"'a_\x1b' can't be a flag; use small letters"),
        (flag('x = { env = "" }'), 3, "flags.x is a table, but not one of"),
        (flag('x = { file = "secret.txt" }'), 3, "the file of flags.x is 'secret.txt'; write its whole path, or ~/"),
        (flag("""x = { command = 'a "b' }"""), 3, "the command of flags.x can't be split into words"),
        (flag("x = 2026-11-29"), 3, "flags.x is a date or time, but must be a text, a number"),
        (flag("x = [[1]]"), 3, "flags.x is a list, but must be a text, a number"),
        (flag("x = [true]"), 3, "flags.x is a list, but must be a text, a number"),
        (flag("x = []"), 3, "flags.x is an empty list, but must be"),
        (flag(r'x = "a\u0000b"'), 3, "flags.x holds a NUL character"),
        (flag(r'x = ["a\u0000b"]'), 3, "flags.x holds a NUL character"),
        ('flags = 3\nmodel = "m"', 1, "flags is 3, but must be a table"),
        (variable("A = 1"), 3, 'env.A is a number, but must be a text in "quotes"'),
        (variable('"A B" = "1"'), 3, "'A B' can't be an environment variable"),
        (variable(r'A = "\u0000"'), 3, "env.A holds a NUL character"),
        (variable('CUDA_VISIBLE_DEVICES = "0"'), 3, "CUDA_VISIBLE_DEVICES doesn't belong in [env]; write gpus ="),
    ],
)
def test_errors_say_where_and_what_is_allowed(tmp_path: Path, text: str, line: int | None, said: str) -> None:
    error = refuse(tmp_path, text)
    assert said in str(error)
    assert (error.path, error.line, error.exit_code) == (tmp_path / "x.toml", line, ExitCode.USAGE)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        (flag('api-key = "hunter2"'), '{ env = "SGLANG_API_KEY" }'),
        (flag('admin-api-key = "hunter2"'), '{ env = "SGLANG_ADMIN_API_KEY" }'),
        (flag('ssl-keyfile-password = "hunter2"'), '{ env = "SGLANG_SSL_KEYFILE_PASSWORD" }'),
        (flag('api-k = "hunter2"'), "{ env = "),  # argparse takes unique prefixes
        (flag('api-key = ["hunter2"]'), "{ env = "),
        (variable('HF_TOKEN = "hunter2"'), '{ env = "HF_TOKEN" }'),
        (variable('WANDB_API_KEY = "hunter2"'), "{ env = "),
        (variable('AWS_SECRET_ACCESS_KEY = "hunter2"'), "{ env = "),
        (variable('wandb_apikey = "hunter2"'), "{ env = "),
        (variable('REDIS_PASSWORD = "hunter2"'), "{ env = "),
        (flag('api-key = { token = "hunter2" }'), "{ env = "),
    ],
)
def test_literal_secrets_are_refused_and_not_repeated(tmp_path: Path, text: str, remedy: str) -> None:
    error = refuse(tmp_path, text)
    assert error.line == 3
    assert remedy in str(error)
    assert "hunter2" not in str(error)
    assert error.__cause__ is None


def test_references_in_longer_words(tmp_path: Path) -> None:
    text = (
        'model = "m"\n[flags]\napi-key = { from = "env", name = "KEY" }\n'
        '[env]\nHF_TOKEN = { from = "env" }\nA_KEY = { from = "file", path = "~/key" }\n'
        'B_KEY = { from = "command", argv = ["pass", "show", "my key"] }\n'
    )
    preset = load_preset(write(tmp_path, "x", text))
    assert preset.flags == {"api-key": Reference("env", "KEY")}
    assert preset.env == {
        "HF_TOKEN": Reference("env", "HF_TOKEN"),
        "A_KEY": Reference("file", "~/key"),
        "B_KEY": Reference("command", "pass show 'my key'"),
    }


@pytest.mark.parametrize(
    "value",
    [
        '{ from = "shell" }',
        '{ from = "file" }',
        '{ from = "file", path = "relative" }',
        '{ from = "command", argv = "pass show" }',
        '{ from = "command", argv = [] }',
        '{ from = "env", value = "hunter2" }',
        '{ from = "env", name = "A B" }',
        "{ from = 3 }",
    ],
)
def test_references_that_name_nothing_are_refused(tmp_path: Path, value: str) -> None:
    error = refuse(tmp_path, variable(f"HF_TOKEN = {value}"))
    assert error.line == 3
    assert "hunter2" not in str(error)


@pytest.mark.parametrize("name", ["TOKENIZERS_PARALLELISM", "MAX_TOKENS", "KEYRING", "MONKEY", "SSL_KEYFILE"])
def test_harmless_variables_are_not_taken_for_secrets(tmp_path: Path, name: str) -> None:
    assert load_preset(write(tmp_path, "x", variable(f'{name} = "1"'))).env == {name: "1"}


@pytest.mark.parametrize("stem", ["my preset", "-x", ".x", "é", "x" * 65])
def test_a_file_name_that_is_no_name(tmp_path: Path, stem: str) -> None:
    assert "can't be a preset's name" in str(refuse(tmp_path, 'model = "m"', name=stem))


def test_folders_shadow_one_another_by_name(places: Places, tmp_path: Path) -> None:
    for folder, names in {"shipped": "abcd", "config/presets": "bcd", "project": "cd"}.items():
        for name in names:
            write(tmp_path / folder, name, f'model = "{folder}"')
    write(tmp_path / "project", ".hidden", "broken")
    (tmp_path / "project" / "notes.md").touch()
    found = load_presets(places)
    assert [(preset.name, preset.model) for preset in found.presets] == [
        ("a", "shipped"),
        ("b", "config/presets"),
        ("c", "project"),
        ("d", "project"),
    ]
    assert found.problems == ()
    assert find_preset(places, "b").path == tmp_path / "config" / "presets" / "b.toml"


def test_a_broken_file_hides_no_other_and_is_not_replaced_by_one_behind_it(places: Places, tmp_path: Path) -> None:
    write(tmp_path / "shipped", "a", 'model = "m"')
    write(tmp_path / "shipped", "b", 'model = "m"')
    broken = write(tmp_path / "project", "a", "model = m")
    (tmp_path / "project" / "folder.toml").mkdir()
    found = load_presets(places)
    assert [preset.name for preset in found.presets] == ["b"]
    assert [problem.path for problem in found.problems] == [broken, tmp_path / "project" / "folder.toml"]
    assert f"{broken}:1: not valid TOML" in found.problems[0].message
    with pytest.raises(TomlError, match="not valid TOML"):
        find_preset(places, "a")


def test_missing_folders_are_no_problem_except_one_that_was_asked_for(places: Places, tmp_path: Path) -> None:
    found = load_presets(places)
    assert found.presets == ()
    assert [problem.message for problem in found.problems] == [f"no such folder: {tmp_path / 'project'}"]


def test_a_folder_that_is_a_file_is_a_problem(places: Places, tmp_path: Path) -> None:
    (tmp_path / "project").touch()
    (problem,) = load_presets(places).problems
    assert "Not a directory" in problem.message


def test_find_by_path_and_by_name(places: Places, tmp_path: Path) -> None:
    path = write(tmp_path / "elsewhere", "mine", 'model = "m"')
    assert find_preset(places, str(path)).name == "mine"
    with pytest.raises(TomlError, match="No such file"):
        find_preset(places, str(tmp_path / "absent.toml"))
    with pytest.raises(UsageError, match=r"no preset is named 'mine'; there are no presets"):
        find_preset(places, "mine")
    for name in ("qwen36-mtp", "llama8b"):
        write(tmp_path / "shipped", name, 'model = "m"')
    with pytest.raises(UsageError, match=r"'qwen36-mpt'; did you mean qwen36-mtp\? presets: llama8b, qwen36-mtp"):
        find_preset(places, "qwen36-mpt")
    with pytest.raises(UsageError, match="no preset is named"):
        find_preset(places, "../elsewhere/mine")


def test_dumped_as_a_person_would_write_it() -> None:
    text = dump_preset(EXPECTED)
    assert text == FULL.replace(
        'ssl-keyfile-password.command = "pass show sglang"', 'ssl-keyfile-password = { command = "pass show sglang" }'
    )


def test_a_dump_leaves_out_what_is_not_set() -> None:
    assert dump_preset(Preset(name="x", model="m")) == 'model = "m"\n\n[preset]\nname = "x"\n'


def test_a_dump_holds_no_control_codes(tmp_path: Path) -> None:
    preset = Preset(name="x", model="m", description="\x1b[2J\x9b2J\u202e\r\n", flags={"xx": "\x9d"})
    text = dump_preset(preset)
    assert all(character.isprintable() or character == "\n" for character in text)
    assert load_preset(write(tmp_path, "x", text)) == preset


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
NUMBER = st.integers() | st.floats(allow_nan=False)
NAME = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,12}", fullmatch=True)
REFERENCE = st.one_of(
    st.builds(Reference, st.just("env"), st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True)),
    st.builds(Reference, st.just("file"), TEXT.map("/".__add__)),
    st.builds(Reference, st.just("command"), NAME),
)
PLAIN = st.one_of(st.booleans(), NUMBER, TEXT, st.lists(NUMBER | TEXT, min_size=1, max_size=3))
FLAG_NAME = st.from_regex(r"[a-z][a-z0-9]{0,5}(-[a-z0-9]{1,5}){0,2}", fullmatch=True).filter(
    lambda name: not is_secret_flag(f"--{name}") and name not in {"model", "host", "port"}
)
PRESETS = st.builds(
    Preset,
    name=st.just("round"),
    model=NAME,
    description=TEXT,
    engine=st.builds(
        Engine, sglang=st.none() | st.just("0.5.6.post2"), entry=st.sampled_from(["serve", "launch_server"])
    ),
    flags=st.dictionaries(FLAG_NAME, PLAIN | REFERENCE, max_size=5),
    env=st.dictionaries(st.from_regex(r"X_[A-Z]{0,2}", fullmatch=True), TEXT | REFERENCE, max_size=3),
    launch=st.builds(
        LaunchDefaults,
        gpus=st.none() | st.lists(st.integers(0, 7) | st.just("GPU-1f"), min_size=1, max_size=2).map(tuple),
        port=st.none() | st.integers(1, 65535),
    ),
    evidence=st.none() | st.builds(Evidence, status=st.just("computed"), note=TEXT, date=st.none() | st.dates()),
)


@settings(max_examples=60, deadline=None)
@given(PRESETS)
def test_a_dump_is_read_back_equal(preset: Preset) -> None:
    with tempfile.TemporaryDirectory() as folder:
        back = load_preset(write(Path(folder), "round", dump_preset(preset)))
    assert back == preset
    assert {name: type(value) for name, value in back.flags.items()} == {
        name: type(value) for name, value in preset.flags.items()
    }
