/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "zip.h"

#include "../whole.h"
#include "zip_record.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME_CAP = 65536, GAP_MOST = 65536, ENTRIES_MOST = 1 << 20, MARKS_MOST = 64 };

static const char DIFFERENT[] =
    "its directory and its entries say different things: what is in it depends on the reader";
static const char GAPS[] = "has bytes that belong to no entry: what is in it depends on the reader";
static const char TWICE[] = "has two entries of one name: which one is unpacked depends on the reader";
static const char KIND[] =
    "has an entry that is a directory or a link for some readers and a file for others";

static const char CUT[] = "has a name with a NUL: where it ends depends on the reader";

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
    uint64_t at;                              /* what is looked at: where a fault is */
    zip_entry *entry;
    uint64_t n_entry;
    const uint8_t *bytes; /* of the directory */
} zip_file;

static bool read_at(const zip_file *zip, uint64_t at, void *out, uint64_t size)
{
    return at <= zip->size && size <= zip->size - at && cli_read_at(zip->fd, out, size, at);
}

/* ---- the end ---- */

/* The last bytes of a file, as many as the end with its comment may have. */
typedef struct zip_tail {
    const uint8_t *bytes;
    uint64_t size, from; /* of them; where in the file they begin */
    uint64_t left;       /* bytes in which no mark was looked for */
} zip_tail;

static bool read_tail(const zip_file *zip, zip_tail *tail)
{
    static uint8_t bytes[END_RECORD + NAME_CAP];
    uint64_t size = zip->size < sizeof(bytes) ? zip->size : sizeof(bytes);

    if (size < END_RECORD || !read_at(zip, zip->size - size, bytes, size))
        return false;
    *tail = (zip_tail){ bytes, size, zip->size - size, size - END_RECORD + SIGNATURE_BYTES };
    return true;
}

/* The next mark from the end on that has room for its record. Every file that is no package is looked through
 * for one: most of its bytes are passed over by a function that looks at many of them at a time. */
static bool next_mark(zip_tail *tail, uint64_t *at)
{
    while (tail->left >= SIGNATURE_BYTES) {
        const uint8_t *last = memrchr(tail->bytes, last_of_END(), (size_t)tail->left);

        tail->left = last ? (uint64_t)(last - tail->bytes) : 0;
        if (tail->left < SIGNATURE_BYTES - 1)
            return false;
        *at = tail->left - (SIGNATURE_BYTES - 1);
        if (is_END(tail->bytes + *at))
            return true;
    }
    return false;
}

/* Where the record is whose comment ends the file; zip->size: there is none. One more, or one in its comment,
 * is where others look. */
static uint64_t find_end(zip_file *zip)
{
    uint64_t end = zip->size, marks = 0, at;
    zip_tail tail;

    if (!read_tail(zip, &tail))
        return zip->size;
    while (next_mark(&tail, &at)) {
        if (ZIP_NUMBER_OF(tail.bytes + at, END_N_COMMENT) != tail.size - at - END_RECORD) {
            marks++;
        } else if (end == zip->size) {
            end = tail.from + at;
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
    zip->count = ZIP_NUMBER_OF(record, END_COUNT);
    zip->length = ZIP_NUMBER_OF(record, END_LENGTH);
    offset = ZIP_NUMBER_OF(record, END_OFFSET);
    if (end >= sizeof(locator) && read_at(zip, end - sizeof(locator), locator, sizeof(locator)) &&
        is_LOCATOR(locator)) {
        uint64_t at = ZIP_NUMBER_OF(locator, LOCATOR_OFFSET);

        if (!read_at(zip, at, large, sizeof(large)) || !is_END64(large))
            return false;
        /* What fits has to be the same in both. */
        if ((zip->count != UINT16_MAX && zip->count != ZIP_NUMBER_OF(large, END64_COUNT)) ||
            (zip->length != UINT32_MAX && zip->length != ZIP_NUMBER_OF(large, END64_LENGTH)) ||
            (offset != UINT32_MAX && offset != ZIP_NUMBER_OF(large, END64_OFFSET)))
            return false;
        zip->count = ZIP_NUMBER_OF(large, END64_COUNT);
        zip->length = ZIP_NUMBER_OF(large, END64_LENGTH);
        offset = ZIP_NUMBER_OF(large, END64_OFFSET);
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

    for (uint64_t at = 0; n_extra - at >= EXTRA_HEAD;) {
        uint64_t id = ZIP_NUMBER_OF(extra + at, EXTRA_ID), n_field = ZIP_NUMBER_OF(extra + at, EXTRA_LENGTH);

        at += EXTRA_HEAD;
        if (n_field > n_extra - at)
            return false;
        for (size_t i = 0; id == LARGE_ID && i < 3; i++)
            if (*want[i] == UINT32_MAX) {
                if (n_field < LARGE_BYTES)
                    return false;
                *want[i] = package_number(extra + at, LARGE_BYTES);
                at += LARGE_BYTES;
                n_field -= LARGE_BYTES;
            }
        at += n_field;
    }
    return true;
}

static const char *check_kind(const uint8_t *central, const char *name, uint64_t n_name, uint64_t size,
                              uint64_t packed)
{
    uint64_t attributes = ZIP_NUMBER_OF(central, CENTRAL_ATTRIBUTES);
    bool made_by_unix = ZIP_NUMBER_OF(central, CENTRAL_MAKER) == UNIX;
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
static const char *check_local(zip_file *zip, const uint8_t *central, const char *name, zip_entry *entry,
                               uint64_t size, uint64_t packed)
{
    static char other[NAME_CAP];
    uint8_t local[LOCAL_RECORD];
    uint64_t n_name, said;

    zip->at = entry->at;
    if (!read_at(zip, entry->at, local, sizeof(local)) || !is_LOCAL(local))
        return DIFFERENT;
    n_name = ZIP_NUMBER_OF(local, LOCAL_N_NAME);
    if (n_name != entry->n_name || !read_at(zip, entry->at + LOCAL_RECORD, other, n_name) ||
        memcmp(name, other, (size_t)n_name) != 0 ||
        ZIP_NUMBER_OF(local, LOCAL_METHOD) != ZIP_NUMBER_OF(central, CENTRAL_METHOD) ||
        ((ZIP_NUMBER_OF(local, LOCAL_FLAGS) ^ ZIP_NUMBER_OF(central, CENTRAL_FLAGS)) & FLAG_SECRET))
        return DIFFERENT;
    entry->behind = (ZIP_NUMBER_OF(local, LOCAL_FLAGS) & FLAG_BEHIND) != 0;
    said = ZIP_NUMBER_OF(local, LOCAL_CRC);
    if (said != ZIP_NUMBER_OF(central, CENTRAL_CRC) && !(entry->behind && said == 0))
        return DIFFERENT;
    said = ZIP_NUMBER_OF(local, LOCAL_PACKED);
    if (said != packed && said != UINT32_MAX && !(entry->behind && said == 0))
        return DIFFERENT;
    said = ZIP_NUMBER_OF(local, LOCAL_SIZE);
    if (said != size && said != UINT32_MAX && !(entry->behind && said == 0))
        return DIFFERENT;
    entry->end = entry->at + LOCAL_RECORD + n_name + ZIP_NUMBER_OF(local, LOCAL_N_EXTRA);
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

        zip->at = zip->directory + at;
        if (zip->length - at < CENTRAL_RECORD || !is_CENTRAL(central))
            return DIFFERENT;
        size = ZIP_NUMBER_OF(central, CENTRAL_SIZE);
        packed = ZIP_NUMBER_OF(central, CENTRAL_PACKED);
        n_extra = ZIP_NUMBER_OF(central, CENTRAL_N_EXTRA);
        *entry = (zip_entry){ .at = ZIP_NUMBER_OF(central, CENTRAL_OFFSET),
                              .n_name = (uint32_t)ZIP_NUMBER_OF(central, CENTRAL_N_NAME),
                              .name = at + CENTRAL_RECORD };
        rest = entry->n_name + n_extra + ZIP_NUMBER_OF(central, CENTRAL_N_COMMENT);
        if (zip->length - at - CENTRAL_RECORD < rest ||
            !read_large(central + CENTRAL_RECORD + entry->n_name, n_extra, &size, &packed, &entry->at) ||
            entry->at > zip->size - zip->shift)
            return DIFFERENT;
        entry->at += zip->shift;
        if (memchr(zip->bytes + entry->name, 0, entry->n_name))
            return CUT;
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
static const char *check_gap(zip_file *zip, uint64_t at, uint64_t end, bool behind, bool last)
{
    static uint8_t gap[GAP_MOST];
    static const char BLOCK[] = ZIP_SIGNATURE_BLOCK;
    uint8_t block[sizeof(BLOCK) - 1];
    uint64_t n_gap;

    zip->at = at;
    if (at > end)
        return "has entries that lie over each other";
    n_gap = end - at;
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
    static const char START[] = ZIP_SIGNATURE_START;
    char first[sizeof(START) - 1] = "";
    uint64_t at = 0;
    bool behind = false;
    const char *why = NULL;

    if (zip->n_entry > 0)
        qsort(zip->entry, (size_t)zip->n_entry, sizeof(zip->entry[0]), by_place);
    /* A program may stand before the first one. */
    if (zip->n_entry > 0 &&
        (!read_at(zip, 0, first, sizeof(first)) || memcmp(first, START, sizeof(first)) != 0))
        at = zip->entry[0].at;
    else if (zip->n_entry > 0 && zip->entry[0].at == PIECES_MARK)
        at = PIECES_MARK; /* a mark of files in several pieces, of which there is one */
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

static const char *check_names(zip_file *zip)
{
    zip_name *name = calloc((size_t)zip->n_entry + 1, sizeof(*name));
    const char *why = name ? NULL : "has too many entries to be compared";

    for (uint64_t i = 0; name && i < zip->n_entry; i++)
        name[i] = (zip_name){ zip->bytes + zip->entry[i].name, zip->entry[i].n_name };
    if (name && zip->n_entry > 0)
        qsort(name, (size_t)zip->n_entry, sizeof(*name), by_bytes);
    for (uint64_t i = 1; name && i < zip->n_entry && !why; i++)
        if (by_bytes(&name[i - 1], &name[i]) == 0) {
            zip->at = zip->directory + (uint64_t)(name[i].bytes - zip->bytes) - CENTRAL_RECORD;
            why = TWICE;
        }
    free(name);
    return why;
}

bool package_zip_ends(int fd, uint64_t size)
{
    zip_file zip = { .fd = fd, .size = size };
    uint64_t end = find_end(&zip);

    return end != size && (!read_end(&zip, end) || zip.count > 0);
}

/* Of many marks the first ones are looked at: a file that has more of them was made to. */
package_zip_look package_zip_found(int fd, uint64_t size, uint64_t *at)
{
    zip_file file = { .fd = fd, .size = size };
    package_zip_look found = ZIP_NOWHERE;
    uint32_t marks = 0;
    uint64_t mark;
    zip_tail tail;

    if (!read_tail(&file, &tail))
        return ZIP_NOWHERE;
    while (next_mark(&tail, &mark)) {
        const uint8_t *record = tail.bytes + mark;
        zip_file zip = file;
        uint8_t first[SIGNATURE_BYTES];

        *at = tail.from + mark;
        if (++marks > MARKS_MOST)
            return ZIP_MANY_MARKS;
        if (mark == tail.size - END_RECORD && ZIP_NUMBER_OF(record, END_COUNT) != 0 &&
            ZIP_NUMBER_OF(record, END_N_COMMENT) == 0)
            found = ZIP_END_ALONE;
        if (read_end(&zip, *at) && zip.count > 0 && read_at(&zip, zip.directory, first, sizeof(first)) &&
            is_CENTRAL(first))
            return ZIP_DIRECTORY;
    }
    return found;
}

static const char *check_whole(zip_file *zip)
{
    uint64_t end = find_end(zip);
    const char *why = NULL;
    uint8_t *bytes;

    zip->at = end;
    if (end == zip->size)
        return "does not end with its directory: what is in it depends on the reader";
    if (zip->twice)
        return "has two ends: what is in it depends on the reader";
    if (!read_end(zip, end))
        return DIFFERENT;
    if (zip->count > ENTRIES_MOST || zip->length > (uint64_t)ENTRIES_MOST * 256)
        return "has too many entries to be compared";
    bytes = malloc((size_t)zip->length + 1);
    zip->bytes = bytes;
    zip->entry = calloc((size_t)zip->count + 1, sizeof(zip->entry[0]));
    if (!bytes || !zip->entry)
        why = "has too many entries to be compared";
    else if (!read_at(zip, zip->directory, bytes, zip->length))
        why = DIFFERENT;
    if (!why)
        why = check_entries(zip);
    if (!why)
        why = check_names(zip);
    if (!why)
        why = check_order(zip);
    free(zip->entry);
    free(bytes);
    return why;
}

const char *package_zip_differs(int fd, uint64_t size, uint64_t *at)
{
    zip_file zip = { .fd = fd, .size = size };
    const char *why = check_whole(&zip);

    *at = zip.at;
    return why;
}
