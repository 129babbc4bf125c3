"""From what was seen of a server, from outside and in its log, to what went wrong and when."""

from dataclasses import replace

from forkguard.core.gate import Failure, GateStage, Misbehaved, ServerEnd, Trouble
from forkguard.core.gateload import load_fault
from forkguard.core.logfacts import Abort, LoadProblem, Stage
from forkguard.core.logforms import Frame
from forkguard.core.logrules import says_out_of_memory

_KEPT_FRAMES = 12
_CONTEXT_SYMBOLS = ("llama_context::", "llama_init_from_model", "llama_new_context")


def diagnose(raised: Misbehaved | None, end: ServerEnd, *, ready: bool, answered: int) -> Trouble | None:
    """What went wrong with one server, or None.

    `raised` is what was seen before we asked the server to stop, `ready` says that it had called itself
    healthy, `answered` how many requests it had answered by then.
    """
    if raised is not None and raised.failure is Failure.STRANGER:
        return Trouble(Failure.STRANGER, _stage(end, ready=ready, answered=answered), raised.text)
    if raised is not None and raised.failure is Failure.HANG:
        stage = _stage(end, ready=ready, answered=answered)
        return Trouble(Failure.HANG, stage, raised.text, after=_lines(end.log.telling_line))
    if not end.asked:
        return _death(end, _stage(end, ready=ready, answered=answered), ready=ready)
    if raised is not None:
        return _bad_answer(raised, end, answered=answered)
    return _at_the_end(end)


def _stage(end: ServerEnd, *, ready: bool, answered: int) -> GateStage:
    if ready:
        return GateStage.LATER if answered else GateStage.FIRST_DECODE
    return GateStage.CONTEXT if end.log.stage.place >= Stage.CONTEXT.place or _made_context(end) else GateStage.LOAD


def _made_context(end: ServerEnd) -> bool:
    """A log that is not verbose does not say when the context is made; the stack of an abort does."""
    frames = (*(end.log.abort.frames if end.log.abort is not None else ()), *end.log.stray_frames)
    return any(frame.symbol.startswith(_CONTEXT_SYMBOLS) for frame in frames)


def _death(end: ServerEnd, stage: GateStage, *, ready: bool) -> Trouble:
    """The server ended by itself."""
    telling = end.log.telling_line
    abort = end.log.abort
    if abort is not None:
        return _told(abort, end, stage)
    frames = _frames(end.log.stray_frames)
    if end.signal is not None:
        return Trouble(Failure.SIGNAL, stage, f"killed by {end.signal}", signal=end.signal, frames=frames,
                       before=_lines(telling))  # fmt: skip
    ended = f"ended by itself with status {end.exit_code}"
    load = load_fault(end.log)
    if not ready and end.log.out_of_memory and (load is None or load.problem == LoadProblem.OTHER):
        return Trouble(Failure.OUT_OF_MEMORY, stage, end.log.out_of_memory[0], exit_code=end.exit_code,
                       before=_lines(ended))  # fmt: skip
    failure = Failure.EXITED if ready else Failure.LOAD_ERROR
    text = telling if telling and not ready else ended
    load = load if failure is Failure.LOAD_ERROR else None
    return Trouble(
        failure,
        stage,
        text,
        exit_code=end.exit_code,
        before=_lines("" if text == telling else telling, ended),
        load=load,
    )


def _told(abort: Abort, end: ServerEnd, stage: GateStage) -> Trouble:
    about = (abort.text, *abort.before, *abort.after)
    return Trouble(
        Failure.OUT_OF_MEMORY if any(says_out_of_memory(text) for text in about) else Failure.ABORT,
        stage,
        abort.text,
        place=abort.place,
        signal=end.signal,
        exit_code=end.exit_code,
        before=abort.before,
        after=abort.after,
        frames=_frames(abort.frames),
        child=abort.pid,
    )


def _bad_answer(raised: Misbehaved, end: ServerEnd, *, answered: int) -> Trouble:
    """The server lives and its answer is none; in router mode a child's abort is in the log all the same."""
    stage = GateStage.LATER if answered else GateStage.FIRST_DECODE
    if end.log.abort is not None:
        told = _told(end.log.abort, end, stage)
        return replace(told, signal=None, exit_code=None, before=(raised.text, *told.before))
    return Trouble(raised.failure, stage, raised.text, before=_lines(end.log.telling_line))


def _at_the_end(end: ServerEnd) -> Trouble | None:
    """The server answered all that it was asked; it must also stop when asked, and leave nobody behind."""
    if end.killed:
        return Trouble(Failure.HANG, GateStage.EXIT, "did not stop when asked, and was killed")
    if not end.stopped_well:
        return _death(end, GateStage.EXIT, ready=True)
    if end.left_behind:
        return Trouble(
            Failure.LEFT_BEHIND, GateStage.EXIT, f"left {len(end.left_behind)} process(es) behind, which were killed",
            after=end.left_behind,
        )  # fmt: skip
    return None


def _lines(*texts: str) -> tuple[str, ...]:
    return tuple(text for text in texts if text)


def _frames(frames: tuple[Frame, ...]) -> tuple[str, ...]:
    """The frames from the one that aborted on; those above it only print the backtrace."""
    names = [frame.symbol for frame in frames]
    first = names.index("ggml_abort") + 1 if "ggml_abort" in names[:-1] else 0
    kept = frames[first : first + _KEPT_FRAMES]
    return tuple(f"{frame.symbol or '?'} ({frame.module or '?'})" for frame in kept)
