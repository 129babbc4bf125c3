"""Strict grading, and what a difference in right answers is worth."""

import pytest

from forkguard.core.gate import Verdict
from forkguard.core.quality import (
    Graded,
    QualityClass,
    Question,
    Score,
    compare_scores,
    grade,
    quality,
    read_questions,
)
from forkguard.errors import UsageProblem

LINES = """\
{"id": "sum", "prompt": "2 + 2?", "answer": "4", "grade": "number"}

{"prompt": "Capital of France?", "answer": "Paris", "grade": "exact", "tokens": 8}
{"prompt": "Yes or no?", "answer": "^(yes|no)$", "grade": "regex"}
"""


def question(kind: str, answer: str) -> Question:
    return Question.model_validate({"id": "q", "prompt": "?", "answer": answer, "grade": kind})


def test_reading() -> None:
    first, second, third = read_questions(LINES, name="q.jsonl")
    assert (first.id, first.answer, first.tokens) == ("sum", "4", 512)
    assert (second.id, second.tokens, third.id) == ("line 3", 8, "line 4")


@pytest.mark.parametrize(
    ("text", "where", "told"),
    [
        ("", "q.jsonl", "holds no questions"),
        ("{", "q.jsonl:1", "this is no JSON"),
        ("[]", "q.jsonl:1", "no question"),
        ('\n{"prompt": "x", "answer": "y", "grade": "vibes"}', "q.jsonl:2", "grade"),
        ('{"prompt": "x", "answer": 4, "grade": "number"}', "q.jsonl:1", "answer"),
        ('{"prompt": "x", "answer": "four", "grade": "number"}', "q.jsonl:1", "'four' is no number"),
        ('{"prompt": "x", "answer": "(", "grade": "regex"}', "q.jsonl:1", "the pattern is none"),
        ('{"prompt": "x", "answer": "y", "grade": "exact", "tokens": 0}', "q.jsonl:1", "tokens"),
        ('{"prompt": "x", "answer": "y", "grade": "exact", "cap": 3}', "q.jsonl:1", "cap"),
        (LINES + '{"id": "sum", "prompt": "x", "answer": "y", "grade": "exact"}', "q.jsonl:5", "used twice"),
    ],
)
def test_what_is_no_question_is_told_with_file_and_line(text: str, where: str, told: str) -> None:
    with pytest.raises(UsageProblem, match=told) as caught:
        read_questions(text, name="q.jsonl")
    assert caught.value.where == where


@pytest.mark.parametrize(
    ("kind", "answer", "text", "truncated", "right"),
    [
        ("exact", "Paris", " Paris\n", False, True),
        ("exact", "Paris", "paris", False, False),
        ("exact", "Paris", "It is Paris", False, False),
        ("number", "72", "48 + 24 = 72.", False, True),
        ("number", "72", "48 + 24 = 72.0", False, True),
        ("number", "1,200", "so 1200 coins", False, True),
        ("number", "1200", "so 1,200 coins", False, True),
        ("number", "72", "72 or perhaps 73", False, False),
        ("number", "72", "no idea", False, False),
        ("number", "72", "48 + 24 = 72", True, False),
        ("number", "72", "#### 72\nNext question: 5", True, True),
        ("number", "72", "72 #### none", False, False),
        ("number", "-3", "it is -3", False, True),
        ("number", "72", "it is 172", False, False),
        ("regex", r"^(yes|no)$", "no", False, True),
        ("regex", r"^(yes|no)$", "no way", False, False),
    ],
)
def test_grading_is_strict(kind: str, answer: str, text: str, *, truncated: bool, right: bool) -> None:
    assert grade(question(kind, answer), text, truncated=truncated) is right


def test_a_labs_hundred_and_sixty_questions_show_nothing() -> None:
    found = compare_scores(
        Score("draft", 57, 100, truncated=52, truncated_right=9), Score("no-draft", 32, 60), pairs=None
    )
    assert (found.kind, found.test.name, round(found.test.p, 2)) == (
        QualityClass.NO_EVIDENCE,
        "two-proportion z",
        0.65,
    )
    assert found.told() == (
        "57 of 100 right (draft, 52 hit the cap, 9 of these right) against 32 of 60 right (no-draft): "
        "two-proportion z, n = 100 and 60, p = 0.65, no evidence of a difference; the sizes are small: "
        "under 23% would mostly go unseen"
    )


def answers(arm: str, right: int, of: int, *, first: int = 0) -> list[Graded]:
    return [
        Graded(arm, f"q{number}", right=number < right, truncated=number == of - 1)
        for number in range(first, of + first)
    ]


def test_faster_and_worse_is_red_and_worse_alone_too() -> None:
    graded = [*answers("no-draft", 90, 100), *answers("draft", 70, 100)]
    check, (found,) = quality(graded, arms=["draft"], baseline="no-draft", faster={"draft"})
    assert (check.verdict, check.kind) == (Verdict.FAIL, QualityClass.FASTER_AND_WORSE)
    assert check.detail.startswith("faster and worse: 70 of 100 right (draft, 1 hit the cap, 0 of these right)")
    assert "McNemar, n = 100, p = 1.9e-06" in check.detail
    assert (found.score.truncated, check.evidence[0]["p"]) == (1, 0.000002)
    check, _ = quality(graded, arms=["draft"], baseline="no-draft")
    assert (check.verdict, check.kind) == (Verdict.FAIL, QualityClass.WORSE)


def test_the_same_better_and_no_evidence_pass() -> None:
    for right, kind in ((90, QualityClass.SAME), (88, QualityClass.NO_EVIDENCE), (99, QualityClass.BETTER)):
        graded = [*answers("no-draft", 90, 100), *answers("draft", right, 100)]
        check, _ = quality(graded, arms=["draft"], baseline="no-draft", faster={"draft"})
        assert (check.verdict, check.kind) == (Verdict.PASS, kind)


def test_five_lost_answers_of_a_hundred_are_no_evidence_and_six_are() -> None:
    for right, kind, p in ((85, QualityClass.NO_EVIDENCE, 0.0625), (84, QualityClass.WORSE, 0.03125)):
        graded = [*answers("no-draft", 90, 100), *answers("draft", right, 100)]
        _, (found,) = quality(graded, arms=["draft"], baseline="no-draft")
        assert (found.kind, found.test.p) == (kind, p)


@pytest.mark.parametrize(
    ("of", "right", "kind", "verdict"),
    [
        (5, 0, QualityClass.TOO_FEW, Verdict.INCONCLUSIVE),  # even 0 of 5 is p = 0.06
        (6, 0, QualityClass.FASTER_AND_WORSE, Verdict.FAIL),
        (6, 1, QualityClass.NO_EVIDENCE, Verdict.PASS),
        (5, 5, QualityClass.SAME, Verdict.PASS),
        (1, 0, QualityClass.TOO_FEW, Verdict.INCONCLUSIVE),
    ],
)
def test_so_few_questions_that_none_could_be_red_are_no_pass_of_a_worse_arm(
    of: int, right: int, kind: QualityClass, verdict: Verdict
) -> None:
    graded = [*answers("no-draft", of, of), *answers("draft", right, of)]
    check, _ = quality(graded, arms=["draft"], baseline="no-draft", faster={"draft"})
    assert (check.kind, check.verdict) == (kind, verdict)
    if kind is QualityClass.TOO_FEW:
        assert check.detail.startswith(f"{right} of {of} right (draft")
        assert check.detail.endswith("no number of wrong answers could show a difference: ask at least 6 questions")


def test_a_better_arm_needs_no_number_of_questions() -> None:
    check, _ = quality([*answers("no-draft", 1, 3), *answers("draft", 3, 3)], arms=["draft"], baseline="no-draft")
    assert (check.kind, check.verdict) == (QualityClass.NO_EVIDENCE, Verdict.PASS)


def test_as_many_right_of_few_is_no_worse_arm_even_with_other_questions_right() -> None:
    graded = [
        Graded(arm, id_, right=id_ == good, truncated=False)
        for arm, good in (("no-draft", "a"), ("draft", "b"))
        for id_ in "abc"
    ]
    check, (found,) = quality(graded, arms=["draft"], baseline="no-draft")
    assert (check.verdict, found.kind) == (Verdict.PASS, QualityClass.NO_EVIDENCE)


def test_other_questions_are_compared_unpaired() -> None:
    graded = [*answers("no-draft", 32, 60), *answers("draft", 57, 100)]
    _, (found,) = quality(graded, arms=["draft"], baseline="no-draft")
    assert (found.test.name, round(found.test.p, 2)) == ("two-proportion z", 0.65)


@pytest.mark.parametrize(
    ("graded", "lost", "kind", "told"),
    [
        ([], (), QualityClass.NOT_MEASURED, "no answers of draft"),
        (answers("no-draft", 3, 9), (), QualityClass.NOT_MEASURED, "no answers of draft"),
        (answers("draft", 3, 9), (), QualityClass.NOT_MEASURED, "no answers of draft"),
        ([*answers("no-draft", 3, 9), *answers("draft", 3, 9)], ("draft: hang",), QualityClass.NOT_MEASURED, "hang"),
        ([*answers("no-draft", 0, 9), *answers("draft", 0, 9)], (), QualityClass.NO_SIGNAL, "shows nothing"),
    ],
)
def test_what_shows_nothing_is_inconclusive(
    graded: list[Graded], lost: tuple[str, ...], kind: QualityClass, told: str
) -> None:
    check, _ = quality(graded, arms=["draft"], baseline="no-draft", lost=lost)
    assert (check.verdict, check.kind) == (Verdict.INCONCLUSIVE, kind)
    assert told in check.detail


def test_the_evidence_holds_both_arms_figures() -> None:
    graded = [*answers("no-draft", 32, 60), *answers("draft", 57, 100)]
    check, _ = quality(graded, arms=["draft"], baseline="no-draft", faster={"draft"})
    (row,) = check.evidence
    assert {**row, "p": round(float(str(row["p"])), 2), "detectable": round(float(str(row["detectable"])), 2)} == {
        "arm": "draft", "class": "no-evidence", "right": 57, "of": 100, "truncated": 1, "truncated_right": 0,
        "baseline": "no-draft", "baseline_right": 32, "baseline_of": 60, "baseline_truncated": 1,
        "test": "two-proportion z", "p": 0.65, "detectable": 0.23, "faster": True,
    }  # fmt: skip


def test_of_several_arms_the_worst_decides_and_all_are_told() -> None:
    base = answers("no-draft", 90, 100)
    fine, bad = answers("d-1", 90, 100), answers("d-3", 70, 100)
    check, found = quality([*base, *fine, *bad], arms=["d-1", "d-3"], baseline="no-draft", faster={"d-1"})
    assert (check.kind, check.detail) == (QualityClass.WORSE, found[1].told())
    unsure = answers("d-3", 88, 100)
    check, found = quality([*base, *fine, *unsure], arms=["d-1", "d-3"], baseline="no-draft")
    assert (check.kind, check.detail) == (QualityClass.NO_EVIDENCE, f"{found[0].told()}; {found[1].told()}")
    assert found[0].told().endswith("McNemar, n = 100, p = 1")


def test_an_arm_that_alone_answered_right_shows_something() -> None:
    check, _ = quality([*answers("no-draft", 0, 9), *answers("draft", 3, 9)], arms=["draft"], baseline="no-draft")
    assert (check.verdict, check.kind) == (Verdict.PASS, QualityClass.NO_EVIDENCE)
    nobody, _ = quality([], arms=[], baseline="no-draft")
    assert (nobody.verdict, nobody.detail) == (Verdict.INCONCLUSIVE, "no arm with a draft answered")
