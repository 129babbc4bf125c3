"""The tables of `upstream-map.toml` as typed, frozen values. Unknown keys and wrong types are errors.

Paths are as written in the map; `forkguard.cli.compose` makes them relative to the map's folder.
"""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from forkguard.core.names import check_ref
from forkguard.core.server_flags import needs_file
from forkguard.errors import UsageProblem


def _ref(text: str) -> str:
    try:
        return check_ref(text)
    except UsageProblem as problem:
        raise ValueError(problem.what) from problem


def _tree_path(text: str) -> str:
    if any(part in ("", ".", "..") for part in text.split("/")):
        raise ValueError(f"{text!r} is not a path inside the tree: write it like src/models/lfm2.cpp")
    return text


def _registry(text: str) -> str:
    path, colon, symbol = text.partition(":")
    if not colon or not path or not symbol:
        raise ValueError(f"{text!r} is not a registry: write it like src/llama-arch.cpp:llm_arch_is_hybrid")
    _tree_path(path)
    return text


Ref = Annotated[str, AfterValidator(_ref)]
PathInTree = Annotated[str, AfterValidator(_tree_path)]
RegistryName = Annotated[str, AfterValidator(_registry)]
"""`path:symbol`, for example `src/llama-arch.cpp:llm_arch_supports_rs_rollback`."""
Text = Annotated[str, Field(min_length=1)]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Count = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0, le=1_000_000)]
"""A time to wait, which must end."""
Check = Literal["crash", "liveness", "determinism", "fallback", "performance", "quality"]


class Table(BaseModel):
    """What all tables share: strict types, no unknown keys, no change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class ForkTable(Table):
    """`[fork]`: the clone, and the production branch (the one checked out where none is named)."""

    path: Text | None = None
    ref: Ref | None = None


class UpstreamTable(Table):
    """`[upstream]`: a remote of the fork, or another clone by its path; and the ref to compare with.

    A remote's ref is spelled as in the fork (`upstream/master`), another clone's as in that clone.
    """

    remote: Text | None = None
    path: Text | None = None
    ref: Ref
    base: Ref | None = None

    @model_validator(mode="after")
    def _one_place(self) -> "UpstreamTable":
        if (self.remote is None) == (self.path is None):
            raise ValueError('name the place once: either remote = "upstream", or path = "../upstream"')
        if self.remote is not None and self.remote.startswith("-"):
            raise ValueError(f"{self.remote!r} is not the name of a remote")
        return self


class DefaultsTable(Table):
    """`[defaults]`: folders instead of the user's cache folder, the archs meant by default, rules not to check."""

    trees: Text | None = None
    cache: Text | None = None
    archs: tuple[Text, ...] = ()
    disabled_rules: tuple[Text, ...] = ()


class DraftTable(Table):
    """One of `drafts`: a GGUF file (none for a type that needs none), and its `--spec-type` (else the table's)."""

    file: Text | None = None
    spec_type: Text | None = None

    @model_validator(mode="after")
    def _something(self) -> "DraftTable":
        if self.file is None and (self.spec_type is None or needs_file(self.spec_type)):
            raise ValueError('name its file: {file = "draft.gguf", spec_type = "draft-eagle3"}')
        return self


def _draft(value: object) -> object:
    """A file's name alone stands for a table with it."""
    return {"file": value} if isinstance(value, str) else value


class GateTable(Table):
    """`[gate]` and `[arch.<name>.gate]`; what the second leaves out comes from the first.

    `target`, `targets` (further ones), `draft` and `drafts` (further ones; a string or a `DraftTable`) are GGUF files
    (without them the gate uses the probe), `widths` the numbers of drafted tokens, `timeout` seconds for one
    request, `near_tie_gap` a top-2 logprob gap, `args` further words for every server. `profiles` are those of `gate
    --matrix`; `sign_key` signs receipts, and `allowed_signers` says whose signatures count (see ssh-keygen(1)).

    For `performance`: `runs` of each task, tasks of a round in a `shared_process`, and the two halves of the ceiling,
    `memory_bandwidth` in GB/s and `bytes_per_token`; for `quality`: a JSONL file of `questions`.
    """

    target: Text | None = None
    targets: tuple[Text, ...] = ()
    draft: Text | None = None
    drafts: tuple[Annotated[DraftTable, BeforeValidator(_draft)], ...] = ()
    spec_type: Text | None = None
    widths: tuple[Count, ...] = ()
    slots: tuple[Count, ...] = ()
    tokens: Count | None = None
    prompts: Text | None = None
    profile: Text | None = None
    checks: tuple[Check, ...] = ()
    fallback: Literal["pass", "fail"] | None = None
    policy: Literal["strict", "near-tie", "differential"] | None = None
    upstream: bool | None = None
    args: tuple[Text, ...] = ()
    near_tie_gap: Annotated[float, Field(gt=0)] | None = None
    timeout: Seconds | None = None
    runs: Count | None = None
    shared_process: bool = False
    memory_bandwidth: Annotated[float, Field(gt=0)] | None = None
    bytes_per_token: Count | None = None
    questions: Text | None = None
    profiles: tuple[Text, ...] = ()
    sign_key: Text | None = None
    allowed_signers: Text | None = None


class ArchTable(Table):
    """`[arch.<name>]`: one model architecture. `graph` names the arch whose graph it uses, where it has none."""

    enum: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    files: tuple[PathInTree, ...] = ()
    graph: Text | None = None
    registries: tuple[RegistryName, ...] = ()
    pulls: tuple[Count, ...] = ()
    probe: Text | None = None
    gate: GateTable | None = None


class AcceptTable(Table):
    """`[[accept]]`: a finding that someone answers for, until a date (the day itself included)."""

    id: Text
    reason: Text
    by: Text
    until: date | None = None


class BuildTable(Table):
    """`[build.<profile>]`: cmake's `-D` words and generator, the targets, and the environment of the build."""

    cmake: tuple[Text, ...] = ()
    targets: tuple[Text, ...] = ()
    generator: Text | None = None
    env: Mapping[str, str] = Field(default_factory=dict)
    jobs: Count | None = None


class PushTable(Table):
    """`[nightly] push`: a branch of a remote of the fork's that gets each candidate which passed."""

    remote: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$")]
    branch: Ref


class NightlyTable(Table):
    """`[nightly]`: what the nightly run looks at, and whom it tells.

    `archs` are those of `[defaults]`, else all of the map, where the list is empty. `target` is `latest` or a tag, in
    which one `*` may stand. `drift` says which findings make a night red: `grave` (crash, corruption), `red` (all
    that count), `report` (none); those of the drift `baseline` do not count. `keep_trees` and
    `keep_candidates` are how many built trees and candidate branches stay (all without a number). `notify_command` is
    an argv, `webhook_secret` names an environment variable.
    """

    archs: tuple[Text, ...] = ()
    profile: Text | None = None
    target: Text = "latest"
    min_age_hours: Annotated[float, Field(ge=0, le=1_000_000)] = 0
    fetch_timeout: Seconds = 900
    drift: Literal["grave", "red", "report"] = "grave"
    baseline: Text | None = None
    build: bool = True
    gate: bool = True
    report: bool = True
    keep_trees: Count | None = None
    keep_candidates: Count | None = None
    push: PushTable | None = None
    notify: Literal["changes", "always"] = "changes"
    notify_command: tuple[Text, ...] = ()
    webhook: Text | None = None
    webhook_secret: Identifier | None = None

    @model_validator(mode="after")
    def _one_star(self) -> "NightlyTable":
        if self.target.count("*") > 1:
            raise ValueError(f'target = "{self.target}" has more than one *')
        _ref(self.target.replace("*", "x"))
        return self


class ForgeTable(Table):
    """`[forge]`: where pull requests are asked for, and of which repository (`owner/name`).

    `open_requests`: of how many open requests one run reads what they change; 0 asks for none.
    """

    api: Text | None = None
    repository: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$")] | None = None
    open_requests: Annotated[int, Field(ge=0, le=1000)] = 40


class PortTable(Table):
    """`[port]`: `identifiers` are upstream's names for what the fork calls otherwise."""

    identifiers: Mapping[Identifier, Identifier] = Field(default_factory=dict)


class UpstreamMap(Table):
    """The whole map. `rule` holds the user's own rules as written: `forkguard.core.rulebook` reads them."""

    fork: ForkTable = ForkTable()
    upstream: UpstreamTable
    defaults: DefaultsTable = DefaultsTable()
    arch: Mapping[str, ArchTable] = Field(default_factory=dict)
    accept: tuple[AcceptTable, ...] = ()
    build: Mapping[str, BuildTable] = Field(default_factory=dict)
    gate: GateTable = GateTable()
    nightly: NightlyTable = NightlyTable()
    port: PortTable = PortTable()
    forge: ForgeTable = ForgeTable()
    rule: tuple[Mapping[str, Any], ...] = ()

    @property
    def watched(self) -> tuple[str, ...]:
        """The archs meant where a command names none: those of `[defaults]`, else all of the map."""
        return self.defaults.archs or tuple(self.arch)
