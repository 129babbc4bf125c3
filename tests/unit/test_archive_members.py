"""Nothing that a stranger's archive holds gets past the reader."""

import tarfile
from pathlib import Path

import pytest

from forkguard.adapters import archive_members
from forkguard.adapters.archive_members import SourceFile, members
from forkguard.core.names import TreePath
from forkguard.errors import CouldNotWork
from tests.support.archives import TOP, packed, packed_members


def write(folder: Path, data: bytes) -> Path:
    archive = folder / "x.tar.gz"
    archive.write_bytes(data)
    return archive


def test_only_upstreams_tree_is_read_with_modes_that_git_knows(tmp_path: Path) -> None:
    data = packed(
        {"PKG-INFO": b"wrapper\n", "llama.cpp/run.sh": b"#!/bin/sh\n", "llama.cpp/src/a b.cpp": b"int i;\r\n"},
        executable=["llama.cpp/run.sh"],
    )
    found = list(members(write(tmp_path, data)))
    assert found == [
        SourceFile(TreePath("run.sh"), executable=True, data=b"#!/bin/sh\n"),
        SourceFile(TreePath("src/a b.cpp"), executable=False, data=b"int i;\r\n"),
    ]
    assert [file.mode for file in found] == ["100755", "100644"]


def strange(name: str, *, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = link
    return info


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        (strange(f"{TOP}/llama.cpp/../../etc/x"), "not a plain path"),
        (strange("/etc/x"), "not a plain path"),
        (strange(f"{TOP}/llama.cpp//x"), "not a plain path"),
        (strange(f"{TOP}/llama.cpp/.git/hooks/post-checkout"), "not a plain path"),
        (strange(f"{TOP}/llama.cpp/.GIT/config"), "not a plain path"),
        (strange(f"{TOP}/llama.cpp/a\nb"), "not a plain path"),
        (strange(f"{TOP}/llama.cpp/l", kind=tarfile.SYMTYPE, link="/etc/passwd"), "neither an ordinary file"),
        (strange(f"{TOP}/llama.cpp/h", kind=tarfile.LNKTYPE, link="x"), "neither an ordinary file"),
        (strange(f"{TOP}/llama.cpp/p", kind=tarfile.FIFOTYPE), "neither an ordinary file"),
        (strange(f"{TOP}/llama.cpp/d", kind=tarfile.CHRTYPE), "neither an ordinary file"),
        (strange(f"{TOP}/outside", kind=tarfile.SYMTYPE, link="x"), "neither an ordinary file"),
        (strange("other-top/llama.cpp/x"), "unlike, a source archive"),
        (strange(f"{TOP}/llama.cpp/good"), "the same file twice"),
    ],
)
def test_a_hostile_member_is_refused_not_skipped(tmp_path: Path, member: tarfile.TarInfo, reason: str) -> None:
    good = tarfile.TarInfo(f"{TOP}/llama.cpp/good")
    archive = write(tmp_path, packed_members([(good, b""), (member, b"")]))
    with pytest.raises(CouldNotWork) as refused:
        list(members(archive))
    assert reason in refused.value.what
    assert repr(member.name) in refused.value.what
    assert refused.value.where == str(archive)


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_members, "MAX_BYTES", 9)
    with pytest.raises(CouldNotWork, match="larger than"):
        list(members(write(tmp_path, packed({"llama.cpp/a": b"12345", "llama.cpp/b": b"12345"}))))


@pytest.mark.parametrize("data", [b"", b"not gzip", packed({"llama.cpp/a": bytes(100_000)})[:-40]])
def test_a_broken_archive_is_said_to_be_unreadable(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(CouldNotWork, match="cannot be read"):
        list(members(write(tmp_path, data)))


def test_an_archive_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CouldNotWork, match=r"no llama\.cpp/ folder"):
        list(members(write(tmp_path, packed({"src/x.c": b""}))))
