/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files of which it is known what is wrong with them: what a scan says, it has to say however the file comes.
 * A case (make_cases.py) is a file with one thing wrong, the rule that is broken, and a neighbour that is
 * legal; neither was made by the library. The input chooses cases, and how they come: a device ELF alone or
 * as the content of a member, as it is or compressed, behind other fat binaries; in memory or out of a
 * source; with claims, ahead, with two jobs. The rule has to be raised, and the verdict is as bad as the
 * rule; of the neighbour it must not be, and what is a good file has no findings.
 *
 * Six bytes for each: case (2), what and how it is packed, what stands before it, how it is read, and the
 * level of compression with what is asked of the limits. */
#include <lz4.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "mutate_int.h"
#include "scanner.h"

FZ_CARRY(cv_fuzz_cases, CV_FUZZ_CASES);

enum { LIMITS = 3, RECORD = 6, RECORDS = 64, MOST_FILE = 1 << 18, MOST_BEFORE = 3, HEADER = 16, MEMBER = 64 };
enum { ALONE, STORED, LZ4, ZSTD };
/* Asked of the limits: nothing; the ratio of the member, so deep, what is unpacked in all, each with one
 * less; little memory; no work at all. */
enum { ROOMY, RATIO, RATIO_LESS, DEPTH, DEPTH_LESS, MEMORY, BUDGET, BUDGET_LESS, NO_WORK, ASKS };

/* It may stand behind others; as the content of a member; there only compressed (make_cases.py says why). */
enum { BEHIND = 1, INSIDE = 2, PACKED = 4 };

typedef struct verdict_limit {
    size_t field; /* of cuvet_limits; 0: none */
    uint64_t value;
} verdict_limit;

typedef struct verdict_case {
    const char *rule, *label;
    cuvet_verdict verdict;
    unsigned ways; /* of a fat binary, and of a device ELF whether it may be stored as it is */
    uint32_t file, size, legal, legal_size, member, member_size;
    bool good; /* the neighbour, without limits of its own */
    verdict_limit limit[LIMITS];
} verdict_case;

#define CASE(rule, label, verdict, ways, file, size, legal, legal_size, member, member_size, good, ...)      \
    { rule, label,      (cuvet_verdict)(verdict), ways, file, size, legal, legal_size, member, member_size,  \
      good, __VA_ARGS__ },
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
    unsigned pack, before, level, asks, depth;
    uint8_t reading;
    uint64_t ratio; /* of the last member that was packed, rounded up */
    uint64_t costs; /* bytes of the budget for what a scan of a legal file unpacks and opens; 0: not known */
} verdict_way;

static void append(verdict_file *file, const void *bytes, size_t size)
{
    file->size = fz_append(file->bytes, sizeof(file->bytes), file->size, bytes, size);
}

static void append_zeros(verdict_file *file, size_t unit)
{
    static const uint8_t ZEROS[8] = { 0 };

    append(file, ZEROS, (unit - file->size % unit) % unit);
}

/* The content as it is stored; flags of the header that say how. */
static uint64_t store(verdict_file *file, const uint8_t *bytes, size_t size, verdict_way *way)
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
    way->ratio = (size + stored - 1) / stored;
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

typedef struct verdict_header {
    const uint8_t *bytes;
    size_t size;
} verdict_header;

/* A fat binary with one member: this header, and this content. */
static void wrap(verdict_file *file, const verdict_header *header, const uint8_t *bytes, size_t size,
                 verdict_way *way)
{
    static const uint8_t MAGIC[HEADER] = { 0x50, 0xED, 0x55, 0xBA, 1, 0, HEADER };
    size_t begin = file->size, member = begin + HEADER, body = member + header->size;
    uint64_t packed;

    append(file, MAGIC, HEADER);
    append(file, header->bytes, header->size);
    packed = store(file, bytes, size, way);
    put(file->bytes + member + 0x10, packed ? file->size - body : 0, 4);
    put(file->bytes + member + 0x28, get(file->bytes + member + 0x28, 8) | packed, 8);
    put(file->bytes + member + 0x38, packed ? size : 0, 8);
    append_zeros(file, 8);
    put(file->bytes + member + 0x08, file->size - body, 8);
    put(file->bytes + begin + 8, file->size - member, 8);
}

/* A fat binary, and nothing behind it. */
static bool is_one_fatbin(const uint8_t *bytes, size_t size)
{
    return size >= HEADER && size % 8 == 0 && get(bytes, 4) == 0xBA55ED50 &&
           get(bytes + 8, 8) == size - HEADER;
}

/* What the members of a fat binary are unpacked to, as their headers say (fatbin.md section 4). */
static uint64_t unpacked_of(const uint8_t *bytes, size_t size)
{
    uint64_t sum = 0;

    for (size_t at = HEADER; at + MEMBER <= size; at += get(bytes + at + 0x04, 4) + get(bytes + at + 0x08, 8))
        /* What is scrambled stays as it is. */
        if ((get(bytes + at + 0x28, 8) & 0xF000) != 0 && (get(bytes + at + 0x28, 8) & 0x10000) == 0)
            sum += get(bytes + at + 0x38, 8);
    return sum;
}

/* Fat binaries that are good: neighbours of other cases. */
static void put_before(verdict_file *file, size_t number, const verdict_way *way)
{
    for (unsigned i = 0, left = way->before; left > 0 && i < CV_COUNT(CASES); i++) {
        const verdict_case *other = &CASES[(number + 1 + i) % CV_COUNT(CASES)];

        if (!(other->ways & BEHIND) || !other->good || other->legal_size > MOST_FILE / 8 ||
            other->legal_size % 8 || get(cv_fuzz_cases + other->legal, 4) != 0xBA55ED50)
            continue;
        append(file, cv_fuzz_cases + other->legal, other->legal_size);
        left--;
    }
}

/* A fat binary as the content of members, one in the other: of an ELF for sm_75, which it is not. */
static void nest(verdict_file *file, const uint8_t *bytes, size_t size, verdict_way *way)
{
    static const uint8_t HEADER_75[MEMBER] = { 2, 0, 1, 1, MEMBER, [0x18] = 8, 0, 1, 0, 75, [0x28] = 0x11 };
    static const verdict_header HEADERS = { HEADER_75, MEMBER };
    verdict_file *inner = malloc(2 * sizeof(*inner));

    FZ_CHECK(inner != NULL, "memory");
    inner[0].size = inner[1].size = 0;
    append(&inner[0], bytes, size);
    for (unsigned i = 0; i < way->depth; i++) {
        verdict_file *out = i + 1 == way->depth ? file : &inner[(i + 1) % 2];

        if (out != file)
            out->size = 0;
        /* "pay for their content once more when they are opened" (docs/architecture.md) */
        way->costs += inner[i % 2].size * (way->pack == STORED ? 1 : 2);
        wrap(out, &HEADERS, inner[i % 2].bytes, inner[i % 2].size, way);
    }
    free(inner);
}

static void make(verdict_file *file, size_t number, verdict_way *way)
{
    const verdict_case *one = &CASES[number];
    const verdict_header header = { cv_fuzz_cases + one->member, one->member_size };
    const uint8_t *bytes = cv_fuzz_cases + (way->legal ? one->legal : one->file);
    size_t size = way->legal ? one->legal_size : one->size;

    file->size = 0;
    way->depth = 0;
    way->costs = 0;
    if (one->limit[0].field || (way->pack == STORED && (one->ways & PACKED)))
        way->pack = ALONE; /* limits are about this very file */
    if (!one->limit[0].field && (way->pack == ALONE ? one->ways & BEHIND : one->ways | one->member_size))
        put_before(file, number, way);
    else
        way->before = 0;
    if (one->member_size && way->pack != ALONE) {
        way->costs = way->pack == STORED ? 0 : size;
        wrap(file, &header, bytes, size, way);
    } else if ((one->ways & INSIDE) && way->pack != ALONE && size <= MOST_FILE / 8) {
        way->depth = 1 + way->level;
        way->costs = way->legal && is_one_fatbin(bytes, size) ? unpacked_of(bytes, size) : 0;
        nest(file, bytes, size, way);
        if (!is_one_fatbin(bytes, size))
            way->costs = 0;
    } else {
        append(file, bytes, size);
    }
}

static cuvet_status read_at(void *user, uint64_t off, void *buf, size_t len)
{
    const fz_input *in = user;

    FZ_CHECK(off <= in->len && len <= in->len - off, "what is read lies in the file");
    memcpy(buf, in->bytes + off, len);
    return CUVET_OK;
}

/* The rule of a limit that must be raised; NULL: none. */
static const char *set_limits(cuvet_limits *lim, const verdict_case *one, const verdict_way *way)
{
    bool packed = way->ratio > 1 && way->depth == 0 && way->before == 0;

    lim->size = sizeof(*lim);
    FZ_CHECK(cuvet_limits_preset("strict", lim) == CUVET_OK, "limits");
    for (unsigned i = 0; i < LIMITS && !way->legal && one->limit[i].field; i++)
        memcpy((uint8_t *)lim + one->limit[i].field, &one->limit[i].value, sizeof(uint64_t));
    if (way->asks == MEMORY)
        lim->live = 16 * CV_KIB;
    if (way->asks == NO_WORK && one->limit[0].field == 0) {
        lim->effort = 0;
        return "CV-LIMIT-021";
    }
    if ((way->asks == BUDGET || way->asks == BUDGET_LESS) && way->legal && one->good && way->before == 0 &&
        way->costs > 0) {
        lim->budget = way->costs - (way->asks == BUDGET_LESS);
        lim->budget_ratio = 0;
        if (packed) {
            lim->ratio = way->pack == ZSTD ? way->ratio : 1;
            lim->lz4_ratio = way->pack == LZ4 ? way->ratio : 1;
        }
        return way->asks == BUDGET_LESS ? "CV-LIMIT-020" : NULL;
    }
    if ((way->asks == RATIO || way->asks == RATIO_LESS) && packed) {
        bool less = way->asks == RATIO_LESS;

        lim->ratio = way->pack == ZSTD ? way->ratio - less : 1;
        lim->lz4_ratio = way->pack == LZ4 ? way->ratio - less : 1;
        return !less ? NULL : way->pack == LZ4 ? "CV-LIMIT-015" : "CV-LIMIT-003";
    }
    if ((way->asks == DEPTH || way->asks == DEPTH_LESS) && way->depth > 0 && one->limit[0].field == 0) {
        lim->nesting = way->depth - (way->asks == DEPTH_LESS);
        return way->asks == DEPTH_LESS ? "CV-LIMIT-008" : NULL;
    }
    return NULL;
}

/* FZ_LOUD: which case it is. */
static void tell(const verdict_case *one, const verdict_way *way, const fz_scan *scan)
{
    if (getenv("FZ_LOUD"))
        (void)fprintf(stderr, "%s %s%s, packed %u, behind %u, read %u, asks %u: %u times, verdict %d\n",
                      one->rule, one->label, way->legal ? ", legal" : "", way->pack, way->before,
                      way->reading, way->asks, (unsigned)scan->n_wanted, (int)scan->sum.verdict);
}

static void check(const verdict_case *one, const verdict_way *way, const fz_scan *scan, const char *limit)
{
    tell(one, way, scan);
    if (way->asks == MEMORY) /* where that was enough is not known */
        return;
    if (limit && way->asks == NO_WORK && scan->n_items == 0) /* there is nothing that work is for */
        return;
    if (limit) {
        FZ_CHECK(scan->n_wanted && scan->sum.verdict >= CUVET_V_LIMIT,
                 "what is above a limit is said to be so");
        return;
    }
    FZ_CHECK(way->legal || scan->n_wanted, "the rule that a file breaks is raised");
    FZ_CHECK(way->legal || scan->status != CUVET_END || scan->sum.verdict >= one->verdict,
             "and the verdict as bad as that");
    FZ_CHECK(!way->legal || scan->n_wanted == 0, "it is not raised of a file that does not break it");
    FZ_CHECK(!way->legal || !one->good || way->depth || scan->sum.verdict == CUVET_V_CLEAN,
             "a good file is clean");
}

/* "What follows was not examined" (CV-LIMIT-021): where no work may be done, that is all. */
static void on_item(void *user, const cuvet_item *item)
{
    const bool *no_work = user;

    FZ_CHECK(!*no_work || !(item->flags & CUVET_ITEM_EXAMINED), "nothing is examined without work");
}

static void judge(size_t number, const verdict_way *way, const fz_input *in)
{
    const verdict_case *one = &CASES[number];
    const cuvet_source source = { sizeof(source), in->len, read_at, (void *)(uintptr_t)in, -1 };
    cuvet_limits lim;
    fz_alloc alloc = { 0 };
    const char *limit = set_limits(&lim, one, way);
    bool no_work = lim.effort == 0;
    fz_scan scan = { .in = in,
                     .depth = CUVET_DEPTH_FULL,
                     .jobs = way->reading & 1 ? 2 : 1,
                     .each = on_item,
                     .user = &no_work };

    scan.ahead = scan.jobs == 1 && (way->reading & 2) && lim.live >= CV_MIB;
    scan.claims = scan.jobs == 1 && (way->reading & 4); /* claims are told by one job alone */
    scan.source = way->reading & 8 ? &source : NULL;
    FZ_CHECK(cuvet_rule_find(limit ? limit : one->rule, &scan.wanted) == CUVET_OK, "a rule");
    fz_scan_run(&scan, &lim, &alloc);
    FZ_CHECK(scan.status == CUVET_END || (scan.status == CUVET_E_LIMIT && lim.live < CV_MIB),
             "a scan comes to an end");
    if (scan.claims && scan.status == CUVET_END && scan.sum.verdict < CUVET_V_LIMIT)
        FZ_CHECK(fz_scan_covered(&scan), "every byte of the file has one owner");
    fz_scan_free(&scan);
    check(one, way, &scan, limit);
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
        way.level = fz_u8(&ops);
        way.asks = (way.level >> 2) % ASKS;
        way.level %= 4;
        make(file, number, &way);
        fz_open(&in, file->bytes, file->size);
        judge(number, &way, &in);
        fz_close(&in);
    }
    free(file);
    return 0;
}
