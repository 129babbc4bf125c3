"""Reading `upstream-map.toml`: text in, an `UpstreamMap` out, or an error that names file, line and key."""

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from forkguard.core.map_lines import NO_TOML, KeyPath, key_lines, line_of
from forkguard.core.map_models import AcceptTable, ArchTable, BuildTable, GateTable, UpstreamMap
from forkguard.errors import UsageProblem

__all__ = ["MAP_NAME", "AcceptTable", "ArchTable", "BuildTable", "GateTable", "UpstreamMap", "parse_map"]

MAP_NAME = "upstream-map.toml"

_SYNTAX_PLACE = re.compile(r"^(?P<what>.*) \(at (?:line (?P<line>\d+), column \d+|end of document)\)$")
_TYPE_NAMES = {
    "string_type": "a string",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a table",
    "mapping_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "date_type": "a date such as 2026-12-31, without quotes",
}


def parse_map(text: str, *, name: str) -> UpstreamMap:
    """Read a map; `name` is how errors call the file.

    Raises `UsageProblem` whose `where` is `name:line` and whose text holds the dotted key.
    """
    document = _document(text, name)
    if not document:
        raise UsageProblem(
            "the map is empty", where=f"{name}:1", hint="forkguard init --fork PATH --force  writes a new one"
        )
    try:
        parsed = UpstreamMap.model_validate(_frozen(document))
    except ValidationError as error:
        raise _problem(error, text, name) from error
    _check_ledger(parsed.accept, text, name)
    _check_archs(parsed, text, name)
    return parsed


def _document(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except NO_TOML as error:
        place = _SYNTAX_PLACE.match(str(error))
        line = place["line"] if place and place["line"] else len(text.splitlines())
        raise UsageProblem(
            f"the map is no valid TOML: {place['what'] if place else error}",
            where=f"{name}:{line}",
            hint=f"correct line {line}; strings stand in quotes, and no key may come twice",
        ) from error


def _frozen(value: Any) -> Any:
    """Lists as tuples: strict models take nothing else for a tuple."""
    if isinstance(value, dict):
        return {key: _frozen(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return tuple(_frozen(inner) for inner in value)
    return value


def _problem(error: ValidationError, text: str, name: str) -> UsageProblem:
    """The first mistake in the order of the file, in plain words."""
    lines = key_lines(text)
    details = error.errors()
    worst = min(details, key=lambda each: line_of(lines, each["loc"]))
    path: KeyPath = worst["loc"]
    key = dotted(path)
    kind, context = worst["type"], worst.get("ctx", {})
    hint = "see docs/map.md for the keys and their types"
    if kind == "extra_forbidden":
        known = known_keys(path[:-1])
        near = difflib.get_close_matches(str(path[-1]), known, n=1)
        what = f"unknown key {key}" + (f": did you mean {dotted((*path[:-1], near[0]))}?" if near else "")
        hint = f"{'rename it' if near else 'remove it'}; known here: {', '.join(known)}"
    elif kind == "missing":
        what = f"{key} is missing"
        hint = f"add it: forkguard cannot work without {key}"
    elif kind in _TYPE_NAMES:
        what = f"{key} must be {_TYPE_NAMES[kind]}, not {_shown(worst['input'])}"
    elif kind == "value_error":
        what = f"{key}: {context.get('error', worst['msg'])}"
    elif kind == "literal_error":
        what = f"{key} must be {context['expected']}, not {_shown(worst['input'])}"
    else:
        what = f"{key}: {worst['msg'][:1].lower()}{worst['msg'][1:]}, not {_shown(worst['input'])}"
    return UsageProblem(what, where=f"{name}:{line_of(lines, path)}", hint=hint)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, tuple)):
        return "a table" if isinstance(value, dict) else "a list"
    return f'"{value}"' if isinstance(value, str) else str(value)


def dotted(path: Sequence[str | int]) -> str:
    """A key path as a person writes it.

    >>> dotted(("accept", 1, "until"))
    'accept[1].until'
    """
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += ("." if text else "") + (step if re.fullmatch(r"[\w-]+", step) else f'"{step}"')
    return text


def known_keys(path: Sequence[str | int]) -> list[str]:
    """The keys that the table at this place may hold.

    >>> known_keys(("fork",))
    ['path', 'ref']
    """
    model: type[BaseModel] = UpstreamMap
    rest = list(path)
    while rest:
        field = model.model_fields.get(str(rest.pop(0)))
        inner = _model_in(field.annotation) if field else None
        if field is None or inner is None:
            return []
        model, named = inner
        if named and rest:
            rest.pop(0)
    return list(model.model_fields)


def _model_in(annotation: Any) -> tuple[type[BaseModel], bool] | None:
    """The table model inside an annotation, and whether a name or a position stands in between."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    for argument in get_args(annotation):
        found = _model_in(argument)
        if found:
            origin = getattr(annotation, "__origin__", None)
            return found[0], origin is not None and (origin is tuple or issubclass(origin, Mapping))
    return None


def _check_ledger(entries: Sequence[AcceptTable], text: str, name: str) -> None:
    seen: dict[str, int] = {}
    for position, entry in enumerate(entries):
        if entry.id in seen:
            raise UsageProblem(
                f'accept[{position}].id repeats "{entry.id}", which accept[{seen[entry.id]}] has already',
                where=f"{name}:{line_of(key_lines(text), ('accept', position, 'id'))}",
                hint="keep one of the two entries",
            )
        seen[entry.id] = position


def _check_archs(parsed: UpstreamMap, text: str, name: str) -> None:
    for arch, table in parsed.arch.items():
        if table.graph == arch:
            raise UsageProblem(
                f"arch.{arch}.graph names the arch itself",
                where=f"{name}:{line_of(key_lines(text), ('arch', arch, 'graph'))}",
                hint="name the arch whose graph this one uses, or remove the key",
            )
