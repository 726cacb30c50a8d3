"""A headless Chromium that shows one page, asked by its DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_STEP_S = 0.1
_LISTENS = re.compile(rb"DevTools listening on ws://([^/]+)/")


class Page:
    """What the browser shows."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._asked = 0

    async def evaluate(self, expression: str) -> Any:
        """What a JavaScript expression gives."""
        answer = await self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer["result"].get("value")

    async def until(self, expression: str) -> None:
        """Wait until it is true."""
        while not await self.evaluate(expression):
            await self.pause()

    async def pause(self) -> None:
        """Give the page a moment."""
        await asyncio.sleep(_STEP_S)

    async def picture(self) -> bytes:
        """A PNG of it."""
        return base64.b64decode((await self._ask("Page.captureScreenshot", format="png"))["data"])

    async def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._asked += 1
        await self._socket.send_json({"id": self._asked, "method": method, "params": parameters})
        while True:
            message = await self._socket.receive_json()
            if message.get("id") == self._asked:
                result: dict[str, Any] = message["result"]
                return result


@contextlib.asynccontextmanager
async def opened(url: str, profile: Path) -> AsyncIterator[Page]:
    """The page in a browser of its own, which is ended afterwards."""
    assert CHROMIUM is not None
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--window-size=1200,800"]
    words = [CHROMIUM, *flags, f"--user-data-dir={profile}", url]
    browser = await asyncio.create_subprocess_exec(*words, stderr=asyncio.subprocess.PIPE)
    assert browser.stderr is not None
    try:
        while (found := _LISTENS.search(await browser.stderr.readline())) is None:
            assert browser.returncode is None
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://{found[1].decode()}/json/list") as answer:
                targets = await answer.json()
            page = next(one for one in targets if one["type"] == "page")
            async with session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                yield Page(socket)
    finally:
        browser.kill()
        await browser.wait()
