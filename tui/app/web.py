"""The page that shows the UI in a browser: textual-serve's, behind a key.

A loopback address alone keeps nobody out who has an account on this machine, and no page of another site that the
browser visits: it may open a websocket to any address. So the first visit brings the key of the printed URL and gets it
as a cookie that other sites can't send along; the host must be this machine's own name, and the origin this page.
"""

from __future__ import annotations

import hmac
import socket
from collections.abc import Awaitable, Callable

from aiohttp import web
from textual_serve.server import Server

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

    async def application(self) -> web.Application:
        """Its routes, and who may use them."""
        application = await self._make_app()
        application.middlewares.append(self._admit)
        return application

    async def on_startup(self, app: web.Application) -> None:
        """The command line has said where it is."""

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
