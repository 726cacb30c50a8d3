"""Hand-written TOML as typed values. What is wrong is said with file, line, key, what was found and what is allowed."""

from __future__ import annotations

from tui.toml_decode.document import TomlDocument, read_toml
from tui.toml_decode.reading import TomlError
from tui.toml_decode.words import describe_type, did_you_mean

__all__ = ["TomlDocument", "TomlError", "describe_type", "did_you_mean", "read_toml"]
