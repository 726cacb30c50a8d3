"""A program that answers 200 to everything on a port: `python answer.py PORT [--api-key KEY]`. It is no SGLang."""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = sys.argv[3] if len(sys.argv) > 3 else ""


class Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.headers.get("Authorization", "Bearer ") == f"Bearer {KEY}" else 401)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        pass


print("[2026-01-01 00:00:00] Load weight begin. avail mem=1.00 GB", flush=True)
HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
