"""The workflow and the crontab that run the nights."""

import pytest
import yaml  # type: ignore[import-untyped]

from forkguard.core.schedules import Schedule, cron_line, github_workflow, merged_crontab

ONE = Schedule(
    ("/bin/forkguard",), "/d/maps/upstream-map.toml", "/d/maps", 3, 17, "me/fork", 'b"r', "upstream",
    "https://example.org/up", "maps/upstream-map.toml",
)  # fmt: skip


def steps(schedule: Schedule) -> list[dict[str, object]]:
    document = yaml.safe_load(github_workflow(schedule))
    assert document[True]["schedule"] == [{"cron": "17 3 * * *"}]
    found: list[dict[str, object]] = document["jobs"]["nightly"]["steps"]
    return found


def test_the_workflow_names_the_fork_upstream_the_map_and_its_records() -> None:
    found = steps(ONE)
    assert found[1]["with"] == {"repository": "me/fork", "ref": 'b"r', "path": ".fork", "fetch-depth": 0}
    assert found[2]["env"] == {"REMOTE": "upstream", "UPSTREAM": "https://example.org/up", "BRANCH": 'b"r'}
    kept, night = found[5]["with"], found[6]["env"]
    assert isinstance(kept, dict)
    assert isinstance(night, dict)
    assert kept["path"].split() == ["~/.cache/forkguard", "maps/.forkguard"]
    assert night["MAP"] == "maps/upstream-map.toml"


def test_what_is_not_known_is_left_to_be_filled_in() -> None:
    found = steps(Schedule(("/bin/forkguard",), "/d/m.toml", "/d", 3, 17, map_in_repository="m.toml"))
    checkout, kept = found[1]["with"], found[5]["with"]
    assert isinstance(checkout, dict)
    assert isinstance(kept, dict)
    assert checkout["repository"] == "OWNER/NAME"
    assert kept["path"].split() == ["~/.cache/forkguard", ".forkguard"]


@pytest.mark.parametrize("other", ["", "0 0 * * * x\n", "# a remark\n"])
def test_a_crontab_keeps_what_is_not_the_maps(other: str) -> None:
    again = merged_crontab(merged_crontab(other, ONE), ONE)
    assert again == other + cron_line(ONE)
    assert cron_line(ONE).splitlines()[1] == "17 3 * * * /bin/forkguard nightly --map /d/maps/upstream-map.toml"
