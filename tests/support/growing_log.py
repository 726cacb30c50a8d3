"""What happens to log files: they grow, are truncated, replaced, and cut at their head."""

from __future__ import annotations

from pathlib import Path


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def cut_head(path: Path, size: int) -> None:
    """As the file is after its head was collapsed: the same inode, every byte nearer to the head."""
    rest = path.read_bytes()[size:]
    with path.open("r+b") as file:
        file.write(rest)
        file.truncate()


def expected_lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines[:-1] if not lines[-1] else lines


def truncate_shorter(path: Path) -> None:
    path.write_bytes(b"new\n")


def truncate_longer(path: Path) -> None:
    path.write_bytes(b"new\n" + b"other\n" * 40_000)


def replace_by_rename(path: Path) -> None:
    fresh = path.with_name("fresh")
    fresh.write_bytes(b"new\n" + b"other\n" * 40_000)
    fresh.rename(path)


def remove_and_create(path: Path) -> None:
    path.unlink()
    path.write_bytes(b"new\n")
