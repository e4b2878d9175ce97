/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The bare loop that `cuvet scan` is measured against: map the file, look for container headers at 8-byte
 * steps, walk the members, decompress each with reused contexts into one reused buffer. It checks only what
 * it needs in order not to crash on good files. Not an example of how to read files that nobody vouches for.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lz4.h>
#include <zstd.h>

#define FLAG_LZ4       UINT64_C(0x2000)
#define FLAG_ZSTD      UINT64_C(0x8000)
#define FLAG_SCRAMBLED UINT64_C(0x10000)
#define MEMBER_MAX     (UINT64_C(1) << 30)

typedef struct bare_totals {
    uint64_t containers, members, decompressed, stored, bytes, largest_stored, largest;
} bare_totals;

typedef struct bare_decoder {
    ZSTD_DCtx *zstd;
    char *out;
    size_t room;
} bare_decoder;

static const uint8_t HEADER[8] = { 0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0 };

static uint32_t u32(const uint8_t *bytes)
{
    uint32_t value;

    memcpy(&value, bytes, sizeof value);
    return value;
}

static uint64_t u64(const uint8_t *bytes)
{
    uint64_t value;

    memcpy(&value, bytes, sizeof value);
    return value;
}

static int decompress(bare_decoder *decoder, const uint8_t *in, uint64_t len, uint64_t flags, uint64_t size,
                      bare_totals *totals)
{
    if (size > MEMBER_MAX)
        return -1;
    if (size > decoder->room) {
        free(decoder->out);
        decoder->room = size;
        decoder->out = malloc(size);
        if (!decoder->out)
            return -1;
    }
    if (flags & FLAG_LZ4) {
        if (LZ4_decompress_safe((const char *)in, decoder->out, (int)len, (int)size) != (int)size)
            return -1;
    } else if (ZSTD_decompressDCtx(decoder->zstd, decoder->out, size, in, len) != size) {
        return -1;
    }
    totals->decompressed++;
    totals->stored += len;
    totals->bytes += size;
    if (size > totals->largest)
        totals->largest = size;
    return 0;
}

static int walk(bare_decoder *decoder, const uint8_t *bytes, const uint8_t *end, bare_totals *totals)
{
    while ((uint64_t)(end - bytes) >= 64) {
        uint64_t head = u32(bytes + 4), stored = u64(bytes + 8), flags = u64(bytes + 0x28);

        if (head > (uint64_t)(end - bytes) || stored > (uint64_t)(end - bytes) - head)
            return -1;
        totals->members++;
        if (stored > totals->largest_stored)
            totals->largest_stored = stored;
        if (stored > totals->largest)
            totals->largest = stored;
        if ((flags & (FLAG_LZ4 | FLAG_ZSTD)) && !(flags & FLAG_SCRAMBLED) &&
            decompress(decoder, bytes + head, u32(bytes + 0x10), flags, u64(bytes + 0x38), totals))
            return -1;
        bytes += head + stored;
    }
    return 0;
}

static int scan(const uint8_t *base, uint64_t len, bare_totals *totals)
{
    bare_decoder decoder = { .zstd = ZSTD_createDCtx() };
    uint64_t want, at = 0;
    int rc = 0;

    memcpy(&want, HEADER, sizeof want);
    while (rc == 0 && at + 16 <= len) {
        if (u64(base + at) != want) {
            at += 8;
            continue;
        }
        uint64_t size = u64(base + at + 8);
        if (size > len - at - 16)
            break;
        totals->containers++;
        rc = walk(&decoder, base + at + 16, base + at + 16 + size, totals);
        at += 16 + size;
    }
    free(decoder.out);
    ZSTD_freeDCtx(decoder.zstd);
    return rc;
}

int main(int argc, char **argv)
{
    bare_totals totals = { 0 };
    struct rusage rusage;

    for (int i = 1; i < argc; i++) {
        struct stat st;
        int fd = open(argv[i], O_RDONLY);

        if (fd < 0 || fstat(fd, &st) != 0 || st.st_size <= 0) {
            fprintf(stderr, "bare: cannot open %s\n", argv[i]);
            return 3;
        }
        void *most = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (most == MAP_FAILED || scan(most, (uint64_t)st.st_size, &totals) != 0) {
            fprintf(stderr, "bare: %s: this loop is for good files\n", argv[i]);
            return 1;
        }
        munmap(most, (size_t)st.st_size);
        close(fd);
    }
    getrusage(RUSAGE_SELF, &rusage);
    printf("containers %" PRIu64 " members %" PRIu64 " decompressed %" PRIu64 " stored %" PRIu64
           " bytes %" PRIu64 " largest_stored %" PRIu64 " largest %" PRIu64 " cpu_us %" PRIu64
           " rss_kib %ld\n",
           totals.containers, totals.members, totals.decompressed, totals.stored, totals.bytes,
           totals.largest_stored, totals.largest,
           (uint64_t)(rusage.ru_utime.tv_sec + rusage.ru_stime.tv_sec) * 1000000 +
               (uint64_t)(rusage.ru_utime.tv_usec + rusage.ru_stime.tv_usec),
           rusage.ru_maxrss);
    return 0;
}
