"""The reference pages, written from the code while mkdocs builds (tools/mkdocs_hook.py): none is kept in a file."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from forkguard.adapters.rulefiles import bundled_rules
from forkguard.cli.main import main
from forkguard.core.map_models import UpstreamMap
from forkguard.core.rules import Rule
from forkguard.errors import ExitCode
from tools.command_tree import CommandPage, pages

SCHEMAS = Path(__file__).parents[1] / "docs/schemas"


def reference_pages() -> dict[str, str]:
    """Every page: its path below docs/, and its Markdown."""
    return {
        "reference/commands.md": commands_page(),
        "reference/map.md": map_page(),
        "reference/rules.md": rules_page(bundled_rules()),
        "reference/json.md": schemas_page(),
        "reference/exit-codes.md": exit_codes_page(),
    }


def _joined(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"


# -- commands ------------------------------------------------------------------------------------------


def commands_page() -> str:
    """Each command with its usage, its help and its options."""
    return _joined(_commands())


def _commands() -> Iterator[str]:
    yield "# Commands\n"
    for page in pages(main, name="forkguard"):
        yield f"{'#' * (page.name.count(' ') + 2)} {page.name} {{#{page.name.replace(' ', '-')}}}\n"
        yield from _command(page)


def _command(page: CommandPage) -> Iterator[str]:
    yield f"```text\n{page.name} {page.usage}\n```\n"
    for paragraph in page.help:
        yield f"```text\n{paragraph.text}\n```\n" if paragraph.verbatim else f"{escaped(paragraph.text)}\n"
    if page.options:
        yield "| option | |\n|---|---|"
        yield from (f"| `{cell(names)}` | {cell(escaped(text))} |" for names, text in page.options)
        yield ""
    if page.children:
        yield "\n".join(f"- [{name}](#{name.replace(' ', '-')})" for name in page.children) + "\n"


def cell(text: str) -> str:
    r"""Text for a table.

    >>> cell("a|b")
    'a\\|b'
    """
    return text.replace("|", "\\|").replace("\n", " ")


def escaped(text: str) -> str:
    r"""Text in which nothing but code spans is Markdown: file names keep their stars, placeholders their brackets.

    >>> escaped("`a_b` and c_d")
    '`a_b` and c\\_d'
    """
    pieces = re.split(r"(`[^`]+`)", text)
    return "".join(piece if piece.startswith("`") else re.sub(r"([\\*_<>\[\]`])", r"\\\1", piece) for piece in pieces)


# -- the map -------------------------------------------------------------------------------------------


def map_page() -> str:
    """Each table of the map with its keys."""
    return _joined(_map())


def _map() -> Iterator[str]:
    yield "# Keys of the map\n"
    yield "Every table and key of `upstream-map.toml`; [the map](../map.md) explains them. Unknown keys are errors.\n"
    places: dict[type[BaseModel], list[str]] = {}
    for model, place in _models(UpstreamMap, ""):
        places.setdefault(model, []).append(place)
    places.pop(UpstreamMap)
    for model, named in places.items():
        heading = sorted(named, key=lambda place: place.count("."))
        yield f"## {', '.join(heading)} {{#{heading[0].strip('[]').replace('.', '-').lower()}}}\n"
        yield " ".join((model.__doc__ or "").split()) + "\n"
        yield "| key | value | without it |\n|---|---|---|"
        yield from (
            f"| `{name}` | {cell(value_words(field))} | {default_words(field)} |"
            for name, field in model.model_fields.items()
        )
        yield ""
    yield "## [[rule]] {#rule}\n"
    yield "A wiring rule of your own: [its fields](../rules.md).\n"


def _models(model: type[BaseModel], place: str) -> Iterator[tuple[type[BaseModel], str]]:
    yield model, place
    for name, field in model.model_fields.items():
        inner = next(_inside(field.annotation), None)
        if inner is None:
            continue
        origin = str(getattr(field.annotation, "__origin__", ""))
        path = f"{place.strip('[]')}.{name}".lstrip(".")
        if "tuple" in origin:
            yield from _models(inner, f"[[{path}]]")
        else:
            yield from _models(inner, f"[{path}.NAME]" if "Mapping" in origin else f"[{path}]")


def _inside(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _inside(argument)


_WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def value_words(field: FieldInfo) -> str:
    """What a key takes, in words."""
    if next(_inside(field.annotation), None) is not None:
        return "a table"
    return _words(field.annotation)


def _words(annotation: Any) -> str:
    if annotation in _WORDS:
        return _WORDS[annotation]
    name = getattr(annotation, "__name__", "")
    if name == "date":
        return "date, such as 2026-12-31"
    arguments = [each for each in get_args(annotation) if each not in (type(None), Ellipsis)]
    origin = str(getattr(annotation, "__origin__", annotation))
    if "Literal" in origin:
        return ", ".join(f'`"{each}"`' for each in arguments)
    if "tuple" in origin:
        return f"list: {_words(arguments[0])}"
    if "Mapping" in origin:
        return f"table: name = {_words(arguments[1])}"
    return _words(arguments[0])


def default_words(field: FieldInfo) -> str:
    """What holds where a key is left out."""
    if field.is_required():
        return "an error"
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None or value in ((), {}) or isinstance(value, (BaseModel, Mapping)):
        return ""
    return f"`{json.dumps(value)}`"


# -- rules, JSON, exit codes ---------------------------------------------------------------------------


def rules_page(rules: tuple[Rule, ...]) -> str:
    """The bundled rules: what each looks for, why, and what mends it."""
    return _joined(_rules(rules))


def _rules(rules: tuple[Rule, ...]) -> Iterator[str]:
    yield "# Bundled rules\n"
    yield "What ships with forkguard. [Wiring rules](../rules.md) says how one is written or disabled.\n"
    yield "| rule | form | severity | title |\n|---|---|---|---|"
    yield from (
        f"| [{rule.id}](#{rule.id}) | {rule.form} | {rule.severity.value} | {cell(rule.title)} |" for rule in rules
    )
    yield ""
    for rule in rules:
        yield f"## {rule.id} {{#{rule.id}}}\n"
        yield f"{escaped(rule.title)} ({rule.form}, {rule.severity.value}). {escaped(' '.join(rule.why.split()))}\n"
        facts = {
            "Needed by": ", ".join(rule.drafts),
            "Given, needed": f"{rule.given}, {rule.needs}" if rule.given else "",
            "Place": f"`{rule.symbol}`" if rule.symbol else "",
            "In the log": " or ".join(f"`{log}`" for log in rule.logs),
            "Mend": escaped(rule.mend),
            "Pull requests": ", ".join(f"#{pull}" for pull in rule.pulls),
            "Exempt": ", ".join(sorted(rule.exempt)),
        }
        yield "\n".join(f"- {name}: {value}" for name, value in facts.items() if value) + "\n"


def schemas_page() -> str:
    """The JSON documents, with their fields at the top."""
    return _joined(_schemas())


def _schemas() -> Iterator[str]:
    yield "# JSON documents\n"
    yield "What `--format json` prints, and what the state folder holds. Fields are added, never changed.\n"
    for path in sorted(SCHEMAS.glob("*.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        name = schema.get("$id", path.stem)
        yield f"## {name} {{#{path.stem}}}\n"
        yield f"{escaped(schema.get('title', ''))}. [Schema](../schemas/{path.name}).\n"
        fields = schema.get("properties", {})
        if fields:
            required = set(schema.get("required", ()))
            yield "| field | type | |\n|---|---|---|"
            yield from (
                f"| `{key}`{'' if key in required else ' (may be left out)'} | {type_words(value, schema)} | "
                f"{cell(escaped(value.get('description', '')))} |"
                for key, value in fields.items()
            )
            yield ""


def type_words(value: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """The type of a field, in words.

    >>> type_words({"type": ["string", "null"]}, {})
    'string or null'
    """
    if "$ref" in value:
        place: Any = schema
        for step in value["$ref"].removeprefix("#/").split("/"):
            place = place.get(step, {}) if isinstance(place, Mapping) else {}
        return type_words(place, schema) if place else "object"
    if "const" in value:
        return f'`"{value["const"]}"`'
    if "enum" in value:
        return " or ".join(f"`{json.dumps(each)}`" for each in value["enum"])
    several = value.get("anyOf") or value.get("oneOf")
    if several:
        return " or ".join(dict.fromkeys(type_words(each, schema) for each in several))
    kinds = value.get("type", "any")
    words = " or ".join(kinds if isinstance(kinds, list) else [kinds])
    items = value.get("items")
    return f"{words} of {type_words(items, schema)}" if isinstance(items, Mapping) and words == "array" else words


def exit_codes_page() -> str:
    """The exit statuses."""
    rows = "\n".join(f"| {code.value} | {code.meaning} |" for code in ExitCode)
    return (
        "# Exit statuses\n\nThe same for every command.\n\n| status | means |\n|---|---|\n"
        f"{rows}\n\nA nightly run counts 3 and 4 as `could not run`, never as green. An inconclusive gate exits 3.\n"
    )
