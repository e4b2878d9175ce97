/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Relocations that the result has: each is that of an input, or one that the loader needs for a slot. */
#include "base/arith.h"
#include "link/prove/parts.h"

/* A table or a section of the result and a place in it, as one number. */
enum { OFFSET_BITS = 40 };
#define OFFSET_MASK ((UINT64_C(1) << OFFSET_BITS) - 1)

static uint64_t key_of(uint64_t number, uint64_t off)
{
    return (number & ((UINT64_C(1) << (64 - OFFSET_BITS)) - 1)) << OFFSET_BITS | (off & OFFSET_MASK);
}

static bool is_header(uint32_t type)
{
    return type == CV_R_CUDA_TEX_HEADER_INDEX || type == CV_R_CUDA_SAMP_HEADER_INDEX ||
           type == CV_R_CUDA_SURF_HEADER_INDEX || type == CV_R_CUDA_SAMP_HEADER_INDEX_0;
}

/* Takes the bytes of the row alone: builds for tests copy what is taken. */
void cv_prove_read_row(const cv_cubin *cubin, uint64_t table, uint64_t row, cv_elf_reloc *out)
{
    const cv_sec *sec = cv_cubin_sec(cubin, table);
    bool rela = sec->role == CV_ROLE_RELA;
    uint64_t size = cv_elf_rel_size(false, rela);
    cv_span body;

    if (!sec->in_file || !cv_span_sub(cubin->image, cv_sat_add(sec->header.off, row * size), size, &body))
        body = cv_span_of(NULL, 0, 0);
    cv_elf_read_reloc(body, false, rela, 0, out);
}

static void read_row(const cv_prove *prove, uint64_t index, cv_elf_reloc *out)
{
    cv_prove_read_row(prove->facts->result, index >> 32, index & UINT32_MAX, out);
}

/* A slot is that of one symbol, the same for every kernel. */
static cuvet_status enter_slot(cv_prove *prove, const cv_elf_reloc *reloc, uint64_t table)
{
    uint64_t *slot;

    if (reloc->sym >= prove->slot.count)
        return cv_prove_fail(prove, CV_R_LINK_PROVE_MEMORY, CUVET_P_SECTION, table, 0, reloc->off,
                             reloc->sym);
    slot = cv_u64s_at(&prove->slot, reloc->sym);
    if (*slot != 0 && *slot != reloc->off + 1)
        return cv_prove_fail(prove, CV_R_LINK_PROVE_MEMORY, CUVET_P_SECTION, table, 0, reloc->off, *slot - 1);
    *slot = reloc->off + 1;
    return CUVET_OK;
}

static cuvet_status enter_headers(cv_prove *prove, const cv_prove_table *table)
{
    cuvet_status status = CUVET_OK;
    cv_elf_reloc reloc;

    for (uint64_t row = 0; row < table->count && status == CUVET_OK; row++) {
        cv_elf_read_reloc(table->body, false, table->rela, row, &reloc);
        if (!cv_keys_push(&prove->ctx->mem, &prove->kept.header,
                          (cv_key){ key_of(table->target, reloc.off), (uint64_t)table->sec << 32 | row }))
            return cv_nomem(prove->ctx, 0);
        if (is_header(reloc.type)) {
            uint64_t *end = cv_u64s_at(&prove->end, table->target);

            *end = cv_max(*end, cv_sat_add(reloc.off, 4));
            prove->first_slot = cv_min(prove->first_slot, reloc.off);
            status = enter_slot(prove, &reloc, table->sec);
        }
    }
    return status;
}

static uint64_t place_at(const cv_prove_table *table, uint64_t row)
{
    return cv_u64_at(table->body, cv_sat_mul(row, cv_elf_rel_size(false, table->rela)));
}

/* Do the places rise, or fall, from row to row? Of most tables they do one of these. */
static bool find_order(cv_prove *prove, uint64_t number)
{
    cv_prove_table *table = cv_prove_tables_at(&prove->kept.table, number);
    bool rises = true, falls = true;
    const cv_span body = table->body;
    const uint64_t size = cv_elf_rel_size(false, table->rela), end = table->count * size;
    uint64_t last = place_at(table, 0);

    for (uint64_t at = size; at < end && (rises || falls); at += size) {
        uint64_t place = cv_u64_at(body, at);

        rises = rises && place >= last;
        falls = falls && place <= last;
        last = place;
    }
    table->falls = falls && !rises;
    table->mixed = !falls && !rises;
    for (uint64_t row = 0; table->mixed && row < table->count; row++)
        if (!cv_keys_push(&prove->ctx->mem, &prove->kept.order,
                          (cv_key){ key_of(number, place_at(table, row)), row }))
            return false;
    return true;
}

static cuvet_status enter_table(cv_prove *prove, uint32_t index)
{
    const cv_sec *sec = cv_cubin_sec(prove->facts->result, index);
    bool rela = sec->role != CV_ROLE_REL, resolved = sec->role == CV_ROLE_RESOLVED_RELA;
    cv_prove_table table = { .body = cv_cubin_body(prove->facts->result, index),
                             .first = prove->kept.rows,
                             .sec = index,
                             .target = sec->header.info,
                             .rela = rela };
    uint32_t *of;

    if (table.target >= prove->facts->result->sec.count)
        return cv_prove_fail(prove, CV_R_LINK_PROVE_KEPT, CUVET_P_SECTION, index, 0, table.target, 0);
    of = cv_u32s_at(resolved ? &prove->kept.resolved
                    : rela   ? &prove->kept.rela
                             : &prove->kept.rel,
                    table.target);
    table.count = table.body.len / cv_elf_rel_size(false, rela);
    table.next = *of;
    table.last = table.count;
    table.row = table.count - cv_min(table.count, 1);
    if (!cv_prove_tables_push(&prove->ctx->mem, &prove->kept.table, table))
        return cv_nomem(prove->ctx, 0);
    *of = (uint32_t)prove->kept.table.count;
    prove->kept.rows += table.count;
    return cv_cubin_sec(prove->facts->result, table.target)->role == CV_ROLE_CONSTANT_FN && !resolved
               ? enter_headers(prove, &table)
               : CUVET_OK;
}

/* No two symbols have one slot. */
static cuvet_status check_distinct(cv_prove *prove, const cv_key *last, const cv_key *key)
{
    cv_elf_reloc before, reloc;

    read_row(prove, last->index, &before);
    read_row(prove, key->index, &reloc);
    if (!is_header(before.type) || !is_header(reloc.type))
        return CUVET_OK;
    return cv_prove_fail(prove, CV_R_LINK_PROVE_MEMORY, CUVET_P_SECTION, key->index >> 32, 0, reloc.off,
                         before.off + 4);
}

/* How many there are of each kind, in the result or in a bank. */
typedef struct slot_counts {
    uint64_t of[CV_STT_CUDA_SURFACE - CV_STT_CUDA_TEXTURE + 1];
} slot_counts;

static void count_kind(slot_counts *counts, uint8_t type)
{
    if (cv_prove_slot_kind(type) != 0)
        *CV_ARRAY_AT(counts->of, type - CV_STT_CUDA_TEXTURE) += 1;
}

static uint8_t type_of(const cv_prove *prove, uint64_t index)
{
    cv_elf_symbol symbol;

    cv_elf_read_symbol(prove->facts->result->symtab, false, index, &symbol);
    return cv_elf_sym_type(&symbol);
}

/* Slots that nobody writes may be the last ones of a bank. */
static void skip_unwritten(cv_prove *prove, uint64_t bank, uint64_t unwritten)
{
    uint64_t size = cv_cubin_sec(prove->facts->result, bank)->header.size, *end;

    if (bank == 0 || unwritten == 0)
        return;
    end = cv_u64s_at(&prove->end, bank);
    if (size > *end && size - *end <= 4 * unwritten && (size - *end) % 4 == 0)
        *end = size;
}

/* A kernel that has slots of a kind has those of all symbols of the kind. */
static cuvet_status close_bank(cv_prove *prove, uint64_t bank, const slot_counts *counts,
                               const slot_counts *all)
{
    uint64_t unwritten = 0, code = cv_cubin_sec(prove->facts->result, bank)->header.info;
    bool any = false;

    for (unsigned type = CV_STT_CUDA_TEXTURE; type <= CV_STT_CUDA_SURFACE; type++) {
        uint64_t count = CV_ARRAY_GET(counts->of, type - CV_STT_CUDA_TEXTURE),
                 want = CV_ARRAY_GET(all->of, type - CV_STT_CUDA_TEXTURE);

        if (count != 0 && count != want)
            return cv_prove_fail(prove, CV_R_LINK_PROVE_MEMORY, CUVET_P_SECTION, bank, 0, count, want);
        if (count != 0 && code < prove->slots_written.count)
            *cv_u8s_at(&prove->slots_written, code) |= cv_prove_slot_kind((uint8_t)type);
        unwritten += want - count;
        any = any || count != 0;
    }
    if (any)
        skip_unwritten(prove, bank, unwritten);
    return CUVET_OK;
}

static cuvet_status check_slots(cv_prove *prove)
{
    slot_counts all = { { 0 } }, counts = { { 0 } };
    cuvet_status status = CUVET_OK;
    uint64_t bank = 0;
    cv_elf_reloc reloc;

    for (uint64_t i = 1; i < prove->facts->result->n_syms && prove->first_slot != UINT64_MAX; i++)
        count_kind(&all, type_of(prove, i));
    for (uint64_t i = 0; i < prove->kept.header.count && status == CUVET_OK; i++) {
        const cv_key *key = cv_keys_get(&prove->kept.header, i);

        if (key->key >> OFFSET_BITS != bank) {
            status = close_bank(prove, bank, &counts, &all);
            bank = key->key >> OFFSET_BITS;
            counts = (slot_counts){ { 0 } };
        }
        read_row(prove, key->index, &reloc);
        if (is_header(reloc.type))
            count_kind(&counts, type_of(prove, reloc.sym));
        if (status == CUVET_OK && i > 0 && key->key - cv_keys_get(&prove->kept.header, i - 1)->key < 4)
            status = check_distinct(prove, cv_keys_get(&prove->kept.header, i - 1), key);
    }
    return status == CUVET_OK ? close_bank(prove, bank, &counts, &all) : status;
}

cuvet_status cv_prove_list_kept(cv_prove *prove)
{
    const cv_cubin *result = prove->facts->result;
    cv_mem *mem = &prove->ctx->mem;
    cv_prove_kept *kept = &prove->kept;
    cuvet_status status = CUVET_OK;

    prove->first_slot = UINT64_MAX;
    if (!cv_u64s_fill(mem, &prove->slot, result->n_syms) ||
        !cv_u8s_fill(mem, &prove->slots_used, result->n_syms) ||
        !cv_u8s_fill(mem, &prove->slots_written, result->sec.count) ||
        !cv_u32s_fill(mem, &kept->rel, result->sec.count) ||
        !cv_u32s_fill(mem, &kept->rela, result->sec.count) ||
        !cv_u32s_fill(mem, &kept->resolved, result->sec.count))
        return cv_nomem(prove->ctx, 0);
    for (uint32_t i = 1; i < result->sec.count && status == CUVET_OK; i++) {
        const cv_sec *sec = cv_cubin_sec(result, i);

        if (sec->role == CV_ROLE_REL || sec->role == CV_ROLE_RELA || sec->role == CV_ROLE_RESOLVED_RELA)
            status = enter_table(prove, i);
    }
    cv_keys_sort(&kept->header);
    if (status == CUVET_OK && !cv_u8s_fill(mem, &kept->met, kept->rows))
        status = cv_nomem(prove->ctx, 0);
    return status == CUVET_OK ? check_slots(prove) : status;
}

/* Only where a relocation is not behind the one that was found last, or where there are lanes. */
bool cv_prove_find_orders(cv_prove *prove)
{
    cv_prove_kept *kept = &prove->kept;

    if (kept->ordered)
        return true;
    for (uint64_t i = 0; i < kept->table.count; i++) {
        cv_prove_table *table = cv_prove_tables_at(&kept->table, i);

        table->key = kept->order.count;
        if (table->count > 0 && !find_order(prove, i))
            return false;
    }
    cv_keys_sort(&kept->order);
    kept->ordered = true;
    return true;
}

/* Of the rows in the order of the places. */
static uint64_t row_at(const cv_prove *prove, const cv_prove_table *table, uint64_t at)
{
    return table->mixed ? cv_keys_get(&prove->kept.order, table->key + at)->index : at;
}

static bool is_before(const cv_prove *prove, const cv_prove_table *table, uint64_t at, uint64_t place)
{
    uint64_t found = table->mixed ? cv_keys_get(&prove->kept.order, table->key + at)->key & OFFSET_MASK
                                  : place_at(table, at);

    return table->falls ? found > place : found < place;
}

/* The first of the relocations of a table that is not before a place. Those of the inputs and of the
 * result are in the same order, or one in the opposite order of the other: it is near the last one that
 * was found. */
static uint64_t find(const cv_prove *prove, const cv_prove_table *table, uint64_t place)
{
    enum { NEAR = 6 };
    uint64_t at = table->mixed ? table->at : cv_min(table->row, table->count);
    uint64_t low = 0, high = table->count;
    unsigned steps = 0;

    for (; steps < NEAR && at < table->count && is_before(prove, table, at, place); steps++)
        at++;
    for (; steps < NEAR && at > 0 && !is_before(prove, table, at - 1, place); steps++)
        at--;
    if (steps < NEAR)
        return at;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (is_before(prove, table, middle, place))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Rows that are met: those that lie at the stretch that was met before make it longer. */
static void meet_rows(cv_prove *prove, cv_prove_table *table, uint64_t first, uint64_t count)
{
    if (table->low == table->high || first == table->high) {
        table->low = table->low == table->high ? first : table->low;
        table->high = first + count;
    } else if (first + count == table->low) {
        table->low = first;
    } else {
        for (uint64_t row = first; row < first + count; row++)
            *cv_u8s_at(&prove->kept.met, table->first + row) = 1;
    }
}

static bool meet(cv_prove *prove, cv_prove_table *table, uint64_t row)
{
    if (row < table->low || row >= table->high)
        meet_rows(prove, table, row, 1);
    table->row = row < table->last ? row - (row > 0) : row + 1;
    table->last = row;
    return true;
}

/* Several relocations can be about one place. */
static bool is_in_table(cv_prove *prove, cv_prove_table *table, const cv_prove_reloc *reloc, uint32_t type)
{
    uint64_t place = cv_sat_add(prove->here.place.base, reloc->elf.off);
    cv_elf_reloc found;

    table->at = find(prove, table, place);
    for (uint64_t at = table->at; at < table->count; at++) {
        uint64_t row = row_at(prove, table, at);

        cv_elf_read_reloc(table->body, false, table->rela, row, &found);
        if (found.off != place)
            return false;
        if (found.type == type && cv_prove_is_same(prove, reloc, &found))
            return meet(prove, table, row);
    }
    return false;
}

cuvet_status cv_prove_find_kept(cv_prove *prove, cv_prove_table *table, const cv_prove_reloc *reloc,
                                uint32_t type, bool *found)
{
    if (!prove->kept.ordered && !cv_prove_find_orders(prove))
        return cv_nomem(prove->ctx, 0);
    for (*found = is_in_table(prove, table, reloc, type); !*found && table->next != 0;) {
        table = cv_prove_tables_at(&prove->kept.table, table->next - 1);
        *found = is_in_table(prove, table, reloc, type);
    }
    return CUVET_OK;
}

/* What a run asks of each of its rows. */
typedef struct pairs {
    cv_span in, out; /* rows of the input and of the result */
    uint64_t first, count, base, n_syms, first_sym;
    bool partial;
} pairs;

/* Does a row of the result say what one of the input says? */
CV_INLINE bool is_mate(const cv_prove_symbol_list *symbols, const pairs *all, cv_row in, cv_row out)
{
    uint64_t sym = in.second >> 32;
    uint32_t type = (uint32_t)in.second;
    const cv_reloc_facts *facts = cv_reloc_of(type);
    const cv_prove_symbol *symbol;

    if (sym >= all->n_syms || out.first != cv_sat_add(all->base, in.first) || out.third != in.third)
        return false;
    if (!all->partial && cv_reloc_has(facts, CV_USE_DROPS))
        return false;
    type = facts->final && !all->partial ? facts->final : type;
    symbol = cv_prove_symbol_list_get(symbols, all->first_sym + sym);
    return symbol->plain && out.second == ((uint64_t)symbol->out << 32 | type);
}

CV_INLINE uint64_t count_run(const cv_prove *prove, const pairs *asked, const bool falls, const bool rela)
{
    const uint64_t size = cv_elf_rel_size(false, rela);
    const unsigned words = rela ? 3 : 2;
    const cv_prove_symbol_list symbols = prove->symbol;
    const pairs all = *asked;
    uint64_t count = 0, mate = all.first * size;

    for (uint64_t row = 0; count < all.count; count++, row += size) {
        if (!is_mate(&symbols, &all, cv_row_at(all.in, row, words), cv_row_at(all.out, mate, words)))
            break;
        mate = falls ? mate - cv_min(mate, size) : mate + size;
    }
    return count;
}

uint64_t cv_prove_meet_run(cv_prove *prove, cv_prove_table *table, cv_span body, uint64_t row)
{
    const uint64_t size = cv_elf_rel_size(false, table->rela), first = table->row;
    bool falls = first < table->last;
    uint64_t count, last;
    pairs all = { .in = cv_span_tail(body, row * size),
                  .out = table->body,
                  .first = first,
                  .base = prove->here.place.base,
                  .n_syms = prove->in->n_syms,
                  .first_sym = prove->first_sym,
                  .partial = prove->facts->relocatable };

    if (first >= table->count)
        return 0;
    all.count = cv_min(all.in.len / size, falls ? first + 1 : table->count - first);
    if (table->rela)
        count = falls ? count_run(prove, &all, true, true) : count_run(prove, &all, false, true);
    else
        count = falls ? count_run(prove, &all, true, false) : count_run(prove, &all, false, false);
    if (count == 0)
        return 0;
    last = falls ? first - (count - 1) : first + (count - 1);
    meet_rows(prove, table, cv_min(first, last), count);
    table->last = last;
    table->row = falls ? last - (last > 0) : last + 1;
    return count;
}

static cuvet_status check_rows(const cv_prove *prove, const cv_prove_table *table)
{
    const cv_sec *target = cv_cubin_sec(prove->facts->result, table->target);
    cv_elf_reloc row;

    if (table->low == 0 && table->high == table->count)
        return CUVET_OK;
    if (cv_prove_is_rebuilt(prove, target) &&
        (cv_prove_is_relined(prove, target) ? prove->strange_lines : prove->strange_frames))
        return CUVET_OK;
    for (uint64_t i = 0; i < table->count; i++) {
        if ((i >= table->low && i < table->high) || *cv_u8s_get(&prove->kept.met, table->first + i))
            continue;
        cv_elf_read_reloc(table->body, false, table->rela, i, &row);
        if (!is_header(row.type) || target->role != CV_ROLE_CONSTANT_FN)
            return cv_prove_fail(prove, CV_R_LINK_PROVE_KEPT, CUVET_P_SECTION, table->sec, row.off, row.type,
                                 row.sym);
    }
    return CUVET_OK;
}

cuvet_status cv_prove_check_met(const cv_prove *prove)
{
    const cv_prove_kept *kept = &prove->kept;
    cuvet_status status = CUVET_OK;

    if (prove->facts->exact)
        return CUVET_OK;
    for (uint64_t i = 0; i < kept->table.count && status == CUVET_OK; i++)
        status = check_rows(prove, cv_prove_tables_get(&kept->table, i));
    return status;
}

void cv_prove_free_kept(cv_mem *mem, cv_prove_kept *kept)
{
    cv_prove_tables_free(mem, &kept->table);
    cv_u32s_free(mem, &kept->rel);
    cv_u32s_free(mem, &kept->rela);
    cv_u32s_free(mem, &kept->resolved);
    cv_keys_free(mem, &kept->order);
    cv_keys_free(mem, &kept->header);
    cv_u8s_free(mem, &kept->met);
}
