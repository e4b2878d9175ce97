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
static void find_profile(cv_producer *producer)
{
    cv_tool like = producer->tool == CV_TOOL_OTHER || producer->tool == CV_TOOL_NONE
                       ? CV_TOOL_PTXAS
                       : (cv_tool)producer->tool;

    producer->stranger = true;
    for (size_t i = 0; i < CV_COUNT(PRODUCERS); i++) {
        if (CV_AT(PRODUCERS, i).tool != like)
            continue;
        if (producer->profile == CV_PROFILE_NONE || producer->release >= CV_AT(PRODUCERS, i).first)
            producer->profile = (uint8_t)CV_AT(PRODUCERS, i).profile;
        if (like == (cv_tool)producer->tool && producer->release >= CV_AT(PRODUCERS, i).first &&
            producer->release <= CV_AT(PRODUCERS, i).last) {
            producer->stranger = false;
            return;
        }
    }
}

void cv_producer_find(cv_ctx *ctx, cv_cubin *cubin)
{
    cv_producer producer = { .inferred = true };
    uint32_t i = cv_cubin_first(cubin, CV_ROLE_TKINFO);
    cv_span tool, version;

    if (cubin->legacy || !cubin->abi8) {
        producer.tool = cubin->hand ? CV_TOOL_HAND : CV_TOOL_LEGACY;
        producer.release = (uint16_t)cv_min(cubin->header.version, UINT16_MAX);
    } else if (i != 0 && cv_work(ctx, cv_cubin_body(cubin, i).len / 2, cubin->image.off) &&
               cv_tkinfo_peek(cv_cubin_body(cubin, i), &tool, &version)) {
        producer.inferred = false;
        producer.tool = (uint8_t)tool_of(tool);
        producer.release = (uint16_t)release_of(version);
    }
    find_profile(&producer);
    cubin->producer = producer;
    cubin->hand = cubin->hand || producer.tool == CV_TOOL_NVASM;
}
