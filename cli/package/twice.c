/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libzip compares the two halves of a zip file when it is asked to. It gets at the file through functions of
 * ours: in the cage nothing can be opened, and nothing is asked of a name. */
#include "twice.h"

#include <errno.h>
#include <unistd.h>
#include <zip.h>

typedef struct zip_bytes {
    int fd;
    zip_int64_t at, size;
    zip_error_t error;
} zip_bytes;

static zip_int64_t read_some(zip_bytes *bytes, void *out, zip_uint64_t size)
{
    ssize_t got;

    do
        got = pread(bytes->fd, out, (size_t)size, (off_t)bytes->at);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        zip_error_set(&bytes->error, ZIP_ER_READ, errno);
    else
        bytes->at += got;
    return got;
}

static zip_int64_t tell(const zip_bytes *bytes, void *out, zip_uint64_t size)
{
    zip_stat_t *stat = out;

    if (size < sizeof(*stat))
        return -1;
    zip_stat_init(stat);
    stat->size = (zip_uint64_t)bytes->size;
    stat->valid = ZIP_STAT_SIZE;
    return sizeof(*stat);
}

static zip_int64_t seek(zip_bytes *bytes, void *out, zip_uint64_t size)
{
    zip_int64_t to = zip_source_seek_compute_offset((zip_uint64_t)bytes->at, (zip_uint64_t)bytes->size, out,
                                                    size, &bytes->error);

    if (to < 0)
        return -1;
    bytes->at = to;
    return 0;
}

static zip_int64_t serve(void *user, void *out, zip_uint64_t size, zip_source_cmd_t command)
{
    zip_bytes *bytes = user;

    switch ((int)command) { /* others are of writing */
    case ZIP_SOURCE_OPEN: bytes->at = 0; return 0;
    case ZIP_SOURCE_READ: return read_some(bytes, out, size);
    case ZIP_SOURCE_STAT: return tell(bytes, out, size);
    case ZIP_SOURCE_SEEK: return seek(bytes, out, size);
    case ZIP_SOURCE_TELL: return bytes->at;
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&bytes->error, out, size);
    case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                              ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE,
                                              ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_SUPPORTS, -1);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE: return 0;
    default: break;
    }
    zip_error_set(&bytes->error, ZIP_ER_OPNOTSUPP, 0);
    return -1;
}

bool package_says_twice(int fd, uint64_t size)
{
    zip_bytes bytes = { .fd = fd, .size = (zip_int64_t)size };
    zip_source_t *source;
    zip_error_t error;
    zip_t *zip = NULL;
    bool twice;

    zip_error_init(&error);
    zip_error_init(&bytes.error);
    source = zip_source_function_create(serve, &bytes, &error);
    if (source)
        zip = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
    twice = !zip && zip_error_code_zip(&error) == ZIP_ER_INCONS;
    if (zip)
        zip_discard(zip); /* with its source */
    else if (source)
        zip_source_free(source);
    zip_error_fini(&error);
    zip_error_fini(&bytes.error);
    return twice;
}
