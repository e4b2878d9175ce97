/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A link looks at each file once: what it is, its members, the tables of a host object, the rules of a device
 * ELF; and its image comes into memory once. The linker of this program (mk/tests.mk) leads calls between
 * files of the library through here, where they are counted: what ships counts nothing. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include <cuvet/cuvet.h>

#include "codec/codec.h"
#include "cubin/cubin.h"
#include "host/host.h"
#include "intake/probe.h"
#include "intake/region.h"

enum { MOST_BYTES = 1 << 18, MOST_COPIES = 256, MOST_FILES = 3 };

typedef struct once_counts {
    unsigned classified, walked, hosts, examined, copied;
} once_counts;

static once_counts counts;
/* Sizes of what was copied, loaded or unpacked: an image is told among them when it is examined. */
static uint64_t moved[MOST_COPIES];
static unsigned n_moved;

static void note_move(uint64_t size)
{
    ck_assert_uint_lt(n_moved, MOST_COPIES);
    moved[n_moved++] = size;
}

#define REAL(name) __real_##name
#define WRAP(name) __wrap_##name

cuvet_status REAL(cv_classify_look)(cv_span span, uint64_t probe, unsigned flags, cuvet_content_info *out,
                                    cv_class_why *why);
cuvet_status WRAP(cv_classify_look)(cv_span span, uint64_t probe, unsigned flags, cuvet_content_info *out,
                                    cv_class_why *why);
cuvet_status WRAP(cv_classify_look)(cv_span span, uint64_t probe, unsigned flags, cuvet_content_info *out,
                                    cv_class_why *why)
{
    counts.classified++;
    return REAL(cv_classify_look)(span, probe, flags, out, why);
}

cuvet_status REAL(cv_classify)(cv_ctx *ctx, cv_span span, unsigned flags, cuvet_content_info *out);
cuvet_status WRAP(cv_classify)(cv_ctx *ctx, cv_span span, unsigned flags, cuvet_content_info *out);
cuvet_status WRAP(cv_classify)(cv_ctx *ctx, cv_span span, unsigned flags, cuvet_content_info *out)
{
    counts.classified++;
    return REAL(cv_classify)(ctx, span, flags, out);
}

const cv_container_ops *REAL(cv_containers_probe)(cv_span head, bool *more);
const cv_container_ops *WRAP(cv_containers_probe)(cv_span head, bool *more);
const cv_container_ops *WRAP(cv_containers_probe)(cv_span head, bool *more)
{
    counts.classified++;
    return REAL(cv_containers_probe)(head, more);
}

cuvet_status REAL(cv_walk_open)(cv_ctx *ctx, cv_walk *walk, const cuvet_source *src, uint64_t off,
                                uint64_t end, bool raw, bool ledger);
cuvet_status WRAP(cv_walk_open)(cv_ctx *ctx, cv_walk *walk, const cuvet_source *src, uint64_t off,
                                uint64_t end, bool raw, bool ledger);
cuvet_status WRAP(cv_walk_open)(cv_ctx *ctx, cv_walk *walk, const cuvet_source *src, uint64_t off,
                                uint64_t end, bool raw, bool ledger)
{
    counts.walked++;
    return REAL(cv_walk_open)(ctx, walk, src, off, end, raw, ledger);
}

cuvet_status REAL(cv_host_read)(cv_ctx *ctx, const cuvet_source *src, uint64_t base, uint64_t size,
                                cv_host *out);
cuvet_status WRAP(cv_host_read)(cv_ctx *ctx, const cuvet_source *src, uint64_t base, uint64_t size,
                                cv_host *out);
cuvet_status WRAP(cv_host_read)(cv_ctx *ctx, const cuvet_source *src, uint64_t base, uint64_t size,
                                cv_host *out)
{
    counts.hosts++;
    return REAL(cv_host_read)(ctx, src, base, size, out);
}

cuvet_status REAL(cv_cubin_examine)(cv_ctx *ctx, cv_cubin *cubin, cv_span file, cv_ledger *ledger,
                                    uint64_t *extent);
cuvet_status WRAP(cv_cubin_examine)(cv_ctx *ctx, cv_cubin *cubin, cv_span file, cv_ledger *ledger,
                                    uint64_t *extent);
cuvet_status WRAP(cv_cubin_examine)(cv_ctx *ctx, cv_cubin *cubin, cv_span file, cv_ledger *ledger,
                                    uint64_t *extent)
{
    counts.examined++;
    for (unsigned i = 0; i < n_moved; i++)
        counts.copied += moved[i] == file.len;
    n_moved = 0;
    return REAL(cv_cubin_examine)(ctx, cubin, file, ledger, extent);
}

cuvet_status REAL(cv_block_copy)(cv_ctx *ctx, cv_block *block, cv_span bytes);
cuvet_status WRAP(cv_block_copy)(cv_ctx *ctx, cv_block *block, cv_span bytes);
cuvet_status WRAP(cv_block_copy)(cv_ctx *ctx, cv_block *block, cv_span bytes)
{
    note_move(bytes.len);
    return REAL(cv_block_copy)(ctx, block, bytes);
}

cuvet_status REAL(cv_block_load)(cv_ctx *ctx, cv_block *block, const cuvet_source *src, uint64_t off,
                                 uint64_t len);
cuvet_status WRAP(cv_block_load)(cv_ctx *ctx, cv_block *block, const cuvet_source *src, uint64_t off,
                                 uint64_t len);
cuvet_status WRAP(cv_block_load)(cv_ctx *ctx, cv_block *block, const cuvet_source *src, uint64_t off,
                                 uint64_t len)
{
    note_move(len);
    return REAL(cv_block_load)(ctx, block, src, off, len);
}

cuvet_status REAL(cv_codec_decode)(cv_ctx *ctx, cv_codec *codec, cv_codec_kind kind, cv_span in,
                                   uint64_t size, cv_block *out);
cuvet_status WRAP(cv_codec_decode)(cv_ctx *ctx, cv_codec *codec, cv_codec_kind kind, cv_span in,
                                   uint64_t size, cv_block *out);
cuvet_status WRAP(cv_codec_decode)(cv_ctx *ctx, cv_codec *codec, cv_codec_kind kind, cv_span in,
                                   uint64_t size, cv_block *out)
{
    note_move(size);
    return REAL(cv_codec_decode)(ctx, codec, kind, in, size, out);
}

typedef struct once_file {
    uint8_t bytes[MOST_BYTES];
    size_t size;
} once_file;

static void append(once_file *file, const char *name)
{
    char path[256];
    FILE *in;
    size_t got;

    (void)snprintf(path, sizeof(path), "corpus/samples/%s", name);
    in = fopen(path, "rb");
    ck_assert_msg(in != NULL, "%s", path);
    got = fread(file->bytes + file->size, 1, MOST_BYTES - file->size, in);
    ck_assert(got > 0 && file->size + got < MOST_BYTES && fclose(in) == 0);
    file->size += got;
}

static void append_member(once_file *file, const char *name)
{
    size_t at = file->size;
    char header[61];

    file->size += 60;
    append(file, name);
    (void)snprintf(header, sizeof(header), "%-16s%-12d%-6d%-6d%-8d%-10zu`\n", "m.o/", 0, 0, 0, 644,
                   file->size - at - 60);
    memcpy(file->bytes + at, header, 60);
    if (file->size % 2)
        file->bytes[file->size++] = '\n';
}

typedef struct once_row {
    const char *what, *target, *sample[MOST_FILES];
    bool archive;
    once_counts most; /* expected, not more and not less */
} once_row;

static const once_row ROWS[] = {
    { "host object", "sm_75", { "host-two_a.o" }, false, { 1, 1, 1, 1, 1 } },
    { "other host object", "sm_90", { "host-launch.o" }, false, { 1, 1, 1, 1, 1 } },
    { "device ELF", "sm_90", { "branchy.sm_90.rdc.cubin" }, false, { 1, 0, 0, 1, 1 } },
    { "archive of host objects", "sm_75", { "host-two_a.o", "host-two_b.o" }, true, { 3, 1, 2, 2, 2 } },
    { "archive of device ELFs",
      "sm_90",
      { "branchy.sm_90.rdc.cubin", "dynshared.sm_90.rdc.cubin" },
      true,
      { 3, 1, 0, 2, 2 } },
};

static once_file file;

START_TEST(link_looks_once)
{
    const once_row *row = &ROWS[_i];
    cuvet_linker_options opt = { .size = sizeof(opt) };
    cuvet_ctx *ctx = NULL;
    cuvet_linker linker = { 0 };
    unsigned files = 0;

    file.size = 0;
    if (row->archive) {
        memcpy(file.bytes, "!<arch>\n", 8);
        file.size = 8;
    }
    for (; files < MOST_FILES && row->sample[files]; files++) {
        if (row->archive)
            append_member(&file, row->sample[files]);
        else
            append(&file, row->sample[files]);
    }
    ck_assert_int_eq(cuvet_target_parse(row->target, &opt.target), CUVET_OK);
    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_create(ctx, &opt, &linker), CUVET_OK);
    counts = (once_counts){ 0 };
    n_moved = 0;
    ck_assert_int_eq(cuvet_linker_add_memory(ctx, linker, file.bytes, file.size, "f", NULL), CUVET_OK);
    ck_assert_msg(memcmp(&counts, &row->most, sizeof(counts)) == 0,
                  "%s: classified %u, walked %u, host tables read %u, examined %u, copied %u", row->what,
                  counts.classified, counts.walked, counts.hosts, counts.examined, counts.copied);
    ck_assert_int_eq(cuvet_linker_destroy(ctx, &linker), CUVET_OK);
    cuvet_ctx_destroy(ctx);
}
END_TEST

Suite *suite_once(void);
Suite *suite_once(void)
{
    Suite *suite = suite_create("once");
    TCase *tcase = tcase_create("once");

    tcase_add_loop_test(tcase, link_looks_once, 0, (int)(sizeof(ROWS) / sizeof(ROWS[0])));
    suite_add_tcase(suite, tcase);
    return suite;
}
