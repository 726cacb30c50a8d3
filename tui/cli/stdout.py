"""Standard output while a command waits for news."""

from __future__ import annotations

import select
import sys


def wait_while_read(seconds: float) -> None:
    """Hand over what was printed, and wait, as long as somebody reads.

    Raises:
        BrokenPipeError: the pipe we write into was closed (`| head`), or the terminal is gone: noticed now, and not at
            the next line, which may never come.
    """
    sys.stdout.flush()
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    if poll.poll(seconds * 1000):  # nothing but trouble is told where nothing is asked for
        raise BrokenPipeError
