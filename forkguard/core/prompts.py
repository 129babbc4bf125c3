"""The prompts that every gate asks, in words of our own.

They differ in what a model does with them: prose, code, JSON, another language, lists, numbers, a long
prompt and a long answer. A fault that needs hundreds of tokens shows only in the last two.
"""

import tomllib
from dataclasses import dataclass

from forkguard.core.map_lines import NO_TOML
from forkguard.errors import UsageProblem

_TOKENS = 128


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request: its name in reports, the text, and how many tokens (more than 0) to generate.

    `after` are token ids that follow the text, as if they had been generated already. `until_end` lets the model
    end its answer; else it goes on to `tokens`. `bare` asks for no probabilities, which cost time.
    """

    name: str
    text: str
    tokens: int
    after: tuple[int, ...] = ()
    until_end: bool = False
    bare: bool = False


_LONG = (
    "The harbour master keeps a ledger of every vessel that enters the bay. Each line holds a name, a port of "
    "origin, a cargo and the hour of arrival. On the first of the month the lines are counted and the sums are "
    "sent to the capital by the morning coach. "
    "Last winter the ice closed the northern channel for nineteen days, and the ledger shows no arrivals at all "
    "between the second and the twentieth. The pilots were paid half their wage for that time. Two of them left "
    "for the southern lakes, and one came back in spring with a boat of his own, painted green, which he named "
    "after his daughter. "
    "Since then a lighthouse has been built on the outer rock. Its lamp turns once in twelve seconds and can be "
    "seen from the market square on a clear night. The keeper lives there with a dog and a great many books, and "
    "sends his letters ashore in a sealed tin when the sea allows it. In his last letter he asked for lamp oil, "
    "a new coat, and the second volume of a history of bridges. "
)

PROMPTS = (
    Prompt("prose", "Write a short story about a lighthouse keeper who finds a bottle with a map in it.\n\n", 128),
    Prompt(
        "code",
        "def merge_intervals(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:\n"
        '    """Join overlapping intervals and return them in order."""\n',
        128,
    ),
    Prompt(
        "json",
        'A record of one weather station as JSON:\n{"station": "Harbour North", "altitude_m": 12, "readings": [',
        128,
    ),
    Prompt(
        "translation",
        "English: The train to the coast leaves at seven, and we shall have breakfast on the way.\nGerman:",
        96,
    ),
    Prompt("list", "Ten things to pack for a week of walking in the mountains:\n1.", 128),
    Prompt(
        "arithmetic",
        "A shop sells pens at 3 coins each and books at 14. Sixty coins buy four pens and how many books?",
        96,
    ),
    Prompt(
        "dialogue",
        "User: My bicycle makes a clicking noise when I pedal. What should I check first?\nAssistant:",
        128,
    ),
    Prompt("long-prompt", _LONG + "\nIn three sentences, what changed in the harbour?\n", 96),
    Prompt("long-answer", "Explain, step by step and at length, how a paper map is made from measurements.\n\n", 320),
)
"""At least eight, in the order in which they are asked."""


def read_prompts(text: str, *, name: str) -> tuple[Prompt, ...]:
    """Prompts from TOML: `[[prompt]]` tables with `name`, `text` and, if wanted, `tokens`.

    Raises `UsageProblem` naming the file for anything else, and for a name that is used twice.
    """
    hint = 'write [[prompt]] tables, each with name = "..." and text = "..."'
    try:
        tables = tomllib.loads(text).get("prompt")
    except NO_TOML as error:
        raise UsageProblem(f"bad TOML: {error}", where=name, hint=hint) from error
    if not isinstance(tables, list) or not tables:
        raise UsageProblem("this file holds no prompts", where=name, hint=hint)
    prompts = tuple(_prompt(table, name=name, hint=hint) for table in tables)
    if len({prompt.name for prompt in prompts}) < len(prompts):
        raise UsageProblem("two prompts have the same name", where=name, hint="give each a name of its own")
    return prompts


def _prompt(table: object, *, name: str, hint: str) -> Prompt:
    values = table if isinstance(table, dict) else {}
    title, text, tokens = values.get("name"), values.get("text"), values.get("tokens", _TOKENS)
    known = values.keys() <= {"name", "text", "tokens"}
    if not known or not isinstance(title, str) or not title or not isinstance(text, str) or not text:
        raise UsageProblem(f"this prompt is not one: {values!r:.80}", where=name, hint=hint)
    if type(tokens) is not int or tokens < 1:
        raise UsageProblem(f"prompt {title!r}: tokens is not a number above 0", where=name, hint=hint)
    return Prompt(title, text, tokens)
