"""A real browser, headless: pages from files in a window of a given size, light or dark, and what is wrong there."""

import base64
import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from tests.support.programs import need

PHONE, DESKTOP = (390, 844), (1440, 900)
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--disable-extensions", "--force-device-scale-factor=1", "--allow-file-access-from-files",
)  # fmt: skip
_LOOK = Path(__file__).with_name("browser_look.js").read_text(encoding="utf-8")


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[webdriver.Chrome]:
    """Chromium with an empty profile in `folder`. Skips the test where there is none; in CI that is a failure."""
    need("chromium", "chromedriver")
    program, driver = shutil.which("chromium") or "", shutil.which("chromedriver") or ""
    options = Options()
    options.binary_location = program
    for flag in (*_FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    quiet = Service(driver, env={"PATH": os.environ["PATH"], "HOME": str(folder)})
    chrome = webdriver.Chrome(options=options, service=quiet)
    try:
        chrome.set_page_load_timeout(60)
        yield chrome
    finally:
        chrome.quit()


def show(chrome: webdriver.Chrome, page: Path, *, size: tuple[int, int], dark: bool = False) -> None:
    """Load a page in a viewport of that size."""
    assert page.is_file(), page
    resize(chrome, size=size, dark=dark)
    chrome.get(page.as_uri())


def resize(chrome: webdriver.Chrome, *, size: tuple[int, int], dark: bool = False) -> None:
    """Give the page a viewport of that size, and a colour scheme."""
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})


def look(chrome: webdriver.Chrome) -> dict[str, Any]:
    """What `browser_look.js` sees of the page: `overflow` in pixels, `faint` texts with their contrast, and so on."""
    found: dict[str, Any] = chrome.execute_script(_LOOK)
    return found


def complaints(chrome: webdriver.Chrome) -> list[str]:
    """What the console said since the last call."""
    return [str(entry["message"]) for entry in chrome.get_log("browser")]  # type: ignore[no-untyped-call]


def picture(chrome: webdriver.Chrome, path: Path) -> None:
    """A screenshot of the whole page."""
    shot = chrome.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
    path.write_bytes(base64.b64decode(shot["data"]))
