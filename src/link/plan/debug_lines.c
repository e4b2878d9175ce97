/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Line information from sm_100 on. The reference linker writes it anew with the code: each unit keeps its
 * header, the rows of functions that are gone go, the others come in the order of the functions' symbols.
 * Before sm_100 the sections are linked like any other debug data. */
#include "base/arith.h"
#include "format/dwarf/read.h"
#include "format/elf/names.h"
#include "link/plan/pieces.h"

/* A unit's header, or the rows of one function; the piece of the same number says where it is. */
typedef struct line_rows {
    cv_span bytes;
    uint64_t address; /* where the function is named, from the beginning of the rows */
    uint64_t rank;
    uint64_t names; /* of a header: what is added to its last four bytes */
    bool header;
} line_rows;

CV_VEC(rows_list, line_rows);

typedef struct debug_liner {
    const cv_view_debug_lines *view;
    cv_id sec, at; /* at: section of an input that is looked at */
    rows_list all;
    cv_pieces place;
    cv_keys rels;
    bool with_names; /* the section has them */
    cv_id obj;       /* the input that was looked at last … */
    uint64_t names;  /* … and where its .debug_str begins; 0 where it says nothing */
    cv_u32s rank;    /* of each function: place of its symbol, from 1 */
} debug_liner;

/* Names of functions whose code is part of another's are counted from a place in .debug_str. Where there are
 * some it stands in four bytes behind the table of files; its relocation is in the capsule only. */
static bool has_names(cv_span span, const cv_line_unit *unit)
{
    uint64_t pos = unit->at + (unit->version >= 4 ? 15u : 14u) + unit->base, skip;
    cv_span text;
    cv_dwarf_bad bad;

    span.len = unit->program;
    for (int list = 0; list < 2; list++)
        do {
            if (!cv_span_cstr(span, pos, &text))
                return false;
            pos += text.len + 1;
            for (int i = 0; i < 3 && list && text.len; i++) /* directory, time, size */
                if (!cv_uleb_read(span, span.len, &pos, &skip, &bad))
                    return false;
        } while (text.len);
    return span.len - pos == 4;
}

/* Rows up to the end of a sequence. @return false: they cannot be told apart */
static bool next_rows(cv_span span, const cv_line_unit *unit, uint64_t *pos, line_rows *rows)
{
    cv_line_op op = { .kind = CV_LINE_PLAIN };
    uint64_t start = *pos;
    cv_dwarf_bad bad;

    rows->address = 0;
    while (op.kind != CV_LINE_END && *pos < unit->end) {
        if (!cv_line_op_read(span, unit, *pos, &op, &bad))
            return false;
        if (op.kind == CV_LINE_ADDRESS && rows->address == 0)
            rows->address = op.address - start;
        *pos = op.end;
    }
    return op.kind == CV_LINE_END && rows->address != 0 &&
           cv_span_sub(span, start, *pos - start, &rows->bytes);
}

static bool add(debug_liner *liner, const line_rows *rows, uint64_t at)
{
    line_rows fresh = *rows;

    return rows_list_push(&liner->view->ctx->mem, &liner->all, fresh) &&
           cv_pieces_push(&liner->view->ctx->mem, &liner->place,
                          (cv_piece){ .at = at, .end = at + rows->bytes.len, .keep = rows->header });
}

/* Unit at *pos, which is advanced. @return END: it cannot be taken apart */
static cuvet_status read_unit(debug_liner *liner, cv_span span, uint64_t *pos, uint64_t base)
{
    line_rows rows = { .header = true };
    cv_dwarf_bad bad;
    cv_line_unit unit;

    if (!cv_line_unit_read(span, *pos, &unit, &bad) ||
        !cv_span_sub(span, unit.at, unit.program - unit.at, &rows.bytes))
        return CUVET_END;
    rows.names = liner->names && has_names(span, &unit) ? liner->names : 0;
    if (!add(liner, &rows, base + unit.at))
        return cv_l_nomem(liner->view);
    rows.header = false;
    *pos = unit.program;
    while (*pos < unit.end) {
        uint64_t at = *pos;

        if (!next_rows(span, &unit, pos, &rows))
            return CUVET_END;
        if (!add(liner, &rows, base + at))
            return cv_l_nomem(liner->view);
    }
    return CUVET_OK;
}

static uint64_t names_of(const cv_view_debug_lines *view, const cv_lobj *obj)
{
    for (cv_id i = 1; i < obj->n_sec; i++) {
        const cv_isec *isec = cv_l_isec(view, obj->first_sec + i);

        if (cv_l_became(view, isec->id)->out != CV_NONE &&
            cv_span_eq_str(cv_l_text(view, isec->name), ".debug_str"))
            return cv_l_became(view, isec->id)->base;
    }
    return 0;
}

static cuvet_status read_part(debug_liner *liner, const cv_lpart *part)
{
    const cv_isec *isec = cv_l_isec(liner->view, part->isec);
    cv_span span = cv_l_body(liner->view, isec);
    cuvet_status st = CUVET_OK;
    uint64_t pos = 0;

    liner->at = part->isec;
    if (liner->with_names && liner->obj != isec->obj) /* the parts of one object follow each other */
        liner->names = names_of(liner->view, cv_l_obj(liner->view, isec->obj));
    liner->obj = isec->obj;
    while (pos < span.len && st == CUVET_OK)
        st = read_unit(liner, span, &pos, part->base);
    return st;
}

static cuvet_status read_lines(debug_liner *liner)
{
    cuvet_status st = CUVET_OK;

    for (cv_id part = cv_l_osec(liner->view, liner->sec)->first_part; part != CV_NONE && st == CUVET_OK;
         part = cv_lparts_at(&liner->view->out->part, part)->next)
        st = read_part(liner, cv_lparts_at(&liner->view->out->part, part));
    return st == CUVET_OK ? cv_out_rels_of(liner->view->ctx, liner->view->out, liner->sec, &liner->rels) : st;
}

/* A header is patched where it names texts, and rows where they name their function. */
static bool is_place(const line_rows *rows, const cv_piece *piece, const cv_irel *rel)
{
    if (rows->header)
        return cv_sat_add(rel->off, 4) == piece->end;
    return rel->off == piece->at + rows->address;
}

/* Rows that name no function are of one that is gone. @return END: something else is patched */
static cuvet_status choose(debug_liner *liner)
{
    const cv_view_debug_lines *view = liner->view;
    uint64_t at = 0;

    for (uint64_t i = 0; i < liner->all.count; i++) {
        line_rows *rows = rows_list_at(&liner->all, i);
        cv_piece *piece = cv_pieces_at(&liner->place, i);

        for (; at < liner->rels.count && cv_keys_at(&liner->rels, at)->key < piece->end; at++) {
            const cv_irel *rel = cv_l_irel(view, (cv_id)cv_keys_at(&liner->rels, at)->index);
            const cv_isym *sym = cv_l_isym(view, cv_l_definition(view, rel->sym));

            liner->at = (cv_id)cv_keys_at(&liner->rels, at)->index;
            if (!is_place(rows, piece, rel) ||
                cv_sat_add(rel->off, cv_reloc_of(rel->type)->bytes) > piece->end)
                return CUVET_END;
            if (rows->header)
                rows->names = 0; /* it has one of its own */
            if (rows->header || cv_l_fn_of(view, sym->id) == CV_NONE)
                continue;
            piece->keep = cv_l_fn_calls(view, cv_l_fn_of(view, sym->id))->live;
            rows->rank = *cv_u32s_at(&liner->rank, cv_l_fn_of(view, sym->id));
        }
    }
    return CUVET_OK;
}

static cuvet_status rank_functions(debug_liner *liner)
{
    const cv_view_debug_lines *view = liner->view;
    uint32_t count = 0;

    if (!cv_u32s_fill(&view->ctx->mem, &liner->rank, cv_max(view->functions->fn.count, 1)))
        return cv_l_nomem(view);
    for (int global = 0; global < 2; global++) {
        const cv_u32s *list = global ? &view->out->globals : &view->out->locals;

        for (uint64_t i = 0; i < list->count; i++) {
            cv_id fn = cv_l_osym(view, *cv_u32s_get(list, i))->fn;

            count++;
            if (fn != CV_NONE)
                *cv_u32s_at(&liner->rank, fn) = count;
        }
    }
    return CUVET_OK;
}

/* What follows the length. */
static void write_head(cv_builder *builder, const line_rows *head)
{
    cv_span rest = cv_span_tail(head->bytes, 4);

    if (head->names)
        rest.len -= 4;
    cv_put_span(builder, rest);
    if (head->names)
        cv_put_u32(builder, (uint32_t)(cv_u32_at(head->bytes, head->bytes.len - 4) + head->names));
}

/* Rows of the unit that begins with piece 'first', sorted. */
static bool write_unit(debug_liner *liner, uint64_t first, uint64_t *next, cv_keys *order)
{
    cv_builder *builder = &cv_l_osec(liner->view, liner->sec)->bytes;
    const line_rows *head = rows_list_at(&liner->all, first);
    uint64_t len = head->bytes.len, i = first + 1;
    bool ok = true;

    cv_keys_clear(order);
    for (; i < liner->all.count && !rows_list_at(&liner->all, i)->header && ok; i++) {
        if (!cv_pieces_at(&liner->place, i)->keep)
            continue;
        len += rows_list_at(&liner->all, i)->bytes.len;
        ok = cv_keys_push(&liner->view->ctx->mem, order,
                          (cv_key){ .key = rows_list_at(&liner->all, i)->rank, .index = i });
    }
    *next = i;
    cv_keys_sort(order);
    cv_pieces_at(&liner->place, first)->to = builder->len;
    cv_put_u32(builder, (uint32_t)(len - 4));
    write_head(builder, head);
    for (uint64_t k = 0; k < order->count && ok; k++) {
        uint64_t row = cv_keys_at(order, k)->index;

        cv_pieces_at(&liner->place, row)->to = builder->len;
        cv_put_span(builder, rows_list_at(&liner->all, row)->bytes);
    }
    return ok && !builder->failed;
}

static cuvet_status write_lines(debug_liner *liner)
{
    cv_osec *osec = cv_l_osec(liner->view, liner->sec);
    cv_keys order = { 0 };
    bool ok = true;

    for (uint64_t i = 0; i < liner->all.count && ok;)
        ok = write_unit(liner, i, &i, &order);
    cv_keys_free(&liner->view->ctx->mem, &order);
    osec->size = osec->bytes.len;
    osec->first_part = osec->last_part = CV_NONE;
    return ok ? CUVET_OK : cv_l_nomem(liner->view);
}

/* They come out in the order of the rows. */
static cuvet_status sort_relocations(debug_liner *liner)
{
    const cv_view_debug_lines *view = liner->view;
    cv_id osec = CV_ARRAY_GET(cv_l_osec(view, liner->sec)->rel, 1), target = CV_NONE;

    if (osec == CV_NONE)
        return CUVET_OK;
    cv_keys_clear(&liner->rels);
    for (cv_rel_cur cur = cv_out_rels(cv_l_osec(view, osec)); cv_rel_next(view->out, &cur);)
        if (!cv_keys_push(&view->ctx->mem, &liner->rels, (cv_key){ .key = cur.rel->off, .index = cur.id }))
            return cv_l_nomem(view);
    cv_keys_sort(&liner->rels);
    view->out->any_gone = true; /* they are written anew, in runs of what they lie in */
    cv_l_osec(view, osec)->rels = CV_NONE;
    for (uint64_t i = liner->rels.count; i > 0; i--) {
        cv_id id = (cv_id)cv_keys_at(&liner->rels, i - 1)->index;
        cv_irel rel = *cv_l_irel(view, id);
        cv_id from = cv_out_run_of(view->out, id)->target;

        if ((from != target || i == liner->rels.count) && !cv_l_add_run(view, osec, from))
            return cv_l_nomem(view);
        target = from;
        if (!cv_l_add_rel(view, &rel))
            return cv_l_nomem(view);
    }
    return CUVET_OK;
}

static cuvet_status link_lines(const cv_view_debug_lines *view, cv_id sec, bool with_names, cv_pieces *place)
{
    debug_liner liner = { .view = view, .sec = sec, .obj = CV_NONE, .with_names = with_names };
    cuvet_status st = read_lines(&liner);

    if (st == CUVET_OK)
        st = rank_functions(&liner);
    if (st == CUVET_OK)
        st = choose(&liner);
    if (st == CUVET_OK && liner.all.count) {
        st = write_lines(&liner);
        if (st == CUVET_OK)
            cv_out_move_rels(view->out, &liner.rels, &liner.place);
        if (st == CUVET_OK)
            st = sort_relocations(&liner);
    } else if (st == CUVET_END) {
        cv_link_say_section(view, cv_out_run_of(view->out, liner.at)->target, CV_R_LINK_LINES, 0);
        st = CUVET_OK;
        cv_pieces_clear(&liner.place); /* nothing moved */
    }
    *place = liner.place;
    rows_list_free(&view->ctx->mem, &liner.all);
    cv_keys_free(&view->ctx->mem, &liner.rels);
    cv_u32s_free(&view->ctx->mem, &liner.rank);
    return st;
}

/* Addends of references from other debug sections: offsets of units. */
static void move_references(const cv_view_debug_lines *view, cv_id sec, const cv_pieces *place)
{
    for (cv_id osec = 0; osec < view->out->osec.count; osec++) {
        if (cv_l_osec(view, osec)->group != CV_G_REL)
            continue;
        for (cv_rel_cur cur = cv_out_rels(cv_l_osec(view, osec)); cv_rel_next(view->out, &cur);) {
            cv_irel *irel = cv_l_irel(view, cur.id);
            const cv_isym *sym = irel->sym == CV_NONE ? NULL : cv_l_isym(view, irel->sym);
            uint64_t old;
            const cv_piece *piece;

            if (!sym || cv_l_type(sym) != CV_STT_SECTION || sym->sec == CV_NONE ||
                cv_l_became(view, sym->sec)->out != sec)
                continue;
            old = cv_wrap_add(cv_l_became(view, sym->sec)->base, (uint64_t)irel->addend);
            piece = cv_piece_of(place, old);
            if (piece->keep && old >= piece->at && old < piece->end)
                irel->addend =
                    (int64_t)(piece->to + (old - piece->at)) - (int64_t)cv_l_became(view, sym->sec)->base;
        }
    }
}

/* The first has names of functions. */
static const char *const NAMES[] = { ".debug_line", ".nv_debug_line_sass" };

cuvet_status cv_stage_debug_lines(const cv_view_debug_lines *view)
{
    cuvet_status st = CUVET_OK;

    for (size_t i = 0; i < CV_COUNT(NAMES) && st == CUVET_OK && cv_l_has(view, CV_GEN_REMAKES_DEBUG); i++) {
        cv_id sec = cv_l_find_osec(view, CV_AT(NAMES, i));
        cv_pieces place = { 0 };

        if (sec == CV_NONE)
            continue;
        st = link_lines(view, sec, i == 0, &place);
        if (st == CUVET_OK && place.count) {
            move_references(view, sec, &place);
            CV_ARRAY_SET(view->out->lines, i, sec);
        }
        cv_pieces_free(&view->ctx->mem, &place);
    }
    return st;
}

/* Units one behind the other fill the section, and what is patched lies inside. */
bool cv_stage_debug_lines_holds(const cv_check_debug_lines *view)
{
    for (size_t i = 0; i < CV_COUNT(NAMES); i++) {
        cv_id sec = CV_ARRAY_GET(view->out->lines, i),
              osec = sec == CV_NONE ? CV_NONE : CV_ARRAY_GET(cv_l_osec(view, sec)->rel, 1);
        cv_span span =
            sec == CV_NONE ? cv_span_of(NULL, 0, 0) : cv_builder_span(&cv_l_osec(view, sec)->bytes);
        uint64_t pos = 0, last = 0;

        while (pos < span.len)
            pos = cv_sat_add(pos, cv_sat_add(4, cv_u32_at(span, pos)));
        if (pos != span.len || (sec != CV_NONE && span.len != cv_l_osec(view, sec)->size))
            return false;
        if (osec == CV_NONE)
            continue;
        for (cv_rel_cur cur = cv_out_rels(cv_l_osec(view, osec)); cv_rel_next(view->out, &cur);) {
            if (cur.rel->off < last || cur.rel->off >= span.len)
                return false;
            last = cur.rel->off;
        }
    }
    return true;
}
