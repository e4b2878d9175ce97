/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names of enumerators that no other file of the interface is about: words for output, and for bindings. */
#include <cuvet/cuvet.h>

#include "base/base.h"

/* A function that gives the name of an enumerator. The names of those that count from 0 are all it needs. */
#define NAME_FUNCTION(type, ...)                                                                             \
    const char *type##_name(type value)                                                                      \
    {                                                                                                        \
        static const char *const NAMES[] = { __VA_ARGS__ };                                                  \
                                                                                                             \
        return (size_t)value < CV_COUNT(NAMES) ? CV_ARRAY_GET(NAMES, value) : "?";                           \
    }

NAME_FUNCTION(cuvet_abi_kind, "struct", "member", "value")
NAME_FUNCTION(cuvet_arch_policy, "reference", "exact")
NAME_FUNCTION(cuvet_call_kind, "none", "direct", "address", "indirect", "possible")
NAME_FUNCTION(cuvet_cfi_operand, "none", "register", "column", "unsigned", "signed", "address", "distance",
              "block")
NAME_FUNCTION(cuvet_depth, "headers", "full")
NAME_FUNCTION(cuvet_field_kind, "number", "bits", "word", "raw", "flag", "place", "total", "extent", "count",
              "symbol", "section", "string", "version", "virtual-arch", "id", "padding")
NAME_FUNCTION(cuvet_final_phase, "alone", "prelink", "postlink")
NAME_FUNCTION(cuvet_place, "file", "member", "object", "named", "unnamed", "following", "finished", "program",
              "data", "section", "outside", "bytes", "table", "nested", "archive")
NAME_FUNCTION(cuvet_reason, "none", "family", "newer", "suffix", "policy", "address", "request", "kind",
              "arch-zero")
NAME_FUNCTION(cuvet_reference, "content", "result")
NAME_FUNCTION(cuvet_request, "link", "sass", "ptx", "lto-ir")
NAME_FUNCTION(cuvet_section_content, "data", "attributes", "compat", "notes", "callgraph", "prototypes",
              "rel-actions", "unified", "capsule", "frames", "symbols", "relocations", "strings", "indices",
              "nobits")
NAME_FUNCTION(cuvet_select_state, "new", "bound", "selected", "failed")

const char *cuvet_final_code_name(cuvet_final_code code)
{
    switch (code) {
#define FINAL(number, name, text)                                                                            \
    case CUVET_FINAL_##name:                                                                                 \
        return #name;
#include "finalize.def"
#undef FINAL
    }
    return "?";
}
