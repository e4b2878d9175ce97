/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "linking.h"

#include <string.h>

#include "api/linker_int.h"
#include "cubin/admit.h"
#include "intake/probe.h"
#include "mutate_int.h"
#include "target/arch.h"

size_t fz_split(const uint8_t *bytes, size_t size, fz_piece *out)
{
    size_t count = 0, at = 0;

    while (at < size && count < FZ_OBJECTS) {
        size_t end = count + 1 < FZ_OBJECTS ? mut_next_object(bytes, size, at + 1) : size;

        out[count++] = (fz_piece){ .bytes = bytes + at, .size = end - at };
        at = end;
    }
    return count;
}

/* SM of the first object, as its header says. */
static uint32_t own_sm(const fz_input *in)
{
    return in->len > 49 ? in->bytes[49] : 0;
}

cuvet_linker_options fz_linker_options(const fz_input *in)
{
    static const char *const USED[1] = { "k" };
    cuvet_linker_options options = { .size = sizeof(options) };
    size_t count = 0, want = in->param >> 8 & 31, first = SIZE_MAX;

    while (cuvet_target_get(count, &options.target) == CUVET_OK) {
        if (first == SIZE_MAX && options.target.sm == (want ? 90 : own_sm(in)))
            first = count;
        count++;
    }
    for (size_t i = 0; first == SIZE_MAX; i++) {
        FZ_CHECK(cuvet_target_get(i, &options.target) == CUVET_OK, "sm_90 is a target");
        first = options.target.sm == 90 ? i : SIZE_MAX;
    }
    FZ_CHECK(cuvet_target_get((first + want) % count, &options.target) == CUVET_OK, "a target");
    options.flags |= (in->param >> 13 & 1) ? CUVET_LINK_RELOCATABLE : 0;
    options.flags |=
        ((options.flags & CUVET_LINK_RELOCATABLE) && in->param >> 14 & 1) ? CUVET_LINK_EXACT_RELOCATABLE : 0;
    options.flags |= (in->param >> 15 & 1) ? CUVET_LINK_DEBUG : 0;
    options.flags |= (in->param >> 16 & 1) ? CUVET_LINK_PRESERVE_RELOCS : 0;
    options.flags |= (in->param >> 17 & 1) ? CUVET_LINK_NO_STACK_WARNING : 0;
    options.flags |= (in->param >> 18 & 1) ? CUVET_LINK_WARNINGS_ARE_ERRORS : 0;
    options.kernels_used = USED;
    options.n_kernels_used = in->param >> 19 & 1;
    options.policy = in->param >> 21 & 1 ? CUVET_ARCH_EXACT : CUVET_ARCH_REFERENCE;
    return options;
}

/* Class, rules, admission, in this order, as the public linker does. */
bool fz_take(cv_link *link, cv_span image, const char *name)
{
    const cv_admit_for wanted = { .target = link->options->target,
                                  .policy = link->options->policy,
                                  .toolkit = link->options->toolkit,
                                  .finished = true };
    cuvet_content_info content = { .size = sizeof(content) };
    uint64_t extent = 0;
    cv_cubin parsed;
    cuvet_status status;

    cv_ctx_unit(link->ctx, image.len);
    if (cv_classify(link->ctx, image, 0, &content) != CUVET_OK || content.type != CUVET_K_CUBIN)
        return false;
    cv_cubin_init(&parsed);
    status = cv_cubin_examine(link->ctx, &parsed, image, NULL, &extent);
    if (status == CUVET_OK)
        cv_cubin_check_tail(link->ctx, image, extent, 0);
    if (status == CUVET_OK)
        status = cv_verdict_status(link->ctx->verdict);
    if (status == CUVET_OK)
        status = cv_admit(link->ctx, &parsed, &wanted);
    if (status == CUVET_OK)
        status = cv_link_add(link, image, &parsed, name);
    if (status != CUVET_OK)
        cv_cubin_free(link->ctx, &parsed);
    return status == CUVET_OK;
}

void fz_link_open(fz_link *linking, fz_state *fuzz, bool turned, uint64_t key)
{
    static const char *const NAMES[FZ_OBJECTS] = { "a", "b", "c" };
    cv_emit_fn *emit = fuzz->ctx.emit;
    cv_link_options options;

    *linking = (fz_link){ .fuzz = fuzz, .opt = fz_linker_options(fuzz->in) };
    linking->count = fz_split(fuzz->in->bytes, fuzz->in->len, linking->piece);
    options = cv_linker_options_of(&linking->opt);
    options.key[0] = key;
    options.key[1] = ~key;
    cv_link_begin(&linking->link, &fuzz->ctx, &options);
    fuzz->ctx.emit = NULL;
    for (size_t i = 0; i < linking->count; i++) {
        size_t which = turned != (fuzz->in->param >> 20 & 1) ? linking->count - 1 - i : i;
        fz_piece *piece = &linking->piece[which];

        linking->from[linking->link.inputs->obj.count] = which;
        piece->added = cv_block_copy(&fuzz->ctx, &linking->image[i],
                                     cv_span_of(piece->bytes, piece->size, 0)) == CUVET_OK &&
                       fz_take(&linking->link, linking->image[i].span, NAMES[which]);
    }
    linking->link.file->block = &linking->out;
    linking->link.file->slices = &linking->file;
    fuzz->ctx.emit = emit;
    cv_ctx_unit(&fuzz->ctx, 2 * fuzz->in->len);
}

void fz_link_status(cuvet_status status)
{
    FZ_CHECK(status != CUVET_E_INTERNAL, "no stage leaves behind what its checker refuses");
    FZ_CHECK(status != CUVET_E_NOMEM, "there is memory for a link within the limits");
    FZ_CHECK(status == CUVET_OK || status == CUVET_E_REFUSED || status == CUVET_E_LIMIT,
             "a status that a link has");
}

cuvet_status fz_link_run(fz_link *linking, const char *stage)
{
    uint64_t last = 0;
    cuvet_status status;

    while (stage && cv_link_stage(last) && strcmp(cv_link_stage(last), stage) != 0)
        last++;
    FZ_CHECK(cv_link_stage(last) != NULL, "a stage of that name");
    status = cv_link_run_to(&linking->link, stage ? last : UINT64_MAX);
    fz_link_status(status);
    FZ_CHECK(status == CUVET_OK || fz_reported(linking->fuzz), "a refusal is reported");
    return status;
}

void fz_link_close(fz_link *linking)
{
    cv_link_end(&linking->link);
    cv_slices_free(&linking->fuzz->ctx.mem, &linking->file);
    cv_block_free(&linking->fuzz->ctx, &linking->out);
    for (size_t i = 0; i < FZ_OBJECTS; i++)
        cv_block_free(&linking->fuzz->ctx, &linking->image[i]);
}

bool fz_link_roomy(const fz_state *fuzz)
{
    return fuzz->ctx.lim.live >= CV_MIB && !(fuzz->in->param & 0xFF);
}

/* Would a linker for its own target take it? Asked by the mutator. */
static bool linkable(const uint8_t *bytes, size_t size)
{
    fz_input in = { .bytes = (uint8_t *)(uintptr_t)bytes, .len = size };
    fz_state fuzz = { .in = &in };
    cuvet_limits lim = { .size = sizeof(lim) };
    bool taken;
    fz_link linking;

    fz_limits(0, &lim);
    cv_ctx_init(&fuzz.ctx, &fz_pool, &lim);
    fz_link_open(&linking, &fuzz, false, 1);
    taken = linking.piece[0].added && linking.piece[0].size == size;
    fz_link_close(&linking);
    cv_islands_drop();
    return taken;
}

size_t fz_mutate_link(uint8_t *data, size_t size, size_t max, unsigned seed, fz_raw_fn *raw)
{
    return cv_mutate_link(data, size, max, seed, raw, linkable);
}

/* An object of one input and one of another. */
size_t fz_cross_link(const uint8_t *left, size_t na, const uint8_t *right, size_t nb, uint8_t *out,
                     size_t max, unsigned seed)
{
    fz_piece first[FZ_OBJECTS], second[FZ_OBJECTS], two[2];
    size_t count, most, len = 0;

    na -= na >= FZ_TRAILER && memcmp(left + na - 4, "CVFZ", 4) == 0 ? FZ_TRAILER : 0;
    count = fz_split(left, na, first);
    most = fz_split(right, nb, second); /* keeps its parameters when its last object is taken */
    if (count == 0 || most == 0)
        return 0;
    two[0] = first[seed / 2 % count];
    two[1] = second[seed / 8 % most];
    for (unsigned i = 0; i < 2 && two[i].size <= max - len; i++) {
        memcpy(out + len, two[i].bytes, two[i].size);
        len += two[i].size;
    }
    return len;
}
