"""A miniature tree in the shape of llama.cpp, in words of our own: four archs, their registries and graphs.

`heron` is a recurrent arch with a layer loop, `heronmoe` uses heron's graph, `otter` is one that has draft support
already (layer input, snapshot writes, rollback registration, node budget), `sketch` is a draft arch.
"""

ARCHS = ("otter", "heron", "heronmoe", "sketch")
LAYER_INPUT = "        res->t_layer_inp[il] = cur;\n"
SINGLE_WRITE = """            ggml_build_forward_expand(gf, ggml_cpy(ctx0, tail, state_slot(il, 0)));
"""
SNAPSHOT_WRITES = """            for (uint32_t slot = 0; slot <= cparams.n_rs_seq; ++slot) {
                ggml_build_forward_expand(gf, ggml_cpy(ctx0, tail_at(tail, slot), state_slot(il, slot)));
            }
"""


def enum_of(arch: str) -> str:
    """`heron` to `LLM_ARCH_HERON`."""
    return f"LLM_ARCH_{arch.upper()}"


def arch_header(archs: tuple[str, ...] = ARCHS) -> str:
    """`src/llama-arch.h`."""
    entries = "".join(f"    {enum_of(arch)},\n" for arch in archs)
    return (
        "#pragma once\n\n#include <string>\n\n"
        f"enum llm_arch {{\n{entries}    LLM_ARCH_UNKNOWN,\n}};\n\n"
        "bool llm_arch_is_recurrent(const llm_arch & arch);\n"
        "bool llm_arch_supports_rs_rollback(const llm_arch & arch);\n"
    )


def arch_source(*, names: tuple[str, ...] = ARCHS, rollback: tuple[str, ...] = ("otter",)) -> str:
    """`src/llama-arch.cpp`: the table of names, and two switches; `rollback` are the archs of the second."""
    table = "".join(f'    {{ {enum_of(arch) + ",":<20} "{arch}" }},\n' for arch in names)
    return (
        '#include "llama-arch.h"\n\n#include <map>\n\n'
        "static const std::map<llm_arch, const char *> LLM_ARCH_NAMES = {\n"
        f'{table}    {{ LLM_ARCH_UNKNOWN,    "(unknown)" }},\n}};\n\n'
        + _switch("llm_arch_is_recurrent", ("heron", "heronmoe"))
        + "\n"
        + _switch("llm_arch_supports_rs_rollback", rollback)
    )


def _switch(name: str, archs: tuple[str, ...]) -> str:
    cases = "".join(f"        case {enum_of(arch)}:\n" for arch in archs)
    return (
        f"bool {name}(const llm_arch & arch) {{\n    switch (arch) {{\n{cases}"
        "            return true;\n        default:\n            return false;\n    }\n}\n"
    )


def context_source(*, large: tuple[str, ...] = ("otter",)) -> str:
    """`src/llama-context.cpp`: the chain of comparisons that gives some archs a larger node budget."""
    chain = " ||\n        ".join(f"model.arch == {enum_of(arch)}" for arch in large)
    return (
        '#include "llama-context.h"\n\n'
        "uint32_t llama_context::graph_max_nodes(uint32_t n_tokens) const {\n"
        f"    if ({chain}) {{\n        return std::max<uint32_t>(n_tokens * 40, 32u * model.n_tensors());\n    }}\n"
        "    return std::max<uint32_t>(1024u, 8u * model.n_tensors());\n}\n"
    )


def model_source() -> str:
    """`src/llama-model.cpp`: the switch that makes a model of each arch."""
    cases = "".join(
        f"        case {enum_of(arch)}:\n            return new llama_model_{arch}(params);\n" for arch in ARCHS
    )
    return (
        '#include "llama-model.h"\n\n#include "models/models.h"\n\n'
        "static llama_model * llama_model_mapping(llm_arch arch, const llama_model_params & params) {\n"
        f"    switch (arch) {{\n{cases}        default:\n            return nullptr;\n    }}\n}}\n"
    )


def models_header() -> str:
    """`src/models/models.h`: a class per arch; heronmoe's graph is heron's."""
    own = (
        "    struct graph : public llm_graph_context {\n"
        "        graph(const llama_model & model, const llm_graph_params & params);\n    };\n"
    )
    shared = "    using graph = llama_model_heron::graph;\n"
    classes = "".join(
        f"struct llama_model_{arch} : public llama_model_base {{\n"
        f"    llama_model_{arch}(const struct llama_model_params & params) : llama_model_base(params) {{}}\n"
        "    void load_arch_hparams(llama_model_loader & ml) override;\n\n"
        f"{shared if arch == 'heronmoe' else own}\n"
        "    std::unique_ptr<llm_graph_context> build_arch_graph(const llm_graph_params & params) const override;\n"
        "};\n\n"
        for arch in ARCHS
    )
    return f'#pragma once\n\n#include "../llama-model.h"\n\n{classes}'


def _front(arch: str) -> str:
    return (
        '#include "models.h"\n\n'
        f"void llama_model_{arch}::load_arch_hparams(llama_model_loader & ml) {{\n"
        "    ml.get_key(LLM_KV_ATTENTION_LAYERNORM_RMS_EPS, hparams.f_norm_rms_eps);\n}\n\n"
        f"std::unique_ptr<llm_graph_context> llama_model_{arch}::build_arch_graph("
        "const llm_graph_params & params) const {\n"
        "    return std::make_unique<graph>(*this, params);\n}\n"
    )


def graph_source(arch: str, *, layer_input: bool, state: str = "") -> str:
    """`src/models/<arch>.cpp` with a layer loop; `state` are the statements that write the recurrent state."""
    tail = "            ggml_tensor * tail = tail_of(cur, il);\n"
    recurrent = f"        if (hparams.is_recr(il)) {{\n{tail}{state}        }}\n"
    return (
        _front(arch)
        + f"\nllama_model_{arch}::graph::graph(const llama_model & model, const llm_graph_params & params) :\n"
        "    llm_graph_context(params) {\n"
        "    ggml_tensor * cur = build_inp_embd(model.tok_embd);\n\n"
        "    for (int il = 0; il < n_layer; ++il) {\n"
        f"{LAYER_INPUT if layer_input else ''}"
        "        ggml_tensor * prev = cur;\n"
        "        cur = build_norm(cur, model.layers[il].attn_norm, NULL, LLM_NORM_RMS, il);\n"
        f"{recurrent if state else ''}"
        "        cur = ggml_add(ctx0, build_ffn_of(cur, il), prev);\n"
        '        cb(cur, "l_out", il);\n    }\n\n'
        "    res->t_embd = cur;\n"
        "    res->t_logits = build_lora_mm(model.output, cur);\n"
        "    ggml_build_forward_expand(gf, res->t_logits);\n}\n"
    )


def base_tree() -> dict[str, str]:
    """The tree at the commit that the fork descends from."""
    return {
        "README.md": "a small language machine\n",
        "src/llama-arch.h": arch_header(),
        "src/llama-arch.cpp": arch_source(),
        "src/llama-context.cpp": context_source(),
        "src/llama-model.cpp": model_source(),
        "src/models/models.h": models_header(),
        "src/models/otter.cpp": graph_source("otter", layer_input=True, state=SNAPSHOT_WRITES),
        "src/models/heron.cpp": graph_source("heron", layer_input=False, state=SINGLE_WRITE),
        "src/models/heronmoe.cpp": _front("heronmoe"),
        "src/models/sketch.cpp": graph_source("sketch", layer_input=False),
    }


def draft_support() -> dict[str, str]:
    """What upstream's pull request 201 changes: layer input, snapshot writes, and two rollback cases."""
    return {
        "src/models/heron.cpp": graph_source("heron", layer_input=True, state=SNAPSHOT_WRITES),
        "src/llama-arch.cpp": arch_source(rollback=("otter", "heron", "heronmoe")),
    }
