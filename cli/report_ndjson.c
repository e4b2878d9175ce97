/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "report.h"
#include "sandbox.h"
#include "whole.h"
#include "yara/yara.h"

#include <inttypes.h>

/* Whoever reads along sees a line this soon after it was printed if the next one takes no longer: each flush
 * is a system call, which costs more than the line. */
#define FLUSH_MS 50

json_t *cli_json_begin(const char *type, const char *file)
{
    json_t *object = json_object();

    cli_json_set(object, "schema", json_string(CLI_SCHEMA));
    cli_json_set(object, "type", json_string(type));
    if (file)
        cli_json_set(object, "file", cli_json_text(file));
    return object;
}

/* One at a time: whatever the number of threads, one of them reports. */
static cli_record record;
static int64_t flushed; /* milliseconds */

static void put(bool flush)
{
    int64_t now = cli_now_ms();

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

static void put_path(cli_record *out, const cuvet_path *where)
{
    char path[CLI_PATH_CAP];

    cli_path(where, path, sizeof(path));
    cli_record_string(out, "path", path);
}

static bool only_findings(const cli_session *session)
{
    return session->args->set[CLI_O_ONLY_FINDINGS];
}

static void on_finding(void *user, const cli_session *session, const cuvet_diag *diag)
{
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);
    char message[CLI_MESSAGE_CAP];
    cli_record *out = &record;

    (void)user;
    if (only_findings(session) && diag->severity == CUVET_NOTE)
        return;
    cli_record_begin(out, "finding", session->in->name);
    cli_message(diag, message, sizeof(message));
    cli_record_string(out, "rule", rule ? rule->id : "?");
    cli_record_string(out, "severity", cuvet_severity_name(diag->severity));
    put_path(out, &diag->where);
    cli_record_u64(out, "offset", diag->file_off);
    if ((diag->flags & CUVET_DIAG_INNER) != 0)
        cli_record_u64(out, "inner_offset", diag->inner_off);
    cli_record_u64(out, "length", diag->length);
    cli_record_u64(out, "got", diag->got);
    cli_record_u64(out, "want", diag->want);
    cli_record_text(out, "message", message);
    put(false);
}

static void put_places(cli_record *out, const cli_hit *hit)
{
    cli_record_u64(out, "places", hit->what->places);
    cli_record_open(out, "strings", '[');
    for (uint32_t i = 0; i < hit->what->n_places; i++) {
        const yara_place *place = &hit->what->place[i];

        cli_record_open(out, NULL, '{');
        cli_record_string(out, "string", place->string);
        cli_record_u64(out, "offset", cli_hit_file_off(hit, place->off));
        cli_record_u64(out, "inner_offset", place->off);
        cli_record_u64(out, "length", place->length);
        cli_record_close(out, '}');
    }
    cli_record_close(out, ']');
}

static void put_rule_of(cli_record *out, const yara_hit *what)
{
    cli_record_string(out, "rule", what->rule);
    cli_record_string(out, "namespace", what->space);
    cli_record_string(out, "tags", what->tags);
    cli_record_open(out, "meta", '[');
    for (uint32_t i = 0; i < what->n_metas; i++) {
        cli_record_open(out, NULL, '{');
        cli_record_string(out, "name", what->meta[i].name);
        cli_record_text(out, "value", what->meta[i].value);
        cli_record_close(out, '}');
    }
    cli_record_close(out, ']');
}

/* A finding as others, by a rule that is not one of the library's. */
static void on_hit(void *user, const cli_session *session, const cli_hit *hit)
{
    cli_record *out = &record;

    (void)user;
    if (only_findings(session) && hit->severity == CUVET_NOTE)
        return;
    cli_record_begin(out, "finding", session->in->name);
    cli_record_string(out, "rule", hit->rule);
    cli_record_string(out, "severity", cuvet_severity_name(hit->severity));
    put_path(out, &hit->item->where);
    cli_record_u64(out, "offset", cli_hit_file_off(hit, hit->inner_off));
    cli_record_u64(out, "inner_offset", hit->inner_off);
    cli_record_u64(out, "length", hit->length);
    cli_record_text(out, "message", cli_hit_text(hit));
    cli_record_open(out, "yara", '{');
    put_rule_of(out, hit->what);
    cli_record_string(out, "section", hit->section); /* was escaped */
    cli_record_bool(out, "stored_as_is", hit->exact);
    put_places(out, hit);
    cli_record_close(out, '}');
    put(false);
}

static void put_header(cli_record *out, const cuvet_item *item)
{
    char version[16];

    snprintf(version, sizeof(version), "%u.%u", (unsigned)item->major, (unsigned)item->minor);
    cli_record_u64(out, "container_offset", item->container_off);
    cli_record_u64(out, "raw_kind", item->raw_kind);
    cli_record_string(out, "version", version);
    cli_record_u64(out, "flags", item->member_flags);
    cli_record_bool(out, "referenced", (item->flags & CUVET_ITEM_REFERENCED) != 0);
    if (item->ident_len)
        cli_record_bytes(out, "identifier", item->ident, item->ident_len);
}

static void put_producer(cli_record *out, const cuvet_producer *producer)
{
    char release[CLI_RELEASE_CAP];

    if (!producer->tool || (!*producer->tool && producer->version == 0))
        return;
    cli_record_open(out, "producer", '{');
    cli_record_string(out, "tool", producer->tool);
    cli_release_text(producer->version, release, sizeof(release));
    if (*release)
        cli_record_string(out, "version", release);
    else
        cli_record_null(out, "version");
    cli_record_bool(out, "inferred", (producer->flags & CUVET_PRODUCER_INFERRED) != 0);
    cli_record_close(out, '}');
}

/* Of a file of an image archive that is in no image. */
static void put_fate(cli_record *out, const cli_input *in)
{
    if (in->fate != CLI_FATE_CONTENT)
        cli_record_string(out, "image", cli_fate_name(in->fate));
    if (in->layer)
        cli_record_u64(out, "layer", in->layer);
}

cli_record *cli_ndjson_member(const cli_session *session, const cuvet_item *item)
{
    cli_record *out = &record;
    char arch[32];

    cli_record_begin(out, "member", session->in->name);
    cli_arch_text(item, arch, sizeof(arch));
    put_path(out, &item->where);
    cli_record_string(out, "kind", cuvet_kind_name(item->kind));
    if (*arch)
        cli_record_string(out, "arch", arch);
    else
        cli_record_null(out, "arch");
    cli_record_u64(out, "stored_size", item->stored_size);
    cli_record_u64(out, "size", item->unpacked_size);
    cli_record_string(out, "compression", cuvet_compression_name(item->compression));
    cli_record_u64(out, "offset", item->header_off);
    cli_record_u64(out, "payload_offset", item->payload_off);
    cli_record_bool(out, "in_container", (item->flags & CUVET_ITEM_IN_CONTAINER) != 0);
    if ((item->flags & CUVET_ITEM_IN_CONTAINER) != 0)
        put_header(out, item);
    if (item->ar_name)
        cli_record_cut(out, "archive_member", item->ar_name, item->ar_name_len, CLI_MEMBER_CAP);
    if (item->triple)
        cli_record_bytes(out, "triple", item->triple, item->triple_len);
    cli_record_bool(out, "examined", (item->flags & CUVET_ITEM_EXAMINED) != 0);
    if ((item->flags & CUVET_ITEM_EXAMINED) != 0 && item->kind == CUVET_K_CUBIN)
        cli_record_u64(out, "kernels", item->kernels);
    put_producer(out, &item->producer);
    cli_record_u64(out, "errors", item->errors);
    cli_record_u64(out, "warnings", item->warnings);
    put_fate(out, session->in);
    return out;
}

static void on_member(void *user, const cli_session *session, const cuvet_item *item)
{
    (void)user;
    if (only_findings(session) && item->errors + item->warnings == 0)
        return;
    (void)cli_ndjson_member(session, item); /* the one that is put */
    cli_ndjson_put();
}

static void on_end(void *user, const cli_session *session, const cli_result *end)
{
    const cuvet_summary *summary = &end->sum;
    cli_record *out = &record;

    (void)user;
    if (only_findings(session) && !cli_is_finding(end))
        return;
    if (session->in->what == CLI_PACKAGE) {
        cli_record_begin(out, "package", session->in->name);
        cli_record_u64(out, "entries", session->in->entries);
        put(true);
        return;
    }
    cli_record_begin(out, "verdict", session->in->name);
    cli_record_string(out, "verdict", cuvet_verdict_name(end->verdict));
    cli_record_string(out, "depth", session->depth == CUVET_DEPTH_FULL ? "full" : "headers");
    if (end->why)
        cli_record_text(out, "reason", end->why);
    put_fate(out, session->in);
    cli_record_u64(out, "members", summary->members);
    cli_record_u64(out, "findings", summary->warnings + summary->errors);
    cli_record_u64(out, "containers", summary->containers);
    cli_record_u64(out, "unreferenced", summary->unreferenced);
    cli_record_u64(out, "images", summary->images);
    cli_record_u64(out, "elf", summary->elf);
    cli_record_u64(out, "ptx", summary->ptx);
    cli_record_u64(out, "ltoir", summary->ltoir);
    cli_record_u64(out, "bitcode", summary->bitcode);
    cli_record_u64(out, "other", summary->other);
    cli_record_u64(out, "stored", summary->stored);
    cli_record_u64(out, "unpacked", summary->unpacked);
    cli_record_u64(out, "opaque", summary->opaque);
    cli_record_u64(out, "gap_bytes", summary->gap_bytes);
    cli_record_u64(out, "notes", summary->notes);
    cli_record_u64(out, "warnings", summary->warnings);
    cli_record_u64(out, "errors", summary->errors);
    cli_record_u64(out, "suppressed", summary->suppressed);
    if (end->ruled) {
        cli_record_u64(out, "yara_hits", end->hits);
        cli_record_u64(out, "yara_unseen", end->unseen);
    }
    if (end->filtered) {
        cli_record_u64(out, "filtered_pieces", end->left_out);
        cli_record_u64(out, "filtered_findings", end->left_out_findings);
    }
    cli_record_string(out, "sandbox", cli_cage_state());
    cli_record_u64(out, "exit", (uint64_t)end->rc);
    put(true);
}

void cli_ndjson_summary(const cli_session *session)
{
    cli_record *out = &record;

    if (session->cut_short || session->n_inputs == 0 || (session->n_inputs == 1 && !only_findings(session)))
        return;
    cli_record_begin(out, "summary", NULL);
    cli_record_u64(out, "files", session->n_inputs);
    for (size_t verdict = 0; verdict <= CUVET_V_ERROR; verdict++)
        cli_record_u64(out, cuvet_verdict_name((cuvet_verdict)verdict), session->tally.files[verdict]);
    put(true);
}

const cli_sink cli_ndjson_sink = { .finding = on_finding, .hit = on_hit, .member = on_member, .end = on_end };
