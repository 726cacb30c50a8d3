"""A server call as a preset: each thing in its place, secrets as references, a container's paths as the host's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import msgspec

from tui.errors import UsageError
from tui.presets.importing.flag_words import ReadFlags, read_flag_words
from tui.presets.importing.remarks import Remarks
from tui.presets.importing.server import Call
from tui.presets.importing.words import Word
from tui.presets.preset import Engine, Gpus, Host, LaunchDefaults, Preset
from tui.presets.secrets import is_secret_variable, powerful_variables
from tui.sglang.references import Reference

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_GPU_VARIABLES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
_MAX_PORT, _MAX_PAUSE_S = 65535, 3600.0
_NO_CONTROLS = re.compile(r"[^\x00-\x1f\x7f]+")


def assemble(call: Call, name: str | None, remarks: Remarks) -> Preset:
    """The preset of a call.

    Raises:
        UsageError: it names no model.
    """
    outside = replace_paths(call, remarks)
    read = read_flag_words(outside.arguments, outside.release, remarks)
    if read.model is None or not _NO_CONTROLS.fullmatch(read.model.text):
        raise UsageError(
            "the server has no --model-path", "add it to the command line, as a Hugging Face id or a folder"
        )
    model = _model(read.model, remarks)
    gpus, env = _environment(outside, remarks)
    return Preset(
        name=name or name_after(model),
        model=model,
        engine=Engine(python=outside.python, sglang=outside.release, entry=outside.entry),
        flags=read.flags,
        env=env,
        launch=_launch(outside, read, gpus, remarks),
    )


def name_after(model: str) -> str:
    """A preset's name from a model's: its last part in small letters."""
    last = model.rstrip("/").rpartition("/")[2].lower()
    return re.sub(r"[^a-z0-9._-]+", "-", last).strip("-._")[:64] or "imported"


def replace_paths(call: Call, remarks: Remarks) -> Call:
    """Paths inside of a container as those outside that were mounted there."""

    def outside(word: Word) -> Word:
        head, equals, path = word.text.partition("=") if word.text.startswith("--") else ("", "", word.text)
        for host, inside in sorted(call.volumes, key=lambda pair: -len(pair[1])):
            if path == inside or path.startswith(inside.rstrip("/") + "/"):
                mapped = host.rstrip("/") + path.removeprefix(inside.rstrip("/"))
                remarks.changed(f"{path} in the container is {mapped} on this machine")
                return replace(word, text=f"{head}{equals}{mapped}")
        return word

    call.arguments = tuple(map(outside, call.arguments))
    call.environment = {name: outside(value) for name, value in call.environment.items()}
    return call


def _model(word: Word, remarks: Remarks) -> str:
    text = re.sub(r"^\$(HOME|\{HOME\})/", "~/", word.text)
    for unknown in word.unknown:
        if unknown in text:
            remarks.unclear(f"{unknown} isn't known here: model keeps it as text; write what it stands for")
    return text


def _environment(call: Call, remarks: Remarks) -> tuple[str | None, dict[str, str | Reference]]:
    """The GPUs that a variable names, and the other variables."""
    gpus = call.gpus
    env: dict[str, str | Reference] = {}
    for name, value in call.environment.items():
        if name in _GPU_VARIABLES:
            gpus = value.text if name == "CUDA_VISIBLE_DEVICES" or value.text not in ("all", "") else gpus
        elif not _VARIABLE.fullmatch(name):
            remarks.lost(f"the variable {name!r}, which can't be one")
        else:
            env[name] = _variable(name, value, remarks)
    for name in powerful_variables(env):
        remarks.changed(f"{name} is set for the server: it decides which code runs there")
    return gpus, env


def _variable(name: str, value: Word, remarks: Remarks) -> str | Reference:
    if value.variable is not None:
        remarks.changed(f"{name} is taken from the environment variable {value.variable} at each launch")
        return Reference("env", value.variable)
    if is_secret_variable(name):
        remarks.secrets.add(value.text)
        remarks.changed(
            f"the value of {name} is a secret and isn't kept: the preset takes it from the environment variable "
            f"{name}; set that before a launch"
        )
        return Reference("env", name)
    for unknown in value.unknown:
        remarks.unclear(f"{unknown} isn't known here: {name} keeps it as text; write what it stands for")
    return value.text


def _launch(call: Call, read: ReadFlags, gpus: str | None, remarks: Remarks) -> LaunchDefaults:
    defaults = LaunchDefaults(gpus=_gpus(gpus, remarks), port=_port(read.port, remarks), host=_host(read.host, remarks))
    if not call.restart:
        return defaults
    remarks.changed("it was started again whenever it ended: the preset restarts it when it fails, 3 times at most")
    pause: Mapping[str, float] = {}
    if call.restart_pause_s is not None:
        pause = {"restart_backoff_s": min(call.restart_pause_s, _MAX_PAUSE_S)}
    return msgspec.structs.replace(defaults, restart="on-failure", **pause)


def _gpus(text: str | None, remarks: Remarks) -> tuple[int | str, ...] | None:
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    chosen = tuple(int(word) if word.isdecimal() and word.isascii() else word for word in words)
    try:
        return msgspec.convert(chosen, Gpus)
    except msgspec.ValidationError:
        remarks.unclear(
            f"{text!r} names no GPUs by index or uuid: write gpus = [0, 1] in [launch], or leave the choice open"
        )
        return None


def _port(word: Word | None, remarks: Remarks) -> int | None:
    if word is None:
        return None
    if word.text.isdecimal() and word.text.isascii() and 1 <= int(word.text[:9]) <= _MAX_PORT:
        return int(word.text)
    remarks.unclear(f"the port is {word.text!r}, which is no number here: write port in [launch], or leave it open")
    return None


def _host(word: Word | None, remarks: Remarks) -> str | None:
    if word is None:
        return None
    try:
        return msgspec.convert(word.text, Host)
    except msgspec.ValidationError:
        remarks.unclear(f"the host is {word.text!r}, which isn't known here: write host in [launch]")
        return None
