/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Are the two halves of a zip file alike? The input is the file. The answer is a text of ours, or none. A
 * file without one ends with its directory: another byte behind that makes one. */
#include "common.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "package/zip.h"

static void check(fz_state *fuzz)
{
    const uint8_t *bytes = fuzz->in->bytes;
    size_t size = fuzz->in->len;
    int fd = memfd_create("zip", MFD_CLOEXEC);
    const char *why;
    uint64_t at = 0;
    bool ends;

    if (fd < 0)
        return;
    if (size == 0 || write(fd, bytes, size) == (ssize_t)size) {
        why = package_zip_differs(fd, size, &at);
        ends = package_zip_ends(fd, size);
        fz_note_bytes(fuzz, why ? why : "", why ? strlen(why) : 0);
        fz_note(fuzz, ends);
        fz_note(fuzz, at);
        if (why)
            FZ_CHECK(at <= size && strlen(why) > 10 && strlen(why) < 200, "a text, and a place in the file");
        if (!why && write(fd, "x", 1) == 1)
            FZ_CHECK(package_zip_differs(fd, size + 1, &at) != NULL, "it ends with its directory");
    }
    (void)close(fd); /* nothing is to be kept */
}

CV_FUZZ_TARGET(zip)
{
    return fz_twice(data, size, 0, check);
}
