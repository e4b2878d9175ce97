/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a linker takes by what it was told: objects of some toolkit for a linker of some, or with a habit that
 * no producer has; an archive of compressed code under a budget that just suffices, or is one byte less. The
 * code is that of target_hosts.c. Two bytes each: what it is, and how. */
#include <cuvet/linker.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "scanner.h"

FZ_CARRY(cv_admitted_code, CV_FUZZ_HOSTS);

enum { MOST_BYTES = 1 << 15, MEMBER = 64, TRIALS = 16 };

typedef struct admits_sample {
    uint32_t off, size;
} admits_sample;

#define TOOLKIT(name, off)
#define INFO(off)
#define LIST(name, off)
#define LIST_NAME(name, off)
#define HOST(name, off, size, module, module_size) name,
enum {
#include "hosts.inc"
};
#undef HOST
#define HOST(name, off, size, module, module_size) { off, size },
static const admits_sample SAMPLES[] = {
#include "hosts.inc"
};
#undef HOST
#undef TOOLKIT

/* Where an object says which toolkit made it. */
typedef struct admits_toolkit {
    unsigned sample;
    uint32_t off;
} admits_toolkit;

#define HOST(name, off, size, module, module_size)
#define TOOLKIT(name, off) { name, off },
static const admits_toolkit TOOLKITS[] = {
#include "hosts.inc"
};
#undef TOOLKIT
#undef INFO
#define TOOLKIT(name, off)
#define INFO(off) off,
static const uint32_t SYMTAB_INFOS[] = {
#include "hosts.inc"
};

typedef struct admits_file {
    uint8_t bytes[MOST_BYTES];
    size_t size;
} admits_file;

static void append(admits_file *file, const void *bytes, size_t size)
{
    file->size = fz_append(file->bytes, sizeof(file->bytes), file->size, bytes, size);
}

/* An object of some toolkit, for a linker that takes code of some: linking.md, "newer than toolkit", and for
 * sm_90 "must be recompiled with toolkit >= Cuda 12.0". */
static void admit(fz_ops *ops)
{
    static const uint32_t VERSIONS[] = { 119, 120, 121, 130, 131, 140, 118, 999 },
                          WANTED[] = { 0, 130, 129, 131, 120 };
    uint8_t what = fz_u8(ops), how = fz_u8(ops);
    unsigned sample = what & 1 ? OBJECT_90 : CALLED_CUBIN;
    uint32_t version = VERSIONS[what >> 1 & 7];
    cuvet_linker_options options = { .size = sizeof(options),
                                     .target = { .sm = sample == OBJECT_90 ? 90 : 75 },
                                     .toolkit = WANTED[how % CV_COUNT(WANTED)] };
    admits_file *file = calloc(1, sizeof(*file));
    cuvet_ctx *ctx = NULL;
    cuvet_linker linker;
    bool habit = (how & 0xC0) == 0xC0; /* one local symbol less than there are, which no producer says */
    bool good = !habit && version <= (options.toolkit ? options.toolkit : 130) &&
                (sample != OBJECT_90 || version >= 120);

    FZ_CHECK(file != NULL, "memory");
    append(file, cv_admitted_code + SAMPLES[sample].off, SAMPLES[sample].size);
    for (size_t i = 0; i < CV_COUNT(TOOLKITS); i++)
        if (TOOLKITS[i].sample == sample) {
            file->bytes[TOOLKITS[i].off] = (uint8_t)version;
            file->bytes[TOOLKITS[i].off + 1] = (uint8_t)(version >> 8);
        }
    file->bytes[SYMTAB_INFOS[sample == OBJECT_90]] -= habit;
    FZ_CHECK(cuvet_ctx_create(NULL, &ctx) == CUVET_OK, "a context");
    FZ_CHECK(cuvet_linker_create(ctx, &options, &linker) == CUVET_OK, "a linker");
    FZ_CHECK((cuvet_linker_add(ctx, linker, file->bytes, file->size, "f") == CUVET_OK) == good,
             "objects of toolkits that the linker takes");
    cuvet_ctx_destroy(ctx);
    free(file);
}

/* A half as the member of a fat binary that is the member of an archive: fatbin.md sections 3, 4 and 7.2. */
static void append_packed(admits_file *archive, admits_file *scratch, unsigned sample)
{
    const uint8_t *bytes = cv_admitted_code + SAMPLES[sample].off;
    uint8_t head[16 + MEMBER] = { 0x50, 0xED, 0x55, 0xBA, 1, 0, 16, [16] = 2, 0, 1, 1, MEMBER };
    uint8_t *header = head + 16;
    char field[FZ_AR_HEADER + 1];
    int stored;

    scratch->size = 0;
    append(scratch, head, sizeof(head));
    stored = LZ4_compress_default((const char *)bytes, (char *)scratch->bytes + scratch->size,
                                  (int)SAMPLES[sample].size, (int)(sizeof(scratch->bytes) - sizeof(head)));
    FZ_CHECK(stored > 0, "LZ4 packs a half");
    memset(scratch->bytes + sizeof(head) + stored, 0, 8);
    scratch->size += ((size_t)stored + 7) / 8 * 8;
    header[0x18] = 8;
    header[0x1A] = 1;
    header[0x1C] = 75;
    header[0x28] = 0x11;
    header[0x29] = 0x20;
    for (unsigned i = 0; i < 4; i++) {
        head[8 + i] = (uint8_t)((scratch->size - 16) >> (8 * i));
        header[0x08 + i] = (uint8_t)((scratch->size - sizeof(head)) >> (8 * i));
        header[0x10 + i] = (uint8_t)((unsigned)stored >> (8 * i));
        header[0x38 + i] = (uint8_t)(SAMPLES[sample].size >> (8 * i));
    }
    memcpy(scratch->bytes, head, sizeof(head));
    fz_ar_header(field, "m/", scratch->size);
    append(archive, field, FZ_AR_HEADER);
    append(archive, scratch->bytes, scratch->size);
}

/* What the members of an archive are unpacked to is paid by the archive: "one budget for the outermost file"
 * (CV-LIMIT-020). It suffices, or is one byte less. */
static void pay(fz_ops *ops)
{
    static const unsigned HALVES[] = { CALLED_CUBIN, PRINTER, CALLER_CUBIN };
    uint8_t how = fz_u8(ops);
    unsigned count = 1 + how % CV_COUNT(HALVES);
    cuvet_linker_options options = { .size = sizeof(options), .target = { .sm = 75 } };
    cuvet_limits lim = { .size = sizeof(lim) };
    cuvet_ctx_options with = { .size = sizeof(with), .limits = &lim };
    admits_file *file = calloc(2, sizeof(*file));
    cuvet_ctx *ctx = NULL;
    cuvet_linker linker;
    bool less = (how & 0x80) != 0;

    FZ_CHECK(file != NULL && cuvet_limits_preset("strict", &lim) == CUVET_OK, "memory and limits");
    append(file, "!<arch>\n", 8);
    lim.budget = lim.budget_ratio = 0;
    for (unsigned i = 0; i < count; i++) {
        append_packed(file, &file[1], HALVES[i]);
        lim.budget += SAMPLES[HALVES[i]].size;
    }
    lim.budget -= less;
    FZ_CHECK(cuvet_ctx_create(&with, &ctx) == CUVET_OK, "a context");
    FZ_CHECK(cuvet_linker_create(ctx, &options, &linker) == CUVET_OK, "a linker");
    FZ_CHECK(cuvet_linker_add_memory(ctx, linker, file->bytes, file->size, "0", NULL) ==
                 (less ? CUVET_E_LIMIT : CUVET_OK),
             "an archive pays for all of its members");
    cuvet_ctx_destroy(ctx);
    free(file);
}

CV_FUZZ_TARGET(admits)
{
    fz_ops ops = { .bytes = data, .size = size };

    for (unsigned i = 0; i < TRIALS && fz_ops_left(&ops); i++)
        if (fz_u8(&ops) & 1)
            pay(&ops);
        else
            admit(&ops);
    return 0;
}
