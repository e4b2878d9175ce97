/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "image.h"

#include "image_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENTRIES_MOST = 1 << 20,
    IMAGES_MOST = 4096,
    LAYERS_MOST = 1 << 16, /* of all images */
    JSON_ALL = 32 << 20,
    HOPS_MOST = 8, /* symbolic links to each other */
    DEPTH_MOST = 64,
    COMPARED_MOST = 1024, /* images in both descriptions */
    NAME_MOST = 65536
};

/* An entry of the archive. */
typedef struct image_entry {
    char *name, *link; /* as tidied */
    uint32_t ordinal;
    bool layer, secret, again; /* again: one more of this name follows */
    bool known;                /* it begins like what is unpacked */
    char *json;                /* a description … */
    size_t n_json;
    bool left_out; /* … for which there was no room */
    bool wanted;   /* an index names it as one */
    uint32_t layer_at;
} image_entry;

typedef struct image_list {
    uint32_t first, count; /* of `layer` */
    bool oci;
} image_list;

struct package_image {
    image_entry *entry; /* by name, when all are there */
    size_t n_entry, cap_entry;
    uint32_t *order; /* where each is, by number in the archive */
    image_list *list;
    size_t n_list, cap_list;
    uint32_t *layer; /* entry of each layer of each image */
    size_t n_layer, cap_layer;
    char **missing;
    size_t n_missing, cap_missing;
    size_t json_bytes;
    image_tree *tree; /* names in layers */
    const char *fault;
    bool beyond, unsure, whole; /* whole: nothing of the images is missing */
};

package_image *image_new(uint64_t size)
{
    package_image *image = calloc(1, sizeof(*image));

    if (image)
        image->tree = image_tree_new(size);
    if (image && image->tree)
        return image;
    free(image);
    return NULL;
}

void image_free(package_image *image)
{
    if (!image)
        return;
    for (size_t i = 0; i < image->n_entry; i++) {
        free(image->entry[i].name);
        free(image->entry[i].link);
        free(image->entry[i].json);
    }
    for (size_t i = 0; i < image->n_missing; i++)
        free(image->missing[i]);
    free(image->entry);
    free(image->order);
    free(image->list);
    free(image->layer);
    free(image->missing);
    image_tree_free(image->tree);
    free(image);
}

void image_set_fault(package_image *image, const char *why)
{
    if (!image->fault)
        image->fault = why;
}

/* Room for one more. @return what `list` is now, NULL: there is none, which is kept in mind */
static void *grow(package_image *image, void *list, size_t count, size_t *cap, size_t size, size_t most)
{
    size_t more = *cap ? 2 * *cap : 16;
    void *grown;

    if (count < *cap)
        return list;
    grown = count < most ? reallocarray(list, more, size) : NULL;
    if (grown)
        *cap = more;
    else
        image->beyond = true;
    return grown;
}

/* ---- entries ---- */

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool is_digest(const char *name)
{
    size_t count = strspn(name, "0123456789abcdef");

    return count >= 32 && (name[count] == 0 || name[count] == '.' || name[count] == '/');
}

bool image_name_fits(const char *name)
{
    static const char *const NAMES[] = { "blobs/", "oci-layout", "index.json", "manifest.json",
                                         "repositories" };

    while (begins_with(name, "./"))
        name += 2;
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
        if (begins_with(name, NAMES[i]))
            return true;
    return is_digest(name) || (begins_with(name, "sha256:") && is_digest(name + strlen("sha256:")));
}

/* Where it points to, from the folder of its name. */
static char *target_of(const char *name, const char *link)
{
    const char *slash = strrchr(name, '/');
    size_t n_folder = slash && link[0] != '/' ? (size_t)(slash - name) + 1 : 0,
           size = n_folder + strlen(link) + 1;
    char *text = malloc(size), *tidy;

    if (!text)
        return NULL;
    memcpy(text, name, n_folder);
    memcpy(text + n_folder, link, size - n_folder);
    tidy = image_tidy(text);
    free(text);
    return tidy;
}

void image_add_entry(package_image *image, const char *name, const char *link, bool hard)
{
    image_entry *list =
        grow(image, image->entry, image->n_entry, &image->cap_entry, sizeof(*list), ENTRIES_MOST);
    char *tidy = list && strnlen(name, NAME_MOST) < NAME_MOST ? image_tidy(name) : NULL;

    if (list)
        image->entry = list;
    if (!tidy) {
        image->beyond = true;
        return;
    }
    list[image->n_entry] = (image_entry){ .name = tidy };
    if (link)
        list[image->n_entry].link = hard ? image_tidy(link) : target_of(tidy, link);
    image->beyond = image->beyond || (link && !list[image->n_entry].link);
    image->n_entry++;
}

static int by_name(const void *left, const void *right)
{
    const image_entry *one = left, *other = right;
    int order = strcmp(one->name, other->name);

    return order ? order : one->ordinal < other->ordinal ? -1 : one->ordinal > other->ordinal;
}

static const char DOCKER[] = "manifest.json", LAYOUT[] = "oci-layout", INDEX[] = "index.json";

/* The last one of that name: who unpacks the archive has that. */
static image_entry *find(const package_image *image, const char *name)
{
    size_t low = 0, high = image->n_entry;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(image->entry[middle].name, name) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && strcmp(image->entry[low - 1].name, name) == 0 ? &image->entry[low - 1] : NULL;
}

/* Below a link: whoever unpacks the archive first writes to where that points to. */
static bool is_below_link(const package_image *image, const char *name)
{
    char *part = strdup(name);
    const image_entry *folder = NULL;
    size_t depth = 0;

    for (char *slash = part ? strrchr(part, '/') : NULL; slash && !(folder && folder->link);
         slash = strrchr(part, '/')) {
        *slash = '\0';
        folder = ++depth > DEPTH_MOST ? NULL : find(image, part);
    }
    free(part);
    return !part || depth > DEPTH_MOST || (folder && folder->link);
}

static void judge_links(package_image *image)
{
    bool links = false;

    for (size_t i = 0; i < image->n_entry && !links; i++)
        links = image->entry[i].link != NULL;
    for (size_t i = 0; i < image->n_entry && links && !image->fault; i++)
        if (is_below_link(image, image->entry[i].name))
            image_set_fault(image, "has an entry below a link: what is in its images depends on the reader");
}

bool image_end_entries(package_image *image)
{
    bool docker, layout;

    image->order = calloc(image->n_entry + 1, sizeof(image->order[0]));
    if (!image->order) {
        image->beyond = true;
        return false;
    }
    /* Numbers ascend from 0, as entries came. */
    for (size_t i = 0; i < image->n_entry; i++)
        image->entry[i].ordinal = (uint32_t)i;
    if (image->n_entry > 0)
        qsort(image->entry, image->n_entry, sizeof(image->entry[0]), by_name);
    for (size_t i = 0; i < image->n_entry; i++)
        image->order[image->entry[i].ordinal] = (uint32_t)i;
    for (size_t i = 1; i < image->n_entry; i++)
        image->entry[i - 1].again = strcmp(image->entry[i - 1].name, image->entry[i].name) == 0;
    docker = find(image, DOCKER) != NULL;
    layout = find(image, LAYOUT) && find(image, INDEX);
    if (docker || layout)
        judge_links(image);
    return docker || layout;
}

static image_entry *follow(package_image *image, const char *name)
{
    image_entry *entry = find(image, name);

    for (int i = 0; entry && entry->link && i < HOPS_MOST; i++)
        entry = find(image, entry->link);
    if (entry && entry->link)
        return NULL;
    if (entry && entry > image->entry && entry[-1].again)
        image_set_fault(image, "has two entries of one name: what is in its images depends on the reader");
    return entry;
}

/* By its number in the archive. */
static image_entry *find_ordinal(const package_image *image, uint32_t ordinal)
{
    return image->order && ordinal < image->n_entry ? &image->entry[image->order[ordinal]] : NULL;
}

/* ---- descriptions ---- */

bool image_wants_json(const package_image *image, uint32_t ordinal)
{
    const image_entry *entry = find_ordinal(image, ordinal);

    return entry && !entry->link &&
           (strcmp(entry->name, DOCKER) == 0 || strcmp(entry->name, INDEX) == 0 ||
            begins_with(entry->name, "blobs/"));
}

bool image_is_json(const char *head, size_t n_head)
{
    size_t at = 0;

    while (at < n_head && head[at] != 0 && strchr(" \t\r\n", head[at]))
        at++;
    return at == n_head || head[at] == '{' || head[at] == '[';
}

/* Descriptions named like this are always kept; of others there may be many, which nobody names. */
void image_add_json(package_image *image, uint32_t ordinal, const char *bytes, size_t size)
{
    image_entry *entry = find_ordinal(image, ordinal);
    bool blob = entry && begins_with(entry->name, "blobs/");

    if (!entry || entry->json)
        return;
    entry->left_out = size > IMAGE_JSON_MOST || (blob && size > JSON_ALL - image->json_bytes);
    entry->json = entry->left_out ? NULL : malloc(size + 1);
    if (!entry->json) {
        entry->left_out = true;
        return;
    }
    memcpy(entry->json, bytes, size);
    entry->n_json = size;
    image->json_bytes += blob ? size : 0;
}

static void add_missing(package_image *image, const char *name)
{
    char **list =
        grow(image, image->missing, image->n_missing, &image->cap_missing, sizeof(*list), ENTRIES_MOST);

    image->whole = false;
    if (!list)
        return;
    image->missing = list;
    list[image->n_missing] = strdup(name);
    image->n_missing += list[image->n_missing] != NULL;
}

/* "sha256:ab" is blobs/sha256/ab. */
static bool path_of(const char *digest, char out[512])
{
    const char *colon = strchr(digest, ':');
    int size = colon ? snprintf(out, 512, "blobs/%.*s/%s", (int)(colon - digest), digest, colon + 1) : -1;

    return colon && colon - digest < 128 && size > 0 && size < 512 && !strchr(colon + 1, '/') &&
           colon[1] != '.' && memchr(digest, '/', (size_t)(colon - digest)) == NULL && digest[0] != '.';
}

void image_begin(package_image *image, bool oci)
{
    image_list *list = grow(image, image->list, image->n_list, &image->cap_list, sizeof(*list), IMAGES_MOST);

    if (!list)
        return;
    image->list = list;
    list[image->n_list++] = (image_list){ .first = (uint32_t)image->n_layer, .oci = oci };
}

void image_add_layer(package_image *image, const char *name, bool digest, bool secret)
{
    uint32_t *list;
    char path[512], *tidy;
    image_entry *entry;

    if (image->beyond)
        return;
    tidy = digest ? (path_of(name, path) ? strdup(path) : NULL) : image_tidy(name);
    entry = tidy ? follow(image, tidy) : NULL;
    if (!entry)
        add_missing(image, tidy ? tidy : name);
    free(tidy);
    list = entry ? grow(image, image->layer, image->n_layer, &image->cap_layer, sizeof(*list), LAYERS_MOST)
                 : NULL;
    if (!list)
        return;
    image->layer = list;
    list[image->n_layer++] = (uint32_t)(entry - image->entry);
    image->list[image->n_list - 1].count++;
    entry->layer = true;
    entry->secret = entry->secret || secret;
}

void image_add_description(package_image *image, const char *digest)
{
    char path[512];
    image_entry *entry = path_of(digest, path) ? follow(image, path) : NULL;

    if (!entry || (!entry->left_out && !entry->json))
        add_missing(image, path_of(digest, path) ? path : digest);
    else if (entry->left_out)
        image->beyond = true;
    else
        entry->wanted = true;
}

/* Indexes name others. Each is read once, in the order of names; passes end when one has found none. */
static void read_oci(package_image *image)
{
    image_entry *index = find(image, INDEX);
    bool *done = calloc(image->n_entry + 1, sizeof(*done)), more = true;

    if (!done)
        image->beyond = true;
    if (done && (!index->json || !image_take_oci(image, index->json, index->n_json)))
        image_set_fault(image, "has an index.json that cannot be read");
    while (done && more && !image->beyond) {
        more = false;
        for (size_t i = 0; i < image->n_entry; i++) {
            const image_entry *entry = &image->entry[i];

            if (!entry->wanted || done[i])
                continue;
            done[i] = more = true;
            if (!image_take_oci(image, entry->json, entry->n_json))
                add_missing(image, entry->name);
        }
    }
    free(done);
}

static bool same_layers(const package_image *image, const image_list *one, const image_list *other)
{
    return one->count == other->count &&
           (one->count == 0 || memcmp(image->layer + one->first, image->layer + other->first,
                                      one->count * sizeof(image->layer[0])) == 0);
}

/* Who loads an archive by manifest.json should get what others get by index.json. */
static void compare(package_image *image)
{
    for (size_t i = 0; i < image->n_list; i++) {
        bool found = image->list[i].oci;

        for (size_t k = 0; k < image->n_list && !found; k++)
            found = image->list[k].oci && same_layers(image, &image->list[i], &image->list[k]);
        if (!found)
            image_set_fault(image,
                            "its manifest.json and index.json say different things: what is in its images "
                            "depends on the reader");
    }
}

bool image_read_json(package_image *image)
{
    const image_entry *docker, *layout;
    bool broken = false;

    image->whole = true;
    docker = follow(image, DOCKER);
    layout = find(image, LAYOUT) ? follow(image, INDEX) : NULL;
    image->beyond = image->beyond || (docker && docker->left_out);
    if (docker && docker->json && !image_take_docker(image, docker->json, docker->n_json)) {
        /* Other archives have a file of that name, of which nothing is wanted. */
        broken = layout || image->n_list > 0 || memmem(docker->json, docker->n_json, "\"Layers\"", 8);
        docker = NULL;
    }
    if (layout)
        read_oci(image);
    if (docker && layout && image->whole && image->n_list <= COMPARED_MOST)
        compare(image);
    else if (docker && layout && image->whole)
        image->beyond = true;
    for (size_t i = 0; i < image->n_entry; i++) {
        free(image->entry[i].json);
        image->entry[i].json = NULL;
    }
    if (image->n_list == 0 && !layout && !broken) {
        image->fault = NULL; /* of no image */
        image->beyond = false;
    }
    if (broken)
        image_set_fault(image, "has a manifest.json that cannot be read");
    return image->n_list > 0 || image->fault || image->beyond;
}

/* ---- layers ---- */

bool image_wants_layer(const package_image *image, uint32_t ordinal)
{
    const image_entry *entry = find_ordinal(image, ordinal);

    return entry && entry->layer;
}

void image_add_head(package_image *image, uint32_t ordinal, bool known)
{
    image_entry *entry = find_ordinal(image, ordinal);

    if (entry)
        entry->known = known;
}

/* ---- digests ---- */

static const char BLOBS[] = "blobs/sha256/";

bool image_wants_digest(const package_image *image, uint32_t ordinal)
{
    const image_entry *entry = find_ordinal(image, ordinal);

    return entry && !entry->link && begins_with(entry->name, BLOBS);
}

void image_add_digest(package_image *image, uint32_t ordinal, const uint8_t digest[IMAGE_DIGEST])
{
    const image_entry *entry = find_ordinal(image, ordinal);
    char text[2 * IMAGE_DIGEST + 1] = "";

    for (size_t i = 0; i < IMAGE_DIGEST; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    if (entry && strcmp(entry->name + strlen(BLOBS), text) != 0)
        image_set_fault(
            image, "has a blob that is not the one of its name: what is in its images depends on the reader");
}

void image_begin_layer(package_image *image, uint32_t ordinal)
{
    image_entry *entry = find_ordinal(image, ordinal);

    if (entry)
        entry->layer_at = image_tree_begin(image->tree);
}

void image_add_path(package_image *image, uint32_t ordinal, image_kind kind, const char *name,
                    const char *link)
{
    image_tree_add(image->tree, ordinal, kind, name, link);
}

void image_resolve(package_image *image)
{
    for (size_t i = 0; i < image->n_list && !image->beyond; i++) {
        const image_list *list = &image->list[i];

        image_tree_open(image->tree);
        for (uint32_t k = 0; k < list->count; k++)
            image_tree_tell(image->tree, image->entry[image->layer[list->first + k]].layer_at, k + 1);
        for (uint32_t k = list->count; k > 0; k--)
            image_tree_look(image->tree, image->entry[image->layer[list->first + k - 1]].layer_at, k);
    }
    image->beyond = image->beyond || image_tree_beyond(image->tree);
    image->unsure = image_tree_unsure(image->tree);
    if (image_tree_odd(image->tree))
        image_set_fault(
            image, "has a layer that deletes what has no name: what is in its images depends on the reader");
}

/* ---- what came of it ---- */

/* May anything be said to be in no image? What is missing may be there under another name, may stand between
 * the layers that are counted, and what cannot be read may name it. */
static bool is_sure(const package_image *image)
{
    return !image->beyond && !image->fault && image->whole;
}

cli_fate image_fate(const package_image *image, uint32_t ordinal)
{
    const image_entry *entry = find_ordinal(image, ordinal);

    return (entry && entry->layer) || !is_sure(image) ? CLI_FATE_CONTENT : CLI_FATE_UNUSED;
}

bool image_is_secret(const package_image *image, uint32_t ordinal)
{
    const image_entry *entry = find_ordinal(image, ordinal);

    return entry && entry->secret && !entry->known;
}

image_mark *image_marks(const package_image *image, uint32_t ordinal, size_t *count)
{
    const image_entry *entry = find_ordinal(image, ordinal);

    *count = 0;
    /* Of a hard link through a symbolic one nothing follows for what the archive has beside its layers. */
    return entry && entry->layer && entry->layer_at && is_sure(image) && !image->unsure
               ? image_tree_marks(image->tree, entry->layer_at, count)
               : NULL;
}

const char *image_fault(const package_image *image, bool *limit)
{
    *limit = image->beyond;
    return image->beyond ? "has more layers and names in them than are compared" : image->fault;
}

const char *image_missing(const package_image *image, size_t which)
{
    return which < image->n_missing ? image->missing[which] : NULL;
}
