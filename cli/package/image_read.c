/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "image_read.h"

#include "../whole.h"

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
        if (rc == ARCHIVE_EOF || rc < ARCHIVE_WARN)
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
    const char *link = archive_entry_filetype(entry) == AE_IFLNK ? archive_entry_symlink(entry) : NULL;

    (void)archive;
    image_add_entry(look->image, name_of(entry), link);
    return true;
}

/* ---- descriptions ---- */

static bool add_json(looking *look, struct archive *archive, struct archive_entry *entry)
{
    la_int64_t size = archive_entry_size(entry);
    char first[64], *bytes;
    la_ssize_t got;

    if (!image_wants_json(look->image, look->ordinal) || size < 2)
        return true;
    got = archive_read_data(archive, first, size < (la_int64_t)sizeof(first) ? (size_t)size : sizeof(first));
    if (got <= 0 || !image_is_json(first, (size_t)got))
        return true;
    bytes = size <= IMAGE_JSON_MOST ? malloc((size_t)size) : NULL;
    if (bytes) {
        memcpy(bytes, first, (size_t)got);
        size = got + (size > got ? archive_read_data(archive, bytes + got, (size_t)(size - got)) : 0);
    }
    if (size >= got)
        image_add_json(look->image, look->ordinal, bytes, (size_t)size);
    free(bytes);
    return true;
}

/* ---- layers ---- */

/* The bytes of an entry, as they come. */
typedef struct inner {
    struct archive *outer;
    const void *first; /* that were read to know what it is */
    size_t n_first;
    la_int64_t at;
} inner;

static la_ssize_t on_inner(struct archive *archive, void *user, const void **bytes)
{
    inner *in = user;
    la_int64_t offset;
    size_t size = in->n_first;

    (void)archive;
    *bytes = in->first;
    in->n_first = 0;
    if (size == 0 && archive_read_data_block(in->outer, bytes, &size, &offset) == ARCHIVE_OK &&
        offset != in->at)
        return 0; /* a hole: no layer has one */
    in->at += (la_int64_t)size;
    return (la_ssize_t)size;
}

static bool add_path(looking *look, struct archive *archive, struct archive_entry *entry)
{
    const char *link = archive_entry_hardlink(entry);

    (void)archive;
    image_add_path(look->image, look->ordinal,
                   link               ? IMAGE_LINK
                   : is_folder(entry) ? IMAGE_FOLDER
                                      : IMAGE_FILE,
                   name_of(entry), link);
    return true;
}

static bool add_layer(looking *look, struct archive *outer, struct archive_entry *entry)
{
    looking within = { .image = look->image };
    inner in = { .outer = outer };
    struct archive *archive;
    package_form form;
    la_int64_t offset;

    (void)entry;
    if (!image_wants_layer(look->image, look->ordinal) ||
        archive_read_data_block(outer, &in.first, &in.n_first, &offset) != ARCHIVE_OK || offset != 0)
        return true;
    form = package_form_of(in.first, in.n_first < PACKAGE_HEAD ? in.n_first : PACKAGE_HEAD);
    archive =
        form == PACKAGE_TAR || (package_is_stream(form) && form != PACKAGE_RPM) ? archive_read_new() : NULL;
    if (!archive)
        return true;
    if (form != PACKAGE_TAR)
        package_support_filters(archive, form);
    (void)archive_read_support_format_tar(archive);
    image_begin_layer(look->image, look->ordinal);
    if (archive_read_open(archive, &in, NULL, on_inner, NULL) >= ARCHIVE_WARN)
        each_entry(archive, &within, add_path);
    (void)archive_read_free(archive); /* nothing is written by it */
    return true;
}

package_image *package_read_image(package_reader *in, package_form form, package_form within)
{
    looking look = { .short_look = package_is_stream(form) };

    look_through(in, form, within, &look, look_at_name);
    look.image = look.described && !look.misfit ? image_new() : NULL;
    if (!look.image)
        return NULL;
    look_through(in, form, within, &look, add_name);
    if (image_end_entries(look.image)) {
        look_through(in, form, within, &look, add_json);
        if (image_read_json(look.image)) {
            look_through(in, form, within, &look, add_layer);
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
