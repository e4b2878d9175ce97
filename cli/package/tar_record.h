/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Headers of tar files (spec/packages.def): TAR_SIZE and TAR_SIZE_BYTES, and the like; their numbers and
 * checksum, for who knows a tar file by its first header and for who reads all of them. */
#ifndef CLI_PACKAGE_TAR_RECORD_H
#define CLI_PACKAGE_TAR_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
#define TAR_FIELD(name, offset, size) TAR_##name = (offset), TAR_##name##_BYTES = (size),
#include "../../spec/packages.def"
};

typedef enum tar_number {
    TAR_NO_NUMBER,
    TAR_CUT_NUMBER, /* something stands behind the blank or zero that ends it: not all readers end there */
    TAR_NUMBER
} tar_number;

/* To the base of 256, of 63 bits. */
static inline tar_number package_tar_binary(const uint8_t *field, size_t size, uint64_t *value)
{
    bool fits = field[0] == (uint8_t)INT8_MIN;

    for (size_t i = 1; i < size; i++) {
        fits = fits && *value <= (uint64_t)INT64_MAX >> 8;
        *value = fits ? *value << 8 | field[i] : 0;
    }
    return fits ? TAR_NUMBER : TAR_NO_NUMBER;
}

/** Octal digits behind blanks; or a number to the base of 256. No digit at all is 0. @param size 1 to 21 */
static inline tar_number package_tar_number(const uint8_t *field, size_t size, uint64_t *value)
{
    size_t at = 0;

    *value = 0;
    if (field[0] > INT8_MAX)
        return package_tar_binary(field, size, value);
    while (at < size && field[at] == ' ')
        at++;
    for (; at < size && field[at] >= '0' && field[at] <= '7'; at++)
        *value = *value << 3 | (uint64_t)(field[at] - '0');
    if (at < size && field[at] != 0 && field[at] != ' ')
        return TAR_NO_NUMBER;
    for (; at < size; at++)
        if (field[at] != 0 && field[at] != ' ')
            return TAR_CUT_NUMBER;
    return TAR_NUMBER;
}

/** Is its checksum that of its bytes? With their sign, or without: both were written. */
static inline bool package_tar_sum_ok(const uint8_t head[TAR_HEADER_BYTES])
{
    uint64_t said;
    int64_t plain = 0, with_sign = 0;

    if (package_tar_number(head + TAR_CHECKSUM, TAR_CHECKSUM_BYTES, &said) == TAR_NO_NUMBER)
        return false;
    for (size_t i = 0; i < TAR_HEADER_BYTES; i++) {
        uint8_t byte = i >= TAR_CHECKSUM && i < TAR_CHECKSUM + TAR_CHECKSUM_BYTES ? ' ' : head[i];

        plain += byte;
        with_sign += byte <= INT8_MAX ? byte : (int64_t)byte - (UINT8_MAX + 1);
    }
    return said == (uint64_t)plain || (with_sign >= 0 && said == (uint64_t)with_sign);
}

#endif
