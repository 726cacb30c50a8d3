"""The HTTP server: SGLang's endpoints, answered from `Facts` and `Engine`, each request logged as uvicorn does."""

from __future__ import annotations

import errno
import http.server
import json
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from tui.simulator.dribble import Dribble
from tui.simulator.engine import DisconnectedError, Engine
from tui.simulator.facts import Facts
from tui.simulator.replies import ChatReply, GenerateReply, Reply
from tui.simulator.setup import Context
from tui.simulator.warmup import AGENT

_HEALTH_S = 1.0
_RUBBISH = b"\x00\xff\x1b[2J220 this is no web server\r\n" * 4
_OPEN_PATHS = ("/health", "/metrics")
_CHEAP_HEALTH_VARIABLE = "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION"


class Web(http.server.ThreadingHTTPServer):
    """The server's port, and the state that its answers depend on.

    Attributes:
        is_up: the warm-up is over.
        is_draining: SIGTERM was received.
        serving: requests that are being answered.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, context: Context, facts: Facts, engine: Engine) -> None:
        args = context.setup.args
        self.facts = facts
        self.engine = engine
        self.clock = context.clock
        self.log = context.log
        self.switches = context.switches
        self.api_key = args["api_key"]
        self.is_up = False
        self.is_draining = False
        self.serving = 0
        self._lock = threading.Lock()
        if ":" in args["host"]:
            self.address_family = socket.AF_INET6
        super().__init__((args["host"], args["port"]), _Handler)

    def count(self, change: int) -> None:
        """Note that a request begins (+1) or ends (-1)."""
        with self._lock:
            self.serving += change

    def server_bind(self) -> None:
        """Bind without the name lookup that the base class makes."""
        if self.switches.strike("listen"):
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is nothing to talk about."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Web
    protocol_version = "HTTP/1.1"
    server_version = "uvicorn"
    sys_version = ""

    def do_GET(self) -> None:
        self._dispatch(_GET)

    def do_POST(self) -> None:
        self._dispatch(_POST)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name for it
        """Access lines are written by `_answer`, in uvicorn's form."""

    def _dispatch(self, routes: dict[str, Callable[[_Handler], None]]) -> None:
        path = urlsplit(self.path).path
        self._body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.count(+1)
        if self.server.is_up:
            self.server.switches.hang_at("runtime")
        try:
            if self._is_forbidden(path):
                self._answer_json({"error": "Unauthorized"}, HTTPStatus.UNAUTHORIZED)
            elif not self._answer_wrongly():
                routes.get(path, _Handler.not_found)(self)
        finally:
            self.server.count(-1)

    def _is_forbidden(self, path: str) -> bool:
        key = self.server.api_key
        return bool(key) and not path.startswith(_OPEN_PATHS) and self.headers.get("Authorization") != f"Bearer {key}"

    def _answer_wrongly(self) -> bool:
        """On demand, spoil the answer to a GET; tells whether that was the answer."""
        how = self.server.switches.answer
        if how is None or self.command != "GET" or self.headers.get("User-Agent") == AGENT:
            return False
        self.close_connection = True
        if how == "slow":
            self.wfile = Dribble(self.wfile)
            return False
        if how == "rubbish":
            self.wfile.write(_RUBBISH)
        else:
            self._answer(b"", HTTPStatus(int(how)))
        return True

    def not_found(self) -> None:
        self._answer_json({"detail": "Not Found"}, HTTPStatus.NOT_FOUND)

    def health(self) -> None:
        """A generation of one token, which takes a second on an idle server."""
        if self.server.is_draining:
            self.server.log.line("Health check request received during shutdown. Returning 503.")
        if self.server.is_draining or not self.server.is_up:
            self._answer(b"", HTTPStatus.SERVICE_UNAVAILABLE)
            return
        if os.environ.get(_CHEAP_HEALTH_VARIABLE, "1").lower() in ("1", "true") or "generate" in self.path:
            rid = f"HEALTH_CHECK_{time.time()}"
            for _ in self.server.engine.generate(1, 1, self._is_gone, rid=rid):
                self.server.clock.pause(_HEALTH_S)
        self._answer(b"", HTTPStatus.OK)

    def ready(self) -> None:
        """Cheap readiness, since 0.5.23."""
        if self.server.facts.setup.is_old:
            self.not_found()
        else:
            up = self.server.is_up and not self.server.is_draining
            self._answer(b"", HTTPStatus.OK if up else HTTPStatus.SERVICE_UNAVAILABLE)

    def model_info(self) -> None:
        self._deprecate("/get_model_info", "/model_info")
        self._answer_json(self.server.facts.model_info())

    def server_info(self) -> None:
        self._deprecate("/get_server_info", "/server_info")
        self._answer_json(self.server.facts.server_info())

    def models(self) -> None:
        self._answer_json(self.server.facts.models())

    def metrics(self) -> None:
        if self.server.facts.setup.args["enable_metrics"]:
            self._answer(self.server.facts.metrics().encode(), content_type="text/plain; version=0.0.4; charset=utf-8")
        else:
            self.not_found()

    def get_load(self) -> None:
        if not self.server.facts.setup.is_old:
            self.not_found()
            return
        self._deprecate("/get_load", "/v1/loads")
        self._answer_json(self.server.facts.get_load())

    def loads(self) -> None:
        """In 0.5.11 what counts requests for /metrics doesn't get on with a newer FastAPI, and says so at length."""
        setup = self.server.facts.setup
        if not (setup.is_old and setup.args["enable_metrics"]):
            self._answer_json(self.server.facts.loads())
            return
        self._answer(b"Internal Server Error", HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain; charset=utf-8")
        self.server.log.uvicorn("Exception in ASGI application", "ERROR")
        self.server.log.raw(setup.traceback("loads"))

    def flush_cache(self) -> None:
        self.server.log.line("Cache flushed successfully!")
        text = (
            "Cache flushed.\nPlease check backend logs for more details. "
            "(When there are running or waiting requests, the operation will not be performed.)\n"
        )
        self._answer(text.encode(), content_type="text/html; charset=utf-8")

    def freeze_gc(self) -> None:
        self._answer(b"Garbage collection frozen.\n", content_type="text/html; charset=utf-8")

    def generate(self) -> None:
        self._reply(GenerateReply)

    def chat(self) -> None:
        self._reply(ChatReply)

    def _reply(self, make: type[Reply]) -> None:
        try:
            reply = make(json.loads(self._body), self.server.facts.setup.args["served_model_name"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            self._answer_json({"error": {"message": f"bad request: {error}"}}, HTTPStatus.BAD_REQUEST)
            return
        steps = self.server.engine.generate(reply.prompt_tokens, reply.wanted_tokens, self._is_gone)
        try:
            if reply.streams:
                self._stream(reply.stream(steps))
            else:
                self._answer_json(reply.body(steps))
        except DisconnectedError:
            self.close_connection = True

    def _stream(self, chunks: Iterator[dict[str, Any]]) -> None:
        """Server-sent events; the access line comes with the first byte, as uvicorn's does."""
        self._start(HTTPStatus.OK, "text/event-stream; charset=utf-8", None)
        for chunk in chunks:
            self._write_chunk(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self._write_chunk(b"data: [DONE]\n\n")
        self._write_chunk(b"")

    def _write_chunk(self, data: bytes) -> None:
        try:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        except OSError as error:
            raise DisconnectedError from error

    def _is_gone(self) -> bool:
        """The client closed its side."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        try:
            return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    def _deprecate(self, old: str, new: str) -> None:
        if self.path == old:
            self.server.log.line(
                f"Endpoint '{old}' is deprecated and will be removed in a future version. Please use '{new}' instead."
            )

    def _answer_json(self, value: object, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._answer(json.dumps(value, separators=(",", ":")).encode(), status)

    def _answer(self, body: bytes, status: HTTPStatus = HTTPStatus.OK, content_type: str = "application/json") -> None:
        self._start(status, content_type, len(body))
        self.wfile.write(body)

    def _start(self, status: HTTPStatus, content_type: str, length: int | None) -> None:
        """Headers, and the access line."""
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        host, port = self.client_address[:2]
        request = f"{self.command} {self.path} {self.request_version}"
        self.server.log.access(f'{host}:{port} - "{request}" {status.value} {status.phrase}')


_GET: dict[str, Callable[[_Handler], None]] = {
    "/health": _Handler.health,
    "/health_generate": _Handler.health,
    "/ready": _Handler.ready,
    "/model_info": _Handler.model_info,
    "/get_model_info": _Handler.model_info,
    "/server_info": _Handler.server_info,
    "/get_server_info": _Handler.server_info,
    "/v1/models": _Handler.models,
    "/metrics": _Handler.metrics,
    "/get_load": _Handler.get_load,
    "/v1/loads": _Handler.loads,
    "/flush_cache": _Handler.flush_cache,
}
_POST: dict[str, Callable[[_Handler], None]] = {
    "/generate": _Handler.generate,
    "/v1/chat/completions": _Handler.chat,
    "/flush_cache": _Handler.flush_cache,
    "/freeze_gc": _Handler.freeze_gc,
}
