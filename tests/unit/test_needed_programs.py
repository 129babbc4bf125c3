"""A test whose program is not here is skipped at a desk and fails in CI, never the other way round."""

from pathlib import Path

import pytest

from tests.support.programs import need


@pytest.fixture
def only_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "one"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("only_one")
@pytest.mark.parametrize(("ci", "end"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_what_is_lacking_is_named(ci: str, end: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", ci)
    with pytest.raises(end, match=r"^not installed: two, a\|b$"):
        need("one", "two", "a|b")


@pytest.mark.usefixtures("only_one")
def test_one_of_several_will_do() -> None:
    need("one", "two|one")
