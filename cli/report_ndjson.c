/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "report.h"
#include "sandbox.h"

#include <inttypes.h>
#include <time.h>

/* Whoever reads along sees a line this soon after it was printed if the next one takes no longer: each flush
 * is a system call, which costs more than the line. */
#define FLUSH_MS 50

json_t *cli_json_begin(const char *type, const char *file)
{
    json_t *o = json_object();

    cli_json_set(o, "schema", json_string(CLI_SCHEMA));
    cli_json_set(o, "type", json_string(type));
    if (file)
        cli_json_set(o, "file", cli_json_text(file));
    return o;
}

/* One at a time: whatever the number of threads, one of them reports. */
static cli_record record;
static int64_t flushed; /* milliseconds */

static int64_t now_ms(void)
{
    struct timespec t;

    return clock_gettime(CLOCK_MONOTONIC, &t) == 0 ? (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 : 0;
}

static void put(bool flush)
{
    int64_t now = now_ms();

    cli_record_put(&record, stdout);
    if (!flush && now - flushed < FLUSH_MS)
        return;
    flushed = now;
    fflush(stdout); /* a failure stays in ferror(stdout), which the session watches */
}

void cli_ndjson_put(void)
{
    put(false);
}

static void put_path(cli_record *o, const cuvet_path *p)
{
    char path[CLI_PATH_CAP];

    cli_path(p, path, sizeof(path));
    cli_record_string(o, "path", path);
}

static bool only_findings(const cli_session *s)
{
    return s->args->set[CLI_O_ONLY_FINDINGS];
}

static void on_finding(void *user, const cli_session *s, const cuvet_diag *d)
{
    const cuvet_rule_info *rule = cuvet_rule_get(d->rule);
    char message[CLI_MESSAGE_CAP];
    cli_record *o = &record;

    (void)user;
    if (only_findings(s) && d->severity == CUVET_NOTE)
        return;
    cli_record_begin(o, "finding", s->in->name);
    cli_message(d, message, sizeof(message));
    cli_record_string(o, "rule", rule ? rule->id : "?");
    cli_record_string(o, "severity", cuvet_severity_name(d->severity));
    put_path(o, &d->where);
    cli_record_u64(o, "offset", d->file_off);
    if (d->inner)
        cli_record_u64(o, "inner_offset", d->inner_off);
    cli_record_u64(o, "length", d->length);
    cli_record_u64(o, "got", d->got);
    cli_record_u64(o, "want", d->want);
    cli_record_text(o, "message", message);
    put(false);
}

static void put_header(cli_record *o, const cuvet_item *it)
{
    char version[16];

    snprintf(version, sizeof(version), "%u.%u", (unsigned)it->major, (unsigned)it->minor);
    cli_record_u64(o, "container_offset", it->container_off);
    cli_record_u64(o, "raw_kind", it->raw_kind);
    cli_record_string(o, "version", version);
    cli_record_u64(o, "flags", it->flags);
    cli_record_bool(o, "referenced", it->referenced);
    if (it->ident_len)
        cli_record_bytes(o, "identifier", it->ident, it->ident_len);
}

static void put_producer(cli_record *o, const cuvet_producer *p)
{
    char release[CLI_RELEASE_CAP];

    if (!p->tool || (!*p->tool && p->version == 0))
        return;
    cli_record_open(o, "producer", '{');
    cli_record_string(o, "tool", p->tool);
    cli_release_text(p->version, release, sizeof(release));
    if (*release)
        cli_record_string(o, "version", release);
    else
        cli_record_null(o, "version");
    cli_record_bool(o, "inferred", p->inferred);
    cli_record_close(o, '}');
}

cli_record *cli_ndjson_member(const cli_session *s, const cuvet_item *it)
{
    cli_record *o = &record;
    char arch[32];

    cli_record_begin(o, "member", s->in->name);
    cli_arch_text(it, arch, sizeof(arch));
    put_path(o, &it->where);
    cli_record_string(o, "kind", cuvet_kind_name(it->kind));
    if (*arch)
        cli_record_string(o, "arch", arch);
    else
        cli_record_null(o, "arch");
    cli_record_u64(o, "stored_size", it->stored_size);
    cli_record_u64(o, "size", it->unpacked_size);
    cli_record_string(o, "compression", cuvet_compression_name(it->compression));
    cli_record_u64(o, "offset", it->header_off);
    cli_record_u64(o, "payload_offset", it->payload_off);
    cli_record_bool(o, "in_container", it->in_container);
    if (it->in_container)
        put_header(o, it);
    if (it->ar_name)
        cli_record_bytes(o, "archive_member", it->ar_name, it->ar_name_len);
    if (it->triple)
        cli_record_bytes(o, "triple", it->triple, it->triple_len);
    cli_record_bool(o, "examined", it->examined);
    if (it->examined && it->kind == CUVET_K_CUBIN)
        cli_record_u64(o, "kernels", it->kernels);
    put_producer(o, &it->producer);
    cli_record_u64(o, "errors", it->errors);
    cli_record_u64(o, "warnings", it->warnings);
    return o;
}

static void on_member(void *user, const cli_session *s, const cuvet_item *it)
{
    (void)user;
    if (only_findings(s) && it->errors + it->warnings == 0)
        return;
    (void)cli_ndjson_member(s, it); /* the one that is put */
    cli_ndjson_put();
}

static void on_end(void *user, const cli_session *s, const cli_result *end)
{
    const cuvet_summary *m = &end->sum;
    cli_record *o = &record;

    (void)user;
    if (only_findings(s) && !cli_is_finding(end))
        return;
    cli_record_begin(o, "verdict", s->in->name);
    cli_record_string(o, "verdict", cuvet_verdict_name(end->verdict));
    cli_record_string(o, "depth", s->depth == CUVET_DEPTH_FULL ? "full" : "headers");
    if (end->why)
        cli_record_text(o, "reason", end->why);
    cli_record_u64(o, "members", m->members);
    cli_record_u64(o, "findings", m->warnings + m->errors);
    cli_record_u64(o, "containers", m->containers);
    cli_record_u64(o, "unreferenced", m->unreferenced);
    cli_record_u64(o, "images", m->images);
    cli_record_u64(o, "elf", m->elf);
    cli_record_u64(o, "ptx", m->ptx);
    cli_record_u64(o, "ltoir", m->ltoir);
    cli_record_u64(o, "bitcode", m->bitcode);
    cli_record_u64(o, "other", m->other);
    cli_record_u64(o, "stored", m->stored);
    cli_record_u64(o, "unpacked", m->unpacked);
    cli_record_u64(o, "opaque", m->opaque);
    cli_record_u64(o, "gap_bytes", m->gap_bytes);
    cli_record_u64(o, "notes", m->notes);
    cli_record_u64(o, "warnings", m->warnings);
    cli_record_u64(o, "errors", m->errors);
    cli_record_u64(o, "suppressed", m->suppressed);
    if (end->filtered) {
        cli_record_u64(o, "filtered_pieces", end->left_out);
        cli_record_u64(o, "filtered_findings", end->left_out_findings);
    }
    cli_record_string(o, "sandbox", cli_cage_state());
    cli_record_u64(o, "exit", (uint64_t)end->rc);
    put(true);
}

void cli_ndjson_summary(const cli_session *s)
{
    cli_record *o = &record;

    if (s->cut_short || s->n_inputs == 0 || (s->n_inputs == 1 && !only_findings(s)))
        return;
    cli_record_begin(o, "summary", NULL);
    cli_record_u64(o, "files", s->n_inputs);
    for (size_t v = 0; v <= CUVET_V_ERROR; v++)
        cli_record_u64(o, cuvet_verdict_name((cuvet_verdict)v), s->tally.files[v]);
    put(true);
}

const cli_sink cli_ndjson_sink = { .finding = on_finding, .member = on_member, .end = on_end };
