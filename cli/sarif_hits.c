/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What rules of the user's found, as results like all others: one for each rule and file. */
#include "report_sarif.h"

#include "yara/yara.h"

#include <stdlib.h>
#include <string.h>

/* GitHub refuses a rule with more than 20; "security" and "yara" are two. */
enum { MOST_TAGS = 18 };

typedef struct sarif_hit_group {
    char id[YARA_RULE_CAP];
    cuvet_severity severity;
    uint64_t count;
    json_t *places, *properties;
    json_t *rule; /* NULL: it is in the log */
} sarif_hit_group;

void sarif_forget_hits(cli_sarif_report *report)
{
    for (size_t i = 0; i < report->hits.count; i++) {
        json_decref(report->hits.group[i].places);
        json_decref(report->hits.group[i].properties);
        json_decref(report->hits.group[i].rule);
    }
    report->hits.count = 0;
}

static void add_tags(json_t *list, const char *tags)
{
    for (size_t count = 0; *tags && count < MOST_TAGS; count++) {
        size_t len = strcspn(tags, " ");

        if (len > 0)
            cli_json_append(list, json_stringn(tags, len));
        tags += len + (tags[len] == ' ');
    }
}

/* One name may have several values. */
static json_t *meta_of(const yara_hit *what)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < what->n_metas; i++) {
        json_t *meta = json_object();

        cli_json_set(meta, "name", json_string(what->meta[i].name));
        cli_json_set(meta, "value", cli_json_text(what->meta[i].value));
        cli_json_append(list, meta);
    }
    return list;
}

/* Its description is a stranger's: it is no part of the help, which is Markdown. */
static json_t *rule_of(const cli_hit *hit)
{
    sarif_rule rule = { .id = hit->rule,
                        .title = "A rule of YARA hits",
                        .why = "A rule that was given with --yara found what it looks for in device code, as "
                               "it is unpacked.",
                        .advice = "What that means says whoever wrote the rule.",
                        .level = cuvet_severity_name(hit->severity),
                        .tag = "yara" };
    json_t *object, *properties;

    if (hit->severity != CUVET_NOTE)
        rule.score = hit->severity == CUVET_ERROR ? "8.0" : "5.0";
    object = sarif_rule_object(&rule);
    properties = json_object_get(object, "properties");
    cli_json_set(object, "name", json_string(hit->what->rule));
    cli_json_set(object, "shortDescription", sarif_message(cli_hit_text(hit)));
    cli_json_set(object, "fullDescription", sarif_message(cli_hit_text(hit)));
    add_tags(json_object_get(properties, "tags"), hit->what->tags);
    if (properties)
        cli_json_set(properties, "meta", meta_of(hit->what));
    return object;
}

static json_t *properties_of(const cli_hit *hit)
{
    json_t *properties = json_object(), *tags = json_array();

    cli_json_append(tags, json_string("yara"));
    add_tags(tags, hit->what->tags);
    cli_json_set(properties, "tags", tags);
    cli_json_set(properties, "namespace", json_string(hit->what->space));
    cli_json_set(properties, "meta", meta_of(hit->what));
    return properties;
}

/* NULL: out of memory */
static sarif_hit_group *group_of_hit(cli_sarif_report *report, const cli_hit *hit)
{
    sarif_hit_group *group;

    for (size_t i = 0; i < report->hits.count; i++)
        if (strcmp(report->hits.group[i].id, hit->rule) == 0)
            return &report->hits.group[i];
    if (report->hits.count == report->hits.cap) {
        size_t cap = report->hits.cap ? 2 * report->hits.cap : 16;
        sarif_hit_group *more = reallocarray(report->hits.group, cap, sizeof(*more));

        if (!more)
            return NULL;
        report->hits.group = more;
        report->hits.cap = cap;
    }
    group = &report->hits.group[report->hits.count++];
    *group = (sarif_hit_group){ .severity = hit->severity,
                                .places = json_array(),
                                .properties = properties_of(hit) };
    snprintf(group->id, sizeof(group->id), "%s", hit->rule);
    if (!json_object_get(report->hits.rule_at, hit->rule))
        group->rule = rule_of(hit);
    return group;
}

/* The path of the piece's content, as that of findings in it. */
static void content_path(const cuvet_item *item, cuvet_path *path)
{
    *path = item->where;
    if ((item->flags & CUVET_ITEM_IN_CONTAINER) != 0 && path->n < CUVET_PATH_MAX)
        path->step[path->n++] = (cuvet_step){ .kind = item->kind == CUVET_K_PTX       ? CUVET_P_PTX
                                                      : item->kind == CUVET_K_LTOIR   ? CUVET_P_LTOIR
                                                      : item->kind == CUVET_K_BITCODE ? CUVET_P_BITCODE
                                                                                      : CUVET_P_ELF };
}

static json_t *place_of_hit(cli_sarif_report *report, const cli_session *session, const cli_hit *hit,
                            const yara_place *at)
{
    uint64_t file_off = cli_hit_file_off(hit, at->off);
    char path[CLI_PATH_CAP], print[CLI_SHA256_CAP];
    json_t *location, *properties = json_object();
    cuvet_path content;
    size_t artifact;

    content_path(hit->item, &content);
    artifact = sarif_piece_artifact(report, &content, false);
    cli_path(&hit->item->where, path, sizeof(path));
    cli_fingerprint_of(hit->rule, path, print);
    location = sarif_location(report, session, path, file_off, hit->exact ? at->length : 0);
    cli_json_set(location, "message", sarif_message(cli_hit_text(hit)));
    cli_json_set(properties, "artifact", json_integer((json_int_t)artifact));
    cli_json_set(properties, "path", json_string(path));
    cli_json_set(properties, "section", json_string(hit->section)); /* was escaped */
    cli_json_set(properties, "string", json_string(at->string));
    cli_json_set(properties, "fileOffset", cli_json_u64(file_off));
    cli_json_set(properties, "unpackedOffset", cli_json_u64(at->off));
    cli_json_set(properties, "length", cli_json_u64(at->length));
    cli_json_set(properties, "storedAsIs", json_boolean(hit->exact));
    cli_json_set(properties, "fingerprint", json_string(print));
    cli_json_set(location, "properties", properties);
    return location;
}

void sarif_on_hit(void *user, const cli_session *session, const cli_hit *hit)
{
    cli_sarif_report *report = user;
    const yara_place whole = { .off = hit->inner_off, .length = hit->length };
    const yara_place *place = hit->what->n_places > 0 ? hit->what->place : &whole;
    uint32_t n_places = hit->what->n_places > 0 ? hit->what->n_places : 1;
    sarif_hit_group *group;

    sarif_need_artifact(report, session);
    group = group_of_hit(report, hit);
    if (!group) {
        (void)cli_json_failed();
        return;
    }
    group->count += hit->what->places > n_places ? hit->what->places : n_places;
    for (uint32_t i = 0; i < n_places; i++) {
        size_t told = json_array_size(group->places);

        if (told > 0 && (told >= SARIF_MOST_PLACES || report->places >= SARIF_MOST_PLACES_OF_RUN))
            return;
        report->places++;
        cli_json_append(group->places, place_of_hit(report, session, hit, &place[i]));
    }
}

static size_t rule_index(cli_sarif_report *report, sarif_hit_group *group)
{
    const json_t *known = json_object_get(report->hits.rule_at, group->id);
    size_t index = json_array_size(report->rules);

    if (known)
        return (size_t)json_integer_value(known);
    cli_json_append(report->rules, group->rule);
    group->rule = NULL;
    cli_json_set(report->hits.rule_at, group->id, json_integer((json_int_t)index));
    return index;
}

void sarif_add_hits(cli_sarif_report *report, const cli_session *session)
{
    for (size_t i = 0; i < report->hits.count; i++) {
        sarif_hit_group *group = &report->hits.group[i];
        json_t *object;

        if (!sarif_has_room(report, group->severity == CUVET_NOTE))
            continue;
        object = json_object();
        cli_json_set(object, "ruleId", json_string(group->id));
        cli_json_set(object, "ruleIndex", json_integer((json_int_t)rule_index(report, group)));
        cli_json_set(object, "level", json_string(cuvet_severity_name(group->severity)));
        sarif_tell_places(report, session, object, group->places, group->count);
        cli_json_set(object, "partialFingerprints",
                     sarif_fingerprints(group->id, session->in->name, session->in->what == CLI_ENTRY));
        cli_json_set(object, "properties", json_incref(group->properties));
        cli_json_append(report->results, object);
    }
    sarif_forget_hits(report);
}
