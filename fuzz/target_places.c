/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where device code lies: a file that the input puts together of fat binaries, host files and archives, and
 * the place of each piece as spec/places.def describes it. Fat binaries follow each other with gaps: zeros in
 * multiples of 8 belong to nobody, all else is said (fatbin.md). One that lies behind a member whose header
 * cannot be read is found all the same. Archives lie in archives, as deep as the limit says, or one deeper.
 * Bytes: what the file is, then two for each part. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scanner.h"

FZ_CARRY(cv_placed_pieces, CV_FUZZ_PLACES);

typedef struct places_piece {
    uint32_t off, size;
} places_piece;

#define PIECE(name, off, size) name,
enum {
#include "places.inc"
    PIECES
};
#undef PIECE
#define PIECE(name, off, size) { off, size },
static const places_piece SAMPLES[] = {
#include "places.inc"
};
#undef PIECE

enum { MOST_BYTES = 1 << 17, MOST_PLACES = 64, PARTS = 5 };

typedef struct places_run {
    uint8_t bytes[MOST_BYTES];
    size_t size;
    cuvet_place want[MOST_PLACES], got[MOST_PLACES];
    unsigned n_want, n_got;
    uint64_t container;
    bool odd;               /* something lies between containers that must not */
    uint64_t behind;        /* where a container lies behind what cannot be read; 0: nowhere */
    bool found, less;       /* it was found; archives lie deeper than the limit says */
    unsigned most_archives; /* so deep do they lie */
} places_run;

static void append(places_run *run, const void *bytes, size_t size)
{
    run->size = fz_append(run->bytes, sizeof(run->bytes), run->size, bytes, size);
}

static void append_piece(places_run *run, unsigned piece)
{
    append(run, cv_placed_pieces + SAMPLES[piece].off, SAMPLES[piece].size);
}

static void want(places_run *run, cuvet_place place)
{
    FZ_CHECK(run->n_want < MOST_PLACES, "few pieces");
    run->want[run->n_want++] = place;
}

/* What lies in a file that is this, or in a member of an archive, or in an archive inside of one. */
static void want_piece(places_run *run, unsigned piece, unsigned archives)
{
    bool member = archives == 1, two = piece == JOINED || piece == UNNAMED;

    if (archives > 1) {
        want(run, CUVET_PLACE_ARCHIVE);
        if (two)
            want(run, CUVET_PLACE_ARCHIVE);
        return;
    }
    switch (piece) {
    case FATBIN:
    case CUBIN: want(run, member ? CUVET_PLACE_MEMBER : CUVET_PLACE_FILE); break;
    case LINKABLE: want(run, CUVET_PLACE_OBJECT); break;
    case JOINED:
        want(run, CUVET_PLACE_OBJECT);
        want(run, CUVET_PLACE_NAMED);
        break;
    case UNNAMED:
        want(run, CUVET_PLACE_OBJECT);
        want(run, CUVET_PLACE_UNNAMED);
        break;
    case WRAPPERLESS: want(run, CUVET_PLACE_UNNAMED); break;
    case DATA: want(run, CUVET_PLACE_DATA); break;
    case FINISHED: want(run, CUVET_PLACE_FINISHED); break;
    default: want(run, member ? CUVET_PLACE_BYTES : CUVET_PLACE_PROGRAM); break;
    }
}

/* A fat binary with a member whose header has no size: behind it lies a whole one. */
static void append_behind(places_run *run)
{
    const uint64_t size = 64 + SAMPLES[FATBIN].size;
    uint8_t head[80] = { 0x50, 0xED, 0x55, 0xBA, 1, 0, 16, [16] = 2, 0, 1, 1 };

    for (unsigned i = 0; i < 8; i++)
        head[8 + i] = (uint8_t)(size >> (8 * i));
    append(run, head, sizeof(head));
    run->behind = run->size;
    append_piece(run, FATBIN);
}

static void draw_fatbins(places_run *run, fz_ops *ops)
{
    static const uint8_t BYTES[32] = { 0 };

    for (unsigned i = 0; i < PARTS && (i == 0 || fz_ops_left(ops)); i++) {
        uint8_t what = fz_u8(ops), gap = fz_u8(ops) % 32;
        uint8_t byte = (what & 0xF0) == 0xF0 ? what | 1 : 0;

        /* Behind the last one there is no gap. */
        if ((what & 7) == 7 && run->behind == 0) {
            append_behind(run);
        } else {
            append_piece(run, FATBIN);
            want(run, i == 0 ? CUVET_PLACE_FILE : CUVET_PLACE_FOLLOWING);
        }
        if (i + 1 == PARTS || !fz_ops_left(ops))
            break;
        gap = what & 8 ? gap & 24 : gap;
        append(run, BYTES, gap);
        if (gap && byte)
            run->bytes[run->size - 1 - what % gap] = byte;
        run->odd = run->odd || gap % 8 || (gap && byte);
    }
}

/* The name stands in front of the content when there is one. */
static void append_member(places_run *run, const places_run *name, const places_run *body)
{
    char header[FZ_AR_HEADER + 1], field[32];

    (void)snprintf(field, sizeof(field), name->size ? "#1/%zu" : "m/", name->size);
    fz_ar_header(header, field, name->size + body->size);
    append(run, header, FZ_AR_HEADER);
    append(run, name->bytes, name->size);
    append(run, body->bytes, body->size);
    if (run->size % 2)
        append(run, "\n", 1);
}

/* What a member is, or how it is called: a name that is large enough is a place for code as well. */
static void draw_member(places_run *run, places_run *scratch, uint8_t what, uint8_t how)
{
    unsigned piece = what % PIECES, archives = how & 0x80 ? 2 + (how >> 5 & 3) : 1;
    places_run *name = &scratch[0], *body = &scratch[1], *next = &scratch[2];
    bool named = (how & 0x18) == 0x18;

    name->size = body->size = 0;
    append_piece(named ? name : body, named ? FATBIN : piece);
    if (named)
        want(run, CUVET_PLACE_TABLE);
    else
        want_piece(run, piece, archives);
    run->most_archives = cv_max(run->most_archives, archives);
    for (unsigned i = 1; i < archives; i++) {
        next->size = 0;
        append(next, "!<arch>\n", 8);
        append_member(next, name, body);
        name->size = body->size = 0;
        append(body, next->bytes, next->size);
    }
    append_member(run, name, body);
}

static void draw_archive(places_run *run, fz_ops *ops)
{
    places_run *scratch = calloc(3, sizeof(*scratch));

    FZ_CHECK(scratch != NULL, "memory");
    append(run, "!<arch>\n", 8);
    for (unsigned i = 0; i < PARTS && (i == 0 || fz_ops_left(ops)); i++) {
        uint8_t what = fz_u8(ops), how = fz_u8(ops);

        draw_member(run, scratch, what, how);
        run->less = run->less || (how & 7) == 7;
    }
    free(scratch);
}

/* Members of one container lie at one place. */
static void on_item(void *user, const cuvet_item *item)
{
    places_run *run = user;
    bool container = (item->flags & CUVET_ITEM_IN_CONTAINER) != 0;

    run->found = run->found || (container && item->container_off == run->behind);
    if (container && run->n_got > 0 && run->container == item->container_off) {
        FZ_CHECK(run->got[run->n_got - 1] == item->place, "one place");
        return;
    }
    run->container = container ? item->container_off : UINT64_MAX;
    FZ_CHECK(run->n_got < MOST_PLACES, "no more pieces than there are");
    run->got[run->n_got++] = item->place;
}

static void check(places_run *run)
{
    cuvet_limits lim = { .size = sizeof(lim) };
    fz_alloc alloc = { 0 };
    fz_input in;
    fz_scan scan = {
        .in = &in, .depth = CUVET_DEPTH_FULL, .jobs = 1, .claims = true, .each = on_item, .user = run
    };

    fz_open(&in, run->bytes, run->size);
    FZ_CHECK(cuvet_limits_preset("strict", &lim) == CUVET_OK, "limits");
    run->less = run->less && run->most_archives > 1;
    if (run->most_archives)
        lim.nesting = run->most_archives - run->less;
    FZ_CHECK(cuvet_rule_find(run->less ? "CV-LIMIT-008" : "CV-FATBIN-046", &scan.wanted) == CUVET_OK,
             "a rule");
    fz_scan_run(&scan, &lim, &alloc);
    FZ_CHECK(scan.status == CUVET_END && fz_scan_covered(&scan), "every byte of the file has one owner");
    fz_scan_free(&scan);
    fz_close(&in);
    if (getenv("FZ_LOUD"))
        for (unsigned i = 0; i < run->n_got || i < run->n_want; i++)
            (void)fprintf(stderr, "%u: place %d, expected %d\n", i, i < run->n_got ? (int)run->got[i] : -1,
                          i < run->n_want ? (int)run->want[i] : -1);
    FZ_CHECK(run->behind == 0 || run->found, "nothing hides behind what cannot be read");
    if (run->less) {
        FZ_CHECK(scan.n_wanted > 0 && scan.sum.verdict == CUVET_V_LIMIT, "too deep is said");
        return;
    }
    if (run->behind)
        return;
    FZ_CHECK((scan.n_wanted > 0) == run->odd,
             "what lies between containers is said, zeros in eights are not");
    FZ_CHECK((scan.sum.verdict == CUVET_V_MALFORMED) == run->odd, "and is what decides");
    FZ_CHECK(run->odd || (run->n_got == run->n_want &&
                          memcmp(run->got, run->want, run->n_want * sizeof(run->want[0])) == 0),
             "every piece is found, and where it lies");
}

CV_FUZZ_TARGET(places)
{
    places_run *run = calloc(1, sizeof(*run));
    fz_ops ops = { .bytes = data, .size = size };
    uint8_t what = fz_u8(&ops);

    FZ_CHECK(run != NULL, "memory");
    if (what % 3 == 0) {
        draw_fatbins(run, &ops);
    } else if (what % 3 == 1) {
        draw_archive(run, &ops);
    } else {
        append_piece(run, what / 3 % PIECES);
        want_piece(run, what / 3 % PIECES, 0);
    }
    check(run);
    free(run);
    return 0;
}
