"""Where things are kept. One `Places` value is made at start and handed down; nothing else reads these variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from platformdirs import PlatformDirs

from tui.errors import UsageError

STATE_DIR_VARIABLE = "SGLTUI_STATE_DIR"
CONFIG_DIR_VARIABLE = "SGLTUI_CONFIG_DIR"
SIMULATED_VARIABLE = "SGLTUI_SIMULATED"


class Places(Struct, frozen=True):
    """The folders of one user on one machine.

    Attributes:
        state: records and logs of launches (`$XDG_STATE_HOME/sgltui`).
        config: `config.toml` and `presets/` (`$XDG_CONFIG_HOME/sgltui`).
        simulated: the simulated machine that replaces this one, or None.
        project_presets: an extra folder of presets (`--presets DIR`), or None.
        cache: what can be had again (`$XDG_CACHE_HOME/sgltui`); None: inside `state`.
    """

    state: Path
    config: Path
    simulated: Path | None = None
    project_presets: Path | None = None
    cache: Path | None = None

    @property
    def flag_cache(self) -> Path:
        """What interpreters told of their SGLang's flags."""
        return (self.cache or self.state / "cache") / "flags"

    @property
    def instances(self) -> Path:
        """One folder a named server, one folder a launch inside."""
        return self.state / "instances"

    @property
    def user_presets(self) -> Path:
        """Where presets are saved."""
        return self.config / "presets"

    @property
    def hub(self) -> Path | None:
        """The Hugging Face cache of a simulated machine; None: this machine's own, wherever that is."""
        return None if self.simulated is None else self.simulated / "hub"

    @property
    def layout_file(self) -> Path:
        """How a person arranged the screen."""
        return self.state / "screen.json"

    @property
    def settings_file(self) -> Path:
        """The user's settings."""
        return self.config / "config.toml"


def find_places(environ: Mapping[str, str] = os.environ, project_presets: Path | None = None) -> Places:
    """Folders from the environment, else a simulated machine's own, else XDG's.

    A simulated machine brings its folders along, so that what is played there doesn't mix with real records.
    """
    if environ.get(SIMULATED_VARIABLE):
        simulated = _folder(environ[SIMULATED_VARIABLE])
        state, config, cache = simulated / "state", simulated / "config", simulated / "cache"
    else:
        simulated = None
        dirs = PlatformDirs("sgltui", appauthor=False)
        state, config, cache = dirs.user_state_path, dirs.user_config_path, dirs.user_cache_path
    return Places(
        state=_folder(environ.get(STATE_DIR_VARIABLE) or state),
        config=_folder(environ.get(CONFIG_DIR_VARIABLE) or config),
        simulated=simulated,
        project_presets=project_presets,
        cache=None if environ.get(STATE_DIR_VARIABLE) else _folder(cache),
    )


def _folder(path: str | Path) -> Path:
    """Absolute: keepers and servers live in other folders than whoever started them."""
    return expand_user(str(path)).absolute()


def expand_user(text: str) -> Path:
    """A path as it was typed, with `~` and `~somebody` in front made whole.

    Raises:
        UsageError: nobody is called that.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise UsageError(f"{text!r} is no path: {error}", "write the whole path") from None


def find_shipped_presets() -> Path:
    """The presets that come with the product, from a wheel, an editable install or a checkout.

    The wheel carries them inside the package; an editable install and a checkout have them beside it.
    """
    package = Path(__file__).parent
    packaged = package / "shipped_presets"
    return packaged if packaged.is_dir() else package.parent / "presets"
