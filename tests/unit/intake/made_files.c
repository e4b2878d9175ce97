/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "unit/intake/made_files.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "format/bitcode/read.h"
#include "format/elf/read.h"
#include "format/fatbin/read.h"
#include "format/offload/read.h"
#include "io/source.h"
#include "support/fatbins.h"

static uint8_t file[2 * CV_WINDOW_SIZE];
static uint64_t end;
static fb_state fatbin;

static void put(uint64_t at, unsigned width, uint64_t value)
{
    ck_assert_uint_le(at + width, sizeof(file));
    for (unsigned i = 0; i < width; i++)
        file[at + i] = (uint8_t)(value >> 8 * i);
    end = at + width > end ? at + width : end;
}

static void copy(uint64_t at, const void *from, uint64_t count)
{
    ck_assert_uint_le(at + count, sizeof(file));
    memcpy(file + at, from, count);
    end = at + count > end ? at + count : end;
}

static void put_container(uint64_t at, uint64_t header, uint64_t body)
{
    put(at, 4, CV_FATBIN_MAGIC);
    put(at + 4, 2, CV_FATBIN_VERSION);
    put(at + 6, 2, header);
    put(at + 8, 8, body);
}

static void put_member(uint64_t at, unsigned kind, uint64_t header, uint64_t payload)
{
    put(at, 2, kind);
    put(at + 2, 2, CV_FATBIN_MEMBER_VERSION);
    put(at + 4, 4, header);
    put(at + 8, 8, payload);
    put(at + 28, 4, 75);
    put(at + 40, 8, CV_FB_64BIT | CV_FB_LINUX);
    put(at + header + payload, 0, 0);
}

/* ---- containers ---- */

static void make_long_header(void)
{
    put(4, 4, 0x12345678);
    put_container(64, 24, 72 + 64);
    put_member(64 + 24, CV_FB_KIND_PTX, 72, 64);
}

static void make_hidden(uint64_t behind)
{
    put_container(0, CV_FATBIN_HEADER, 80 + 64);
    put_member(16, CV_FB_KIND_ELF, 80, 64);
    put_container(16 + 64, CV_FATBIN_HEADER, 0);
    put_container(16 + 80 + behind, CV_FATBIN_HEADER, 0);
}

static void make_empty(void)
{
    put_container(0, CV_FATBIN_HEADER, 72 + 72 + 24);
    put_member(16, CV_FB_KIND_PTX, 72, 0);
    put_member(16 + 72, CV_FB_KIND_PTX, 72, 24);
}

static void make_nest(unsigned depth)
{
    char head[69];

    fb_make(&fatbin, "compute_90a");
    for (unsigned i = 0; i < depth; i++) {
        uint64_t size = fatbin.size + 68 * (depth - 1 - i);

        ck_assert_int_eq(snprintf(head, sizeof(head), "!<arch>\n%-16s%-12d%-6d%-6d%-8d%-10u`\n", "a/", 0, 0,
                                  0, 644, (unsigned)size),
                         68);
        copy(68 * i, head, 68);
    }
    copy(68 * depth, fatbin.bytes, fatbin.size);
}

/* ---- objects ---- */

static const char NAMES[] = "\0.nv_fatbin\0__nv_module_id\0.data\0.shstrtab\0.llvm.offloading";
enum { NAME_FATBIN = 1, NAME_MODULE = 12, NAME_DATA = 27, NAME_NAMES = 33, NAME_OFFLOAD = 43 };

static void put_section(uint64_t at, unsigned name, unsigned type, uint64_t off, uint64_t size)
{
    put(at, 4, name);
    put(at + 4, 4, type);
    put(at + 8, 8, 2);
    put(at + 24, 8, off);
    put(at + 32, 8, size);
    put(at + 48, 8, 8);
    put(at + 56, 8, 0);
}

/* Section headers and names behind what is there; the other sections are put by the caller. */
static uint64_t put_object(unsigned sections)
{
    uint64_t names = (end + 7) / 8 * 8, table = (names + sizeof(NAMES) + 7) / 8 * 8;

    copy(0,
         "\x7F"
         "ELF\2\1\1",
         7);
    put(16, 2, CV_ELF_REL);
    put(18, 2, 62);
    put(20, 4, 1);
    put(40, 8, table);
    put(52, 2, 64);
    put(58, 2, 64);
    put(60, 2, sections + 2);
    put(62, 2, sections + 1);
    copy(names, NAMES, sizeof(NAMES));
    put_section(table + 64 * (sections + 1), NAME_NAMES, CV_SHT_STRTAB, names, sizeof(NAMES));
    return table;
}

static void make_wide_host(void)
{
    uint64_t first = CV_WINDOW_SIZE - 8, table;

    fb_make(&fatbin, "compute_90a");
    copy(first + 16, fatbin.bytes, fatbin.size);
    copy(first + 16 + fatbin.size, "module", 7);
    table = put_object(2);
    put_section(table + 64, NAME_FATBIN, CV_SHT_PROGBITS, first, 16 + fatbin.size);
    put_section(table + 128, NAME_MODULE, CV_SHT_PROGBITS, first + 16 + fatbin.size, 7);
}

/* One in other data, which is one; a magic that begins a section, and one at an odd place with a size that
 * fits nothing, which are none; and one where containers are. */
static void make_decoys(void)
{
    uint64_t table;

    fb_make(&fatbin, "compute_90a");
    copy(0x40, fatbin.bytes, fatbin.size);
    put(0x400, 4, CV_FATBIN_MAGIC);
    put(0x404, 4, 0x61616161);
    put(0x408, 8, 0);
    put_container(0x443, CV_FATBIN_HEADER, 8);
    copy(0x480, fatbin.bytes, fatbin.size);
    end = 0x480 + fatbin.size;
    table = put_object(3);
    put_section(table + 64, NAME_DATA, CV_SHT_PROGBITS, 0x40, 0x3C0);
    put_section(table + 128, NAME_MODULE, CV_SHT_PROGBITS, 0x400, 0x10);
    put_section(table + 192, NAME_FATBIN, CV_SHT_PROGBITS, 0x480, fatbin.size);
}

/* A section for containers that has none, more than a window before one of offload binaries. */
static void make_gap_far(void)
{
    enum { FAR = CV_WINDOW_SIZE + 4096 };
    size_t size;
    const uint8_t *binary = sample("../legal/offload-one.offload", &size, 0);
    uint64_t table;

    copy(FAR, binary, size);
    table = put_object(2);
    put_section(table + 64, NAME_FATBIN, CV_SHT_PROGBITS, 0x40, 24);
    put_section(table + 128, NAME_OFFLOAD, CV_OFFLOAD_SECTION, FAR, size);
}

/* A section of offload binaries that begins with a container instead. */
static void make_no_offload(void)
{
    uint64_t table;

    fb_make(&fatbin, "compute_90a");
    copy(0x80, fatbin.bytes, fatbin.size);
    table = put_object(1);
    put_section(table + 64, NAME_OFFLOAD, CV_OFFLOAD_SECTION, 0x80, fatbin.size);
}

/* ---- bitcode ---- */

typedef struct made_bits {
    uint8_t *bytes;
    uint64_t room, at; /* at: in bits */
} made_bits;

static void fixed(made_bits *to, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++, to->at++) {
        ck_assert_uint_lt(to->at / 8, to->room);
        if (value >> i & 1)
            to->bytes[to->at / 8] |= (uint8_t)(1u << to->at % 8);
    }
}

static void vbr(made_bits *to, uint64_t value, unsigned width)
{
    uint64_t half = UINT64_C(1) << (width - 1);

    for (; value >= half; value >>= width - 1)
        fixed(to, (value & (half - 1)) | half, width);
    fixed(to, value, width);
}

static void align(made_bits *to)
{
    to->at = (to->at + 31) / 32 * 32;
}

/* @return where its length is */
static uint64_t enter(made_bits *to, unsigned outer, uint64_t id)
{
    fixed(to, 1, outer);
    vbr(to, id, 8);
    vbr(to, 3, 4);
    align(to);
    to->at += 32;
    return to->at / 8 - 4;
}

static void leave(const made_bits *to, uint64_t length)
{
    uint64_t words = (to->at / 8 - length - 4) / 4;

    for (unsigned i = 0; i < 4; i++)
        to->bytes[length + i] = (uint8_t)(words >> 8 * i);
}

/* A block of 'count' bytes that look like a container twice, and are none. */
static void put_block(made_bits *to, unsigned outer, uint64_t count)
{
    uint64_t length = enter(to, outer, 17), at = to->at / 8;
    static const uint8_t MAGICS[] = { 0x50, 0xED, 0x55, 0xBA, 1, 0, 17, 0, 0x7F, 'E', 'L', 'F', 2, 1, 1, 0 };

    ck_assert_uint_le(at + count, to->room);
    if (count >= sizeof(MAGICS))
        memcpy(to->bytes + at, MAGICS, sizeof(MAGICS));
    to->at += 8 * count;
    leave(to, length);
}

void made_bitcode(uint8_t *bytes, uint64_t room, made_module how, size_t *size)
{
    static const char TRIPLE[] = "x86_64-pc-linux-gnu";
    made_bits to = { bytes, room, 0 };
    uint64_t module;

    fixed(&to, CV_BC_MAGIC, 32);
    module = enter(&to, 2, 8);
    put_block(&to, 3, how.block);
    fixed(&to, 3, 3);
    vbr(&to, 2, 6);
    vbr(&to, sizeof(TRIPLE) - 1, 6);
    for (unsigned i = 0; TRIPLE[i]; i++)
        vbr(&to, (uint8_t)TRIPLE[i], 6);
    if (how.values) { /* zeros */
        fixed(&to, 3, 3);
        vbr(&to, 30, 6);
        vbr(&to, how.values, 6);
        to.at += 6 * how.values;
        ck_assert_uint_lt(to.at / 8, room);
    }
    put_block(&to, 3, 16);
    fixed(&to, 0, 3);
    align(&to);
    leave(&to, module);
    for (unsigned i = 0; i < how.behind; i++)
        put_block(&to, 2, 4);
    *size = to.at / 8;
}

static void make_bitcode(uint64_t block)
{
    size_t size;

    made_bitcode(file, sizeof(file), (made_module){ .block = block, .behind = 2 }, &size);
    end = size;
}

static void make_bitcode_hold(void)
{
    uint64_t at = 0;

    make_bitcode(64);
    while (at < end && cv_u32_at(cv_span_of(file, end, 0), at) != CV_FATBIN_MAGIC)
        at++;
    put(at + 4, 4, CV_FATBIN_TAIL);
}

const uint8_t *made_bytes(made_file which, size_t *size)
{
    memset(file, 0, sizeof(file));
    end = 0;
    switch (which) {
    case MADE_LONG_HEADER: make_long_header(); break;
    case MADE_HIDDEN_HEADER: make_hidden(0); break;
    case MADE_HIDDEN_MEMBER: make_hidden(32); break;
    case MADE_EMPTY: make_empty(); break;
    case MADE_NEST: make_nest(15); break;
    case MADE_NEST_DEEP: make_nest(17); break;
    case MADE_WIDE_HOST: make_wide_host(); break;
    case MADE_DECOYS: make_decoys(); break;
    case MADE_GAP_FAR: make_gap_far(); break;
    case MADE_NO_OFFLOAD: make_no_offload(); break;
    case MADE_BITCODE: make_bitcode(64); break;
    case MADE_BITCODE_HOLDS: make_bitcode_hold(); break;
    case MADE_BITCODE_FAR: make_bitcode(80 * CV_KIB); break;
    case MADE_NONE: break;
    }
    *size = end;
    return file;
}
