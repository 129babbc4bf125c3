"""Charts as SVG: the right dots in the right places, names escaped, no fonts, fills or scripts of their own."""

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

from forkguard.reports.charts import Dots, Line, dot_chart, line_chart, strip
from tests.support.gate_documents import HOSTILE

START = datetime(2026, 9, 1, 3, tzinfo=UTC)


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 (our own chart)


def line(name: str, *values: float | None) -> Line:
    return Line(name, tuple((START + timedelta(days=at), value) for at, value in enumerate(values)))


def test_every_value_is_a_dot_and_larger_is_further_right() -> None:
    rows = [Dots("slow", (65.6, 74.4, 80.3)), Dots("none", (93.5, 94.1, 93.9), out=(208.0,))]
    root = parsed(dot_chart("k", rows, title="T", told="D", unit="tok/s"))
    dots = [(float(dot.attrib["cx"]), dot[0].text, dot.attrib["fill"]) for dot in root.iter("circle")]
    assert [text for _, text, _ in sorted(dots)] == [
        f"{value} tok/s" for value in ("65.6", "74.4", "80.3", "93.5", "93.9", "94.1", "208")
    ]
    assert [fill for _, text, fill in dots if text == "208 tok/s"] == ["var(--out)"]
    labels = [element.text for element in root.iter("text")]
    assert {"slow", "none", "0"} <= set(labels)
    assert {element.get("fill") for element in root.iter("text")} == {None}


def test_a_gap_breaks_a_line_and_a_line_of_zeros_is_left_out() -> None:
    svg = line_chart("k", [line("a", 1, 2, None, 3, 4), line("zero", 0, 0, 0, 0, 0)], title="T", told="D")
    root = parsed(svg)
    assert len(list(root.iter("path"))) == 2
    assert "zero" not in svg
    assert line_chart("k", [line("one", 5)], title="T", told="D") == ""
    assert line_chart("k", [line("zero", 0, 0)], title="T", told="D") == ""


def test_the_newest_moment_is_at_the_right_edge() -> None:
    root = parsed(line_chart("k", [line("a", 1, 1, 1)], title="T", told="D"))
    (path,) = root.iter("path")
    numbers = [float(word) for word in path.attrib["d"].split() if word not in "ML"]
    ends = {float(tick.attrib["x2"]) for tick in root.iter("line") if tick.attrib["x1"] != tick.attrib["x2"]}
    assert numbers[0] == 0
    assert {numbers[-2]} == ends


def test_names_of_strangers_stay_text_and_the_same_values_give_the_same_bytes() -> None:
    charts = [
        dot_chart("k", [Dots(HOSTILE, (1.0,))], title=HOSTILE, told=HOSTILE, unit="x"),
        line_chart("k", [line(HOSTILE, 1, 2), line("b", 2, 1)], title=HOSTILE, told=HOSTILE),
        strip("k", [("bad", 3, HOSTILE), ("good", 1, "w")], title=HOSTILE, told=HOSTILE),
    ]
    for svg in charts:
        root = parsed(svg)
        assert {element.tag for element in root.iter()} <= {
            "svg", "title", "desc", "g", "text", "line", "path", "circle", "rect",
        }  # fmt: skip
        assert "\x1b" not in svg
        assert "\u202e" not in svg
    assert charts[0] == dot_chart("k", [Dots(HOSTILE, (1.0,))], title=HOSTILE, told=HOSTILE, unit="x")


def test_a_strip_gives_each_night_the_same_width() -> None:
    root = parsed(strip("k", [("bad", 3, "red"), ("good", 1, "green")], title="T", told="D"))
    bars = [
        (bar.attrib["class"], float(bar.attrib["width"]), float(bar.attrib["height"])) for bar in root.iter("rect")
    ]
    assert bars == [("bad", 450.0, 28.0), ("good", 150.0, 10.0)]
    assert strip("k", [], title="T", told="D") == ""
