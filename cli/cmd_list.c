/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pick.h"
#include "report.h"

#include <inttypes.h>
#include <string.h>

typedef struct list {
    bool kernels, json;
} list;

/* Kernel names need the unpacked image. Its rules were judged by the scan already, so that a context of
 * its own, without a listener, keeps its findings from being told twice. */
typedef struct kernels {
    cuvet_ctx *ctx;
    cuvet_elf elf;
} kernels;

static cuvet_status kernels_open(kernels *k, const cli_session *s, const cuvet_item *it)
{
    const cuvet_ctx_options co = { .size = sizeof(co), .limits = &s->args->limits };
    const void *bytes;
    size_t n;
    cuvet_status st;

    *k = (kernels){ .ctx = NULL };
    if (it->kind != CUVET_K_ELF)
        return CUVET_E_NO_MATCH;
    st = cuvet_scan_payload(s->ctx, s->scan, &bytes, &n);
    if (st == CUVET_OK)
        st = cuvet_ctx_create(&co, &k->ctx);
    return st == CUVET_OK ? cuvet_elf_open(k->ctx, bytes, n, &k->elf) : st;
}

static void put_kernels_text(const cli_session *s, const cuvet_item *it)
{
    kernels k;
    cuvet_bytes name;

    if (kernels_open(&k, s, it) == CUVET_OK) {
        for (uint64_t i = 0; cuvet_elf_kernel(k.ctx, k.elf, i, &name) == CUVET_OK; i++) {
            fputs("      ", stdout);
            cli_put(stdout, name.p, name.n);
            putchar('\n');
        }
    }
    cuvet_ctx_destroy(k.ctx);
}

#define KERNELS_MAX 65536u

static void set_kernels_json(json_t *o, const cli_session *s, const cuvet_item *it)
{
    kernels k;
    cuvet_bytes name;
    json_t *names = json_array();

    if (kernels_open(&k, s, it) == CUVET_OK) {
        /* One object a line: bounded, whatever the symbol table says. "kernels" has the true number. */
        for (uint64_t i = 0; i < KERNELS_MAX && cuvet_elf_kernel(k.ctx, k.elf, i, &name) == CUVET_OK; i++)
            cli_json_append(names, cli_json_bytes(name.p, name.n < CLI_TEXT_CAP ? name.n : CLI_TEXT_CAP));
        cli_json_set(o, "kernel_names", names);
    } else {
        json_decref(names);
    }
    cuvet_ctx_destroy(k.ctx);
}

static void begin_text(void *user, const cli_session *s)
{
    (void)user;
    if (s->in->why)
        return;
    cli_put_str(stdout, s->in->name);
    printf("\n  %-32s %-8s %-13s %12s %12s  %s\n", "PATH", "KIND", "ARCH", "STORED", "SIZE", "COMPRESSION");
}

static void member_text(void *user, const cli_session *s, const cuvet_item *it)
{
    const list *l = user;
    char path[CLI_PATH_CAP], arch[32];

    cli_path(&it->where, path, sizeof(path));
    cli_arch_text(it, arch, sizeof(arch));
    printf("  %-32s %-8s %-13s %12" PRIu64 " %12" PRIu64 "  %s", *path ? path : "file",
           cuvet_kind_name(it->kind), *arch ? arch : "-", it->stored_size, it->size,
           cuvet_compression_name(it->compression));
    if (it->ar_name) {
        fputs("  in ", stdout);
        cli_put(stdout, it->ar_name, it->ar_name_len);
    }
    putchar('\n');
    if (l->kernels)
        put_kernels_text(s, it);
}

static void member_json(void *user, const cli_session *s, const cuvet_item *it)
{
    const list *l = user;
    json_t *o = cli_json_member(s, it);

    if (l->kernels)
        set_kernels_json(o, s, it);
    cli_json_put(o);
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
    cli_session s = { .args = &a, .sink = &sink, .user = &l };
    int rc;

    if (!cli_parse(CLI_C_LIST, argc, argv, &a, &rc))
        return rc;
    if (!cli_pick_init(&pick, &a))
        return CLI_X_USAGE;
    l.kernels = a.set[CLI_O_KERNELS];
    l.json = a.value[CLI_O_FORMAT] && strcmp(a.value[CLI_O_FORMAT], "ndjson") == 0;
    s.depth = l.kernels ? CUVET_DEPTH_FULL : CUVET_DEPTH_HEADERS;
    if (l.json) {
        sink = cli_ndjson_sink;
        sink.member = member_json;
    } else {
        sink = (cli_sink){ .begin = begin_text, .member = member_text, .end = end_text };
    }
    cli_pick_sink(&pick, &s);
    rc = cli_session_run(&s);
    cli_pick_end(&pick, s.n_inputs > 0);
    return cli_finish_stdout(cli_json_ok() ? rc : cli_worse(rc, CLI_X_INTERNAL));
}
