"""Text from strangers, made safe for a terminal and for JSON."""

import json

from forkguard.reports.plain import json_text


def test_a_document_holds_no_terminal_control_and_nothing_that_a_strict_reader_refuses() -> None:
    strange = ["caf\u00e9 \U0001f600", "bytes \udcff\udc80", "\x9b31m\x7f\u202e\n", "half \ud83d"]
    text = json_text({"a": strange})
    assert text.isascii()
    assert "\x7f" not in text
    gone = "\N{REPLACEMENT CHARACTER}"
    assert json.loads(text) == {"a": [strange[0], f"bytes {gone}{gone}", strange[2], f"half {gone}"]}
