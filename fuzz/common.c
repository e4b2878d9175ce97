/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fz_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: property does not hold: %s\n", file, line, what);
    abort();
}

static uint32_t u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

void fz_open(fz_input *in, const uint8_t *data, size_t size)
{
    cv_islands_reuse();
    *in = (fz_input){ 0 };
    if (size >= FZ_TRAILER && u32(data + size - 4) == FZ_MAGIC) {
        size -= FZ_TRAILER;
        in->param = u32(data + size);
    }
    in->len = size;
    in->block = malloc(size ? size : 1);
    if (!in->block)
        abort();
    if (size)
        memcpy(in->block, data, size);
    in->bytes = size ? in->block : in->block + 1; /* empty: not one byte may be read */
}

void fz_close(fz_input *in)
{
    free(in->block);
    *in = (fz_input){ 0 };
}

void fz_limits(uint32_t param, cuvet_limits *lim)
{
    static const uint64_t WORK[] = { 64, 8, 1, 0 }, COUNT[] = { 0, 1, 3, 16 };
    uint64_t few = COUNT[param >> 2 & 3];

    lim->size = sizeof(*lim);
    if (cuvet_limits_preset("tiny", lim) != CUVET_OK)
        abort();
    lim->work = WORK[param & 3];
    if (few)
        lim->sections = lim->symbols = lim->containers = lim->members = few;
    if (param & 0x10)
        lim->live = 16 * CV_KIB;
    if (param & 0x20)
        lim->member = lim->header_area = lim->window = 2 * CV_KIB;
    if (param & 0x40)
        lim->diagnostics = 1;
    if (param & 0x80)
        lim->ratio = lim->lz4_ratio = lim->nesting = 1;
}

uint64_t fz_mix(uint64_t hash, uint64_t value)
{
    hash ^= value;
    __asm__("" : "+r"(hash)); /* one multiplication, not a table of them */
    return (hash ^ hash >> 29) * UINT64_C(0x9E3779B97F4A7C15);
}

uint64_t fz_mix_bytes(uint64_t hash, const void *block, uint64_t size)
{
    const uint8_t *bytes = block;
    uint64_t value;

    for (; size >= 8; size -= 8, bytes += 8) {
        memcpy(&value, bytes, 8);
        hash = fz_mix(hash, value);
    }
    for (value = size; size; size--)
        value = value << 8 | *bytes++;
    return fz_mix(hash, value);
}

bool fz_thorough;

bool fz_one_in(const fz_input *in, unsigned count)
{
    return fz_thorough || fz_mix_bytes(count, in->bytes, in->len) % count == 0;
}

uint64_t fz_diag(const cuvet_diag *diag, uint64_t base, uint64_t len)
{
    const cuvet_rule_info *info = cuvet_rule_get(diag->rule);
    uint64_t hash;

    FZ_CHECK(info != NULL, "a diagnostic has a rule");
    /* What is to be linked or finalized must keep the profile of its producer. */
    FZ_CHECK(diag->severity == info->severity || diag->severity == CUVET_NOTE ||
                 (info->cls == CUVET_C_PROFILE && diag->severity == CUVET_ERROR),
             "a diagnostic has the severity of its rule, or is a note");
    FZ_CHECK(diag->where.n <= CUVET_PATH_MAX, "the path of a diagnostic is whole");
    FZ_CHECK(diag->file_off >= base && diag->file_off - base <= len,
             "the offset of a diagnostic lies in the file");
    FZ_CHECK((diag->flags & CUVET_DIAG_INNER) != 0 || diag->length <= len - (diag->file_off - base),
             "the range of a diagnostic lies in the file");
    hash = fz_mix(fz_mix(diag->rule, diag->file_off), diag->length);
    hash = fz_mix(fz_mix(hash, (diag->flags & CUVET_DIAG_INNER) != 0), diag->inner_off);
    hash = fz_mix(fz_mix(hash, diag->got), diag->want);
    for (uint32_t i = 0; i < diag->where.n; i++)
        hash = fz_mix(hash, diag->where.step[i].index << 8 | (unsigned)diag->where.step[i].kind << 1 |
                                (diag->where.step[i].flags & CUVET_STEP_INDEX));
    return hash;
}

static void record(void *user, const cuvet_diag *diag)
{
    fz_state *fuzz = user;

    fuzz->n_diags++;
    fz_note(fuzz, fz_diag(diag, fuzz->base, fuzz->in->len));
}

cv_span fz_span(const fz_state *fuzz)
{
    return cv_span_of(fuzz->in->bytes, fuzz->in->len, fuzz->base);
}

void fz_note(fz_state *fuzz, uint64_t value)
{
    fuzz->hash = fz_mix(fuzz->hash, value);
}

void fz_note_bytes(fz_state *fuzz, const void *block, uint64_t size)
{
    fuzz->hash = fz_mix_bytes(fuzz->hash, block, size);
}

uint64_t fz_reported(const fz_state *fuzz)
{
    return fuzz->ctx.n_errors + fuzz->ctx.n_warnings + fuzz->ctx.n_notes;
}

void fz_status(fz_state *fuzz, cuvet_status status, uint64_t before)
{
    bool known = status == CUVET_OK || status == CUVET_END || status == CUVET_E_MALFORMED ||
                 status == CUVET_E_UNSUPPORTED || status == CUVET_E_LIMIT;

    FZ_CHECK(known, "a parser ends in OK, END, MALFORMED, UNSUPPORTED or LIMIT");
    FZ_CHECK(status == CUVET_OK || status == CUVET_END || fz_reported(fuzz) > before || fuzz->ctx.work_out,
             "a rejection is reported");
    fz_note(fuzz, (uint64_t)status);
}

fz_said fz_said_so_far(const fz_state *fuzz, cuvet_rule first, cuvet_rule last)
{
    fz_said said = { .first = first, .count = last - first + 1 };

    FZ_CHECK(said.count <= FZ_SAID_MOST, "a range of few rules");
    memcpy(said.times, &fuzz->ctx.seen[first], said.count * sizeof(said.times[0]));
    return said;
}

bool fz_was_said(const fz_state *fuzz, const fz_said *before, const char *rule, const char *other)
{
    bool good = true;

    for (unsigned i = 0; i < before->count; i++) {
        const char *id = cuvet_rule_get(before->first + i)->id;

        good = good && fuzz->ctx.seen[before->first + i] == before->times[i] +
                                                                (rule && strcmp(id, rule) == 0) +
                                                                (other && strcmp(id, other) == 0);
    }
    return good;
}

void fz_inside(const fz_state *fuzz, cv_span span)
{
    FZ_CHECK(span.len == 0 || (span.off >= fuzz->base && span.off - fuzz->base <= fuzz->in->len &&
                               span.len <= fuzz->in->len - (span.off - fuzz->base)),
             "a span that was returned lies in the input");
}

int fz_twice(const uint8_t *data, size_t size, uint64_t base, fz_fn *fn)
{
    uint64_t hash[2] = { 0, 0 };
    unsigned passes;
    cuvet_limits lim = { .size = sizeof(lim) };
    fz_input in;
    fz_state fuzz;

    fz_open(&in, data, size);
    fz_limits(in.param, &lim);
    passes = fz_one_in(&in, 4) ? 2 : 1;
    for (unsigned pass = 0; pass < passes; pass++) {
        cv_ctx_init(&fuzz.ctx, &fz_pool, &lim);
        fuzz.in = &in;
        fuzz.base = base;
        fuzz.hash = fuzz.n_diags = 0;
        fuzz.pass = pass;
        fuzz.ctx.emit = record;
        fuzz.ctx.emit_user = &fuzz;
        cv_ctx_unit(&fuzz.ctx, in.len);
        fn(&fuzz);
        cv_islands_drop();
        /* There are tables that can be made to have millions of them. */
        FZ_CHECK(cv_ctx_work(&fuzz.ctx) == 0 || cv_ctx_spent(&fuzz.ctx) >= fz_reported(&fuzz),
                 "each finding costs work");
        FZ_CHECK(fuzz.ctx.mem.live == 0, "nothing stays allocated");
        FZ_CHECK(fuzz.ctx.path.n == 0, "the path is empty again");
        hash[pass] = fz_mix(fuzz.hash, fuzz.ctx.verdict);
    }
    FZ_CHECK(passes < 2 || hash[0] == hash[1], "the second run is the same");
    fz_close(&in);
    return 0;
}

bool fz_ops_left(const fz_ops *ops)
{
    return ops->at < ops->size;
}

uint8_t fz_u8(fz_ops *ops)
{
    return ops->at < ops->size ? ops->bytes[ops->at++] : 0;
}

uint64_t fz_u64(fz_ops *ops)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)fz_u8(ops) << (8 * i);
    return value;
}

uint64_t fz_edge(fz_ops *ops, uint64_t len)
{
    uint8_t how = fz_u8(ops);
    uint64_t delta = how >> 4;

    switch (how & 7) {
    case 0: return delta;
    case 1: return len - cv_min(delta, len);
    case 2: return len + delta;
    case 3: return UINT64_MAX - delta;
    case 4: return (UINT64_C(1) << 32) - 8 + delta;
    case 5: return len ? fz_u8(ops) % len : 0;
    case 6: return UINT64_MAX - len + delta;
    default: return fz_u64(ops);
    }
}

size_t fz_append(uint8_t *file, size_t room, size_t size, const void *bytes, size_t count)
{
    FZ_CHECK(size <= room && count <= room - size, "a file has room");
    memcpy(file + size, bytes, count);
    return size + count;
}

void fz_ar_header(char header[FZ_AR_HEADER + 1], const char *name, size_t size)
{
    (void)snprintf(header, FZ_AR_HEADER + 1, "%-16.16s%-12d%-6d%-6d%-8s%-10zu`\n", name, 0, 0, 0, "644",
                   size);
}
