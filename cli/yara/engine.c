/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One set of rules for the process. A piece is looked at as a whole, then section by section: a rule is told
 * of for a section only where the variable 'section' decides, which is found out by asking for the same bytes
 * without a name. So what needs no name is told once, for the piece. */
#include "engine.h"

#include "../whole.h"
#include "library.h"

#include <stdlib.h>
#include <string.h>

#ifdef CLI_YARA_SO
#define yr_call(name) yara_loaded.name

/* A rule is tried on nothing for so long when it is taken. */
#define TRIAL_SECONDS 10

static const char *const NAMES[] = {
#define VARIABLE(id, name) [YARA_V_##id] = (name),
    YARA_VARIABLES(VARIABLE)
#undef VARIABLE
};

static struct {
    YR_RULES *rules;
    YR_SCANNER *scanner;
    uint8_t
        *decides; /* by rule: it says something else of this section than of the same bytes without name */
    bool has_section;    /* the variable exists */
    const char *refused; /* a module that needs files */
} engine;

/* ---- rules ---- */

static void add_remark(yara_hello *hello, int line, bool warning, const char *text)
{
    yara_remark *remark = &hello->remark[hello->n_remarks];

    if (hello->n_remarks == YARA_REMARKS)
        return;
    *remark = (yara_remark){ .line = line > 0 ? (uint32_t)line : 0, .warning = warning };
    snprintf(remark->text, sizeof(remark->text), "%s", text);
    hello->n_remarks++;
}

/* Errors count more than warnings, which there may be many of. */
static void on_remark(int level, const char *file, int line, const YR_RULE *rule, const char *message,
                      void *user)
{
    yara_hello *hello = user;
    bool warning = level != YARA_ERROR_LEVEL_ERROR;

    (void)file;
    (void)rule;
    if (!warning && hello->n_remarks == YARA_REMARKS)
        hello->n_remarks--;
    add_remark(hello, line, warning, message ? message : "?");
}

static bool refuse(yara_hello *hello, const char *why)
{
    add_remark(hello, 0, false, why);
    hello->state = YARA_REFUSED;
    return false;
}

static bool refuse_code(yara_hello *hello, const char *what, int code)
{
    char text[128];

    snprintf(text, sizeof(text), "%s (libyara: error %d)", what, code);
    return refuse(hello, code == ERROR_INSUFFICIENT_MEMORY ? "there is no room for these rules" : text);
}

/* Of a text libyara's 'matches' sees the first 4096 bytes, without a word: who wants to hide a kernel lets
 * others go before it. These may be longer; the others never are. */
static const struct {
    const char *name, *advice;
} LONG[] = {
    { "kernels", " of all names; a string sees each name: in the section .strtab, and in PTX" },
    { YARA_SECTION, "; 'contains' and 'endswith' see all of it" },
    { "filename", "; 'contains' and 'endswith' see all of it" },
};

static bool is_in_name(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_' ||
           ch == '.'; /* of a module */
}

/* @return where it says "NAME matches", NULL: nowhere */
static const char *find_matches(const char *text, const char *name)
{
    static const char BLANKS[] = " \t\r\n", AFTER[] = "matches";

    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name)) {
        const char *next = at + strlen(name);

        next += strspn(next, BLANKS);
        if ((at == text || !is_in_name(at[-1])) && strncmp(next, AFTER, strlen(AFTER)) == 0)
            return at;
    }
    return NULL;
}

static void warn_of_matches(const char *text, yara_hello *hello)
{
    for (size_t i = 0; i < sizeof(LONG) / sizeof(LONG[0]); i++) {
        const char *at = find_matches(text, LONG[i].name);
        char warning[YARA_TEXT_CAP];
        int line = 1;

        for (const char *before = text; at && before < at; before++)
            line += *before == '\n';
        snprintf(warning, sizeof(warning), "'%s matches' sees the first 4096 bytes%s", LONG[i].name,
                 LONG[i].advice);
        if (at)
            add_remark(hello, line, true, warning);
    }
}

static bool compile(const char *text, yara_hello *hello)
{
    YR_COMPILER *compiler = NULL;
    int rc = yr_call(yr_compiler_create)(&compiler), errors;

    if (rc != ERROR_SUCCESS)
        return refuse_code(hello, "no compiler", rc);
    yr_call(yr_compiler_set_callback)(compiler, on_remark, hello);
    yr_call(yr_compiler_set_include_callback)(compiler, NULL, NULL, NULL); /* includes are refused */
    for (size_t i = 0; rc == ERROR_SUCCESS && i < YARA_N_VARIABLES; i++)
        rc = yr_call(yr_compiler_define_string_variable)(compiler, NAMES[i], "");
    if (rc == ERROR_SUCCESS)
        rc = yr_call(yr_compiler_define_string_variable)(compiler, YARA_SECTION, "");
    if (rc != ERROR_SUCCESS)
        return refuse_code(hello, "variables cannot be defined", rc);
    errors = yr_call(yr_compiler_add_string)(compiler, text, NULL);
    if (errors > 0) {
        hello->state = YARA_REFUSED;
        return hello->n_remarks > 0 ? false : refuse(hello, "they cannot be compiled");
    }
    rc = yr_call(yr_compiler_get_rules)(compiler, &engine.rules);
    warn_of_matches(text, hello);
    return rc == ERROR_SUCCESS || refuse_code(hello, "they cannot be compiled", rc);
}

typedef struct reading {
    const uint8_t *at;
    size_t left;
} reading;

/* As fread: whole elements only. */
static size_t read_bytes(void *to, size_t size, size_t count, void *user)
{
    reading *from = user;
    size_t whole = size > 0 ? from->left / size : 0;

    count = count < whole ? count : whole;
    if (count > 0)
        memcpy(to, from->at, count * size);
    from->at += count * size;
    from->left -= count * size;
    return count;
}

static bool load(const uint8_t *bytes, size_t size, yara_hello *hello)
{
    reading from = { bytes, size };
    YR_STREAM stream = { .user_data = &from, .read = read_bytes };
    int rc = yr_call(yr_rules_load_stream)(&stream, &engine.rules);

    switch (rc) {
    case ERROR_SUCCESS: return true;
    case ERROR_UNSUPPORTED_FILE_VERSION:
        return refuse(hello, "these rules were compiled by another version of YARA than " YR_VERSION);
    default: return refuse_code(hello, "these compiled rules are damaged", rc);
    }
}

/* ---- asking libyara ---- */

/* Compiled rules may lack a variable, which is passed over, or have another thing of its name. */
static int set_variable(const char *name, const char *value)
{
    int rc = yr_call(yr_scanner_define_string_variable)(engine.scanner, name, value);

    return rc == ERROR_INVALID_ARGUMENT ? ERROR_SUCCESS : rc;
}

static int set_variables(const yara_question *question)
{
    int rc = ERROR_SUCCESS;

    for (size_t i = 0; rc == ERROR_SUCCESS && i < YARA_N_VARIABLES; i++)
        rc = set_variable(NAMES[i], question->variable[i]);
    return rc;
}

/* What needs files has none here. */
static int on_import(const YR_MODULE_IMPORT *import)
{
    static const char *const WITH_FILES[] = { "magic", "cuckoo" };

    for (size_t i = 0; i < sizeof(WITH_FILES) / sizeof(WITH_FILES[0]); i++)
        if (strcmp(import->module_name, WITH_FILES[i]) == 0) {
            engine.refused = WITH_FILES[i];
            return CALLBACK_ERROR;
        }
    return CALLBACK_CONTINUE;
}

/* ---- a scan ---- */

typedef enum scan_step {
    STEP_TELL,    /* hits are told … */
    STEP_NAMED,   /* … or noted: with the name of the section, … */
    STEP_NAMELESS /* … and taken back, without it */
} scan_step;

typedef struct scan_state {
    const yara_question *question;
    yara_hit_fn *each;
    void *user;
    yara_end *end;
    int64_t deadline; /* milliseconds */
    scan_step step;
    uint32_t section, told;
    uint64_t first; /* where the bytes that are looked at begin in the piece */
    uint64_t noted; /* rules */
    bool lost;
} scan_state;

/* Letters, digits and underlines; anything else of compiled rules becomes an underline. */
static void copy_name(char to[YARA_NAME_CAP], const char *from, char first)
{
    size_t at = 0;

    for (; from && from[at] && at + 1 < YARA_NAME_CAP; at++) {
        char ch = from[at];
        bool good = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
                    (at == 0 && first && ch == first);

        to[at] = good ? ch : '_';
    }
    to[at] = '\0';
}

static void copy_text(char to[YARA_TEXT_CAP], const char *from)
{
    snprintf(to, YARA_TEXT_CAP, "%s", from ? from : "");
}

static void copy_tags(yara_hit *hit, const YR_RULE *rule)
{
    size_t len = 0;
    const char *tag;

    yr_rule_tags_foreach(rule, tag)
    {
        char name[YARA_NAME_CAP];

        copy_name(name, tag, '\0');
        if (len + strlen(name) + 2 > sizeof(hit->tags))
            return;
        len += (size_t)snprintf(hit->tags + len, sizeof(hit->tags) - len, "%s%s", len > 0 ? " " : "", name);
    }
}

static uint32_t severity_of(const char *word, uint32_t before)
{
    static const char *const WORDS[] = { "note", "warning", "error" };

    for (uint32_t i = 0; i < 3; i++)
        if (word && strcmp(word, WORDS[i]) == 0)
            return i;
    return before;
}

static void copy_meta(yara_hit *hit, const YR_META *meta)
{
    yara_meta *out;

    if (meta->type == META_TYPE_STRING && strcmp(meta->identifier, "description") == 0) {
        copy_text(hit->description, meta->string);
        return;
    }
    if (hit->n_metas == YARA_METAS)
        return;
    out = &hit->meta[hit->n_metas++];
    copy_name(out->name, meta->identifier, '\0');
    if (meta->type == META_TYPE_STRING)
        copy_text(out->value, meta->string);
    else if (meta->type == META_TYPE_BOOLEAN)
        copy_text(out->value, meta->integer ? "true" : "false");
    else
        snprintf(out->value, sizeof(out->value), "%lld", (long long)meta->integer);
}

static uint32_t rule_severity(const YR_RULE *rule)
{
    uint32_t severity = 1;
    const YR_META *meta;

    yr_rule_metas_foreach(rule, meta)
    {
        if (meta->type == META_TYPE_STRING && strcmp(meta->identifier, "severity") == 0)
            severity = severity_of(meta->string, severity);
    }
    return severity;
}

static void copy_places(yara_hit *hit, const scan_state *state, const YR_SCAN_CONTEXT *context,
                        const YR_RULE *rule)
{
    const YR_STRING *string;

    yr_rule_strings_foreach(rule, string)
    {
        uint32_t of_string = 0;
        const YR_MATCH *match;

        yr_string_matches_foreach(context, string, match)
        {
            yara_place *place = &hit->place[hit->n_places];

            hit->places++;
            if (hit->n_places == YARA_PLACES || of_string++ >= YARA_PLACES_EACH)
                continue;
            hit->n_places++;
            *place = (yara_place){ .off = state->first + (uint64_t)(match->base + match->offset),
                                   .length = (uint64_t)match->match_length };
            copy_name(place->string, string->identifier, '$');
        }
    }
}

static int tell_hit(scan_state *state, const YR_SCAN_CONTEXT *context, const YR_RULE *rule)
{
    static yara_hit hit;
    const YR_META *meta;

    hit = (yara_hit){ .section = state->section, .severity = rule_severity(rule) };
    state->end->hits[hit.severity]++;
    if (state->told == YARA_HITS_PIECE)
        return CALLBACK_CONTINUE;
    state->told++;
    copy_name(hit.rule, rule->identifier, '\0');
    copy_name(hit.space, rule->ns ? rule->ns->name : "", '\0');
    copy_tags(&hit, rule);
    yr_rule_metas_foreach(rule, meta) copy_meta(&hit, meta);
    copy_places(&hit, state, context, rule);
    state->lost = !state->each(state->user, &hit);
    return state->lost ? CALLBACK_ABORT : CALLBACK_CONTINUE;
}

static int on_rule(scan_state *state, const YR_SCAN_CONTEXT *context, const YR_RULE *rule)
{
    uint8_t *decides = &engine.decides[rule - engine.rules->rules_table];

    switch (state->step) {
    case STEP_NAMED:
        state->noted++;
        *decides = 1;
        break;
    case STEP_NAMELESS:
        state->noted -= *decides;
        *decides = 0;
        break;
    case STEP_TELL:
        if (state->section == 0 || *decides)
            return tell_hit(state, context, rule);
        break;
    }
    return CALLBACK_CONTINUE;
}

/* A string that is found a million times is not looked for any further: whoever made the file may want that,
 * so that a rule that counts or asks for a place does not hit. It is said. */
static int on_message(YR_SCAN_CONTEXT *context, int message, void *data, void *user)
{
    scan_state *state = user;

    switch (message) {
    case CALLBACK_MSG_RULE_MATCHING: return on_rule(state, context, data);
    case CALLBACK_MSG_IMPORT_MODULE: return on_import(data);
    case CALLBACK_MSG_TOO_MANY_MATCHES: state->end->cut += state->end->cut < UINT32_MAX; break;
    default: break;
    }
    return CALLBACK_CONTINUE;
}

static uint32_t outcome_of(int rc)
{
    switch (rc) {
    case ERROR_SUCCESS: return YARA_DONE;
    case ERROR_SCAN_TIMEOUT: return YARA_TIME;
    case ERROR_INSUFFICIENT_MEMORY: return YARA_MEMORY;
    default: return YARA_FAILED;
    }
}

static bool run(scan_state *state, scan_step step, const char *name, uint64_t size)
{
    int64_t left = state->deadline - cli_now_ms();
    int rc = left > 0 ? set_variable(YARA_SECTION, name) : ERROR_SCAN_TIMEOUT;

    state->step = step;
    if (rc == ERROR_SUCCESS) {
        yr_call(yr_scanner_set_timeout)(engine.scanner, (int)((left + 999) / 1000));
        engine.scanner->entry_point = YR_UNDEFINED; /* it would keep that of the piece before */
        rc = yr_call(yr_scanner_scan_mem)(engine.scanner, state->question->bytes + state->first, size);
    }
    state->end->code = (uint32_t)rc;
    state->end->outcome = outcome_of(rc);
    return rc == ERROR_SUCCESS && !state->lost;
}

static bool run_section(scan_state *state, const yara_section *section)
{
    const char *name = state->question->names + section->name;

    if (state->noted > 0)
        memset(engine.decides, 0, engine.rules->num_rules);
    state->first = section->off;
    state->noted = 0;
    return run(state, STEP_NAMED, name, section->size) &&
           (state->noted == 0 || run(state, STEP_NAMELESS, "", section->size)) &&
           (state->noted == 0 || run(state, STEP_TELL, name, section->size));
}

void yara_scan(const yara_question *question, yara_hit_fn *each, void *user, yara_end *end)
{
    scan_state state = { .question = question,
                         .each = each,
                         .user = user,
                         .end = end,
                         .deadline = cli_now_ms() + question->ask.milliseconds };
    int rc = set_variables(question);

    *end = (yara_end){ .outcome = outcome_of(rc), .code = (uint32_t)rc };
    if (rc != ERROR_SUCCESS)
        return;
    yr_call(yr_scanner_set_callback)(engine.scanner, on_message, &state);
    if (!run(&state, STEP_TELL, "", question->ask.size))
        return;
    for (uint32_t i = 0; engine.has_section && i < question->ask.n_sections; i++) {
        state.section = i + 1;
        if (!run_section(&state, &question->section[i]))
            return;
    }
}

/* ---- taking rules ---- */

static int on_trial(YR_SCAN_CONTEXT *context, int message, void *data, void *user)
{
    (void)context;
    (void)user;
    return message == CALLBACK_MSG_IMPORT_MODULE ? on_import(data) : CALLBACK_CONTINUE;
}

/* Modules are named, and variables have their types, before the first piece comes. */
static bool try_rules(yara_hello *hello)
{
    static const uint8_t NOTHING[1];
    yara_question question = { .bytes = NOTHING };
    int rc;

    for (size_t i = 0; i < YARA_N_VARIABLES; i++)
        question.variable[i] = "";
    rc = set_variables(&question);
    if (rc == ERROR_SUCCESS) {
        rc = yr_call(yr_scanner_define_string_variable)(engine.scanner, YARA_SECTION, "");
        engine.has_section = rc == ERROR_SUCCESS;
        rc = rc == ERROR_INVALID_ARGUMENT ? ERROR_SUCCESS : rc;
    }
    if (rc == ERROR_INVALID_EXTERNAL_VARIABLE_TYPE)
        return refuse(hello,
                      "they were compiled with one of cuvet's variables as something else than a text");
    if (rc != ERROR_SUCCESS)
        return refuse_code(hello, "variables cannot be set", rc);
    yr_call(yr_scanner_set_callback)(engine.scanner, on_trial, NULL);
    yr_call(yr_scanner_set_timeout)(engine.scanner, TRIAL_SECONDS);
    rc = yr_call(yr_scanner_scan_mem)(engine.scanner, NOTHING, sizeof(NOTHING));
    if (engine.refused) {
        char text[128];

        snprintf(text, sizeof(text), "the module '%s' needs files, which rules cannot have here",
                 engine.refused);
        return refuse(hello, text);
    }
    if (rc == ERROR_SCAN_TIMEOUT)
        return refuse(hello, "a rule takes more than ten seconds for a single byte");
    return rc == ERROR_SUCCESS || refuse_code(hello, "they cannot be run", rc);
}

static bool ready_scanner(yara_hello *hello)
{
    int rc;

    hello->rules = engine.rules->num_rules;
    if (hello->rules == 0)
        return refuse(hello, "there is no rule in it");
    engine.decides = calloc(hello->rules, 1);
    rc = engine.decides ? yr_call(yr_scanner_create)(engine.rules, &engine.scanner)
                        : ERROR_INSUFFICIENT_MEMORY;
    if (rc != ERROR_SUCCESS)
        return refuse_code(hello, "they cannot be run", rc);
    /* A crash is to end the process, which its parent sees, and not to be passed over. */
    yr_call(yr_scanner_set_flags)(engine.scanner, SCAN_FLAGS_NO_TRYCATCH | SCAN_FLAGS_REPORT_RULES_MATCHING);
    return try_rules(hello);
}

bool yara_rules_take(const uint8_t *text, size_t size, yara_hello *hello)
{
    static const uint8_t COMPILED[4] = { 'Y', 'A', 'R', 'A' };
    uint32_t nothing = 0;
    bool compiled = size >= sizeof(COMPILED) && memcmp(text, COMPILED, sizeof(COMPILED)) == 0;

    if (yr_call(yr_initialize)() != ERROR_SUCCESS ||
        yr_call(yr_set_configuration)(YR_CONFIG_MAX_MATCH_DATA, &nothing) != ERROR_SUCCESS)
        return refuse(hello, "libyara does not start");
    /* The compiler would see the text up to there. */
    if (!compiled && memchr(text, '\0', size))
        return refuse(hello, "there is a NUL in it: neither a text nor compiled rules");
    return (compiled ? load(text, size, hello) : compile((const char *)text, hello)) && ready_scanner(hello);
}
#else
bool yara_rules_take(const uint8_t *text, size_t size, yara_hello *hello)
{
    (void)text;
    (void)size;
    hello->state = YARA_NO_LIBRARY;
    return false;
}

void yara_scan(const yara_question *question, yara_hit_fn *each, void *user, yara_end *end)
{
    (void)question;
    (void)each;
    (void)user;
    *end = (yara_end){ .outcome = YARA_FAILED };
}
#endif
