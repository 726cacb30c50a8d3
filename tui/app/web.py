"""The page that shows the UI in a browser: textual-serve's, behind a key.

A loopback address alone keeps nobody out who has an account on this machine, and no page of another site that the
browser visits: it may open a websocket to any address. So the first visit brings the key of the printed URL and gets it
as a cookie that other sites can't send along; the host must be this machine's own name, and the origin this page.
"""

from __future__ import annotations

import asyncio
import hmac
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.server import Server

_LEAVE_S = 5.0  # as long is waited for the UIs to end
_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
_REFUSAL = "Open the URL that `sgltui web` printed; its key is missing here, or of an earlier run.\n"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def serve(command: str, listener: socket.socket, key: str) -> None:
    """Serve one UI a browser tab, each a process of its own, until SIGINT or SIGTERM.

    Args:
        command: a shell's line that runs the UI.
        listener: where the page is.
        key: without which nobody gets anything.
    """
    web.run_app(_Page(command, key).application(), sock=listener, print=None, access_log=None)


class _Page(Server):
    """textual-serve's page, for those who have the key."""

    def __init__(self, command: str, key: str) -> None:
        super().__init__(command, title="sgltui")
        self._key = key
        self._tabs: set[web.WebSocketResponse] = set()
        self._sessions: set[asyncio.Future[Any]] = set()  # each until its UI has ended, also when its tab is gone

    async def application(self) -> web.Application:
        """Its routes, and who may use them."""
        application = await self._make_app()
        application.middlewares.append(self._admit)
        return application

    async def on_startup(self, app: web.Application) -> None:
        """The command line has said where it is."""

    async def on_shutdown(self, _application: web.Application) -> None:
        """End the UIs: one that is left to itself ends too, but complains into this terminal."""
        for tab in list(self._tabs):
            await tab.close()
        if self._sessions:
            await asyncio.wait(self._sessions, timeout=2 * _LEAVE_S)

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """One tab, and the UI behind it until that has ended."""
        session = asyncio.ensure_future(super().handle_websocket(request))
        self._sessions.add(session)
        try:
            return await session
        finally:
            self._sessions.discard(session)

    async def _process_messages(self, websocket: web.WebSocketResponse, app_service: AppService) -> None:
        self._tabs.add(websocket)
        try:
            await super()._process_messages(websocket, app_service)
        finally:
            self._tabs.discard(websocket)
            await _end(app_service)

    @web.middleware
    async def _admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        cookie = f"sgltui-{request.url.port}"  # cookies of a host are shared by its ports
        origin = f"{request.scheme}://{request.host}"
        if request.url.host not in _HOSTS or request.headers.get("Origin", origin) != origin:
            return web.Response(status=403, text="This page is for its own machine alone.\n")
        if request.path == "/" and self._opens(request.query.get("key", "")):
            response = web.Response(status=303, headers={"Location": "/"})
            response.set_cookie(cookie, self._key, httponly=True, samesite="Strict")
            return response
        if not self._opens(request.cookies.get(cookie, "")):
            return web.Response(status=403, text=_REFUSAL)
        # Links lead where the browser came: the port of a tunnel's end may be another one.
        self.public_url = origin
        return await handler(request)

    def _opens(self, key: str) -> bool:
        return hmac.compare_digest(key.encode(), self._key.encode())


async def _end(ui: AppService) -> None:
    """Wait for its process, too: textual-serve forgets it where the tab was gone first."""
    await ui.stop()
    process = ui._process  # noqa: SLF001 - there is no other way to it
    if process is None:
        return
    try:
        await asyncio.wait_for(process.wait(), _LEAVE_S)
    except TimeoutError:
        process.kill()
        await process.wait()
