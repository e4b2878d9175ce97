/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where device code lies: a file that the input puts together of fat binaries, host files and archives, and
 * the place of each piece as spec/places.def describes it. Fat binaries follow each other with gaps: zeros in
 * multiples of 8 belong to nobody, all else is said (fatbin.md). Bytes: what the file is, then two for each
 * part. */
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

enum { MOST_BYTES = 1 << 17, MOST_PLACES = 64, PARTS = 5, AR_HEADER = 60 };

typedef struct places_run {
    uint8_t bytes[MOST_BYTES];
    size_t size;
    cuvet_place want[MOST_PLACES], got[MOST_PLACES];
    unsigned n_want, n_got;
    uint64_t container;
    bool odd; /* something lies between containers that must not */
} places_run;

static void append(places_run *run, const void *bytes, size_t size)
{
    FZ_CHECK(size <= sizeof(run->bytes) - run->size, "a file has room");
    memcpy(run->bytes + run->size, bytes, size);
    run->size += size;
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
    bool member = archives == 1;

    if (archives > 1) {
        want(run, CUVET_PLACE_ARCHIVE);
        if (piece == JOINED)
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
    case FINISHED: want(run, CUVET_PLACE_FINISHED); break;
    default: want(run, member ? CUVET_PLACE_BYTES : CUVET_PLACE_PROGRAM); break;
    }
}

static void draw_fatbins(places_run *run, fz_ops *ops)
{
    static const uint8_t BYTES[32] = { 0 };

    for (unsigned i = 0; i < PARTS && (i == 0 || fz_ops_left(ops)); i++) {
        uint8_t what = fz_u8(ops), gap = fz_u8(ops) % 32;
        uint8_t byte = (what & 0xF0) == 0xF0 ? what | 1 : 0;

        /* Behind the last one there is no gap. */
        append_piece(run, FATBIN);
        want(run, i == 0 ? CUVET_PLACE_FILE : CUVET_PLACE_FOLLOWING);
        if (i + 1 == PARTS || !fz_ops_left(ops))
            break;
        gap = what & 8 ? gap & 24 : gap;
        append(run, BYTES, gap);
        if (gap && byte)
            run->bytes[run->size - 1 - what % gap] = byte;
        run->odd = run->odd || gap % 8 || (gap && byte);
    }
}

static void append_member(places_run *run, const places_run *body)
{
    char header[AR_HEADER + 1];

    (void)snprintf(header, sizeof(header), "%-16s%-12d%-6d%-6d%-8s%-10zu`\n", "m/", 0, 0, 0, "644",
                   body->size);
    append(run, header, AR_HEADER);
    append(run, body->bytes, body->size);
    if (run->size % 2)
        append(run, "\n", 1);
}

static void draw_archive(places_run *run, fz_ops *ops)
{
    places_run *body = calloc(2, sizeof(*body));

    FZ_CHECK(body != NULL, "memory");
    append(run, "!<arch>\n", 8);
    for (unsigned i = 0; i < PARTS && (i == 0 || fz_ops_left(ops)); i++) {
        uint8_t what = fz_u8(ops), how = fz_u8(ops);
        unsigned piece = what % PIECES, archives = how & 0x80 ? 2 : 1;

        body->size = body[1].size = 0;
        append_piece(body, piece);
        want_piece(run, piece, archives);
        if (archives > 1) {
            append(&body[1], "!<arch>\n", 8);
            append_member(&body[1], body);
        }
        append_member(run, &body[archives - 1]);
    }
    free(body);
}

/* Members of one container lie at one place. */
static void on_item(void *user, const cuvet_item *item)
{
    places_run *run = user;
    bool container = (item->flags & CUVET_ITEM_IN_CONTAINER) != 0;

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
    FZ_CHECK(cuvet_rule_find("CV-FATBIN-046", &scan.wanted) == CUVET_OK, "a rule");
    fz_scan_run(&scan, &lim, &alloc);
    FZ_CHECK(scan.status == CUVET_END && fz_scan_covered(&scan), "every byte of the file has one owner");
    fz_scan_free(&scan);
    fz_close(&in);
    if (getenv("FZ_LOUD"))
        for (unsigned i = 0; i < run->n_got || i < run->n_want; i++)
            (void)fprintf(stderr, "%u: place %d, expected %d\n", i, i < run->n_got ? (int)run->got[i] : -1,
                          i < run->n_want ? (int)run->want[i] : -1);
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
