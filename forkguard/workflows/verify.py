"""`forkguard verify`: walk the chain of receipts, choose those that cover the binary, hold them to their hashes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from forkguard.core.receipts import SIGNATURE_NAME, BadReceipt, Link, Receipt, digest, read_receipt
from forkguard.core.verify import (
    ChainedReceipt,
    Judged,
    LibrariesNow,
    Question,
    Reason,
    Refused,
    VerifyReport,
    covering,
)


class Receipts(Protocol):
    """The folder of receipts; see `forkguard.adapters.receipts.ReceiptStore` for each contract."""

    def head(self) -> Link | None: ...
    def receipt(self, path: str) -> bytes | None: ...
    def beside(self, path: str, name: str) -> bytes | None: ...
    def hash_log(self, path: str, name: str) -> str | None: ...


class Signers(Protocol):
    """Who may sign; `signer` raises `BadReceipt` for a signature that is none of theirs."""

    def signer(self, content: bytes, signature: bytes) -> str: ...


@dataclass(frozen=True, slots=True)
class _Chain:
    receipts: tuple[ChainedReceipt, ...]
    gap: str | None


def verify(
    receipts: Receipts,
    question: Question,
    *,
    libraries: Callable[[], LibrariesNow],
    signers: Signers | None,
    folder: str,
) -> VerifyReport:
    """Decide. A refusal is a result; only what keeps from looking (`CouldNotWork`) is raised.

    All receipts from the newest back are read and held to the hash that the next one has of them. Where old ones
    were removed, the rest counts.
    """
    try:
        chain = _read_chain(receipts, question)
        judged = tuple(_hold(receipts, each, question, signers) for each in _choose(chain, question, libraries))
    except Refused as refusal:
        return VerifyReport(question, folder, (), refusal)
    notes = (f"{chain.gap} and all before it were removed",) if chain.gap is not None else ()
    return VerifyReport(question, folder, judged, None, notes)


def _read_chain(receipts: Receipts, question: Question) -> _Chain:
    try:
        link = receipts.head()
    except BadReceipt as error:
        raise Refused(
            Reason.BROKEN_CHAIN, str(error), hint="restore the folder of receipts from where they were written"
        ) from error
    found: list[ChainedReceipt] = []
    while link is not None:
        content = _content(receipts, link, question)
        if content is None:
            if not found:
                raise Refused(
                    Reason.BROKEN_CHAIN, "the newest receipt is gone", where=link.path, hint=question.gate
                )  # fmt: skip
            return _Chain(tuple(found), link.path)
        receipt, before = _parsed(content, link, question)
        found.append(ChainedReceipt(link, receipt))
        link = before
    return _Chain(tuple(found), None)


def _content(receipts: Receipts, link: Link, question: Question) -> bytes | None:
    try:
        content = receipts.receipt(link.path)
    except BadReceipt as error:
        raise Refused(Reason.BROKEN_CHAIN, str(error), where=link.path, hint=question.gate) from error
    if content is not None and digest(content) != link.sha256:
        raise Refused(
            Reason.EDITED,
            "this receipt was edited: its bytes are not those that were written",
            where=link.path,
            hint=f"restore it from where it was written, or: {question.gate}",
        )
    return content


def _parsed(content: bytes, link: Link, question: Question) -> tuple[Receipt, Link | None]:
    try:
        receipt = read_receipt(content)
        return receipt, receipt.link
    except BadReceipt as error:
        raise Refused(
            Reason.UNREADABLE, f"this receipt is not one: {error}", where=link.path, hint=question.gate
        ) from error


def _choose(chain: _Chain, question: Question, libraries: Callable[[], LibrariesNow]) -> tuple[ChainedReceipt, ...]:
    try:
        return covering(chain.receipts, question, libraries)
    except Refused as refusal:
        if chain.gap is None or refusal.reason is not Reason.UNKNOWN_BINARY:
            raise
        raise Refused(
            Reason.BROKEN_CHAIN,
            f"{refusal.detail}, and older receipts were removed",
            where=chain.gap,
            hint=question.gate,
        ) from refusal


def _hold(receipts: Receipts, each: ChainedReceipt, question: Question, signers: Signers | None) -> Judged:
    """The receipt with its logs and its signature as they must be; else raises `Refused`."""
    path = each.link.path
    for log in each.receipt.logs:
        there = receipts.hash_log(path, log.path)
        if there != log.sha256:
            told = "is gone" if there is None else "was edited"
            raise Refused(Reason.CHANGED_LOG, f"its log {log.path} {told}", where=path, hint=question.gate)
    if signers is None:
        return Judged(each.link, each.receipt, None)
    hint = "sign receipts with an allowed key (sign_key in [gate] of the map), and gate again"
    try:
        signature = receipts.beside(path, SIGNATURE_NAME)
        if signature is None:
            raise Refused(Reason.UNSIGNED, "its receipt is not signed", where=path, hint=hint)
        content = receipts.receipt(path) or b""
        return Judged(each.link, each.receipt, signers.signer(content, signature))
    except BadReceipt as error:
        raise Refused(Reason.BAD_SIGNATURE, str(error), where=path, hint=hint) from error
