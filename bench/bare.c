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

typedef struct totals {
    uint64_t containers, members, decompressed, stored, bytes, largest_stored, largest;
} totals;

typedef struct decoder {
    ZSTD_DCtx *zstd;
    char *out;
    size_t room;
} decoder;

static const uint8_t HEADER[8] = { 0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0 };

static uint32_t u32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static uint64_t u64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static int decompress(decoder *d, const uint8_t *in, uint64_t n, uint64_t flags, uint64_t size, totals *t)
{
    if (size > MEMBER_MAX)
        return -1;
    if (size > d->room) {
        free(d->out);
        d->room = size;
        d->out = malloc(size);
        if (!d->out)
            return -1;
    }
    if (flags & FLAG_LZ4) {
        if (LZ4_decompress_safe((const char *)in, d->out, (int)n, (int)size) != (int)size)
            return -1;
    } else if (ZSTD_decompressDCtx(d->zstd, d->out, size, in, n) != size) {
        return -1;
    }
    t->decompressed++;
    t->stored += n;
    t->bytes += size;
    if (size > t->largest)
        t->largest = size;
    return 0;
}

static int walk(decoder *d, const uint8_t *p, const uint8_t *end, totals *t)
{
    while ((uint64_t)(end - p) >= 64) {
        uint64_t head = u32(p + 4), stored = u64(p + 8), flags = u64(p + 0x28);

        if (head > (uint64_t)(end - p) || stored > (uint64_t)(end - p) - head)
            return -1;
        t->members++;
        if (stored > t->largest_stored)
            t->largest_stored = stored;
        if (stored > t->largest)
            t->largest = stored;
        if ((flags & (FLAG_LZ4 | FLAG_ZSTD)) && !(flags & FLAG_SCRAMBLED) &&
            decompress(d, p + head, u32(p + 0x10), flags, u64(p + 0x38), t))
            return -1;
        p += head + stored;
    }
    return 0;
}

static int scan(const uint8_t *base, uint64_t n, totals *t)
{
    decoder d = { .zstd = ZSTD_createDCtx() };
    uint64_t want, at = 0;
    int rc = 0;

    memcpy(&want, HEADER, sizeof want);
    while (rc == 0 && at + 16 <= n) {
        if (u64(base + at) != want) {
            at += 8;
            continue;
        }
        uint64_t size = u64(base + at + 8);
        if (size > n - at - 16)
            break;
        t->containers++;
        rc = walk(&d, base + at + 16, base + at + 16 + size, t);
        at += 16 + size;
    }
    free(d.out);
    ZSTD_freeDCtx(d.zstd);
    return rc;
}

int main(int argc, char **argv)
{
    totals t = { 0 };
    struct rusage u;

    for (int i = 1; i < argc; i++) {
        struct stat st;
        int fd = open(argv[i], O_RDONLY);

        if (fd < 0 || fstat(fd, &st) != 0 || st.st_size <= 0) {
            fprintf(stderr, "bare: cannot open %s\n", argv[i]);
            return 3;
        }
        void *m = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (m == MAP_FAILED || scan(m, (uint64_t)st.st_size, &t) != 0) {
            fprintf(stderr, "bare: %s: this loop is for good files\n", argv[i]);
            return 1;
        }
        munmap(m, (size_t)st.st_size);
        close(fd);
    }
    getrusage(RUSAGE_SELF, &u);
    printf("containers %" PRIu64 " members %" PRIu64 " decompressed %" PRIu64 " stored %" PRIu64
           " bytes %" PRIu64 " largest_stored %" PRIu64 " largest %" PRIu64 " cpu_us %" PRIu64
           " rss_kib %ld\n",
           t.containers, t.members, t.decompressed, t.stored, t.bytes, t.largest_stored, t.largest,
           (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
               (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec),
           u.ru_maxrss);
    return 0;
}
