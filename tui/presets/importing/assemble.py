"""A server call as a preset: each thing in its place, secrets as references, a container's paths as the host's."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from tui.errors import UsageError
from tui.presets.importing.flag_words import ReadFlags, read_flag_words
from tui.presets.importing.remarks import Remarks
from tui.presets.importing.server import Call
from tui.presets.importing.words import Word
from tui.presets.preset import Engine, Gpus, Host, LaunchDefaults, Preset
from tui.presets.secrets import is_secret_variable, powerful_variables
from tui.sglang.references import Reference

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OUTSIDE, _INSIDE = "NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"  # the second counts what the first lets in
_DEFAULT_PORT = 30000  # server_args.py
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
    if call.is_contained and model.startswith("/") and not any(model.startswith(host) for host, _ in call.volumes):
        remarks.unclear(f"{model} is a folder in the container: write where it is on this machine")
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
    for name, value in sorted(call.environment.items(), key=lambda pair: pair[0] == _INSIDE):
        if name == _INSIDE:
            gpus = _gpus_inside(gpus, value.text, remarks) if call.is_contained and gpus else value.text
        elif name == _OUTSIDE:
            gpus = value.text if value.text not in ("all", "") else gpus
        elif not _VARIABLE.fullmatch(name):
            remarks.lost(f"the variable {name!r}, which can't be one")
        else:
            env[name] = _variable(name, value, remarks)
    for name in powerful_variables(env):
        remarks.changed(f"{name} is set for the server: it decides which code runs there")
    return gpus, env


def _gpus_inside(given: str, text: str, remarks: Remarks) -> str:
    """Of the GPUs that a container was given, those that are named inside of it, where they are counted from 0."""
    outside, chosen = given.split(","), [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and int(word) < len(outside) for word in chosen):
        if all(word.isdecimal() for word in chosen):
            remarks.unclear(f"{_INSIDE}={text} names more GPUs than the container was given ({given}): check `gpus`")
            return given
        return text  # uuids are the same inside
    named = ",".join(outside[int(word)] for word in chosen)
    remarks.changed(f"{_INSIDE}={text} in the container is GPU {named} of this machine")
    return named


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
    port, host = _outside(call, _port(read.port, remarks), _host(read.host, remarks), remarks)
    defaults = LaunchDefaults(gpus=_gpus(gpus, remarks), port=port, host=host)
    if not call.restart:
        return defaults
    remarks.changed("it was started again whenever it ended: the preset restarts it when it fails, 3 times at most")
    pause: Mapping[str, float] = {}
    if call.restart_pause_s is not None:
        pause = {"restart_backoff_s": min(call.restart_pause_s, _MAX_PAUSE_S)}
    return msgspec.structs.replace(defaults, restart="on-failure", **pause)


def _outside(call: Call, port: int | None, host: str | None, remarks: Remarks) -> tuple[int | None, str | None]:
    """Port and address where a container's server was reached; its own where nothing was published."""
    inside = _DEFAULT_PORT if port is None else port
    published = next((one for one in call.ports if one.inside == inside), None)
    if published is None:
        return port, host
    if published.outside != inside:
        remarks.changed(f"port {inside} in the container was published as {published.outside}, which it listens on now")
        port = published.outside
    if published.host is not None:
        remarks.changed(f"it was published on {published.host} alone, which it listens on now")
        host = _host(Word(published.host), remarks)
    return port, host


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
