"""A drift document beside a night's record, as far as reports show it."""

import json

from forkguard.core.night_view import view_drift

ONE = {
    "id": "a1", "arch": "heron", "rule": "layer-input", "kind": "not-ported", "severity": "crash", "title": "t",
    "path": "src/a.cpp", "line": 3, "confidence": "new here",
}  # fmt: skip
DOCUMENT = {
    "schema": "forkguard/drift@1",
    "archs": [{"name": "heron", "status": "drift"}, {"name": "otter", "status": "clean"}],
    "findings": [ONE, ONE | {"id": "b2", "arch": "speculative"}, ONE | {"id": "c3"}],
}


def test_findings_are_those_of_one_arch() -> None:
    seen = view_drift(json.dumps(DOCUMENT).encode())
    assert seen is not None
    assert [one.id for one in seen.of("heron")] == ["a1", "c3"]
    assert [one.id for one in seen.of("speculative")] == ["b2"]
    assert seen.of("otter") == ()


def test_what_is_no_drift_document_is_none() -> None:
    assert view_drift(b"{}") is None
    assert view_drift(json.dumps(DOCUMENT | {"schema": "forkguard/drift@2"}).encode()) is None
    assert view_drift(b"\xff") is None
