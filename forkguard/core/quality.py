"""Questions with known answers: read, graded strictly, and compared between arms. `Faster and worse` is red."""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from forkguard.core.gate import Check, CheckName, Verdict
from forkguard.core.statistics import Test, mcnemar, two_proportions
from forkguard.errors import UsageProblem

_P = 0.05
_SMALL = 0.05
_FEWEST = 6
"""Of fewer questions not even all lost ones are p < 0.05: a test that cannot be red shows nothing."""
_TOKENS = 512
_MARK = "####"
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")


class Question(BaseModel):
    """One line of the file: a prompt, its answer, and how an answer is held against it.

    `exact`: the text without the blanks around it is the answer. `number`: the number behind the last `####`,
    else the last number of a text that came to its end, has the answer's value. `regex`: the pattern `answer`
    is found in the text. `tokens` is the cap.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    id: Annotated[str, Field(min_length=1)]
    prompt: Annotated[str, Field(min_length=1)]
    answer: Annotated[str, Field(min_length=1)]
    grade: Literal["exact", "number", "regex"]
    tokens: Annotated[int, Field(gt=0)] = _TOKENS


@dataclass(frozen=True, slots=True)
class Graded:
    """One answer of one arm; `truncated` says that it hit the cap, so the model had not finished."""

    arm: str
    question: str
    right: bool
    truncated: bool
    text: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """What an arm got right: `right` of `of`; of its `truncated` answers `truncated_right` were right even so."""

    arm: str
    right: int
    of: int
    truncated: int = 0
    truncated_right: int = 0

    @property
    def share(self) -> float:
        """The share that was right."""
        return self.right / self.of

    def told(self) -> str:
        """In words, the truncated ones apart."""
        cut = f", {self.truncated} hit the cap, {self.truncated_right} of these right" if self.truncated else ""
        return f"{self.right} of {self.of} right ({self.arm}{cut})"


class QualityClass(StrEnum):
    """What the check came to; the first that holds, in this order."""

    FASTER_AND_WORSE = "faster-and-worse"
    WORSE = "worse"
    NOT_MEASURED = "not-measured"
    NO_SIGNAL = "no-signal"
    TOO_FEW = "too-few-questions"
    NO_EVIDENCE = "no-evidence"
    SAME = "same"
    BETTER = "better"


@dataclass(frozen=True, slots=True)
class QualityDifference:
    """An arm against the baseline. `test` says with which n and p; `kind` what that comes to."""

    score: Score
    baseline: Score
    test: Test
    kind: QualityClass

    def told(self) -> str:
        """In words: both counts, n, p, and what a test of this size could have seen."""
        sizes = (
            f"n = {self.score.of}"
            if self.score.of == self.baseline.of
            else f"n = {self.score.of} and {self.baseline.of}"
        )
        told = f"{self.score.told()} against {self.baseline.told()}: {self.test.name}, {sizes}, p = {self.test.p:.2g}"
        if self.kind is QualityClass.TOO_FEW:
            few = "no number of wrong answers could show a difference"
            return f"{told}; {few}: ask at least {_FEWEST} questions"
        if self.kind is not QualityClass.NO_EVIDENCE:
            return told
        small = "; the sizes are small" if self.test.detectable > _SMALL else ""
        return f"{told}, no evidence of a difference{small}: under {self.test.detectable:.0%} would mostly go unseen"


def read_questions(text: str, *, name: str) -> tuple[Question, ...]:
    """The questions of a JSONL file; empty lines are skipped, and a line without `id` is named by its number.

    Raises `UsageProblem` naming file and line for anything else, and for an id that is used twice.
    """
    found: dict[str, Question] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            question = _question(line, where=f"{name}:{number}", number=number)
            if question.id in found:
                raise UsageProblem(
                    f"the id {question.id!r} is used twice", where=f"{name}:{number}", hint="rename one"
                )
            found[question.id] = question
    if not found:
        raise UsageProblem("this file holds no questions", where=name, hint=_HINT)
    return tuple(found.values())


_HINT = 'write one JSON object a line: {"prompt": "...", "answer": "...", "grade": "exact" | "number" | "regex"}'


def _question(line: str, *, where: str, number: int) -> Question:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageProblem(f"no question: this is no JSON: {error}", where=where, hint=_HINT) from error
    if not isinstance(values, dict):
        raise UsageProblem("no question: this is no JSON object", where=where, hint=_HINT)
    try:
        question = Question.model_validate({"id": f"line {number}", **values})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise UsageProblem(f"no question: {key}: {first['msg']}", where=where, hint=_HINT) from error
    if question.grade == "regex":
        try:
            re.compile(question.answer)
        except re.error as error:
            raise UsageProblem(f"the pattern is none: {error}", where=where, hint="correct the answer") from error
    if question.grade == "number" and _value(question.answer.strip()) is None:
        raise UsageProblem(f"{question.answer!r} is no number", where=where, hint="correct the answer")
    return question


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text, however long that takes."""
    return re.search(pattern, text) is not None


def grade(question: Question, text: str, *, truncated: bool, search: Callable[[str, str], bool] = matches) -> bool:
    """Whether the text answers the question, strictly as `Question` says; `search` holds a pattern against a text."""
    if question.grade == "exact":
        return text.strip() == question.answer.strip()
    if question.grade == "regex":
        return search(question.answer, text)
    return _final_number(text, truncated=truncated) == _value(question.answer.strip())


def _final_number(text: str, *, truncated: bool) -> Decimal | None:
    _, mark, behind = text.rpartition(_MARK)
    if mark:
        first = _NUMBER.search(behind)
        return _value(first[0]) if first else None
    numbers = _NUMBER.findall(text)
    return _value(numbers[-1]) if numbers and not truncated else None


def _value(number: str) -> Decimal | None:
    if not _NUMBER.fullmatch(number):
        return None
    try:
        return Decimal(number.replace(",", ""))
    except InvalidOperation:  # pragma: no cover  (the pattern admits only decimals)
        return None


def scores(graded: Sequence[Graded]) -> dict[str, Score]:
    """The score of each arm, in the order of the arms."""
    found: dict[str, Score] = {}
    for arm in dict.fromkeys(one.arm for one in graded):
        own = [one for one in graded if one.arm == arm]
        cut = [one for one in own if one.truncated]
        found[arm] = Score(
            arm, sum(one.right for one in own), len(own), len(cut), sum(one.right for one in cut)
        )  # fmt: skip
    return found


def compare_scores(score: Score, baseline: Score, *, pairs: Sequence[tuple[bool, bool]] | None) -> QualityDifference:
    """Compare by McNemar's test where both answered the same questions (`pairs`: right here, right in the
    baseline), else by that of two proportions."""
    if pairs is not None:
        ours, theirs = sum(one and not other for one, other in pairs), sum(other and not one for one, other in pairs)
        test = mcnemar(ours, theirs, len(pairs))
        same = not ours and not theirs
    else:
        test = two_proportions(score.right, score.of, baseline.right, baseline.of)
        same = False
    fewer = score.share < baseline.share
    kind = QualityClass.NO_EVIDENCE
    if same:
        kind = QualityClass.SAME
    elif test.p < _P:
        kind = QualityClass.WORSE if fewer else QualityClass.BETTER
    elif fewer and min(score.of, baseline.of) < _FEWEST:
        kind = QualityClass.TOO_FEW
    return QualityDifference(score, baseline, test, kind)


def compare_arms(graded: Sequence[Graded], baseline: str) -> tuple[QualityDifference, ...]:
    """Every other arm against the baseline; nothing where the baseline answered no question."""
    found = scores(graded)
    answers: dict[str, dict[str, bool]] = {arm: {} for arm in found}
    for one in graded:
        answers[one.arm][one.question] = one.right
    theirs = answers.get(baseline, {})
    return tuple(
        compare_scores(found[arm], found[baseline], pairs=_pairs(ours, theirs))
        for arm, ours in answers.items()
        if arm != baseline and theirs
    )


def _pairs(ours: Mapping[str, bool], theirs: Mapping[str, bool]) -> list[tuple[bool, bool]] | None:
    return [(right, theirs[name]) for name, right in ours.items()] if ours.keys() == theirs.keys() else None


def quality(
    graded: Sequence[Graded],
    *,
    arms: Sequence[str],
    baseline: str,
    lost: Sequence[str] = (),
    faster: Collection[str] = (),
) -> tuple[Check, tuple[QualityDifference, ...]]:
    """The check, and what it rests on.

    `arms` are those that were to be compared, `lost` says what could not be asked, `faster` names the arms
    that are faster than the baseline.
    """
    found = compare_arms(graded, baseline)
    kind, verdict, told = _decide(found, arms=arms, lost=lost, faster=faster)
    evidence = tuple(_row(one, faster=one.score.arm in faster) for one in found)
    return Check(CheckName.QUALITY, verdict, kind, told, evidence), found


def _decide(
    found: Sequence[QualityDifference], *, arms: Sequence[str], lost: Sequence[str], faster: Collection[str]
) -> tuple[QualityClass, Verdict, str]:
    worse = [one for one in found if one.kind is QualityClass.WORSE]
    quick = [one for one in worse if one.score.arm in faster]
    if quick:
        return QualityClass.FASTER_AND_WORSE, Verdict.FAIL, f"faster and worse: {quick[0].told()}"
    if worse:
        return QualityClass.WORSE, Verdict.FAIL, worse[0].told()
    missing = [arm for arm in arms if arm not in {one.score.arm for one in found}]
    if lost or missing or not found:
        why = lost[0] if lost else f"no answers of {missing[0]}" if missing else "no arm with a draft answered"
        return QualityClass.NOT_MEASURED, Verdict.INCONCLUSIVE, why
    if not any(one.baseline.right or one.score.right for one in found):
        return QualityClass.NO_SIGNAL, Verdict.INCONCLUSIVE, "no arm answered one question right, which shows nothing"
    few = next((one for one in found if one.kind is QualityClass.TOO_FEW), None)
    if few is not None:
        return QualityClass.TOO_FEW, Verdict.INCONCLUSIVE, few.told()
    order = (QualityClass.NO_EVIDENCE, QualityClass.SAME, QualityClass.BETTER)
    kind = next(kind for kind in order if any(one.kind is kind for one in found))
    return kind, Verdict.PASS, "; ".join(one.told() for one in found)


def _row(one: QualityDifference, *, faster: bool) -> Mapping[str, object]:
    return {
        "arm": one.score.arm,
        "class": str(one.kind),
        "right": one.score.right,
        "of": one.score.of,
        "truncated": one.score.truncated,
        "truncated_right": one.score.truncated_right,
        "baseline": one.baseline.arm,
        "baseline_right": one.baseline.right,
        "baseline_of": one.baseline.of,
        "baseline_truncated": one.baseline.truncated,
        "test": one.test.name,
        "p": round(one.test.p, 6),
        "detectable": round(one.test.detectable, 4),
        "faster": faster,
    }
