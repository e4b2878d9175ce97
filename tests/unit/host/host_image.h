/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A small relocatable and a small shared object with two wrappers each, and the context they are read in. */
#ifndef CV_TESTS_HOST_IMAGE_H
#define CV_TESTS_HOST_IMAGE_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "host/host.h"

#define BASE 4096 /* of the region in the source: everything must be relative to it */
#define SIZE 2048

static cv_ctx ctx;
static cuvet_diag last;
static unsigned n_diags;
static uint8_t file[BASE + SIZE + 64];
static uint8_t *const img = file + BASE;
static cv_host host;

static void emit(void *user, const cuvet_diag *diag)
{
    (void)user;
    /* the first one is the cause */
    if (n_diags++ == 0)
        last = *diag;
}

static void put(unsigned at, unsigned width, uint64_t value)
{
    for (unsigned i = 0; i < width; i++)
        img[at + i] = (uint8_t)(value >> 8 * i);
}

static void section(unsigned index, unsigned name, uint32_t type, uint64_t addr, uint64_t off, uint64_t size,
                    uint32_t link, uint32_t info, uint64_t entsize)
{
    unsigned at = 0x400 + 64 * index;

    put(at, 4, name);
    put(at + 4, 4, type);
    put(at + 8, 8, 2);
    put(at + 16, 8, addr);
    put(at + 24, 8, off);
    put(at + 32, 8, size);
    put(at + 40, 4, link);
    put(at + 44, 4, info);
    put(at + 48, 8, 8);
    put(at + 56, 8, entsize);
}

/* Places in both images. */
#define FATBIN           0x100
#define SEGMENT          0x180
#define RELOCS           0x200
#define SYMBOLS          0x280
#define SHNDX            0x300
#define MODULE_ID        0x320
#define REFS             0x330
#define NAMES            0x340
#define SECTIONS         0x400
#define SH(index, field) (SECTIONS + 64 * (index) + (field))
enum { NAME = 0, TYPE = 4, FLAGS = 8, ADDR = 16, OFFSET = 24, SIZ = 32, LINK = 40, INFO = 44, ENT = 56 };
enum { S_FATBIN = 1, S_SEGMENT, S_RELA, S_SYMTAB, S_MODULE, S_NAMES, S_SHNDX, S_REFS, S_COUNT };

static const char names[] =
    "\0.nv_fatbin\0.nvFatBinSegment\0.rela.x\0.symtab\0__nv_module_id\0.shstrtab\0.nvHRKE\0"
    ".a_name_that_is_longer_than_all_of_interest";

static unsigned name_of(const char *count)
{
    for (unsigned i = 0; i < sizeof(names); i++)
        if (strcmp(names + i, count) == 0)
            return i;
    abort();
}

static void ident(uint16_t type)
{
    memset(file, 0xEE, sizeof(file)); /* what is outside of the region must not matter */
    memset(img, 0, SIZE);
    memcpy(img,
           "\x7F"
           "ELF\2\1\1",
           7);
    put(16, 2, type);
    put(18, 2, 62);
    put(20, 4, 1);
    put(40, 8, SECTIONS);
    put(52, 2, 64);
    put(54, 2, 56);
    put(58, 2, 64);
    put(60, 2, S_COUNT);
    put(62, 2, S_NAMES);
    memcpy(img + NAMES, names, sizeof(names));
    memcpy(img + MODULE_ID, "_mod_id", 8);
    memcpy(img + REFS, "_Z1k*\0", 6);
    for (unsigned i = 0; i < 2; i++) {
        put(SEGMENT + 24 * i, 4, 0x466243B1);
        put(SEGMENT + 24 * i + 4, 4, i + 1);
    }
}

static void reloc(unsigned index, uint64_t off, uint32_t sym, uint32_t type, uint64_t addend)
{
    put(RELOCS + 24 * index, 8, off);
    put(RELOCS + 24 * index + 8, 4, type);
    put(RELOCS + 24 * index + 12, 4, sym);
    put(RELOCS + 24 * index + 16, 8, addend);
}

/* Two wrappers, the second from a device link; the symbols: null, .nv_fatbin, undefined, a place in
 * .nv_fatbin. */
static __attribute__((unused)) void make_object(void)
{
    ident(1);
    section(S_FATBIN, name_of(".nv_fatbin"), 1, 0, FATBIN, 0x40, 0, 0, 0);
    section(S_SEGMENT, name_of(".nvFatBinSegment"), 1, 0, SEGMENT, 48, 0, 0, 0);
    section(S_RELA, name_of(".rela.x"), 4, 0, RELOCS, 72, S_SYMTAB, S_SEGMENT, 24);
    section(S_SYMTAB, name_of(".symtab"), 2, 0, SYMBOLS, 96, S_NAMES, 4, 24);
    section(S_MODULE, name_of("__nv_module_id"), 1, 0, MODULE_ID, 8, 0, 0, 0);
    section(S_NAMES, name_of(".shstrtab"), 3, 0, NAMES, sizeof(names), 0, 0, 0);
    section(S_SHNDX, 0, 18, 0, SHNDX, 16, S_SYMTAB, 0, 4);
    section(S_REFS, name_of(".nvHRKE"), 1, 0, REFS, 6, 0, 0, 0);
    put(SYMBOLS + 24 + 4, 4, 3);
    put(SYMBOLS + 24 + 6, 2, S_FATBIN);
    put(SYMBOLS + 72 + 6, 2, S_FATBIN);
    put(SYMBOLS + 72 + 8, 8, 0x10);
    put(SHNDX + 12, 4, S_FATBIN);
    reloc(0, 8, 1, 1, 0);
    reloc(1, 24 + 8, 3, 1, 0x10);
    reloc(2, 24 + 16, 2, 1, 0);
}

#define VADDR   0x10000
#define DYNAMIC 0x280
#define PHDRS   0x40

static __attribute__((unused)) void make_shared(void)
{
    ident(3);
    put(32, 8, PHDRS);
    put(56, 2, 2);
    put(PHDRS, 4, 1);
    put(PHDRS + 16, 8, VADDR);
    put(PHDRS + 32, 8, SIZE);
    put(PHDRS + 40, 8, SIZE);
    put(PHDRS + 56, 4, 2);
    put(PHDRS + 56 + 8, 8, DYNAMIC);
    put(PHDRS + 56 + 16, 8, VADDR + DYNAMIC);
    put(PHDRS + 56 + 32, 8, 64);
    put(DYNAMIC, 8, 7);
    put(DYNAMIC + 8, 8, VADDR + RELOCS);
    put(DYNAMIC + 16, 8, 8);
    put(DYNAMIC + 24, 8, 72);
    put(DYNAMIC + 32, 8, 9);
    put(DYNAMIC + 40, 8, 24);
    section(S_FATBIN, name_of(".nv_fatbin"), 1, VADDR + FATBIN, FATBIN, 0x40, 0, 0, 0);
    section(S_SEGMENT, name_of(".nvFatBinSegment"), 1, VADDR + SEGMENT, SEGMENT, 48, 0, 0, 0);
    section(S_NAMES, name_of(".shstrtab"), 3, 0, NAMES, sizeof(names), 0, 0, 0);
    section(S_MODULE, name_of("__nv_module_id"), 1, VADDR + MODULE_ID, MODULE_ID, 8, 0, 0, 0);
    reloc(0, VADDR + 0x20, 0, 8, 0x77); /* nothing of ours */
    reloc(1, VADDR + SEGMENT + 8, 0, 8, VADDR + FATBIN);
    reloc(2, VADDR + SEGMENT + 32, 0, 8, VADDR + FATBIN + 0x20);
    put(SEGMENT + 32, 8, VADDR + FATBIN + 0x20); /* linkers store zero or the same */
}

static void start(void)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, NULL, &lim);
    cv_ctx_unit(&ctx, SIZE);
    ctx.emit = emit;
    n_diags = 0;
    memset(&last, 0, sizeof(last));
    memset(&host, 0, sizeof(host));
}

static cuvet_status read_size(uint64_t size)
{
    cuvet_source src = { .size = sizeof(src) };

    ck_assert_int_eq(cuvet_source_memory(file, BASE + size, &src), CUVET_OK);
    return cv_host_read(&ctx, &src, BASE, size, &host);
}

static void done(void)
{
    cv_host_free(&ctx, &host);
    ck_assert_uint_eq(ctx.mem.live, 0);
    ck_assert_uint_eq(ctx.path.n, 0);
}

static __attribute__((unused)) void expect_named(uint64_t count, uint64_t left, uint64_t right)
{
    ck_assert_uint_eq(host.named.count, count);
    if (count > 0)
        ck_assert_uint_eq(*cv_u64s_at(&host.named, 0), BASE + left);
    if (count > 1)
        ck_assert_uint_eq(*cv_u64s_at(&host.named, 1), BASE + right);
}

#endif
