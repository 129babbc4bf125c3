"""Wiring rules from TOML: bundled files and the `[[rule]]` tables of a map, with one set of checks."""

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forkguard.core.findings import Severity
from forkguard.core.map_lines import key_lines, line_of
from forkguard.core.names import PullNumber
from forkguard.core.rules import Rule, compiled
from forkguard.errors import UsageProblem

_COMMON = {"id", "form", "title", "severity", "why"}
_NEEDED = {
    "statement": {"query"},
    "registry": {"symbol"},
    "pair": {"if", "then"},
    "consensus": {"if", "then", "share"},
}
_TEXTS = ("id", "form", "title", "severity", "why", "mend", "query", "loop", "symbol", "if", "then", "among")
_LISTS = ("drafts", "exempt", "pulls")
FIELDS = {*_TEXTS, *_LISTS, "log", "block", "share"}
"""Every key that a rule may have."""
_ID = re.compile(r"[a-z][a-z0-9-]*")
RESERVED = "statement"
"""What findings without a rule are called; no rule may take the name."""


@dataclass(frozen=True, slots=True)
class _Place:
    """One rule table in its file, for errors."""

    name: str
    lines: Mapping[tuple[str | int, ...], int]
    position: int
    id: str

    def wrong(
        self, what: str, key: str = "", *, hint: str = "docs/rules.md lists the keys of each form"
    ) -> UsageProblem:
        path = ("rule", self.position, key) if key else ("rule", self.position)
        return UsageProblem(f"rule {self.id}: {what}", where=f"{self.name}:{line_of(self.lines, path)}", hint=hint)


def read_rules(text: str, *, name: str) -> tuple[Rule, ...]:
    """Read a file of `[[rule]]` tables. Raises `UsageProblem` whose `where` is `name:line`, or `name`."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageProblem(f"bad TOML: {error}", where=name, hint="mend the file and try again") from error
    tables = document.get("rule", [])
    strange = sorted(document.keys() - {"rule"})
    if strange or not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        what = f"the file has {', '.join(strange)}" if strange else "rule is no list of tables"
        raise UsageProblem(what, where=name, hint="write each rule below a line [[rule]]; docs/rules.md has examples")
    return _read(tables, text, name)


def _read(tables: Sequence[Mapping[str, Any]], text: str, name: str) -> tuple[Rule, ...]:
    lines = key_lines(text) if tables else {}
    rules: dict[str, Rule] = {}
    for position, table in enumerate(tables):
        place = _Place(name, lines, position, str(table.get("id", f"number {position + 1}")))
        rule = _rule(table, place)
        if rule.id in rules:
            raise place.wrong("the file has another rule of this id", "id", hint="give one of the two another id")
        rules[rule.id] = rule
    return tuple(rules.values())


def rulebook(bundled: Iterable[Rule], text: str, *, name: str, disabled: Sequence[str] = ()) -> tuple[Rule, ...]:
    """The bundled rules and those of a map that `parse_map` has read; one of the same id takes a bundled one's place.

    `disabled` are ids (`[defaults] disabled_rules`) that are not checked. Raises `UsageProblem` for a bad rule, for
    one that needs a feature which no rule defines, and for a disabled id that no rule has.
    """
    rules = {rule.id: rule for rule in bundled}
    own = _read(tomllib.loads(text).get("rule", []), text, name)
    rules |= {rule.id: rule for rule in own}
    lines = key_lines(text) if own or disabled else {}
    for position, rule in enumerate(own):
        place = _Place(name, lines, position, rule.id)
        for key, wanted in (("if", rule.given), ("then", rule.needs), ("among", rule.among)):
            if wanted:
                _check_feature(rules, wanted, key, place)
    for position, wanted in enumerate(disabled):
        if wanted not in rules:
            path = ("defaults", "disabled_rules", position)
            raise UsageProblem(
                f"defaults.disabled_rules names {wanted}, and no rule has that id",
                where=f"{name}:{line_of(lines, path)}",
                hint=_close(wanted, rules),
            )
    return tuple(rule for rule in rules.values() if rule.id not in disabled)


def _check_feature(rules: Mapping[str, Rule], wanted: str, key: str, place: _Place) -> None:
    features = {rule.id: rule for rule in rules.values() if rule.form in {"statement", "registry"}}
    if wanted not in features:
        what = "is no statement or registry rule" if wanted in rules else "is no rule"
        raise place.wrong(f"{key} = {wanted!r} {what}", key, hint=_close(wanted, features))


def _close(wanted: str, known: Iterable[str]) -> str:
    names = sorted(known)
    return f"close to it: {', '.join(difflib.get_close_matches(wanted, names, n=3, cutoff=0.4) or names)}"


def _rule(table: Mapping[str, Any], place: _Place) -> Rule:
    _check_keys(table, place)
    _check_types(table, place)
    if _ID.fullmatch(table["id"]) is None or table["id"] == RESERVED:
        raise place.wrong("an id is lower-case words with hyphens, such as layer-input", "id")
    severities = [severity.value for severity in Severity]
    if table["severity"] not in severities:
        raise place.wrong(f"severity is {table['severity']!r}, not one of {', '.join(severities)}", "severity")
    rule = Rule(
        id=table["id"], form=table["form"], title=_one_line(table["title"]), severity=Severity(table["severity"]),
        why=_one_line(table["why"]), logs=_logs(table.get("log", ()), place), drafts=tuple(table.get("drafts", ())),
        mend=_one_line(table.get("mend", "")), pulls=tuple(PullNumber(pull) for pull in table.get("pulls", ())),
        exempt=frozenset(table.get("exempt", ())), query=table.get("query", ""), loop=table.get("loop", ""),
        block=table.get("block", False), symbol=table.get("symbol", ""), given=table.get("if", ""),
        needs=table.get("then", ""), share=_share(table.get("share", 1.0), place),
        among=table.get("among", ""),
    )  # fmt: skip
    _check_patterns(rule, place)
    return rule


def _check_keys(table: Mapping[str, Any], place: _Place) -> None:
    form = table.get("form", "")
    if not isinstance(form, str) or form not in _NEEDED:
        raise place.wrong(f"form is {form!r}, not one of {', '.join(_NEEDED)}", "form")
    missing = [key for key in (*sorted(_COMMON), *sorted(_NEEDED[form])) if key not in table]
    unknown = [key for key in table if key not in FIELDS]
    if missing or unknown:
        said = [f"lacks {key!r}" for key in missing] + [f"has an unknown key {key!r}" for key in unknown]
        raise place.wrong("; ".join(said), unknown[0] if unknown else "")


def _check_types(table: Mapping[str, Any], place: _Place) -> None:
    needed = _COMMON | _NEEDED[table["form"]]
    for key, value in table.items():
        wanted = str if key in _TEXTS else list if key in _LISTS else bool if key == "block" else None
        if wanted is not None and not isinstance(value, wanted):
            raise place.wrong(f"{key} is {value!r}, which is not of its type", key)
        if key in needed and isinstance(value, str) and not value.strip():
            raise place.wrong(f"{key} is empty", key)
        item = int if key == "pulls" else str
        if isinstance(value, list) and not all(type(each) is item for each in value):
            raise place.wrong(f"{key} is {value!r}, not a list of {'numbers' if item is int else 'strings'}", key)


def _logs(value: object, place: _Place) -> tuple[str, ...]:
    """One text ("" for none), or a list of them. An empty one in a list would be found in every line."""
    texts = ((value,) if value else ()) if isinstance(value, str) else value
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) and text.strip() for text in texts):
        raise place.wrong(f"log is {value!r}, not a text of the server's log or a list of such texts", "log")
    return tuple(texts)


def _share(value: object, place: _Place) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.5 < value <= 1:
        raise place.wrong(f"share is {value!r}, not a number above 0.5 and up to 1", "share")
    return float(value)


def _one_line(value: str) -> str:
    return " ".join(value.split())


def _check_patterns(rule: Rule, place: _Place) -> None:
    captures = 1
    for key, pattern in (("loop", rule.loop), ("symbol", rule.symbol), ("query", rule.query)):
        try:
            if key != "query":
                re.compile(pattern)
            elif pattern:
                captures = compiled(pattern).capture_count
        except (re.error, ValueError, SyntaxError, NameError) as error:
            raise place.wrong(f"{key} cannot be read as a query or a pattern: {error}", key) from error
    if not captures:
        raise place.wrong("query captures nothing: mark the place with @piece", "query")
