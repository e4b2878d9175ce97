/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* From one operand to the device ELFs that are linked: a cubin goes as it is; of every container in anything
 * else, one member. What cannot be linked is an error of its input, and never left out without a word. */
#include "link_int.h"

#include <stdlib.h>
#include <string.h>

#define NO_OFFSET UINT64_MAX

/* The operand at hand. */
typedef struct file {
    link_run *run;
    const char *name;
    const uint8_t *bytes;
    uint64_t n;
    bool archive;
    uint64_t pieces, added; /* containers and images; those that gave something to link */
    uint64_t container;     /* the last one that was looked at */
    cuvet_scan scan;
} file;

static uint64_t load_u64(const uint8_t *p)
{
    uint64_t v = 0;

    for (unsigned left = 8; left > 0; left--)
        v = v << 8 | p[left - 1];
    return v;
}

/* A status that no diagnostic explained. */
static void settle(file *f, const char *name, cuvet_status s)
{
    link_run *r = f->run;
    int rc = r->rc;

    r->rc = CLI_X_CLEAN;
    link_say_input(r, name);
    if (r->rc == CLI_X_CLEAN)
        link_error(r, name, link_exit_of(s), cli_status_text(s));
    r->rc = cli_worse(cli_worse(rc, r->rc), link_exit_of(s));
}

static void added(file *f, const char *name, cuvet_status s)
{
    if (s != CUVET_OK) {
        settle(f, name, s);
        return;
    }
    f->added++;
    link_say_input(f->run, name);
}

static void add_image(file *f, uint64_t off, const void *bytes, size_t n, const char *name)
{
    added(f, name, cuvet_linker_add_from(f->run->ctx, f->run->linker, off, bytes, n, name));
}

static bool said(const link_run *r, const char *id)
{
    cuvet_rule rule;

    if (cuvet_rule_find(id, &rule) != CUVET_OK)
        return false;
    for (size_t i = 0; i < r->n_diag; i++) {
        if (r->diag[i].rule == rule)
            return true;
    }
    return false;
}

/* A library has code for many targets, and whole programs beside what can be linked: that is no error of the
 * link, as long as it is said. */
static void nothing_chosen(file *f, const char *name, cuvet_status s)
{
    link_run *r = f->run;
    bool whole = s == CUVET_E_REFUSED && said(r, "CV-ADMIT-003");

    if (!f->archive || (s != CUVET_E_NO_MATCH && !whole)) {
        settle(f, name, s);
        return;
    }
    link_drop(r);
    if (whole)
        link_warn(r, name, "not linked: a finished program, not relocatable code [CV-ADMIT-003]");
    else if (!r->args->set[LINK_O_NO_ARCH_WARNING])
        link_note(r, name, "not linked: no code for the target [CV-INPUT-001]");
}

/* Only what the reference linker would take, or what is said to be taken beyond it. */
static bool may_take(file *f, const cuvet_item *it, const char *name)
{
    link_run *r = f->run;
    cuvet_status s = cuvet_linker_place(r->ctx, r->linker, it);
    int before = r->rc;

    link_say_place(r, name);
    f->added += s == CUVET_END; /* left out, and said: that is no failure */
    if (s != CUVET_OK && s != CUVET_END && r->rc == before)
        settle(f, name, s);
    return s == CUVET_OK;
}

/* A container that is the content of a member, or hides in it, is no place that a linker looks into. */
static bool is_at_top(file *f, cuvet_input in, uint64_t chosen, uint64_t off, const char *name)
{
    const cuvet_item nested = { .in_container = true, .container_off = off, .place = CUVET_PLACE_NESTED };
    bool hides = said(f->run, "CV-FATBIN-051");
    cuvet_candidate c;

    link_drop(f->run); /* the linker says it again */
    return cuvet_input_get_candidate(f->run->ctx, in, chosen, &c) == CUVET_OK &&
           ((c.depth == 0 && !hides) || may_take(f, &nested, name));
}

static void add_container(file *f, uint64_t off, const char *name)
{
    const cuvet_input_config cfg = { .size = sizeof(cfg),
                                     .target = f->run->args->target,
                                     .policy = f->run->args->common.set[CLI_O_POLICY] &&
                                                       strcmp(f->run->args->common.value[CLI_O_POLICY],
                                                              "exact") == 0
                                                   ? CUVET_ARCH_EXACT
                                                   : CUVET_ARCH_REFERENCE };
    cuvet_ctx *ctx = f->run->ctx;
    cuvet_input in = { 0 };
    cuvet_result result;
    cuvet_status s;
    uint64_t n = off < f->n ? f->n - off : 0;

    if (n > 16 && load_u64(f->bytes + off + 8) < n - 16)
        n = load_u64(f->bytes + off + 8) + 16;
    s = cuvet_input_create(ctx, &cfg, &in);
    if (s == CUVET_OK)
        s = cuvet_input_bind(ctx, in, f->bytes + (n ? off : 0), (size_t)n, CUVET_BIND_BORROW, NULL);
    if (s == CUVET_OK)
        s = cuvet_input_select(ctx, in);
    if (s == CUVET_OK)
        s = cuvet_input_get_result(ctx, in, &result);
    if (s == CUVET_OK) {
        if (is_at_top(f, in, result.candidate, off, name))
            add_image(f, off, result.bytes, result.n, name);
    } else {
        nothing_chosen(f, name, s);
    }
    if (in.bits && cuvet_input_destroy(ctx, &in) != CUVET_OK)
        link_error(f->run, name, CLI_X_INTERNAL, cli_status_text(CUVET_E_INTERNAL));
}

/* Code that a device link made for a host program is no input of the next one. */
static bool is_finished(file *f, uint64_t off, const char *name)
{
    cuvet_link_origin origin;

    if (cuvet_linker_origin(f->run->ctx, f->run->linker, off, &origin) != CUVET_OK || !origin.finished)
        return false;
    f->added++;
    link_note(f->run, name, "left out, because a device link made it");
    return true;
}

/* "lib.a(member.o)" */
static char *piece_name(const file *f, const cuvet_item *it)
{
    size_t n = it->ar_name ? strnlen(it->ar_name, it->ar_name_len) : 0, cap = strlen(f->name) + n + 3;
    char *name = malloc(cap);

    if (name)
        (void)snprintf(name, cap, n ? "%s(%.*s)" : "%s", f->name, (int)n, n ? it->ar_name : "");
    return name;
}

static void add_piece(file *f, const cuvet_item *it)
{
    link_run *r = f->run;
    char *name;

    if (it->in_container && it->container_off == f->container)
        return; /* it was chosen from already */
    name = piece_name(f, it);
    if (!name) {
        link_error(r, f->name, CLI_X_LIMIT, "out of memory");
        return;
    }
    f->pieces++;
    if (it->in_container) {
        f->container = it->container_off;
        if (!is_finished(f, it->container_off, name) && may_take(f, it, name))
            add_container(f, it->container_off, name);
    } else if (it->kind != CUVET_K_ELF || it->payload_off > f->n ||
               it->stored_size > f->n - it->payload_off) {
        link_drop(r);
        link_error(r, name, CLI_X_FINDINGS,
                   it->kind == CUVET_K_PTX ? "PTX has to be compiled before it can be linked"
                                           : "device code outside of a container is not linked");
    } else if (may_take(f, it, name)) {
        add_image(f, it->payload_off, f->bytes + it->payload_off, (size_t)it->stored_size, name);
    }
    free(name);
}

/* The scan's own words come with the items: kept apart from what is said about a choice. */
static cuvet_status walk(file *f)
{
    link_run *r = f->run;
    cuvet_item it;
    cuvet_status s;

    f->container = NO_OFFSET;
    while ((s = cuvet_scan_next(r->ctx, f->scan, &it)) == CUVET_OK) {
        link_say_input(r, f->name);
        add_piece(f, &it);
    }
    return s == CUVET_END ? CUVET_OK : s;
}

static void open_up(file *f)
{
    const cuvet_scan_options so = { .size = sizeof(so), .depth = CUVET_DEPTH_HEADERS, .jobs = 1 };
    link_run *r = f->run;
    cuvet_source src;
    cuvet_status s = cuvet_source_memory(f->bytes, (size_t)f->n, &src);

    if (s == CUVET_OK)
        s = cuvet_scan_create(r->ctx, &src, &so, &f->scan);
    if (s == CUVET_OK) {
        s = walk(f);
        link_say_input(r, f->name);
        if (cuvet_scan_destroy(r->ctx, &f->scan) != CUVET_OK)
            s = CUVET_E_INTERNAL;
    }
    if (s != CUVET_OK)
        settle(f, f->name, s);
}

/* Nothing came out of it: is that what its owner would expect? */
static void judge_empty(file *f, cuvet_content type, int before)
{
    link_run *r = f->run;

    if (f->added || r->rc != before)
        return;
    if (f->pieces)
        link_error(r, f->name, CLI_X_FINDINGS, "nothing in it can be linked for the target");
    else if (type == CUVET_CONTENT_HOST_ELF || r->args->library[r->at])
        link_note(r, f->name, "no device code in it");
    else
        link_error(r, f->name, CLI_X_FINDINGS, "no device code in it");
}

/* The device runtime is a library that is linked when it is needed, whatever directory it lies in. */
static bool is_system_library(const link_run *r, const char *name)
{
    const char *slash = strrchr(name, '/');

    return strstr(slash ? slash : name, "cudadevrt") && !r->args->set[LINK_O_KEEP_SYSTEM];
}

/* What its host objects say. The scan says again what is wrong with them but can be lived with. */
static bool begin_file(file *f)
{
    const cuvet_link_file it = { .size = sizeof(it),
                                 .bytes = f->bytes,
                                 .n = (size_t)f->n,
                                 .of_system = is_system_library(f->run, f->name) };
    cuvet_status s = cuvet_linker_file(f->run->ctx, f->run->linker, &it);

    if (s == CUVET_OK) {
        link_say_file(f->run, f->name);
    } else {
        f->run->of_file = true;
        settle(f, f->name, s);
        f->run->of_file = false;
    }
    return s == CUVET_OK;
}

static void look(file *f)
{
    link_run *r = f->run;
    cuvet_content_info c;
    cuvet_diag d;
    cuvet_status s = cuvet_classify(f->bytes, (size_t)f->n, &r->args->common.limits, 0, &c, &d);
    int before = r->rc;

    if (s == CUVET_OK && !begin_file(f))
        return;
    if (c.type == CUVET_CONTENT_CUBIN) {
        add_image(f, 0, f->bytes, (size_t)f->n, f->name);
    } else if (s != CUVET_OK) {
        link_on_diag(r, &d);
        settle(f, f->name, s);
    } else if (c.type == CUVET_CONTENT_PTX) {
        link_error(r, f->name, CLI_X_FINDINGS, "PTX has to be compiled before it can be linked");
    } else if (c.type == CUVET_CONTENT_NVVM || c.type == CUVET_CONTENT_LTOIR) {
        link_error(r, f->name, CLI_X_FINDINGS, "IR for link-time optimization needs a compiler");
    } else if (c.thin) {
        link_error(r, f->name, CLI_X_FINDINGS, "a thin archive does not hold its members");
    } else {
        f->archive = c.type == CUVET_CONTENT_ARCHIVE;
        open_up(f);
        judge_empty(f, c.type, before);
    }
}

/* The whole file: a link looks at all of it. */
static cuvet_status load(const link_run *r, const cli_input *in, void **bytes)
{
    uint64_t n = in->source.length;

    *bytes = NULL;
    if (n > r->args->common.limits.input || n > r->args->common.limits.live)
        return CUVET_E_LIMIT;
    *bytes = malloc(n ? (size_t)n : 1);
    if (!*bytes)
        return CUVET_E_NOMEM;
    return n ? in->source.read_at(in->source.user, 0, *bytes, (size_t)n) : CUVET_OK;
}

/* A device ELF by its magic and machine: the linker reads it itself, and says what else is wrong with it. */
static bool is_device_elf(const cli_input *in)
{
    static const uint8_t MAGIC[4] = { 0x7F, 'E', 'L', 'F' };
    uint8_t head[20];

    return in->source.length >= 64 &&
           in->source.read_at(in->source.user, 0, head, sizeof(head)) == CUVET_OK &&
           memcmp(head, MAGIC, sizeof(MAGIC)) == 0 && head[18] == 190 && head[19] == 0;
}

void link_input(link_run *r, const cli_input *in)
{
    file f = { .run = r, .name = in->name };
    void *bytes = NULL;
    cuvet_status s;

    if (in->why) {
        link_error(r, in->name, in->rc, in->why);
        return;
    }
    if (is_device_elf(in)) {
        added(&f, in->name, cuvet_linker_add_source(r->ctx, r->linker, &in->source, in->name));
        link_drop(r);
        return;
    }
    s = load(r, in, &bytes);
    if (s == CUVET_OK) {
        f.bytes = bytes;
        f.n = in->source.length;
        look(&f);
    } else {
        link_error(r, in->name, link_exit_of(s), cli_status_text(s));
    }
    link_drop(r);
    free(bytes);
}
