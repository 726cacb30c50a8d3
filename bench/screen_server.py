"""A stand-in for a busy SGLang server, for `bench/screen.py`: logs lines, and answers on its port what it does.

    python screen_server.py FOLDER PORT

`FOLDER/rate` says how many lines a second it logs; 0: it has nothing to do, and says so on `/v1/loads`.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_STEP_S = 0.05
_KV_TOKENS = 173_294


class Busy:
    """How many lines a second, read again and again."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "rate"

    @property
    def lines_per_s(self) -> float:
        """As the file says now."""
        return float(self._file.read_text())


def answer(busy: Busy) -> type[BaseHTTPRequestHandler]:
    """What `/v1/loads` of SGLang 0.5.23 tells, in the fields that are read of it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_busy = busy.lines_per_s > 0
            load = {
                "dp_rank": 0,
                "num_running_reqs": random.randrange(1, 9) if is_busy else 0,  # noqa: S311 - figures that move
                "num_waiting_reqs": 0,
                "token_usage": random.randrange(20, 60) / 100 if is_busy else 0.0,  # noqa: S311 - likewise
                "max_running_requests": 8,
                "max_total_num_tokens": _KV_TOKENS,
            }
            body = json.dumps({"loads": [load]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
            del format, args
            print(f'{_stamp()} INFO:     127.0.0.1:57512 - "GET /v1/loads HTTP/1.1" 200 OK', flush=True)

    return Handler


def write_lines(busy: Busy) -> None:
    """What a server logs while it serves."""
    due, last = 0.0, time.monotonic()
    while True:
        time.sleep(_STEP_S)
        now = time.monotonic()
        due, last = due + busy.lines_per_s * (now - last), now
        lines = [_line(number) for number in range(int(due))]
        due -= len(lines)
        if lines:
            print("\n".join(lines), flush=True)


def _line(number: int) -> str:
    value = random.randrange(10**6)  # noqa: S311 - figures that move
    if (value + number) % 5 == 0:
        return (
            f'{_stamp()} INFO:     10.0.0.{value % 255}:{value % 60000} - "POST /v1/chat/completions HTTP/1.1" 200 OK'
        )
    return (
        f"{_stamp()} Decode batch, #running-req: {value % 8}, #token: {value % _KV_TOKENS}, token usage: "
        f"0.{value % 90:02d}, cuda graph: True, gen throughput (token/s): {value % 4000}.{value % 100:02d}, "
        "#queue-req: 0"
    )


def _stamp() -> str:
    return time.strftime("[%Y-%m-%d %H:%M:%S]")


if __name__ == "__main__":
    state = Busy(Path(sys.argv[1]))
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), answer(state))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    write_lines(state)
