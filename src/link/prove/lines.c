/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Line information that is made anew: the units of the inputs in their order, each with its header, and in
 * each the rows of all functions that stay, in the order of their symbols, with the bytes of the input and
 * what these refer to, and nothing else. Rows of a function that several inputs define may be missing. Of
 * sections that cannot be taken apart nothing is said. */
#include "base/arith.h"
#include "format/dwarf/read.h"
#include "link/prove/parts.h"

/* Rows of a function, or a header: where it begins and ends in the input. */
typedef struct line_piece {
    uint64_t at, end;
} line_piece;

CV_VEC(line_pieces, line_piece);

typedef struct liner {
    cv_prove *prove;
    const char *name;
    cv_span before, after; /* of the input at hand, and of the result */
    uint64_t pos;          /* in the result: what is not accounted for yet */
    uint64_t row;          /* of the relocations of the input: the first that is not behind */
    uint32_t sec, out;     /* of the input and of the result */
    uint64_t texts;        /* where the texts of the object at hand begin in the result */
    cv_keys unit;          /* as in the proof, of this section of the result */
    line_pieces rows;      /* of the unit at hand */
    cv_keys order;         /* of those that stay: function, row */
    bool strange;          /* a section cannot be taken apart */
    bool compares;         /* else it is only read */
} liner;

static uint32_t find_section(const cv_cubin *cubin, const char *name)
{
    for (uint32_t i = 1; i < cubin->sec.count; i++)
        if (cv_cubin_sec(cubin, i)->role != CV_ROLE_REL && cv_cubin_sec(cubin, i)->role != CV_ROLE_RELA &&
            cv_span_eq_str(cv_cubin_sec(cubin, i)->name, name))
            return i;
    return 0;
}

static cuvet_status bad_line(const liner *all, uint64_t at, uint64_t got)
{
    return cv_prove_fail_section(all->prove, CV_R_LINK_PROVE_LINES, all->sec, at, got, all->pos);
}

/* Rows up to the end of a sequence; 'place': where they name their function. False: they cannot be told
 * apart. */
static bool read_rows(const liner *all, const cv_line_unit *unit, line_piece *rows, uint64_t *place)
{
    cv_line_op op = { .kind = CV_LINE_PLAIN };
    cv_dwarf_bad bad;

    for (*place = 0; op.kind != CV_LINE_END && rows->end < unit->end; rows->end = op.end) {
        if (!cv_line_op_read(all->before, unit, rows->end, &op, &bad))
            return false;
        if (op.kind == CV_LINE_ADDRESS && *place == 0)
            *place = op.address;
    }
    return op.kind == CV_LINE_END && *place > rows->at;
}

/* What is patched in the piece, one after the other: nothing but 'place'. False: that was all, or it is
 * strange. */
static bool next_patch(liner *all, const line_piece *piece, uint64_t place, cv_prove_reloc *reloc)
{
    const cv_prove *prove = all->prove;

    if (all->strange || all->row >= prove->field.count ||
        cv_keys_get(&prove->field, all->row)->key >= piece->end)
        return false;
    all->strange = !cv_prove_read_listed(prove, all->row, reloc) || reloc->elf.off != place ||
                   cv_sat_add(place, cv_reloc_of(reloc->elf.type)->bytes) > piece->end ||
                   reloc->symbol->out >= prove->facts->result->n_syms;
    all->row++;
    return !all->strange;
}

/* The function that the rows are about, a symbol of the result; 0: it is gone. Only functions are named. */
static uint32_t function_at(liner *all, const line_piece *rows, uint64_t place)
{
    cv_prove_reloc reloc;
    uint32_t fn = 0;

    while (next_patch(all, rows, place, &reloc)) {
        cv_elf_symbol named;

        cv_elf_read_symbol(all->prove->facts->result->symtab, false, reloc.symbol->out, &named);
        if (cv_elf_sym_type(&reloc.symbol->elf) != CV_STT_FUNC || fn != 0 ||
            (reloc.symbol->out != 0 && named.shndx == CV_SHN_UNDEF))
            all->strange = true;
        fn = reloc.symbol->out;
    }
    return all->strange ? 0 : fn;
}

/* What the bytes of the input between these places refer to the result refers to as well; 'by': they lie so
 * much further on. *lost: the first that it does not; UINT64_MAX: none. */
static cuvet_status find_relocs(const liner *all, const line_piece *piece, uint64_t by, uint64_t *lost)
{
    cv_prove *prove = all->prove;
    uint64_t i = cv_keys_lower_bound(&prove->field, piece->at);
    cuvet_status status = CUVET_OK;

    *lost = UINT64_MAX;
    for (; i < prove->field.count && cv_keys_get(&prove->field, i)->key < piece->end && status == CUVET_OK &&
           *lost == UINT64_MAX;
         i++) {
        uint64_t off = cv_keys_get(&prove->field, i)->key;
        cv_prove_reloc reloc;
        bool kept = false;

        if (cv_prove_read_listed(prove, i, &reloc)) {
            reloc.elf.off = cv_wrap_add(off, by);
            status = cv_prove_find_listed(prove, all->out, &reloc, &kept);
            kept = kept || cv_prove_is_dropped(prove, &reloc);
        }
        *lost = kept ? UINT64_MAX : off;
    }
    return status;
}

static bool is_same(const liner *all, uint64_t from, uint64_t to, uint64_t len)
{
    cv_span left, right;

    return cv_span_sub(all->before, from, len, &left) && cv_span_sub(all->after, to, len, &right) &&
           cv_span_eq(left, right);
}

/* All of a header but its length. Its last four bytes can be a place among the texts. */
static cuvet_status check_header(const liner *all, const cv_line_unit *unit)
{
    enum { LENGTH = 4 };
    uint64_t len = unit->program - unit->at - LENGTH;
    uint64_t last = unit->program - LENGTH, moved = all->pos + (last - unit->at);
    const line_piece piece = { unit->at, unit->program };
    cuvet_status status;
    uint64_t lost;

    if (!is_same(all, unit->at + LENGTH, all->pos + LENGTH, len) &&
        (!is_same(all, unit->at + LENGTH, all->pos + LENGTH, len - LENGTH) ||
         cv_u32_at(all->after, moved) != (uint32_t)(cv_u32_at(all->before, last) + all->texts)))
        return bad_line(all, unit->at, unit->program);
    status = find_relocs(all, &piece, cv_wrap_sub(all->pos, unit->at), &lost);
    return status == CUVET_OK && lost != UINT64_MAX ? bad_line(all, lost, all->pos) : status;
}

/* The next rows of the unit at hand, of a function of the result. */
static cuvet_status compare_rows(liner *all, const line_piece *rows, uint64_t fn)
{
    uint64_t len = rows->end - rows->at, lost = rows->at;
    cuvet_status status = CUVET_OK;

    if (is_same(all, rows->at, all->pos, len))
        status = find_relocs(all, rows, cv_wrap_sub(all->pos, rows->at), &lost);
    if (status != CUVET_OK)
        return status;
    if (lost == UINT64_MAX)
        all->pos += len;
    else if (!cv_provens_get(&all->prove->proven, fn)->again)
        return bad_line(all, lost, fn);
    return CUVET_OK;
}

/* A section of an input and a place in it. */
static uint64_t unit_key(const cv_prove *prove, uint32_t sec, uint64_t at)
{
    return cv_sat_add(prove->first_sec, sec) << 40 | (at & ((UINT64_C(1) << 40) - 1));
}

bool cv_prove_find_unit(const cv_prove *prove, uint32_t sec, uint64_t at, uint64_t *place)
{
    uint64_t key = unit_key(prove, sec, at), i = cv_keys_lower_bound(&prove->unit, key);

    if (i >= prove->unit.count || cv_keys_get(&prove->unit, i)->key != key)
        return false;
    *place = cv_keys_get(&prove->unit, i)->index;
    return true;
}

/* The unit at hand is the next one of the result. */
static cuvet_status compare_unit(liner *all, const cv_line_unit *unit)
{
    cv_line_unit found;
    cv_dwarf_bad bad;
    cuvet_status status;

    if (!cv_line_unit_read(all->after, all->pos, &found, &bad) ||
        found.program - found.at != unit->program - unit->at)
        return bad_line(all, unit->at, all->pos);
    if (!cv_keys_push(&all->prove->ctx->mem, &all->unit,
                      (cv_key){ unit_key(all->prove, all->sec, unit->at), all->pos }))
        return cv_nomem(all->prove->ctx, 0);
    status = check_header(all, unit);
    all->pos = found.program;
    cv_keys_sort(&all->order);
    for (uint64_t i = 0; i < all->order.count && status == CUVET_OK; i++) {
        const cv_key *key = cv_keys_get(&all->order, i);

        status = compare_rows(all, line_pieces_get(&all->rows, key->index), key->key);
    }
    return status == CUVET_OK && all->pos != found.end ? bad_line(all, unit->at, found.end) : status;
}

static cuvet_status read_unit(liner *all, const cv_line_unit *unit)
{
    line_piece rows = { unit->at, unit->program };
    cv_prove_reloc texts;

    /* the last four bytes of a header are a place among the texts */
    while (next_patch(all, &rows, cv_wrap_sub(unit->program, 4), &texts))
        continue;
    line_pieces_clear(&all->rows);
    cv_keys_clear(&all->order);
    while (rows.end < unit->end && !all->strange) {
        uint64_t place;
        uint32_t fn;

        rows.at = rows.end;
        if (!read_rows(all, unit, &rows, &place)) {
            all->strange = true;
            return CUVET_OK;
        }
        fn = function_at(all, &rows, place);
        if (fn != 0 && (!cv_keys_push(&all->prove->ctx->mem, &all->order, (cv_key){ fn, all->rows.count }) ||
                        !line_pieces_push(&all->prove->ctx->mem, &all->rows, rows)))
            return cv_nomem(all->prove->ctx, 0);
    }
    return all->compares && !all->strange ? compare_unit(all, unit) : CUVET_OK;
}

static cuvet_status read_section(liner *all)
{
    cuvet_status status = CUVET_OK;
    cv_line_unit unit;
    cv_dwarf_bad bad;

    all->before = cv_cubin_body(all->prove->in, all->sec);
    all->row = 0;
    if (!cv_prove_list_relocs(all->prove, all->sec))
        return cv_nomem(all->prove->ctx, 0);
    for (uint64_t pos = 0; pos < all->before.len && status == CUVET_OK && !all->strange; pos = unit.end) {
        if (cv_line_unit_read(all->before, pos, &unit, &bad))
            status = read_unit(all, &unit);
        else
            all->strange = true;
    }
    return status;
}

static cuvet_status read_all(liner *all, bool compares)
{
    cuvet_status status = CUVET_OK;

    all->compares = compares;
    for (uint32_t obj = 0; obj < all->prove->facts->in.count && status == CUVET_OK && !all->strange; obj++) {
        cv_prove_open(all->prove, obj);
        all->sec = find_section(all->prove->in, all->name);
        if (all->sec == 0)
            continue;
        all->texts = cv_prove_place_of(all->prove, find_section(all->prove->in, ".debug_str"))->base;
        status = read_section(all);
    }
    return status;
}

/* What cannot be taken apart has to be known before anything is compared. */
static cuvet_status check_lines(liner *all)
{
    cuvet_status status = read_all(all, false);

    if (status == CUVET_OK && !all->strange)
        status = read_all(all, true);
    if (status != CUVET_OK || all->strange || all->pos == all->after.len)
        return status;
    return cv_prove_fail(all->prove, CV_R_LINK_PROVE_LINES, CUVET_P_SECTION, all->out, 0, all->pos,
                         all->after.len);
}

/* What refers to units is asked with all of them in order. */
static bool keep_units(cv_prove *prove, const cv_keys *unit)
{
    for (uint64_t i = 0; i < unit->count; i++)
        if (!cv_keys_push(&prove->ctx->mem, &prove->unit, *cv_keys_get(unit, i)))
            return false;
    cv_keys_sort(&prove->unit);
    return true;
}

cuvet_status cv_prove_lines(cv_prove *prove)
{
    static const char *const NAMES[] = { ".debug_line", ".nv_debug_line_sass" };
    cuvet_status status = CUVET_OK;

    for (size_t i = 0; i < CV_COUNT(NAMES) && prove->facts->rebuilt && status == CUVET_OK; i++) {
        liner all = { .prove = prove,
                      .name = CV_AT(NAMES, i),
                      .out = find_section(prove->facts->result, CV_AT(NAMES, i)) };

        if (all.out == 0)
            continue;
        all.after = cv_cubin_body(prove->facts->result, all.out);
        status = check_lines(&all);
        prove->strange_lines = prove->strange_lines || all.strange;
        if (status == CUVET_OK && !keep_units(prove, &all.unit))
            status = cv_nomem(prove->ctx, 0);
        cv_keys_free(&prove->ctx->mem, &all.unit);
        line_pieces_free(&prove->ctx->mem, &all.rows);
        cv_keys_free(&prove->ctx->mem, &all.order);
    }
    return status;
}
