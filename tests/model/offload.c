/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "model/offload.h"

#include <string.h>

enum { NEWEST = 3, ENTRY = 40 };

/* "size" bytes, the lowest first */
static uint64_t number(const uint8_t *at, unsigned size)
{
    uint64_t value = 0;

    while (size-- > 0)
        value = value * 256 + at[size];
    return value;
}

void md_offload_read(const uint8_t *bytes, size_t left, md_offload *out)
{
    static const uint8_t MAGIC[4] = { 0x10, 0xFF, 0x10, 0xAD };
    uint64_t header;

    *out = (md_offload){ .broken = NULL };
    if (left >= 4 && memcmp(bytes, MAGIC, 4) != 0) {
        out->broken = "CV-OFFLOAD-002";
        return;
    }
    if (left < 32) {
        out->broken = "CV-OFFLOAD-001";
        return;
    }
    out->version = (unsigned)number(bytes + 4, 4);
    if (out->version < 1 || out->version > NEWEST) {
        out->broken = "CV-OFFLOAD-003";
        return;
    }
    /* "from version 3 on the size when unpacked" */
    header = out->version == 3 ? 40 : 32;
    out->size = number(bytes + 8, 8);
    if (out->size < header || out->size > left) {
        out->broken = "CV-OFFLOAD-004";
        return;
    }
    /* "each at a multiple of 8" */
    for (out->next = out->size; out->next % 8 != 0 && out->next < left;)
        out->next++;
    out->compressed = out->version == 3 && number(bytes + 32, 8) != 0;
    if (out->compressed)
        return;
    out->first = number(bytes + 16, 8);
    out->n_entries = out->version == 1 ? 1 : number(bytes + 24, 8);
    out->odd_entry = out->version == 1 && number(bytes + 24, 8) != ENTRY;
    /* "They begin behind the header"; each has 40 bytes. */
    if (out->first < header || out->first > out->size || (out->size - out->first) / ENTRY < out->n_entries)
        out->broken = "CV-OFFLOAD-005";
}

/* A string that ends in NUL, in the first 'tables' bytes; NULL: there is none. */
static const uint8_t *text_at(const uint8_t *bytes, size_t tables, uint64_t off, uint64_t *size)
{
    const uint8_t *end = off < tables ? memchr(bytes + off, 0, tables - (size_t)off) : NULL;

    if (!end)
        return NULL;
    *size = (uint64_t)(end - (bytes + off));
    return bytes + off;
}

static bool is(const uint8_t *text, uint64_t size, const char *word)
{
    return size == strlen(word) && memcmp(text, word, (size_t)size) == 0;
}

static void read_strings(const uint8_t *bytes, size_t tables, unsigned version, const uint8_t *entry,
                         md_offload_image *out)
{
    uint64_t at = number(entry + 8, 8), count = number(entry + 16, 8), each = version == 1 ? 16 : 24;
    unsigned triples = 0, archs = 0;

    out->bad_strings = "CV-OFFLOAD-009";
    if (at > tables || (tables - at) / each < count)
        return;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *pair = bytes + at + i * each, *key, *value;
        uint64_t n_key, n_value;

        key = text_at(bytes, tables, number(pair, 8), &n_key);
        if (version == 1) {
            value = text_at(bytes, tables, number(pair + 8, 8), &n_value);
        } else {
            uint64_t off = number(pair + 8, 8);

            n_value = number(pair + 16, 8);
            value = off <= tables && n_value <= tables - off ? bytes + off : NULL;
        }
        if (!key || !value)
            return;
        archs += is(key, n_key, "arch");
        if (is(key, n_key, "triple")) {
            triples++;
            out->triple = value;
            out->n_triple = n_value;
        }
    }
    out->bad_strings = NULL;
    out->twice = triples > 1 || archs > 1;
}

void md_offload_image_at(const uint8_t *bytes, const md_offload *binary, uint64_t index, size_t tables,
                         md_offload_image *out)
{
    const uint8_t *entry = bytes + binary->first + index * ENTRY;

    *out = (md_offload_image){ .off = number(entry + 24, 8), .size = number(entry + 32, 8) };
    out->fits = out->off <= binary->size && out->size <= binary->size - out->off;
    read_strings(bytes, tables, binary->version, entry, out);
    /* "by its triple or, without one, by its kinds": made for CUDA, or a cubin, a fat binary or PTX */
    if (out->n_triple > 0)
        out->cuda = out->n_triple >= 5 && memcmp(out->triple, "nvptx", 5) == 0;
    else
        out->cuda = number(entry + 2, 2) == 2 || (number(entry, 2) >= 3 && number(entry, 2) <= 5);
}
