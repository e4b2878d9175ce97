/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Do two files hold the same program? Sections are matched by name, each exactly once, and compared: code
 * first, then debug information, relocations, and the rest. */
#include "finalize/compare.h"

#include "bytes/intern.h"

typedef struct compare_walk {
    cv_ctx *ctx;
    const cv_final_same *pair;
    cv_final *code;
    cv_keys before, after;
    cv_u8s used; /* by place in after */
} compare_walk;

cv_span cv_final_plain_name(const cv_sec *sec)
{
    cv_span rest;

    return cv_span_after(sec->name, ".nv.merc", &rest) && cv_u8_at(rest, 0) == '.' ? rest : sec->name;
}

/* The part that a section has in the comparison; false: it is not compared here. */
static bool is_compared(const compare_walk *walk, const cv_cubin *cubin, uint64_t index, cv_part *part)
{
    *part = cv_final_part(cubin, index);
    if (walk->pair->made_again && *part == CV_PART_OTHER && !cv_final_stays_again(cubin, index))
        return false;
    return *part != CV_PART_STRINGS && *part != CV_PART_SYMBOLS &&
           cv_cubin_sec(cubin, index)->header.type != CV_SHT_NULL;
}

static cuvet_status report_difference(compare_walk *walk, cv_part part, uint64_t before, uint64_t after)
{
    const cv_cubin *cubin = after ? walk->pair->after : walk->pair->before;
    uint64_t at = cubin->image.off + cv_cubin_sec(cubin, after ? after : before)->header.off;
    cv_rule rule = CV_R_FINAL_OUTPUT_CONTENT;

    *walk->code = CV_FINAL_BACKEND_BAD_OUTPUT;
    if (part == CV_PART_CODE) {
        *walk->code = CV_FINAL_CHECK_TEXT;
        rule = CV_R_FINAL_CHECK_TEXT;
    } else if (part == CV_PART_DEBUG) {
        *walk->code = CV_FINAL_CHECK_DEBUG;
        rule = CV_R_FINAL_CHECK_DEBUG;
    } else if (part == CV_PART_RELOC) {
        *walk->code = CV_FINAL_CHECK_RELOC;
        rule = CV_R_FINAL_CHECK_RELOC;
    }
    return cv_reject(walk->ctx, rule, at, after, before);
}

static cuvet_status report_out_of(compare_walk *walk, bool nomem)
{
    *walk->code = nomem ? CV_FINAL_MEMORY : CV_FINAL_LIMIT;
    return nomem ? cv_nomem(walk->ctx, 0) : CUVET_E_LIMIT;
}

/* Sections of one part, with the hashes of their names. */
static cuvet_status gather_sections(compare_walk *walk, const cv_cubin *cubin, cv_part want, cv_keys *out)
{
    cv_part part;

    cv_keys_clear(out);
    for (uint64_t i = 1; i < cubin->sec.count; i++) {
        cv_span name;

        if (!is_compared(walk, cubin, i, &part) || part != want)
            continue;
        name = cv_final_plain_name(cv_cubin_sec(cubin, i));
        if (!cv_work(walk->ctx, name.len / 4 + 1, name.off))
            return report_out_of(walk, false);
        if (!cv_keys_push(&walk->ctx->mem, out, (cv_key){ cv_siphash(walk->pair->key, name), i }))
            return report_out_of(walk, true);
    }
    cv_keys_sort(out);
    return CUVET_OK;
}

/* Find a section of the second file that was not taken yet and has the same name and contents. */
static bool take_section(compare_walk *walk, uint64_t index, uint64_t from, uint64_t hash)
{
    const cv_sec *sec = cv_cubin_sec(walk->pair->before, index);

    for (uint64_t k = from; k < walk->after.count && cv_keys_at(&walk->after, k)->key == hash; k++) {
        uint64_t other = cv_keys_at(&walk->after, k)->index;

        if (!cv_work(walk->ctx, sec->name.len / 16 + 1, sec->name.off))
            return false;
        if (*cv_u8s_at(&walk->used, k) ||
            !cv_span_eq(cv_final_plain_name(sec),
                        cv_final_plain_name(cv_cubin_sec(walk->pair->after, other))))
            continue;
        if (!cv_final_section_same(walk->ctx, walk->pair, index, other))
            continue;
        *cv_u8s_at(&walk->used, k) = 1;
        return true;
    }
    return false;
}

/* The section of the second file that should have matched, for the message: one of its name, or none. */
static uint64_t find_like(const compare_walk *walk, uint64_t from, uint64_t hash)
{
    return from < walk->after.count && cv_keys_get(&walk->after, from)->key == hash
               ? cv_keys_get(&walk->after, from)->index
               : 0;
}

static cuvet_status match_section(compare_walk *walk, cv_part part)
{
    uint64_t from = 0;

    for (uint64_t k = 0; k < walk->before.count; k++) {
        const cv_key *key = cv_keys_at(&walk->before, k);

        /* Names repeat, by the thousand in a hostile file: what was taken is not looked at again. */
        while (from < walk->after.count &&
               (cv_keys_at(&walk->after, from)->key < key->key || *cv_u8s_at(&walk->used, from)))
            from++;
        if (!take_section(walk, key->index, from, key->key))
            return walk->ctx->work_out
                       ? report_out_of(walk, false)
                       : report_difference(walk, part, key->index, find_like(walk, from, key->key));
    }
    for (uint64_t k = 0; k < walk->after.count; k++)
        if (!*cv_u8s_at(&walk->used, k))
            return report_difference(walk, part, 0, cv_keys_at(&walk->after, k)->index);
    return CUVET_OK;
}

static cuvet_status compare_part(compare_walk *walk, cv_part part)
{
    cuvet_status status = gather_sections(walk, walk->pair->before, part, &walk->before);

    if (status == CUVET_OK)
        status = gather_sections(walk, walk->pair->after, part, &walk->after);
    if (status != CUVET_OK)
        return status;
    cv_u8s_clear(&walk->used);
    if (walk->after.count != 0 && !cv_u8s_fill(&walk->ctx->mem, &walk->used, walk->after.count))
        return report_out_of(walk, true);
    return match_section(walk, part);
}

cuvet_status cv_final_compare(cv_ctx *ctx, const cv_final_same *pair, cv_final *code)
{
    static const cv_part PARTS[] = { CV_PART_CODE,  CV_PART_OTHER,   CV_PART_DEBUG,
                                     CV_PART_RELOC, CV_PART_CAPSULE, CV_PART_TWIN };
    compare_walk walk = { .ctx = ctx, .pair = pair, .code = code };
    /* Code that was made again has other contents, and debug information and records of its own: names of
     * code, and data. */
    size_t count = pair->made_again ? 2 : pair->stripped ? 4 : CV_COUNT(PARTS);
    cuvet_status status =
        cv_work(ctx, cv_sat_mul(cv_sat_add(pair->before->sec.count, pair->after->sec.count), count), 0)
            ? CUVET_OK
            : report_out_of(&walk, false);

    for (size_t i = 0; i < count && status == CUVET_OK; i++)
        status = compare_part(&walk, CV_AT(PARTS, i));
    if (status == CUVET_OK)
        status = cv_final_symbols_same(ctx, pair, code);
    if (status == CUVET_OK && pair->made_again)
        status = cv_final_references_kept(ctx, pair, code);
    cv_keys_free(&ctx->mem, &walk.before);
    cv_keys_free(&ctx->mem, &walk.after);
    cv_u8s_free(&ctx->mem, &walk.used);
    return status;
}
