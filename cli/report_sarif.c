/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* SARIF 2.1.0. One run; each input is an artifact, the pieces that findings lie in are artifacts nested in
 * it. */
#include "report.h"
#include "sandbox.h"

#include <stdlib.h>
#include <string.h>

#define HELP_BASE "docs/rules.md#"
#define URI_CAP   16384

struct cli_sarif_report {
    const cli_args *args;
    json_t *artifacts, *results, *notifications;
    json_t *known;        /* of the present file: path text → index of its artifact; "" is the file */
    size_t file_artifact; /* index */
};

static json_t *message_of(const char *text)
{
    json_t *message = json_object();

    cli_json_set(message, "text", cli_json_text(text));
    return message;
}

/* The source is read a second time; the hash is left out when that fails. */
static json_t *hash_of(const cuvet_source *src)
{
    char hex[CLI_SHA256_CAP];
    cli_digest digest;

    if (!cli_digest_source(&digest, src, 0, src->length))
        return NULL;
    cli_digest_text(&digest, hex);
    return json_pack("{s:s}", "sha-256", hex);
}

static json_t *location_of(const char *bytes)
{
    char *uri = malloc(URI_CAP);
    json_t *object = json_object();

    if (uri) {
        cli_uri(bytes, strlen(bytes), uri, URI_CAP);
        cli_json_set(object, "uri", json_string(uri));
    } else {
        cli_json_set(object, "uri", NULL);
    }
    free(uri);
    return object;
}

static void begin_file(void *user, const cli_session *session)
{
    cli_sarif_report *report = user;
    const char *name = strcmp(session->in->name, "-") == 0 ? "stdin" : session->in->name;
    json_t *artifact = json_object(), *hash;

    cli_json_set(artifact, "location", location_of(name));
    if (!session->in->why) {
        cli_json_set(artifact, "length", json_integer((json_int_t)session->in->source.length));
        /* A file that is too large to scan is too large to hash. */
        hash =
            session->in->source.length <= session->args->limits.input ? hash_of(&session->in->source) : NULL;
        if (hash)
            cli_json_set(artifact, "hashes", hash);
    }
    cli_json_set(artifact, "roles", json_pack("[s]", "analysisTarget"));
    report->file_artifact = json_array_size(report->artifacts);
    cli_json_append(report->artifacts, artifact);
    json_decref(report->known);
    report->known = json_object();
    cli_json_set(report->known, "", json_integer((json_int_t)report->file_artifact));
}

static bool is_artifact(const cuvet_step *step)
{
    switch ((cuvet_step_kind)step->kind) {
    case CUVET_P_MEMBER:
    case CUVET_P_FATBIN:
    case CUVET_P_ENTRY:
    case CUVET_P_ELF:
    case CUVET_P_SECTION:
    case CUVET_P_PTX:
    case CUVET_P_HOST:
    case CUVET_P_LTOIR:
    case CUVET_P_BITCODE: return true;
    case CUVET_P_NONE:
    case CUVET_P_SYMBOL:
    case CUVET_P_RELOC:
    case CUVET_P_RECORD:
    case CUVET_P_NOTE:
    case CUVET_P_SEGMENT:
    case CUVET_P_WRAPPER: break;
    }
    return false;
}

/* Index of the artifact for the first 'count' steps of a path, made on first use; its parent is the one of
 * the steps before. */
static size_t nested_artifact(cli_sarif_report *report, const cuvet_path *where, uint32_t count)
{
    size_t parent = report->file_artifact;

    for (uint32_t i = 1; i <= count && i <= CUVET_PATH_MAX; i++) {
        cuvet_path prefix = *where;
        char path[CLI_PATH_CAP + 1] = "/";
        const json_t *known;
        json_t *artifact;

        if (!is_artifact(&where->step[i - 1]))
            break;
        prefix.n = i;
        cli_path(&prefix, path + 1, sizeof(path) - 1);
        known = json_object_get(report->known, path + 1);
        if (known) {
            parent = (size_t)json_integer_value(known);
            continue;
        }
        artifact = json_object();
        cli_json_set(artifact, "location", location_of(path));
        cli_json_set(artifact, "parentIndex", json_integer((json_int_t)parent));
        parent = json_array_size(report->artifacts);
        cli_json_append(report->artifacts, artifact);
        cli_json_set(report->known, path + 1, json_integer((json_int_t)parent));
    }
    return parent;
}

/* Steps of a path up to the image that holds decompressed content: what inner offsets count in. */
static uint32_t content_steps(const cuvet_path *where)
{
    for (uint32_t i = 0; i < where->n && i < CUVET_PATH_MAX; i++) {
        uint8_t kind = where->step[i].kind;

        if (kind == CUVET_P_ELF || kind == CUVET_P_PTX || kind == CUVET_P_LTOIR || kind == CUVET_P_BITCODE)
            return i + 1;
    }
    return where->n;
}

static json_t *physical_location(const cli_sarif_report *report, size_t artifact, uint64_t off,
                                 uint64_t length)
{
    json_t *properties = json_object(), *region = json_object(), *location;
    const json_t *object = json_array_get(report->artifacts, artifact);

    location = json_deep_copy(json_object_get(object, "location"));
    cli_json_set(location, "index", json_integer((json_int_t)artifact));
    cli_json_set(properties, "artifactLocation", location);
    if (off <= INT64_MAX && length <= INT64_MAX) {
        cli_json_set(region, "byteOffset", json_integer((json_int_t)off));
        if (length)
            cli_json_set(region, "byteLength", json_integer((json_int_t)length));
        cli_json_set(properties, "region", region);
    } else {
        json_decref(region);
    }
    return properties;
}

static json_t *fingerprint(const char *rule, const char *path)
{
    char hex[CLI_SHA256_CAP];

    cli_fingerprint_of(rule, path, hex);
    return json_pack("{s:s}", "rulePath/v1", hex);
}

static json_t *locations(cli_sarif_report *report, const cuvet_diag *diag, const char *path)
{
    size_t artifact = nested_artifact(report, &diag->where, diag->where.n), content = artifact;
    json_t *location = json_object();

    if ((diag->flags & CUVET_DIAG_INNER) != 0)
        content = nested_artifact(report, &diag->where, content_steps(&diag->where));
    cli_json_set(location, "physicalLocation",
                 physical_location(
                     report, (diag->flags & CUVET_DIAG_INNER) != 0 ? content : report->file_artifact,
                     (diag->flags & CUVET_DIAG_INNER) != 0 ? diag->inner_off : diag->file_off, diag->length));
    if (*path)
        cli_json_set(location, "logicalLocations", json_pack("[{s:s}]", "fullyQualifiedName", path));
    return json_pack("[o]", location);
}

static void on_finding(void *user, const cli_session *session, const cuvet_diag *diag)
{
    cli_sarif_report *report = user;
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);
    const char *id = rule ? rule->id : "?";
    char path[CLI_PATH_CAP], message[CLI_MESSAGE_CAP];
    json_t *object = json_object(), *properties = json_object();

    (void)session;
    cli_path(&diag->where, path, sizeof(path));
    cli_message(diag, message, sizeof(message));
    cli_json_set(object, "ruleId", json_string(id));
    cli_json_set(object, "ruleIndex", json_integer((json_int_t)diag->rule));
    cli_json_set(object, "level", json_string(cuvet_severity_name(diag->severity)));
    cli_json_set(object, "message", message_of(message));
    cli_json_set(object, "locations", locations(report, diag, path));
    if ((diag->flags & CUVET_DIAG_INNER) != 0) {
        json_t *location = json_object();

        cli_json_set(location, "physicalLocation",
                     physical_location(report, report->file_artifact, diag->file_off, 0));
        cli_json_set(object, "relatedLocations", json_pack("[o]", location));
    }
    cli_json_set(object, "partialFingerprints", fingerprint(id, path));
    cli_json_set(properties, "path", json_string(path));
    cli_json_set(properties, "fileOffset", cli_json_u64(diag->file_off));
    cli_json_set(properties, "got", cli_json_u64(diag->got));
    cli_json_set(properties, "want", cli_json_u64(diag->want));
    cli_json_set(object, "properties", properties);
    cli_json_append(report->results, object);
}

/* Give an artifact that findings made known its extent. Its offset counts in its parent, where that holds
 * it byte for byte. */
static void set_extent(cli_sarif_report *report, const char *path, bool has_off, uint64_t off,
                       uint64_t length, uint64_t file_off)
{
    const json_t *known = json_object_get(report->known, path);
    json_t *artifact = known ? json_array_get(report->artifacts, (size_t)json_integer_value(known)) : NULL;
    json_t *properties;

    if (!artifact || json_object_get(artifact, "properties") || off > INT64_MAX || length > INT64_MAX)
        return;
    if (has_off)
        cli_json_set(artifact, "offset", json_integer((json_int_t)off));
    if (length)
        cli_json_set(artifact, "length", json_integer((json_int_t)length));
    properties = json_object();
    cli_json_set(properties, "fileOffset", cli_json_u64(file_off));
    cli_json_set(artifact, "properties", properties);
}

static json_t *producer_of(const cuvet_producer *producer)
{
    char release[CLI_RELEASE_CAP];
    json_t *object = json_object();

    cli_release_text(producer->version, release, sizeof(release));
    cli_json_set(object, "tool", json_string(producer->tool));
    cli_json_set(object, "version", *release ? json_string(release) : json_null());
    cli_json_set(object, "inferred", json_boolean((producer->flags & CUVET_PRODUCER_INFERRED) != 0));
    return object;
}

/* Of an artifact that findings made known. */
static void set_producer(const cli_sarif_report *report, const char *path, const cuvet_producer *producer)
{
    const json_t *known = json_object_get(report->known, path);
    json_t *properties;

    if (!known || !*path || !producer->tool || (!*producer->tool && producer->version == 0))
        return;
    properties =
        json_object_get(json_array_get(report->artifacts, (size_t)json_integer_value(known)), "properties");
    if (properties)
        cli_json_set(properties, "producer", producer_of(producer));
}

static void extent_of_entry(cli_sarif_report *report, const cuvet_item *item)
{
    uint64_t head = item->payload_off - item->header_off;
    cuvet_path inner = item->where;
    char path[CLI_PATH_CAP];

    cli_path(&item->where, path, sizeof(path));
    set_extent(report, path, item->header_off >= item->container_off, item->header_off - item->container_off,
               head + item->stored_size, item->header_off);
    if (inner.n >= CUVET_PATH_MAX)
        return;
    inner.step[inner.n++] = (cuvet_step){ .kind = item->kind == CUVET_K_PTX     ? CUVET_P_PTX
                                                  : item->kind == CUVET_K_LTOIR ? CUVET_P_LTOIR
                                                                                : CUVET_P_ELF };
    cli_path(&inner, path, sizeof(path));
    set_extent(report, path, item->compression == CUVET_Z_NONE, head, item->unpacked_size, item->payload_off);
    set_producer(report, path, &item->producer);
}

static void on_member(void *user, const cli_session *session, const cuvet_item *item)
{
    cli_sarif_report *report = user;
    cuvet_path container = item->where;
    char path[CLI_PATH_CAP];

    (void)session;
    if (!(item->flags & CUVET_ITEM_IN_CONTAINER)) {
        cli_path(&item->where, path, sizeof(path));
        if (*path)
            set_extent(report, path, item->where.n == 1, item->payload_off, item->unpacked_size,
                       item->payload_off);
        set_producer(report, path, &item->producer);
        return;
    }
    if (container.n > 0) {
        container.n--;
        cli_path(&container, path, sizeof(path));
        if (*path)
            set_extent(report, path, container.n == 1, item->container_off, 0, item->container_off);
    }
    extent_of_entry(report, item);
}

static void on_end(void *user, const cli_session *session, const cli_result *res)
{
    cli_sarif_report *report = user;
    const cuvet_summary *summary = &res->sum;
    json_t *properties, *artifact = json_array_get(report->artifacts, report->file_artifact);

    if (session->in->what == CLI_PACKAGE) /* its entries are artifacts of their own */
        return;
    properties = json_object();
    cli_json_set(properties, "verdict", json_string(cuvet_verdict_name(res->verdict)));
    cli_json_set(properties, "containers", cli_json_u64(summary->containers));
    cli_json_set(properties, "members", cli_json_u64(summary->members));
    cli_json_set(properties, "images", cli_json_u64(summary->images));
    cli_json_set(properties, "findings", cli_json_u64(summary->warnings + summary->errors));
    cli_json_set(properties, "notes", cli_json_u64(summary->notes));
    cli_json_set(properties, "suppressed", cli_json_u64(summary->suppressed));
    if (res->filtered) {
        cli_json_set(properties, "filteredPieces", cli_json_u64(res->left_out));
        cli_json_set(properties, "filteredFindings", cli_json_u64(res->left_out_findings));
    }
    cli_json_set(artifact, "properties", properties);
    if (res->why) {
        json_t *notification = json_object(), *location = json_object();

        cli_json_set(location, "physicalLocation",
                     physical_location(report, report->file_artifact, UINT64_MAX, 0));
        cli_json_set(notification, "level", json_string("error"));
        cli_json_set(notification, "message", message_of(res->why));
        cli_json_set(notification, "locations", json_pack("[o]", location));
        cli_json_append(report->notifications, notification);
    }
}

const cli_sink cli_sarif_sink = {
    .begin = begin_file, .finding = on_finding, .member = on_member, .end = on_end
};

cli_sarif_report *cli_sarif_begin(const cli_args *args)
{
    cli_sarif_report *report = calloc(1, sizeof(*report));

    if (!report)
        return NULL;
    report->args = args;
    report->artifacts = json_array();
    report->results = json_array();
    report->notifications = json_array();
    report->known = json_object();
    return report;
}

static json_t *rule_list(void)
{
    json_t *all = json_array();
    const cuvet_rule_info *rule;

    for (cuvet_rule id = 0; (rule = cuvet_rule_get(id)) != NULL; id++) {
        char uri[64] = HELP_BASE;
        size_t len = strlen(uri);
        json_t *object = json_object();

        for (const char *at = rule->id; *at && len + 1 < sizeof(uri); at++)
            uri[len++] = (char)(*at >= 'A' && *at <= 'Z' ? *at | 0x20 : *at);
        uri[len] = '\0';
        cli_json_set(object, "id", json_string(rule->id));
        cli_json_set(object, "shortDescription", message_of(rule->title));
        cli_json_set(object, "fullDescription", message_of(rule->why));
        cli_json_set(object, "helpUri", json_string(uri));
        cli_json_set(object, "defaultConfiguration",
                     json_pack("{s:s}", "level", cuvet_severity_name(rule->severity)));
        cli_json_append(all, object);
    }
    return all;
}

static json_t *verdicts(void)
{
    json_t *object = json_object();

#define VERDICT(verdict, name, meaning) cli_json_set(object, name, json_string(meaning));
#include "options.def"
    return json_pack("{s:o}", "verdicts", object);
}

static json_t *invocation(cli_sarif_report *report, int rc)
{
    json_t *object = json_object(), *properties = json_object(), *limits = json_object();
    const cuvet_limit_info *info;
    uint64_t value;

    for (size_t i = 0; cuvet_limits_get(&report->args->limits, i, &info, &value) == CUVET_OK; i++)
        cli_json_set(limits, info->name, cli_json_u64(value));
    cli_json_set(properties, "limits", limits);
    cli_json_set(properties, "sandbox", json_string(cli_cage_state()));
    cli_json_set(object, "executionSuccessful", json_boolean(rc == CLI_X_CLEAN || rc == CLI_X_FINDINGS));
    cli_json_set(object, "exitCode", json_integer(rc));
    cli_json_set(object, "toolExecutionNotifications", json_incref(report->notifications));
    cli_json_set(object, "properties", properties);
    return json_pack("[o]", object);
}

int cli_sarif_end(cli_sarif_report *report, int rc)
{
    json_t *log = json_object(), *run = json_object(), *driver = json_object();

    cli_json_set(driver, "name", json_string("cuvet"));
    cli_json_set(driver, "version", json_string(cuvet_version()));
    cli_json_set(driver, "rules", rule_list());
    cli_json_set(driver, "properties", verdicts());
    cli_json_set(run, "tool", json_pack("{s:o}", "driver", driver));
    cli_json_set(run, "invocations", invocation(report, rc));
    cli_json_set(run, "artifacts", json_incref(report->artifacts));
    cli_json_set(run, "results", json_incref(report->results));
    cli_json_set(log, "$schema", json_string(CLI_SARIF_SCHEMA));
    cli_json_set(log, "version", json_string("2.1.0"));
    cli_json_set(log, "runs", json_pack("[o]", run));
    if (!cli_json_ok()) {
        cli_complain(NULL, "out of memory; no SARIF log is printed");
        rc = cli_worse(rc, CLI_X_INTERNAL);
    } else {
        (void)json_dumpf(log, stdout, JSON_INDENT(1)); /* a failed write stays in ferror(stdout) */
        putchar('\n');
    }
    json_decref(log);
    json_decref(report->artifacts);
    json_decref(report->results);
    json_decref(report->notifications);
    json_decref(report->known);
    free(report);
    return rc;
}
