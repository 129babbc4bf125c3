"""`forkguard verify` refuses what was tampered with: receipts, logs, the chain, signatures."""

import shutil

import pytest

from forkguard.adapters.signing import SshSigner
from tests.support.receipts import Shelf
from tests.support.signers import allow, make_key
from tests.support.verifying import passes, refused, verify

# -- refused: what was tampered with ---------------------------------------------------------------------


@pytest.mark.parametrize("which", [0, 1], ids=["the oldest", "the newest"])
def test_a_receipt_edited_by_one_byte(shelf: Shelf, which: int) -> None:
    path = (shelf.gate(), shelf.gate())[which]
    content = bytearray(path.read_bytes())
    content[-1] = ord(" ")
    path.write_bytes(content)
    refusal = refused(shelf)
    assert (refusal["class"], refusal["where"]) == ("edited", f"{path.parent.name}/receipt.json")


def test_a_red_receipt_made_green(shelf: Shelf) -> None:
    path = shelf.red()
    path.write_text(path.read_text().replace('"fail"', '"pass"'))
    assert refused(shelf)["class"] == "edited"


@pytest.mark.parametrize("keep", [True, False], ids=["emptied", "removed"])
def test_a_log_that_is_not_what_it_was(shelf: Shelf, *, keep: bool) -> None:
    path = shelf.gate()
    log = path.with_name("draft-3.log")
    if keep:
        log.write_bytes(b"")
    else:
        log.unlink()
    refusal = refused(shelf)
    told = "was edited" if keep else "is gone"
    assert (refusal["class"], refusal["detail"]) == ("changed-log", f"its log draft-3.log {told}")


def test_a_removed_red_receipt(shelf: Shelf) -> None:
    shelf.gate()
    red = shelf.red()
    shutil.rmtree(red.parent)
    refusal = refused(shelf)
    assert (refusal["class"], refusal["detail"]) == ("broken-chain", "the newest receipt is gone")


def test_a_red_receipt_removed_from_the_middle(shelf: Shelf) -> None:
    shelf.gate()
    red = shelf.red()
    shelf.gate(tree={**shelf.document()["tree"], "binary_sha256": "0" * 64})
    shutil.rmtree(red.parent)
    refusal = refused(shelf)
    assert (refusal["class"], refusal["where"]) == ("broken-chain", f"{red.parent.name}/receipt.json")


@pytest.mark.parametrize("head", [None, "rubbish", f"{'0' * 64}  ../../etc/receipt.json\n"])
def test_a_head_that_is_lost_or_damaged(shelf: Shelf, head: str | None) -> None:
    shelf.gate()
    shelf.gate()
    (shelf.store.root / "HEAD").unlink()
    if head is not None:
        (shelf.store.root / "HEAD").write_text(head)
    assert refused(shelf)["class"] == "broken-chain"


def test_a_receipt_that_was_put_there_counts_for_nothing(shelf: Shelf) -> None:
    green = shelf.gate()
    shutil.copytree(green.parent, shelf.root / "kept")
    shutil.rmtree(shelf.store.root)
    shelf.red()
    shutil.copytree(shelf.root / "kept", shelf.store.root / "20990101T000000Z-planted")
    assert refused(shelf)["class"] == "red"


def test_a_receipt_behind_a_symbolic_link(shelf: Shelf) -> None:
    path = shelf.gate()
    path.parent.rename(shelf.root / "elsewhere")
    path.parent.symlink_to(shelf.root / "elsewhere")
    assert refused(shelf)["class"] == "broken-chain"


def test_escapes_in_a_receipt_reach_no_terminal(shelf: Shelf) -> None:
    shelf.red(checks=[{"name": "crash", "verdict": "fail", "detail": "\x1b[31mred\x07\nverify PASS"}])
    outcome = verify(shelf)
    assert outcome.status == 1
    assert not {"\x1b", "\x07"} & set(outcome.out)
    assert len(outcome.out.splitlines()) == 3


# -- signatures ------------------------------------------------------------------------------------------


def test_signatures(shelf: Shelf) -> None:
    keys = shelf.root / "keys"
    ada, eve = make_key(keys, "ada"), make_key(keys, "eve")
    allowed = allow(keys, ada=ada)
    shelf.gate()
    assert refused(shelf, "--allowed-signers", allowed)["class"] == "unsigned"
    shelf.gate(key=SshSigner(eve))
    refusal = refused(shelf, "--allowed-signers", allowed)
    assert (refusal["class"], "not one of an allowed signer" in refusal["detail"]) == ("bad-signature", True)
    path = shelf.gate(key=SshSigner(ada))
    document = passes(shelf, "--allowed-signers", allowed)
    assert document["receipts"][0]["signer"] == "ada@example.org"
    assert "signature (--allowed-signers)" not in document["not_compared"]
    path.with_name("receipt.json.sig").write_text("rubbish")
    assert refused(shelf, "--allowed-signers", allowed)["class"] == "bad-signature"


def test_a_forged_chain_does_not_pass_for_a_signed_one(shelf: Shelf) -> None:
    keys = shelf.root / "keys"
    ada = make_key(keys, "ada")
    red = shelf.red(key=SshSigner(ada))
    signature = red.with_name("receipt.json.sig").read_bytes()
    shutil.rmtree(shelf.store.root)
    forged = shelf.gate()
    forged.with_name("receipt.json.sig").write_bytes(signature)
    assert refused(shelf, "--allowed-signers", allow(keys, ada=ada))["class"] == "bad-signature"


def test_the_map_names_the_allowed_signers(shelf: Shelf) -> None:
    allow(shelf.root, ada=make_key(shelf.root / "keys", "ada"))
    (shelf.root / "upstream-map.toml").write_text(
        '[upstream]\nremote = "up"\nref = "up/master"\n[gate]\nallowed_signers = "allowed_signers"\n'
    )
    shelf.gate()
    assert refused(shelf, "--map", "upstream-map.toml")["class"] == "unsigned"
