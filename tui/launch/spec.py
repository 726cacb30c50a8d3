"""What is asked to be launched, before anything about this machine is known."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from tui.errors import UsageError
from tui.launch.records import RestartRecord
from tui.presets import Engine, LaunchDefaults, Preset
from tui.sglang.references import FlagValue, Reference

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class LaunchSpec(Struct, frozen=True):
    """One server to be launched.

    Attributes:
        name: under which it is listed and stopped.
        model: a path, or a Hugging Face id.
        flags: SGLang's flags by name without dashes.
        words: flags as typed, put behind `flags`; in SGLang's parser the last one wins.
        host, port: where it shall listen; None leaves it to `flags`, `words` or the default.
        gpus: indices or uuids; None lets the launch choose.
        preset: the name of the preset it came from.
        restart: None: a failed server stays down.
        group, order: servers of one group are started in order, and stopped in reverse.
        cwd: the folder it runs in; None: the current one.
        port_hint: where it listened before; taken again if nobody asks for another one and it is free.
    """

    name: str
    model: str
    flags: Mapping[str, FlagValue] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    engine: Engine = field(default_factory=Engine)
    env: Mapping[str, str | Reference] = field(default_factory=dict)
    host: str | None = None
    port: int | None = None
    gpus: tuple[int | str, ...] | None = None
    preset: str | None = None
    restart: RestartRecord | None = None
    group: str | None = None
    order: int = 0
    cwd: str | None = None
    port_hint: int | None = None

    def __post_init__(self) -> None:
        """Refuse a name that couldn't be a folder.

        Raises:
            UsageError: the name has other characters than letters, digits, `.`, `_` and `-`.
        """
        if not NAME.fullmatch(self.name):
            raise UsageError(
                f"{self.name!r} can't be a server's name",
                "use up to 64 letters, digits, dots, dashes or underscores, beginning with a letter or digit",
            )

    def changed(
        self,
        *,
        name: str | None = None,
        gpus: str | None = None,
        port: int | None = None,
        words: tuple[str, ...] = (),
    ) -> LaunchSpec:
        """The same with what the command line or the form says instead; None keeps what is there."""
        return replace(
            self,
            name=self.name if name is None else name,
            gpus=self.gpus if gpus is None else parse_gpus(gpus),
            port=self.port if port is None else port,
            words=self.words + words,
        )


def spec_from_preset(preset: Preset) -> LaunchSpec:
    """The launch that a preset describes."""
    return LaunchSpec(
        name=preset.launch.name or preset.name,
        model=preset.model,
        flags=preset.flags,
        engine=preset.engine,
        env=preset.env,
        host=preset.launch.host,
        port=preset.launch.port,
        gpus=preset.launch.gpus,
        preset=preset.name,
        restart=_restart(preset.launch),
        group=preset.launch.group,
        order=preset.launch.order,
    )


def _restart(defaults: LaunchDefaults) -> RestartRecord | None:
    if defaults.restart == "no":
        return None
    return RestartRecord(defaults.restart_limit, defaults.restart_backoff_s)


def spec_from_model(model: str) -> LaunchSpec:
    """A launch of a model with SGLang's defaults, named after the model's last path component."""
    last = model.rstrip("/").rpartition("/")[2].lower()
    name = re.sub(r"[^a-z0-9._-]+", "-", last).strip("-._")[:64]
    return LaunchSpec(name=name or "server", model=model)


def parse_gpus(text: str) -> tuple[int | str, ...]:
    """`0,1` or `GPU-uuid,…` as a selection.

    Raises:
        UsageError: something in it is neither an index nor a uuid.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    chosen: list[int | str] = []
    for word in words:
        if not (word.isdecimal() or word.startswith("GPU-")):
            raise UsageError(f"{word!r} names no GPU", "give indices or uuids as `sgltui gpus` lists them, like 0,1")
        chosen.append(int(word) if word.isdecimal() else word)
    if not chosen:
        raise UsageError("no GPU given", "give indices like 0,1, or leave the option out")
    return tuple(chosen)
