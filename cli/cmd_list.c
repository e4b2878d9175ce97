/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "demangle.h"
#include "pick.h"
#include "report.h"
#include "resources.h"

#include <inttypes.h>
#include <string.h>

typedef struct list {
    bool kernels, resources, json;
    /* Bytes of the present file that may still be looked at: its pieces may all lie over the same ones. */
    uint64_t left;
    int rc;
} list;

/* What is in a piece is read from its unpacked bytes. Its rules were judged by the scan already, so that a
 * context of its own, without a listener, keeps its findings from being told twice. */
typedef struct inside {
    char hash[CLI_SHA256_CAP]; /* "" without bytes */
    bool has;                  /* the resources of a device ELF */
    cuvet_ctx *ctx;
    cuvet_elf elf;
    cli_resources use;
} inside;

/* The limit 'work' is about bytes looked at per byte of input. */
static uint64_t work_for(const cli_session *s, uint64_t size)
{
    const uint64_t work = s->args->limits.work, least = UINT64_C(1) << 20;

    return work > 0 && size > (UINT64_MAX - least) / work ? UINT64_MAX : least + size * work;
}

static void ended_by(list *l, const cli_session *s, cuvet_status st)
{
    cli_complain(s->in->name, "what the functions of a piece use is not known in full: %s",
                 cli_status_text(st));
    l->rc = cli_worse(l->rc, cli_exit_of(st));
}

static void read_inside(inside *k, list *l, const cli_session *s, const void *bytes, size_t n)
{
    const cuvet_ctx_options co = { .size = sizeof(co), .limits = &s->args->limits };
    uint64_t work = work_for(s, n), before;
    cuvet_status st = cuvet_ctx_create(&co, &k->ctx);

    if (st == CUVET_OK && cuvet_elf_create(k->ctx, bytes, n, &k->elf) != CUVET_OK)
        return; /* the findings of the scan say why */
    work = before = work < l->left ? work : l->left;
    if (st == CUVET_OK)
        st = cli_resources_read(&k->use, k->ctx, k->elf, &work);
    l->left -= before - work;
    k->has = st == CUVET_OK;
    if (k->use.cut)
        st = CUVET_E_LIMIT;
    if (st != CUVET_OK)
        ended_by(l, s, st);
}

static void look_inside(inside *k, list *l, const cli_session *s, const cuvet_item *it)
{
    const void *bytes;
    size_t n;

    *k = (inside){ .ctx = NULL };
    if (cuvet_scan_payload(s->ctx, s->scan, &bytes, &n) != CUVET_OK)
        return;
    if (it->compression != CUVET_Z_NONE)
        l->left = l->left > UINT64_MAX - work_for(s, n) ? UINT64_MAX : l->left + work_for(s, n);
    if (n > l->left) {
        ended_by(l, s, CUVET_E_LIMIT);
        return;
    }
    l->left -= n;
    cli_sha256(bytes, n, k->hash);
    if (it->kind == CUVET_K_CUBIN)
        read_inside(k, l, s, bytes, n);
}

static void leave(inside *k)
{
    cli_resources_free(&k->use);
    cuvet_ctx_destroy(k->ctx);
}

static void put_constants(const cli_resources *r, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf(" CONSTANT[%" PRIu32 "]:%" PRIu64, r->constant[first + i].bank, r->constant[first + i].size);
}

/* In the words of the vendor's dumper. */
static void put_use(const cli_resources *r, const cli_function *f)
{
    printf("REG:%" PRIu32 " STACK:%" PRIu32 " SHARED:%" PRIu64 " LOCAL:%" PRIu64, f->registers, f->stack,
           f->shared, f->local);
    put_constants(r, f->constant, f->n_constants);
}

static void put_name(cuvet_bytes name)
{
    name = cli_demangle(name);
    cli_put(stdout, name.p, name.n);
}

static void put_kernels(const inside *k)
{
    for (size_t i = 0; k->has && i < k->use.n_kernels; i++) {
        const cli_kernel *e = &k->use.kernel[i];

        fputs("      ", stdout);
        put_name(e->name);
        fputs("  ", stdout);
        put_use(&k->use, &k->use.function[e->function]);
        putchar('\n');
    }
}

static void put_banks(const cli_resources *r, const cli_function *f)
{
    char banks[128] = "";
    size_t used = 0;

    for (size_t i = 0; i < f->n_constants && used + 40 < sizeof(banks); i++) {
        const cli_constant *c = &r->constant[f->constant + i];
        int n = snprintf(banks + used, sizeof(banks) - used, "%s[%" PRIu32 "]:%" PRIu64, i ? " " : "",
                         c->bank, c->size);

        used += n > 0 ? (size_t)n : 0;
    }
    printf("%-22s ", *banks ? banks : "-");
}

static void put_table(const inside *k)
{
    const cli_resources *r = &k->use;
    bool any = false;

    if (!k->has)
        return;
    printf("      common  GLOBAL:%" PRIu64, r->global);
    put_constants(r, 0, r->n_common);
    putchar('\n');
    for (size_t i = 1; i < r->n; i++) {
        const cli_function *f = &r->function[i];

        if (!f->name.p)
            continue;
        if (!any)
            printf("      %5s %7s %8s %7s  %-22s %s\n", "REG", "STACK", "SHARED", "LOCAL", "CONSTANT",
                   "FUNCTION");
        any = true;
        printf("      %5" PRIu32 " %7" PRIu32 " %8" PRIu64 " %7" PRIu64 "  ", f->registers, f->stack,
               f->shared, f->local);
        put_banks(r, f);
        put_name(f->name);
        putchar('\n');
    }
}

/* One object a line: bounded, whatever the tables say; "kernels" has the true number. Names of C++ templates
 * reach a few thousand bytes. */
#define NAMES_MAX 65536u
#define NAME_CAP  16384u /* of cli_record_bytes(), which marks what it cuts */
#define NAME_ALL  (64u << 20)

static void constants_json(cli_record *o, const cli_resources *r, size_t first, size_t n)
{
    cli_record_open(o, "constant", '{');
    for (size_t i = 0; i < n && i < NAMES_MAX; i++) {
        char bank[16];

        /* No key twice; they are sorted, and the last one counts. */
        if (i + 1 < n && r->constant[first + i + 1].bank == r->constant[first + i].bank)
            continue;
        snprintf(bank, sizeof(bank), "%" PRIu32, r->constant[first + i].bank);
        cli_record_u64(o, bank, r->constant[first + i].size);
    }
    cli_record_close(o, '}');
}

/* @param left bytes that names may still take; 0: not even this one. */
static void name_json(cli_record *o, const char *key, cuvet_bytes name, size_t *left)
{
    size_t n = name.n < NAME_CAP ? name.n : NAME_CAP;

    *left = n < *left ? *left - n : 0;
    cli_record_bytes(o, key, name.p, name.n);
}

static void function_json(cli_record *o, const cli_resources *r, const cli_function *f, size_t *left)
{
    cuvet_bytes plain = cli_demangle(f->name);

    cli_record_open(o, NULL, '{');
    name_json(o, "name", f->name, left);
    if (plain.p != f->name.p)
        name_json(o, "demangled", plain, left);
    cli_record_bool(o, "kernel", f->kernel);
    cli_record_u64(o, "registers", f->registers);
    cli_record_u64(o, "stack", f->stack);
    cli_record_u64(o, "shared", f->shared);
    cli_record_u64(o, "local", f->local);
    constants_json(o, r, f->constant, f->n_constants);
    cli_record_close(o, '}');
}

static void inside_json(cli_record *o, const inside *k)
{
    const cli_resources *r = &k->use;
    size_t left = NAME_ALL;

    if (*k->hash)
        cli_record_string(o, "sha256", k->hash);
    if (!k->has)
        return;
    cli_record_open(o, "kernel_names", '[');
    for (size_t i = 0; i < r->n_kernels && i < NAMES_MAX && left > 0; i++)
        name_json(o, NULL, r->kernel[i].name, &left);
    cli_record_close(o, ']');
    left = NAME_ALL;
    cli_record_open(o, "functions", '[');
    for (size_t i = 1, n = 0; i < r->n && n < NAMES_MAX && left > 0; i++) {
        if (r->function[i].name.p) {
            function_json(o, r, &r->function[i], &left);
            n++;
        }
    }
    cli_record_close(o, ']');
    cli_record_u64(o, "global", r->global);
    constants_json(o, r, 0, r->n_common);
}

static void begin_json(void *user, const cli_session *s)
{
    list *l = user;

    l->left = s->in->why ? 0 : work_for(s, s->in->source.length);
}

static void begin_text(void *user, const cli_session *s)
{
    begin_json(user, s);
    if (s->in->why)
        return;
    cli_put_str(stdout, s->in->name);
    printf("\n  %-32s %-8s %-13s %12s %12s  %s\n", "PATH", "KIND", "ARCH", "STORED", "SIZE", "COMPRESSION");
}

static void put_producer(const cuvet_producer *p)
{
    char release[CLI_RELEASE_CAP];

    if (!p->tool || (!*p->tool && p->version == 0))
        return;
    cli_release_text(p->version, release, sizeof(release));
    printf("      by %s%s%s%s\n", *p->tool ? p->tool : "an unknown tool of", *release ? " " : "", release,
           p->inferred ? " (inferred)" : "");
}

static void member_text(void *user, const cli_session *s, const cuvet_item *it)
{
    list *l = user;
    char path[CLI_PATH_CAP], arch[32];
    inside k;

    cli_path(&it->where, path, sizeof(path));
    cli_arch_text(it, arch, sizeof(arch));
    printf("  %-32s %-8s %-13s %12" PRIu64 " %12" PRIu64 "  %s", *path ? path : "file",
           cuvet_kind_name(it->kind), *arch ? arch : "-", it->stored_size, it->unpacked_size,
           cuvet_compression_name(it->compression));
    if (it->triple) {
        fputs("  for ", stdout);
        cli_put(stdout, it->triple, it->triple_len);
    }
    if (it->ar_name) {
        fputs("  in ", stdout);
        cli_put(stdout, it->ar_name, it->ar_name_len);
    }
    putchar('\n');
    if (!l->kernels && !l->resources)
        return;
    look_inside(&k, l, s, it);
    put_producer(&it->producer);
    if (l->kernels && *k.hash)
        printf("      sha256 %s\n", k.hash);
    if (l->kernels)
        put_kernels(&k);
    if (l->resources)
        put_table(&k);
    leave(&k);
}

static void member_json(void *user, const cli_session *s, const cuvet_item *it)
{
    list *l = user;
    cli_record *o = cli_ndjson_member(s, it);
    inside k;

    if (l->kernels || l->resources) {
        look_inside(&k, l, s, it);
        inside_json(o, &k);
        leave(&k);
    }
    cli_ndjson_put();
}

static void end_text(void *user, const cli_session *s, const cli_result *r)
{
    (void)user;
    if (s->in->why)
        return;
    fputs("  ", stdout);
    cli_put_counts(&r->sum);
    cli_put_filtered(r);
    putchar('\n');
    cli_point_to_scan(s, &r->sum);
}

int cmd_list(int argc, char **argv)
{
    cli_args a;
    list l;
    cli_sink sink;
    cli_pick pick;
    cli_needs needs = CLI_NO_NEEDS;
    cli_session s = { .args = &a, .sink = &sink, .user = &l, .needs = &needs };
    int rc;

    if (!cli_parse(CLI_C_LIST, argc, argv, &a, &rc))
        return rc;
    if (!cli_pick_init(&pick, &a))
        return CLI_X_USAGE;
    l = (list){ .kernels = a.set[CLI_O_KERNELS], .resources = a.set[CLI_O_RESOURCES] };
    if ((l.kernels || l.resources) && !cli_load_hash())
        return CLI_X_IO;
    l.json = a.value[CLI_O_FORMAT] && strcmp(a.value[CLI_O_FORMAT], "ndjson") == 0;
    s.depth = l.kernels || l.resources ? CUVET_DEPTH_FULL : CUVET_DEPTH_HEADERS;
    if (l.json) {
        sink = cli_ndjson_sink;
        sink.begin = begin_json;
        sink.member = member_json;
    } else {
        sink = (cli_sink){ .begin = begin_text, .member = member_text, .end = end_text };
    }
    cli_pick_sink(&pick, &s);
    rc = cli_demangle_start(&a, &needs.helper);
    if (rc != CLI_X_CLEAN)
        return rc;
    rc = cli_session_run(&s);
    cli_demangle_stop();
    cli_pick_end(&pick, s.n_inputs > 0);
    rc = cli_worse(rc, l.rc);
    return cli_finish_stdout(cli_json_ok() ? rc : cli_worse(rc, CLI_X_INTERNAL));
}
