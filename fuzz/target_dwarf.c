/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A line program, or call frame information, whose code moves. The input is the section; relocations are
 * found in it: each address of a line program and each begin of a description is one, two of three in code
 * that moves. Parameters: 8 frames, 9..12 where bytes come into the code (times 16), 13..15 how many, 16 the
 * maps say that nothing moves. */
#include "common.h"

#include "finalize/remap.h"

enum { CODE = 0x400 };

typedef struct dwarf_world {
    fz_state *fuzz;
    cv_span span;
    cv_sites sites;
    cv_backend_out said;
    bool frames;
} dwarf_world;

static void make_map(dwarf_world *world)
{
    static const uint64_t MORE[] = { 16, 4, 1, 0x30, 0x100, 0x1000, 0x10000, UINT64_C(0x100000000) };
    uint64_t at = (uint64_t)(world->fuzz->in->param >> 9 & 15) * 16;
    uint64_t more = world->fuzz->in->param >> 16 & 1 ? 0 : CV_AT(MORE, world->fuzz->in->param >> 13 & 7);
    cv_offset_map map = { .section = 1, .size_from = CODE, .size_to = CODE + more, .count = 1 };

    if (!cv_moves_push(&world->fuzz->ctx.mem, &world->said.moves, (cv_moved){ at, at + more }) ||
        !cv_offset_maps_push(&world->fuzz->ctx.mem, &world->said.maps, map))
        cv_offset_maps_clear(&world->said.maps);
}

static bool add_site(dwarf_world *world, uint64_t at)
{
    return cv_sites_push(&world->fuzz->ctx.mem, &world->sites,
                         (cv_site){ at, 0, world->sites.count % 3 == 2 ? CV_STILL : 0, true });
}

static bool find_sites(dwarf_world *world)
{
    bool ok = true;
    cv_dwarf_bad bad;
    cv_frame frame;

    if (!world->frames) {
        for (uint64_t i = 0; i + 3 <= world->span.len && ok; i++)
            if (cv_u16_at(world->span, i) == 0x0900 && cv_u8_at(world->span, i + 2) == CV_LINE_SET_ADDRESS)
                ok = add_site(world, i + 3);
        return ok;
    }
    for (uint64_t i = 0; i < world->span.len && ok && cv_frame_read(world->span, i, &frame, &bad);
         i = frame.end)
        if (!frame.common)
            ok = add_site(world, frame.body);
    return ok;
}

/* Places of all rows, one after the other: next() gives each of them. */
typedef struct dwarf_reader {
    cv_span span;
    const cv_sites *sites;
    uint64_t unit, pos, site, place;
    cv_line_unit own_unit;
    uint32_t map;
} dwarf_reader;

static bool next_op(dwarf_reader *reader, cv_line_op *op)
{
    cv_dwarf_bad bad;

    while (reader->pos >= reader->own_unit.end || reader->own_unit.end == 0) {
        if (reader->unit >= reader->span.len)
            return false;
        FZ_CHECK(cv_line_unit_read(reader->span, reader->unit, &reader->own_unit, &bad),
                 "a unit that was accepted, or written");
        reader->pos = reader->own_unit.program;
        reader->unit = reader->own_unit.end;
    }
    FZ_CHECK(cv_line_op_read(reader->span, &reader->own_unit, reader->pos, op, &bad),
             "an operation that was accepted, or written");
    reader->pos = op->end;
    if (op->kind == CV_LINE_STEP || op->kind == CV_LINE_SPECIAL)
        reader->place += op->step;
    return true;
}

static bool next_row(dwarf_reader *reader, const cv_moves *shifts, cv_line_op *op)
{
    do {
        if (!next_op(reader, op))
            return false;
        if (op->kind == CV_LINE_ADDRESS) {
            while (reader->site < reader->sites->count &&
                   cv_remap_shifted(shifts, cv_sites_get(reader->sites, reader->site)->at) < op->address)
                reader->site++;
            FZ_CHECK(cv_remap_shifted(shifts, cv_sites_get(reader->sites, reader->site)->at) == op->address,
                     "relocations follow their address");
            reader->place = cv_sites_get(reader->sites, reader->site)->place;
            reader->map = cv_sites_get(reader->sites, reader->site)->map;
        }
    } while (op->kind != CV_LINE_ROW && op->kind != CV_LINE_SPECIAL && op->kind != CV_LINE_END);
    return true;
}

/* Every row is where its code is, and there are as many. */
static void compare_rows(const dwarf_world *world, const cv_remap *remap)
{
    const cv_moves none = { 0 };
    dwarf_reader was = { .span = world->span, .sites = &world->sites },
                 is = { .span = cv_builder_span(&remap->out), .sites = &world->sites };
    cv_line_op left, right;
    uint64_t to, begin;

    while (next_row(&was, &none, &left)) {
        FZ_CHECK(next_row(&is, &remap->shifts, &right) && left.kind == right.kind && was.map == is.map,
                 "the same rows");
        if (was.map == CV_STILL) {
            FZ_CHECK(was.place == is.place, "what does not move stays");
            continue;
        }
        /* The relocation has moved as well: the place is counted from it. */
        FZ_CHECK(cv_remap_place(&world->said, was.map, was.place, &to) &&
                     cv_remap_place(&world->said, was.map, 0, &begin) && is.place + begin == to,
                 "a row is where its code is");
    }
    FZ_CHECK(!next_row(&is, &remap->shifts, &right), "no row more");
}

static void compare_frames(const cv_remap *remap)
{
    cv_span out = cv_builder_span(&remap->out);
    cv_dwarf_bad bad;
    cv_frame left, right;

    for (uint64_t i = 0; i < remap->section.len; i = left.end) {
        FZ_CHECK(cv_frame_read(remap->section, i, &left, &bad) &&
                     cv_frame_read(out, cv_remap_shifted(&remap->shifts, i), &right, &bad) &&
                     left.common == right.common && cv_remap_shifted(&remap->shifts, left.end) == right.end,
                 "the same entries");
        FZ_CHECK(left.common || left.body + 16 > left.end ||
                     cv_remap_shifted(&remap->shifts, left.body) == right.body,
                 "and their bodies");
    }
}

static void check(dwarf_world *world, cv_remap *remap)
{
    cv_span out = cv_builder_span(&remap->out);

    FZ_CHECK(cv_remap_shifted(&remap->shifts, world->span.len) == out.len || world->span.len == 0,
             "the end is the end");
    if (world->fuzz->in->param >> 16 & 1)
        FZ_CHECK(cv_span_eq(out, world->span), "what does not move keeps its bytes");
    for (uint64_t i = 1; i < remap->shifts.count; i++)
        FZ_CHECK(cv_moves_at(&remap->shifts, i - 1)->from <= cv_moves_at(&remap->shifts, i)->from &&
                     cv_moves_at(&remap->shifts, i - 1)->to <= cv_moves_at(&remap->shifts, i)->to,
                 "bytes keep their order");
    if (world->frames)
        compare_frames(remap);
    else
        compare_rows(world, remap);
}

static void run(fz_state *fuzz)
{
    dwarf_world world = { .fuzz = fuzz, .span = fz_span(fuzz), .frames = fuzz->in->param >> 8 & 1 };
    uint64_t before = fz_reported(fuzz);
    cv_remap remap = { .ctx = &fuzz->ctx, .section = world.span, .sites = &world.sites, .said = &world.said };
    cuvet_status st;

    cv_builder_init(&remap.out, &fuzz->ctx.mem);
    make_map(&world);
    if (world.said.maps.count && find_sites(&world)) {
        st = world.frames ? cv_remap_frames(&remap) : cv_remap_lines(&remap);
        fz_status(fuzz, st, before);
        if (st == CUVET_OK) {
            fz_note(fuzz, remap.out.len);
            check(&world, &remap);
        }
    }
    cv_builder_free(&remap.out);
    cv_moves_free(&fuzz->ctx.mem, &remap.shifts);
    cv_sites_free(&fuzz->ctx.mem, &world.sites);
    cv_moves_free(&fuzz->ctx.mem, &world.said.moves);
    cv_offset_maps_free(&fuzz->ctx.mem, &world.said.maps);
}

CV_FUZZ_TARGET(dwarf)
{
    return fz_twice(data, size, FZ_OFF, run);
}
