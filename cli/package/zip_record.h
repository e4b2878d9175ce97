/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Records of zip files (spec/zip.def): LOCAL_FLAGS and LOCAL_FLAGS_BYTES, is_LOCAL(),
 * last_of_LOCAL(), the last byte of its signature, and the like. Who asks
 * has looked that the bytes are there. */
#ifndef CLI_PACKAGE_ZIP_RECORD_H
#define CLI_PACKAGE_ZIP_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
#define ZIP_RECORD(name, signature, size)      name##_RECORD = (size),
#define ZIP_FIELD(record, field, offset, size) record##_##field = (offset), record##_##field##_BYTES = (size),
#define ZIP_NUMBER(name, value)                name = (value),
#include "../../spec/zip.def"
    SIGNATURE_BYTES = 4
};

#define ZIP_RECORD(name, signature, size)                                                                    \
    static inline bool is_##name(const uint8_t *bytes)                                                       \
    {                                                                                                        \
        return memcmp(bytes, signature, SIGNATURE_BYTES) == 0;                                               \
    }                                                                                                        \
    static inline uint8_t last_of_##name(void)                                                               \
    {                                                                                                        \
        return (uint8_t)signature[SIGNATURE_BYTES - 1];                                                      \
    }
#include "../../spec/zip.def"

/** Little-endian, as all numbers of zip files and of spec/compressed.def. @param size at most 8 */
static inline uint64_t package_number(const uint8_t *bytes, unsigned size)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

#define ZIP_NUMBER_OF(bytes, field) package_number((bytes) + (field), field##_BYTES)

#endif
