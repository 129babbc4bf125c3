"""The probes' vocabulary: a SentencePiece-style list in which text can only come out as printable ASCII.

All 256 byte tokens are there, so that any prompt can be read; the models give them, and the special tokens,
output rows of zero, so that they never win.
"""

from dataclasses import dataclass

from forkguard.core.probes.models import Key, Stored, flag

_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6
_SPACE = "\u2581"
_PAIRS = "th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co"
_SPECIAL = (("<unk>", _UNKNOWN), ("<s>", _CONTROL), ("</s>", _CONTROL), ("<mask>", _CONTROL))


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Pieces with their scores and types; ids from `first_text` on are the tokens that may win."""

    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    types: tuple[int, ...]
    first_text: int
    mask: int

    @property
    def size(self) -> int:
        """Number of tokens."""
        return len(self.pieces)

    def keys(self) -> tuple[Key, ...]:
        """The tokenizer's metadata."""
        special = (("bos", 1), ("eos", 2), ("unknown", 0), ("mask", self.mask))
        return (
            Key("tokenizer.ggml.model", Stored.STRING, "llama"),
            Key("tokenizer.ggml.tokens", Stored.ARRAY, self.pieces),
            Key("tokenizer.ggml.scores", Stored.ARRAY, self.scores),
            Key("tokenizer.ggml.token_type", Stored.ARRAY, self.types),
            *(Key(f"tokenizer.ggml.{name}_token_id", Stored.U32, token) for name, token in special),
            flag("tokenizer.ggml.add_bos_token", on=True),
            flag("tokenizer.ggml.add_space_prefix", on=True),
        )


def vocabulary() -> Vocabulary:
    """The list that every probe uses: 4 special tokens, 256 bytes, 95 printable characters, 32 letter pairs."""
    texts = [_SPACE, *(chr(code) for code in range(33, 127)), *_PAIRS.split()]
    pieces = [piece for piece, _ in _SPECIAL] + [f"<0x{byte:02X}>" for byte in range(256)]
    types = [kind for _, kind in _SPECIAL] + [_BYTE] * 256
    first_text = len(pieces)
    scores = [0.0] * first_text + [float(-rank) for rank in range(len(texts), 0, -1)]
    return Vocabulary(
        tuple(pieces + texts),
        tuple(scores),
        tuple(types + [_NORMAL] * len(texts)),
        first_text=first_text,
        mask=3,
    )
