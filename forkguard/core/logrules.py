"""What single lines of a llama-server log report: stage, load error, fallback, acceptance, timing."""

import re

from forkguard.core.logfacts import Acceptance, Fallback, LoadError, LoadProblem, Stage, Statistics, Timing

_STAGES = (
    (Stage.EXITING, "cleaning up before exit"),
    (Stage.ANSWERED, " eval time ="),
    (Stage.REQUEST, "processing task"),
    (Stage.LISTENING, "server is listening"),
    (Stage.LOADED, "model loaded"),
    (Stage.CONTEXT, "constructing llama_context"),
    (Stage.CONTEXT, "creating context"),
    (Stage.LOADING, "loading model"),
)

_LOAD = (
    (LoadProblem.TENSOR_COUNT, re.compile(r"wrong number of tensors; expected (?P<expected>\d+), got (?P<got>\d+)")),
    (LoadProblem.UNKNOWN_ARCH, re.compile(r"unknown model architecture: '?(?P<subject>[^']*)'?")),
    (LoadProblem.MISSING_KEY, re.compile(r"key not found in model: (?P<subject>\S+)")),
    (LoadProblem.MISSING_KEY, re.compile(r"requires '(?P<subject>[^']+)' in GGUF metadata")),
    (LoadProblem.MISSING_TENSOR, re.compile(r"missing tensor (?:info mapping for )?'?(?P<subject>[^'\s]+)'?")),
    (LoadProblem.TENSOR_SHAPE, re.compile(r"tensor '(?P<subject>[^']+)' has wrong shape")),
    (
        LoadProblem.FILE,
        re.compile(r"failed to open GGUF file|invalid magic|failed to read (?:magic|header|key-value)"),
    ),
    (
        LoadProblem.OTHER,
        re.compile(r"error loading model|failed to load (?:draft )?model|failed to create_?\w* ?context"),
    ),
)
_OUT_OF_MEMORY = re.compile(
    r"out of memory|OutOfMemory|std::bad_alloc|failed to allocate (?!init_barrier)"
    r"|cannot allocate memory|unable to allocate",
    re.IGNORECASE,
)
_PINNED = re.compile(r"pinned memory|reorder temp buffer", re.IGNORECASE)
_FALLBACKS = (
    (
        Fallback.CHECKPOINTS,
        re.compile(r"will use checkpoints|(?:created|restoring) speculative checkpoint|\(restore checkpoint\)"),
    ),
    (Fallback.ROLLBACK_CLAMPED, re.compile(r"n_rs_seq\s*=\s*\d+ requested .* clamping to 0")),
    (Fallback.ROLLBACK_DISABLED, re.compile(r"recurrent state rollback is not compatible .*disabling")),
    (
        Fallback.FLASH_ATTENTION_OFF,
        re.compile(r"flash.?att\w*\b.*(?:forcing off|set to disabled|disabling)", re.IGNORECASE),
    ),
    (
        Fallback.DRAFT_DROPPED,
        re.compile(
            r"speculative decoding (?:is )?not supported by this context|failed to initialize speculative decoding"
            r"|target and draft vocabs are not compatible|draft model .* (?:ignored|disabled|will not be used)"
        ),
    ),
    (Fallback.DRAFT_CLAMPED, re.compile(r"requested draft size .* clamping to \d+")),
    (Fallback.CPU_SAMPLING, re.compile(r"backend offload failed for seq_id")),
)
_OFFLOADED = re.compile(r"offloaded (\d{1,6})/(\d{1,6}) layers to GPU")
_LOADING = re.compile(r"loaded meta data with \d+ key-value pairs and \d+ tensors from (.+?)(?: \(version .*)?$")
_CLAIMED = re.compile(r"create_tensor: loading tensor (\S{1,256})$")
_STEP = re.compile(r"(?:created|restoring) speculative checkpoint|\(restore checkpoint\)")
_ROLLBACK_SLOTS = re.compile(r"\bn_rs_seq\s+= (\d{1,9})$")
_VERBOSITY = re.compile(r"verbosity = (\d{1,3})\b")
_ACCEPTANCE = re.compile(
    r"draft acceptance(?: rate)?\s*=\s*[\d.naif-]+\s*\(\s*(\d{1,12}) accepted\s*/\s*(\d{1,12}) generated\)"
    r"(?:,\s*mean (?:acceptance length|len)\s*=\s*(\d{1,9}(?:\.\d{1,9})?))?"
)
_SLOT = re.compile(r"\bid\s+(\d{1,6}) \| task (-?\d{1,9})")
_STATISTICS = re.compile(
    r"statistics\s+(\S{1,60}?):? .*?#gen tokens\s*=\s*(\d{1,18}),\s*#acc tokens\s*=\s*(\d{1,18})"
)
_TIMING = re.compile(r"(prompt )?eval time\s*=\s*(\d{1,15}(?:\.\d{1,6})?) ms\s*/\s*(\d{1,12}) (?:tokens|runs)")


def stage(text: str) -> Stage | None:
    """The stage that the line announces.

    >>> stage("main: server is listening on somewhere")
    <Stage.LISTENING: 'listening'>
    """
    return next((stage for stage, words in _STAGES if words in text), None)


def load_error(text: str) -> LoadError | None:
    """The load error that the line tells.

    >>> load_error("E load: key not found in model: tiny.width").subject
    'tiny.width'
    """
    for problem, pattern in _LOAD:
        if found := pattern.search(text):
            named = found.groupdict()
            return LoadError(
                problem,
                text.strip(),
                subject=named.get("subject") or "",
                expected=int(named["expected"]) if "expected" in named else None,
                got=int(named["got"]) if "got" in named else None,
            )
    return None


def says_out_of_memory(text: str) -> bool:
    """Whether the line tells of memory that could not be had (pinned memory has a fallback and does not count)."""
    return bool(_OUT_OF_MEMORY.search(text)) and not _PINNED.search(text)


def fallback(text: str) -> Fallback | None:
    """The fallback that the line tells of.

    >>> fallback("load_tensors: offloaded 20/33 layers to GPU")
    <Fallback.LAYERS_ON_CPU: 'layers-on-cpu'>
    """
    offloaded = _OFFLOADED.search(text)
    if offloaded is not None:
        return Fallback.LAYERS_ON_CPU if int(offloaded[1]) < int(offloaded[2]) else None
    return next((kind for kind, pattern in _FALLBACKS if pattern.search(text)), None)


def loading_file(text: str) -> str | None:
    """The model file whose header was read; what is claimed from now on is claimed from it."""
    found = _LOADING.search(text)
    return found[1] if found else None


def claimed_tensor(text: str) -> str | None:
    """The tensor that the program asks the file for.

    >>> claimed_tensor("create_tensor: loading tensor blk.0.attn_q.weight")
    'blk.0.attn_q.weight'
    """
    found = _CLAIMED.search(text)
    return found[1] if found else None


def is_speculative_step(text: str) -> bool:
    """Whether the line tells of one checkpoint made or restored by speculative decoding."""
    return bool(_STEP.search(text))


def rollback_slots(text: str) -> int | None:
    """The number of rollback snapshots that a new context has."""
    found = _ROLLBACK_SLOTS.search(text)
    return int(found[1]) if found else None


def verbosity(text: str) -> int | None:
    """The log level that the server says it has."""
    found = _VERBOSITY.search(text)
    return int(found[1]) if found else None


def acceptance(text: str) -> Acceptance | None:
    """A request's drafted and accepted tokens, in any of the three forms that builds have used.

    >>> acceptance("slot print: id  1 | task 7 | draft acceptance = 0.50000 (    1 accepted /     2 generated)")
    Acceptance(accepted=1, generated=2, mean_length=None, slot=1, task=7)
    """
    found = _ACCEPTANCE.search(text)
    if not found:
        return None
    slot = _SLOT.search(text)
    return Acceptance(
        int(found[1]),
        int(found[2]),
        mean_length=float(found[3]) if found[3] else None,
        slot=int(slot[1]) if slot else None,
        task=int(slot[2]) if slot else None,
    )


def statistics(text: str) -> Statistics | None:
    """The cumulative figures of one speculative implementation."""
    found = _STATISTICS.search(text)
    return Statistics(found[1], int(found[2]), int(found[3])) if found else None


def timing(text: str) -> tuple[bool, Timing] | None:
    """Whether it is the prompt's, and the time of one evaluation.

    >>> timing("prompt eval time =      20.00 ms /     5 tokens (4.00 ms per token)")
    (True, Timing(milliseconds=20.0, tokens=5))
    """
    found = _TIMING.search(text)
    return (found[1] is not None, Timing(float(found[2]), int(found[3]))) if found else None
