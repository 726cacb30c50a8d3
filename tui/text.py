"""Text from outside: names, paths, messages. It is shown as text, and never steers a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with everything that could steer a terminal or break a line written as an escape."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)
