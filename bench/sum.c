/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How fast a file can be read at all: the sum of its 64-bit words, through windows of 256 KiB, the size of
 * the source's own. The search for containers is compared with this. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WINDOW ((size_t)256 * 1024)

static uint64_t sum(const uint64_t *width, size_t count)
{
    uint64_t left = 0, right = 0, code = 0, distance = 0;
    size_t i = 0;

    /* Four chains: one would be bound by the latency of the addition, and the comparison would flatter us. */
    for (; i + 4 <= count; i += 4) {
        left += width[i];
        right += width[i + 1];
        code += width[i + 2];
        distance += width[i + 3];
    }
    for (; i < count; i++)
        left += width[i];
    return left + right + code + distance;
}

int main(int argc, char **argv)
{
    uint64_t *buf = aligned_alloc(64, WINDOW);
    uint64_t total = 0, bytes = 0;

    if (!buf)
        return 5;
    for (int i = 1; i < argc; i++) {
        int fd = open(argv[i], O_RDONLY);
        ssize_t got;
        off_t at = 0;

        if (fd < 0) {
            fprintf(stderr, "sum: cannot open %s\n", argv[i]);
            return 3;
        }
        while ((got = pread(fd, buf, WINDOW, at)) > 0) {
            memset((uint8_t *)buf + got, 0, (size_t)(-got & 7));
            total += sum(buf, ((size_t)got + 7) / 8);
            at += got;
            bytes += (uint64_t)got;
        }
        close(fd);
    }
    free(buf);
    printf("bytes %" PRIu64 " sum %016" PRIx64 "\n", bytes, total);
    return 0;
}
