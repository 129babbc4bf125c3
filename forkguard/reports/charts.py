"""Charts as inline SVG: drawn by leather, then stripped of fonts and fills so that the page's style sheet decides.

leather makes plain SVG without scripts, and draws the same bytes from the same values. Each chart has a title and a
description; the page that holds it has the numbers in a table as well.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import escape
from typing import Any
from xml.etree import ElementTree as ET

import leather
from leather import theme
from markupsafe import Markup

from forkguard.reports.plain import printable

WIDTH, HEIGHT = 600, 250
_ROW = 34
_TICKS = (0.05, 0.35, 0.65, 0.95)
"""Where moments are labelled: the ends have no room for a date."""
_NUMBER = re.compile(r"-?\d+\.\d+")
_PLACES = ("x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "d")
_STYLE = ("font-family", "font-size", "fill")
theme.margin = 0.015
theme.tick_font_char_width = 9  # the style sheet has larger letters for small screens
theme.legend_font_char_width = 9
theme.default_series_colors = [f"var(--s{number})" for number in range(1, 7)]


@dataclass(frozen=True, slots=True)
class Line:
    """A named line over time; None leaves a gap."""

    name: str
    points: tuple[tuple[datetime, float | None], ...]


@dataclass(frozen=True, slots=True)
class Dots:
    """A named row of dots; `out` are drawn hollow."""

    name: str
    values: tuple[float, ...]
    out: tuple[float, ...] = ()


def line_chart(key: str, lines: Sequence[Line], *, title: str, told: str) -> Markup:
    """Lines over time, from zero up. `key` makes ids unique in a page.

    Lines that are zero throughout, or have less than two points, are left out; empty where none remains.
    """
    drawn = [line for line in lines if sum(value is not None for _, value in line.points) > 1
             and any(value for _, value in line.points)]  # fmt: skip
    if not drawn:
        return Markup("")
    first, last = _ends(drawn)
    chart = leather.Chart()
    for line in drawn:
        points = [((_naive(moment) - first) / (last - first), value) for moment, value in line.points]
        chart.add_line(points, name=printable(line.name), width=2)
    top = max(value for line in drawn for _, value in line.points if value is not None)
    chart.set_y_scale(leather.Linear(0, _above(top)))
    chart.set_x_scale(leather.Linear(0, 1))  # leather's scale of dates leaves room for whole months
    names = {part: f"{first + (last - first) * part:%Y-%m-%d}" for part in _TICKS}
    chart.set_x_axis(leather.Axis(tick_formatter=lambda value, *_: names[value], ticks=list(_TICKS)))
    return _text(_finish(chart, key, height=HEIGHT, title=title, told=told, legend=len(drawn) > 1))


def dot_chart(key: str, rows: Sequence[Dots], *, title: str, told: str, unit: str) -> Markup:
    """One row of dots for each name; every value is a dot with its number as a title."""
    every = [value for row in rows for value in (*row.values, *row.out)]
    if not every:
        return Markup("")
    chart = leather.Chart()
    count = len(rows)
    drawn: list[float] = []
    for number, row in enumerate(rows):
        for values, color in ((row.values, "var(--s1)"), (row.out, "var(--out)")):
            if values:
                chart.add_dots([(value, count - number) for value in values], radius=4, fill_color=color)
                drawn += values
    chart.set_x_scale(leather.Linear(0, _above(max(every))))
    chart.set_y_scale(leather.Linear(0.4, count + 0.6))
    names = {count - number: printable(row.name) for number, row in enumerate(rows)}
    ticks = sorted(names)
    chart.set_y_axis(leather.Axis(ticks=ticks, tick_formatter=lambda value, *_: names.get(value, "")))
    root = _finish(chart, key, height=50 + _ROW * count, title=title, told=told, legend=False)
    for circle, value in zip(root.iter("circle"), drawn, strict=True):
        ET.SubElement(circle, "title").text = f"{value:g} {unit}"
    return _text(root)


def _naive(moment: datetime) -> datetime:
    """In UTC, without saying so."""
    return moment.astimezone(UTC).replace(tzinfo=None)


def _above(top: float) -> float:
    """A round number at or a little above the top."""
    step = 10 ** (len(str(int(top))) - 1) / 2 if top >= 1 else 0.5
    return max(step * (int(top / step) + 1), 4)


def _ends(lines: Sequence[Line]) -> tuple[datetime, datetime]:
    """The first and the last moment, a minute apart at least."""
    every = [_naive(moment) for line in lines for moment, _ in line.points]
    return min(every), max(*every, min(every) + timedelta(minutes=1))


def _finish(chart: Any, key: str, *, height: int, title: str, told: str, legend: bool) -> ET.Element:
    group = chart.to_svg_group(WIDTH, height)
    group.remove(group[0])  # the background
    top = 0 if legend else int(group[0][1].get("transform", "0 0)").split()[1].rstrip(")"))
    root = ET.Element(
        "svg", {"class": "chart", "role": "img", "viewBox": f"0 {top - 6} {WIDTH + 14} {height + 8 - top}"}
    )
    root.set("aria-labelledby", f"{key}-t {key}-d")
    ET.SubElement(root, "title", id=f"{key}-t").text = printable(title)
    ET.SubElement(root, "desc", id=f"{key}-d").text = printable(told)
    root.append(group)
    if not legend:
        group[0].remove(group[0][0])
    _strip(root)
    return root


def _text(root: ET.Element) -> Markup:
    return Markup(ET.tostring(root, encoding="unicode"))  # noqa: S704 (ElementTree has escaped every text)


def _strip(root: ET.Element) -> None:
    for element in root.iter():
        if element.tag == "text":
            for name in _STYLE:
                element.attrib.pop(name, None)
        elif element.tag == "line":
            element.attrib.pop("stroke", None)
        for name in _PLACES:
            if name in element.attrib:
                element.set(name, _NUMBER.sub(_rounded, element.attrib[name]))


def _rounded(match: re.Match[str]) -> str:
    return f"{float(match[0]):.1f}".removesuffix(".0")


# -- strips ----------------------------------------------------------------------------------------------

_HEIGHTS: Mapping[str, int] = {"good": 10, "fair": 16, "unknown": 4, "bad": 28}
_STRIP = 28


def strip(key: str, spells: Sequence[tuple[str, int, str]], *, title: str, told: str) -> Markup:
    """A bar of nights in their order: `(tone, nights, word)`; tones differ in height as well as in colour."""
    total = sum(count for _, count, _ in spells)
    if not total:
        return Markup("")
    parts = "".join(_bars(spells, WIDTH / total))
    return Markup(  # noqa: S704 (texts are escaped)
        f'<svg class="strip" role="img" viewBox="0 0 {WIDTH} {_STRIP}" preserveAspectRatio="none" '
        f'aria-labelledby="{key}-t {key}-d"><title id="{key}-t">{escape(printable(title))}</title>'
        f'<desc id="{key}-d">{escape(printable(told))}</desc>{parts}</svg>'
    )


def _bars(spells: Sequence[tuple[str, int, str]], unit: float) -> Iterator[str]:
    at = 0
    for tone, count, word in spells:
        tall = _HEIGHTS[tone]
        yield (
            f'<rect class="{tone}" x="{at * unit:.1f}" y="{_STRIP - tall}" width="{count * unit:.1f}" '
            f'height="{tall}"><title>{escape(printable(word))}</title></rect>'
        )
        at += count
