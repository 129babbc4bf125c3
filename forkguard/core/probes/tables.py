"""How the text is made to wander, and a draft to be right part of the time.

- The text tokens are put on one closed tour by a seeded permutation. The output row of each token is the embedding
  of the token before it on the tour. So the target's last embedding alone would make it walk the tour, through
  every text token, and never repeat a short loop.
- The blocks add, to that embedding, random functions of the context that are about as large. Where they win (once in
  a few tokens), the text leaves the tour and goes on elsewhere: that depends on every earlier token, through states
  and a sharp attention, so a wrong state shows within a few tokens, and no loop lasts.
- A draft knows the tour: in its own embedding and output (where its blocks add little), or in a Markov head, whose
  row for a token is a random code, the row for the token's follower being the same code. So it is right whenever the
  target stays on the tour, and wrong whenever the context wins.
- A draft that diffuses, or that reads its token through attention, has an embedding with two marks: one for every
  token, one for the mask. By them its attention finds the token that counts.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from forkguard.core.probes.describe import RANK, WIDTH, Table
from forkguard.core.probes.vocabulary import Vocabulary
from forkguard.core.probes.weights import integers, permutation, scaled

TOKEN_MARK, MASK_MARK, CODED = WIDTH - 1, WIDTH - 2, 48
"""Columns of the marks, and how many columns before them tell tokens apart."""


def tour(words: Vocabulary, *, seed: int) -> dict[int, int]:
    """Each token's follower; the text tokens form one cycle, every other token leads to one of them."""
    count = words.size - words.first_text
    order = [words.first_text + place for place in permutation("tour", count, seed=seed)]
    follower = {token: order[(place + 1) % count] for place, token in enumerate(order)}
    return {token: follower.get(token, order[token % count]) for token in range(words.size)}


def tables(words: Vocabulary, *, seed: int, embedding_shift: int) -> Mapping[Table, npt.NDArray[np.float32]]:
    """All tables of one seed; the embedding is divided by 2**embedding_shift."""
    follower = tour(words, seed=seed)
    embedding = integers("token_embd", (words.size, WIDTH), seed=seed, top=127)
    code = integers("markov", (words.size, RANK), seed=seed, top=127)
    markov = _moved(code, follower, words)
    for token in range(words.first_text):
        code[token] = markov[follower[token]]
    marked = embedding.copy()
    marked[:, CODED:] = 0
    marked[:, TOKEN_MARK] = 128
    marked[words.mask] = 0
    marked[words.mask, MASK_MARK] = 128
    plain = marked.copy()
    plain[:, CODED:] = 0
    return {
        Table.EMBEDDING: scaled(embedding, shift=embedding_shift),
        Table.OUTPUT: scaled(_moved(embedding, follower, words), shift=7),
        Table.MARKOV_CODE: scaled(code, shift=7),
        Table.MARKOV_FOLLOWER: scaled(markov, shift=5),
        Table.MARKED_EMBEDDING: scaled(marked, shift=7),
        Table.MARKED_OUTPUT: scaled(_moved(plain, follower, words), shift=7),
    }


def _moved(rows: npt.NDArray[np.int64], follower: Mapping[int, int], words: Vocabulary) -> npt.NDArray[np.int64]:
    """Each text token's row at its follower; no other token has a row."""
    moved = np.zeros_like(rows)
    for token in range(words.first_text, words.size):
        moved[follower[token]] = rows[token]
    return moved
