"""Changes to a map's text that leave the user's comments, order and spacing alone."""

import re
from datetime import date
from typing import Any

import tomlkit
from tomlkit.items import AoT, Array

from forkguard.core.mapfile import parse_map
from forkguard.errors import UsageProblem

_BARE_LINE_FEED = re.compile(r"(?<!\r)\n")


def add_accept(text: str, *, finding: str, reason: str, by: str, until: date | None = None, name: str) -> str:
    """The map's text with one more `[[accept]]` entry at the end of the ledger.

    `name` is how errors call the file. Raises `UsageProblem` where the map does not parse, before or after:
    a finding that is in the ledger already, an empty reason.
    """
    parse_map(text, name=name)
    document = tomlkit.parse(text)
    entry: dict[str, str | date] = {"id": finding, "reason": reason, "by": by} | (
        {"until": until} if until is not None else {}
    )
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
    return _checked(document, text, name)


def renew_accept(text: str, *, finding: str, reason: str, by: str, until: date | None = None, name: str) -> str:
    """The map's text with the ledger's entry for a finding said anew, in its place and with its comments.

    `name` is how errors call the file. Raises `UsageProblem` where the map does not parse, before or after, and
    where the ledger has no such entry.
    """
    parse_map(text, name=name)
    document = tomlkit.parse(text)
    ledger: Any = document.get("accept", [])
    entry = next((entry for entry in ledger if entry.get("id") == finding), None)
    if entry is None:
        raise UsageProblem(f"the ledger has no entry for {finding}", where=name)
    entry["reason"] = reason
    entry["by"] = by
    if until is not None:
        entry["until"] = until
    else:
        entry.pop("until", None)
    return _checked(document, text, name)


def _checked(document: tomlkit.TOMLDocument, text: str, name: str) -> str:
    """The changed document as text with the line ends of `text`, once it is known to parse."""
    changed = tomlkit.dumps(document)
    if "\r\n" in text:
        changed = _BARE_LINE_FEED.sub("\r\n", changed)
    parse_map(changed, name=name)
    return changed
