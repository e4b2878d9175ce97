/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An archive of images as cuvet-package looks at it, without libarchive: the input is lines, each ended by
 * a NUL, whose first letter says what it is. M, I: manifest.json, index.json; B, S, H, L: an entry, of a
 * description or a symbolic or hard link behind a line feed, or a layer; f, d, h, s: a name in the last layer
 * before it, of a file, a folder, a hard link or a symbolic one. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "package/image_tree.h"

enum { LINES = 512 };

typedef struct line {
    char *name, *rest; /* rest: behind the line feed, or empty */
    size_t n_rest;
    char what;
    uint32_t ordinal;
} line;

typedef struct script {
    line line[LINES];
    size_t count;
    uint32_t n_entry;
} script;

static bool is_entry(char what)
{
    return what != 0 && strchr("MIBSHL", what) != NULL;
}

static size_t read_lines(script *all, char *text, size_t size)
{
    for (size_t at = 0; at < size && all->count < LINES;) {
        size_t len = strnlen(text + at, size - at);
        line *one = &all->line[all->count];
        char *feed;

        if (len > 1 && strchr("MIBSHLfdhs", text[at])) {
            *one = (line){ .what = text[at], .name = text + at + 1 };
            feed = memchr(one->name, '\n', len - 1);
            one->rest = strchr("MI", one->what) ? one->name : feed ? feed + 1 : text + at + len;
            one->n_rest = (size_t)(text + at + len - one->rest);
            if (feed && !strchr("MI", one->what))
                *feed = '\0';
            all->count++;
        }
        at += len + 1;
    }
    return all->count;
}

static const char *name_of(const line *one)
{
    return one->what == 'M' ? "manifest.json" : one->what == 'I' ? "index.json" : one->name;
}

static void add_entries(script *all, package_image *image)
{
    for (size_t i = 0; i < all->count; i++) {
        line *one = &all->line[i];

        if (!is_entry(one->what))
            continue;
        one->ordinal = all->n_entry++;
        image_add_entry(image, name_of(one), one->what == 'S' || one->what == 'H' ? one->rest : NULL,
                        one->what == 'H');
    }
    image_add_entry(image, "oci-layout", NULL, false);
}

static void add_descriptions(const script *all, package_image *image)
{
    for (size_t i = 0; i < all->count; i++) {
        const line *one = &all->line[i];

        if (strchr("MIB", one->what) && image_wants_json(image, one->ordinal) &&
            image_is_json(one->rest, one->n_rest))
            image_add_json(image, one->ordinal, one->rest, one->n_rest);
    }
}

static void add_layers(const script *all, package_image *image)
{
    bool wanted = false;
    uint32_t header = 0;

    for (size_t i = 0; i < all->count; i++) {
        const line *one = &all->line[i];

        if (one->what == 'L') {
            wanted = image_wants_layer(image, one->ordinal);
            header = 0;
            if (wanted)
                image_begin_layer(image, one->ordinal);
        } else if (!is_entry(one->what) && wanted) {
            image_add_path(image, header++,
                           one->what == 'f'   ? IMAGE_FILE
                           : one->what == 'd' ? IMAGE_FOLDER
                           : one->what == 's' ? IMAGE_SYMLINK
                                              : IMAGE_LINK,
                           one->name, one->what == 'h' ? one->rest : NULL);
        }
    }
}

static void check_marks(fz_state *fuzz, const package_image *image, uint32_t ordinal)
{
    size_t count;
    image_mark *mark = image_marks(image, ordinal, &count);

    FZ_CHECK(count <= LINES && (mark || count == 0), "a mark is of an entry");
    for (size_t i = 0; i < count; i++) {
        FZ_CHECK(i == 0 || mark[i].ordinal > mark[i - 1].ordinal, "marks ascend");
        FZ_CHECK(mark[i].fate > CLI_FATE_CONTENT && mark[i].fate < CLI_N_FATE, "what is content has no mark");
        FZ_CHECK((mark[i].fate == CLI_FATE_UNUSED) == (mark[i].layer == 0),
                 "a layer did it, if anything did");
        fz_note(fuzz, mark[i].ordinal);
        fz_note(fuzz, (uint64_t)mark[i].fate << 32 | mark[i].layer);
    }
    free(mark);
}

static void check_tidy(const char *name)
{
    char *once = image_tidy(name), *again = once ? image_tidy(once) : NULL;

    FZ_CHECK(once && again && strcmp(once, again) == 0, "a tidy name stays");
    FZ_CHECK(*once != '/' && !strstr(once, "//") && strcmp(once, "..") != 0 && strncmp(once, "../", 3) != 0,
             "a tidy name leaves nothing");
    free(once);
    free(again);
}

static void run_image(fz_state *fuzz)
{
    static script all;
    char *text = malloc(fuzz->in->len + 1);
    package_image *image = image_new(UINT32_MAX);
    bool limit = false, found;

    FZ_CHECK(text && image, "there is memory");
    memcpy(text, fuzz->in->bytes, fuzz->in->len);
    text[fuzz->in->len] = '\0';
    all = (script){ .count = 0 };
    (void)read_lines(&all, text, fuzz->in->len);
    for (size_t i = 0; i < all.count; i++)
        check_tidy(name_of(&all.line[i]));
    add_entries(&all, image);
    found = image_end_entries(image);
    if (found) {
        add_descriptions(&all, image);
        found = image_read_json(image);
    }
    if (found) {
        add_layers(&all, image);
        image_resolve(image);
        for (uint32_t i = 0; i <= all.n_entry; i++) {
            check_marks(fuzz, image, i);
            fz_note(fuzz, image_fate(image, i) + 8 * (uint64_t)image_is_secret(image, i));
        }
        fz_note(fuzz, image_fault(image, &limit) != NULL);
    }
    for (size_t i = 0; image_missing(image, i); i++)
        fz_note(fuzz, i);
    fz_note(fuzz, found);
    image_free(image);
    free(text);
}

CV_FUZZ_TARGET(image)
{
    return fz_twice(data, size, FZ_OFF, run_image);
}
