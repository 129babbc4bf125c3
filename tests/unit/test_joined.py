"""The receipts of a matrix's jobs as one: checks at their worst, with the evidence and the arms of all."""

from typing import Any

from forkguard.core.gate import Verdict
from forkguard.core.joined import JobReceipt, join
from forkguard.core.matrix import Axes, JobResult, plan_jobs

ONE, TWO = plan_jobs([Axes("heron", ("cpu",), (3,), (1, 2))])


def document(verdict: str, *, minute: int, **tree: str) -> dict[str, Any]:
    check = {"name": "crash", "verdict": verdict, "class": None, "detail": f"it was {verdict}"}
    return {
        "schema": "forkguard/gate@1", "forkguard": "0", "arch": "heron", "verdict": verdict,
        "checks": [{**check, "evidence": [{"arm": "draft-3", "log": "x"}]}],
        "arms": [{"name": "draft-3", "end": {"log": "draft-3.log", "exit_code": 0}}],
        "tree": {"commit": "a", "binary_sha256": "b", "libraries": [{"path": "l", "sha256": "c"}], **tree},
        "models": [{"name": "m"}], "environment": {}, "not_run": [{"name": "quality", "reason": "no questions"}],
        "started": f"2026-09-01T11:{minute}:00Z", "finished": f"2026-09-01T12:{minute}:00Z", "warnings": ["w"],
        "logs": [{"path": "draft-3.log"}],
    }  # fmt: skip


def joined(first: dict[str, Any], second: dict[str, Any] | None) -> Any:
    results, receipts = [], {}
    for job, one in ((ONE, first), (TWO, second)):
        verdict = Verdict(one["verdict"]) if one is not None else Verdict.INCONCLUSIVE
        results.append(JobResult(job, verdict, "it left no receipt" if one is None else "told"))
        if one is not None:
            receipts[job.id] = JobReceipt(job, f"{job.width}-{job.slots}.json", one, "f" * 64)
    (found,) = join(results, receipts)
    return found


def test_two_green_jobs_are_one_green_receipt_with_the_arms_of_both() -> None:
    found = joined(document("pass", minute=20), document("pass", minute=10))
    told = found.document
    assert (found.name, found.doubts, told["verdict"]) == ("heron.cpu", (), "pass")
    (check,) = told["checks"]
    assert check["detail"] == "passed in 2 jobs"
    assert check["evidence"] == [{"arm": f"{job.id}.draft-3", "log": "x"} for job in (ONE, TWO)]
    assert [(arm["name"], arm["end"]["log"], arm["end"]["exit_code"]) for arm in told["arms"]] == [
        (f"{job.id}.draft-3", f"{job.id}.draft-3.log", 0) for job in (ONE, TWO)
    ]
    assert (told["started"], told["finished"]) == ("2026-09-01T11:10:00Z", "2026-09-01T12:10:00Z")
    assert (told["models"], told["tree"]["libraries"], told["warnings"]) == (
        [{"name": "m"}], [{"path": "l", "sha256": "c"}], ["w"],
    )  # fmt: skip
    assert told["not_run"] == [{"name": "quality", "reason": "no questions"}]
    assert told["merged"][1] == {"job": TWO.id, "receipt": "3-2.json", "sha256": "f" * 64}
    assert found.logs == tuple(
        (path, "draft-3.log", f"{job.id}.draft-3.log") for job, path in ((ONE, "3-1.json"), (TWO, "3-2.json"))
    )


def test_the_worst_job_is_the_one_that_a_check_tells_of() -> None:
    told = joined(document("pass", minute=10), document("fail", minute=20)).document
    assert (told["verdict"], told["checks"][0]["detail"]) == ("fail", f"{TWO.id}: it was fail")


def test_green_jobs_of_two_programs_or_with_one_missing_prove_nothing_together() -> None:
    two = joined(document("pass", minute=10), document("pass", minute=20, binary_sha256="other"))
    assert two.doubts == ("the jobs gated 2 different programs; give each job the same with --binary",)
    assert (two.document["verdict"], two.document["warnings"]) == ("inconclusive", [*two.doubts, "w"])
    alone = joined(document("pass", minute=10), None)
    assert (alone.doubts, alone.document["verdict"]) == ((f"{TWO.id}: it left no receipt",), "inconclusive")
    assert join([JobResult(ONE, Verdict.INCONCLUSIVE, "it left no receipt")], {}) == ()
