"""`forkguard gate --matrix`, `--job` and `--merge`: the gate in the hands of a CI system."""

import json
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from forkguard.adapters.mapstore import chosen_map, read_map
from forkguard.adapters.receipts import ReceiptStore
from forkguard.adapters.signing import SshSigner, SshVerifier
from forkguard.cli import clock
from forkguard.cli import compose_gate as wiring
from forkguard.cli.compose import STATE_NAME
from forkguard.cli.gating import GateQuestion
from forkguard.cli.options import deliver
from forkguard.core.build_profiles import DEFAULT_PROFILE
from forkguard.core.gate import Verdict
from forkguard.core.gateoptions import gate_table, named_drafts, named_targets
from forkguard.core.joined import JobReceipt, join
from forkguard.core.map_models import UpstreamMap
from forkguard.core.matrix import Axes, Found, Job, MergeReport, find_job, merge, plan_jobs
from forkguard.core.receipts import (
    RECEIPT_NAME,
    SIGNATURE_NAME,
    SUMS_NAME,
    BadReceipt,
    digest,
    read_receipt,
    read_sums,
)
from forkguard.errors import CouldNotWork, ExitCode, UsageProblem
from forkguard.reports import matrix as report

EXITS = {
    Verdict.PASS: ExitCode.CLEAN,
    Verdict.FAIL: ExitCode.FINDING,
    Verdict.INCONCLUSIVE: ExitCode.COULD_NOT,
}


def map_jobs(map_: UpstreamMap) -> tuple[Job, ...]:
    """The jobs of the map: of `[defaults] archs`, else all of its archs, with `[gate] profiles`, widths, slots."""
    archs = map_.watched
    if not archs:
        raise UsageProblem("the map has no arch", hint="add [arch.NAME] to it: forkguard init writes one")
    return plan_jobs([_axes(map_, arch) for arch in archs])


def job_question(map_: UpstreamMap, name: str, asked: GateQuestion) -> GateQuestion:
    """What the job of that id asks, beside what is `asked` of every job."""
    job = find_job(map_jobs(map_), name)
    return replace(
        asked, arch=job.arch, widths=(job.width,), job=job.id, profile=job.profile, slots=(job.slots,),
        draft=job.draft, target=job.target,
    )  # fmt: skip


def _axes(map_: UpstreamMap, arch: str) -> Axes:
    table = gate_table(map_, arch)
    profiles = tuple(dict.fromkeys(table.profiles)) or (table.profile or DEFAULT_PROFILE,)
    return Axes(
        arch, profiles, wiring.choose_widths(table, ()), wiring.choose_slots(table, ()),
        tuple(named_drafts(table)) or ("",), tuple(named_targets(table)) or ("",),
    )  # fmt: skip


def merge_folder(map_: UpstreamMap, folder: Path, *, root: Path) -> MergeReport:
    """Join the receipts that lie anywhere below `folder`; `root` is the map's. Raises `CouldNotWork` without it."""
    if not folder.is_dir():
        raise CouldNotWork(
            "there is no folder of receipts", where=str(folder), hint="name the one with the artifacts"
        )
    signers = map_.gate.allowed_signers
    verifier = SshVerifier(root / Path(signers).expanduser()) if signers is not None else None
    return merge(map_jobs(map_), [_read(path, folder, verifier) for path in sorted(_receipts(folder))])


def _receipts(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder, followlinks=False):
        if RECEIPT_NAME in names and stat.S_ISREG((Path(place) / RECEIPT_NAME).lstat().st_mode):
            yield Path(place) / RECEIPT_NAME


def _read(path: Path, folder: Path, verifier: SshVerifier | None) -> Found:
    """One receipt, held to its sums, its logs and (where signers are named) its signature."""
    shown = str(path.relative_to(folder))
    store = ReceiptStore(path.parent.parent)
    name = f"{path.parent.name}/{RECEIPT_NAME}"
    try:
        content = store.receipt(name) or b""
        listed = read_sums((store.beside(name, SUMS_NAME) or b"").decode("utf-8", "replace"))
        if listed.get(RECEIPT_NAME) != digest(content):
            return Found(shown, None, f"it is not what its {SUMS_NAME} says")
        receipt = read_receipt(content)
        bad = next((log for log in receipt.logs if store.hash_log(name, log.path) != log.sha256), None)
        if bad is not None:
            return Found(shown, None, f"its log {bad.path} was edited or is gone")
        if verifier is not None:
            signature = store.beside(name, SIGNATURE_NAME)
            if signature is None:
                return Found(shown, None, "it is not signed")
            verifier.signer(content, signature)
    except BadReceipt as error:
        return Found(shown, None, str(error))
    return Found(shown, receipt)


def adopt_receipts(map_: UpstreamMap, folder: Path, report_: MergeReport, *, root: Path) -> MergeReport:
    """Write a receipt for each arch and profile of the merged jobs into the map's own chain, signed as gates are."""
    receipts = {}
    for result in report_.results:
        if result.path is not None and result.receipt is not None:
            content = (folder / result.path).read_bytes()
            receipts[result.job.id] = JobReceipt(result.job, result.path, json.loads(content), digest(content))
    key = map_.gate.sign_key
    signer = SshSigner(root / Path(key).expanduser()) if key is not None else None
    if signer is not None:
        signer.check()
    store = ReceiptStore(root / STATE_NAME / "receipts")
    adopted = []
    try:
        found = join(report_.results, receipts)
    except (KeyError, TypeError, AttributeError) as error:
        raise CouldNotWork(
            f"a receipt lacks what joining needs: {error!r}", where=str(folder),
            hint="gate these jobs again with this version of forkguard",
        ) from error  # fmt: skip
    for joined in found:
        place = store.make_folder(clock.now(), name=joined.name)
        for path, log, name in joined.logs:
            shutil.copyfile((folder / path).with_name(log), place / name, follow_symlinks=False)
        sign = signer.sign if signer is not None else None
        adopted.append(str(store.write(place, json.dumps(joined.document), sign=sign)))
    missing = {f"{one.job.id}: {one.detail}" for one in report_.results}
    doubts = [f"{one.name}: {doubt}" for one in found for doubt in one.doubts if doubt not in missing]
    return replace(report_, adopted=tuple(adopted), problems=(*report_.problems, *doubts))


def tell_jobs(
    *, matrix: bool, merged: Path | None, adopt: bool, map_file: Path | None, format_: str, output: Path | None
) -> int:
    """Print the matrix, or join the receipts below `merged`; the exit status. Needs the map and no clone."""
    map_path = chosen_map(map_file)
    map_ = read_map(map_path)
    if matrix and merged is not None:
        raise UsageProblem("--matrix plans jobs and --merge joins what they left", hint="give one of the two")
    if adopt and merged is None:
        raise UsageProblem(
            "--adopt writes the receipts that --merge joins", hint="forkguard gate --merge DIR --adopt"
        )
    if merged is None:
        deliver(report.matrix_json(map_jobs(map_)), output=output)
        return int(ExitCode.CLEAN)
    result = merge_folder(map_, merged.absolute(), root=map_path.parent)
    if adopt:
        result = adopt_receipts(map_, merged.absolute(), result, root=map_path.parent)
    deliver(report.merge_json(result) if format_ == "json" else report.merge_text(result), output=output)
    return int(EXITS[result.verdict])
