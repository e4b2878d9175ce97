/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define HASH_BLOCK (1u << 16)

void cli_hex(const uint8_t *bytes, size_t size, char *out)
{
    static const char HEX[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        out[2 * i] = HEX[bytes[i] >> 4];
        out[2 * i + 1] = HEX[bytes[i] & 15];
    }
    out[2 * size] = '\0';
}

void cli_digest_of(cli_digest *digest, const void *bytes, size_t size)
{
    struct sha256_ctx sha;

    sha256_init(&sha);
    if (size > 0)
        sha256_update(&sha, size, bytes);
    sha256_digest(&sha, sizeof(digest->byte), digest->byte);
}

bool cli_digest_source(cli_digest *digest, const cuvet_source *source, uint64_t off, uint64_t size)
{
    uint8_t *block = malloc(HASH_BLOCK);
    struct sha256_ctx sha;
    bool good = block != NULL;

    sha256_init(&sha);
    while (good && size > 0) {
        size_t count = size < HASH_BLOCK ? (size_t)size : HASH_BLOCK;

        good = source->read_at(source->user, off, block, count) == CUVET_OK;
        if (good)
            sha256_update(&sha, count, block);
        off += count;
        size -= count;
    }
    sha256_digest(&sha, sizeof(digest->byte), digest->byte);
    free(block);
    return good;
}

void cli_hash_package(cli_package_hash *hash, int fd, uint64_t size)
{
    cuvet_source source = { .size = sizeof(source), .owned_fd = -1 };

    if (cuvet_source_fd_sized(fd, size, &source) != CUVET_OK)
        return;
    hash->known = cli_digest_source(&hash->digest, &source, 0, size);
    cuvet_source_destroy(&source);
}

void cli_digest_text(const cli_digest *digest, char out[CLI_SHA256_CAP])
{
    cli_hex(digest->byte, sizeof(digest->byte), out);
}

void cli_fingerprint_of(const char *rule, const char *place, char out[CLI_SHA256_CAP])
{
    struct sha256_ctx sha;
    cli_digest digest;

    sha256_init(&sha);
    sha256_update(&sha, strlen(rule) + 1, (const uint8_t *)rule);
    sha256_update(&sha, strlen(place), (const uint8_t *)place);
    sha256_digest(&sha, sizeof(digest.byte), digest.byte);
    cli_digest_text(&digest, out);
}

int cli_digest_order(const cli_digest *left, const cli_digest *right)
{
    return memcmp(left->byte, right->byte, sizeof(left->byte));
}

bool cli_digest_known(const cli_digest *digest)
{
    static const cli_digest NONE;

    return cli_digest_order(digest, &NONE) != 0;
}
