"""Liveness, fallback and crash by what the arms brought: which arm decides, and with which words and evidence."""

from dataclasses import replace

import pytest

from forkguard.core.completion import Answer
from forkguard.core.gate import (
    Arm,
    ArmPlan,
    Asked,
    Check,
    CheckName,
    Failure,
    GateSettings,
    GateStage,
    LoadFault,
    NotRun,
    ServerEnd,
    Side,
    Suspect,
    Trouble,
    Verdict,
)
from forkguard.core.gatechecks import fallback, judge, liveness
from forkguard.core.gatecrash import crash
from forkguard.core.gateload import told_load
from forkguard.core.logfacts import Fallback
from forkguard.core.prompts import Prompt
from forkguard.core.serverlog import parse

PROMPTS = (Prompt("one", "Say one.", 3),)
END = ServerEnd(0, None, asked=True, killed=False, log=parse(b"x\n"), log_file="x.log")
VERBOSE = b"0.00.000.100 I main: verbosity = %d\n"
ABORT = Trouble(
    Failure.ABORT, GateStage.FIRST_DECODE, "GGML_ASSERT(lid)", place="pot.c:7", signal="SIGABRT", child=812,
    before=("cooking",), after=("no lid",), frames=("cook",),
)  # fmt: skip
HANG = Trouble(Failure.HANG, GateStage.EXIT, "did not stop")
STRANGER = Trouble(Failure.STRANGER, GateStage.LOAD, "another program answers")


def plan(name: str = "draft-3", width: int | None = 3, *, side: Side = Side.FORK, recheck: bool = False) -> ArmPlan:
    return ArmPlan(name, PROMPTS, width=width, side=side, recheck=recheck)


def arm(
    of: ArmPlan, *, drafted: int = 0, accepted: int = 0, trouble: Trouble | None = None, log: bytes = b"x\n"
) -> Arm:
    answer = Answer((1, 2, 3), "x", ((), (), ()), drafted, accepted, {})
    return Arm(of, ("x",), (Asked("one", answer, 1.0),), replace(END, log=parse(log)), trouble, 1.0)


@pytest.mark.parametrize(
    ("arms", "missing", "kind", "detail"),
    [
        ([arm(plan("d-1", 1), drafted=5, accepted=2), arm(plan("d-3"), drafted=9, accepted=1)], [], None,
         "accepted draft tokens: d-1 2 of 5, d-3 1 of 9"),
        ([arm(plan("d-1", 1), drafted=5, accepted=2), arm(plan("d-3"))], [], "no-drafts",
         "d-3 does not count: not one token was drafted"),
        ([arm(plan("d-3"), drafted=4)], [], "none-accepted",
         "d-3 does not count: none of 4 drafted tokens was accepted"),
        ([arm(plan("d-3"), drafted=4, accepted=4, trouble=HANG)], [], "not-run",
         "d-3 does not count: it did not run to its end"),
        ([arm(plan("alone", None))], [], "not-run", "no arm ran with a draft"),
        ([arm(plan("d-3"), drafted=4, accepted=4)], [NotRun("d-6", "no room")], "not-run", "no room"),
        ([arm(plan("d-3"), drafted=4, accepted=4)], [NotRun("d-6", "no room", Side.UPSTREAM)], None,
         "accepted draft tokens: d-3 4 of 4"),
        ([arm(plan("again", recheck=True), drafted=4, accepted=4)], [], "not-run", "no arm ran with a draft"),
        ([arm(plan("up", side=Side.UPSTREAM), drafted=4, accepted=4)], [], "not-run", "no arm ran with a draft"),
    ],
)  # fmt: skip
def test_drafts_count_in_every_planned_arm_of_the_forks(
    arms: list[Arm], missing: list[NotRun], kind: str | None, detail: str
) -> None:
    check = liveness(arms, missing)
    assert (check.kind, check.detail) == (kind, detail)
    assert check.verdict is (Verdict.INCONCLUSIVE if kind else Verdict.PASS)


def test_liveness_shows_each_arms_figures() -> None:
    check = liveness([arm(plan("d-1", 1), drafted=5, accepted=2), arm(plan("alone", None))], [])
    assert check.evidence == ({"arm": "d-1", "drafted": 5, "accepted": 2, "complete": True},)


def told(log: bytes, *, left_out: int = 0, trouble: Trouble | None = None, answered: bool = True) -> Check:
    """The check of one verbose arm with this log, which drafted and accepted."""
    one = arm(replace(plan(), verbose=True), drafted=5, accepted=2, trouble=trouble, log=log)
    one = replace(one, end=replace(one.end, log_left_out=left_out), asked=one.asked if answered else ())
    return fallback([one], fails=False)


@pytest.mark.parametrize(
    ("check", "detail"),
    [
        (told(VERBOSE % 5), ""),
        (told(b""), "the server wrote no log"),
        (told(VERBOSE % 5, left_out=1), "the log outgrew its bound: 1 bytes are not kept"),
        (told(VERBOSE % 4), "the log is not a verbose one, so it cannot show a fallback"),
        (told(b"x\n"), "the log is not a verbose one, so it cannot show a fallback"),
        (told(VERBOSE % 5, trouble=HANG),
         "the verbose server did not run to its end, and told of no fallback until then"),
        (told(VERBOSE % 5, answered=False), "no verbose server came to answer"),
        (fallback([arm(plan(), drafted=5, accepted=2, log=VERBOSE % 5)], fails=False),
         "no verbose server came to answer"),
    ],
)  # fmt: skip
def test_only_a_whole_verbose_log_shows_that_there_was_no_fallback(check: Check, detail: str) -> None:
    assert (check.name, check.kind) == (CheckName.FALLBACK, None)
    assert check.detail == (detail or "the verbose log tells of no fallback")
    assert check.verdict is (Verdict.INCONCLUSIVE if detail else Verdict.PASS)
    named = bool(detail) and not detail.startswith("no verbose server")
    assert check.evidence == (({"arm": "draft-3", "log": "x.log"},) if named else ())


def test_every_verbose_log_must_show_that_there_was_no_fallback() -> None:
    good = arm(replace(plan("f16"), verbose=True, draft="f16"), drafted=5, accepted=2, log=VERBOSE % 5)
    other = replace(plan("q8"), verbose=True, draft="q8")
    for second, detail in (
        (replace(arm(other, log=VERBOSE % 5), asked=()), "the verbose server did not run to its end"),
        (arm(other, drafted=5, accepted=2, log=VERBOSE % 4), "the log is not a verbose one"),
        (arm(other, log=VERBOSE % 5), "no acceptance line: no drafts ran"),
    ):
        check = fallback([good, second], fails=False)
        assert (check.verdict, check.evidence[0]["arm"]) == (Verdict.INCONCLUSIVE, "q8")
        assert check.detail.startswith(detail)
    assert (
        fallback([good, arm(other, log=VERBOSE % 5), arm(plan(), accepted=1)], fails=False).kind
        == "no-acceptance-line"
    )
    drafted = arm(replace(plan("d"), draft="q8"), drafted=3, accepted=1)
    assert fallback([good, arm(other, log=VERBOSE % 5), drafted], fails=False).verdict is Verdict.PASS


def test_an_arm_that_was_not_started_shows_no_absence_of_fallbacks() -> None:
    good = arm(replace(plan(), verbose=True), drafted=5, accepted=2, log=VERBOSE % 5)
    settings = GateSettings("x", near_tie=0.05, probe=True, checks=(CheckName.FALLBACK,))
    (check,), _ = judge([good], settings, missing=[NotRun("target-b-draft-3-verbose", "not started")])
    assert (check.verdict, check.detail) == (Verdict.INCONCLUSIVE, "not started")
    (check,), _ = judge([good], settings, missing=[NotRun("upstream-draft-3", "not started", Side.UPSTREAM)])
    assert check.verdict is Verdict.PASS


def test_a_fallback_is_shown_with_its_arm_line_count_and_log() -> None:
    line = b"0.00.004.000 W srv: draft model 'x' will not be used\n"
    check = told(VERBOSE % 5 + 2 * line)
    text = "srv: draft model 'x' will not be used"
    assert check.detail == f"the server fell back: {text}"
    assert check.evidence == (
        {"arm": "draft-3", "class": str(Fallback.DRAFT_DROPPED), "text": text, "count": 2, "log": "x.log"},
    )


def test_a_crash_is_shown_with_all_that_is_known_of_it() -> None:
    check = crash([arm(plan(), trouble=ABORT)], [], [])
    assert check.detail == "draft-3: abort at the first decode: GGML_ASSERT(lid) (with the draft)"
    assert (check.verdict, check.kind, check.culprit, check.trigger) == (
        Verdict.FAIL, Failure.ABORT, None, "with the draft",
    )  # fmt: skip
    assert check.evidence == (
        {
            "arm": "draft-3", "class": "abort", "stage": "first decode", "text": "GGML_ASSERT(lid)",
            "place": "pot.c:7", "signal": "SIGABRT", "exit_code": None, "child": 812, "before": ["cooking"],
            "after": ["no lid"], "frames": ["cook"], "load": None, "culprit": None, "log": "x.log",
        },
    )  # fmt: skip


def test_a_load_error_is_shown_with_all_that_names_it() -> None:
    load = LoadFault("tensor-count", "x", 3, 2, model="/m/t.gguf", claimed=("a",), unclaimed=("b",), known_as=("c",))
    trouble = Trouble(Failure.LOAD_ERROR, GateStage.LOAD, "wrong number", exit_code=1, load=load)
    check = crash([arm(plan(), trouble=trouble)], [], [])
    assert check.detail == f"draft-3: load-error while loading: wrong number; {told_load(load)} (with the draft)"
    assert (check.evidence[0]["exit_code"], check.evidence[0]["load"]) == (1, {
        "problem": "tensor-count", "subject": "x", "expected": 3, "got": 2, "model": "/m/t.gguf",
        "unclaimed": ["b"], "known_as": ["c"],
    })  # fmt: skip


@pytest.mark.parametrize(
    ("upstream", "culprit", "words"),
    [
        (None, "fork", "upstream at the pin does not"),
        (ABORT, "upstream too", "upstream at the pin does the same"),
        (HANG, "fork; upstream fails in another way (hang)", "fork; upstream fails in another way (hang)"),
    ],
)
def test_upstreams_arm_of_the_same_configuration_tells_the_culprit(
    upstream: Trouble | None, culprit: str, words: str
) -> None:
    arms = [arm(plan(), trouble=ABORT), arm(plan("up", side=Side.UPSTREAM), trouble=upstream)]
    check = crash(arms, [], [])
    assert check.culprit == culprit
    assert check.detail == f"draft-3: abort at the first decode: GGML_ASSERT(lid); {words} (with the draft)"
    assert [one["culprit"] for one in check.evidence] == [culprit, *(["upstream"] if upstream else [])]
    other_width = [arms[0], arm(plan("up", 1, side=Side.UPSTREAM), trouble=upstream)]
    assert crash(other_width, [], []).culprit is None


def test_an_abort_with_libcs_asserts_alone_says_so_and_names_no_culprit() -> None:
    arms = [
        arm(plan()),
        arm(plan("asserts", side=Side.ASSERTS), trouble=ABORT),
        arm(plan("up", side=Side.UPSTREAM)),
    ]
    check = crash(arms, [], [])
    assert (check.verdict, check.culprit) == (Verdict.FAIL, None)
    assert check.trigger == "only with libc's asserts, which the Release build leaves out; with the draft"


def test_what_upstream_alone_does_is_told_and_passes() -> None:
    arms = [arm(plan()), arm(plan("up", side=Side.UPSTREAM), trouble=HANG)]
    check = crash(arms, [], [])
    assert (check.verdict, check.kind) == (Verdict.PASS, None)
    assert check.detail == "1 servers ran, answered and stopped as they must; upstream does not (up: hang at exit)"
    again = crash([arm(plan()), arm(plan("up", side=Side.UPSTREAM, recheck=True), trouble=HANG)], [], [])
    assert again.evidence == ()


@pytest.mark.parametrize(
    ("again", "red"),
    [
        (plan("again", recheck=True), True),
        (replace(plan("again", recheck=True), batch=8), False),
        (replace(plan("again", recheck=True), prompts=()), False),
        (replace(plan("again"), batch=8), True),
    ],
)
def test_a_recheck_with_settings_of_our_own_is_not_the_forks_fault(again: ArmPlan, *, red: bool) -> None:
    check = crash([arm(plan()), arm(again, trouble=ABORT)], [], [])
    assert check.verdict is (Verdict.FAIL if red else Verdict.PASS)


def test_a_gate_that_started_no_server_of_the_forks_decides_nothing() -> None:
    for arms in ([], [arm(plan("up", side=Side.UPSTREAM))]):
        check = crash(arms, [NotRun("up-2", "no room", Side.UPSTREAM)], [])
        assert (check.verdict, check.detail) == (Verdict.INCONCLUSIVE, "no server was started")


def test_a_stranger_decides_nothing_and_hides_nothing() -> None:
    alone = crash([arm(plan(), trouble=STRANGER)], [], [])
    assert (alone.verdict, alone.kind) == (Verdict.INCONCLUSIVE, Failure.STRANGER)
    assert alone.detail == "draft-3: another program answers"
    assert len(alone.evidence) == 1
    both = crash([arm(plan(), trouble=STRANGER), arm(plan("d-1", 1), trouble=ABORT)], [], [])
    assert (both.verdict, both.kind) == (Verdict.FAIL, Failure.ABORT)


@pytest.mark.parametrize("where", ["GGML_ASSERT(lid)", "cooking", "no lid", ""])
def test_a_suspect_explains_by_the_line_and_by_those_around_it(where: str) -> None:
    suspect = Suspect("x/1", "lost", "crash", ("elsewhere", where or "nowhere"), 7, "pot.c:1", "port", "port")
    check = crash([arm(plan(), trouble=ABORT)], [], [suspect])
    assert [one.finding for one in check.suspects] == (["x/1"] if where else [])


def test_checks_come_in_their_order_with_why_the_others_were_not_asked() -> None:
    good = [arm(plan(), drafted=5, accepted=2)]
    settings = GateSettings("heron", near_tie=0.05, probe=False, checks=(CheckName.LIVENESS, CheckName.CRASH))
    checks, not_run = judge(good, settings)
    assert [(one.name, one.verdict) for one in checks] == [
        (CheckName.CRASH, Verdict.PASS), (CheckName.LIVENESS, Verdict.PASS),
    ]  # fmt: skip
    assert {one.reason for one in not_run} == {"the map does not ask for it"}
    probe = replace(settings, probe=True, checks=(CheckName.CRASH, CheckName.PERFORMANCE, CheckName.QUALITY))
    _, not_run = judge(good, probe)
    told_of = {one.name: one.reason for one in not_run}
    assert told_of[CheckName.PERFORMANCE] == "a probe has random weights, so it shows neither speed nor quality"
    assert told_of[CheckName.LIVENESS] == "the map does not ask for it"
    unmeasured, _ = judge(good, replace(settings, checks=(CheckName.QUALITY,)))
    assert (unmeasured[0].verdict, unmeasured[0].kind) == (Verdict.INCONCLUSIVE, None)
