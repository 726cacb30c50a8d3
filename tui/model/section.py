"""One object of a config file, read by key: each value has its type and its limits, each complaint names the key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from tui.model.document import describe
from tui.model.errors import ModelError
from tui.text import printable

MOST_LAYERS = 1024
MOST_HEADS = 1 << 16
MOST_WIDTH = 1 << 24
MOST_TOKENS = (1 << 31) - 1

_REQUIRED: Final = object()


class Section(Struct, frozen=True):
    """An object of a config.

    A key whose value is null counts as absent, as it does for Hugging Face's config classes.

    Attributes:
        file: where it is from.
        path: its place in the file, dotted, or an empty string for the whole.
        values: as decoded.
        defaults: what the family's config class has for absent keys.
    """

    file: Path
    path: str
    values: Mapping[str, Any]
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def with_defaults(self, defaults: Mapping[str, Any]) -> Section:
        """The same section with other defaults."""
        return replace(self, defaults=defaults)

    def get(self, key: str, default: Any = None) -> Any:
        """A value as decoded; else the family's default; else the given one."""
        value = self.values.get(key)
        if value is None:
            value = self.defaults.get(key)
        return default if value is None else value

    def child(self, key: str) -> Section | None:
        """An object within this one, or None.

        Raises:
            ModelError: it is something else.
        """
        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.error(key, f"{describe(value)} is not an object")
        return Section(self.file, self.dotted(key), value)

    def count(self, key: str, default: Any = _REQUIRED, most: int = MOST_WIDTH) -> int:
        """A positive whole number.

        Raises:
            ModelError: it is absent and has no default, or is no such number.
        """
        return self._whole(key, default, 1, most)

    def number(self, key: str, default: Any = _REQUIRED, most: int = MOST_WIDTH) -> int:
        """A whole number, which may be zero.

        Raises:
            ModelError: it is absent and has no default, or is no such number.
        """
        return self._whole(key, default, 0, most)

    def optional(self, key: str, most: int = MOST_WIDTH) -> int | None:
        """A positive whole number, or None when it is absent.

        Raises:
            ModelError: it is there and no such number.
        """
        return None if self.get(key) is None else self._whole(key, None, 1, most)

    def flag(self, key: str, *, default: bool) -> bool:
        """A truth value.

        Raises:
            ModelError: it is something else.
        """
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise self.error(key, f"{describe(value)} is neither true nor false")
        return value

    def text(self, key: str, default: str | None = None) -> str | None:
        """A text.

        Raises:
            ModelError: it is something else.
        """
        value = self.get(key, default)
        if value is not None and not isinstance(value, str):
            raise self.error(key, f"{describe(value)} is not a text")
        return value

    def texts(self, key: str) -> list[str]:
        """A list of texts; empty when it is absent.

        Raises:
            ModelError: it is something else.
        """
        value = self.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(key, f"{describe(value)} is not a list of texts")
        return value

    def numbers(self, key: str) -> list[int]:
        """A list of whole numbers that aren't negative; empty when it is absent.

        Raises:
            ModelError: it is something else.
        """
        value = self.get(key, [])
        if not isinstance(value, list) or not all(type(item) is int and item >= 0 for item in value):
            raise self.error(key, f"{describe(value)} is not a list of whole numbers")
        return value

    def first_count(self, keys: Iterable[str], most: int = MOST_WIDTH) -> int | None:
        """The first of some keys that is there: families name the same thing differently."""
        return next((self.count(key, most=most) for key in keys if self.get(key) is not None), None)

    def dotted(self, key: str) -> str:
        """A key with its place in the file."""
        return f"{self.path}.{key}" if self.path else key

    def error(self, key: str, what: str, hint: str = "") -> ModelError:
        """A complaint about a key."""
        return ModelError(f"{printable(self.dotted(key))}: {what}", hint, file=self.file, key=self.dotted(key))

    def missing(self, key: str) -> ModelError:
        """The complaint about a key that isn't there."""
        return ModelError(
            f"has no {printable(self.dotted(key))}",
            "the model's size depends on it; is the file whole?",
            file=self.file,
            key=self.dotted(key),
        )

    def _whole(self, key: str, default: Any, least: int, most: int) -> int:
        value = self.get(key, default)
        if value is _REQUIRED:
            raise self.missing(key)
        if type(value) is not int:  # a bool is an int to Python, and to nobody else
            raise self.error(key, f"{describe(value)} is not a whole number")
        if not least <= value <= most:
            raise self.error(key, f"{describe(value)} is not between {least} and {most}")
        return value
