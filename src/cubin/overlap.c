/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Relocations of one target against each other, wherever they are listed: who patches bits that another one
 * patches gets what the two make together, in an order that nobody promises. */
#include "cubin/internal.h"

/* Sorting on top of reading. */
#define SORT_WORK 4u

typedef struct overlap_pile {
    cv_ctx *ctx;
    const cv_cubin *cubin;
    const cv_keys *list; /* see cv_cubin_check_overlap() */
    cv_keys field;       /* first bit from the begin of the target, place in: */
    cv_keys end;         /* bit behind it, place in the list of sections << 32 | entry */
    cv_u64s touched;     /* a bit for each byte of the target */
} overlap_pile;

static uint64_t section_of(const overlap_pile *pile, uint64_t index)
{
    return cv_keys_get(pile->list, index)->index >> 1;
}

static bool has_addends(const cv_cubin *cubin, uint64_t section)
{
    return cv_cubin_sec(cubin, section)->header.type != CV_SHT_REL;
}

static uint64_t offset_of(const cv_cubin *cubin, uint64_t section)
{
    return cv_sat_add(cubin->image.off, cv_cubin_sec(cubin, section)->header.off);
}

/* The field of an entry, in bits from the begin of the target; false: it is not known, and nothing is said.
 * What clears a word patches all of it. */
static bool field_of(const cv_elf_reloc *reloc, uint64_t *first, uint64_t *bits)
{
    const cv_reloc_facts *facts = cv_reloc_of(reloc->type);

    *bits = cv_reloc_has(facts, CV_USE_CLEARS) ? facts->bytes * UINT64_C(8) : facts->bits;
    *first = cv_sat_add(cv_sat_mul(reloc->off, 8), facts->pos);
    return *bits != 0;
}

/* Marks the bytes [at, at + count), 'count' at most 9; true: one of them was marked before. */
static bool mark_bytes(cv_u64s *touched, uint64_t at, uint64_t count)
{
    uint64_t bits = (UINT64_C(1) << count) - 1, shift = at % 64;
    uint64_t first = (bits & UINT64_MAX >> shift) << shift; /* what fits into the word of the first byte */
    uint64_t *low = cv_u64s_at(touched, at / 64);
    bool twice = (*low & first) != 0;

    *low |= first;
    if (shift + count > 64) {
        uint64_t *high = cv_u64s_at(touched, at / 64 + 1);

        twice = twice || (*high & bits >> (64 - shift)) != 0;
        *high |= bits >> (64 - shift);
    }
    return twice;
}

/* False: no byte is touched by two of the entries. */
static bool mark_section(overlap_pile *pile, uint64_t index, uint64_t size)
{
    uint64_t section = section_of(pile, index), first, bits;
    bool rela = has_addends(pile->cubin, section);
    cv_span body = cv_cubin_body(pile->cubin, section);
    uint64_t count = body.len / cv_elf_rel_size(pile->cubin->header.is32, rela);
    cv_elf_reloc reloc;

    if (!cv_work(pile->ctx, count, offset_of(pile->cubin, section)))
        return true;
    for (uint64_t i = 0; i < count; i++) {
        cv_elf_read_reloc(body, pile->cubin->header.is32, rela, i, &reloc);
        if (!field_of(&reloc, &first, &bits))
            continue;
        if (reloc.off >= size || mark_bytes(&pile->touched, first / 8, (first % 8 + bits + 7) / 8))
            return true;
    }
    return false;
}

/* Almost always each byte is patched by one entry at most: that takes a bit for each byte instead of an order
 * of all entries. LIMIT or NOMEM: *apart is false. */
static cuvet_status mark_group(overlap_pile *pile, uint64_t from, uint64_t to, uint64_t target, bool *apart)
{
    uint64_t size = cv_cubin_body(pile->cubin, target).len, words = size / 64 + 2;

    *apart = false;
    if (!cv_work(pile->ctx, words / 8, pile->cubin->image.off))
        return CUVET_E_LIMIT;
    if (!cv_u64s_fill(&pile->ctx->mem, &pile->touched, words))
        return cv_nomem(pile->ctx, pile->cubin->image.off);
    for (uint64_t k = from; k < to; k++)
        if (mark_section(pile, k, size))
            return CUVET_OK;
    *apart = true;
    return CUVET_OK;
}

/* The bits that each entry patches. */
static cuvet_status collect_fields(overlap_pile *pile, uint64_t index)
{
    uint64_t section = section_of(pile, index), at = offset_of(pile->cubin, section), first, bits;
    bool rela = has_addends(pile->cubin, section);
    cv_span body = cv_cubin_body(pile->cubin, section);
    uint64_t count = body.len / cv_elf_rel_size(pile->cubin->header.is32, rela);

    if (count > UINT32_MAX) { /* no file has as many, and two numbers fit a key */
        cv_sec_report(pile->ctx, pile->cubin, section, CV_R_LIMIT_RELOCS, CV_SH_SIZE, count, UINT32_MAX);
        return CUVET_E_LIMIT;
    }
    if (!cv_work(pile->ctx, SORT_WORK * count, at))
        return CUVET_E_LIMIT;
    for (uint64_t i = 0; i < count; i++) {
        cv_elf_reloc reloc;

        cv_elf_read_reloc(body, pile->cubin->header.is32, rela, i, &reloc);
        if (!field_of(&reloc, &first, &bits))
            continue;
        if (!cv_keys_push(&pile->ctx->mem, &pile->field, (cv_key){ first, pile->end.count }) ||
            !cv_keys_push(&pile->ctx->mem, &pile->end, (cv_key){ cv_sat_add(first, bits), index << 32 | i }))
            return cv_nomem(pile->ctx, at);
    }
    return CUVET_OK;
}

static void report_overlap(const overlap_pile *pile, uint64_t which, uint64_t first, uint64_t end)
{
    uint64_t section = section_of(pile, which >> 32), i = which & UINT32_MAX;
    uint64_t size = cv_elf_rel_size(pile->cubin->header.is32, has_addends(pile->cubin, section));

    cv_path_push(pile->ctx, CUVET_P_SECTION, true, section);
    cv_report_at(pile->ctx, CUVET_P_RELOC, i, CV_R_RELOC_BITS, offset_of(pile->cubin, section) + i * size, 0,
                 first, end);
    cv_path_pop(pile->ctx);
}

/* Sections [from, to) of the list have one target. */
static cuvet_status check_group(overlap_pile *pile, uint64_t from, uint64_t to, uint64_t target)
{
    bool apart = false;
    cuvet_status status = mark_group(pile, from, to, target, &apart);
    uint64_t last = 0;

    if (status != CUVET_OK || apart)
        return status;
    cv_keys_clear(&pile->field);
    cv_keys_clear(&pile->end);
    for (uint64_t k = from; k < to && status == CUVET_OK; k++)
        status = collect_fields(pile, k);
    cv_keys_sort(&pile->field);
    for (uint64_t place = 0; place < pile->field.count && status == CUVET_OK; place++) {
        const cv_key *first = cv_keys_at(&pile->field, place), *end = cv_keys_at(&pile->end, first->index);

        if (first->key < last)
            report_overlap(pile, end->index, first->key, last);
        last = cv_max(last, end->key);
    }
    return status;
}

cuvet_status cv_cubin_check_overlap(cv_ctx *ctx, const cv_cubin *cubin, const cv_keys *list)
{
    overlap_pile pile = { .ctx = ctx, .cubin = cubin, .list = list };
    cuvet_status status = CUVET_OK;

    for (uint64_t from = 0, to; from < list->count && status == CUVET_OK; from = to) {
        uint64_t target = cv_keys_get(list, from)->key;

        for (to = from + 1; to < list->count && cv_keys_get(list, to)->key == target;)
            to++;
        if (to - from > 1 || (cv_keys_get(list, from)->index & 1) == 0)
            status = check_group(&pile, from, to, target);
    }
    cv_keys_free(&ctx->mem, &pile.field);
    cv_keys_free(&ctx->mem, &pile.end);
    cv_u64s_free(&ctx->mem, &pile.touched);
    return status;
}

/* Tables of one target, and what their entries touch. */
typedef struct frame_pile {
    cv_ctx *ctx;
    const cv_cubin *cubin;
    cv_keys table; /* number of its first entry, relocation section */
    cv_keys entry; /* offset, number of the entry << TOUCHED_BITS | bytes that it touches */
    uint64_t count;
} frame_pile;

enum { TOUCHED_BITS = 4, TOUCHED_MOST = (1 << TOUCHED_BITS) - 1 };

static cuvet_status collect_frames(frame_pile *pile, uint64_t section)
{
    bool rela = has_addends(pile->cubin, section), is32 = pile->cubin->header.is32,
         merc = cv_is_merc_rela(cv_cubin_sec(pile->cubin, section)->header.type);
    cv_span body = cv_cubin_body(pile->cubin, section);
    uint64_t count = body.len / cv_elf_rel_size(is32, rela);
    bool ok = cv_keys_push(&pile->ctx->mem, &pile->table, (cv_key){ pile->count, section });
    cv_elf_reloc reloc;

    for (uint64_t i = 0; i < count && ok; i++) { /* paid for when they were read */
        uint64_t touched;

        cv_elf_read_reloc(body, is32, rela, i, &reloc);
        touched = merc ? 1 : cv_max(1, cv_reloc_of(reloc.type)->bytes);
        ok = cv_keys_push(
            &pile->ctx->mem, &pile->entry,
            (cv_key){ reloc.off, pile->count++ << TOUCHED_BITS | cv_min(touched, TOUCHED_MOST) });
    }
    return ok ? CUVET_OK : cv_nomem(pile->ctx, body.off);
}

static const cv_key *table_of(const frame_pile *pile, uint64_t number)
{
    return cv_keys_get(&pile->table, cv_keys_lower_bound(&pile->table, number + 1) - 1);
}

/* Entry 'number' begins in the bytes of entry 'last': that of the later table is said. */
static void report_frame(const frame_pile *pile, uint64_t number, uint64_t last, uint64_t off, uint64_t end)
{
    const cv_key *table = table_of(pile, number), *before = table_of(pile, last);
    uint64_t i = number - table->key, size;

    if (before->key > table->key) {
        table = before;
        i = last - table->key;
    }
    size = cv_elf_rel_size(pile->cubin->header.is32, has_addends(pile->cubin, table->index));
    cv_path_push(pile->ctx, CUVET_P_SECTION, true, table->index);
    cv_report_at(pile->ctx, CUVET_P_RELOC, i, CV_R_RELOC_OVERLAP,
                 offset_of(pile->cubin, table->index) + i * size, 0, off, end);
    cv_path_pop(pile->ctx);
}

static void report_frames(const frame_pile *pile)
{
    uint64_t end = 0, last = 0;

    for (uint64_t k = 0; k < pile->entry.count; k++) {
        const cv_key *entry = cv_keys_get(&pile->entry, k);
        uint64_t number = entry->index >> TOUCHED_BITS;

        if (k != 0 && entry->key < end)
            report_frame(pile, number, last, entry->key, end);
        end = cv_sat_add(entry->key, entry->index & TOUCHED_MOST);
        last = number;
    }
}

/* Call frames are stepped through from address to address: two that overlap never end. Several tables may be
 * for the same frames. */
cuvet_status cv_cubin_check_frames(cv_ctx *ctx, const cv_cubin *cubin, const cv_keys *list)
{
    frame_pile pile = { .ctx = ctx, .cubin = cubin };
    cuvet_status status = CUVET_OK;

    for (uint64_t at = 0; at < list->count && status == CUVET_OK;) {
        uint64_t target = cv_keys_get(list, at)->key;

        cv_keys_clear(&pile.table);
        cv_keys_clear(&pile.entry);
        pile.count = 0;
        for (; at < list->count && cv_keys_get(list, at)->key == target && status == CUVET_OK; at++)
            status = collect_frames(&pile, cv_keys_get(list, at)->index);
        cv_keys_sort(&pile.entry);
        report_frames(&pile);
    }
    cv_keys_free(&ctx->mem, &pile.table);
    cv_keys_free(&ctx->mem, &pile.entry);
    return status;
}
