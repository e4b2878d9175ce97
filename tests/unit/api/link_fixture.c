/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "link_fixture.h"

#include <stdlib.h>

#define MOST_SAID 200

cuvet_ctx *lc_ctx;
static cuvet_diag said[MOST_SAID];
static unsigned n_said;

void lc_load(lc_object *o, const char *file)
{
    size_t n;
    const uint8_t *p = lc_file(file, &n);

    ck_assert_uint_le(n, sizeof(o->bytes));
    memcpy(o->bytes, p, n);
    o->n = n;
}

uint64_t lc_number(const uint8_t *p, size_t off, unsigned width)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < width; i++)
        v |= (uint64_t)p[off + i] << 8 * i;
    return v;
}

void lc_put(lc_object *o, size_t off, unsigned width, uint64_t v)
{
    ck_assert(off <= o->n && width <= o->n - off);
    for (unsigned i = 0; i < width; i++)
        o->bytes[off + i] = (uint8_t)(v >> 8 * i);
}

unsigned lc_sections(const uint8_t *p)
{
    return (unsigned)lc_number(p, 60, 2);
}

lc_section lc_section_of(const uint8_t *p, unsigned i)
{
    size_t table = lc_number(p, 40, 8), at = table + 64 * (size_t)i;
    size_t names = lc_number(p, table + 64 * lc_number(p, 62, 2) + 24, 8);

    return (lc_section){ .name = (const char *)p + names + lc_number(p, at, 4),
                         .at = at,
                         .type = (uint32_t)lc_number(p, at + 4, 4),
                         .flags = lc_number(p, at + 8, 8),
                         .addr = lc_number(p, at + 16, 8),
                         .off = lc_number(p, at + 24, 8),
                         .size = lc_number(p, at + 32, 8),
                         .link = (uint32_t)lc_number(p, at + 40, 4),
                         .info = (uint32_t)lc_number(p, at + 44, 4),
                         .align = lc_number(p, at + 48, 8),
                         .entsize = lc_number(p, at + 56, 8) };
}

lc_section lc_find_section(const uint8_t *p, const char *prefix, unsigned *i)
{
    for (*i = 0; *i < lc_sections(p); (*i)++) {
        lc_section s = lc_section_of(p, *i);

        if (strncmp(s.name, prefix, strlen(prefix)) == 0)
            return s;
    }
    ck_abort_msg("no section %s", prefix);
}

static void on_diag(void *user, const cuvet_diag *d)
{
    (void)user;
    ck_assert_uint_lt(n_said, MOST_SAID);
    if (getenv("CV_VERBOSE")) {
        char text[300];

        cuvet_diag_message(d, text, sizeof(text));
        fprintf(stderr, "%s: %s\n", cuvet_rule_get(d->rule)->id, text);
    }
    said[n_said++] = *d;
}

void lc_setup(void)
{
    const cuvet_ctx_options o = { .size = sizeof(o), .diag = on_diag };

    n_said = 0;
    ck_assert_int_eq(cuvet_ctx_create(&o, &lc_ctx), CUVET_OK);
}

void lc_teardown(void)
{
    cuvet_ctx_destroy(lc_ctx);
}

void lc_forget(void)
{
    n_said = 0;
}

unsigned lc_n_said(void)
{
    return n_said;
}

bool lc_said(const char *id)
{
    for (unsigned i = 0; i < n_said; i++)
        if (strcmp(cuvet_rule_get(said[i].rule)->id, id) == 0)
            return true;
    return false;
}

const cuvet_diag *lc_diag(const char *id)
{
    for (unsigned i = 0; i < n_said; i++)
        if (strcmp(cuvet_rule_get(said[i].rule)->id, id) == 0)
            return &said[i];
    ck_abort_msg("%s was not said", id);
}

cuvet_linker_options lc_options(const char *target)
{
    cuvet_linker_options o = { .size = sizeof(o) };

    ck_assert_int_eq(cuvet_target_parse(target, &o.target), CUVET_OK);
    return o;
}

cuvet_linker lc_linker(const cuvet_linker_options *o)
{
    cuvet_linker l;

    ck_assert_int_eq(cuvet_linker_create(lc_ctx, o, &l), CUVET_OK);
    ck_assert_uint_ne(l.bits, 0);
    return l;
}

void lc_end(cuvet_linker l)
{
    ck_assert_int_eq(cuvet_linker_destroy(lc_ctx, &l), CUVET_OK);
    ck_assert_uint_eq(l.bits, 0);
}
