/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "report.h"

void cli_hex(const uint8_t *bytes, size_t size, char *out)
{
    static const char HEX[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        out[2 * i] = HEX[bytes[i] >> 4];
        out[2 * i + 1] = HEX[bytes[i] & 15];
    }
    out[2 * size] = '\0';
}

void cli_sha256(const void *bytes, size_t size, char out[CLI_SHA256_CAP])
{
    struct sha256_ctx sha;
    uint8_t digest[SHA256_DIGEST_SIZE];

    sha256_init(&sha);
    sha256_update(&sha, size, bytes);
    sha256_digest(&sha, sizeof(digest), digest);
    cli_hex(digest, sizeof(digest), out);
}
