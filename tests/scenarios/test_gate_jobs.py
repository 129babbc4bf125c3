"""`forkguard gate --matrix`, `--job` and `--merge`: a gate over several machines, and one verdict of it."""

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from forkguard.adapters.signing import SshSigner
from tests.support.commands import Outcome, forkguard
from tests.support.receipts import Shelf
from tests.support.scripted_server import Behaviour, write_server
from tests.support.signers import allow, make_key

SCHEMAS = Path(__file__).parents[2] / "docs/schemas"
MAP = """[upstream]
remote = "up"
ref = "up/master"
[defaults]
archs = ["heron", "egret"]
[arch.heron]
enum = "LLM_ARCH_HERON"
[arch.egret]
enum = "LLM_ARCH_EGRET"
[arch.egret.gate]
widths = [5]
[gate]
profiles = ["cuda", "hip"]
widths = [3, 7]
slots = [1, 2]
target = "target.gguf"
draft = "draft.gguf"
"""
IDS = [
    *(f"heron.{profile}.draft-{arm}" for profile in ("cuda", "hip") for arm in ("3", "3-slots-2", "7", "7-slots-2")),
    *(f"egret.{profile}.draft-{arm}" for profile in ("cuda", "hip") for arm in ("5", "5-slots-2")),
]


@pytest.fixture
def desk(shelf: Shelf) -> Shelf:
    (shelf.root / "upstream-map.toml").write_text(MAP)
    return shelf


def fits(outcome: Outcome, schema: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(outcome.out)
    jsonschema.validate(document, json.loads((SCHEMAS / f"{schema}.json").read_text()))
    return document


def merged(desk: Shelf, *, status: int) -> dict[str, Any]:
    outcome = forkguard("gate", "--merge", "artifacts", "--format", "json", cwd=desk.root)
    assert outcome.status == status, outcome.out + outcome.err
    return fits(outcome, "gate-merge")


def artifact(desk: Shelf, job: str | None, *, red: bool = False, **changes: Any) -> Path:
    """What one machine of the matrix leaves: a folder of receipts of its own."""
    shutil.rmtree(desk.store.root, ignore_errors=True)
    changes = {"arch": job.partition(".")[0] if job else "heron", **changes}
    path = desk.red(job=job, **changes) if red else desk.gate(job=job, **changes)
    number = len(list((desk.root / "artifacts").glob("*")))
    place = desk.root / "artifacts" / f"gate-{number}"
    shutil.copytree(desk.store.root, place)
    return place / path.parent.name / "receipt.json"


# -- the matrix ------------------------------------------------------------------------------------------


def test_the_matrix_is_one_line_of_jobs_with_stable_ids(desk: Shelf) -> None:
    outcome = forkguard("gate", "--matrix", "json", cwd=desk.root)
    assert (outcome.status, outcome.err, outcome.out.count("\n")) == (0, "", 1)
    document = fits(outcome, "matrix")
    assert [job["id"] for job in document["jobs"]] == IDS
    assert document["jobs"][3] == {
        "id": "heron.cuda.draft-7-slots-2", "arch": "heron", "profile": "cuda", "arm": "draft-7-slots-2",
        "width": 7, "slots": 2, "draft_file": None, "target_file": None,
    }  # fmt: skip
    assert forkguard("gate", "--matrix", "json", cwd=desk.root).out == outcome.out


def test_an_id_may_be_the_name_of_a_file(desk: Shelf) -> None:
    text = MAP.replace('"heron", "egret"', '"he/ron"').replace("[arch.heron]", '[arch."he/ron"]')
    (desk.root / "upstream-map.toml").write_text(text)
    jobs = json.loads(forkguard("gate", "--matrix", "json", cwd=desk.root).out)["jobs"]
    assert {(job["id"].split(".")[0], job["arch"]) for job in jobs} == {("he_ron", "he/ron")}


def test_a_job_runs_its_own_arm_and_is_named_in_the_receipt(desk: Shelf) -> None:
    (desk.root / "prompts.toml").write_text('[[prompt]]\nname = "one"\ntext = "One?"\ntokens = 9\n')
    with (desk.root / "upstream-map.toml").open("a") as file:
        file.write('prompts = "prompts.toml"\n')
    server = write_server(desk.root / "server", Behaviour())
    words = ("--job", "heron.cuda.draft-7", "--binary", str(server), "--format", "json")
    outcome = forkguard("gate", *words, cwd=desk.root)
    assert outcome.status == 0, outcome.err + outcome.out
    receipt = json.loads(outcome.out)
    assert (receipt["job"], receipt["arch"]) == ("heron.cuda.draft-7", "heron")
    assert {arm["width"] for arm in receipt["arms"]} == {None, 7}
    assert forkguard("verify", server, "--arch", "heron", cwd=desk.root).status == 0


def test_draft_and_target_files_are_axes_of_the_matrix(desk: Shelf) -> None:
    text = MAP.replace(
        'draft = "draft.gguf"', 'drafts = ["f16.gguf", {file = "q8.gguf", spec_type = "draft-eagle3"}]'
    )
    (desk.root / "upstream-map.toml").write_text(
        text.replace('"heron", "egret"', '"egret"').replace("[1, 2]", "[1]").replace('"cuda", "hip"', '"hip"')
        + 'targets = ["big.gguf"]\nprompts = "prompts.toml"\n'
    )
    jobs = fits(forkguard("gate", "--matrix", "json", cwd=desk.root), "matrix")["jobs"]
    assert [job["id"] for job in jobs] == [
        f"egret.hip.target-{target}-draft-{draft}-5" for target in ("target", "big") for draft in ("f16", "q8")
    ]
    assert (jobs[3]["draft_file"], jobs[3]["target_file"], jobs[3]["arm"]) == ("q8", "big", "target-big-draft-q8-5")
    (desk.root / "prompts.toml").write_text('[[prompt]]\nname = "one"\ntext = "One?"\ntokens = 9\n')
    for name in ("big", "f16", "q8"):
        (desk.root / f"{name}.gguf").write_bytes((desk.root / "draft.gguf").read_bytes())
    server = write_server(desk.root / "server", Behaviour())
    outcome = forkguard("gate", "--job", jobs[3]["id"], "--binary", server, "--format", "json", cwd=desk.root)
    assert outcome.status == 0, outcome.err
    receipt = json.loads(outcome.out)
    assert [arm["name"] for arm in receipt["arms"] if arm["width"] and not arm["verbose"]] == [jobs[3]["arm"]]
    assert [model["name"] for model in receipt["models"]] == ["big.gguf", "q8.gguf"]


@pytest.mark.parametrize(
    "words",
    [("--job", "nobody"), ("--job", IDS[0], "--arch", "heron"), ("--job", IDS[0], "--width", "3"),
     ("--job", IDS[0], "--profile", "cpu"), ("--matrix", "json", "--merge", "."), ("--matrix", "yaml"), ("--adopt",)],
)  # fmt: skip
def test_wrong_use_exits_2(desk: Shelf, words: tuple[str, ...]) -> None:
    outcome = forkguard("gate", *words, cwd=desk.root)
    assert (outcome.status, outcome.out) == (2, "")


# -- the verdict -----------------------------------------------------------------------------------------


def test_all_jobs_green(desk: Shelf) -> None:
    for job in IDS:
        artifact(desk, job)
    document = merged(desk, status=0)
    assert (document["verdict"], document["commit"], document["problems"]) == ("pass", "a" * 40, [])
    assert {job["verdict"] for job in document["jobs"]} == {"pass"}
    text = forkguard("gate", "--merge", "artifacts", cwd=desk.root)
    assert text.status == 0
    assert text.out.splitlines()[0] == "gate GREEN: 12 of 12 jobs passed on commit aaaaaaaaaaaa"


def test_one_job_red(desk: Shelf) -> None:
    for job in IDS[:-1]:
        artifact(desk, job)
    path = artifact(desk, IDS[-1], red=True)
    document = merged(desk, status=1)
    assert (document["verdict"], document["jobs"][-1]["detail"]) == ("fail", "crash: it aborted")
    assert document["jobs"][-1]["receipt"] == str(path.relative_to(desk.root / "artifacts"))
    text = forkguard("gate", "--merge", "artifacts", cwd=desk.root).out
    assert text.splitlines()[-1] == f"next: forkguard gate --job {IDS[-1]}"


def test_a_job_that_left_nothing_is_never_green(desk: Shelf) -> None:
    for job in IDS[1:]:
        artifact(desk, job)
    document = merged(desk, status=3)
    assert (document["verdict"], document["jobs"][0]["detail"]) == ("inconclusive", "it left no receipt")
    assert document["jobs"][0]["receipt"] is None


def test_jobs_on_different_commits_prove_nothing_together(desk: Shelf) -> None:
    for job in IDS[1:]:
        artifact(desk, job)
    artifact(desk, IDS[0], tree={**desk.document()["tree"], "commit": "b" * 40})
    document = merged(desk, status=3)
    assert (document["one_commit"], document["commit"]) == (False, None)
    assert "different commits" in forkguard("gate", "--merge", "artifacts", cwd=desk.root).out


def test_the_newest_receipt_of_a_job_counts(desk: Shelf) -> None:
    for job in IDS:
        artifact(desk, job)
    artifact(desk, IDS[0], red=True, started="2026-08-01T00:00:00+00:00", finished="2026-08-01T00:01:00+00:00")
    assert merged(desk, status=0)["verdict"] == "pass"
    artifact(desk, IDS[0], red=True, started="2026-09-02T00:00:00+00:00", finished="2026-09-02T00:01:00+00:00")
    assert merged(desk, status=1)["verdict"] == "fail"


def test_receipts_of_no_job_are_said_and_not_counted(desk: Shelf) -> None:
    for job in IDS:
        artifact(desk, job)
    artifact(desk, None, red=True)
    artifact(desk, "heron.metal.draft-3", red=True)
    document = merged(desk, status=0)
    assert len(document["ignored"]) == 2
    assert document["ignored"][1].endswith("it is of job heron.metal.draft-3, which the matrix does not have")


@pytest.mark.parametrize("damage", ["receipt", "sums", "log", "rubbish"])
def test_a_damaged_receipt_is_never_green(desk: Shelf, damage: str) -> None:
    paths = [artifact(desk, job) for job in IDS]
    if damage == "receipt":
        paths[0].write_text(paths[0].read_text() + " ")
    elif damage == "sums":
        paths[0].with_name("SHA256SUMS").unlink()
    elif damage == "log":
        paths[0].with_name("draft-3.log").write_text("another")
    else:
        paths[0].write_bytes(b"\x00" * 10)
    document = merged(desk, status=3)
    assert document["jobs"][0]["detail"] == "it left no receipt"
    assert len(document["problems"]) == 1
    assert document["problems"][0].startswith("gate-0/")


def test_a_merge_asks_for_the_signatures_that_the_map_names(desk: Shelf) -> None:
    keys = desk.root / "keys"
    ada = make_key(keys, "ada")
    allow(desk.root, ada=ada)
    with (desk.root / "upstream-map.toml").open("a") as file:
        file.write('allowed_signers = "allowed_signers"\n')
    for job in IDS[1:]:
        artifact(desk, job, key=SshSigner(ada))
    artifact(desk, IDS[0])
    assert merged(desk, status=3)["problems"][0].endswith("it is not signed")
    artifact(desk, IDS[0], key=SshSigner(ada))
    shutil.rmtree(desk.root / "artifacts" / "gate-11")
    assert merged(desk, status=0)["verdict"] == "pass"


def real_jobs(desk: Shelf, *programs: Behaviour) -> Path:
    """What two machines leave of one program (or two): a receipts folder each; the last program."""
    text = MAP.replace('"heron", "egret"', '"egret"').replace("[1, 2]", "[1]").replace('"cuda", "hip"', '"hip"')
    text = text.replace("widths = [5]", "widths = [2, 5]") + 'prompts = "prompts.toml"\n'
    (desk.root / "upstream-map.toml").write_text(text)
    (desk.root / "prompts.toml").write_text('[[prompt]]\nname = "one"\ntext = "One?"\ntokens = 9\n')
    server = desk.root / "none"
    for number, width in enumerate((2, 5)):
        server = write_server(desk.root / "server", programs[min(number, len(programs) - 1)])
        forkguard("gate", "--job", f"egret.hip.draft-{width}", "--binary", server, cwd=desk.root)
        (desk.root / ".forkguard/receipts").rename(desk.root / f"artifacts-{number}")
    (desk.root / "artifacts").mkdir()
    for number in range(2):
        (desk.root / f"artifacts-{number}").rename(desk.root / "artifacts" / str(number))
    return server


def test_the_joined_receipt_covers_the_program_as_any_other(desk: Shelf) -> None:
    server = real_jobs(desk, Behaviour())
    outcome = forkguard("gate", "--merge", "artifacts", "--adopt", "--format", "json", cwd=desk.root)
    document = fits(outcome, "gate-merge")
    assert (outcome.status, document["verdict"], len(document["adopted"])) == (0, "pass", 1), outcome.err
    receipt = json.loads(Path(document["adopted"][0]).read_text())
    jsonschema.validate(receipt, json.loads((SCHEMAS / "gate.json").read_text()))
    assert (receipt["job"], receipt["verdict"], {one["detail"] for one in receipt["checks"]}) == (
        None, "pass", {"passed in 2 jobs"},
    )  # fmt: skip
    assert [one["job"] for one in receipt["merged"]] == ["egret.hip.draft-2", "egret.hip.draft-5"]
    assert {log["path"] for log in receipt["logs"]} >= {
        "egret.hip.draft-2.draft-2.log", "egret.hip.draft-5.draft-5.log",
    }  # fmt: skip
    for width in ("2", "5"):
        flags = f"-c 4096 -np 1 --spec-type draft-dspark --spec-draft-n-max {width}"
        assert forkguard("verify", server, "--arch", "egret", "--flags", flags, cwd=desk.root).status == 0
    Path(document["adopted"][0]).with_name("egret.hip.draft-5.draft-5.log").write_text("another")
    assert forkguard("verify", server, "--arch", "egret", cwd=desk.root).status == 1


@pytest.mark.parametrize(
    ("second", "status", "told"),
    [
        (Behaviour(answers=("abort",), only_drafting=True), 1, "egret.hip.draft-5: draft-5: abort"),
        (Behaviour(drafted=11), 3, "2 different programs"),
        (None, 3, "egret.hip.draft-5: it left no receipt"),
    ],
)
def test_a_joined_receipt_is_no_better_than_its_jobs(
    desk: Shelf, second: Behaviour | None, status: int, told: str
) -> None:
    server = real_jobs(desk, Behaviour(), *([second] if second is not None else []))
    if second is None:
        shutil.rmtree(desk.root / "artifacts" / "1")
    outcome = forkguard("gate", "--merge", "artifacts", "--adopt", "--format", "json", cwd=desk.root)
    assert outcome.status == status
    (path,) = json.loads(outcome.out)["adopted"]
    receipt = json.loads(Path(path).read_text())
    assert receipt["verdict"] == ("fail" if status == 1 else "inconclusive")
    assert told in json.dumps([receipt["warnings"], receipt["checks"]])
    refused = forkguard("verify", server, "--arch", "egret", "--max-age", "any", cwd=desk.root)
    assert refused.status == 1


def test_no_folder_could_not_be_joined(desk: Shelf) -> None:
    outcome = forkguard("gate", "--merge", "nowhere", cwd=desk.root)
    assert (outcome.status, outcome.told()[0]) == (3, "there is no folder of receipts")
