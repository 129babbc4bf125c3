"""Receipts come from strangers: whatever a file holds, it is read as one or refused, and never passes by accident."""

import copy
import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.receipts import (
    BadReceipt,
    BuildFacts,
    Compiler,
    Link,
    LogHash,
    check_path,
    claimed_previous,
    head_text,
    read_compiler,
    read_head,
    read_options,
    read_receipt,
    read_sums,
    seal,
    sums,
)
from forkguard.core.server_flags import flag_set, flagged_models
from forkguard.core.verify import ChainedReceipt, LibrariesNow, ModelNow, Question, Reason, Refused, covering

BINARY, MODEL, LIBRARY, LOG = ("b" * 64, "c" * 64, "d" * 64, "e" * 64)
DOCUMENT: dict[str, Any] = {
    "schema": "forkguard/gate@1",
    "verdict": "pass",
    "arch": "heron",
    "checks": [{"name": "crash", "verdict": "pass", "detail": "none"}],
    "arms": [{"name": "one", "command": ["x", "-c", "8"], "complete": True, "verbose": False}],
    "tree": {
        "commit": None,
        "binary": "/x",
        "binary_sha256": BINARY,
        "libraries": [{"path": "/lib/libpot.so", "sha256": LIBRARY}],
    },
    "models": [{"name": "t.gguf", "sha256": MODEL, "arch": "heron"}],
    "environment": {"HSA_X": "1"},
    "started": "2026-09-01T12:00:00+00:00",
    "finished": "2026-09-01T12:00:01+00:00",
    "job": None,
    "logs": [{"path": "one.log", "sha256": LOG, "bytes": 1}],
    "previous": None,
}
NOW = datetime(2026, 9, 2, tzinfo=UTC)
LINK = Link("x/receipt.json", "0" * 64)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["pass", "fail", BINARY]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deeper for key, one in inner for deeper in places(one, (*path, key)))]


PLACES = [path for path in places(DOCUMENT) if path]


def changed(path: tuple[Any, ...], value: object) -> dict[str, Any]:
    document = copy.deepcopy(DOCUMENT)
    holder: Any = document
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return document


def decide(content: bytes) -> tuple[ChainedReceipt, ...]:
    """What `verify` decides of one receipt, for the question that `DOCUMENT` covers."""
    receipt = read_receipt(content)
    question = Question(
        binary="/x", sha256=BINARY, arch="heron", models=(ModelNow("t.gguf", MODEL),), flags=flag_set(["-c", "8"]),
        environment={"HSA_X": "1"}, steering=(), max_age=timedelta(days=7), now=NOW,
    )  # fmt: skip
    libraries = LibrariesNow({"libpot.so": LIBRARY}, {}, (), lambda _: None)
    return covering([ChainedReceipt(LINK, receipt)], question, lambda: libraries)


def test_the_document_itself_covers() -> None:
    (covered,) = decide(json.dumps(DOCUMENT).encode())
    assert covered.receipt.arch == "heron"


@given(st.binary() | st.text().map(str.encode) | JSON.map(lambda value: json.dumps(value).encode()))
def test_what_is_no_receipt_is_refused(content: bytes) -> None:
    with pytest.raises(BadReceipt):
        read_receipt(content)


@given(st.sampled_from(PLACES), JSON)
def test_any_value_anywhere_is_read_or_refused(path: tuple[Any, ...], value: object) -> None:
    document = changed(path, value)
    try:
        covered = decide(json.dumps(document).encode())
    except (BadReceipt, Refused):
        return
    receipt = covered[0].receipt
    assert (receipt.verdict, receipt.arch, receipt.tree.binary_sha256) == ("pass", "heron", BINARY)
    assert MODEL in {model.sha256 for model in receipt.models}
    assert LIBRARY in {file.sha256 for file in receipt.tree.libraries}
    assert dict(receipt.environment) == {"HSA_X": "1"}
    assert {check.verdict for check in receipt.checks} == {"pass"}
    assert NOW - timedelta(days=7) <= receipt.finished <= NOW + timedelta(minutes=5)


@given(st.sampled_from(PLACES))
def test_a_receipt_that_lacks_a_field_is_read_or_refused(path: tuple[Any, ...]) -> None:
    document = copy.deepcopy(DOCUMENT)
    holder: Any = document
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    content = json.dumps(document).encode()
    needed = {"schema", "verdict", "arch", "checks", "arms", "tree", "models", "environment", "started", "finished",
              "job", "logs", "previous"}  # fmt: skip
    if len(path) == 1 and path[0] in needed:
        with pytest.raises(BadReceipt):
            decide(content)
        return
    try:
        decide(content)
    except (BadReceipt, Refused):
        assert path


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "forkguard/gate@2"),
        (("verdict",), "PASS"),
        (("checks",), []),
        (("checks", 0, "verdict"), "fail"),
        (("finished",), "2026-09-01T11:00:00+00:00"),
        (("finished",), "2026-09-01T12:00:01"),
        (("finished",), 1788264001),
        (("finished",), "9999-12-31T23:59:59-23:59"),
        (("finished",), "0001-01-01T00:00:00+23:59"),
        (("logs", 0, "path"), "../one.log"),
        (("logs", 0, "path"), "/etc/passwd"),
        (("logs", 0, "path"), "-v.log"),
        (("arms", 0, "command"), []),
        (("arms", 0, "complete"), "yes"),
        (("tree", "binary_sha256"), BINARY.upper()),
        (("models", 0, "sha256"), MODEL + "\n"),
    ],
)
def test_a_receipt_that_contradicts_itself_or_its_form(path: tuple[Any, ...], value: object) -> None:
    with pytest.raises((BadReceipt, Refused)):
        decide(json.dumps(changed(path, value)).encode())


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe", b"NaN", b"1e999999"])
def test_json_that_wears_a_parser_out(content: bytes) -> None:
    with pytest.raises(BadReceipt):
        read_receipt(content)


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../x/receipt.json", "x/receipt.json\n", "x/../receipt.json", "-x/receipt.json",
     ".x/receipt.json", "a/b/receipt.json"],
)  # fmt: skip
def test_a_previous_receipt_elsewhere_is_refused(path: str) -> None:
    receipt = read_receipt(json.dumps(changed(("previous",), {"path": path, "sha256": LOG})).encode())
    with pytest.raises(BadReceipt):
        _ = receipt.link


@given(st.text() | st.from_regex(r"([0-9a-f]{64}  [a-z./-]{0,20}\n){0,3}", fullmatch=True))
def test_sums_of_strangers(text: str) -> None:
    for read in (read_sums, read_head):
        try:
            read(text)
        except BadReceipt:
            continue
    link = claimed_previous(text)
    assert link is None or check_path(link.path) == link.path


@given(st.lists(st.text(max_size=8) | st.sampled_from(["-c", "--ctx-size", "-1", "=", "--x=y", "-m", "-"])))
def test_flags_of_strangers(words: list[str]) -> None:
    once = flag_set(words)
    assert not {"--model", "--port", "--api-key"} & set(once.values)
    assert once.differences(once) == ()
    assert all(isinstance(name, str) for name in flagged_models(words))


@given(st.text())
def test_cmakes_files_of_strangers(text: str) -> None:
    read_options(text)
    read_compiler(text)


def test_reasons_have_names_of_their_own() -> None:
    assert len({str(reason) for reason in Reason}) == len(Reason)


# -- values ------------------------------------------------------------------------------------------------

BEFORE = Link("x/receipt.json", "0" * 64)
LOGS = [LogHash("one.log", LOG, 1)]


def test_a_receipt_is_sealed_with_its_flags_build_logs_and_the_one_before() -> None:
    gate = json.dumps({"arms": [{"name": "one", "command": ["x", "-c", "8"]}], "build": {"profile": "old"}})
    compiler = Compiler("CXX", "/usr/bin/c++", "GNU", "12")
    text = seal(gate, previous=BEFORE, logs=LOGS, build=BuildFacts("cpu", (compiler,), {"GGML_X": "ON"}), job="cuda")
    assert text.endswith("}\n")
    sealed = json.loads(text)
    assert {key: sealed[key] for key in ("job", "flags", "build", "logs", "previous")} == {
        "job": "cuda",
        "flags": [{"arm": "one", "flags": list(flag_set(["-c", "8"]).words())}],
        "build": {
            "profile": "cpu",
            "compilers": [{"language": "CXX", "path": "/usr/bin/c++", "id": "GNU", "version": "12"}],
            "options": {"GGML_X": "ON"},
        },
        "logs": [{"path": "one.log", "sha256": LOG, "bytes": 1}],
        "previous": {"path": "x/receipt.json", "sha256": "0" * 64},
    }
    bare = json.loads(seal(gate, previous=None, logs=[], build=None, job=None))
    assert (bare["build"], bare["previous"], bare["logs"], bare["job"]) == ({"profile": "old"}, None, [], None)
    assert json.loads(seal("{}", previous=None, logs=[], build=None, job=None))["flags"] == []


def test_sums_name_the_receipt_its_logs_and_the_one_before_and_are_read_back() -> None:
    text = sums(b"{}", previous=BEFORE, logs=LOGS)
    assert text.splitlines() == [
        f"{hashlib.sha256(b'{}').hexdigest()}  receipt.json", f"{LOG}  one.log", f"{'0' * 64}  ../x/receipt.json",
    ]  # fmt: skip
    assert list(read_sums(text)) == ["receipt.json", "one.log", "../x/receipt.json"]
    assert claimed_previous(text) == BEFORE
    assert claimed_previous(sums(b"{}", previous=None, logs=LOGS)) is None
    assert claimed_previous(f"{text}{'1' * 64}  ../y/receipt.json\n") is None
    with pytest.raises(BadReceipt, match="line 2 is not a sum and a name"):
        read_sums(f"{LOG}  one.log\n{LOG} one.log\n")


def test_a_head_names_one_receipt() -> None:
    assert read_head(head_text(BEFORE)) == BEFORE
    for text in ("", head_text(BEFORE) + head_text(Link("y/receipt.json", "1" * 64))):
        with pytest.raises(BadReceipt, match="it does not name one receipt"):
            read_head(text)


def test_a_compiler_may_lack_its_id_and_version_but_not_its_path() -> None:
    path, id_ = 'set(CMAKE_C_COMPILER "/usr/bin/cc")\n', 'set(CMAKE_C_COMPILER_ID "GNU")\n'
    assert read_compiler(path) == Compiler("C", "/usr/bin/cc", "", "")
    assert read_compiler(path + id_) == Compiler("C", "/usr/bin/cc", "GNU", "")
    assert read_compiler(id_) is None


def test_a_receipt_says_what_is_wrong_with_it_and_which_was_before() -> None:
    with pytest.raises(BadReceipt, match=r"^tree\.binary_sha256: "):
        read_receipt(json.dumps(changed(("tree", "binary_sha256"), "x")).encode())
    with pytest.raises(BadReceipt, match="it ended before it began"):
        read_receipt(json.dumps(changed(("finished",), "2026-09-01T11:59:59+00:00")).encode())
    with pytest.raises(BadReceipt, match="it says pass, and its checks do not"):
        read_receipt(json.dumps(changed(("checks",), [])).encode())
    at_once = read_receipt(json.dumps(changed(("finished",), DOCUMENT["started"])).encode())
    assert (at_once.link, at_once.finished) == (None, at_once.started)
    linked = changed(("previous",), {"path": BEFORE.path, "sha256": BEFORE.sha256})
    assert read_receipt(json.dumps(linked).encode()).link == BEFORE
