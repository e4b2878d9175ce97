/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* SARIF 2.1.0: one run, and a result for each rule and file. It lies where viewers look for it, at the first
 * line of a file of the sources; the places in that file are related locations. */
#include "report_sarif.h"
#include "sandbox.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void forget_groups(cli_sarif_report *report)
{
    for (size_t i = 0; i < report->n_groups; i++) {
        report->group_of[report->group[i].rule] = 0;
        json_decref(report->group[i].places);
    }
    report->n_groups = 0;
    sarif_forget_hits(report);
}

static void begin_file(void *user, const cli_session *session)
{
    cli_sarif_report *report = user;

    forget_groups(report);
    json_decref(report->known);
    report->known = json_object();
    report->has_artifact = false;
    if (session->in->what != CLI_ENTRY)
        sarif_need_artifact(report, session);
}

/* The file on the disk, as viewers know it. */
static json_t *physical_location(const cli_sarif_report *report, const cli_session *session, uint64_t off,
                                 uint64_t length)
{
    bool entry = session->in->what == CLI_ENTRY;
    json_t *properties = json_object(), *region = sarif_first_line();
    json_t *location = sarif_file(session->in->name, entry);

    cli_json_set(location, "index",
                 json_integer((json_int_t)(entry ? report->package.artifact : report->file_artifact)));
    cli_json_set(properties, "artifactLocation", location);
    if (!entry && off <= INT64_MAX && length <= INT64_MAX) { /* an entry's bytes are not where it lies */
        cli_json_set(region, "byteOffset", json_integer((json_int_t)off));
        if (length)
            cli_json_set(region, "byteLength", json_integer((json_int_t)length));
    }
    cli_json_set(properties, "region", region);
    return properties;
}

/* "lib/b.so!/fatbin[0]/entry[1]" @return false: it would be empty */
static bool full_name(const cli_session *session, const char *path, char *out, size_t cap)
{
    const char *inner = sarif_inner(session->in->name, session->in->what == CLI_ENTRY);

    snprintf(out, cap, "%.*s%s%s", (int)(cap - CLI_PATH_CAP), inner, *inner && *path ? "!/" : "", path);
    return *out != '\0';
}

enum { NAME_CAP = 4096 + CLI_PATH_CAP };

json_t *sarif_location(const cli_sarif_report *report, const cli_session *session, const char *path,
                       uint64_t off, uint64_t length)
{
    char name[NAME_CAP];
    json_t *location = json_object();

    cli_json_set(location, "physicalLocation", physical_location(report, session, off, length));
    if (full_name(session, path, name, sizeof(name)))
        cli_json_set(location, "logicalLocations",
                     json_pack("[{s:o}]", "fullyQualifiedName", cli_json_text(name)));
    return location;
}

static json_t *place_of(cli_sarif_report *report, const cli_session *session, const cuvet_diag *diag)
{
    bool inner = (diag->flags & CUVET_DIAG_INNER) != 0;
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);
    char path[CLI_PATH_CAP], message[CLI_MESSAGE_CAP], print[CLI_SHA256_CAP];
    size_t artifact = sarif_piece_artifact(report, &diag->where, inner);
    json_t *location, *properties = json_object();

    cli_path(&diag->where, path, sizeof(path));
    cli_message(diag, message, sizeof(message));
    cli_fingerprint_of(rule->id, path, print); /* by which a policy suppresses one place */
    location = sarif_location(report, session, path, diag->file_off, inner ? 0 : diag->length);
    cli_json_set(location, "message", sarif_message(message));
    cli_json_set(properties, "artifact", json_integer((json_int_t)artifact));
    cli_json_set(properties, "path", json_string(path));
    cli_json_set(properties, "fileOffset", cli_json_u64(diag->file_off));
    if (inner)
        cli_json_set(properties, "unpackedOffset", cli_json_u64(diag->inner_off));
    cli_json_set(properties, "fingerprint", json_string(print));
    cli_json_set(properties, "got", cli_json_u64(diag->got));
    cli_json_set(properties, "want", cli_json_u64(diag->want));
    cli_json_set(location, "properties", properties);
    return location;
}

static bool is_room(const cli_sarif_report *report, bool note)
{
    return json_array_size(report->results) < SARIF_MOST_RESULTS &&
           (!note || report->notes < SARIF_MOST_NOTES);
}

static void on_finding(void *user, const cli_session *session, const cuvet_diag *diag)
{
    cli_sarif_report *report = user;
    sarif_group *group;
    size_t told;
    bool room = report->places < SARIF_MOST_PLACES_OF_RUN, worse;

    if (diag->rule >= report->n_rules)
        return;
    if (report->group_of[diag->rule] == 0) {
        report->group_of[diag->rule] = report->n_groups + 1;
        report->group[report->n_groups++] =
            (sarif_group){ .rule = diag->rule, .severity = diag->severity, .places = json_array() };
    }
    group = &report->group[report->group_of[diag->rule] - 1];
    group->count++;
    /* A file of which nothing will be said is no artifact: a package may have any number of them. */
    if (!report->has_artifact && !is_room(report, diag->severity == CUVET_NOTE))
        return;
    sarif_need_artifact(report, session);
    told = json_array_size(group->places);
    worse = diag->severity > group->severity; /* then it is shown first */
    if (worse)
        group->severity = diag->severity;
    if (told > 0 && !worse && (!room || told >= SARIF_MOST_PLACES))
        return;
    report->places++;
    if (worse && json_array_insert_new(group->places, 0, place_of(report, session, diag)) != 0)
        (void)cli_json_failed();
    if (!worse)
        cli_json_append(group->places, place_of(report, session, diag));
}

/* Not called where a filter leaves something out. */
static void on_closing(void *user, const cli_session *session)
{
    cli_sarif_report *report = user;

    for (size_t i = 0; i < report->n_groups; i++) {
        sarif_group *group = &report->group[i];
        uint64_t count = cli_session_count(session, group->rule);

        group->count = count > group->count ? count : group->count;
    }
}

/* ---- results ---- */

static const char *score_of(const cuvet_rule_info *rule)
{
    if (rule->severity == CUVET_NOTE)
        return NULL;
    if (rule->severity == CUVET_ERROR && rule->cls == CUVET_C_FORM)
        return "8.0";
    return "5.0";
}

static const char *advice_of(const cuvet_rule_info *rule)
{
    if (rule->cls == CUVET_C_LIMIT)
        return "What lies behind the limit was not looked at. Raise it with --limit if you know who made the "
               "file.";
    if (rule->severity == CUVET_ERROR)
        return "Do not load, link or ship the file. Whoever made it has to make it again.";
    if (rule->severity == CUVET_WARNING)
        return "The file is not what it says it is. Find out who made it, and with what.";
    return NULL;
}

/* Only rules that results have are in the log: all of them take 300 KB. */
static size_t rule_index(cli_sarif_report *report, cuvet_rule id)
{
    const cuvet_rule_info *info = cuvet_rule_get(id);
    sarif_rule rule;

    if (report->rule_at[id] == 0) {
        rule = (sarif_rule){ .id = info->id,
                             .title = info->title,
                             .why = info->why,
                             .advice = advice_of(info),
                             .level = cuvet_severity_name(info->severity),
                             .tag = cuvet_class_name(info->cls),
                             .score = score_of(info) };
        cli_json_append(report->rules, sarif_rule_object(&rule));
        report->rule_at[id] = json_array_size(report->rules);
    }
    return report->rule_at[id] - 1;
}

static size_t malformed_rule(cli_sarif_report *report)
{
    static const sarif_rule RULE = { .id = "package/malformed",
                                     .title = "A package is damaged, or contradicts itself",
                                     .why = "Two programs that unpack it may see different files.",
                                     .advice =
                                         "Do not install the package. Whoever made it has to make it again.",
                                     .level = "error",
                                     .tag = "package",
                                     .score = "8.0" };

    if (report->malformed_at == 0) {
        cli_json_append(report->rules, sarif_rule_object(&RULE));
        report->malformed_at = json_array_size(report->rules);
    }
    return report->malformed_at - 1;
}

bool sarif_has_room(cli_sarif_report *report, bool note)
{
    if (is_room(report, note)) {
        report->notes += note;
        return true;
    }
    report->left_out++;
    return false;
}

/* The places get numbers, with which a text could point to them. */
static json_t *numbered(json_t *places)
{
    size_t i;
    json_t *place;

    json_array_foreach (places, i, place)
        cli_json_set(place, "id", json_integer((json_int_t)i + 1));
    return json_incref(places);
}

static json_t *text_of(const cli_session *session, const json_t *places, uint64_t count)
{
    const json_t *place = json_array_get(places, 0);
    const json_t *properties = json_object_get(place, "properties");
    const char *path = json_string_value(json_object_get(properties, "path"));
    const char *said = json_string_value(json_object_get(json_object_get(place, "message"), "text"));
    const char *unpacked = json_object_get(properties, "unpackedOffset") ? "unpacked " : "";
    const json_t *off = json_object_get(properties, *unpacked ? "unpackedOffset" : "fileOffset");
    char name[NAME_CAP], text[NAME_CAP + CLI_MESSAGE_CAP + 128 + CLI_FATE_CAP], times[48] = "", at[32] = "",
                                                                                fate[CLI_FATE_CAP];

    if (count > 1)
        snprintf(times, sizeof(times), "%" PRIu64 " places, the first ", count);
    if (json_is_integer(off))
        snprintf(at, sizeof(at), "byte 0x%" PRIx64, (uint64_t)json_integer_value(off));
    (void)full_name(session, path ? path : "", name, sizeof(name));
    cli_fate_text(session->in, fate);
    snprintf(text, sizeof(text), "%s (%s%s%s%s%s)%s%s", said ? said : "", times, name,
             *name && *at ? ", " : "", *at ? unpacked : "", at, *fate ? "; " : "", fate);
    return sarif_message(text);
}

void sarif_tell_places(const cli_sarif_report *report, const cli_session *session, json_t *result,
                       json_t *places, uint64_t count)
{
    cli_json_set(result, "message", text_of(session, places, count));
    cli_json_set(result, "locations", json_pack("[o]", sarif_location(report, session, "", UINT64_MAX, 0)));
    cli_json_set(result, "relatedLocations", numbered(places));
    cli_json_set(result, "occurrenceCount",
                 json_integer((json_int_t)(count < INT64_MAX ? count : INT64_MAX)));
}

static void add_result(cli_sarif_report *report, const cli_session *session, const sarif_group *group)
{
    const cuvet_rule_info *rule = cuvet_rule_get(group->rule);
    json_t *object;

    if (!sarif_has_room(report, group->severity == CUVET_NOTE))
        return;
    object = json_object();
    cli_json_set(object, "ruleId", json_string(rule->id));
    cli_json_set(object, "ruleIndex", json_integer((json_int_t)rule_index(report, group->rule)));
    cli_json_set(object, "level", json_string(cuvet_severity_name(group->severity)));
    sarif_tell_places(report, session, object, group->places, group->count);
    cli_json_set(object, "partialFingerprints",
                 sarif_fingerprints(rule->id, session->in->name, session->in->what == CLI_ENTRY));
    cli_json_append(report->results, object);
}

/* What a package has, and nobody can unpack. */
static void add_malformed(cli_sarif_report *report, const cli_session *session, const char *why)
{
    json_t *object = json_object();

    cli_json_set(object, "ruleId", json_string("package/malformed"));
    cli_json_set(object, "ruleIndex", json_integer((json_int_t)malformed_rule(report)));
    cli_json_set(object, "level", json_string("error"));
    cli_json_set(object, "message", sarif_message(why));
    cli_json_set(object, "locations", json_pack("[o]", sarif_location(report, session, "", UINT64_MAX, 0)));
    cli_json_set(object, "partialFingerprints",
                 sarif_fingerprints("package/malformed", session->in->name, session->in->what == CLI_ENTRY));
    cli_json_append(report->results, object);
}

static void add_notification(cli_sarif_report *report, const char *level, const char *text, json_t *location)
{
    json_t *notification = json_object();

    cli_json_set(notification, "level", json_string(level));
    cli_json_set(notification, "message", sarif_message(text));
    if (location)
        cli_json_set(notification, "locations", json_pack("[o]", location));
    cli_json_append(report->notifications, notification);
}

static json_t *summary_of(const cli_input *in, const cli_result *res)
{
    const cuvet_summary *summary = &res->sum;
    json_t *properties = json_object();

    cli_json_set(properties, "verdict", json_string(cuvet_verdict_name(res->verdict)));
    if (in->fate != CLI_FATE_CONTENT)
        cli_json_set(properties, "image", json_string(cli_fate_name(in->fate)));
    if (in->layer)
        cli_json_set(properties, "layer", cli_json_u64(in->layer));
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
    if (res->ruled) {
        cli_json_set(properties, "yaraHits", cli_json_u64(res->hits));
        cli_json_set(properties, "yaraUnseen", cli_json_u64(res->unseen));
    }
    return properties;
}

static void end_package(cli_sarif_report *report, const cli_input *in)
{
    json_t *artifact;

    if (in->rc != 0) /* in another one */
        return;
    artifact = json_array_get(report->artifacts, sarif_package_artifact(report, in->name));
    cli_json_set(artifact, "properties", json_pack("{s:o}", "entries", cli_json_u64(in->entries)));
}

/* Is there room for why a file was not looked into? @return false: it is counted instead */
static bool has_room_to_say(cli_sarif_report *report, const cli_result *res)
{
    if (res->verdict == CUVET_V_MALFORMED)
        return sarif_has_room(report, false);
    if (json_array_size(report->notifications) < SARIF_MOST_NOTIFICATIONS)
        return true;
    report->unnotified++;
    return false;
}

static void say_why(cli_sarif_report *report, const cli_session *session, const cli_result *res)
{
    if (res->verdict == CUVET_V_MALFORMED)
        add_malformed(report, session, res->why);
    else
        add_notification(report, res->verdict == CUVET_V_UNSUPPORTED ? "warning" : "error", res->why,
                         sarif_location(report, session, "", UINT64_MAX, 0));
}

static void on_end(void *user, const cli_session *session, const cli_result *res)
{
    cli_sarif_report *report = user;
    const cuvet_summary *summary = &res->sum;
    bool has_nothing = summary->members + summary->images == 0 && !report->has_artifact, says;

    if (session->in->what == CLI_PACKAGE) { /* its entries are artifacts of their own */
        end_package(report, session->in);
        return;
    }
    /* Of most entries of a package there is nothing to say, and of very many the same; of some nothing may be
     * said any more. */
    if (has_nothing &&
        (res->verdict == CUVET_V_CLEAN || (!res->why && report->n_groups > 0 && !is_room(report, false)))) {
        report->left_out += report->n_groups; /* for these there was no room */
        forget_groups(report);
        return;
    }
    says = res->why && has_room_to_say(report, res);
    if (has_nothing && res->why && !says)
        return;
    sarif_need_artifact(report, session);
    if (session->in->what != CLI_ENTRY || *sarif_inner(session->in->name, true))
        cli_json_set(json_array_get(report->artifacts, report->file_artifact), "properties",
                     summary_of(session->in, res));
    if (says) /* first, as long as there is room for it */
        say_why(report, session, res);
    for (size_t i = 0; i < report->n_groups; i++)
        add_result(report, session, &report->group[i]);
    sarif_add_hits(report, session);
    forget_groups(report);
}

const cli_sink cli_sarif_sink = { .begin = begin_file,
                                  .finding = on_finding,
                                  .hit = sarif_on_hit,
                                  .member = sarif_on_member,
                                  .closing = on_closing,
                                  .end = on_end };

static void drop(cli_sarif_report *report)
{
    forget_groups(report);
    json_decref(report->artifacts);
    json_decref(report->results);
    json_decref(report->notifications);
    json_decref(report->rules);
    json_decref(report->known);
    free(report->rule_at);
    json_decref(report->hits.rule_at);
    free(report->hits.group);
    free(report->group);
    free(report->group_of);
    free(report->package.name);
    free(report);
    sarif_end();
}

cli_sarif_report *cli_sarif_begin(const cli_args *args)
{
    cli_sarif_report *report = calloc(1, sizeof(*report));

    if (!report)
        return NULL;
    report->args = args;
    report->artifacts = json_array();
    report->results = json_array();
    report->notifications = json_array();
    report->rules = json_array();
    report->known = json_object();
    report->hits.rule_at = json_object();
    while (cuvet_rule_get((cuvet_rule)report->n_rules))
        report->n_rules++;
    report->rule_at = calloc(report->n_rules + 1, sizeof(*report->rule_at));
    report->group = calloc(report->n_rules + 1, sizeof(*report->group));
    report->group_of = calloc(report->n_rules + 1, sizeof(*report->group_of));
    if (report->rule_at && report->group && report->group_of && sarif_begin(args))
        return report;
    drop(report);
    return NULL;
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

static void say_what_is_left_out(cli_sarif_report *report)
{
    char text[160];

    if (report->unnotified > 0) {
        snprintf(text, sizeof(text), "%" PRIu64 " more files were not looked into: a run names %d of them",
                 report->unnotified, SARIF_MOST_NOTIFICATIONS);
        cli_complain(NULL, "%s", text);
        add_notification(report, "error", text, NULL);
    }
    if (report->left_out == 0)
        return;
    snprintf(text, sizeof(text), "%" PRIu64 " results are left out: a run has %d, of which %d notes",
             report->left_out, SARIF_MOST_RESULTS, SARIF_MOST_NOTES);
    cli_complain(NULL, "%s", text);
    add_notification(report, "warning", text, NULL);
}

int cli_sarif_end(cli_sarif_report *report, int rc)
{
    json_t *log = json_object(), *run = json_object(), *driver = json_object();

    say_what_is_left_out(report);
    cli_json_set(driver, "name", json_string("cuvet"));
    cli_json_set(driver, "version", json_string(cuvet_version()));
    cli_json_set(driver, "semanticVersion", json_string(cuvet_version()));
    cli_json_set(driver, "rules", json_incref(report->rules));
    cli_json_set(driver, "properties", verdicts());
    cli_json_set(run, "tool", json_pack("{s:o}", "driver", driver));
    cli_json_set(run, "automationDetails", json_pack("{s:s}", "id", "cuvet-scan/"));
    cli_json_set(run, "invocations", invocation(report, rc));
    cli_json_set(run, "originalUriBaseIds", sarif_bases());
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
    drop(report);
    return rc;
}
