/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "image_read.h"

#include "../whole.h"

#include <nettle/sha2.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- an archive, entry by entry ---- */

typedef struct looking {
    package_image *image;
    uint32_t ordinal;
    bool short_look, misfit; /* only as long as names fit; one did not */
    bool described;
} looking;

/* @return false: that is enough */
typedef bool look_fn(looking *look, struct archive *archive, struct archive_entry *entry);

static const char *name_of(struct archive_entry *entry)
{
    const char *name = archive_entry_pathname(entry);

    if (!name)
        name = archive_entry_pathname_utf8(entry);
    return name ? name : "";
}

enum { SKIPPED_MOST = 1000 };

/* Numbers are those of main.c: all headers that can be read. */
static void each_entry(struct archive *archive, looking *look, look_fn *fn)
{
    struct archive_entry *entry;
    int rc = ARCHIVE_OK, skipped = 0;

    look->ordinal = 0;
    while (rc != ARCHIVE_EOF && (rc >= ARCHIVE_WARN || (rc == ARCHIVE_RETRY && skipped++ < SKIPPED_MOST))) {
        rc = archive_read_next_header(archive, &entry);
        if (rc == ARCHIVE_EOF || rc < ARCHIVE_WARN || rc == ARCHIVE_RETRY)
            continue;
        if (!fn(look, archive, entry))
            return;
        look->ordinal++;
    }
}

static void look_through(package_reader *in, package_form form, package_form within, looking *look,
                         look_fn *fn)
{
    struct archive *archive = package_open(in, form, within, AS_IT_SAYS);

    if (archive && archive_read_open1(archive) >= ARCHIVE_WARN)
        each_entry(archive, look, fn);
    (void)archive_read_free(archive); /* nothing is written by it */
}

/* ---- names ---- */

static bool is_folder(struct archive_entry *entry)
{
    return archive_entry_filetype(entry) == AE_IFDIR && !archive_entry_hardlink(entry);
}

/* What is compressed is not unpacked for its names, where the first of them is of no image. */
static bool look_at_name(looking *look, struct archive *archive, struct archive_entry *entry)
{
    const char *name = name_of(entry);

    (void)archive;
    while (strncmp(name, "./", 2) == 0)
        name += 2;
    look->misfit = look->short_look && !is_folder(entry) && !image_name_fits(name);
    look->described =
        look->described || strcmp(name, "manifest.json") == 0 || strcmp(name, "oci-layout") == 0;
    return !look->misfit;
}

static bool add_name(looking *look, struct archive *archive, struct archive_entry *entry)
{
    const char *hard = archive_entry_hardlink(entry);

    (void)archive;
    if (hard && !(archive_entry_size_is_set(entry) && archive_entry_size(entry) > 0))
        image_add_entry(look->image, name_of(entry), hard, true);
    else
        image_add_entry(look->image, name_of(entry),
                        archive_entry_filetype(entry) == AE_IFLNK ? archive_entry_symlink(entry) : NULL,
                        false);
    return true;
}

/* ---- descriptions ---- */

enum { JSON_FIRST = 4096 };

static bool add_json(looking *look, struct archive *archive, struct archive_entry *entry)
{
    la_int64_t size = archive_entry_size(entry), got = 0;
    char *bytes;

    if (!image_wants_json(look->image, look->ordinal) || size <= 0)
        return true;
    bytes = malloc(JSON_FIRST);
    got = bytes ? archive_read_data(archive, bytes, size < JSON_FIRST ? (size_t)size : JSON_FIRST) : 0;
    if (got > 0 && image_is_json(bytes, (size_t)got) && size > JSON_FIRST && size <= IMAGE_JSON_MOST) {
        char *all = realloc(bytes, (size_t)size);
        la_ssize_t more = all ? archive_read_data(archive, all + got, (size_t)(size - got)) : 0;

        bytes = all ? all : bytes;
        got += more > 0 ? more : 0;
    }
    if (got > 0 && image_is_json(bytes, (size_t)got))
        image_add_json(look->image, look->ordinal, bytes, got == size ? (size_t)size : SIZE_MAX);
    free(bytes);
    return true;
}

/* ---- layers ---- */

/* The bytes of an entry, holes as zeros. */
typedef struct inner {
    struct archive *outer;
    size_t n_first; /* bytes that were read to know what it is */
    struct sha256_ctx sha;
    uint8_t bytes[1 << 16];
} inner;

static la_ssize_t next_bytes(inner *in, uint8_t *out, size_t size)
{
    la_ssize_t got = archive_read_data(in->outer, out, size);

    if (got > 0)
        sha256_update(&in->sha, (size_t)got, out);
    return got;
}

static la_ssize_t on_inner(struct archive *archive, void *user, const void **bytes)
{
    inner *in = user;
    size_t n_first = in->n_first;
    la_ssize_t got;

    (void)archive;
    *bytes = in->bytes;
    in->n_first = 0;
    got = n_first > 0 ? (la_ssize_t)n_first : next_bytes(in, in->bytes, sizeof(in->bytes));
    return got > 0 ? got : 0; /* who unpacks the layer says what is wrong with it */
}

static bool add_path(looking *look, struct archive *archive, struct archive_entry *entry)
{
    const char *link = archive_entry_hardlink(entry);

    (void)archive;
    image_add_path(look->image, look->ordinal,
                   link                                        ? IMAGE_LINK
                   : is_folder(entry)                          ? IMAGE_FOLDER
                   : archive_entry_filetype(entry) == AE_IFLNK ? IMAGE_SYMLINK
                                                               : IMAGE_FILE,
                   name_of(entry), link);
    return true;
}

static void add_layer(looking *look, inner *in)
{
    looking within = { .image = look->image };
    package_form form = package_form_of(in->bytes, in->n_first);
    struct archive *archive =
        form == PACKAGE_TAR || (package_is_stream(form) && form != PACKAGE_RPM) ? archive_read_new() : NULL;

    if (!archive)
        return;
    if (form != PACKAGE_TAR)
        package_support_filters(archive, form);
    (void)archive_read_support_format_tar(archive);
    image_begin_layer(look->image, look->ordinal);
    if (archive_read_open(archive, in, NULL, on_inner, NULL) >= ARCHIVE_WARN)
        each_entry(archive, &within, add_path);
    (void)archive_read_free(archive); /* nothing is written by it */
}

static bool add_blob(looking *look, struct archive *outer, struct archive_entry *entry)
{
    static inner in;
    bool named = image_wants_digest(look->image, look->ordinal);
    uint8_t digest[IMAGE_DIGEST];
    la_ssize_t got = 1;

    (void)entry;
    if (!named && !image_wants_layer(look->image, look->ordinal))
        return true;
    in.outer = outer;
    in.n_first = 0;
    sha256_init(&in.sha);
    while (got > 0 && in.n_first < PACKAGE_HEAD) {
        got = next_bytes(&in, in.bytes + in.n_first, PACKAGE_HEAD - in.n_first);
        in.n_first += got > 0 ? (size_t)got : 0;
    }
    image_add_head(look->image, look->ordinal, package_form_of(in.bytes, in.n_first) != PACKAGE_NONE);
    if (image_wants_layer(look->image, look->ordinal))
        add_layer(look, &in);
    while (named && next_bytes(&in, in.bytes, sizeof(in.bytes)) > 0)
        continue;
    sha256_digest(&in.sha, sizeof(digest), digest);
    if (named)
        image_add_digest(look->image, look->ordinal, digest);
    return true;
}

package_image *package_read_image(package_reader *in, package_form form, package_form within)
{
    looking look = { .short_look = package_is_stream(form) };

    look_through(in, form, within, &look, look_at_name);
    look.image = look.described && !look.misfit ? image_new((uint64_t)in->size) : NULL;
    if (!look.image)
        return NULL;
    look_through(in, form, within, &look, add_name);
    if (image_end_entries(look.image)) {
        look_through(in, form, within, &look, add_json);
        if (image_read_json(look.image)) {
            look_through(in, form, within, &look, add_blob);
            image_resolve(look.image);
            return look.image;
        }
    }
    image_free(look.image);
    return NULL;
}

/* ---- notes ---- */

void package_read_notes(package_notes *notes)
{
    struct stat st;
    size_t size;

    if (fstat(PACKAGE_NOTES, &st) != 0 || st.st_size <= 0 || st.st_size > (off_t)PACKAGE_NOTE_MOST)
        return;
    notes->count = (size_t)st.st_size / sizeof(*notes->mark);
    size = notes->count * sizeof(*notes->mark);
    notes->mark = calloc(notes->count + 1, sizeof(*notes->mark));
    if (!notes->mark || !cli_read_at(PACKAGE_NOTES, notes->mark, size, 0))
        notes->count = 0;
}

const image_mark *package_note_of(package_notes *notes, uint32_t ordinal)
{
    while (notes->at < notes->count && notes->mark[notes->at].ordinal < ordinal)
        notes->at++;
    if (notes->at == notes->count || notes->mark[notes->at].ordinal != ordinal)
        return NULL;
    return notes->mark[notes->at].fate < CLI_N_FATE ? &notes->mark[notes->at] : NULL;
}
