/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "image_tree.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODES_MOST = 1 << 21,
    LAYERS_MOST = 1 << 16,
    DEPTH_MOST = 4096 /* folders in each other: paths of a system have 4,096 bytes */
};
/* What a small archive may ask for: its layers may be packed a thousand to one. Larger ones may have a name
 * for some of their bytes. */
enum { NODES_LEAST = 1 << 17, NODE_BYTES = 4 };
static const size_t TEXT_MOST = (size_t)96 << 20;
/* Steps from a name to its folder, for all layers of all images: an image may name one layer many times. */
static const uint64_t WORK_MOST = (uint64_t)64 << 20, WORK_LEAST = (uint64_t)8 << 20;
enum { WORK_OF_BYTE = 32 };
/* Of looking for a part of a path in its folder. */
enum { ENTER_WORK = 16 };

/* What layers above do to a name. */
enum { GONE = 1, EMPTIED = 2, FOLDER = 4, DELETES = 8 };

/* A name in a folder. */
typedef struct node {
    struct node *up;
    uint32_t n_name;
    uint32_t image;                     /* whose marks these are: */
    uint32_t by, emptied_by, folder_by; /* layers */
    uint32_t layer, file;       /* the last file of this name in the layer that is looked at, from 1 */
    uint32_t kept;              /* image: a hard link above stands for what is next of this name */
    uint32_t linked, linked_by; /* image, and the lowest layer of it where this is a symbolic link */
    uint8_t does;               /* GONE: nothing of this name, or in it; EMPTIED: nothing in it */
    char name[];
} node;

typedef enum state { UNSEEN, LIVE, DEAD } state;

typedef struct file {
    node *at, *to; /* to: of a hard link */
    uint32_t ordinal, layer;
    uint8_t kind, what, state, fate; /* what: see below */
} file;

enum { PLAIN, WHITEOUT, OPAQUE, ASIDE };

struct image_tree {
    void *set; /* of nodes */
    node *root;
    size_t n_node, text;
    file *file;
    size_t n_file, cap_file;
    uint32_t *layer; /* first file of each */
    size_t n_layer, cap_layer;
    uint32_t image;
    size_t most;              /* nodes, and files */
    uint64_t work, work_most; /* steps */
    char *last;               /* the path that was entered last */
    node *last_at;            /* what it is */
    bool beyond, unsure, odd;
    bool links; /* the present image has a symbolic link */
};

/* ---- names ---- */

char *image_tidy(const char *name)
{
    size_t size = strlen(name), to = 0;
    char *out = calloc(1, size + 1);

    if (!out)
        return NULL;
    for (size_t at = 0; at < size;) {
        size_t n_part = strcspn(name + at, "/");

        if (n_part == 2 && memcmp(name + at, "..", 2) == 0) {
            while (to > 0 && out[--to] != '/')
                continue;
        } else if (n_part > 0 && !(n_part == 1 && name[at] == '.')) {
            if (to > 0)
                out[to++] = '/';
            memcpy(out + to, name + at, n_part);
            to += n_part;
        }
        at += n_part + (at + n_part < size);
    }
    out[to] = '\0';
    return out;
}

/* ---- the tree ---- */

static int by_place(const void *left, const void *right)
{
    const node *one = left, *other = right;

    if (one->up != other->up)
        return (uintptr_t)one->up < (uintptr_t)other->up ? -1 : 1;
    if (one->n_name != other->n_name)
        return one->n_name < other->n_name ? -1 : 1;
    return memcmp(one->name, other->name, one->n_name);
}

static node *new_node(node *up, const char *name, size_t n_name)
{
    node *one = calloc(1, sizeof(*one) + n_name + 1);

    if (!one)
        return NULL;
    one->up = up;
    one->n_name = (uint32_t)n_name;
    memcpy(one->name, name, n_name);
    return one;
}

static void spend(image_tree *tree, uint64_t steps)
{
    tree->work += steps;
    tree->beyond = tree->beyond || tree->work > tree->work_most;
}

/* The name in the folder, made if it is not there. */
static node *enter(image_tree *tree, node *up, const char *name, size_t n_name)
{
    node *made = new_node(up, name, n_name);
    void *found = made ? tsearch(made, &tree->set, by_place) : NULL;
    node *one;

    if (!found) {
        free(made);
        return NULL;
    }
    memcpy(&one, found, sizeof(one)); /* the first thing in what tsearch() returns */
    if (one != made)
        free(made);
    else if (++tree->n_node > tree->most || (tree->text += n_name) > TEXT_MOST)
        tree->beyond = true;
    return one;
}

/* Archives list what is in a folder together: the parts that the path has in common with the last one are not
 * looked for again. */
static node *common_folder(const image_tree *tree, const char *tidy, const char **rest)
{
    const char *last = tree->last;
    size_t same = 0;
    node *at = tree->last_at;

    *rest = tidy;
    if (!last)
        return tree->root;
    for (size_t i = 0; tidy[i] && tidy[i] == last[i]; i++)
        if (tidy[i] == '/')
            same = i + 1;
    for (last += same; at && *last; at = at->up) {
        last += strcspn(last, "/");
        last += *last == '/';
    }
    *rest = tidy + same;
    return at;
}

/* @return NULL: too deep, or no memory */
static node *enter_path(image_tree *tree, const char *tidy)
{
    const char *rest;
    node *at = common_folder(tree, tidy, &rest);
    size_t depth = 0;

    for (const char *slash = tidy; slash < rest; slash++)
        depth += *slash == '/';
    while (at && *rest) {
        size_t n_part = strcspn(rest, "/");

        spend(tree, ENTER_WORK);
        at = ++depth > DEPTH_MOST || tree->beyond ? NULL : enter(tree, at, rest, n_part);
        rest += n_part + (rest[n_part] == '/');
    }
    free(tree->last);
    tree->last = at ? strdup(tidy) : NULL;
    tree->last_at = at;
    if (!at)
        tree->beyond = true;
    return at;
}

image_tree *image_tree_new(uint64_t size)
{
    uint64_t nodes = NODES_LEAST + size / NODE_BYTES;
    image_tree *tree = calloc(1, sizeof(*tree));

    if (!tree)
        return NULL;
    tree->root = new_node(NULL, "", 0);
    tree->most = nodes < NODES_MOST ? (size_t)nodes : NODES_MOST;
    tree->work_most = WORK_MOST;
    if (size < (WORK_MOST - WORK_LEAST) / WORK_OF_BYTE)
        tree->work_most = WORK_LEAST + size * WORK_OF_BYTE;
    if (tree->root)
        return tree;
    free(tree);
    return NULL;
}

void image_tree_free(image_tree *tree)
{
    if (!tree)
        return;
    tdestroy(tree->set, free);
    free(tree->root);
    free(tree->last);
    free(tree->file);
    free(tree->layer);
    free(tree);
}

/* ---- layers ---- */

static bool grow(image_tree *tree, void **list, size_t count, size_t *cap, size_t size, size_t most)
{
    size_t more = *cap ? 2 * *cap : 64;
    void *grown;

    if (count < *cap)
        return true;
    grown = count < most ? reallocarray(*list, more, size) : NULL;
    if (!grown) {
        tree->beyond = true;
        return false;
    }
    *list = grown;
    *cap = more;
    return true;
}

uint32_t image_tree_begin(image_tree *tree)
{
    void *list = tree->layer;

    if (!grow(tree, &list, tree->n_layer, &tree->cap_layer, sizeof(tree->layer[0]), LAYERS_MOST))
        return 0;
    tree->layer = list;
    tree->layer[tree->n_layer++] = (uint32_t)tree->n_file;
    return (uint32_t)tree->n_layer;
}

/* ".wh.name" deletes name, ".wh..wh..opq" what the folder had, whatever kind of entry they are; other names
 * of that kind are of no file. A folder of such a name is one: docker has taken hard links to what is in
 * ".wh..wh.plnk". @return what it is; tidy becomes the name that is meant */
static uint8_t take_whiteout(image_tree *tree, char *tidy)
{
    static const char MARK[] = ".wh.", ALL[] = ".wh..wh..opq", OTHER[] = ".wh..wh.";
    char *slash = strrchr(tidy, '/'), *last = slash ? slash + 1 : tidy;

    if (strncmp(last, MARK, strlen(MARK)) != 0)
        return PLAIN;
    if (strcmp(last, ALL) == 0) {
        *(slash ? slash : last) = '\0';
        return OPAQUE;
    }
    if (strcmp(last, MARK) == 0 || strcmp(last, ".wh..") == 0 || strcmp(last, ".wh...") == 0) {
        tree->odd = true;
        return ASIDE;
    }
    if (strncmp(last, OTHER, strlen(OTHER)) == 0)
        return ASIDE;
    memmove(last, last + strlen(MARK), strlen(last + strlen(MARK)) + 1);
    return WHITEOUT;
}

void image_tree_add(image_tree *tree, uint32_t ordinal, image_kind kind, const char *name, const char *link)
{
    char *tidy = tree->beyond ? NULL : image_tidy(name), *other = tidy && link ? image_tidy(link) : NULL;
    void *list = tree->file;
    file one = { .ordinal = ordinal, .kind = (uint8_t)kind };

    if (!tidy || tree->n_layer == 0 || (link && !other) ||
        !grow(tree, &list, tree->n_file, &tree->cap_file, sizeof(one), tree->most)) {
        tree->beyond = true;
    } else {
        tree->file = list;
        one.what = take_whiteout(tree, tidy);
        one.at = enter_path(tree, tidy);
        one.to = other ? enter_path(tree, other) : NULL;
        if (one.at)
            tree->file[tree->n_file++] = one;
    }
    free(tidy);
    free(other);
}

/* ---- what a layer does to those below ---- */

void image_tree_open(image_tree *tree)
{
    tree->image++;
    tree->links = false;
}

static uint8_t does(const image_tree *tree, const node *at)
{
    return at->image == tree->image ? at->does : 0;
}

/* What it says is about the present image. */
static void touch(const image_tree *tree, node *at)
{
    if (at->image == tree->image)
        return;
    at->image = tree->image;
    at->layer = at->file = 0;
    at->does = 0;
}

/* The lowest of the layers above is the one that did it. */
static void add_mark(const image_tree *tree, node *at, uint8_t what, uint32_t number)
{
    touch(tree, at);
    if (what & GONE) {
        at->by = number;
        at->does &= (uint8_t)~DELETES;
    }
    if (what & EMPTIED)
        at->emptied_by = number;
    if (what & FOLDER)
        at->folder_by = number;
    at->does |= what;
}

typedef struct judgement {
    uint32_t by; /* layer; 0: it is in the image */
    cli_fate fate;
} judgement;

static void choose(judgement *now, bool holds, uint32_t by, cli_fate fate)
{
    if (holds && (now->by == 0 || by < now->by))
        *now = (judgement){ by, fate };
}

/* Is a folder of it a symbolic link, in this layer or below? Some readers go to where it points, others make
 * a folder of it. */
static bool leads_through(image_tree *tree, const node *at, uint32_t number)
{
    bool through = false;

    for (at = at->up; at && tree->links && !through; at = at->up, tree->work++)
        through = at->linked == tree->image && at->linked_by <= number;
    return through;
}

/* A name, below what layers above did to it and to the folders it is in. */
static judgement judge(image_tree *tree, const file *one)
{
    const node *at = one->at;
    uint8_t what = does(tree, at);
    judgement now = { 0 };

    choose(&now, what & GONE, at->by, what & DELETES ? CLI_FATE_DELETED : CLI_FATE_REPLACED);
    choose(&now, (what & FOLDER) && one->kind != IMAGE_FOLDER, at->folder_by, CLI_FATE_REPLACED);
    for (at = at->up; at && now.by == 0; at = at->up) {
        what = does(tree, at);
        spend(tree, 1);
        choose(&now, what & GONE, at->by, what & DELETES ? CLI_FATE_DELETED : CLI_FATE_REPLACED);
        choose(&now, what & EMPTIED, at->emptied_by, CLI_FATE_DELETED);
    }
    return now;
}

static void settle(file *one, judgement now)
{
    if (now.by == 0) {
        one->state = LIVE;
    } else if (one->state == UNSEEN) {
        one->state = DEAD;
        one->fate = (uint8_t)now.fate;
        one->layer = now.by;
    }
}

/* A hard link that is in the image keeps what it stands for: the last file of that name before it in its
 * layer, or below. */
static void keep(image_tree *tree, const file *one, uint32_t number)
{
    if (!one->to || one->state != LIVE)
        return;
    one->to->kept = tree->image;
    tree->unsure = tree->unsure || leads_through(tree, one->to, number);
}

/* Of two files of one name in a layer the last one counts. */
static void judge_one(image_tree *tree, file *one, uint32_t at, uint32_t layer, uint32_t number)
{
    bool last = one->at->layer != layer;

    if (one->what != PLAIN) {
        one->fate = CLI_FATE_UNUSED;
        one->state = DEAD;
        return;
    }
    if (one->kind == IMAGE_FOLDER) {
        one->state = LIVE; /* nobody asks */
        return;
    }
    if (last) {
        one->at->layer = layer;
        one->at->file = at;
    }
    if (one->at->kept == tree->image || leads_through(tree, one->at, number))
        settle(one, (judgement){ 0 });
    else
        settle(one, last ? judge(tree, one) : (judgement){ number, CLI_FATE_REPLACED });
    one->at->kept = 0;
    keep(tree, one, number);
}

/* Links are also asked by name alone: some readers do not go by the order. */
static void judge_all(image_tree *tree, uint32_t first, uint32_t end, uint32_t layer, uint32_t number)
{
    for (uint32_t i = end; i > first && !tree->beyond; i--) {
        touch(tree, tree->file[i - 1].at);
        judge_one(tree, &tree->file[i - 1], i, layer, number);
        spend(tree, 1);
    }
    for (uint32_t i = first; i < end && !tree->beyond; i++) {
        const file *link = &tree->file[i];

        if (link->to && link->state == LIVE && link->to->layer == layer && link->to->image == tree->image)
            tree->file[link->to->file - 1].state = LIVE;
    }
}

/* What a file is in is a folder, also where nothing says so. */
static void apply_folders(image_tree *tree, node *at, uint32_t number)
{
    for (; at && !((does(tree, at) & FOLDER) && at->folder_by == number); at = at->up, tree->work++)
        add_mark(tree, at, FOLDER, number);
}

static void apply(image_tree *tree, const file *one, uint32_t number)
{
    if (one->what == PLAIN)
        apply_folders(tree, one->at->up, number);
    if (one->what == WHITEOUT)
        add_mark(tree, one->at, GONE | DELETES, number);
    else if (one->what == OPAQUE)
        add_mark(tree, one->at, EMPTIED, number);
    else if (one->what == PLAIN && one->kind == IMAGE_FOLDER)
        add_mark(tree, one->at, FOLDER, number);
    else if (one->what == PLAIN)
        add_mark(tree, one->at, GONE, number);
}

void image_tree_tell(image_tree *tree, uint32_t layer, uint32_t number)
{
    uint32_t first, end;

    if (layer == 0 || layer > tree->n_layer || tree->beyond)
        return;
    first = tree->layer[layer - 1];
    end = layer < tree->n_layer ? tree->layer[layer] : (uint32_t)tree->n_file;
    for (uint32_t i = first; i < end; i++) {
        node *at = tree->file[i].at;

        if (tree->file[i].kind != IMAGE_SYMLINK || tree->file[i].what != PLAIN)
            continue;
        at->linked_by = at->linked == tree->image && at->linked_by < number ? at->linked_by : number;
        at->linked = tree->image;
        tree->links = true;
    }
    spend(tree, end - first);
}

void image_tree_look(image_tree *tree, uint32_t layer, uint32_t number)
{
    uint32_t first, end;

    if (layer == 0 || layer > tree->n_layer || tree->beyond)
        return;
    first = tree->layer[layer - 1];
    end = layer < tree->n_layer ? tree->layer[layer] : (uint32_t)tree->n_file;
    judge_all(tree, first, end, layer, number);
    for (uint32_t i = first; i < end; i++)
        apply(tree, &tree->file[i], number);
}

/* ---- what came of it ---- */

image_mark *image_tree_marks(const image_tree *tree, uint32_t layer, size_t *count)
{
    uint32_t first, end;
    image_mark *mark;

    *count = 0;
    if (layer == 0 || layer > tree->n_layer)
        return NULL;
    first = tree->layer[layer - 1];
    end = layer < tree->n_layer ? tree->layer[layer] : (uint32_t)tree->n_file;
    mark = end > first ? calloc(end - first, sizeof(*mark)) : NULL;
    for (uint32_t i = first; mark && i < end; i++)
        if (tree->file[i].state == DEAD)
            mark[(*count)++] = (image_mark){ tree->file[i].ordinal, tree->file[i].fate, tree->file[i].layer };
    return mark;
}

bool image_tree_beyond(const image_tree *tree)
{
    return tree->beyond;
}

bool image_tree_unsure(const image_tree *tree)
{
    return tree->unsure;
}

bool image_tree_odd(const image_tree *tree)
{
    return tree->odd;
}
