/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "remap_files.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define MAX_FILE (1u << 16)

cv_ctx x;
cv_cubin cubin;
cv_backend_out said;
cv_final_bodies bodies;
cv_final code;
static uint8_t bytes[MAX_FILE];
uint64_t size;
unsigned n_errors, n_stale;
cuvet_diag last;

static void emit(void *user, const cuvet_diag *d)
{
    (void)user;
    if (d->severity == CUVET_ERROR) {
        last = *d;
        n_errors++;
    }
    n_stale += d->rule == CV_R_DWARF_STALE;
}

void remap_setup(void)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&x, NULL, &lim);
    x.emit = emit;
    cv_cubin_init(&cubin);
    memset(&said, 0, sizeof(said));
    memset(&bodies, 0, sizeof(bodies));
    n_errors = n_stale = 0;
}

void drop_bodies(void)
{
    for (uint64_t i = 0; i < bodies.n; i++)
        cv_builder_free(&cv_final_bodies_at(&bodies, i)->bytes);
    cv_final_bodies_free(&x.mem, &bodies);
}

static void drop(void)
{
    drop_bodies();
    cv_offset_maps_free(&x.mem, &said.maps);
    cv_moves_free(&x.mem, &said.moves);
    cv_cubin_free(&x, &cubin);
    cv_islands_drop();
}

void remap_teardown(void)
{
    drop();
    ck_assert_uint_eq(x.mem.live, 0);
}

static void examine(void)
{
    uint64_t extent = 0;

    cv_ctx_unit(&x, size);
    ck_assert_int_eq(cv_cubin_examine(&x, &cubin, cv_span_of(bytes, size, 0), NULL, &extent), CUVET_OK);
    ck_assert_uint_eq(n_errors, 0);
    x.work_left = x.work_rest = UINT64_C(1) << 40;
}

void load(const char *name)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "corpus/%s.cubin", name);
    f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s: run from the root of the repository", path);
    size = fread(bytes, 1, sizeof(bytes), f);
    ck_assert_uint_lt(size, sizeof(bytes));
    fclose(f);
    examine();
}

uint64_t expect_place(const change *c, uint64_t was, uint64_t code_size)
{
    if (was == code_size)
        return was + c->in - c->out;
    if (was < c->at)
        return was;
    return was < c->at + c->out ? c->at + c->in : was + c->in - c->out;
}

void change_code(const change *c)
{
    for (uint32_t i = 1; i < cubin.sec.n; i++) {
        cv_sec *s = cv_secs_at(&cubin.sec, i);
        cv_offset_map m = { .section = i, .size_from = s->h.size, .first = said.moves.n };

        if (s->role != CV_ROLE_TEXT)
            continue;
        ck_assert(cv_moves_push(&x.mem, &said.moves, (cv_moved){ 0, 0 }));
        if (c->out)
            ck_assert(cv_moves_push(&x.mem, &said.moves, (cv_moved){ c->at, c->at + c->in }));
        ck_assert(cv_moves_push(&x.mem, &said.moves, (cv_moved){ c->at + c->out, c->at + c->in }));
        m.n = said.moves.n - m.first;
        m.size_to = s->h.size + c->in - c->out;
        s->h.size = m.size_to; /* the picture is that of the new file */
        ck_assert(cv_offset_maps_push(&x.mem, &said.maps, m));
    }
    ck_assert_uint_gt(said.maps.n, 0);
}

uint64_t size_before(uint32_t section)
{
    for (uint64_t i = 0; i < said.maps.n; i++)
        if (cv_offset_maps_at(&said.maps, i)->section == section)
            return cv_offset_maps_at(&said.maps, i)->size_from;
    return 0;
}

uint32_t section_named(const char *name)
{
    for (uint32_t i = 1; i < cubin.sec.n; i++)
        if (cv_span_eq_str(cv_cubin_sec(&cubin, i)->name, name))
            return i;
    return 0;
}

void load_bytes(cv_span s)
{
    ck_assert_uint_lt(s.len, sizeof(bytes));
    cv_span_copy(s, bytes);
    size = s.len;
    cv_cubin_free(&x, &cubin);
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
