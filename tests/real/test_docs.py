"""What the documentation shows as output is what comes out."""

import re
from pathlib import Path

import pytest

from forkguard.cli.main import invoke

pytestmark = pytest.mark.real

GETTING_STARTED = Path(__file__).parents[2] / "docs" / "getting-started.md"


@pytest.mark.usefixtures("real_archives")
def test_the_demo_in_getting_started_is_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = re.search(r"```text\n(.*?)```", GETTING_STARTED.read_text(), re.DOTALL)
    assert shown is not None
    monkeypatch.setattr("shutil.which", lambda _name: "forkguard")
    monkeypatch.chdir(tmp_path)
    assert invoke(["demo", "--no-build"]) == 0
    assert capsys.readouterr().out == "\n" + shown[1]
