/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every section of code, data, constants and debug data that stays is the input's, byte for byte outside of
 * fields that were relocated; pieces do not overlap, and between them is nothing. */
#include "base/arith.h"
#include "link/prove/parts.h"

/* Behind the parameters of a kernel, and before the slots, is what the loader fills in. */
bool cv_prove_is_zero(const cv_prove *prove, const cv_sec *out, uint64_t from, uint64_t to)
{
    enum { STEP = 16 };

    for (; from < to; from += STEP) {
        cv_pair bytes =
            cv_slices_pair(prove->file, cv_sat_add(out->header.off, from), cv_min(to - from, STEP));

        if (bytes.low | bytes.high)
            return false;
    }
    return true;
}

/* Between pieces is what alignment asks for, all zero. */
static bool is_padding(const cv_prove *prove, const cv_sec *out, uint64_t from, uint64_t to, uint64_t align)
{
    if (to < from || to - from >= cv_max(align, 1))
        return false;
    return out->header.type == CV_SHT_NOBITS || cv_prove_is_zero(prove, out, from, to);
}

/* Pieces of these come in the order of the inputs, and nothing else is there. */
bool cv_prove_is_chain(const cv_prove *prove, const cv_sec *sec)
{
    bool debug = sec->role == CV_ROLE_DEBUG || sec->role == CV_ROLE_NV_DEBUG;

    return sec->role == CV_ROLE_TEXT || sec->role == CV_ROLE_GLOBAL_INIT || sec->role == CV_ROLE_CONSTANT ||
           (debug && !cv_prove_is_rebuilt(prove, sec));
}

/* The section becomes the one at hand. */
static void open_section(cv_prove *prove, uint32_t index)
{
    const cv_sec *sec = cv_cubin_sec(prove->in, index);
    cv_prove_section *here = &prove->here;

    here->index = index;
    here->place = *cv_prove_place_of(prove, index);
    here->body = cv_cubin_body(prove->in, index);
    here->at = cv_sat_add(cv_cubin_sec(prove->facts->result, here->place.sec)->header.off, here->place.base);
    here->used = 0;
    here->debug = sec->role == CV_ROLE_DEBUG || sec->role == CV_ROLE_NV_DEBUG;
    here->fn =
        sec->role == CV_ROLE_TEXT ? cv_prove_symbol_at(prove, cv_elf_code_symbol(sec->header.info))->out : 0;
}

static cuvet_status check_section(cv_prove *prove, uint32_t index)
{
    const cv_sec *sec = cv_cubin_sec(prove->in, index), *out;
    const cv_prove_place *place = cv_prove_place_of(prove, index);
    bool data = sec->role == CV_ROLE_GLOBAL_INIT || sec->role == CV_ROLE_CONSTANT;
    cuvet_status status;
    uint64_t *end;

    if (place->sec == 0)
        return data && sec->header.size != 0
                   ? cv_prove_fail_section(prove, CV_R_LINK_PROVE_PLACE, index, 0, 0, 0)
                   : CUVET_OK;
    if (place->sec >= prove->facts->result->sec.count)
        return cv_prove_fail_section(prove, CV_R_LINK_PROVE_PLACE, index, 0, place->base, place->sec);
    out = cv_cubin_sec(prove->facts->result, place->sec);
    end = cv_u64s_at(&prove->end, place->sec);
    if (out->role != sec->role || !cv_span_eq(out->name, sec->name) ||
        cv_sat_add(place->base, sec->header.size) > out->header.size ||
        place->base % cv_max(sec->header.align, 1) != 0 || out->header.align < sec->header.align)
        return cv_prove_fail_section(prove, CV_R_LINK_PROVE_PLACE, index, 0, place->base, place->sec);
    if (cv_prove_is_chain(prove, sec)) {
        if (!is_padding(prove, out, *end, place->base, sec->header.align))
            return cv_prove_fail_section(prove, CV_R_LINK_PROVE_PLACE, index, 0, place->base, place->sec);
    }
    *end = cv_max(*end, cv_sat_add(place->base, sec->header.size));
    if (sec->role == CV_ROLE_CONSTANT_FN && sec->bank == CV_BANK_PARAMETERS &&
        (cv_sat_add(place->base, sec->header.size) > prove->first_slot ||
         !cv_prove_is_zero(prove, out, cv_sat_add(place->base, sec->header.size), out->header.size)))
        return cv_prove_fail_section(prove, CV_R_LINK_PROVE_PLACE, index, 0, place->base, place->sec);
    if (out->header.type == CV_SHT_NOBITS || !sec->in_file)
        return CUVET_OK;
    open_section(prove, index);
    status = cv_prove_relocs(prove);
    return status == CUVET_OK ? cv_prove_bytes(prove) : status;
}

/* Relocations of the inputs by what they are about, and its bytes, which count less. */
static bool weigh(const cv_prove *prove, cv_u64s *weight, uint64_t *rows)
{
    enum { BYTES = 64 /* as much work as a relocation */ };

    *rows = 0;
    if (!cv_u64s_fill(&prove->ctx->mem, weight, prove->facts->result->sec.count))
        return false;
    for (uint64_t i = 0; i < prove->facts->in.count; i++) {
        const cv_prove_input *input = cv_prove_inputs_get(&prove->facts->in, i);

        for (uint64_t k = 1; k < input->cubin->sec.count; k++) {
            const cv_sec *sec = cv_cubin_sec(input->cubin, k);
            bool table = sec->role == CV_ROLE_REL || sec->role == CV_ROLE_RELA;
            uint64_t about = table ? sec->header.info : k, count;
            uint32_t out = about < input->cubin->sec.count
                               ? cv_prove_places_get(&prove->facts->place, input->first_sec + about)->sec
                               : 0;

            if (!table && !cv_prove_holds_content(sec))
                continue;
            count = table ? sec->header.size / cv_elf_rel_size(false, sec->role == CV_ROLE_RELA)
                          : sec->header.size / BYTES;
            *rows += table ? count : 0;
            if (out < weight->count)
                *cv_u64s_at(weight, out) = cv_sat_add(*cv_u64s_get(weight, out), count);
        }
    }
    return true;
}

/* Which lane has what lies in a section of the result: all that is asked of that, of its tables of
 * relocations and of the function in it is asked by one. */
static void share_out(const cv_u64s *weight, uint32_t count, cv_shares *shares)
{
    uint64_t all = 0;

    for (uint64_t i = 0; i < weight->count; i++)
        all = cv_sat_add(all, *cv_u64s_get(weight, i));
    cv_shares_begin(shares, count, 0, all);
    for (uint32_t i = 0; i < weight->count; i++)
        cv_shares_add(shares, i, *cv_u64s_get(weight, i));
    cv_shares_end(shares, (uint32_t)weight->count);
}

/* Sections that lie nowhere, or outside of the result, are looked at with its section 0. */
static bool is_of(const cv_prove *prove, uint64_t index, uint32_t first, uint32_t end)
{
    uint32_t out = cv_prove_place_of(prove, index)->sec;

    out = out < prove->facts->result->sec.count ? out : 0;
    return out >= first && out < end;
}

/* Sections of all inputs that lie in these of the result. Afterwards nothing is held of which one thread
 * would hold more. */
static cuvet_status check_inputs(cv_prove *prove, uint32_t first, uint32_t end)
{
    cuvet_status status = CUVET_OK;

    for (uint32_t obj = 0; obj < prove->facts->in.count && status == CUVET_OK; obj++) {
        cv_prove_open(prove, obj);
        cv_keys_clear(&prove->table);
        for (uint64_t i = 1; i < prove->in->sec.count && status == CUVET_OK; i++) {
            const cv_sec *sec = cv_cubin_sec(prove->in, i);

            if ((sec->role == CV_ROLE_REL || sec->role == CV_ROLE_RELA) &&
                is_of(prove, sec->header.info, first, end) &&
                !cv_keys_push(&prove->ctx->mem, &prove->table, (cv_key){ sec->header.info, i }))
                status = cv_nomem(prove->ctx, 0);
        }
        cv_keys_sort(&prove->table);
        for (uint64_t i = 1; i < prove->in->sec.count && status == CUVET_OK; i++)
            if (cv_prove_holds_content(cv_cubin_sec(prove->in, i)) && is_of(prove, i, first, end) &&
                !cv_prove_is_rebuilt(prove, cv_cubin_sec(prove->in, i)))
                status = check_section(prove, (uint32_t)i);
    }
    cv_keys_free(&prove->ctx->mem, &prove->table);
    cv_keys_free(&prove->ctx->mem, &prove->field);
    return status;
}

typedef struct section_job {
    cv_prove *prove;
    cv_lanes lanes;
    cv_prove_lanes lane;
    cv_shares shares;
} section_job;

static bool check_lane(void *user, uint32_t index)
{
    section_job *job = user;
    cv_prove_lane *lane = cv_prove_lanes_at(&job->lane, index);

    lane->file = *job->prove->file;
    lane->prove = *job->prove;
    lane->prove.ctx = &cv_lanes_at(&job->lanes, index)->ctx;
    lane->prove.file = &lane->file;
    lane->prove.table = lane->prove.field = (cv_keys){ 0 };
    lane->prove.use = (cv_prove_uses){ 0 };
    lane->prove.used = (cv_u32s){ 0 };
    return check_inputs(&lane->prove, cv_share_first(&job->shares, index),
                        cv_share_end(&job->shares, index)) == CUVET_OK;
}

/* Uses of shared memory that a lane found. */
static bool take_uses(cv_prove *prove, const cv_prove *lane)
{
    bool ok = lane->use.count == 0 || prove->used.items ||
              cv_u32s_fill(&prove->ctx->mem, &prove->used, prove->facts->sym.count);

    for (uint64_t i = 0; i < lane->use.count && ok; i++) {
        ok = cv_prove_uses_push(&prove->ctx->mem, &prove->use, *cv_prove_uses_get(&lane->use, i));
        if (ok)
            *cv_u32s_at(&prove->used, cv_prove_uses_get(&lane->use, i)->var) = (uint32_t)prove->use.count;
    }
    prove->array_part = prove->array_part || lane->array_part;
    return ok;
}

/* False: all of the proof is to be done again, by one thread. */
static bool run_lanes(section_job *job, uint32_t count)
{
    cv_prove *prove = job->prove;
    bool ok;

    if (!cv_prove_find_orders(prove) || !cv_prove_lanes_reserve(&prove->ctx->mem, &job->lane, count) ||
        !cv_lanes_open(&job->lanes, prove->ctx, prove->executor, count))
        return false;
    job->lane.count = count;
    ok = cv_lanes_run(&job->lanes, check_lane, job);
    for (uint32_t i = 0; i < count; i++) {
        cv_prove *lane = &cv_prove_lanes_at(&job->lane, i)->prove;
        cv_mem *mem = cv_lanes_memory(&job->lanes, i);

        ok = ok && take_uses(prove, lane);
        cv_prove_uses_free(mem, &lane->use);
        cv_u32s_free(mem, &lane->used);
    }
    cv_lanes_close(&job->lanes);
    return ok;
}

static cuvet_status check_all(cv_prove *prove)
{
    section_job job = { .prove = prove };
    cv_mem *mem = &prove->ctx->mem;
    cv_u64s weight = { 0 };
    uint64_t rows = 0;
    bool ok = !prove->executor || weigh(prove, &weight, &rows);
    uint32_t count = cv_lanes_for(prove->executor, rows);

    if (ok && count != 0) {
        share_out(&weight, count, &job.shares);
        ok = run_lanes(&job, count);
    }
    cv_u64s_free(mem, &weight);
    cv_prove_lanes_free(mem, &job.lane);
    if (!ok)
        return CUVET_E_INTERNAL;
    return count == 0 ? check_inputs(prove, 0, (uint32_t)prove->facts->result->sec.count) : CUVET_OK;
}

cuvet_status cv_prove_sections(cv_prove *prove)
{
    cuvet_status status;

    if (!cv_u64s_fill(&prove->ctx->mem, &prove->end, prove->facts->result->sec.count))
        return cv_nomem(prove->ctx, 0);
    status = cv_prove_list_kept(prove);
    if (status == CUVET_OK)
        status = cv_prove_list_tables(prove);
    if (status == CUVET_OK)
        status = cv_prove_lines(prove); /* before what refers to lines */
    if (status == CUVET_OK)
        status = check_all(prove);
    if (status == CUVET_OK)
        status = cv_prove_frames(prove);
    if (status == CUVET_OK)
        status = cv_prove_check_met(prove);
    if (status == CUVET_OK)
        status = cv_prove_ends(prove);
    return status;
}
