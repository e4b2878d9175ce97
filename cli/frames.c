/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "frames.h"

#include <string.h>

/* ---- broker ---- */

#define SM_LOWEST  10u
#define SM_HIGHEST 999u
#define THREADS    64u

typedef enum value { V_NONE, V_NUMBER, V_LEVEL, V_WORD } value;
enum { K_PTX, K_IR };

typedef struct option_row {
    int kind;
    const char *name;
    value takes;
    uint32_t low, high;
    const char *words;
} option_row;

static const option_row ROWS[] = {
#define MEMBER_OPTION(kind, name, shrt, takes, low, high, words)                                             \
    { K_##kind, name, V_##takes, low, high, words },
#define MEMBER_OPTION_KNOWN(kind, name, shrt, takes)
#define MEMBER_OPTION_FILE(kind, name, shrt, file)
#include "../spec/member_options.def"
#undef MEMBER_OPTION
#undef MEMBER_OPTION_KNOWN
#undef MEMBER_OPTION_FILE
};

static bool is_word_of(const char *words, const char *text)
{
    size_t len = strlen(text);

    for (const char *at = words; len > 0 && *at; at += strspn(at, " ")) {
        size_t word = strcspn(at, " ");

        if (word == len && strncmp(at, text, len) == 0)
            return true;
        at += word;
    }
    return false;
}

static bool value_ok(const option_row *row, const char *text)
{
    uint32_t count = 0;

    if (row->takes != V_NUMBER && row->takes != V_LEVEL)
        return is_word_of(row->words, text);
    if (is_word_of(row->words, text))
        return true;
    if (*text == '\0' || strlen(text) > 9 || (*text == '0' && text[1]))
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        count = count * 10 + (uint32_t)(*text - '0');
    }
    return count >= row->low && count <= row->high;
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
        const option_row *row = &ROWS[i];
        size_t len = strlen(row->name);

        if (row->kind != (ltoir ? K_IR : K_PTX) || strncmp(name, row->name, len) != 0)
            continue;
        if (row->takes == V_NONE ? name[len] == '\0' : name[len] == '=' && value_ok(row, name + len + 1))
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
           head->threads <= THREADS && head->size > 0 && head->size <= rules->input &&
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
           reply->end <= (uint32_t)CUVET_COMPILE_UNSUPPORTED && reply->size <= rules->output &&
           reply->n_log <= rules->log && (reply->size == 0 || reply->end == (uint32_t)CUVET_COMPILED);
}

/* ---- porter ---- */

/* Extensions that unpacking gives: cmd_unpack.c. */
static const char *const EXTENSIONS[] = { "cubin", "ptx", "ltoir", "merc", "fatbin", "bc", "bin" };

enum { NUMBER_DIGITS = 4 }; /* a piece has a number of at least this many digits */

static bool is_digit(char ch)
{
    return ch >= '0' && ch <= '9';
}

static bool is_plain(char ch)
{
    return is_digit(ch) || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '.' || ch == '_' ||
           ch == '-';
}

static bool has_extension(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof(EXTENSIONS) / sizeof(EXTENSIONS[0]); i++) {
        size_t len = strlen(EXTENSIONS[i]);

        if (size > len + 1 && name[size - len - 1] == '.' &&
            memcmp(name + size - len, EXTENSIONS[i], len) == 0)
            return true;
    }
    return false;
}

/* Digits and a dash, at the beginning or behind another dash. */
static bool has_number(const char *name, size_t len)
{
    for (size_t begin = 0, at = 0; at < len; begin = ++at) {
        while (at < len && is_digit(name[at]))
            at++;
        if (at < len && name[at] == '-' && at - begin >= NUMBER_DIGITS)
            return true;
        while (at < len && name[at] != '-')
            at++;
    }
    return false;
}

bool porter_name_ok(const char *name, size_t len)
{
    if (len == 0 || len > PORTER_NAME_MOST || name[0] == '.' || name[0] == '-')
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!is_plain(name[i]))
            return false;
    }
    return has_extension(name, len) && has_number(name, len);
}

bool porter_take_order(porter_state *state, const void *packet, size_t size, porter_order *order, char *name)
{
    porter_order wanted;

    name[0] = '\0';
    if (size < sizeof(wanted) || state->ended)
        return false;
    memcpy(&wanted, packet, sizeof(wanted));
    *order = wanted;
    if (wanted.n_name > PORTER_NAME_MOST || size != sizeof(wanted) + wanted.n_name)
        return false;
    if (wanted.verb == PORTER_END) {
        state->ended = true;
        return wanted.n_name == 0 && wanted.file == PORTER_IN_FOLDER;
    }
    if (wanted.file != PORTER_IN_FOLDER) {
        if (wanted.verb != PORTER_DONE || wanted.n_name != 0 || wanted.file >= state->n_files ||
            state->done & 1u << wanted.file)
            return false;
        state->done |= 1u << wanted.file;
        return true;
    }
    if (!state->folder)
        return false;
    if (wanted.verb == PORTER_GIVE && wanted.n_name == 0) {
        state->given = true;
        return true;
    }
    if (wanted.verb != PORTER_DONE || !state->given ||
        !porter_name_ok((const char *)packet + sizeof(wanted), wanted.n_name))
        return false;
    memcpy(name, (const char *)packet + sizeof(wanted), wanted.n_name);
    name[wanted.n_name] = '\0';
    state->given = false;
    return true;
}

bool porter_reply_ok(const porter_reply *reply, size_t count, bool fd, bool give)
{
    if (count != sizeof(*reply) || reply->mark != PORTER_REPLY)
        return false;
    if (reply->status != CUVET_OK && reply->status != CUVET_E_IO && reply->status != CUVET_E_EXISTS &&
        reply->status != CUVET_E_USAGE && reply->status != CUVET_E_LIMIT)
        return false;
    return fd == (give && reply->status == CUVET_OK);
}

/* ---- opener ---- */

bool opener_packet_ok(const opener_packet *packet, size_t count, const char *text, bool fd, bool whole)
{
    uint64_t all = (uint64_t)packet->n_name + packet->n_why;

    if (!whole || all > OPENER_TEXT || count != sizeof(*packet) + all)
        return false;
    if (packet->end)
        return !fd;
    if ((packet->remark && fd) || packet->fate >= CLI_N_FATE || (packet->fate && packet->what != CLI_ENTRY))
        return false;
    if (packet->n_name == 0 || text[packet->n_name - 1] != '\0' || (packet->n_why && text[all - 1] != '\0'))
        return false;
    if (packet->hash.known > (packet->what == CLI_PACKAGE))
        return false;
    if (packet->what == CLI_PACKAGE)
        return !fd && !packet->opened && !packet->remark && packet->n_why == 0;
    if (packet->number != 0 && !fd)
        return false;
    return packet->what <= CLI_PACKAGE && fd == (packet->opened != 0) && (packet->n_why != 0) == !fd;
}

/* ---- demangler ---- */

bool demangle_name_ok(const uint8_t *name, size_t size)
{
    if (size < 3 || size > DEMANGLE_NAME_MOST || name[0] != '_' || name[1] != 'Z')
        return false;
    for (size_t i = 0; i < size; i++) {
        if (name[i] <= ' ' || name[i] >= 0x7F)
            return false;
    }
    return true;
}

demangle_answer demangle_judge(const demangle_packet *packet, size_t count, uint32_t number)
{
    if (count < DEMANGLE_HEAD || count > DEMANGLE_HEAD + DEMANGLE_TEXT_MOST)
        return DEMANGLE_LOST;
    if (packet->number != 0 && packet->number != number)
        return DEMANGLE_OTHER;
    /* Who died of a question has no text for it. */
    return count == DEMANGLE_HEAD ? DEMANGLE_NONE : packet->number == 0 ? DEMANGLE_LOST : DEMANGLE_TEXT;
}
