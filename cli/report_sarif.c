/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* SARIF 2.1.0. One run; each input is an artifact, the pieces that findings lie in are artifacts nested in
 * it. */
#include "report.h"
#include "sandbox.h"

#include <stdlib.h>
#include <string.h>

#define SARIF_SCHEMA                                                                                         \
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#define HELP_BASE  "docs/rules.md#"
#define URI_CAP    16384
#define HASH_BLOCK (1u << 16)

struct cli_sarif_report {
    const cli_args *args;
    json_t *artifacts, *results, *notifications;
    json_t *known;        /* of the present file: path text → index of its artifact; "" is the file */
    size_t file_artifact; /* index */
};

static json_t *message_of(const char *text)
{
    json_t *m = json_object();

    cli_json_set(m, "text", cli_json_text(text));
    return m;
}

/* The source is read a second time; the hash is left out when that fails. */
static json_t *hash_of(const cuvet_source *src)
{
    struct sha256_ctx sha;
    uint8_t digest[SHA256_DIGEST_SIZE], *block = malloc(HASH_BLOCK);
    char hex[2 * SHA256_DIGEST_SIZE + 1];
    uint64_t off = 0;
    json_t *out = NULL;

    sha256_init(&sha);
    while (block && off < src->length) {
        size_t n = src->length - off < HASH_BLOCK ? (size_t)(src->length - off) : HASH_BLOCK;

        if (src->read_at(src->user, off, block, n) != CUVET_OK)
            break;
        sha256_update(&sha, n, block);
        off += n;
    }
    if (block && off == src->length) {
        sha256_digest(&sha, sizeof(digest), digest);
        cli_hex(digest, sizeof(digest), hex);
        out = json_pack("{s:s}", "sha-256", hex);
    }
    free(block);
    return out;
}

static json_t *location_of(const char *bytes)
{
    char *uri = malloc(URI_CAP);
    json_t *o = json_object();

    if (uri) {
        cli_uri(bytes, strlen(bytes), uri, URI_CAP);
        cli_json_set(o, "uri", json_string(uri));
    } else {
        cli_json_set(o, "uri", NULL);
    }
    free(uri);
    return o;
}

static void begin_file(void *user, const cli_session *s)
{
    cli_sarif_report *r = user;
    const char *name = strcmp(s->in->name, "-") == 0 ? "stdin" : s->in->name;
    json_t *a = json_object(), *hash;

    cli_json_set(a, "location", location_of(name));
    if (!s->in->why) {
        cli_json_set(a, "length", json_integer((json_int_t)s->in->source.length));
        /* A file that is too large to scan is too large to hash. */
        hash = s->in->source.length <= s->args->limits.input ? hash_of(&s->in->source) : NULL;
        if (hash)
            cli_json_set(a, "hashes", hash);
    }
    cli_json_set(a, "roles", json_pack("[s]", "analysisTarget"));
    r->file_artifact = json_array_size(r->artifacts);
    cli_json_append(r->artifacts, a);
    json_decref(r->known);
    r->known = json_object();
    cli_json_set(r->known, "", json_integer((json_int_t)r->file_artifact));
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

/* Index of the artifact for the first n steps of a path, made on first use; its parent is the one of the
 * steps before. */
static size_t nested_artifact(cli_sarif_report *r, const cuvet_path *where, uint32_t n)
{
    size_t parent = r->file_artifact;

    for (uint32_t i = 1; i <= n && i <= CUVET_PATH_MAX; i++) {
        cuvet_path prefix = *where;
        char path[CLI_PATH_CAP + 1] = "/";
        const json_t *known;
        json_t *a;

        if (!is_artifact(&where->step[i - 1]))
            break;
        prefix.n = i;
        cli_path(&prefix, path + 1, sizeof(path) - 1);
        known = json_object_get(r->known, path + 1);
        if (known) {
            parent = (size_t)json_integer_value(known);
            continue;
        }
        a = json_object();
        cli_json_set(a, "location", location_of(path));
        cli_json_set(a, "parentIndex", json_integer((json_int_t)parent));
        parent = json_array_size(r->artifacts);
        cli_json_append(r->artifacts, a);
        cli_json_set(r->known, path + 1, json_integer((json_int_t)parent));
    }
    return parent;
}

/* Steps of a path up to the image that holds decompressed content: what inner offsets count in. */
static uint32_t content_steps(const cuvet_path *where)
{
    for (uint32_t i = 0; i < where->n && i < CUVET_PATH_MAX; i++) {
        uint8_t k = where->step[i].kind;

        if (k == CUVET_P_ELF || k == CUVET_P_PTX || k == CUVET_P_LTOIR || k == CUVET_P_BITCODE)
            return i + 1;
    }
    return where->n;
}

static json_t *physical(const cli_sarif_report *r, size_t artifact, uint64_t off, uint64_t length)
{
    json_t *p = json_object(), *region = json_object(), *location;
    const json_t *a = json_array_get(r->artifacts, artifact);

    location = json_deep_copy(json_object_get(a, "location"));
    cli_json_set(location, "index", json_integer((json_int_t)artifact));
    cli_json_set(p, "artifactLocation", location);
    if (off <= INT64_MAX && length <= INT64_MAX) {
        cli_json_set(region, "byteOffset", json_integer((json_int_t)off));
        if (length)
            cli_json_set(region, "byteLength", json_integer((json_int_t)length));
        cli_json_set(p, "region", region);
    } else {
        json_decref(region);
    }
    return p;
}

/* The same rule at the same structural place is the same result, however the bytes around it move. */
static json_t *fingerprint(const char *rule, const char *path)
{
    struct sha256_ctx sha;
    uint8_t digest[SHA256_DIGEST_SIZE];
    char hex[2 * SHA256_DIGEST_SIZE + 1];

    sha256_init(&sha);
    sha256_update(&sha, strlen(rule) + 1, (const uint8_t *)rule);
    sha256_update(&sha, strlen(path), (const uint8_t *)path);
    sha256_digest(&sha, sizeof(digest), digest);
    cli_hex(digest, sizeof(digest), hex);
    return json_pack("{s:s}", "rulePath/v1", hex);
}

static json_t *locations(cli_sarif_report *r, const cuvet_diag *d, const char *path)
{
    size_t artifact = nested_artifact(r, &d->where, d->where.n), content = artifact;
    json_t *l = json_object();

    if (d->inner)
        content = nested_artifact(r, &d->where, content_steps(&d->where));
    cli_json_set(
        l, "physicalLocation",
        physical(r, d->inner ? content : r->file_artifact, d->inner ? d->inner_off : d->file_off, d->length));
    if (*path)
        cli_json_set(l, "logicalLocations", json_pack("[{s:s}]", "fullyQualifiedName", path));
    return json_pack("[o]", l);
}

static void on_finding(void *user, const cli_session *s, const cuvet_diag *d)
{
    cli_sarif_report *r = user;
    const cuvet_rule_info *rule = cuvet_rule_get(d->rule);
    const char *id = rule ? rule->id : "?";
    char path[CLI_PATH_CAP], message[CLI_MESSAGE_CAP];
    json_t *o = json_object(), *p = json_object();

    (void)s;
    cli_path(&d->where, path, sizeof(path));
    cli_message(d, message, sizeof(message));
    cli_json_set(o, "ruleId", json_string(id));
    cli_json_set(o, "ruleIndex", json_integer((json_int_t)d->rule));
    cli_json_set(o, "level", json_string(cuvet_severity_name(d->severity)));
    cli_json_set(o, "message", message_of(message));
    cli_json_set(o, "locations", locations(r, d, path));
    if (d->inner) {
        json_t *l = json_object();

        cli_json_set(l, "physicalLocation", physical(r, r->file_artifact, d->file_off, 0));
        cli_json_set(o, "relatedLocations", json_pack("[o]", l));
    }
    cli_json_set(o, "partialFingerprints", fingerprint(id, path));
    cli_json_set(p, "path", json_string(path));
    cli_json_set(p, "fileOffset", cli_json_u64(d->file_off));
    cli_json_set(p, "got", cli_json_u64(d->got));
    cli_json_set(p, "want", cli_json_u64(d->want));
    cli_json_set(o, "properties", p);
    cli_json_append(r->results, o);
}

/* Give an artifact that findings made known its extent. Its offset counts in its parent, where that holds
 * it byte for byte. */
static void set_extent(cli_sarif_report *r, const char *path, bool has_off, uint64_t off, uint64_t length,
                       uint64_t file_off)
{
    const json_t *known = json_object_get(r->known, path);
    json_t *a = known ? json_array_get(r->artifacts, (size_t)json_integer_value(known)) : NULL;
    json_t *p;

    if (!a || json_object_get(a, "properties") || off > INT64_MAX || length > INT64_MAX)
        return;
    if (has_off)
        cli_json_set(a, "offset", json_integer((json_int_t)off));
    if (length)
        cli_json_set(a, "length", json_integer((json_int_t)length));
    p = json_object();
    cli_json_set(p, "fileOffset", cli_json_u64(file_off));
    cli_json_set(a, "properties", p);
}

static json_t *producer_of(const cuvet_producer *p)
{
    char release[CLI_RELEASE_CAP];
    json_t *o = json_object();

    cli_release_text(p->version, release, sizeof(release));
    cli_json_set(o, "tool", json_string(p->tool));
    cli_json_set(o, "version", *release ? json_string(release) : json_null());
    cli_json_set(o, "inferred", json_boolean(p->inferred));
    return o;
}

/* Of an artifact that findings made known. */
static void set_producer(const cli_sarif_report *r, const char *path, const cuvet_producer *p)
{
    const json_t *known = json_object_get(r->known, path);
    json_t *properties;

    if (!known || !*path || !p->tool || (!*p->tool && p->version == 0))
        return;
    properties =
        json_object_get(json_array_get(r->artifacts, (size_t)json_integer_value(known)), "properties");
    if (properties)
        cli_json_set(properties, "producer", producer_of(p));
}

static void extent_of_entry(cli_sarif_report *r, const cuvet_item *it)
{
    uint64_t head = it->payload_off - it->header_off;
    cuvet_path inner = it->where;
    char path[CLI_PATH_CAP];

    cli_path(&it->where, path, sizeof(path));
    set_extent(r, path, it->header_off >= it->container_off, it->header_off - it->container_off,
               head + it->stored_size, it->header_off);
    if (inner.n >= CUVET_PATH_MAX)
        return;
    inner.step[inner.n++] = (cuvet_step){ .kind = it->kind == CUVET_K_PTX     ? CUVET_P_PTX
                                                  : it->kind == CUVET_K_LTOIR ? CUVET_P_LTOIR
                                                                              : CUVET_P_ELF };
    cli_path(&inner, path, sizeof(path));
    set_extent(r, path, it->compression == CUVET_Z_NONE, head, it->unpacked_size, it->payload_off);
    set_producer(r, path, &it->producer);
}

static void on_member(void *user, const cli_session *s, const cuvet_item *it)
{
    cli_sarif_report *r = user;
    cuvet_path container = it->where;
    char path[CLI_PATH_CAP];

    (void)s;
    if (!it->in_container) {
        cli_path(&it->where, path, sizeof(path));
        if (*path)
            set_extent(r, path, it->where.n == 1, it->payload_off, it->unpacked_size, it->payload_off);
        set_producer(r, path, &it->producer);
        return;
    }
    if (container.n > 0) {
        container.n--;
        cli_path(&container, path, sizeof(path));
        if (*path)
            set_extent(r, path, container.n == 1, it->container_off, 0, it->container_off);
    }
    extent_of_entry(r, it);
}

static void on_end(void *user, const cli_session *s, const cli_result *res)
{
    cli_sarif_report *r = user;
    const cuvet_summary *m = &res->sum;
    json_t *p = json_object(), *a = json_array_get(r->artifacts, r->file_artifact);

    cli_json_set(p, "verdict", json_string(cuvet_verdict_name(res->verdict)));
    cli_json_set(p, "containers", cli_json_u64(m->containers));
    cli_json_set(p, "members", cli_json_u64(m->members));
    cli_json_set(p, "images", cli_json_u64(m->images));
    cli_json_set(p, "findings", cli_json_u64(m->warnings + m->errors));
    cli_json_set(p, "notes", cli_json_u64(m->notes));
    cli_json_set(p, "suppressed", cli_json_u64(m->suppressed));
    if (res->filtered) {
        cli_json_set(p, "filteredPieces", cli_json_u64(res->left_out));
        cli_json_set(p, "filteredFindings", cli_json_u64(res->left_out_findings));
    }
    cli_json_set(a, "properties", p);
    if (res->why) {
        json_t *n = json_object(), *l = json_object();

        cli_json_set(l, "physicalLocation", physical(r, r->file_artifact, UINT64_MAX, 0));
        cli_json_set(n, "level", json_string("error"));
        cli_json_set(n, "message", message_of(res->why));
        cli_json_set(n, "locations", json_pack("[o]", l));
        cli_json_append(r->notifications, n);
    }
    (void)s;
}

const cli_sink cli_sarif_sink = {
    .begin = begin_file, .finding = on_finding, .member = on_member, .end = on_end
};

cli_sarif_report *cli_sarif_begin(const cli_args *a)
{
    cli_sarif_report *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->args = a;
    r->artifacts = json_array();
    r->results = json_array();
    r->notifications = json_array();
    r->known = json_object();
    return r;
}

static json_t *rules(void)
{
    json_t *all = json_array();
    const cuvet_rule_info *rule;

    for (cuvet_rule i = 0; (rule = cuvet_rule_get(i)) != NULL; i++) {
        char uri[64] = HELP_BASE;
        size_t n = strlen(uri);
        json_t *o = json_object();

        for (const char *p = rule->id; *p && n + 1 < sizeof(uri); p++)
            uri[n++] = (char)(*p >= 'A' && *p <= 'Z' ? *p | 0x20 : *p);
        uri[n] = '\0';
        cli_json_set(o, "id", json_string(rule->id));
        cli_json_set(o, "shortDescription", message_of(rule->title));
        cli_json_set(o, "fullDescription", message_of(rule->why));
        cli_json_set(o, "helpUri", json_string(uri));
        cli_json_set(o, "defaultConfiguration",
                     json_pack("{s:s}", "level", cuvet_severity_name(rule->severity)));
        cli_json_append(all, o);
    }
    return all;
}

static json_t *verdicts(void)
{
    json_t *o = json_object();

#define VERDICT(verdict, name, meaning) cli_json_set(o, name, json_string(meaning));
#include "options.def"
    return json_pack("{s:o}", "verdicts", o);
}

static json_t *invocation(cli_sarif_report *r, int rc)
{
    json_t *o = json_object(), *p = json_object(), *limits = json_object();
    const cuvet_limit_info *info;
    uint64_t value;

    for (size_t i = 0; cuvet_limits_get(&r->args->limits, i, &info, &value) == CUVET_OK; i++)
        cli_json_set(limits, info->name, cli_json_u64(value));
    cli_json_set(p, "limits", limits);
    cli_json_set(p, "sandbox", json_string(cli_cage_state()));
    cli_json_set(o, "executionSuccessful", json_boolean(rc == CLI_X_CLEAN || rc == CLI_X_FINDINGS));
    cli_json_set(o, "exitCode", json_integer(rc));
    cli_json_set(o, "toolExecutionNotifications", json_incref(r->notifications));
    cli_json_set(o, "properties", p);
    return json_pack("[o]", o);
}

int cli_sarif_end(cli_sarif_report *r, int rc)
{
    json_t *log = json_object(), *run = json_object(), *driver = json_object();

    cli_json_set(driver, "name", json_string("cuvet"));
    cli_json_set(driver, "version", json_string(cuvet_version()));
    cli_json_set(driver, "rules", rules());
    cli_json_set(driver, "properties", verdicts());
    cli_json_set(run, "tool", json_pack("{s:o}", "driver", driver));
    cli_json_set(run, "invocations", invocation(r, rc));
    cli_json_set(run, "artifacts", json_incref(r->artifacts));
    cli_json_set(run, "results", json_incref(r->results));
    cli_json_set(log, "$schema", json_string(SARIF_SCHEMA));
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
    json_decref(r->artifacts);
    json_decref(r->results);
    json_decref(r->notifications);
    json_decref(r->known);
    free(r);
    return rc;
}
