/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "frames.h"

#include <string.h>

/* ---- broker ---- */

#define SM_LOWEST  10u
#define SM_HIGHEST 999u
#define THREADS    64u

typedef enum value { V_NONE, V_NUMBER, V_LEVEL, V_WORD } value;
enum { K_PTX, K_IR };

typedef struct row {
    int kind;
    const char *name;
    value takes;
    uint32_t low, high;
    const char *words;
} row;

static const row ROWS[] = {
#define MEMBER_OPTION(kind, name, shrt, takes, low, high, words)                                             \
    { K_##kind, name, V_##takes, low, high, words },
#include "../spec/member_options.def"
#undef MEMBER_OPTION
};

static bool is_word_of(const char *words, const char *v)
{
    size_t n = strlen(v);

    for (const char *p = words; n > 0 && *p; p += strspn(p, " ")) {
        size_t word = strcspn(p, " ");

        if (word == n && strncmp(p, v, n) == 0)
            return true;
        p += word;
    }
    return false;
}

static bool value_ok(const row *r, const char *v)
{
    uint32_t n = 0;

    if (r->takes != V_NUMBER && r->takes != V_LEVEL)
        return is_word_of(r->words, v);
    if (is_word_of(r->words, v))
        return true;
    if (*v == '\0' || strlen(v) > 9 || (*v == '0' && v[1]))
        return false;
    for (; *v; v++) {
        if (*v < '0' || *v > '9')
            return false;
        n = n * 10 + (uint32_t)(*v - '0');
    }
    return n >= r->low && n <= r->high;
}

bool cli_broker_option_ok(const cli_broker_rules *rules, const char *option, bool ltoir)
{
    const char *name = option + (ltoir ? 1 : 2);

    for (size_t i = 0; i < rules->n_option; i++) {
        if (strcmp(rules->option[i], option) == 0)
            return true;
    }
    if (option[0] != '-' || (!ltoir && option[1] != '-'))
        return false;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        const row *r = &ROWS[i];
        size_t n = strlen(r->name);

        if (r->kind != (ltoir ? K_IR : K_PTX) || strncmp(name, r->name, n) != 0)
            continue;
        if (r->takes == V_NONE ? name[n] == '\0' : name[n] == '=' && value_ok(r, name + n + 1))
            return true;
    }
    return false;
}

bool broker_request_ok(const broker_request *head, const cli_broker_rules *rules)
{
    return head->mark == BROKER_REQUEST && head->ltoir <= 1 &&
           (head->suffix == 0 || head->suffix == 'a' || head->suffix == 'f') && head->cubin <= 1 &&
           head->debug <= head->cubin && (head->cubin == 0 || (head->ltoir == 0 && head->n_options == 0)) &&
           head->sm >= SM_LOWEST && head->sm <= SM_HIGHEST && head->threads >= 1 &&
           head->threads <= THREADS && head->n > 0 && head->n <= rules->input &&
           head->n_options <= rules->options && head->option_bytes <= rules->option_bytes &&
           head->option_bytes >= 2 * (uint64_t)head->n_options;
}

bool broker_cut_options(const broker_request *head, const char *text, const char **option,
                        const cli_broker_rules *rules)
{
    uint64_t at = 0;

    for (uint32_t i = 0; i < head->n_options; i++) {
        const char *end =
            at < head->option_bytes ? memchr(text + at, '\0', (size_t)(head->option_bytes - at)) : NULL;

        if (!end || !cli_broker_option_ok(rules, text + at, head->ltoir != 0))
            return false;
        option[i] = text + at;
        at = (uint64_t)(end - text) + 1;
    }
    return at == head->option_bytes;
}

bool broker_reply_ok(const broker_reply *reply, const cli_broker_rules *rules)
{
    return reply->mark == BROKER_REPLY &&
           (reply->status == CUVET_OK || reply->status == CUVET_E_NOMEM ||
            reply->status == CUVET_E_INTERNAL) &&
           reply->end <= (uint32_t)CUVET_COMPILE_UNSUPPORTED && reply->n <= rules->output &&
           reply->n_log <= rules->log && (reply->n == 0 || reply->end == (uint32_t)CUVET_COMPILED);
}

/* ---- porter ---- */

/* Extensions that unpacking gives: cmd_unpack.c. */
static const char *const EXTENSIONS[] = { "cubin", "ptx", "ltoir", "merc", "fatbin", "bc", "bin" };

enum { NUMBER_DIGITS = 4 }; /* a piece has a number of at least this many digits */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_plain(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' ||
           c == '-';
}

static bool has_extension(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof(EXTENSIONS) / sizeof(EXTENSIONS[0]); i++) {
        size_t len = strlen(EXTENSIONS[i]);

        if (n > len + 1 && name[n - len - 1] == '.' && memcmp(name + n - len, EXTENSIONS[i], len) == 0)
            return true;
    }
    return false;
}

/* Digits and a dash, at the beginning or behind another dash. */
static bool has_number(const char *name, size_t n)
{
    for (size_t begin = 0, at = 0; at < n; begin = ++at) {
        while (at < n && is_digit(name[at]))
            at++;
        if (at < n && name[at] == '-' && at - begin >= NUMBER_DIGITS)
            return true;
        while (at < n && name[at] != '-')
            at++;
    }
    return false;
}

bool porter_name_ok(const char *name, size_t n)
{
    if (n == 0 || n > PORTER_NAME_MOST || name[0] == '.' || name[0] == '-')
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!is_plain(name[i]))
            return false;
    }
    return has_extension(name, n) && has_number(name, n);
}

bool porter_take_order(porter_state *s, const void *packet, size_t n, porter_order *order, char *name)
{
    porter_order o;

    name[0] = '\0';
    if (n < sizeof(o) || s->ended)
        return false;
    memcpy(&o, packet, sizeof(o));
    *order = o;
    if (o.n_name > PORTER_NAME_MOST || n != sizeof(o) + o.n_name)
        return false;
    if (o.verb == PORTER_END) {
        s->ended = true;
        return o.n_name == 0 && o.file == PORTER_IN_FOLDER;
    }
    if (o.file != PORTER_IN_FOLDER) {
        if (o.verb != PORTER_DONE || o.n_name != 0 || o.file >= s->n_files || s->done & 1u << o.file)
            return false;
        s->done |= 1u << o.file;
        return true;
    }
    if (!s->folder)
        return false;
    if (o.verb == PORTER_GIVE && o.n_name == 0) {
        s->given = true;
        return true;
    }
    if (o.verb != PORTER_DONE || !s->given || !porter_name_ok((const char *)packet + sizeof(o), o.n_name))
        return false;
    memcpy(name, (const char *)packet + sizeof(o), o.n_name);
    name[o.n_name] = '\0';
    s->given = false;
    return true;
}

bool porter_reply_ok(const porter_reply *reply, size_t n, bool fd, bool give)
{
    if (n != sizeof(*reply) || reply->mark != PORTER_REPLY)
        return false;
    if (reply->status != CUVET_OK && reply->status != CUVET_E_IO && reply->status != CUVET_E_EXISTS &&
        reply->status != CUVET_E_USAGE && reply->status != CUVET_E_LIMIT)
        return false;
    return fd == (give && reply->status == CUVET_OK);
}

/* ---- opener ---- */

bool opener_packet_ok(const opener_packet *p, size_t n, const char *text, bool fd, bool whole)
{
    uint64_t all = (uint64_t)p->n_name + p->n_why;

    if (!whole || all > OPENER_TEXT || n != sizeof(*p) + all)
        return false;
    if (p->end)
        return !fd;
    if (p->remark && fd)
        return false;
    if (p->n_name == 0 || text[p->n_name - 1] != '\0' || (p->n_why && text[all - 1] != '\0'))
        return false;
    return fd == (p->opened != 0) && (p->n_why != 0) == !fd;
}

/* ---- demangler ---- */

bool demangle_name_ok(const uint8_t *name, size_t n)
{
    if (n < 3 || n > DEMANGLE_NAME_MOST || name[0] != '_' || name[1] != 'Z')
        return false;
    for (size_t i = 0; i < n; i++) {
        if (name[i] <= ' ' || name[i] >= 0x7F)
            return false;
    }
    return true;
}

demangle_answer demangle_judge(const demangle_packet *p, size_t n, uint32_t number)
{
    if (n < DEMANGLE_HEAD || n > DEMANGLE_HEAD + DEMANGLE_TEXT_MOST)
        return DEMANGLE_LOST;
    if (p->number != 0 && p->number != number)
        return DEMANGLE_OTHER;
    /* Who died of a question has no text for it. */
    return n == DEMANGLE_HEAD ? DEMANGLE_NONE : p->number == 0 ? DEMANGLE_LOST : DEMANGLE_TEXT;
}
