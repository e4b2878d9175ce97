/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "report.h"
#include "sandbox.h"

#include <inttypes.h>

#define SCHEMA "cuvet/1"

json_t *cli_json_begin(const char *type, const char *file)
{
    json_t *o = json_object();

    cli_json_set(o, "schema", json_string(SCHEMA));
    cli_json_set(o, "type", json_string(type));
    if (file)
        cli_json_set(o, "file", cli_json_text(file));
    return o;
}

static void set_path(json_t *o, const cuvet_path *p)
{
    char path[CLI_PATH_CAP];

    cli_path(p, path, sizeof(path));
    cli_json_set(o, "path", json_string(path));
}

static bool only_findings(const cli_session *s)
{
    return s->args->set[CLI_O_ONLY_FINDINGS];
}

static void on_finding(void *user, const cli_session *s, const cuvet_diag *d)
{
    const cuvet_rule_info *rule = cuvet_rule_get(d->rule);
    char message[CLI_MESSAGE_CAP];
    json_t *o;

    (void)user;
    if (only_findings(s) && d->severity == CUVET_NOTE)
        return;
    o = cli_json_begin("finding", s->in->name);
    cli_message(d, message, sizeof(message));
    cli_json_set(o, "rule", json_string(rule ? rule->id : "?"));
    cli_json_set(o, "severity", json_string(cuvet_severity_name(d->severity)));
    set_path(o, &d->where);
    cli_json_set(o, "offset", cli_json_u64(d->file_off));
    if (d->inner)
        cli_json_set(o, "inner_offset", cli_json_u64(d->inner_off));
    cli_json_set(o, "length", cli_json_u64(d->length));
    cli_json_set(o, "got", cli_json_u64(d->got));
    cli_json_set(o, "want", cli_json_u64(d->want));
    cli_json_set(o, "message", cli_json_text(message));
    cli_json_put(o);
}

static void set_header(json_t *o, const cuvet_item *it)
{
    char version[16];

    snprintf(version, sizeof(version), "%u.%u", (unsigned)it->major, (unsigned)it->minor);
    cli_json_set(o, "container_offset", cli_json_u64(it->container_off));
    cli_json_set(o, "raw_kind", cli_json_u64(it->raw_kind));
    cli_json_set(o, "version", json_string(version));
    cli_json_set(o, "flags", cli_json_u64(it->flags));
    cli_json_set(o, "referenced", json_boolean(it->referenced));
    if (it->ident_len)
        cli_json_set(o, "identifier", cli_json_bytes(it->ident, it->ident_len));
}

static void set_producer(json_t *member, const cuvet_producer *p)
{
    json_t *o;
    char version[24];

    if (!p->tool || (!*p->tool && p->version == 0))
        return;
    o = json_object();
    snprintf(version, sizeof(version), "%" PRIu32 ".%" PRIu32, p->version / 10, p->version % 10);
    cli_json_set(o, "tool", json_string(p->tool));
    cli_json_set(o, "version", p->version ? json_string(version) : json_null());
    cli_json_set(o, "inferred", json_boolean(p->inferred));
    cli_json_set(member, "producer", o);
}

json_t *cli_json_member(const cli_session *s, const cuvet_item *it)
{
    char arch[32];
    json_t *o = cli_json_begin("member", s->in->name);

    cli_arch_text(it, arch, sizeof(arch));
    set_path(o, &it->where);
    cli_json_set(o, "kind", json_string(cuvet_kind_name(it->kind)));
    cli_json_set(o, "arch", *arch ? json_string(arch) : json_null());
    cli_json_set(o, "stored_size", cli_json_u64(it->stored_size));
    cli_json_set(o, "size", cli_json_u64(it->size));
    cli_json_set(o, "compression", json_string(cuvet_compression_name(it->compression)));
    cli_json_set(o, "offset", cli_json_u64(it->header_off));
    cli_json_set(o, "payload_offset", cli_json_u64(it->payload_off));
    cli_json_set(o, "in_container", json_boolean(it->in_container));
    if (it->in_container)
        set_header(o, it);
    if (it->ar_name)
        cli_json_set(o, "archive_member", cli_json_bytes(it->ar_name, it->ar_name_len));
    cli_json_set(o, "examined", json_boolean(it->examined));
    if (it->examined && it->kind == CUVET_K_ELF)
        cli_json_set(o, "kernels", cli_json_u64(it->kernels));
    set_producer(o, &it->producer);
    cli_json_set(o, "errors", cli_json_u64(it->errors));
    cli_json_set(o, "warnings", cli_json_u64(it->warnings));
    return o;
}

static void on_member(void *user, const cli_session *s, const cuvet_item *it)
{
    (void)user;
    if (!only_findings(s) || it->errors + it->warnings > 0)
        cli_json_put(cli_json_member(s, it));
}

static void on_end(void *user, const cli_session *s, const cli_result *r)
{
    const cuvet_summary *m = &r->sum;
    json_t *o;

    (void)user;
    if (only_findings(s) && !cli_is_finding(r))
        return;
    o = cli_json_begin("verdict", s->in->name);
    cli_json_set(o, "verdict", json_string(cuvet_verdict_name(r->verdict)));
    cli_json_set(o, "depth", json_string(s->depth == CUVET_DEPTH_FULL ? "full" : "headers"));
    if (r->why)
        cli_json_set(o, "reason", cli_json_text(r->why));
    cli_json_set(o, "members", cli_json_u64(m->members));
    cli_json_set(o, "findings", cli_json_u64(m->warnings + m->errors));
    cli_json_set(o, "containers", cli_json_u64(m->containers));
    cli_json_set(o, "unreferenced", cli_json_u64(m->unreferenced));
    cli_json_set(o, "images", cli_json_u64(m->images));
    cli_json_set(o, "elf", cli_json_u64(m->elf));
    cli_json_set(o, "ptx", cli_json_u64(m->ptx));
    cli_json_set(o, "ltoir", cli_json_u64(m->ltoir));
    cli_json_set(o, "other", cli_json_u64(m->other));
    cli_json_set(o, "stored", cli_json_u64(m->stored));
    cli_json_set(o, "unpacked", cli_json_u64(m->unpacked));
    cli_json_set(o, "opaque", cli_json_u64(m->opaque));
    cli_json_set(o, "gap_bytes", cli_json_u64(m->gap_bytes));
    cli_json_set(o, "notes", cli_json_u64(m->notes));
    cli_json_set(o, "warnings", cli_json_u64(m->warnings));
    cli_json_set(o, "errors", cli_json_u64(m->errors));
    cli_json_set(o, "suppressed", cli_json_u64(m->suppressed));
    if (r->filtered) {
        cli_json_set(o, "filtered_pieces", cli_json_u64(r->left_out));
        cli_json_set(o, "filtered_findings", cli_json_u64(r->left_out_findings));
    }
    cli_json_set(o, "sandbox", json_string(cli_cage_state()));
    cli_json_set(o, "exit", cli_json_u64((uint64_t)r->rc));
    cli_json_put(o);
}

void cli_ndjson_summary(const cli_session *s)
{
    json_t *o;

    if (s->cut_short || s->n_inputs == 0 || (s->n_inputs == 1 && !only_findings(s)))
        return;
    o = cli_json_begin("summary", NULL);
    cli_json_set(o, "files", cli_json_u64(s->n_inputs));
    for (size_t v = 0; v <= CUVET_V_ERROR; v++)
        cli_json_set(o, cuvet_verdict_name((cuvet_verdict)v), cli_json_u64(s->tally.files[v]));
    cli_json_put(o);
}

const cli_sink cli_ndjson_sink = { .finding = on_finding, .member = on_member, .end = on_end };
