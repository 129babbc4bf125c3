"""Each parser of what a stranger may have written, with seeds and with what it may raise.

`python -m tests.fuzz` feeds them bytes that atheris makes; `tests/unit/test_any_bytes.py` those of hypothesis.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from forkguard.core.baseline import parse_baseline
from forkguard.core.boxes import parse_nvidia, parse_rocm
from forkguard.core.commits import pulls_in
from forkguard.core.completion import BadAnswer, parse_completion
from forkguard.core.fetches import read_listing
from forkguard.core.forge import parse_pull, repository_of, takes_over
from forkguard.core.gatetests import read_listing as read_tests
from forkguard.core.gguf_header import parse_header
from forkguard.core.journal import Journal
from forkguard.core.mapfile import parse_map
from forkguard.core.names import PullNumber
from forkguard.core.nightly import BadNight, Night, NightVerdict, read_night, write_night
from forkguard.core.ninja_log import cache_counts, first_error, parse_status, unused_variables
from forkguard.core.open_pulls import parse_open_pulls, parse_pull_files
from forkguard.core.patch_mail import parse_mail, parse_patch
from forkguard.core.patchset import parse_manifest, parse_series
from forkguard.core.pins import parse_pins
from forkguard.core.prompts import read_prompts
from forkguard.core.pysource import parse_python
from forkguard.core.quality import read_questions
from forkguard.core.range_diff import sections
from forkguard.core.receipt_view import view_receipt
from forkguard.core.receipts import BadReceipt, claimed_previous, read_head, read_receipt
from forkguard.core.replay_journal import ReplayJournal
from forkguard.core.resolutions import parse_resolution
from forkguard.core.rulebook import rulebook
from forkguard.core.serverlog import LogParser
from forkguard.core.status import parse_receipt
from forkguard.core.syntax import parse
from forkguard.errors import ForkguardError
from tests.support.gate_documents import receipt_document

_SIZES = {0: (1, 4), 1: (1, 2), 8: (32, 34)}


@dataclass(frozen=True, slots=True)
class Target:
    """One parser: `run` may return anything, and raise `refuses`; all else is a bug."""

    run: Callable[[bytes], object]
    refuses: tuple[type[Exception], ...]
    seeds: tuple[bytes, ...]

    def check(self, data: bytes) -> None:
        """Give it the bytes. Raises what is a bug."""
        try:
            self.run(data)
        except self.refuses as error:
            if not str(error):
                raise AssertionError("it is refused without a word") from error


def _each(*readers: Callable[[str], object]) -> Callable[[bytes], object]:
    """All of the readers, on the text as a file of strangers is decoded."""
    return lambda data: [reader(data.decode("utf-8", "replace")) for reader in readers]


def _log(data: bytes) -> None:
    parser = LogParser()
    for at in range(0, len(data), 61):
        parser.feed(data[at : at + 61])
    summary = parser.summary()
    shown = (*summary.tail, *summary.errors, *(abort.text for abort in summary.aborts), summary.telling_line)
    if not all(line.isprintable() for line in shown):
        raise AssertionError("a line steers a terminal")


def _patch(data: bytes) -> None:
    files, _ = parse_patch(data)
    for path in (path for file in files for path in (file.path, file.old_path)):
        if path.startswith("/") or {"", ".", "..", ".git"} & set(path.lower().split("/")):
            raise AssertionError(f"a path leaves the tree: {path!r}")


def _subject(text: str) -> None:
    pulls_in(text)
    takes_over(text, PullNumber(1))
    repository_of(text)


def _map(text: str) -> None:
    parse_map(text, name="m")
    rulebook((), text, name="m")


def _pull(data: bytes) -> None:
    _subject(parse_pull(data, where="x").title)


def _night() -> bytes:
    moment = "2026-09-01T03:00:00Z"
    night = Night(
        id="20260901T030000Z", started=moment, finished=moment, verdict=NightVerdict.RED, reason="why", story="s",
        repeats=0, days_red=0, version="0.1.0",
    )  # fmt: skip
    return write_night(night).encode()


_DIFF = (
    b"diff --git a/src/a.c b/src/a.c\nindex 1111111..2222222 100644\n--- a/src/a.c\n+++ b/src/a.c\n"
    b"@@ -3,3 +3,4 @@ int f()\n one\n-two\n+2\n+22\n three\n"
)
_OTHER_DIFFS = (
    b"diff --git a/n b/n\nnew file mode 100755\nindex 0000000..1 \n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n"
    b"diff --git a/o b/p\nsimilarity index 100%\nrename from o\nrename to p\n"
    b"diff --git a/w b/w\nGIT binary patch\nliteral 3\nKcmZQzWMqE2\n\nliteral 0\nHcmV?d00001\n\n"
)
_MAIL = (
    b"From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n"
    b"From: =?UTF-8?q?Zo=C3=AB?= <zoe@example.org>\nDate: Sun, 26 Apr 2026 08:25:16 +1000\n"
    b"Subject: [PATCH 2/6] moe: support ranking,\n shards\nOrigin: vendor\n\nWhy.\n---\n a | 3 ++-\n\n" + _DIFF
)
_MAP = (
    b'[fork]\npath = "../fork"\nref = "production"\n[upstream]\nremote = "upstream"\nref = "upstream/master"\n'
    b'[arch.heron]\nenum = "LLM_ARCH_HERON"\nfiles = ["a.cpp"]\n[arch.heron.gate]\nwidths = [3]\n[nightly]\n'
    b'[[accept]]\nid = "heron/x"\nreason = "r"\nby = "A"\nuntil = 2026-12-31\n[build.x]\nenv = { CC = "gcc" }\n'
)
_RULE = b'[[rule]]\nid = "r"\nform = "registry"\nsymbol = "N"\ntitle = "t"\nseverity = "crash"\nwhy = "w"\n'
_GGUF = (
    b"GGUF\3\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0name\x08\0\0\0\1\0\0\0\0\0\0\0a"
    b"\1\0\0\0\0\0\0\0t\1\0\0\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" + bytes(64)
)
_LOG = (
    b"main: server is listening on http://127.0.0.1:4242\n\x1b[31mE\x1b[0m error: x\n"
    b"/a/b.cpp:7: GGML_ASSERT(x) failed\n"
    b"draft acceptance rate = 0.5 (1 accepted / 2 generated)\n#0 0x1 in f() from lib.so\n"
)
_PULL = json.dumps(
    {"number": 7, "title": "t (#7)", "head": {"sha": "a" * 40}, "merged_at": None, "state": "closed",
     "body": "superseded by #8", "merge_commit_sha": "b" * 40},
).encode()  # fmt: skip
_PULLS = json.dumps([{"number": 7, "title": "t", "head": {"sha": "a" * 40}}]).encode()
_FILES = json.dumps([{"filename": "a.cpp", "patch": "@@ -1 +1 @@\n-x\n+y"}]).encode()
_RECEIPT = json.dumps(receipt_document(datetime(2026, 9, 1, tzinfo=UTC), 1)).encode()
_ANSWER = b'{"tokens": [1, 2], "content": "ab", "timings": {"draft_n": 3, "draft_n_accepted": 2}}'
_QUESTION = b'{"prompt": "2 + 2?", "answer": "4", "grade": "number"}\n'
_NINJA = (
    b"[1/9] Building CXX object a.o\nFAILED: a.o\n/usr/bin/c++ -c a.cpp\na.cpp:3:1: error: no\nninja: build stopped\n"
)
_REFUSED = (ForkguardError,)

TARGETS = {
    "log": Target(_log, (), (_LOG,)),
    "map": Target(_each(_map), _REFUSED, (_MAP, _MAP + _RULE)),
    "mail": Target(parse_mail, _REFUSED, (_MAIL,)),
    "patch": Target(_patch, _REFUSED, (_DIFF, _OTHER_DIFFS)),
    "gguf": Target(lambda data: parse_header(data, _SIZES), (ValueError,), (_GGUF,)),
    "pull": Target(_pull, _REFUSED, (_PULL,)),
    "subject": Target(
        _each(_subject), (), (b"spec : more (#27342) (#27816)", b"Replaces #7, git@github.com:a/b.git")
    ),
    "prompts": Target(
        _each(lambda text: read_prompts(text, name="x")),
        _REFUSED,
        (b'[[prompt]]\nname = "a"\ntext = "b"\ntokens = 9\n',),
    ),
    "pins": Target(_each(lambda text: parse_pins(text, name="x")), _REFUSED, (b"27383@" + b"a" * 40 + b"  # why\n",)),
    "pulls": Target(lambda data: parse_open_pulls(data, where="x"), _REFUSED, (_PULLS,)),
    "files": Target(lambda data: parse_pull_files(data, where="x"), _REFUSED, (_FILES,)),
    "night": Target(_each(read_night), (BadNight,), (_night(),)),
    "receipt": Target(read_receipt, (BadReceipt,), (_RECEIPT,)),
    "receipt-view": Target(view_receipt, (BadReceipt,), (_RECEIPT,)),
    "receipt-status": Target(_each(lambda text: parse_receipt(text, path="x")), _REFUSED, (_RECEIPT,)),
    "sums": Target(_each(claimed_previous, read_head), (BadReceipt,), (b"a" * 64 + b"  x/receipt.json\n",)),
    "completion": Target(parse_completion, (BadAnswer,), (_ANSWER,)),
    "manifest": Target(
        _each(lambda text: parse_manifest(text, name="m")), _REFUSED, (b'title = "t"\npull = 7\nstate = "carried"\n',)
    ),
    "series": Target(_each(lambda text: parse_series(text, name="m")), _REFUSED, (b"a.patch -p0 # x\n",)),
    "journals": Target(
        _each(lambda text: Journal.parse(text, name="x")), _REFUSED, (b'{"format": "forkguard/journal@1"}',)
    ),
    "replay-journal": Target(
        _each(lambda text: ReplayJournal.parse(text, name="x")), _REFUSED, (b'{"format": "forkguard/replay@1"}',)
    ),
    "baseline": Target(_each(lambda text: parse_baseline(text, name="x")), _REFUSED, (b'{"schema": "x"}',)),
    "resolution": Target(parse_resolution, (), (b"path: a\nbase: 1\nfork: 2\nupstream: 3\nmode: 100644\n\nwhole\n",)),
    "questions": Target(_each(lambda text: read_questions(text, name="x")), _REFUSED, (_QUESTION,)),
    "tests": Target(
        _each(read_tests), (ValueError,), (b'{"tests": [{"name": "a", "command": ["/x/test-llama-archs"]}]}',)
    ),
    "ninja": Target(
        _each(
            parse_status,
            lambda text: (
                first_error(text.split("\n")),
                cache_counts(text.split("\n")),
                unused_variables(text.split("\n")),
            ),
        ),
        (),
        (_NINJA,),
    ),
    "ls-remote": Target(_each(read_listing), (), (b"ab\trefs/heads/master\n",)),
    "range-diff": Target(_each(sections), (), (b"1:  aaaaaaa = 1:  bbbbbbb one\n    @@ x\n",)),
    "gpus": Target(
        _each(parse_nvidia, parse_rocm), (), (b'{"card0": {"GPU use (%)": "3"}}', b"x, 1, 2, 3, 4, 5, 6, 7")
    ),
    "c++": Target(parse, (), (b"int f(int a) { switch (a) { case 1: return g(a)->b[1]; default: break; } }\n",)),
    "python": Target(parse_python, (), (b"class A(B):\n    x = [1, 'a']\n    def f(self): return {1: 2}\n",)),
}
