"""Which names lines of C and C++ declare, and what a change therefore does not lack."""

import pytest

from forkguard.core.declared import declared
from forkguard.core.hunks import Change, Hunk, missing_names
from forkguard.core.pieces import tokens_of


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("float * __restrict__ s_cur = a + b;", {"s_cur"}),
        ("const auto & hparams = model.hparams;", {"hparams"}),
        ("int n_rows; size_t m{0};", {"n_rows", "m"}),
        ("std::vector<int> ids;", {"ids"}),
        ("for (int il = 0; il < n; ++il) {", {"il"}),
        ("void f(const float * src, int n) {", {"src", "n"}),
        ("ggml_tensor * cur;", {"cur"}),
        ("y = a * b;", set()),
        ("f(a * b);", set()),
        ("g(x, a * b, c);", set()),
        ("return cur;", set()),
        ("return *cur;", set()),
        ("*cur = x;", set()),
        ("3 * cur;", set()),
        ("use(cur);", set()),
        ("res->t_embd = cur;", set()),
        ("case LLM_ARCH_A: return x;", set()),
    ],
)
def test_declarations_are_told_from_uses(text: str, names: set[str]) -> None:
    assert declared(tokens_of(text.encode())) == names


def test_what_a_hunk_declares_is_not_missing() -> None:
    added = ("float * s_cur = x;\n", "use(s_cur, s_old);\n")
    hunk = Hunk("@@", 0, ("f();\n",), ("f();\n", *added), (Change(1, (), added),))
    old = ["float * s_cur = 0; float * s_old = 0; x();\n"]
    assert missing_names(hunk, old=old, ours=["float x();\n"]) == ("s_old",)
