"""The report's pages in a real browser: on a phone and on a desk, light and dark, on paper, and by keyboard."""

import re
from collections.abc import Iterator
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.action_chains import ActionChains

from tests.scenarios.test_report import MAP, written
from tests.support.browser import DESKTOP, PHONE, browser, complaints, look, picture, resize, show
from tests.support.gate_documents import HOSTILE
from tests.support.yearbook import START, Yearbook

SIZES = {"phone": PHONE, "desktop": DESKTOP}
PAGES = (
    "index", "nights", "patchsets", "archs", "receipts", "trends", "nights/20250914T030005Z",
    "nights/20250908T030005Z", "patchsets/router-log", "archs/qwen35", "receipts/20250910T030005Z-night",
    "receipts/20250901T050005Z-near-tie",
)  # fmt: skip


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    desk = tmp_path_factory.mktemp("desk")
    (desk / "upstream-map.toml").write_text(MAP)
    book = Yearbook(desk / ".forkguard").write(nights=14, patchsets=5)
    book.put_receipt(START.replace(hour=5), 3, name="near-tie", verdict="inconclusive")
    return written(desk)


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.mark.parametrize("name", PAGES)
def test_every_kind_of_page_is_legible_and_fits(name: str, report: Path, chrome: Chrome, tmp_path: Path) -> None:
    backgrounds: list[str] = []
    seen: dict[str, Any] = {}
    show(chrome, report / f"{name}.html", size=DESKTOP)
    for view in (f"{size}-{scheme}" for size in SIZES for scheme in ("light", "dark")):
        size, scheme = view.split("-")
        resize(chrome, size=SIZES[size], dark=scheme == "dark")
        seen = look(chrome)
        assert seen["overflow"] <= 0, view
        assert seen["faint"] == [], view
        assert seen["texts"] > 20
        backgrounds.append(chrome.execute_script("return getComputedStyle(document.body).backgroundColor"))
        if view in {"phone-light", "desktop-dark"}:
            picture(chrome, tmp_path / f"{view}.png")
    assert backgrounds == ["rgb(255, 255, 255)", "rgb(20, 23, 26)"] * 2
    assert (seen["nameless"], seen["twice"], seen["scripts"], seen["outside"]) == ([], [], 0, 0)
    levels = seen["headings"]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert complaints(chrome) == []
    assert {path.name for path in tmp_path.glob("*.png")} == {"phone-light.png", "desktop-dark.png"}


def test_a_faint_text_or_a_page_that_is_too_wide_would_be_seen(report: Path, chrome: Chrome) -> None:
    show(chrome, report / "index.html", size=PHONE)
    chrome.execute_script(
        "document.querySelector('h1').style.color = '#aaa';"
        "document.querySelector('main').style.width = '900px';"
        "document.querySelector('table').caption.remove();"
    )
    seen = look(chrome)
    assert seen["faint"][0][1] == "Last night:"
    assert seen["overflow"] > 400
    assert len(seen["nameless"]) == 1


@pytest.mark.parametrize(("ci", "end"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_without_a_browser_ci_fails_and_a_desk_skips(
    ci: str, end: type[BaseException], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CI", ci)
    with pytest.raises(end, match="not installed: chromium, chromedriver"), browser(tmp_path):
        pass


def test_every_link_leads_to_a_page_and_a_place_in_it(report: Path) -> None:
    pages = {page: page.read_text() for page in report.rglob("*.html")}
    ids = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in pages.items()}
    checked = 0
    for page, text in pages.items():
        for link in re.findall(r'\b(?:href|src)="([^"]*)"', text):
            parts = urlsplit(unescape(link))
            if parts.scheme == "data":
                continue
            assert not parts.scheme, f"{page}: {link} leads elsewhere"
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            assert target.is_file(), f"{page}: {link}"
            assert target.is_relative_to(report.resolve())
            if parts.fragment:
                assert parts.fragment in ids[target], f"{page}: {link}"
            checked += 1
    assert checked > 500


def test_a_keyboard_reaches_the_content_and_the_wide_tables(report: Path, chrome: Chrome) -> None:
    show(chrome, report / "index.html", size=PHONE)
    ActionChains(chrome).send_keys(Keys.TAB).perform()
    assert chrome.switch_to.active_element.text == "Skip to the content"
    ActionChains(chrome).send_keys(Keys.ENTER).perform()
    assert chrome.current_url.endswith("#main")
    wide = chrome.execute_script(
        "return [...document.querySelectorAll('*')].filter(e => e.scrollWidth > e.clientWidth + 1"
        " && getComputedStyle(e).overflowX === 'auto' && e.tabIndex < 0).length"
    )
    assert wide == 0


def test_a_page_prints_whole_and_black_on_white(report: Path, chrome: Chrome) -> None:
    show(chrome, report / "receipts/20250910T030005Z-night.html", size=DESKTOP, dark=True)
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    found = chrome.execute_script(
        "return [getComputedStyle(document.querySelector('header nav')).display,"
        " getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color,"
        " [...document.querySelectorAll('.scroll')].every(e => getComputedStyle(e).overflowX === 'visible')]"
    )
    assert found == ["none", "rgb(255, 255, 255)", "rgb(0, 0, 0)", True]


def test_the_first_differing_token_is_shown_in_its_context(report: Path, chrome: Chrome) -> None:
    show(chrome, report / "receipts/20250901T050005Z-near-tie.html", size=DESKTOP)
    table = chrome.find_element("css selector", "#difference ~ .scroll table").text
    assert "without a draft" in table
    assert "420 421 422" in table
    assert "777 778 779" in table
    assert HOSTILE.split(" \x1b")[0] in table
    assert chrome.find_element("css selector", "mark").text == "420"


def test_every_run_is_a_dot_with_its_number(report: Path, chrome: Chrome) -> None:
    show(chrome, report / "receipts/20250910T030005Z-night.html", size=DESKTOP)
    dots = chrome.execute_script(
        "return [...document.querySelectorAll('svg.chart circle')]"
        ".map(e => [e.textContent, e.getBoundingClientRect().x])"
    )
    assert len(dots) == 10
    values = [(float(text.removesuffix(" tok/s")), at) for text, at in dots]
    assert [at for _, at in sorted(values)] == sorted(at for _, at in values)
