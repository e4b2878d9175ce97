/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files of which it is known what is wrong with them: what a scan says, it has to say however the file comes.
 * A case (make_cases.py) is a file with one thing wrong, the rule that is broken, and a neighbour that is
 * legal; neither was made by the library. The input chooses cases, and how they come: a device ELF alone or
 * as the content of a member, as it is or compressed, behind other fat binaries; in memory or out of a source;
 * with claims, ahead, with two jobs. The rule has to be raised, and the verdict is as bad as the rule; of the
 * neighbour it must not be, and what is a good file has no findings.
 *
 * Six bytes for each: case (2), what and how it is packed, what stands before it, how it is read, and the level
 * of compression. */
#include <lz4.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "mutate_int.h"
#include "scanner.h"

__asm__(".section .rodata\n"
        ".balign 8\n"
        "cv_fuzz_cases:\n"
        ".incbin \"" CV_FUZZ_CASES "\"\n"
        ".previous\n");
extern const uint8_t cv_fuzz_cases[];

enum { LIMITS = 3, RECORD = 6, RECORDS = 64, MOST_FILE = 1 << 18, MOST_BEFORE = 3, HEADER = 16, MEMBER = 64 };
enum { ALONE, STORED, LZ4, ZSTD };

typedef struct verdict_limit {
    size_t field; /* of cuvet_limits; 0: none */
    uint64_t value;
} verdict_limit;

typedef struct verdict_case {
    const char *rule, *label;
    cuvet_verdict verdict;
    bool follows; /* may stand behind other fat binaries */
    uint32_t file, size, legal, legal_size, member, member_size;
    bool good; /* the neighbour, without limits of its own */
    verdict_limit limit[LIMITS];
} verdict_case;

#define CASE(rule, label, verdict, follows, file, size, legal, legal_size, member, member_size, good, ...)   \
    {                                                                                                        \
        rule,        label,      (cuvet_verdict)(verdict),                                                   \
        follows,     file,       size,                                                                       \
        legal,       legal_size, member,                                                                     \
        member_size, good,       __VA_ARGS__                                                                 \
    },
static const verdict_case CASES[] = {
#include "cases.inc"
};
#undef CASE

typedef struct verdict_file {
    uint8_t bytes[MOST_FILE];
    size_t size;
} verdict_file;

typedef struct verdict_way {
    bool legal;
    unsigned pack, before, level;
    uint8_t reading;
} verdict_way;

static void append(verdict_file *file, const void *bytes, size_t size)
{
    FZ_CHECK(size <= sizeof(file->bytes) - file->size, "a case has room");
    memcpy(file->bytes + file->size, bytes, size);
    file->size += size;
}

static void append_zeros(verdict_file *file, size_t unit)
{
    static const uint8_t ZEROS[8] = { 0 };

    append(file, ZEROS, (unit - file->size % unit) % unit);
}

/* The content as it is stored; flags of the header that say how. */
static uint64_t store(verdict_file *file, const uint8_t *bytes, size_t size, const verdict_way *way)
{
    size_t room = sizeof(file->bytes) - file->size, stored;

    if (way->pack == STORED) {
        append(file, bytes, size);
        return 0;
    }
    if (way->pack == LZ4) {
        stored = (size_t)LZ4_compress_fast((const char *)bytes, (char *)file->bytes + file->size, (int)size,
                                           (int)room, (int)(1 + way->level));
        FZ_CHECK(stored > 0, "LZ4 packs a case");
    } else {
        stored = ZSTD_compress(file->bytes + file->size, room, bytes, size, (int)(1 + way->level));
        FZ_CHECK(!ZSTD_isError(stored), "zstd packs a case");
    }
    file->size += stored;
    return way->pack == LZ4 ? 0x2000 : 0x8000;
}

static void put(uint8_t *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *at, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* A fat binary with one member: this header, and this content. */
static void wrap(verdict_file *file, const verdict_case *one, const uint8_t *bytes, size_t size,
                 const verdict_way *way)
{
    static const uint8_t MAGIC[HEADER] = { 0x50, 0xED, 0x55, 0xBA, 1, 0, HEADER };
    size_t begin = file->size, member = begin + HEADER, body = member + one->member_size;
    uint64_t packed;

    append(file, MAGIC, HEADER);
    append(file, cv_fuzz_cases + one->member, one->member_size);
    packed = store(file, bytes, size, way);
    put(file->bytes + member + 0x10, packed ? file->size - body : 0, 4);
    put(file->bytes + member + 0x28, get(file->bytes + member + 0x28, 8) | packed, 8);
    put(file->bytes + member + 0x38, packed ? size : 0, 8);
    append_zeros(file, 8);
    put(file->bytes + member + 0x08, file->size - body, 8);
    put(file->bytes + begin + 8, file->size - member, 8);
}

/* Fat binaries that are good: neighbours of other cases. */
static void put_before(verdict_file *file, size_t number, const verdict_way *way)
{
    for (unsigned i = 0, left = way->before; left > 0 && i < CV_COUNT(CASES); i++) {
        const verdict_case *other = &CASES[(number + 1 + i) % CV_COUNT(CASES)];

        if (!other->follows || !other->good || other->legal_size > MOST_FILE / 8 || other->legal_size % 8 ||
            get(cv_fuzz_cases + other->legal, 4) != 0xBA55ED50)
            continue;
        append(file, cv_fuzz_cases + other->legal, other->legal_size);
        left--;
    }
}

static void make(verdict_file *file, size_t number, const verdict_way *way)
{
    const verdict_case *one = &CASES[number];
    const uint8_t *bytes = cv_fuzz_cases + (way->legal ? one->legal : one->file);
    size_t size = way->legal ? one->legal_size : one->size;

    file->size = 0;
    if (one->limit[0].field == 0 && (one->follows || (one->member_size && way->pack != ALONE)))
        put_before(file, number, way);
    if (one->member_size && way->pack != ALONE)
        wrap(file, one, bytes, size, way);
    else
        append(file, bytes, size);
}

static cuvet_status read_at(void *user, uint64_t off, void *buf, size_t len)
{
    const fz_input *in = user;

    FZ_CHECK(off <= in->len && len <= in->len - off, "what is read lies in the file");
    memcpy(buf, in->bytes + off, len);
    return CUVET_OK;
}

static void set_limits(cuvet_limits *lim, const verdict_case *one, const verdict_way *way)
{
    lim->size = sizeof(*lim);
    FZ_CHECK(cuvet_limits_preset("strict", lim) == CUVET_OK, "limits");
    for (unsigned i = 0; i < LIMITS && !way->legal && one->limit[i].field; i++)
        memcpy((uint8_t *)lim + one->limit[i].field, &one->limit[i].value, sizeof(uint64_t));
}

/* FZ_LOUD: which case it is. */
static void tell(const verdict_case *one, const verdict_way *way, const fz_scan *scan)
{
    if (getenv("FZ_LOUD"))
        (void)fprintf(stderr, "%s %s%s, packed %u, behind %u, read %u: %u times, verdict %d\n", one->rule,
                      one->label, way->legal ? ", legal" : "", way->pack, way->before, way->reading,
                      (unsigned)scan->n_wanted, (int)scan->sum.verdict);
}

static void judge(size_t number, const verdict_way *way, const fz_input *in)
{
    const verdict_case *one = &CASES[number];
    const cuvet_source source = { sizeof(source), in->len, read_at, (void *)(uintptr_t)in, -1 };
    cuvet_limits lim;
    fz_alloc alloc = { 0 };
    fz_scan scan = { .in = in, .depth = CUVET_DEPTH_FULL, .jobs = way->reading & 1 ? 2 : 1 };

    set_limits(&lim, one, way);
    scan.ahead = scan.jobs == 1 && (way->reading & 2) && lim.live >= CV_MIB;
    scan.claims = (way->reading & 4) != 0;
    scan.source = way->reading & 8 ? &source : NULL;
    FZ_CHECK(cuvet_rule_find(one->rule, &scan.wanted) == CUVET_OK, "a rule");
    fz_scan_run(&scan, &lim, &alloc);
    fz_scan_free(&scan);
    FZ_CHECK(scan.status == CUVET_END || (scan.status == CUVET_E_LIMIT && lim.live < CV_MIB),
             "a scan comes to an end");
    tell(one, way, &scan);
    FZ_CHECK(way->legal || scan.n_wanted, "the rule that a file breaks is raised");
    FZ_CHECK(way->legal || scan.status != CUVET_END || scan.sum.verdict >= one->verdict,
             "and the verdict as bad as that");
    FZ_CHECK(!way->legal || scan.n_wanted == 0, "it is not raised of a file that does not break it");
    FZ_CHECK(!way->legal || !one->good || scan.sum.verdict == CUVET_V_CLEAN, "a good file is clean");
}

CV_FUZZ_TARGET(verdict)
{
    verdict_file *file = malloc(sizeof(*file));
    fz_ops ops = { .bytes = data, .size = size };

    FZ_CHECK(file != NULL, "memory");
    for (unsigned i = 0; i < RECORDS && fz_ops_left(&ops); i++) {
        size_t number = fz_u8(&ops);
        uint8_t packing;
        verdict_way way = { 0 };
        fz_input in;

        number = (number | (size_t)fz_u8(&ops) << 8) % CV_COUNT(CASES);
        packing = fz_u8(&ops);
        way.legal = packing & 1;
        way.pack = packing >> 1 & 3;
        way.before = fz_u8(&ops) % (MOST_BEFORE + 1);
        way.reading = fz_u8(&ops);
        way.level = fz_u8(&ops) % 4;
        make(file, number, &way);
        fz_open(&in, file->bytes, file->size);
        judge(number, &way, &in);
        fz_close(&in);
    }
    free(file);
    return 0;
}
