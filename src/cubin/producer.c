/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cubin/producer.h"

#include "format/note/read.h"

static const struct {
    cv_tool tool;
    uint32_t first, last;
    cv_profile profile;
} PRODUCERS[] = {
#define PRODUCER(name, tool, first, last, text) { CV_TOOL_##tool, first, last, CV_PROFILE_##name },
#include "producers.def"
#undef PRODUCER
};

static const struct {
    const char *name;
    cv_tool tool;
} TOOLS[] = {
    { "ptxas", CV_TOOL_PTXAS },         { "nvlink", CV_TOOL_NVLINK }, { "nvasm_internal", CV_TOOL_NVASM },
    { "finalizer", CV_TOOL_FINALIZER }, { "cuvet", CV_TOOL_CUVET },
};

static cv_tool tool_of(cv_span name)
{
    for (size_t i = 0; i < CV_COUNT(TOOLS); i++)
        if (cv_span_eq_str(name, CV_AT(TOOLS, i).name))
            return CV_AT(TOOLS, i).tool;
    /* The note has the name of the program file: Triton calls its compiler ptxas-blackwell. */
    return cv_span_starts(name, "ptxas") ? CV_TOOL_PTXAS : CV_TOOL_OTHER;
}

const char *cv_tool_name(cv_tool tool)
{
    for (size_t i = 0; i < CV_COUNT(TOOLS); i++)
        if (CV_AT(TOOLS, i).tool == tool)
            return CV_AT(TOOLS, i).name;
    /* Compiler and linker of the older ABI leave no name; the compiler has written by far the most. */
    return tool == CV_TOOL_LEGACY ? "toolkit" : tool == CV_TOOL_HAND ? "nvasm_internal" : "";
}

/* The release in "Cuda compilation tools, release 12.8, V12.8.93", times ten; 0: none. */
static uint32_t release_of(cv_span text)
{
    static const char MARK[] = "release ";
    uint32_t major = 0, minor = 0;
    uint64_t end = 0;
    cv_span rest;

    while (text.len) {
        text = cv_span_tail(text, cv_span_find_byte(text, 'r'));
        if (cv_span_after(text, MARK, &rest)) {
            if (!cv_span_decimal(rest, 0, &major, &end) || cv_u8_at(rest, end) != '.' ||
                !cv_span_decimal(rest, end + 1, &minor, &end) || major > 999 || minor > 9)
                return 0;
            return major * 10 + minor;
        }
        text = cv_span_tail(text, 1);
    }
    return 0;
}

/* The row of the table; of a stranger the one of the same tool, else of the compiler, whose releases are next
 * below. */
static void find_profile(cv_producer *p)
{
    cv_tool like = p->tool == CV_TOOL_OTHER || p->tool == CV_TOOL_NONE ? CV_TOOL_PTXAS : (cv_tool)p->tool;

    p->stranger = true;
    for (size_t i = 0; i < CV_COUNT(PRODUCERS); i++) {
        if (CV_AT(PRODUCERS, i).tool != like)
            continue;
        if (p->profile == CV_PROFILE_NONE || p->release >= CV_AT(PRODUCERS, i).first)
            p->profile = (uint8_t)CV_AT(PRODUCERS, i).profile;
        if (like == (cv_tool)p->tool && p->release >= CV_AT(PRODUCERS, i).first &&
            p->release <= CV_AT(PRODUCERS, i).last) {
            p->stranger = false;
            return;
        }
    }
}

void cv_producer_find(cv_ctx *x, cv_cubin *c)
{
    cv_producer p = { .inferred = true };
    uint32_t i = cv_cubin_first(c, CV_ROLE_TKINFO);
    cv_span tool, version;

    if (c->legacy || !c->abi8) {
        p.tool = c->hand ? CV_TOOL_HAND : CV_TOOL_LEGACY;
        p.release = (uint16_t)cv_min(c->h.version, UINT16_MAX);
    } else if (i != 0 && cv_work(x, cv_cubin_body(c, i).len / 2, c->image.off) &&
               cv_tkinfo_peek(cv_cubin_body(c, i), &tool, &version)) {
        p.inferred = false;
        p.tool = (uint8_t)tool_of(tool);
        p.release = (uint16_t)release_of(version);
    }
    find_profile(&p);
    c->producer = p;
    c->hand = c->hand || p.tool == CV_TOOL_NVASM;
}
