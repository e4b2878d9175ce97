/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "intake/kind_code.h"

#include "format/bitcode/read.h"
#include "format/fatbin/read.h"
#include "intake/examine.h"
#include "intake/kind_fatbin_agree.h"
#include "intake/locate.h"
#include "intake/probe.h"
#include "intake/region.h"
#include "intake/search.h"

/* First bytes that are read of an object, and most; a triple was found at 29,159 at the latest. */
#define HEAD     (64 * CV_KIB)
#define HEAD_MAX (16 * CV_MIB)

/* What is read of a module at a time behind its triple, and where a record takes more. */
#define PART     (64 * CV_KIB)
#define PART_MAX (2 * CV_MIB)

/* A hit of the search costs as much as so many bytes of it. */
#define HIT_WORK UINT64_C(32)

/* Blocks behind a module: names and symbols. */
#define BLOCKS_MAX 8u

/* More and more of the beginning, until the triple is found. */
static cuvet_status read_head(const cv_ir *ir, cv_bc *bitcode)
{
    uint64_t head = cv_min(ir->size, HEAD);

    for (;;) {
        cuvet_status status = cv_block_load(ir->ctx, ir->head, ir->src, ir->off, head);

        if (status == CUVET_OK)
            status = cv_bc_read(ir->ctx, ir->head->span, ir->size, bitcode);
        if (status != CUVET_OK || bitcode->more <= head || head >= HEAD_MAX)
            return status;
        head = cv_min(cv_max(bitcode->more, head * 16), cv_min(ir->size, HEAD_MAX));
    }
}

/* LLVM takes the last triple of a module: all of it is passed over, a part at a time. What cannot be read
 * leaves bitcode->whole unset. */
static cuvet_status read_rest(const cv_ir *ir, cv_bc *bitcode)
{
    uint64_t size = PART;

    while (bitcode->at != 0 && !bitcode->whole && bitcode->at / 8 < bitcode->next - bitcode->off) {
        uint64_t before = bitcode->at, first = before / 8, off = bitcode->off + first;
        cuvet_status status =
            cv_block_load(ir->ctx, ir->tmp, ir->src, ir->off + off, cv_min(bitcode->end - off, size));

        if (status == CUVET_OK)
            status = cv_bc_rest(ir->ctx, ir->head->span, ir->tmp->span, first, bitcode);
        if (status != CUVET_OK || (bitcode->at == before && size == PART_MAX))
            return status;
        size = bitcode->at == before ? PART_MAX : PART;
    }
    return CUVET_OK;
}

/* A second module may be for another machine than the first. */
static cuvet_status has_one_module(const cv_ir *ir, const cv_bc *bitcode, bool *one)
{
    uint64_t at = bitcode->next, size = 0;
    bool module = false;

    *one = bitcode->next != 0;
    for (unsigned count = 0; *one && at < bitcode->end; count++, at += size) {
        cuvet_status status = cv_block_load(ir->ctx, ir->tmp, ir->src, ir->off + at,
                                            cv_min(bitcode->end - at, CV_BC_BLOCK_HEADER));

        if (status != CUVET_OK)
            return status;
        *one = count < BLOCKS_MAX && cv_bc_block(ir->tmp->span, &module, &size) && !module &&
               size <= bitcode->end - at;
    }
    return CUVET_OK;
}

cuvet_status cv_ir_bitcode(const cv_ir *ir, cv_mem *mem, cv_u8s *triple)
{
    cv_bc bitcode;
    cuvet_status status = read_head(ir, &bitcode);
    cv_span text;
    bool one = false;

    if (status == CUVET_OK)
        status = read_rest(ir, &bitcode);
    if (status != CUVET_OK)
        return status;
    text = cv_span_of(bitcode.triple, bitcode.n_triple, 0);
    for (uint64_t i = 0; i < text.len; i++) {
        if (!cv_u8s_push(mem, triple, cv_u8_at(text, i)))
            return cv_nomem(ir->ctx, ir->off);
    }
    if (text.len == 0)
        cv_report(ir->ctx, CV_R_BC_STREAM, ir->off, 0, ir->head->span.len, 0);
    if (bitcode.n_triples > 1)
        cv_report(ir->ctx, CV_R_BC_TRIPLES, ir->off, 0, bitcode.n_triples, 1);
    if (bitcode.others && bitcode.whole && !bitcode.embeds && !ir->for_cuda)
        status = has_one_module(ir, &bitcode, &one);
    cv_report(ir->ctx, one ? CV_R_BC_OTHER_MACHINE : CV_R_BC_OPAQUE, ir->off, ir->size, ir->size, 0);
    return status;
}

cuvet_status cv_ir_ltoir(const cv_ir *ir, uint32_t *sm)
{
    cuvet_status status = cv_block_load(ir->ctx, ir->head, ir->src, ir->off, cv_min(ir->size, HEAD));

    if (status != CUVET_OK)
        return status;
    *sm = (uint32_t)(cv_fatbin_get(ir->head->span, CV_FB_FIELD_LTOIR_ARCH_TENTHS) / 10);
    cv_report(ir->ctx, CV_R_BC_LTOIR, ir->off, ir->size, ir->size, 0);
    return CUVET_OK;
}

cuvet_status cv_ir_search(const cv_ir *ir, uint64_t *at)
{
    uint64_t from = ir->off, end = ir->off + ir->size;
    bool found = true;
    cv_span head;

    *at = ir->size;
    while (found) {
        uint64_t hit = end;
        cuvet_status status = cv_search(ir->ctx, ir->window, ir->src, from, end, &found, &hit, &head);

        if (status != CUVET_OK)
            return status;
        if (found && !cv_work(ir->ctx, HIT_WORK, hit))
            return CUVET_OK;
        if (found && cv_locate_is_code(head)) {
            *at = hit - ir->off;
            cv_report(ir->ctx, CV_R_FATBIN_HIDDEN, hit, 8, *at, 0);
            return CUVET_OK;
        }
        from = hit + 4;
    }
    return CUVET_OK;
}

static void examine_ir(cv_examine_job *job)
{
    cv_result *result = job->result;
    cv_ir ir = { job->ctx, &job->worker->stored, &job->worker->head,      &job->worker->window,
                 job->src, job->unit->off,       job->unit->payload_size, job->unit->for_cuda };
    bool bitcode = job->unit->row->kind == CUVET_K_BITCODE;
    bool full = job->opt->depth == CUVET_DEPTH_FULL && !job->unit->skip_payload;

    result->item.kind = bitcode ? CUVET_K_BITCODE : CUVET_K_LTOIR;
    result->item.stored_size = result->item.unpacked_size = ir.size;
    if (!job->unit->skip_payload)
        (void)cv_job_keep(job, bitcode ? cv_ir_bitcode(&ir, result->mem, &result->triple)
                                       : cv_ir_ltoir(&ir, &result->item.arch));
    if (job->opt->ledger)
        cv_ledger_claim(job->ctx, &result->file, ir.off, ir.size, CV_CLAIM_PAYLOAD, 0, false);
    result->nested = full && cv_job_keep(job, cv_ir_search(&ir, &result->nested_off)) == CUVET_OK &&
                     result->nested_off < ir.size;
    result->nested_len = ir.size - cv_min(result->nested_off, ir.size);
}

static cv_probe_result probe_bitcode(cv_span head)
{
    return cv_bc_probe(head) == CV_BC_NONE ? CV_PROBE_NO : CV_PROBE_YES;
}

/* IR takes all of the object, as text does. Code that hides in it is found when it is examined. */
const cv_container_ops cv_kind_bitcode = { .name = "bitcode",
                                           .kind = CUVET_K_BITCODE,
                                           .step = CUVET_P_BITCODE,
                                           .probe = probe_bitcode,
                                           .next = cv_walk_whole,
                                           .examine = examine_ir };

static cv_probe_result probe_ltoir(cv_span head)
{
    return cv_u32_at(head, 0) == CV_LTOIR_MAGIC ? CV_PROBE_YES : CV_PROBE_NO;
}

static cuvet_status describe_ltoir(cv_look *look)
{
    return cv_look_found(look, CUVET_K_LTOIR);
}

static const cv_magic LTOIR_MAGICS[] = { { CV_LTOIR_MAGIC, 4, 2, CUVET_K_LTOIR } };

const cv_container_ops cv_kind_ltoir = { .name = "LTO-IR",
                                         .kind = CUVET_K_LTOIR,
                                         .step = CUVET_P_LTOIR,
                                         .magic = LTOIR_MAGICS,
                                         .n_magics = CV_COUNT(LTOIR_MAGICS),
                                         .probe = probe_ltoir,
                                         .describe = describe_ltoir,
                                         .next = cv_walk_whole,
                                         .examine = examine_ir };
