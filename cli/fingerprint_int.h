/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the fingerprints of device ELFs and of PTX share: how things go into a hash. */
#ifndef CLI_FINGERPRINT_INT_H
#define CLI_FINGERPRINT_INT_H

#include "fingerprint.h"

#include <string.h>

static inline void add_bytes(struct sha256_ctx *sha, const void *bytes, size_t size)
{
    if (size > 0)
        sha256_update(sha, size, bytes);
}

/* Little endian, whatever machine this is. */
static inline void add_number(struct sha256_ctx *sha, uint64_t value)
{
    uint8_t bytes[8];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(value >> (8 * i) & UINT8_MAX);
    sha256_update(sha, sizeof(bytes), bytes);
}

static inline void add_text(struct sha256_ctx *sha, cuvet_bytes text)
{
    add_number(sha, text.n);
    add_bytes(sha, text.p, text.n);
}

static inline void finish(struct sha256_ctx *sha, cli_digest *out)
{
    sha256_digest(sha, sizeof(out->byte), out->byte);
}

/* Names of what is internal to a source file have a hash of its path, which does not count where all have the
 * same. */
static inline void add_name(struct sha256_ctx *sha, const cli_path_hash *hash, cuvet_bytes name)
{
    char plain[CLI_PLAIN_CAP];

    if (hash->any && !hash->several && cli_plain_name(name, plain))
        name = (cuvet_bytes){ (const uint8_t *)plain, name.n };
    add_text(sha, name);
}

#endif
