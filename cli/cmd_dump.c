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
    dump_state dump;
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
    void (*decode)(dump_state *dump, uint64_t index, const cuvet_elf_section *section);
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

static void decode_section(dump_state *dump, uint64_t index, const cuvet_elf_section *section)
{
    const decoder_row *row = &DECODERS[cuvet_section_get_content(section)];

    if (row->decode && dump->parts & row->part)
        row->decode(dump, index, section);
    /* A capsule is opaque behind its first words: its bytes are data as well. */
    if (row->part == DUMP_CAPSULES && dump->parts & DUMP_DATA)
        dump_data(dump, index, section);
}

static void dump_elf(dump_state *dump)
{
    cuvet_elf_section section = { .size = sizeof(section) };

    if (dump->parts & DUMP_HEADER)
        dump_header(dump);
    if (dump->parts & DUMP_SECTIONS)
        dump_sections(dump);
    if (dump->parts & DUMP_SEGMENTS)
        dump_segments(dump);
    if (dump->parts & DUMP_SYMBOLS)
        dump_symbols(dump);
    if (dump->parts & DUMP_RELOCS)
        dump_relocs(dump);
    for (uint64_t i = 1; out_spend(&dump->out, 1) && dump_section(dump, i, &section); i++) {
        if (section.body.n > 0)
            decode_section(dump, i, &section);
    }
}

static void announce_file(dump_run *run, const cuvet_item *item)
{
    dump_out *out = &run->dump.out;
    char arch[32];

    cli_arch_text(item, arch, sizeof(arch));
    if (!out->json) {
        fputs(run->any ? "\n\n" : "", out->to);
        dump_put(out, out->to, (cuvet_bytes){ (const uint8_t *)out->file, strlen(out->file) });
        fprintf(out->to, ": %s%s%s%s%s, %" PRIu64 " bytes\n", out->path, *out->path ? ": " : "",
                cuvet_kind_name(item->kind), *arch ? " " : "", arch, item->unpacked_size);
        return;
    }
    out_begin(out, "piece", false);
    out_dec(out, "number", 0, run->at);
    out_text(out, "kind", 0, cuvet_kind_name(item->kind));
    out_text(out, "arch", 0, arch);
    out_dec(out, "size", 0, item->unpacked_size);
    out_text(out, "compression", 0, cuvet_compression_name(item->compression));
    out_end(out);
}

static cuvet_status show_open(dump_state *dump)
{
    cuvet_status status, closed;

    dump->header.size = sizeof(dump->header);
    status = cuvet_elf_get_header(dump->ctx, dump->elf, &dump->header);

    if (status == CUVET_OK)
        dump_elf(dump);
    closed = cuvet_elf_destroy(dump->ctx, &dump->elf);
    return status == CUVET_OK ? closed : status;
}

static void show_elf(dump_run *run, const void *bytes, size_t size)
{
    dump_state *dump = &run->dump;
    cuvet_status status;

    run->quiet = true;
    status = cuvet_elf_create(dump->ctx, bytes, size, &dump->elf);
    run->quiet = false;
    if (status == CUVET_OK)
        status = show_open(dump);
    if (status == CUVET_OK)
        return;
    cli_complain(dump->out.file, "%s: %s", dump->out.path, cli_status_text(status));
    run->rc = cli_worse(run->rc, cli_exit_of(status));
}

/* The limit 'work' is about bytes looked at per byte of input; the same factor bounds what may be printed. */
static uint64_t budget_of(uint64_t size, uint64_t work, uint64_t least)
{
    return work > 0 && size > UINT64_MAX / work ? UINT64_MAX : size * work > least ? size * work : least;
}

static void set_budget(dump_out *out, const cli_session *session, uint64_t size)
{
    uint64_t own = budget_of(size, session->args->limits.work, FLOOR_BUDGET);

    out->spent = 0;
    out->cut = false;
    out->budget = own < out->file_left ? own : out->file_left;
}

static void on_member(void *user, const cli_session *session, const cuvet_item *item)
{
    dump_run *run = user;
    const void *bytes;
    size_t count;

    run->dump.ctx = session->ctx;
    run->dump.out.file = session->in->name;
    cli_path(&item->where, run->dump.out.path, sizeof(run->dump.out.path));
    if (cli_picked(&run->pick, item, run->at)) {
        set_budget(&run->dump.out, session, item->unpacked_size);
        announce_file(run, item);
        run->any = true;
        run->shown++;
        if (cuvet_scan_payload(session->ctx, session->scan, &bytes, &count) != CUVET_OK)
            out_title(&run->dump.out, "(not unpacked)");
        else if (item->kind == CUVET_K_CUBIN)
            show_elf(run, bytes, count);
        else if (item->kind == CUVET_K_PTX)
            dump_ptx(&run->dump, (cuvet_bytes){ bytes, count }, (run->dump.parts & DUMP_PTX) != 0);
    }
    run->dump.out.file_left -=
        run->dump.out.spent < run->dump.out.file_left ? run->dump.out.spent : run->dump.out.file_left;
    run->dump.out.spent = 0;
    if (run->dump.out.cut) {
        cli_complain(session->in->name, "%s: the limit '%s' ended the dump of this piece", run->dump.out.path,
                     run->dump.out.file_left == 0 ? "budget" : "work");
        run->rc = cli_worse(run->rc, CLI_X_LIMIT);
        run->dump.out.cut = false;
    }
    run->at++;
}

static void on_begin(void *user, const cli_session *session)
{
    dump_run *run = user;

    run->at = 0;
    run->dump.out.file_left = budget_of(session->in->why ? 0 : session->in->source.length,
                                        session->args->limits.work, session->args->limits.budget);
}

/* Damage goes to standard error: what can be shown of the file is on standard output, and stays comparable.
 */
static void on_finding(void *user, const cli_session *session, const cuvet_diag *diag)
{
    const dump_run *run = user;
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);
    char path[CLI_PATH_CAP], message[512];

    if (run->quiet || diag->severity == CUVET_NOTE)
        return;
    cli_path(&diag->where, path, sizeof(path));
    cuvet_diag_message(diag, message, sizeof(message));
    cli_complain(session->in->name, "%s %s %s at 0x%" PRIx64 ": %s", cuvet_severity_name(diag->severity),
                 rule ? rule->id : "?", path,
                 (diag->flags & CUVET_DIAG_INNER) != 0 ? diag->inner_off : diag->file_off, message);
}

static void on_end(void *user, const cli_session *session, const cli_result *result)
{
    const dump_run *run = user;

    /* most entries of a package have none */
    if (session->in->what == CLI_INPUT && result->sum.members + result->sum.images == 0 && !result->why)
        cli_complain(session->in->name, "no device code found");
    (void)run;
}

static const cli_sink DUMP_SINK = {
    .begin = on_begin,
    .finding = on_finding,
    .member = on_member,
    .end = on_end,
};

int cmd_dump(int argc, char **argv)
{
    cli_args args;
    cli_needs needs = CLI_NO_NEEDS;
    cli_session session = { .args = &args, .depth = CUVET_DEPTH_FULL, .sink = &DUMP_SINK, .needs = &needs };
    dump_run run = { .dump = { .out = { .to = stdout } } };
    int rc;

    if (!cli_parse(CLI_C_DUMP, argc, argv, &args, &rc))
        return rc;
    for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]); i++) {
        if (args.set[PARTS[i].option])
            run.dump.parts |= PARTS[i].part;
    }
    if ((run.dump.parts & ~(unsigned)DUMP_PTX) == 0)
        run.dump.parts |= DUMP_DEFAULT;
    if (!cli_pick_init(&run.pick, &args))
        return CLI_X_USAGE;
    run.dump.out.json = args.value[CLI_O_FORMAT] && strcmp(args.value[CLI_O_FORMAT], "ndjson") == 0;
    session.user = &run;
    rc = cli_demangle_start(&args, &needs.helper);
    if (rc != CLI_X_CLEAN)
        return rc;
    (void)__fsetlocking(stdout, FSETLOCKING_BYCALLER); /* one thread writes */
    rc = cli_session_run(&session);
    cli_demangle_stop();
    rc = cli_worse(rc, run.rc);
    cli_record_free(&run.dump.out.rec);
    if (run.pick.active && run.shown == 0 && rc == CLI_X_CLEAN) {
        cli_complain(NULL, "no piece of device code was selected");
        rc = CLI_X_USAGE;
    }
    return cli_finish_stdout(cli_json_ok() ? rc : cli_worse(rc, CLI_X_INTERNAL));
}
