"""Jobs of a matrix, and the receipts of such jobs as one verdict."""

from datetime import UTC, datetime, timedelta

import pytest

from forkguard.core.gate import Verdict
from forkguard.core.matrix import Axes, Found, find_job, merge, plan_jobs
from forkguard.core.receipts import Receipt
from forkguard.errors import UsageProblem

JOBS = plan_jobs([Axes("heron", ("cpu",), (3,), (1, 2))])
ONE, TWO = (job.id for job in JOBS)
FINISHED = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)


def receipt(
    job: str | None, verdict: str = "pass", *, arch: str = "heron", commit: str = "a", minute: int = 0, **more: str
) -> Receipt:
    finished = FINISHED + timedelta(minutes=minute)
    checks = [{"name": "liveness", "verdict": "pass", "class": None, "detail": "it answered"}]
    checks += [{"name": "crash", "verdict": verdict, "class": None, "detail": more.get("detail", "it aborted")}]
    return Receipt.model_validate(
        {
            "schema": "forkguard/gate@1", "verdict": more.get("whole", verdict), "arch": arch,
            "checks": tuple(checks), "arms": (),
            "tree": {"commit": commit * 40, "binary": "/b", "binary_sha256": "0" * 64, "libraries": ()},
            "models": (), "environment": {}, "started": finished, "finished": finished, "job": job, "logs": (),
            "previous": None,
        }
    )  # fmt: skip


def told(*found: Receipt) -> list[tuple[Verdict, str, str | None]]:
    report = merge(JOBS, [Found(f"{number}.json", one) for number, one in enumerate(found)])
    return [(result.verdict, result.detail, result.path) for result in report.results]


def test_each_job_is_told_by_its_receipt() -> None:
    assert told(receipt(ONE), receipt(TWO, "fail")) == [
        (Verdict.PASS, "all checks passed", "0.json"),
        (Verdict.FAIL, "crash: it aborted", "1.json"),
    ]
    assert told(receipt(ONE, "inconclusive", detail="no arm ran"), receipt(TWO, arch="otter")) == [
        (Verdict.INCONCLUSIVE, "crash: no arm ran", "0.json"),
        (Verdict.INCONCLUSIVE, "its receipt is about otter", "1.json"),
    ]
    assert told(receipt(ONE, whole="fail"))[0] == (Verdict.FAIL, "none of its checks says why", "0.json")
    assert told()[1] == (Verdict.INCONCLUSIVE, "it left no receipt", None)


def test_of_two_receipts_of_a_job_the_newer_one_counts_in_whatever_order() -> None:
    early, late = receipt(ONE, "fail"), receipt(ONE, minute=1)
    assert told(early, late)[0] == (Verdict.PASS, "all checks passed", "1.json")
    assert told(late, early)[0] == (Verdict.PASS, "all checks passed", "0.json")


def test_green_needs_every_job_on_one_commit_and_no_bad_receipt() -> None:
    good = [Found("1.json", receipt(ONE)), Found("2.json", receipt(TWO))]
    report = merge(JOBS, good)
    assert (report.verdict, report.commit, report.mixed) == (Verdict.PASS, "a" * 40, False)
    assert merge(JOBS, good[:1]).verdict is Verdict.INCONCLUSIVE
    bad = merge(JOBS, [*good, Found("3.json", receipt(ONE, "fail"), "its hash is not that of its name")])
    assert (bad.verdict, bad.problems) == (Verdict.INCONCLUSIVE, ("3.json: its hash is not that of its name",))
    mixed = merge(JOBS, [good[0], Found("2.json", receipt(TWO, commit="b"))])
    assert (mixed.verdict, mixed.commit, mixed.mixed) == (Verdict.INCONCLUSIVE, None, True)
    red = merge(JOBS, [*good[:1], Found("2.json", receipt(TWO, "fail", commit="b"))])
    assert red.verdict is Verdict.FAIL


def test_receipts_of_other_jobs_change_nothing_and_are_told() -> None:
    report = merge(JOBS, [Found("1.json", receipt("x", "fail")), Found("2.json", receipt(None)), Found("3", None)])
    assert report.ignored == (
        "1.json: it is of job x, which the matrix does not have",
        "2.json: it is of no job",
    )
    assert {result.detail for result in report.results} == {"it left no receipt"}


def test_jobs_have_ids_that_may_name_files_and_no_two_the_same() -> None:
    (job,) = plan_jobs([Axes("a/b", ("cpu fast",), (3,), (2,), ("q8 0",), ("big",))])
    assert (job.id, job.arm) == ("a_b.cpu_fast.target-big-draft-q8_0-3-slots-2", "target-big-draft-q8_0-3-slots-2")
    assert find_job([*JOBS, job], job.id) is job
    with pytest.raises(UsageProblem, match="two jobs would have the id"):
        plan_jobs([Axes("a/b", ("cpu",), (3,), (1,)), Axes("a:b", ("cpu",), (3,), (1,))])
    with pytest.raises(UsageProblem, match="there is no job 'x'"):
        find_job(JOBS, "x")
