"""`sgltui web`: who gets the page, and that the UI is behind it."""

from __future__ import annotations

import asyncio
import itertools
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.support.chromium import CHROMIUM, opened
from tests.support.command_line import LIMIT_S, CommandLine
from tests.support.ports import free_port

A_SCREEN_BYTES = 15_000  # of a picture; the greeting takes 10,000, a blank page less


@pytest.fixture
def url(command_line: CommandLine) -> Iterator[str]:
    """A page that is served."""
    page = command_line.start("web", "--port", str(free_port()), "--read-only")
    assert page.stdout is not None
    yield page.stdout.readline().strip()
    page.send_signal(signal.SIGINT)
    _, complaints = page.communicate(timeout=LIMIT_S)
    assert (page.returncode, complaints) == (0, "")


@pytest.fixture
async def browser() -> AsyncIterator[aiohttp.ClientSession]:
    """Keeps cookies, also those of an address that is a number."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        yield session


async def test_who_has_the_key_gets_the_page_and_the_screen(url: str, browser: aiohttp.ClientSession) -> None:
    page, _, _ = url.partition("?")
    async with browser.get(url) as answer:
        assert answer.status == 200
        assert str(answer.url) == page  # the key doesn't stay in the address line
        assert f"{page.replace('http:', 'ws:')}ws" in await answer.text()
    async with browser.ws_connect(f"{page}ws?width=100&height=30", headers={"Origin": page.rstrip("/")}) as socket:
        screen = b""
        while b"No servers yet" not in screen:
            screen += (await socket.receive(timeout=LIMIT_S)).data


async def test_an_open_tab_is_no_trouble_at_the_end(url: str, browser: aiohttp.ClientSession) -> None:
    """The page is left while a browser shows it: the fixture looks at what is said then."""
    page, _, _ = url.partition("?")
    async with browser.get(url):
        pass
    socket = await browser.ws_connect(f"{page}ws?width=100&height=30", headers={"Origin": page.rstrip("/")})
    await socket.receive(timeout=LIMIT_S)


async def test_who_has_no_key_gets_nothing(url: str, browser: aiohttp.ClientSession) -> None:
    page, _, _ = url.partition("?")
    for path, query in itertools.product(("", "ws", "static/js/textual.js"), ("", "?key=", "?key=wrong")):
        async with browser.get(f"{page}{path}{query}") as answer:
            assert answer.status == 403, (path, query)
    assert not list(browser.cookie_jar)


async def test_pages_of_others_get_nothing(url: str, browser: aiohttp.ClientSession) -> None:
    """Even with the cookie: a browser would send it."""
    async with browser.get(url):
        pass
    page, _, _ = url.partition("?")
    for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
        async with browser.get(f"{page}ws", headers=headers) as answer:
            assert answer.status == 403, headers


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
async def test_a_browser_shows_the_screen(url: str, tmp_path: Path) -> None:
    """What it paints once the UI has come takes the place of the page's own greeting."""
    async with opened(url, tmp_path / "profile") as page, asyncio.timeout(LIMIT_S):
        await page.until("document.body?.classList.contains('-first-byte')")
        while len(await page.picture()) < A_SCREEN_BYTES:
            await page.pause()
