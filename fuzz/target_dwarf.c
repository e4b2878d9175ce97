/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A line program, or call frame information, whose code moves. The input is the section; relocations are
 * found in it: each address of a line program and each begin of a description is one, two of three in code
 * that moves. Parameters: 8 frames, 9..12 where bytes come into the code (times 16), 13..15 how many, 16 the
 * maps say that nothing moves. */
#include "common.h"

#include "finalize/remap.h"

enum { CODE = 0x400 };

typedef struct world {
    fz *f;
    cv_span s;
    cv_sites sites;
    cv_backend_out said;
    bool frames;
} world;

static void make_map(world *w)
{
    static const uint64_t MORE[] = { 16, 4, 1, 0x30, 0x100, 0x1000, 0x10000, UINT64_C(0x100000000) };
    uint64_t at = (uint64_t)(w->f->in->param >> 9 & 15) * 16;
    uint64_t more = w->f->in->param >> 16 & 1 ? 0 : CV_AT(MORE, w->f->in->param >> 13 & 7);
    cv_offset_map m = { .section = 1, .size_from = CODE, .size_to = CODE + more, .n = 1 };

    if (!cv_moves_push(&w->f->x.mem, &w->said.moves, (cv_moved){ at, at + more }) ||
        !cv_offset_maps_push(&w->f->x.mem, &w->said.maps, m))
        cv_offset_maps_clear(&w->said.maps);
}

static bool add_site(world *w, uint64_t at)
{
    return cv_sites_push(&w->f->x.mem, &w->sites,
                         (cv_site){ at, 0, w->sites.n % 3 == 2 ? CV_STILL : 0, true });
}

static bool find_sites(world *w)
{
    bool ok = true;
    cv_dwarf_bad bad;
    cv_frame e;

    if (!w->frames) {
        for (uint64_t i = 0; i + 3 <= w->s.len && ok; i++)
            if (cv_u16_at(w->s, i) == 0x0900 && cv_u8_at(w->s, i + 2) == CV_LINE_SET_ADDRESS)
                ok = add_site(w, i + 3);
        return ok;
    }
    for (uint64_t i = 0; i < w->s.len && ok && cv_frame_read(w->s, i, &e, &bad); i = e.end)
        if (!e.common)
            ok = add_site(w, e.body);
    return ok;
}

/* Places of all rows, one after the other: next() gives each of them. */
typedef struct reader {
    cv_span s;
    const cv_sites *sites;
    uint64_t unit, pos, site, place;
    cv_line_unit u;
    uint32_t map;
} reader;

static bool next_op(reader *r, cv_line_op *op)
{
    cv_dwarf_bad bad;

    while (r->pos >= r->u.end || r->u.end == 0) {
        if (r->unit >= r->s.len)
            return false;
        FZ_CHECK(cv_line_unit_read(r->s, r->unit, &r->u, &bad), "a unit that was accepted, or written");
        r->pos = r->u.program;
        r->unit = r->u.end;
    }
    FZ_CHECK(cv_line_op_read(r->s, &r->u, r->pos, op, &bad), "an operation that was accepted, or written");
    r->pos = op->end;
    if (op->kind == CV_LINE_STEP || op->kind == CV_LINE_SPECIAL)
        r->place += op->step;
    return true;
}

static bool next_row(reader *r, const cv_moves *shifts, cv_line_op *op)
{
    do {
        if (!next_op(r, op))
            return false;
        if (op->kind == CV_LINE_ADDRESS) {
            while (r->site < r->sites->n &&
                   cv_remap_shifted(shifts, cv_sites_get(r->sites, r->site)->at) < op->address)
                r->site++;
            FZ_CHECK(cv_remap_shifted(shifts, cv_sites_get(r->sites, r->site)->at) == op->address,
                     "relocations follow their address");
            r->place = cv_sites_get(r->sites, r->site)->place;
            r->map = cv_sites_get(r->sites, r->site)->map;
        }
    } while (op->kind != CV_LINE_ROW && op->kind != CV_LINE_SPECIAL && op->kind != CV_LINE_END);
    return true;
}

/* Every row is where its code is, and there are as many. */
static void compare_rows(const world *w, const cv_remap *r)
{
    const cv_moves none = { 0 };
    reader was = { .s = w->s, .sites = &w->sites },
           is = { .s = cv_builder_span(&r->out), .sites = &w->sites };
    cv_line_op a, b;
    uint64_t to, begin;

    while (next_row(&was, &none, &a)) {
        FZ_CHECK(next_row(&is, &r->shifts, &b) && a.kind == b.kind && was.map == is.map, "the same rows");
        if (was.map == CV_STILL) {
            FZ_CHECK(was.place == is.place, "what does not move stays");
            continue;
        }
        /* The relocation has moved as well: the place is counted from it. */
        FZ_CHECK(cv_remap_place(&w->said, was.map, was.place, &to) &&
                     cv_remap_place(&w->said, was.map, 0, &begin) && is.place + begin == to,
                 "a row is where its code is");
    }
    FZ_CHECK(!next_row(&is, &r->shifts, &b), "no row more");
}

static void compare_frames(const cv_remap *r)
{
    cv_span out = cv_builder_span(&r->out);
    cv_dwarf_bad bad;
    cv_frame a, b;

    for (uint64_t i = 0; i < r->section.len; i = a.end) {
        FZ_CHECK(cv_frame_read(r->section, i, &a, &bad) &&
                     cv_frame_read(out, cv_remap_shifted(&r->shifts, i), &b, &bad) && a.common == b.common &&
                     cv_remap_shifted(&r->shifts, a.end) == b.end,
                 "the same entries");
        FZ_CHECK(a.common || a.body + 16 > a.end || cv_remap_shifted(&r->shifts, a.body) == b.body,
                 "and their bodies");
    }
}

static void check(world *w, cv_remap *r)
{
    cv_span out = cv_builder_span(&r->out);

    FZ_CHECK(cv_remap_shifted(&r->shifts, w->s.len) == out.len || w->s.len == 0, "the end is the end");
    if (w->f->in->param >> 16 & 1)
        FZ_CHECK(cv_span_eq(out, w->s), "what does not move keeps its bytes");
    for (uint64_t i = 1; i < r->shifts.n; i++)
        FZ_CHECK(cv_moves_at(&r->shifts, i - 1)->from <= cv_moves_at(&r->shifts, i)->from &&
                     cv_moves_at(&r->shifts, i - 1)->to <= cv_moves_at(&r->shifts, i)->to,
                 "bytes keep their order");
    if (w->frames)
        compare_frames(r);
    else
        compare_rows(w, r);
}

static void run(fz *f)
{
    world w = { .f = f, .s = fz_span(f), .frames = f->in->param >> 8 & 1 };
    uint64_t before = fz_reported(f);
    cv_remap r = { .ctx = &f->x, .section = w.s, .sites = &w.sites, .said = &w.said };
    cuvet_status st;

    cv_builder_init(&r.out, &f->x.mem);
    make_map(&w);
    if (w.said.maps.n && find_sites(&w)) {
        st = w.frames ? cv_remap_frames(&r) : cv_remap_lines(&r);
        fz_status(f, st, before);
        if (st == CUVET_OK) {
            fz_note(f, r.out.len);
            check(&w, &r);
        }
    }
    cv_builder_free(&r.out);
    cv_moves_free(&f->x.mem, &r.shifts);
    cv_sites_free(&f->x.mem, &w.sites);
    cv_moves_free(&f->x.mem, &w.said.moves);
    cv_offset_maps_free(&f->x.mem, &w.said.maps);
}

CV_FUZZ_TARGET(dwarf)
{
    return fz_twice(data, size, FZ_OFF, run);
}
