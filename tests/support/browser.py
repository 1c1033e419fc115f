"""A real Chromium, the one that this machine has, and pages in it that tell of everything that goes wrong."""

import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, ConsoleMessage, Dialog, Page, Request, async_playwright, expect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
expect.set_options(timeout=10_000)
DESK, PHONE = (1280, 800), (390, 844)


def chromium() -> str:
    """Return the path of the browser."""
    found = (shutil.which(name) for name in (os.environ.get("CHROMIUM") or "", *NAMES) if name)
    path = next((path for path in found if path), None)
    if path is None:
        pytest.fail(
            "no Chromium was found; install one (Debian: apt-get install chromium), or name it in CHROMIUM"
        )
    return path


@asynccontextmanager
async def launch_browser() -> AsyncGenerator[Browser]:
    """Yield a browser. As root it has no sandbox of its own; it sees nothing but our loopback servers."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        try:
            yield browser
        finally:
            await browser.close()


class Watch:
    """What a page did that it must not do."""

    def __init__(self, page: Page, base: str) -> None:
        self.errors: list[str] = []
        self.foreign_requests: list[str] = []
        self.dialogs: list[str] = []
        self._home = urlsplit(base).netloc
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._on_console)
        page.on("request", self._on_request)
        page.on("dialog", self._on_dialog)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.errors.append(message.text)

    def _on_request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in {"data", "about", "blob"} and address.netloc != self._home:
            self.foreign_requests.append(request.url)

    async def _on_dialog(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        await dialog.dismiss()

    def assert_clean(self) -> None:
        assert (self.errors, self.foreign_requests, self.dialogs) == ([], [], [])


@asynccontextmanager
async def page_of(
    browser: Browser, base: str, size: tuple[int, int] = DESK, *, scheme: Any = "light", watch: bool = True
) -> AsyncGenerator[Page]:
    """Yield a page of a context of its own; at its end, nothing bad may have happened in it."""
    context = await browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=scheme,
        reduced_motion="reduce",
        permissions=["clipboard-read", "clipboard-write"],
        base_url=base,
    )
    context.set_default_timeout(10_000)
    page = await context.new_page()
    watched = Watch(page, base)
    try:
        yield page
        if watch:
            watched.assert_clean()
    finally:
        await context.close()
