"""The forge's API over a real connection: what is asked, what is kept, what goes wrong and how it is said."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from forkguard.adapters.forge import GitHub, check_url
from forkguard.core.names import PullNumber
from forkguard.core.porting import PullState
from forkguard.errors import CouldNotWork, UsageProblem
from tests.support.fake_forge import PATCH, FakeForge, Reply, fake_forge, pull_path

SEVEN = PullNumber(7)
HEAD = "a" * 40
MERGE = "b" * 40
TOKEN = "sesame-opens-it"  # noqa: S105  (of the test itself)


@pytest.fixture
def forge() -> Iterator[FakeForge]:
    with fake_forge() as running:
        yield running


class Pauses:
    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def github(forge: FakeForge, cache: Path, *, token: str | None = None, pause: Pauses | None = None) -> GitHub:
    return GitHub(api=forge.url, repository="owner/name", cache=cache, token=token, pause=pause or Pauses())


def test_the_states_of_a_request(forge: FakeForge, tmp_path: Path) -> None:
    hub = github(forge, tmp_path)
    forge.tell_pull(7, head={"sha": HEAD})
    assert (hub.pull(SEVEN).state, hub.pull(SEVEN).head, hub.pull(SEVEN).merge) == (PullState.OPEN, HEAD, None)
    forge.tell_pull(7, head={"sha": HEAD}, state="closed", merged_at="2026-01-01T00:00:00Z", merge_commit_sha=MERGE)
    assert (hub.pull(SEVEN).state, hub.pull(SEVEN).merge) == (PullState.MERGED, MERGE)
    forge.tell_pull(7, head={"sha": HEAD}, state="closed", body="Superseded by #8.", merge_commit_sha=MERGE)
    closed = hub.pull(SEVEN)
    assert (closed.state, closed.merge, closed.heir) == (PullState.CLOSED, None, 8)


def test_what_did_not_change_is_not_sent_again(forge: FakeForge, tmp_path: Path) -> None:
    forge.tell_pull(7, head={"sha": HEAD}, etag='"one"')

    first, second = github(forge, tmp_path).pull(SEVEN), github(forge, tmp_path).pull(SEVEN)

    assert first == second
    assert [headers.get("if-none-match") for _, _, headers in forge.asked] == [None, '"one"']


def test_a_damaged_cache_is_asked_anew(forge: FakeForge, tmp_path: Path) -> None:
    forge.tell_pull(7, head={"sha": HEAD}, etag='"one"')
    github(forge, tmp_path).pull(SEVEN)
    (kept,) = tmp_path.iterdir()
    kept.write_text("{")

    assert github(forge, tmp_path).pull(SEVEN).head == HEAD


def test_the_token_goes_to_the_api_alone_and_into_no_message(forge: FakeForge, tmp_path: Path) -> None:
    with fake_forge() as other:
        other.tell("/there", Reply(b"From a\n"), accept=PATCH)
        forge.tell(pull_path(7), Reply(status=302, headers={"Location": f"{other.url}/there"}), accept=PATCH)

        assert github(forge, tmp_path, token=TOKEN).patch(SEVEN) == b"From a\n"

        assert forge.asked[0][2]["authorization"] == f"Bearer {TOKEN}"
        assert "authorization" not in other.asked[0][2]
    forge.tell(pull_path(7), Reply(status=403))
    with pytest.raises(CouldNotWork) as caught:
        github(forge, tmp_path, token=TOKEN).pull(SEVEN)
    assert TOKEN not in f"{caught.value.what}{caught.value.where}{caught.value.hint}"
    assert all(TOKEN.encode() not in path.read_bytes() for path in tmp_path.iterdir())


def test_redirects_end(forge: FakeForge, tmp_path: Path) -> None:
    forge.tell(pull_path(7), Reply(status=301, headers={"Location": pull_path(7)}))

    with pytest.raises(CouldNotWork, match="redirects"):
        github(forge, tmp_path).pull(SEVEN)
    assert len(forge.asked) == 6


@pytest.mark.parametrize("target", ["ftp://example.org/x", "http://example.org/x", "file:///etc/passwd"])
def test_a_redirect_to_what_is_no_https_is_not_followed(forge: FakeForge, tmp_path: Path, target: str) -> None:
    forge.tell(pull_path(7), Reply(status=302, headers={"Location": target}))

    with pytest.raises(UsageProblem, match="https"):
        github(forge, tmp_path).pull(SEVEN)


def test_trouble_of_the_server_is_tried_again_a_few_times(forge: FakeForge, tmp_path: Path) -> None:
    forge.tell_pull(7, head={"sha": HEAD})
    good = forge.replies[pull_path(7), "application/vnd.github+json"][0]
    forge.tell(pull_path(7), Reply(status=502), Reply(status=503), good)
    pauses = Pauses()

    assert github(forge, tmp_path, pause=pauses).pull(SEVEN).head == HEAD
    assert pauses.seconds == [2.0, 4.0]

    forge.tell(pull_path(7), Reply(status=500))
    with pytest.raises(CouldNotWork, match="answered 500"):
        github(forge, tmp_path).pull(SEVEN)
    assert len(forge.asked) == 6


def test_nobody_there(tmp_path: Path) -> None:
    with fake_forge() as forge:
        hub = github(forge, tmp_path)
    with pytest.raises(CouldNotWork, match="could not be asked, 3 times"):
        hub.pull(SEVEN)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(status=404), "there is no #7 in owner/name"),
        (Reply(status=401), r"refused \(401\)"),
        (
            Reply(status=403, headers={"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1767268800"}),
            "12:00:00 UTC",
        ),
        (Reply(status=429, headers={"retry-after": "60"}), "used up for 60 s"),
        (Reply(status=418), "answered 418"),
        (Reply(b"<html>"), "no pull request"),
        (Reply(b'{"number": 7}'), "no pull request"),
        (Reply(b'{"number":7,"title":"t","state":"open","merged_at":null,"head":{"sha":"--x"}}'), "no head commit"),
    ],
)
def test_answers_that_do_not_help(forge: FakeForge, tmp_path: Path, reply: Reply, words: str) -> None:
    forge.tell(pull_path(7), reply)

    with pytest.raises(CouldNotWork, match=words) as caught:
        github(forge, tmp_path).pull(SEVEN)
    assert caught.value.hint


@pytest.mark.parametrize("url", ["http://example.org", "ftp://127.0.0.1", "https://me:secret@example.org", "x", ""])
def test_addresses_that_are_not_asked(url: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        check_url(url)
    assert "secret" not in f"{caught.value.what}{caught.value.where}{caught.value.hint}"
