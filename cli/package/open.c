/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "open.h"

#include <errno.h>
#include <unistd.h>

static la_ssize_t on_read(struct archive *archive, void *user, const void **bytes)
{
    package_reader *in = user;
    ssize_t got;

    do
        got = pread(PACKAGE_IN, in->buffer, sizeof(in->buffer), in->at);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        archive_set_error(archive, errno, "cannot be read");
    else
        in->at += got;
    if (got > 0 && in->tar && !in->outer)
        package_tar_add(in->tar, in->buffer, (size_t)got);
    *bytes = in->buffer;
    return got;
}

static la_int64_t on_seek(struct archive *archive, void *user, la_int64_t offset, int whence)
{
    package_reader *in = user;
    int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? in->at : in->size;

    (void)archive;
    if (offset < -from || offset > INT64_MAX - from)
        return ARCHIVE_FATAL;
    in->at = from + offset;
    return in->at;
}

static la_int64_t on_skip(struct archive *archive, void *user, la_int64_t request)
{
    package_reader *in = user;
    int64_t left = in->size > in->at ? in->size - in->at : 0, step = request < left ? request : left;

    (void)archive;
    in->at += step;
    if (in->tar && !in->outer)
        package_tar_skip(in->tar, (uint64_t)step);
    return step;
}

/* The one that the first bytes are of, once: what comes out of it is the content, whatever that begins
 * like. libarchive 3.6 cannot be told so of zstd and LZ4, which have marks of four bytes; of rpm it finds
 * out. */
void package_support_filters(struct archive *archive, package_form form)
{
    if (form == PACKAGE_GZIP)
        (void)archive_read_append_filter(archive, ARCHIVE_FILTER_GZIP);
    if (form == PACKAGE_BZIP2)
        (void)archive_read_append_filter(archive, ARCHIVE_FILTER_BZIP2);
    if (form == PACKAGE_XZ)
        (void)archive_read_append_filter(archive, ARCHIVE_FILTER_XZ);
    if (form == PACKAGE_LZMA)
        (void)archive_read_append_filter(archive, ARCHIVE_FILTER_LZMA);
    if (form == PACKAGE_ZSTD || form == PACKAGE_SKIPPED || form == PACKAGE_RPM)
        (void)archive_read_support_filter_zstd(archive);
    if (form == PACKAGE_LZ4 || form == PACKAGE_SKIPPED)
        (void)archive_read_support_filter_lz4(archive);
    if (form == PACKAGE_RPM) {
        (void)archive_read_support_filter_rpm(archive);
        (void)archive_read_support_filter_gzip(archive);
        (void)archive_read_support_filter_bzip2(archive);
        (void)archive_read_support_filter_xz(archive);
        (void)archive_read_support_filter_lzma(archive);
    }
}

static void use_reader(struct archive *archive, package_reader *in)
{
    in->at = 0;
    (void)archive_read_set_read_callback(archive, on_read);
    (void)archive_read_set_seek_callback(archive, on_seek);
    (void)archive_read_set_skip_callback(archive, on_skip);
    (void)archive_read_set_callback_data(archive, in);
}

/* ---- entries in a stream ---- */

/* What is unpacked behind the entries: zeros, as a rule some thousand. For each byte of the file, and at
 * least. */
enum { BEHIND_RATIO = 16, BEHIND_LEAST = 16 << 20 };

/* Entries end before what they are in does. */
static void find_end(package_reader *in)
{
    int64_t most = in->size > INT64_MAX / BEHIND_RATIO ? INT64_MAX : in->size * BEHIND_RATIO;
    const void *bytes;
    la_int64_t offset;
    size_t size;

    most = most > BEHIND_LEAST ? most : BEHIND_LEAST;
    in->end = archive_filter_bytes(in->outer, -1);
    while (in->end <= in->zip && !in->beyond &&
           archive_read_data_block(in->outer, &bytes, &size, &offset) == ARCHIVE_OK) {
        in->beyond = size > (uint64_t)most;
        most -= in->beyond ? 0 : (int64_t)size;
        in->end = archive_filter_bytes(in->outer, -1);
    }
}

static int on_close_stream(struct archive *archive, void *user)
{
    package_reader *in = user;

    (void)archive;
    if (in->outer)
        find_end(in);
    (void)archive_read_free(in->outer); /* nothing is written by it */
    in->outer = NULL;
    return ARCHIVE_OK;
}

static int on_open_stream(struct archive *archive, void *user)
{
    package_reader *in = user;
    struct archive_entry *entry;
    int rc = ARCHIVE_FATAL;

    in->outer = archive_read_new();
    if (in->outer) {
        package_support_filters(in->outer, in->stream);
        (void)archive_read_support_format_raw(in->outer);
        use_reader(in->outer, in);
        rc = archive_read_open1(in->outer);
        if (rc >= ARCHIVE_WARN)
            rc = archive_read_next_header(in->outer, &entry);
        if (rc < ARCHIVE_WARN)
            archive_copy_error(archive, in->outer);
        else if (archive_filter_code(in->outer, 0) == ARCHIVE_FILTER_NONE)
            archive_set_error(archive, EILSEQ, "is not what it begins like");
        if (archive_filter_code(in->outer, 0) == ARCHIVE_FILTER_NONE)
            rc = ARCHIVE_FATAL;
    } else {
        archive_set_error(archive, ENOMEM, "out of memory");
    }
    return rc < ARCHIVE_WARN ? ARCHIVE_FATAL : ARCHIVE_OK;
}

static la_ssize_t on_read_stream(struct archive *archive, void *user, const void **bytes)
{
    package_reader *in = user;
    la_int64_t offset;
    size_t size = 0;
    int rc = archive_read_data_block(in->outer, bytes, &size, &offset);

    if (rc < ARCHIVE_WARN) {
        archive_copy_error(archive, in->outer);
        return ARCHIVE_FATAL;
    }
    if (rc == ARCHIVE_EOF)
        return 0;
    if (in->tar)
        package_tar_add(in->tar, *bytes, size);
    return (la_ssize_t)size;
}

static void use_stream(struct archive *archive, package_reader *in, package_form form)
{
    in->stream = form;
    (void)archive_read_set_open_callback(archive, on_open_stream);
    (void)archive_read_set_read_callback(archive, on_read_stream);
    (void)archive_read_set_close_callback(archive, on_close_stream);
    (void)archive_read_set_callback_data(archive, in);
}

/* ---- a package ---- */

/* What a file is was found out by its first bytes, and nothing else may be made of it: of two formats that a
 * library knows it chooses one. */
struct archive *package_open(package_reader *in, package_form form, package_form within, package_way how)
{
    struct archive *archive = archive_read_new();

    in->beyond = false;
    if (!archive)
        return NULL;
    if (package_is_stream(form) && (within == PACKAGE_TAR || within == PACKAGE_CPIO)) {
        (void)(within == PACKAGE_TAR ? archive_read_support_format_tar(archive)
                                     : archive_read_support_format_cpio(archive));
        use_stream(archive, in, form);
        return archive;
    }
    if (package_is_stream(form))
        package_support_filters(archive, form);
    switch (package_is_stream(form) ? within : form) {
    case PACKAGE_ZIP:
        (void)(how == BY_ENTRIES ? archive_read_support_format_zip_streamable(archive)
                                 : archive_read_support_format_zip_seekable(archive));
        break;
    case PACKAGE_SEVENZIP: (void)archive_read_support_format_7zip(archive); break;
    case PACKAGE_TAR: (void)archive_read_support_format_tar(archive); break;
    case PACKAGE_CPIO: (void)archive_read_support_format_cpio(archive); break;
    case PACKAGE_DEB: (void)archive_read_support_format_ar(archive); break;
    case PACKAGE_GZIP:
    case PACKAGE_BZIP2:
    case PACKAGE_XZ:
    case PACKAGE_LZMA:
    case PACKAGE_ZSTD:
    case PACKAGE_LZ4:
    case PACKAGE_SKIPPED:
    case PACKAGE_RPM:
    case PACKAGE_N_FORM:
    case PACKAGE_NONE: (void)archive_read_support_format_raw(archive); break; /* a single file */
    }
    use_reader(archive, in);
    return archive;
}
