"""What of a runtime the mutations need beside the miniature archs: rollback, decoding, verification, a server."""

from tests.support.mini_llama import arch_source, base_tree

MEMORY = """#include "llama-memory-recurrent.h"

bool llama_memory_recurrent::seq_rm(llama_seq_id seq, llama_pos from, llama_pos to) {
    if (from == 0) {
        set_rs_idx(seq, 0);
        return true;
    }
    const llama_pos back = tail_of(seq).pos - (from - 1);
    if (back >= 1 && back <= (llama_pos) n_rs_seq) {
        set_rs_idx(seq, (uint32_t) back);
        return true;
    }
    return false;
}
"""
DECODE = """
int llama_context::decode(const llama_batch & batch) {
    return run_graph(batch);
}
"""
VERIFICATION = """#include "sampling.h"

llama_tokens common_sampler_sample_and_accept_n(sampler * chain, llama_context * ctx, const llama_tokens & draft) {
    llama_tokens kept;
    size_t at = 0;
    for (; at < draft.size(); at++) {
        const llama_token best = common_sampler_sample(chain, ctx, at);
        kept.push_back(best);
        if (draft[at] != best) {
            break;
        }
    }
    if (at == draft.size()) {
        kept.push_back(common_sampler_sample(chain, ctx, at));
    }
    return kept;
}

int decode(const char * text) {
    return text[0];
}
"""
SERVER = """#include "server-context.h"

struct server_context_impl {
    bool launch_slot_with_task(server_slot & slot, server_task && task) {
        slot.task = std::move(task);
        return true;
    }
};
"""


def runtime_tree() -> dict[str, str]:
    """The miniature tree with a runtime. `otter` is registered as recurrent too, so that every mutation applies."""
    files = base_tree()
    files["src/llama-arch.cpp"] = arch_source().replace(
        "        case LLM_ARCH_HERON:\n", "        case LLM_ARCH_OTTER:\n        case LLM_ARCH_HERON:\n", 1
    )
    files["src/llama-context.cpp"] += DECODE
    return files | {
        "src/llama-memory-recurrent.cpp": MEMORY,
        "common/sampling.cpp": VERIFICATION,
        "tools/server/server-context.cpp": SERVER,
    }
