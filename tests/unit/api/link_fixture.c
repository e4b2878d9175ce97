/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "link_fixture.h"

#include <stdlib.h>

#define MOST_SAID 200

cuvet_ctx *lc_ctx;
static cuvet_diag said[MOST_SAID];
static unsigned n_said;

void lc_load(lc_object *object, const char *file)
{
    size_t count;
    const uint8_t *bytes = lc_file(file, &count);

    ck_assert_uint_le(count, sizeof(object->bytes));
    memcpy(object->bytes, bytes, count);
    object->size = count;
}

uint64_t lc_number(const uint8_t *bytes, size_t off, unsigned width)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < width; i++)
        value |= (uint64_t)bytes[off + i] << 8 * i;
    return value;
}

void lc_put(lc_object *object, size_t off, unsigned width, uint64_t value)
{
    ck_assert(off <= object->size && width <= object->size - off);
    for (unsigned i = 0; i < width; i++)
        object->bytes[off + i] = (uint8_t)(value >> 8 * i);
}

unsigned lc_sections(const uint8_t *bytes)
{
    return (unsigned)lc_number(bytes, 60, 2);
}

lc_section lc_section_of(const uint8_t *bytes, unsigned index)
{
    size_t table = lc_number(bytes, 40, 8), at = table + 64 * (size_t)index;
    size_t names = lc_number(bytes, table + 64 * lc_number(bytes, 62, 2) + 24, 8);

    return (lc_section){ .name = (const char *)bytes + names + lc_number(bytes, at, 4),
                         .at = at,
                         .type = (uint32_t)lc_number(bytes, at + 4, 4),
                         .flags = lc_number(bytes, at + 8, 8),
                         .addr = lc_number(bytes, at + 16, 8),
                         .off = lc_number(bytes, at + 24, 8),
                         .size = lc_number(bytes, at + 32, 8),
                         .link = (uint32_t)lc_number(bytes, at + 40, 4),
                         .info = (uint32_t)lc_number(bytes, at + 44, 4),
                         .align = lc_number(bytes, at + 48, 8),
                         .entsize = lc_number(bytes, at + 56, 8) };
}

lc_section lc_find_section(const uint8_t *bytes, const char *prefix, unsigned *value)
{
    for (*value = 0; *value < lc_sections(bytes); (*value)++) {
        lc_section section = lc_section_of(bytes, *value);

        if (strncmp(section.name, prefix, strlen(prefix)) == 0)
            return section;
    }
    ck_abort_msg("no section %s", prefix);
}

static void on_diag(void *user, const cuvet_diag *diag)
{
    (void)user;
    ck_assert_uint_lt(n_said, MOST_SAID);
    if (getenv("CV_VERBOSE")) {
        char text[300];

        cuvet_diag_message(diag, text, sizeof(text));
        fprintf(stderr, "%s: %s\n", cuvet_rule_get(diag->rule)->id, text);
    }
    said[n_said++] = *diag;
}

void lc_setup(void)
{
    const cuvet_ctx_options options = { .size = sizeof(options), .diag = on_diag };

    n_said = 0;
    ck_assert_int_eq(cuvet_ctx_create(&options, &lc_ctx), CUVET_OK);
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
    cuvet_linker_options options = { .size = sizeof(options) };

    ck_assert_int_eq(cuvet_target_parse(target, &options.target), CUVET_OK);
    return options;
}

cuvet_linker lc_linker(const cuvet_linker_options *options)
{
    cuvet_linker linker;

    ck_assert_int_eq(cuvet_linker_create(lc_ctx, options, &linker), CUVET_OK);
    ck_assert_uint_ne(linker.bits, 0);
    return linker;
}

void lc_end(cuvet_linker linker)
{
    ck_assert_int_eq(cuvet_linker_destroy(lc_ctx, &linker), CUVET_OK);
    ck_assert_uint_eq(linker.bits, 0);
}
