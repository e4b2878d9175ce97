/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tar.h"

#include "tar_record.h"

#include <stdlib.h>
#include <string.h>

enum { QUEUE_MOST = 1 << 20, DIGITS_MOST = 18 };
_Static_assert((int)TAR_BLOCK == (int)TAR_HEADER_BYTES, "a header is a block");

/* LOST: nothing is known of what follows; whoever unpacks it says why. */
typedef enum tar_state { HEADS, BODY, WORDS, MAPS, ENDED, LOST } tar_state;

/* What headers say of the next entry. */
typedef struct tar_group {
    uint64_t at, size; /* of PAX */
    bool begun, words, sized, sparse;
} tar_group;

struct package_tar {
    uint64_t at; /* in the file, of the next byte */
    tar_state state;
    uint64_t left;  /* of BODY and WORDS, blocks filled up */
    uint64_t after; /* of MAPS: BODY behind them */
    uint64_t n_word, cap_word, most_word;
    uint8_t *word; /* PAX records */
    uint8_t block[TAR_BLOCK];
    size_t n_block;
    bool zeros; /* a block of them was before this one */
    bool global;
    tar_group group;
    package_tar_entry *queue;
    size_t first, count, cap;
    const char *fault;
    uint64_t fault_at;
};

package_tar *package_tar_new(void)
{
    return calloc(1, sizeof(package_tar));
}

void package_tar_free(package_tar *tar)
{
    if (!tar)
        return;
    free(tar->word);
    free(tar->queue);
    free(tar);
}

static void set_fault(package_tar *tar, const char *why)
{
    if (tar->fault)
        return;
    tar->fault = why;
    tar->fault_at = tar->group.begun ? tar->group.at : tar->at;
}

static uint64_t filled_up(uint64_t size)
{
    return size / TAR_BLOCK * TAR_BLOCK + (size % TAR_BLOCK ? TAR_BLOCK : 0);
}

/* ---- PAX ---- */

static bool is_word(const uint8_t *key, size_t n_key, const char *word)
{
    return n_key == strlen(word) && memcmp(key, word, n_key) == 0;
}

static bool read_decimal(const uint8_t *text, size_t size, uint64_t *value)
{
    *value = 0;
    if (size == 0 || size > DIGITS_MOST)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *value = *value * 10 + (uint64_t)(text[i] - '0');
    }
    return true;
}

static void take_word(package_tar *tar, const uint8_t *key, size_t n_key, const uint8_t *value,
                      size_t n_value)
{
    static const char SPARSE[] = "GNU.sparse.";
    bool size = is_word(key, n_key, "size");
    bool sparse = n_key > strlen(SPARSE) && memcmp(key, SPARSE, strlen(SPARSE)) == 0;

    if (tar->global && (size || sparse || is_word(key, n_key, "path") || is_word(key, n_key, "linkpath")))
        set_fault(tar, "says of all entries what some readers take for one");
    else if (size && !read_decimal(value, n_value, &tar->group.size))
        set_fault(tar, "has a size that is no number for some readers");
    else if (memchr(value, 0, n_value) && (is_word(key, n_key, "path") || is_word(key, n_key, "linkpath")))
        set_fault(tar, "has a name with a NUL");
    tar->group.sized = tar->group.sized || (size && !tar->global);
    tar->group.sparse = tar->group.sparse || sparse;
}

/* "27 key=value\n", whose number is its length. */
static void take_words(package_tar *tar)
{
    const uint8_t *text = tar->word;
    size_t size = (size_t)tar->n_word;

    for (size_t at = 0; at < size;) {
        const uint8_t *blank = memchr(text + at, ' ', size - at), *equal = NULL;
        uint64_t length = 0;
        size_t n_digit = blank ? (size_t)(blank - (text + at)) : 0, from = at + n_digit + 1;
        bool ok = blank && read_decimal(text + at, n_digit, &length) && length > n_digit + 1 &&
                  length <= size - at && text[at + length - 1] == '\n';
        size_t end = ok ? at + (size_t)length : at;

        if (ok)
            equal = memchr(text + from, '=', end - 1 - from);
        if (!ok || !equal || equal == text + from) {
            set_fault(tar, "has a record of PAX that is none for some readers");
            return;
        }
        take_word(tar, text + from, (size_t)(equal - (text + from)), equal + 1,
                  (size_t)(text + end - 1 - (equal + 1)));
        at = end;
    }
}

/* ---- headers ---- */

static void add_entry(package_tar *tar, const package_tar_entry *entry)
{
    size_t more = tar->cap ? 2 * tar->cap : 64;
    package_tar_entry *grown;

    if (tar->first == tar->count)
        tar->first = tar->count = 0;
    if (tar->count == tar->cap) {
        grown = tar->cap < QUEUE_MOST ? reallocarray(tar->queue, more, sizeof(*grown)) : NULL;
        if (!grown) {
            set_fault(tar, "has more entries beside each other than are compared");
            tar->state = LOST;
            return;
        }
        tar->queue = grown;
        tar->cap = more;
    }
    tar->queue[tar->count++] = *entry;
}

static void begin_body(package_tar *tar, uint64_t size)
{
    tar->left = filled_up(size);
    tar->state = tar->left ? BODY : HEADS;
}

/* Records, of one entry or of all that follow, or a long name. */
static void begin_words(package_tar *tar, uint8_t kind, uint64_t size)
{
    if (kind == 'L' || kind == 'K') {
        begin_body(tar, size);
        return;
    }
    if (kind != 'g' && tar->group.words)
        set_fault(tar, "has records of PAX twice for one entry");
    tar->group.words = tar->group.words || kind != 'g';
    tar->global = kind == 'g';
    tar->n_word = 0;
    tar->most_word = size;
    tar->left = filled_up(size);
    tar->state = size > TAR_WORDS_MOST ? LOST : tar->left ? WORDS : HEADS;
    if (tar->state == LOST)
        set_fault(tar, "has records of PAX beyond a mebibyte");
}

/* An entry itself. Links, folders and devices have no bytes, whatever their headers say. */
static void end_group(package_tar *tar, uint8_t kind, uint64_t size)
{
    package_tar_entry entry = { .at = tar->group.at,
                                .size = tar->group.sized ? tar->group.size : size,
                                .file = !(kind >= '1' && kind <= '6'),
                                .sparse = tar->group.sparse || kind == 'S' };

    if ((kind == 'V' || kind == 'A') && entry.size > 0)
        set_fault(tar, "has an entry of a kind that is a file for some readers, and none for others");
    if (kind != 'V' && kind != 'A') {
        add_entry(tar, &entry);
        tar->group = (tar_group){ 0 };
    }
    if (tar->state == LOST)
        return;
    begin_body(tar, entry.file && kind != 'V' ? entry.size : 0);
    if (kind == 'S' && tar->block[TAR_SPARSE_MORE]) {
        tar->after = tar->left;
        tar->state = MAPS;
    }
}

static void take_header(package_tar *tar)
{
    static const uint8_t NONE[TAR_BLOCK];
    uint8_t kind = tar->block[TAR_KIND];
    bool zeros = memcmp(tar->block, NONE, TAR_BLOCK) == 0;
    uint64_t size;

    if (zeros) {
        tar->state = tar->zeros ? ENDED : HEADS;
        tar->zeros = true;
        return;
    }
    if (tar->zeros) {
        set_fault(tar, "goes on behind a block of zeros, where some readers end");
        tar->state = LOST;
        return;
    }
    if (!package_tar_sum_ok(tar->block)) {
        tar->state = LOST;
        return;
    }
    if (!tar->group.begun)
        tar->group = (tar_group){ .begun = true, .at = tar->at - TAR_BLOCK };
    if (package_tar_number(tar->block + TAR_SIZE, TAR_SIZE_BYTES, &size) != TAR_NUMBER) {
        set_fault(tar, "has a size that is no number for some readers");
        tar->state = LOST;
    } else if (kind != 0 && strchr("xXgLK", kind)) { /* X: those of Solaris */
        begin_words(tar, kind, size);
    } else {
        end_group(tar, kind, size);
    }
}

/* ---- bytes ---- */

/* A block of headers, or one of the places of a sparse file. */
static size_t add_block(package_tar *tar, const uint8_t *bytes, size_t size)
{
    size_t step = TAR_BLOCK - tar->n_block < size ? TAR_BLOCK - tar->n_block : size;

    memcpy(tar->block + tar->n_block, bytes, step);
    tar->n_block += step;
    tar->at += step;
    if (tar->n_block < TAR_BLOCK)
        return step;
    tar->n_block = 0;
    if (tar->state == HEADS) {
        take_header(tar);
    } else if (!tar->block[TAR_MAP_MORE]) {
        tar->left = tar->after;
        tar->state = tar->left ? BODY : HEADS;
    }
    return step;
}

static void keep_words(package_tar *tar, const uint8_t *bytes, size_t size)
{
    uint64_t want = tar->most_word - tar->n_word;
    size_t step = want < size ? (size_t)want : size;

    if (tar->cap_word < tar->most_word) {
        uint8_t *grown = realloc(tar->word, (size_t)tar->most_word);

        if (!grown) {
            set_fault(tar, "has more records of PAX than there is memory for");
            tar->state = LOST;
            return;
        }
        tar->word = grown;
        tar->cap_word = tar->most_word;
    }
    memcpy(tar->word + tar->n_word, bytes, step);
    tar->n_word += step;
}

void package_tar_add(package_tar *tar, const uint8_t *bytes, size_t size)
{
    while (size > 0 && tar->state != ENDED && tar->state != LOST) {
        size_t step = tar->left < size ? (size_t)tar->left : size;

        if (tar->state == HEADS || tar->state == MAPS) {
            step = add_block(tar, bytes, size);
        } else {
            bool words = tar->state == WORDS;

            if (words)
                keep_words(tar, bytes, step);
            tar->at += step;
            tar->left -= step;
            if (tar->left == 0 && tar->state != LOST) {
                tar->state = HEADS;
                if (words)
                    take_words(tar);
            }
        }
        bytes += step;
        size -= step;
    }
}

void package_tar_skip(package_tar *tar, uint64_t size)
{
    if (tar->state == ENDED || tar->state == LOST || size == 0)
        return;
    if (tar->state != BODY || size > tar->left) {
        set_fault(tar, "has bytes that are an entry for some readers, and bytes of one for others");
        tar->state = LOST;
        return;
    }
    tar->at += size;
    tar->left -= size;
    if (tar->left == 0)
        tar->state = HEADS;
}

/* ---- what the library says ---- */

bool package_tar_take(package_tar *tar, uint64_t at, bool file, uint64_t size)
{
    const package_tar_entry *entry = tar->first < tar->count ? &tar->queue[tar->first] : NULL;

    if (!entry || entry->at != at)
        return false;
    tar->first++;
    return file ? entry->file && (entry->sparse || entry->size == size) : !entry->file || entry->size == 0;
}

bool package_tar_left(const package_tar *tar)
{
    return tar->first < tar->count;
}

const char *package_tar_fault(const package_tar *tar, uint64_t *at)
{
    *at = tar->fault_at;
    return tar->fault;
}
