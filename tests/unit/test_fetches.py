"""Tags in the order of the numbers in their names."""

from forkguard.core.fetches import natural, newest_tag
from forkguard.core.names import CommitHash


def test_numbers_in_tags_count_by_value_however_long_they_are() -> None:
    names = ["b9", "b10", "b10-2", "b10-10", "b" + "9" * 5000, "b1" + "0" * 5000, "c"]
    assert sorted(set(names), key=natural) == names
    assert natural("b009") == natural("b9")
    assert newest_tag({name: CommitHash(name) for name in names}, "b*") == (names[5], names[5])
