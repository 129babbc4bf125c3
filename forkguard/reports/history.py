"""The history as JSON (`forkguard/history@1`)."""

import json
from typing import Any

from forkguard.core.history_rows import History, NightRow, ReceiptRow, columns

SCHEMA = "forkguard/history@1"


def history_json(history: History) -> str:
    """One JSON document; `docs/schemas/history.json` is its schema."""
    document = {
        "schema": SCHEMA,
        "nights": [_night(row) for row in history.nights],
        "receipts": [_receipt(row) for row in history.receipts],
        "skipped": [{"kind": one.kind.value, "name": one.name, "why": one.why} for one in history.skipped],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _night(row: NightRow) -> dict[str, Any]:
    document = columns(row)
    return {"id": document.pop("name"), **document, "patches": [columns(one) for one in row.patches]}


def _receipt(row: ReceiptRow) -> dict[str, Any]:
    document = columns(row)
    return {
        "run": document.pop("name"),
        **document,
        "checks": [{"name": one.name, "verdict": one.verdict, "class": one.kind} for one in row.checks],
        "speeds": [columns(one) for one in row.speeds],
    }
