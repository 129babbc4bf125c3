"""Changes to a map's text that leave the user's comments, order and spacing alone."""

import re
from datetime import date

import tomlkit
from tomlkit.items import AoT, Array

from forkguard.core.mapfile import parse_map

_BARE_LINE_FEED = re.compile(r"(?<!\r)\n")


def add_accept(text: str, *, finding: str, reason: str, by: str, until: date | None = None, name: str) -> str:
    """The map's text with one more `[[accept]]` entry at the end of the ledger.

    `name` is how errors call the file. Raises `UsageProblem` where the map does not parse, before or after:
    a finding that is in the ledger already, an empty reason.
    """
    parse_map(text, name=name)
    document = tomlkit.parse(text)
    entry = {"id": finding, "reason": reason, "by": by} | ({"until": until} if until is not None else {})
    if "accept" not in document:
        document.add("accept", tomlkit.aot())
    ledger = document["accept"]
    if isinstance(ledger, AoT):
        table = tomlkit.table()
        table.update(entry)
        table.trivia.indent = "\n"
        ledger.append(table)
    elif isinstance(ledger, Array):
        inline = tomlkit.inline_table()
        inline.update(entry)
        ledger.append(inline)
    changed = tomlkit.dumps(document)
    if "\r\n" in text:
        changed = _BARE_LINE_FEED.sub("\r\n", changed)
    parse_map(changed, name=name)
    return changed
