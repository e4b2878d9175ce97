/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "report_sarif.h"

#include <stdlib.h>
#include <string.h>

#define URI_CAP 16384

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

/* Of an artifact inside of another one. */
static json_t *inner_location(const char *bytes)
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

static json_t *outer_artifact(const char *name, bool entry)
{
    json_t *artifact = json_object();

    cli_json_set(artifact, "location", sarif_file(name, entry));
    cli_json_set(artifact, "roles", json_pack("[s]", "analysisTarget"));
    return artifact;
}

/* Its entries come one after the other. */
size_t sarif_package_artifact(cli_sarif_report *report, const char *name)
{
    size_t outer = sarif_outer(name, true);

    if (report->package.name && strlen(report->package.name) == outer &&
        memcmp(report->package.name, name, outer) == 0)
        return report->package.artifact;
    free(report->package.name);
    report->package.name = strndup(name, outer);
    if (!report->package.name)
        (void)cli_json_failed();
    report->package.artifact = json_array_size(report->artifacts);
    cli_json_append(report->artifacts, outer_artifact(name, true));
    return report->package.artifact;
}

void sarif_need_artifact(cli_sarif_report *report, const cli_session *session)
{
    const cli_input *in = session->in;
    json_t *artifact, *hash;

    if (report->has_artifact)
        return;
    report->has_artifact = true;
    if (in->what == CLI_ENTRY) {
        const char *inner = sarif_inner(in->name, true);
        size_t parent = sarif_package_artifact(report, in->name);
        char *path;

        if (!*inner) { /* of the package as a whole */
            report->file_artifact = parent;
            return;
        }
        path = malloc(strlen(inner) + 2);
        artifact = json_object();
        if (path) {
            path[0] = '/';
            memcpy(path + 1, inner, strlen(inner) + 1);
        }
        cli_json_set(artifact, "location", path ? inner_location(path) : NULL);
        cli_json_set(artifact, "parentIndex", json_integer((json_int_t)parent));
        free(path);
    } else {
        artifact = outer_artifact(in->name, false);
    }
    if (!in->why) {
        cli_json_set(artifact, "length", json_integer((json_int_t)in->source.length));
        /* A file that is too large to scan is too large to hash. */
        hash = in->source.length <= session->args->limits.input ? hash_of(&in->source) : NULL;
        if (hash)
            cli_json_set(artifact, "hashes", hash);
    }
    report->file_artifact = json_array_size(report->artifacts);
    cli_json_append(report->artifacts, artifact);
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
    case CUVET_P_BITCODE:
    case CUVET_P_OFFLOAD: return true;
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
        cli_json_set(artifact, "location", inner_location(path));
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

size_t sarif_piece_artifact(cli_sarif_report *report, const cuvet_path *where, bool content)
{
    return nested_artifact(report, where, content ? content_steps(where) : where->n);
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

void sarif_on_member(void *user, const cli_session *session, const cuvet_item *item)
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
