/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "zip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* LOCAL_FLAGS and LOCAL_FLAGS_BYTES, and the like. */
enum {
#define ZIP_RECORD(name, signature, size)      name##_RECORD = (size),
#define ZIP_FIELD(record, field, offset, size) record##_##field = (offset), record##_##field##_BYTES = (size),
#define ZIP_NUMBER(name, value)                name = (value),
#include "../../spec/zip.def"
};
#define ZIP_RECORD(name, signature, size) static const char name##_SIGNATURE[] = signature;
#include "../../spec/zip.def"

#define FIELD(bytes, field) number((bytes) + (field), field##_BYTES)

enum { NAME_CAP = 65536, GAP_MOST = 65536, ENTRIES_MOST = 1 << 20 };

static const char DIFFERENT[] =
    "its directory and its entries say different things: what is in it depends on the reader";
static const char GAPS[] = "has bytes that belong to no entry: what is in it depends on the reader";
static const char TWICE[] = "has two entries of one name: which one is unpacked depends on the reader";
static const char KIND[] =
    "has an entry that is a directory or a link for some readers and a file for others";

typedef struct zip_entry {
    uint64_t at, end; /* of the entry, name and bytes included; without what stands behind them */
    bool behind;      /* sizes and checksum do */
    uint64_t name;    /* place in the directory */
    uint32_t n_name;
} zip_entry;

typedef struct zip_file {
    int fd;
    uint64_t size;
    uint64_t directory, length, count, shift; /* shift: what all offsets are too small by */
    bool twice;                               /* there is more than one end */
    zip_entry *entry;
    uint64_t n_entry;
    const uint8_t *bytes; /* of the directory */
} zip_file;

static uint64_t number(const uint8_t *bytes, unsigned size)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

static bool read_at(const zip_file *zip, uint64_t at, void *out, uint64_t size)
{
    uint8_t *to = out;

    if (at > zip->size || size > zip->size - at)
        return false;
    while (size > 0) {
        ssize_t got = pread(zip->fd, to, size, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        at += (uint64_t)got;
        size -= (uint64_t)got;
    }
    return true;
}

/* ---- the end ---- */

/* Where the record is whose comment ends the file; zip->size: there is none. One more, or one in its comment,
 * is where others look. */
static uint64_t find_end(zip_file *zip)
{
    static uint8_t tail[END_RECORD + NAME_CAP];
    uint64_t n_tail = zip->size < sizeof(tail) ? zip->size : sizeof(tail), end = zip->size, marks = 0;

    if (n_tail < END_RECORD || !read_at(zip, zip->size - n_tail, tail, n_tail))
        return zip->size;
    for (uint64_t at = n_tail - END_RECORD + 1; at-- > 0;) {
        if (memcmp(tail + at, END_SIGNATURE, 4) != 0)
            continue;
        if (FIELD(tail + at, END_N_COMMENT) != n_tail - at - END_RECORD) {
            marks++;
        } else if (end == zip->size) {
            end = zip->size - n_tail + at;
            zip->twice = marks > 0;
        } else {
            zip->twice = true;
        }
    }
    return end;
}

/* Numbers that do not fit stand in a record of their own. */
static bool read_end(zip_file *zip, uint64_t end)
{
    uint8_t record[END_RECORD], locator[LOCATOR_RECORD], large[END64_RECORD];
    uint64_t offset;

    if (!read_at(zip, end, record, sizeof(record)))
        return false;
    zip->count = FIELD(record, END_COUNT);
    zip->length = FIELD(record, END_LENGTH);
    offset = FIELD(record, END_OFFSET);
    if (end >= sizeof(locator) && read_at(zip, end - sizeof(locator), locator, sizeof(locator)) &&
        memcmp(locator, LOCATOR_SIGNATURE, 4) == 0) {
        uint64_t at = FIELD(locator, LOCATOR_OFFSET);

        if (!read_at(zip, at, large, sizeof(large)) || memcmp(large, END64_SIGNATURE, 4) != 0)
            return false;
        /* What fits has to be the same in both. */
        if ((zip->count != UINT16_MAX && zip->count != FIELD(large, END64_COUNT)) ||
            (zip->length != UINT32_MAX && zip->length != FIELD(large, END64_LENGTH)) ||
            (offset != UINT32_MAX && offset != FIELD(large, END64_OFFSET)))
            return false;
        zip->count = FIELD(large, END64_COUNT);
        zip->length = FIELD(large, END64_LENGTH);
        offset = FIELD(large, END64_OFFSET);
        end = at;
    }
    if (zip->length > end || offset > end - zip->length)
        return false;
    zip->directory = end - zip->length;
    zip->shift = zip->directory - offset;
    return true;
}

/* ---- entries ---- */

/* Sizes and offset that do not fit, in the order in which they are missing. */
static bool read_large(const uint8_t *extra, uint64_t n_extra, uint64_t *size, uint64_t *packed,
                       uint64_t *offset)
{
    uint64_t *want[] = { size, packed, offset };

    for (uint64_t at = 0; n_extra - at >= 4;) {
        uint64_t id = number(extra + at, 2), n_field = number(extra + at + 2, 2);

        at += 4;
        if (n_field > n_extra - at)
            return false;
        for (size_t i = 0; id == LARGE_ID && i < 3; i++)
            if (*want[i] == UINT32_MAX) {
                if (n_field < 8)
                    return false;
                *want[i] = number(extra + at, 8);
                at += 8;
                n_field -= 8;
            }
        at += n_field;
    }
    return true;
}

static const char *check_kind(const uint8_t *central, const char *name, uint64_t n_name, uint64_t size,
                              uint64_t packed)
{
    uint64_t attributes = FIELD(central, CENTRAL_ATTRIBUTES);
    bool made_by_unix = FIELD(central, CENTRAL_MAKER) == UNIX;
    mode_t mode = made_by_unix ? (mode_t)(attributes >> 16) : 0;
    bool folder = n_name > 0 && name[n_name - 1] == '/';

    if (size == 0 && packed > EMPTY_MOST)
        return DIFFERENT;
    if (packed > 0 && size > 0 &&
        (folder || S_ISDIR(mode) || (!made_by_unix && (attributes & DOS_DIRECTORY))))
        return KIND;
    /* many say rights, and no kind */
    return (mode & S_IFMT) != 0 && !S_ISREG(mode) && !S_ISDIR(mode) && size > LINK_MOST ? KIND : NULL;
}

/* What stands before the bytes. */
static const char *check_local(const zip_file *zip, const uint8_t *central, const char *name,
                               zip_entry *entry, uint64_t size, uint64_t packed)
{
    static char other[NAME_CAP];
    uint8_t local[LOCAL_RECORD];
    uint64_t n_name, said;

    if (!read_at(zip, entry->at, local, sizeof(local)) || memcmp(local, LOCAL_SIGNATURE, 4) != 0)
        return DIFFERENT;
    n_name = FIELD(local, LOCAL_N_NAME);
    if (n_name != entry->n_name || !read_at(zip, entry->at + LOCAL_RECORD, other, n_name) ||
        memcmp(name, other, n_name) != 0 || FIELD(local, LOCAL_METHOD) != FIELD(central, CENTRAL_METHOD) ||
        ((FIELD(local, LOCAL_FLAGS) ^ FIELD(central, CENTRAL_FLAGS)) & FLAG_SECRET))
        return DIFFERENT;
    entry->behind = (FIELD(local, LOCAL_FLAGS) & FLAG_BEHIND) != 0;
    said = FIELD(local, LOCAL_CRC);
    if (said != FIELD(central, CENTRAL_CRC) && !(entry->behind && said == 0))
        return DIFFERENT;
    said = FIELD(local, LOCAL_PACKED);
    if (said != packed && said != UINT32_MAX && !(entry->behind && said == 0))
        return DIFFERENT;
    said = FIELD(local, LOCAL_SIZE);
    if (said != size && said != UINT32_MAX && !(entry->behind && said == 0))
        return DIFFERENT;
    entry->end = entry->at + LOCAL_RECORD + n_name + FIELD(local, LOCAL_N_EXTRA);
    if (packed > zip->directory || entry->end > zip->directory - packed)
        return DIFFERENT;
    entry->end += packed;
    return NULL;
}

static const char *check_entries(zip_file *zip)
{
    uint64_t at = 0;

    for (uint64_t i = 0; i < zip->count; i++) {
        const uint8_t *central = zip->bytes + at;
        zip_entry *entry = &zip->entry[i];
        uint64_t size, packed, n_extra, rest;
        const char *why;

        if (zip->length - at < CENTRAL_RECORD || memcmp(central, CENTRAL_SIGNATURE, 4) != 0)
            return DIFFERENT;
        size = FIELD(central, CENTRAL_SIZE);
        packed = FIELD(central, CENTRAL_PACKED);
        n_extra = FIELD(central, CENTRAL_N_EXTRA);
        *entry = (zip_entry){ .at = FIELD(central, CENTRAL_OFFSET),
                              .n_name = (uint32_t)FIELD(central, CENTRAL_N_NAME),
                              .name = at + CENTRAL_RECORD };
        rest = entry->n_name + n_extra + FIELD(central, CENTRAL_N_COMMENT);
        if (zip->length - at - CENTRAL_RECORD < rest ||
            !read_large(central + CENTRAL_RECORD + entry->n_name, n_extra, &size, &packed, &entry->at) ||
            entry->at > zip->size - zip->shift)
            return DIFFERENT;
        entry->at += zip->shift;
        why = check_kind(central, (const char *)zip->bytes + entry->name, entry->n_name, size, packed);
        if (!why)
            why = check_local(zip, central, (const char *)zip->bytes + entry->name, entry, size, packed);
        if (why)
            return why;
        at += CENTRAL_RECORD + rest;
    }
    zip->n_entry = zip->count;
    return NULL;
}

/* ---- all of them ---- */

static int by_place(const void *left, const void *right)
{
    const zip_entry *one = left, *other = right;

    return one->at < other->at ? -1 : one->at > other->at;
}

/* Nothing, zeros that align what follows, what stands behind an entry, or the signature of a package. */
static const char *check_gap(const zip_file *zip, uint64_t at, uint64_t end, bool behind, bool last)
{
    static uint8_t gap[GAP_MOST];
    static const char BLOCK[] = ZIP_SIGNATURE_BLOCK;
    uint8_t block[sizeof(BLOCK) - 1];
    uint64_t n_gap = end - at;

    if (at > end)
        return "has entries that lie over each other";
    if (n_gap == 0 || (behind && n_gap <= BEHIND_MOST))
        return NULL;
    if (last && n_gap > sizeof(block) && read_at(zip, end - sizeof(block), block, sizeof(block)) &&
        memcmp(block, BLOCK, sizeof(block)) == 0)
        return NULL;
    if (n_gap > GAP_MOST || !read_at(zip, at, gap, n_gap))
        return GAPS;
    for (uint64_t i = behind ? BEHIND_MOST : 0; i < n_gap; i++)
        if (gap[i] != 0)
            return GAPS;
    return NULL;
}

static const char *check_order(zip_file *zip)
{
    char first[4] = "";
    uint64_t at = 0;
    bool behind = false;
    const char *why = NULL;

    if (zip->n_entry > 0)
        qsort(zip->entry, zip->n_entry, sizeof(zip->entry[0]), by_place);
    /* A program may stand before the first one. */
    if (zip->n_entry > 0 && (!read_at(zip, 0, first, sizeof(first)) || memcmp(first, "PK", 2) != 0))
        at = zip->entry[0].at;
    else if (zip->n_entry > 0 && zip->entry[0].at == sizeof(first))
        at = sizeof(first); /* a mark of files in several pieces, of which there is one */
    for (uint64_t i = 0; i < zip->n_entry && !why; i++) {
        why = check_gap(zip, at, zip->entry[i].at, behind, false);
        at = zip->entry[i].end;
        behind = zip->entry[i].behind;
    }
    return why ? why : check_gap(zip, at, zip->directory, behind, true);
}

typedef struct zip_name {
    const uint8_t *bytes;
    uint32_t size;
} zip_name;

static int by_bytes(const void *left, const void *right)
{
    const zip_name *one = left, *other = right;
    int order = memcmp(one->bytes, other->bytes, one->size < other->size ? one->size : other->size);

    return order ? order : one->size < other->size ? -1 : one->size > other->size;
}

static const char *check_names(const zip_file *zip)
{
    zip_name *name = calloc(zip->n_entry + 1, sizeof(*name));
    const char *why = name ? NULL : "has too many entries to be compared";

    for (uint64_t i = 0; name && i < zip->n_entry; i++)
        name[i] = (zip_name){ zip->bytes + zip->entry[i].name, zip->entry[i].n_name };
    if (name && zip->n_entry > 0)
        qsort(name, zip->n_entry, sizeof(*name), by_bytes);
    for (uint64_t i = 1; name && i < zip->n_entry && !why; i++)
        if (by_bytes(&name[i - 1], &name[i]) == 0)
            why = TWICE;
    free(name);
    return why;
}

bool package_zip_ends(int fd, uint64_t size)
{
    zip_file zip = { .fd = fd, .size = size };
    uint64_t end = find_end(&zip);

    return end != size && (!read_end(&zip, end) || zip.count > 0);
}

const char *package_zip_differs(int fd, uint64_t size)
{
    zip_file zip = { .fd = fd, .size = size };
    uint64_t end = find_end(&zip);
    const char *why = NULL;
    uint8_t *bytes;

    if (end == size)
        return "does not end with its directory: what is in it depends on the reader";
    if (zip.twice)
        return "has two ends: what is in it depends on the reader";
    if (!read_end(&zip, end))
        return DIFFERENT;
    if (zip.count > ENTRIES_MOST || zip.length > (uint64_t)ENTRIES_MOST * 256)
        return "has too many entries to be compared";
    bytes = malloc(zip.length + 1);
    zip.bytes = bytes;
    zip.entry = calloc(zip.count + 1, sizeof(zip.entry[0]));
    if (!bytes || !zip.entry)
        why = "has too many entries to be compared";
    else if (!read_at(&zip, zip.directory, bytes, zip.length))
        why = DIFFERENT;
    if (!why)
        why = check_entries(&zip);
    if (!why)
        why = check_names(&zip);
    if (!why)
        why = check_order(&zip);
    free(zip.entry);
    free(bytes);
    return why;
}
