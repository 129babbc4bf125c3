"""The reference pages and the man pages say all that the code has, and nothing in them is markup by accident."""

import json
import re
import subprocess
from pathlib import Path

import click
import pytest
from pydantic import BaseModel

from forkguard.adapters.rulefiles import bundled_rules
from forkguard.cli.main import VERBS, main
from forkguard.core import map_models
from forkguard.errors import ExitCode
from tools.command_tree import CommandPage, Paragraph, pages, paragraphs
from tools.manpages import man_page, write_pages
from tools.mkdocs_hook import on_page_content
from tools.reference import SCHEMAS, reference_pages

REFERENCE = reference_pages()
COMMANDS = list(pages(main, name="forkguard"))


def section(page: str, anchor: str) -> str:
    """The text below the heading with this anchor."""
    found = re.search(
        rf"^#+ [^\n]*{{#{re.escape(anchor)}}}\n(.*?)(?=^#+ |\Z)", REFERENCE[page], re.MULTILINE | re.DOTALL
    )
    assert found is not None, anchor
    return found[1]


@pytest.mark.parametrize("page", COMMANDS, ids=lambda page: page.name)
def test_each_command_has_its_usage_and_every_option(page: CommandPage) -> None:
    text = section("reference/commands.md", page.name.replace(" ", "-"))
    assert f"```text\n{page.name} {page.usage}\n```" in text
    for names, _ in page.options:
        assert "`{}`".format(names.replace("|", "\\|")) in text
    assert "-h, --help" in text
    for paragraph in page.help:
        if paragraph.verbatim:
            assert paragraph.text in text


def test_every_verb_and_every_subcommand_is_a_page() -> None:
    names = {page.name for page in COMMANDS}
    assert {f"forkguard {verb}" for verb in VERBS} < names
    assert {"forkguard", "forkguard stack replay", "forkguard stack list"} <= names


def test_help_is_cut_into_paragraphs() -> None:
    text = "One\n    two.\n\n    \b\n    a  b\n      c\n\n    Three."
    assert list(paragraphs(text)) == [
        Paragraph("One two.", verbatim=False),
        Paragraph("a  b\n  c", verbatim=True),
        Paragraph("Three.", verbatim=False),
    ]


def test_every_key_of_the_map_is_there() -> None:
    tables = [
        each
        for each in vars(map_models).values()
        if isinstance(each, type) and issubclass(each, BaseModel) and each not in {map_models.Table, BaseModel}
    ]
    text = REFERENCE["reference/map.md"]
    for table in tables:
        if table is not map_models.UpstreamMap:
            rows = "\n".join(f"| `{name}` |" for name in table.model_fields)
            for row in rows.split("\n"):
                assert row in text, f"{table.__name__}: {row}"
    for name in map_models.UpstreamMap.model_fields:
        assert re.search(rf"^## .*\[{name}[\].]", text, re.MULTILINE), name


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("upstream", "| `ref` | text | an error |"),
        ("gate", '| `fallback` | `"pass"`, `"fail"` |  |'),
        ("gate", "| `widths` | list: whole number |  |"),
        ("accept", "| `until` | date, such as 2026-12-31 |  |"),
        ("build-name", "| `env` | table: name = text |  |"),
        ("nightly", '| `target` | text | `"latest"` |'),
        ("nightly", "| `gate` | true or false | `true` |"),
        ("arch-name", "| `gate` | a table |  |"),
    ],
)
def test_a_key_says_what_it_takes_and_what_holds_without_it(table: str, row: str) -> None:
    assert row in section("reference/map.md", table)


def test_every_rule_is_there_with_its_mend() -> None:
    for rule in bundled_rules():
        text = section("reference/rules.md", rule.id)
        assert f"({rule.form}, {rule.severity.value})" in text
        assert ("- Mend: " in text) == bool(rule.mend)


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.stem)
def test_every_schema_is_there_with_its_fields(path: Path) -> None:
    text = section("reference/json.md", path.stem)
    assert f"(../schemas/{path.name})" in text
    for key in json.loads(path.read_text()).get("properties", {}):
        assert f"| `{key}`" in text


def test_every_exit_status_is_there_and_in_the_help() -> None:
    text = main.get_help(click.Context(main, info_name="forkguard"))
    for code in ExitCode:
        assert f"| {code.value} | {code.meaning} |" in REFERENCE["reference/exit-codes.md"]
        assert f"{code.value} {code.meaning}" in " ".join(text.split())
    assert [code.value for code in ExitCode] == [0, 1, 2, 3, 4, 130]
    assert next(code for code in ExitCode if code == 3) is ExitCode.COULD_NOT


@pytest.mark.needs("groff")
def test_a_man_page_for_each_command_without_a_warning(tmp_path: Path) -> None:
    written = write_pages(tmp_path / "man", date="2026-09-01")
    assert {path.name for path in written} == {f"{page.name.replace(' ', '-')}.1" for page in COMMANDS}
    done = subprocess.run(
        ["groff", "-man", "-ww", "-z", "-K", "utf8", *written],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_option_in_running_text_is_kept_in_one_piece_and_code_blocks_are_left_alone() -> None:
    kept = '<code>forkguard drift <span class="option">--arch</span> lfm2 <span class="option">-v</span></code>'
    assert on_page_content("<code>forkguard drift --arch lfm2 -v</code> a-b") == kept + " a-b"
    assert on_page_content("<code>git am --3way</code>") == '<code>git am <span class="option">--3way</span></code>'
    for same in ("<pre><span></span><code>x --arch\n</code></pre>", "<code>draft-dspark</code>", "<p>--arch</p>"):
        assert on_page_content(same) == same


def test_what_a_man_page_holds() -> None:
    page = CommandPage(
        "forkguard x", "Do x.", "[OPTIONS] Y", (Paragraph("Back\\slash - dash", verbatim=False),
        Paragraph(".hidden  is kept", verbatim=True)), (("--y TEXT", "'quoted' first"),), ("forkguard x z",),
    )  # fmt: skip
    text = man_page(page, date="2026-09-01", version="1.0")
    assert text.startswith(
        '.TH FORKGUARD\\-X 1 2026-09-01 "forkguard 1.0" "User Commands"\n.SH NAME\nforkguard\\-x \\- Do x\n'
    )
    assert "\nBack\\eslash \\- dash\n" in text
    assert "\n.nf\n\\&.hidden  is kept\n.fi\n" in text
    assert "\n.TP\n.B \\-\\-y TEXT\n\\&'quoted' first\n" in text
    assert "\n.BR forkguard\\-x\\-z (1)\n" in text
