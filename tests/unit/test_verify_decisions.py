"""Why a binary is refused: the reason, the words, the receipt that tells and the command that mends it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from forkguard.core.receipts import Link, ReadFile, Receipt
from forkguard.core.server_flags import flag_set
from forkguard.core.verify import (
    CLOCK_SKEW,
    ChainedReceipt,
    LibrariesNow,
    ModelNow,
    Question,
    Reason,
    Refused,
    changed_library,
    covering,
    span,
)

ONE, TWO, THREE = "1" * 64, "2" * 64, "3" * 64
NOW = datetime(2026, 9, 2, tzinfo=UTC)
ASKED = Question("/x", ONE, "heron", (ModelNow("m/t.gguf", TWO),), flag_set(["-c", "8"]), {"HSA_X": "1"}, (),
                 timedelta(days=7), NOW)  # fmt: skip
ANY = replace(ASKED, arch=None, flags=None)
GATE = "forkguard gate --arch heron --binary /x"
ARM = {"name": "one", "command": ["x", "-c", "8"], "complete": True, "verbose": False}


def receipt(**other: Any) -> Receipt:
    ended = other.pop("ended", NOW - timedelta(days=1))
    values = {
        "schema": "forkguard/gate@1", "verdict": "pass", "arch": "heron", "arms": [ARM], "job": None, "logs": [],
        "checks": [{"name": "crash", "verdict": other.get("verdict", "pass"), "detail": "told"}],
        "tree": {"commit": None, "binary": "/x", "binary_sha256": ONE, "libraries": []},
        "models": [{"name": "t.gguf", "sha256": TWO, "arch": "heron"}], "environment": {"HSA_X": "1"},
        "started": ended, "finished": ended, "previous": None, **other,
    }  # fmt: skip
    return Receipt.model_validate(values, strict=False)


def decide(*receipts: Receipt, asked: Question = ASKED) -> tuple[ChainedReceipt, ...]:
    """The decision over a chain, newest first."""
    chain = [ChainedReceipt(Link(f"r{at}/receipt.json", ONE), one) for at, one in enumerate(receipts)]
    return covering(chain, asked, lambda: LibrariesNow({}, {}, (), lambda _: None))


def refused(*receipts: Receipt, asked: Question = ASKED) -> tuple[Reason, str, str, str]:
    with pytest.raises(Refused) as caught:
        decide(*receipts, asked=asked)
    return caught.value.reason, caught.value.detail, caught.value.where, caught.value.hint


RECEIPT = "r0/receipt.json"
OTHER_MODEL = [
    {"name": "u.gguf", "sha256": THREE, "arch": "heron"},
    {"name": "v.gguf", "sha256": ONE, "arch": "heron"},
]


@pytest.mark.parametrize(
    ("other", "reason", "detail", "hint"),
    [
        ({"arch": "otter"}, Reason.OTHER_ARCH, "this binary was gated for otter, not for heron", GATE),
        ({"models": [{"name": "t.gguf", "sha256": THREE, "arch": "heron"}]}, Reason.CHANGED_MODEL,
         "t.gguf has other bytes than when it was gated", GATE),
        ({"models": OTHER_MODEL}, Reason.UNLISTED_MODEL,
         "t.gguf was not gated; the receipt lists u.gguf, v.gguf", GATE),
        ({"models": []}, Reason.UNLISTED_MODEL, "t.gguf was not gated; the receipt lists no model", GATE),
        ({"environment": {"HSA_Y": "2"}}, Reason.OTHER_ENVIRONMENT,
         "HSA_X is '1', and was not set; HSA_Y is not set, and was '2'",
         f"start it with the environment that was gated, or: {GATE}"),
        ({"arms": []}, Reason.OTHER_FLAGS, "no server of this receipt ran to its end",
         "start it with flags that were gated, or put these into args of [gate] in the map and gate again"),
        ({"verdict": "fail"}, Reason.RED,
         "its newest receipt for heron is red: crash, told", f"mend it, then: {GATE}"),
        ({"verdict": "fail", "job": "cuda"}, Reason.RED,
         "its newest receipt for heron (job cuda) is red: crash, told", f"mend it, then: {GATE}"),
        ({"verdict": "inconclusive", "checks": []}, Reason.INCONCLUSIVE,
         "its newest receipt for heron is inconclusive", f"mend it, then: {GATE}"),
        ({"ended": NOW - timedelta(days=8)}, Reason.STALE, "its receipt is 8 d old, and may be 7 d", GATE),
        ({"ended": NOW + timedelta(hours=1)}, Reason.FUTURE,
         "its receipt is of 2026-09-02T01:00:00+00:00, which is yet to come: a clock is wrong",
         f"set the clock right, or: {GATE}"),
    ],
)  # fmt: skip
def test_a_refusal_says_why_and_what_to_type(other: dict[str, Any], reason: Reason, detail: str, hint: str) -> None:
    assert refused(receipt(**other)) == (reason, detail, RECEIPT, hint)


def test_an_unknown_binary_names_no_receipt() -> None:
    gate = "forkguard gate --arch NAME --binary /x"
    told = f"no receipt is for this binary (sha256 {'3' * 12}…)"
    assert refused(receipt(), asked=replace(ANY, sha256=THREE)) == (Reason.UNKNOWN_BINARY, told, "", gate)
    assert refused(asked=ANY) == (Reason.UNKNOWN_BINARY, "there is no receipt yet", "", gate)
    assert refused(receipt(arch="otter", models=[]), asked=ANY)[3] == GATE.replace("heron", "otter")


def test_variables_that_change_flags_are_named() -> None:
    reason, detail, _, _ = refused(receipt(), asked=replace(ASKED, steering=("LLAMA_ARG_X",)))
    assert (reason, detail) == (Reason.OTHER_ENVIRONMENT, "LLAMA_ARG_X is set, which changes the server's flags")


def test_the_nearest_of_the_gated_flags_are_told() -> None:
    far = {**ARM, "command": ["x", "-c", "9", "--foo", "1"]}
    near = {**ARM, "command": ["x", "-c", "9"]}
    (difference,) = flag_set(["-c", "8"]).differences(flag_set(["-c", "9"]))
    assert refused(receipt(arms=[far, near]))[:2] == (
        Reason.OTHER_FLAGS, f"no gated server had these flags; the nearest differs in {difference}",
    )  # fmt: skip
    assert len(decide(receipt(arms=[far, ARM]))) == 1
    assert refused(receipt(arms=[near], verdict="fail"))[0] is Reason.RED
    assert len(decide(receipt(arms=[near]), asked=ANY)) == 1


@pytest.mark.parametrize("odd", [{"complete": False}, {"verbose": True}, {"side": "upstream"}, {"recheck": True}])
def test_only_a_plain_arm_of_the_fork_that_ran_to_its_end_covers_its_flags(odd: dict[str, Any]) -> None:
    assert refused(receipt(arms=[{**ARM, **odd}]))[1] == "no server of this receipt ran to its end"


def test_of_each_job_and_set_of_models_the_newest_counts() -> None:
    old_red, green = receipt(verdict="fail"), receipt()
    assert [each.link.path for each in decide(green, old_red)] == [RECEIPT]
    assert refused(receipt(job="a"), receipt(job="b", verdict="fail"))[:3:2] == (Reason.RED, "r1/receipt.json")
    more = receipt(models=[{"name": "t.gguf", "sha256": TWO, "arch": "heron"}, OTHER_MODEL[0]])
    assert [each.link.path for each in decide(green, more)] == [RECEIPT, "r1/receipt.json"]
    stale = receipt(job="a", ended=NOW - timedelta(days=8))
    assert [each.link.path for each in decide(stale, green)] == ["r1/receipt.json"]


def test_age_and_skew_have_exact_bounds() -> None:
    assert decide(receipt(ended=NOW - timedelta(days=7)))
    assert refused(receipt(ended=NOW - timedelta(days=7, seconds=1)))[0] is Reason.STALE
    assert decide(receipt(ended=NOW - timedelta(days=900)), asked=replace(ASKED, max_age=None))
    assert decide(receipt(ended=NOW + CLOCK_SKEW))
    assert refused(receipt(ended=NOW + CLOCK_SKEW + timedelta(seconds=1)))[0] is Reason.FUTURE


LISTED = [ReadFile(path="/old/libpot.so", sha256=ONE), ReadFile(path="/usr/libc.so", sha256=TWO)]


def now(
    beside: dict[str, str], resolved: dict[str, str], there: str | None = TWO, missing: tuple[str, ...] = ()
) -> LibrariesNow:
    return LibrariesNow(beside, resolved, missing, lambda _: there)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (now({"libpot.so": ONE}, {"/usr/libc.so": TWO}), None),
        (now({"libpot.so": ONE, "libpot.so.0": ONE}, {}), None),
        (now({"libpot.so": ONE}, {}, TWO, ("libz.so", "liby.so")), "libz.so is not found by the loader"),
        (now({"libpot.so": THREE}, {}), "libpot.so has other bytes than when it was gated"),
        (now({"libpot.so": TWO}, {}), "libpot.so has other bytes than when it was gated"),
        (now({"libpot.so": ONE, "libnew.so": THREE}, {}), "libnew.so would be loaded, and was not gated"),
        (now({"libpot.so": ONE}, {"/opt/libnew.so": THREE}), "libnew.so would be loaded, and was not gated"),
        (now({"libpot.so": ONE}, {"/opt/libc.so": THREE}), "libc.so has other bytes than when it was gated"),
        (now({"libpot.so": ONE}, {}, THREE), "/usr/libc.so has other bytes than when it was gated"),
        (now({"libpot.so": ONE}, {}, None), "/usr/libc.so is gone"),
        (now({}, {}), "/old/libpot.so has other bytes than when it was gated"),
    ],
)
def test_libraries_count_by_name_beside_the_program_and_by_bytes_elsewhere(
    found: LibrariesNow, told: str | None
) -> None:
    assert changed_library(LISTED, found) == told


def test_a_span_of_time_has_at_most_two_units() -> None:
    spans = [(-5, "0 s"), (0, "0 s"), (60, "1 min"), (61, "1 min 1 s"), (3600, "1 h"), (3601, "1 h"),
             (86400, "1 d"), (90000, "1 d 1 h"), (86460, "1 d"), (86399, "23 h 59 min")]  # fmt: skip
    assert [span(timedelta(seconds=seconds)) for seconds, _ in spans] == [told for _, told in spans]
