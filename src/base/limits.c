/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <cuvet/limits.h>

#include <string.h>

#include "base/base.h"

static const struct {
    cuvet_limit_info info;
    size_t offset; /* of the field in cuvet_limits */
} LIMITS[] = {
#define LIMIT(field, unit, strict, roomy, tiny, what)                                                        \
    { { sizeof(cuvet_limit_info), #field, unit, what, strict, roomy, tiny }, offsetof(cuvet_limits, field) },
#include "limits.def"
#undef LIMIT
};

static uint64_t *field_at(cuvet_limits *limits, size_t index)
{
    return (uint64_t *)(void *)((char *)limits + LIMITS[index].offset);
}

/* Does the caller's structure, which may be of an older header, reach so far? */
static bool has_field(const cuvet_limits *limits, size_t index)
{
    return limits->size >= LIMITS[index].offset + sizeof(uint64_t);
}

/* Structures of callers have no size above it: see bytes/sized.c, which this folder cannot use. */
enum { SIZE_MOST = 16384 };

/* The size, whatever stands behind it until numbers may begin on this machine, and whole numbers. */
static bool is_size(size_t size)
{
    enum { FIRST = offsetof(cuvet_limits, input) };

    return size >= FIRST && size <= SIZE_MOST && (size - FIRST) % sizeof(uint64_t) == 0;
}

cuvet_status cuvet_limits_preset(const char *name, cuvet_limits *out)
{
    bool strict = name && strcmp(name, "strict") == 0, roomy = name && strcmp(name, "roomy") == 0;

    if (!out || !name)
        return CUVET_E_NULL;
    if ((!strict && !roomy && strcmp(name, "tiny") != 0) || !is_size(out->size))
        return CUVET_E_USAGE;
    /* What the caller's structure has room for; what is not known becomes zero. */
    memset((char *)out + sizeof(out->size), 0, out->size - sizeof(out->size));
    for (size_t i = 0; i < CV_COUNT(LIMITS); i++) {
        const cuvet_limit_info *in = &LIMITS[i].info;

        if (has_field(out, i))
            *field_at(out, i) = strict ? in->strict : roomy ? in->roomy : in->tiny;
    }
    return CUVET_OK;
}

cuvet_status cuvet_limits_set(cuvet_limits *limits, const char *name, uint64_t value)
{
    if (!limits || !name)
        return CUVET_E_NULL;
    for (size_t i = 0; i < CV_COUNT(LIMITS); i++) {
        if (strcmp(LIMITS[i].info.name, name) == 0) {
            if (!has_field(limits, i))
                return CUVET_E_USAGE;
            *field_at(limits, i) = value;
            return CUVET_OK;
        }
    }
    return CUVET_E_USAGE;
}

cuvet_status cuvet_limits_get(const cuvet_limits *limits, size_t index, const cuvet_limit_info **info,
                              uint64_t *value)
{
    if (!info)
        return CUVET_E_NULL;
    if (index >= CV_COUNT(LIMITS))
        return CUVET_END;
    *info = &LIMITS[index].info;
    if (limits && value && has_field(limits, index))
        memcpy(value, (const char *)limits + LIMITS[index].offset, sizeof(*value));
    else if (limits && value)
        *value = LIMITS[index].info.strict;
    return CUVET_OK;
}
