/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet dump: shows what is in the device code of files, as far as it can be decoded. */
#include "cmd_dump.h"
#include "demangle.h"
#include "pick.h"

#include <inttypes.h>
#include <stdio_ext.h>
#include <string.h>

/* Of the budget of a piece: tables and titles of a tiny one. */
#define FLOOR_BUDGET (UINT64_C(1) << 20)

typedef struct dump_run {
    dump d;
    cli_pick pick;
    uint64_t at;    /* number of the piece in its file */
    uint64_t shown; /* in all files */
    bool quiet;     /* findings that the scan has told already */
    bool any;       /* something was printed */
    int rc;
} dump_run;

typedef struct part_row {
    cli_option option;
    unsigned part;
} part_row;

static const part_row PARTS[] = {
    { CLI_O_HEADER, DUMP_HEADER },   { CLI_O_SECTIONS, DUMP_SECTIONS }, { CLI_O_SEGMENTS, DUMP_SEGMENTS },
    { CLI_O_SYMBOLS, DUMP_SYMBOLS }, { CLI_O_RELOCS, DUMP_RELOCS },     { CLI_O_INFO, DUMP_INFO },
    { CLI_O_COMPAT, DUMP_COMPAT },   { CLI_O_NOTES, DUMP_NOTES },       { CLI_O_CALLGRAPH, DUMP_CALLGRAPH },
    { CLI_O_UNIFIED, DUMP_UNIFIED }, { CLI_O_CAPSULES, DUMP_CAPSULES }, { CLI_O_FRAMES, DUMP_FRAMES },
    { CLI_O_DATA, DUMP_DATA },       { CLI_O_PTX, DUMP_PTX },
};

/* Decoders of sections, by what they hold. A row without one says that another part shows the section. */
typedef struct decoder_row {
    unsigned part;
    void (*decode)(dump *d, uint64_t i, const cuvet_elf_section *s);
} decoder_row;

static const decoder_row DECODERS[] = {
    [CUVET_CONTENT_DATA] = { DUMP_DATA, dump_data },
    [CUVET_CONTENT_ATTRIBUTES] = { DUMP_INFO, dump_info },
    [CUVET_CONTENT_COMPAT] = { DUMP_COMPAT, dump_compat },
    [CUVET_CONTENT_NOTES] = { DUMP_NOTES, dump_notes },
    [CUVET_CONTENT_CALLGRAPH] = { DUMP_CALLGRAPH, dump_callgraph },
    [CUVET_CONTENT_PROTOTYPES] = { DUMP_CALLGRAPH, dump_prototype },
    [CUVET_CONTENT_REL_ACTIONS] = { DUMP_CALLGRAPH, dump_rel_action },
    [CUVET_CONTENT_UNIFIED] = { DUMP_UNIFIED, dump_unified },
    [CUVET_CONTENT_CAPSULE] = { DUMP_CAPSULES, dump_capsule },
    [CUVET_CONTENT_FRAMES] = { DUMP_FRAMES, dump_frames },
    [CUVET_CONTENT_NOBITS] = { 0, NULL }, /* the last one; those between have no decoder either */
};

static void decode_section(dump *d, uint64_t i, const cuvet_elf_section *s)
{
    const decoder_row *r = &DECODERS[cuvet_section_get_content(s)];

    if (r->decode && d->parts & r->part)
        r->decode(d, i, s);
    /* A capsule is opaque behind its first words: its bytes are data as well. */
    if (r->part == DUMP_CAPSULES && d->parts & DUMP_DATA)
        dump_data(d, i, s);
}

static void dump_elf(dump *d)
{
    cuvet_elf_section s = { .size = sizeof(s) };

    if (d->parts & DUMP_HEADER)
        dump_header(d);
    if (d->parts & DUMP_SECTIONS)
        dump_sections(d);
    if (d->parts & DUMP_SEGMENTS)
        dump_segments(d);
    if (d->parts & DUMP_SYMBOLS)
        dump_symbols(d);
    if (d->parts & DUMP_RELOCS)
        dump_relocs(d);
    for (uint64_t i = 1; out_spend(&d->o, 1) && dump_section(d, i, &s); i++) {
        if (s.body.n > 0)
            decode_section(d, i, &s);
    }
}

static void announce(dump_run *r, const cuvet_item *it)
{
    dump_out *o = &r->d.o;
    char arch[32];

    cli_arch_text(it, arch, sizeof(arch));
    if (!o->json) {
        fputs(r->any ? "\n\n" : "", o->to);
        dump_put(o, o->to, (cuvet_bytes){ (const uint8_t *)o->file, strlen(o->file) });
        fprintf(o->to, ": %s%s%s%s%s, %" PRIu64 " bytes\n", o->path, *o->path ? ": " : "",
                cuvet_kind_name(it->kind), *arch ? " " : "", arch, it->unpacked_size);
        return;
    }
    out_begin(o, "piece", false);
    out_dec(o, "number", 0, r->at);
    out_text(o, "kind", 0, cuvet_kind_name(it->kind));
    out_text(o, "arch", 0, arch);
    out_dec(o, "size", 0, it->unpacked_size);
    out_text(o, "compression", 0, cuvet_compression_name(it->compression));
    out_end(o);
}

static cuvet_status show_open(dump *d)
{
    cuvet_status st, closed;

    d->h.size = sizeof(d->h);
    st = cuvet_elf_get_header(d->ctx, d->elf, &d->h);

    if (st == CUVET_OK)
        dump_elf(d);
    closed = cuvet_elf_destroy(d->ctx, &d->elf);
    return st == CUVET_OK ? closed : st;
}

static void show_elf(dump_run *r, const void *bytes, size_t n)
{
    dump *d = &r->d;
    cuvet_status st;

    r->quiet = true;
    st = cuvet_elf_create(d->ctx, bytes, n, &d->elf);
    r->quiet = false;
    if (st == CUVET_OK)
        st = show_open(d);
    if (st == CUVET_OK)
        return;
    cli_complain(d->o.file, "%s: %s", d->o.path, cli_status_text(st));
    r->rc = cli_worse(r->rc, cli_exit_of(st));
}

/* The limit 'work' is about bytes looked at per byte of input; the same factor bounds what may be printed. */
static uint64_t budget_of(uint64_t size, uint64_t work, uint64_t least)
{
    return work > 0 && size > UINT64_MAX / work ? UINT64_MAX : size * work > least ? size * work : least;
}

static void set_budget(dump_out *o, const cli_session *s, uint64_t size)
{
    uint64_t own = budget_of(size, s->args->limits.work, FLOOR_BUDGET);

    o->spent = 0;
    o->cut = false;
    o->budget = own < o->file_left ? own : o->file_left;
}

static void on_member(void *user, const cli_session *s, const cuvet_item *it)
{
    dump_run *r = user;
    const void *bytes;
    size_t n;

    r->d.ctx = s->ctx;
    r->d.o.file = s->in->name;
    cli_path(&it->where, r->d.o.path, sizeof(r->d.o.path));
    if (cli_picked(&r->pick, it, r->at)) {
        set_budget(&r->d.o, s, it->unpacked_size);
        announce(r, it);
        r->any = true;
        r->shown++;
        if (cuvet_scan_payload(s->ctx, s->scan, &bytes, &n) != CUVET_OK)
            out_title(&r->d.o, "(not unpacked)");
        else if (it->kind == CUVET_K_CUBIN)
            show_elf(r, bytes, n);
        else if (it->kind == CUVET_K_PTX)
            dump_ptx(&r->d, (cuvet_bytes){ bytes, n }, (r->d.parts & DUMP_PTX) != 0);
    }
    r->d.o.file_left -= r->d.o.spent < r->d.o.file_left ? r->d.o.spent : r->d.o.file_left;
    r->d.o.spent = 0;
    if (r->d.o.cut) {
        cli_complain(s->in->name, "%s: the limit '%s' ended the dump of this piece", r->d.o.path,
                     r->d.o.file_left == 0 ? "budget" : "work");
        r->rc = cli_worse(r->rc, CLI_X_LIMIT);
        r->d.o.cut = false;
    }
    r->at++;
}

static void on_begin(void *user, const cli_session *s)
{
    dump_run *r = user;

    r->at = 0;
    r->d.o.file_left =
        budget_of(s->in->why ? 0 : s->in->source.length, s->args->limits.work, s->args->limits.budget);
}

/* Damage goes to standard error: what can be shown of the file is on standard output, and stays comparable.
 */
static void on_finding(void *user, const cli_session *s, const cuvet_diag *d)
{
    const dump_run *r = user;
    const cuvet_rule_info *rule = cuvet_rule_get(d->rule);
    char path[CLI_PATH_CAP], message[512];

    if (r->quiet || d->severity == CUVET_NOTE)
        return;
    cli_path(&d->where, path, sizeof(path));
    cuvet_diag_message(d, message, sizeof(message));
    cli_complain(s->in->name, "%s %s %s at 0x%" PRIx64 ": %s", cuvet_severity_name(d->severity),
                 rule ? rule->id : "?", path, d->inner ? d->inner_off : d->file_off, message);
}

static void on_end(void *user, const cli_session *s, const cli_result *result)
{
    const dump_run *r = user;

    if (result->sum.members + result->sum.images == 0 && !result->why)
        cli_complain(s->in->name, "no device code found");
    (void)r;
}

static const cli_sink DUMP_SINK = {
    .begin = on_begin,
    .finding = on_finding,
    .member = on_member,
    .end = on_end,
};

int cmd_dump(int argc, char **argv)
{
    cli_args a;
    cli_needs needs = CLI_NO_NEEDS;
    cli_session s = { .args = &a, .depth = CUVET_DEPTH_FULL, .sink = &DUMP_SINK, .needs = &needs };
    dump_run r = { .d = { .o = { .to = stdout } } };
    int rc;

    if (!cli_parse(CLI_C_DUMP, argc, argv, &a, &rc))
        return rc;
    for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]); i++) {
        if (a.set[PARTS[i].option])
            r.d.parts |= PARTS[i].part;
    }
    if ((r.d.parts & ~(unsigned)DUMP_PTX) == 0)
        r.d.parts |= DUMP_DEFAULT;
    if (!cli_pick_init(&r.pick, &a))
        return CLI_X_USAGE;
    r.d.o.json = a.value[CLI_O_FORMAT] && strcmp(a.value[CLI_O_FORMAT], "ndjson") == 0;
    s.user = &r;
    rc = cli_demangle_start(&a, &needs.helper);
    if (rc != CLI_X_CLEAN)
        return rc;
    (void)__fsetlocking(stdout, FSETLOCKING_BYCALLER); /* one thread writes */
    rc = cli_session_run(&s);
    cli_demangle_stop();
    rc = cli_worse(rc, r.rc);
    cli_record_free(&r.d.o.rec);
    if (r.pick.active && r.shown == 0 && rc == CLI_X_CLEAN) {
        cli_complain(NULL, "no piece of device code was selected");
        rc = CLI_X_USAGE;
    }
    return cli_finish_stdout(cli_json_ok() ? rc : cli_worse(rc, CLI_X_INTERNAL));
}
