/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "remap_files.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define MAX_FILE (1u << 16)

cv_ctx the_ctx;
cv_cubin cubin;
cv_backend_out said;
cv_final_bodies bodies;
cv_final code;
static uint8_t bytes[MAX_FILE];
uint64_t size;
unsigned n_errors, n_stale;
cuvet_diag last;

static void emit(void *user, const cuvet_diag *diag)
{
    (void)user;
    if (diag->severity == CUVET_ERROR) {
        last = *diag;
        n_errors++;
    }
    n_stale += diag->rule == CV_R_DWARF_STALE;
}

void remap_setup(void)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&the_ctx, NULL, &lim);
    the_ctx.emit = emit;
    cv_cubin_init(&cubin);
    memset(&said, 0, sizeof(said));
    memset(&bodies, 0, sizeof(bodies));
    n_errors = n_stale = 0;
}

void drop_bodies(void)
{
    for (uint64_t i = 0; i < bodies.count; i++)
        cv_builder_free(&cv_final_bodies_at(&bodies, i)->bytes);
    cv_final_bodies_free(&the_ctx.mem, &bodies);
}

static void drop(void)
{
    drop_bodies();
    cv_offset_maps_free(&the_ctx.mem, &said.maps);
    cv_moves_free(&the_ctx.mem, &said.moves);
    cv_cubin_free(&the_ctx, &cubin);
    cv_islands_drop();
}

void remap_teardown(void)
{
    drop();
    ck_assert_uint_eq(the_ctx.mem.live, 0);
}

static void examine(void)
{
    uint64_t extent = 0;

    cv_ctx_unit(&the_ctx, size);
    ck_assert_int_eq(cv_cubin_examine(&the_ctx, &cubin, cv_span_of(bytes, size, 0), NULL, &extent), CUVET_OK);
    ck_assert_uint_eq(n_errors, 0);
    the_ctx.work_left = the_ctx.work_rest = UINT64_C(1) << 40;
}

void load(const char *name)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof(path), "corpus/%s.cubin", name);
    file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s: run from the root of the repository", path);
    size = fread(bytes, 1, sizeof(bytes), file);
    ck_assert_uint_lt(size, sizeof(bytes));
    fclose(file);
    examine();
}

uint64_t expect_place(const remap_files_change *change, uint64_t was, uint64_t code_size)
{
    if (was == code_size)
        return was + change->in - change->out;
    if (was < change->at)
        return was;
    return was < change->at + change->out ? change->at + change->in : was + change->in - change->out;
}

void change_code(const remap_files_change *change)
{
    for (uint32_t i = 1; i < cubin.sec.count; i++) {
        cv_sec *sec = cv_secs_at(&cubin.sec, i);
        cv_offset_map map = { .section = i, .size_from = sec->header.size, .first = said.moves.count };

        if (sec->role != CV_ROLE_TEXT)
            continue;
        ck_assert(cv_moves_push(&the_ctx.mem, &said.moves, (cv_moved){ 0, 0 }));
        if (change->out)
            ck_assert(
                cv_moves_push(&the_ctx.mem, &said.moves, (cv_moved){ change->at, change->at + change->in }));
        ck_assert(cv_moves_push(&the_ctx.mem, &said.moves,
                                (cv_moved){ change->at + change->out, change->at + change->in }));
        map.count = said.moves.count - map.first;
        map.size_to = sec->header.size + change->in - change->out;
        sec->header.size = map.size_to; /* the picture is that of the new file */
        ck_assert(cv_offset_maps_push(&the_ctx.mem, &said.maps, map));
    }
    ck_assert_uint_gt(said.maps.count, 0);
}

uint64_t size_before(uint32_t section)
{
    for (uint64_t i = 0; i < said.maps.count; i++)
        if (cv_offset_maps_at(&said.maps, i)->section == section)
            return cv_offset_maps_at(&said.maps, i)->size_from;
    return 0;
}

uint32_t section_named(const char *name)
{
    for (uint32_t i = 1; i < cubin.sec.count; i++)
        if (cv_span_eq_str(cv_cubin_sec(&cubin, i)->name, name))
            return i;
    return 0;
}

void load_bytes(cv_span span)
{
    ck_assert_uint_lt(span.len, sizeof(bytes));
    cv_span_copy(span, bytes);
    size = span.len;
    cv_cubin_free(&the_ctx, &cubin);
    cv_cubin_init(&cubin);
    examine();
}

cv_span loaded(void)
{
    return cv_span_of(bytes, size, 0);
}

void patch_loaded(uint64_t at, uint8_t value)
{
    ck_assert_uint_lt(at, size);
    bytes[at] = value;
}
