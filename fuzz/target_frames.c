/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The frames that cross the border of the command's cage, in both directions, as the process on the other
 * side would see them. The first byte says which; what follows is what came through the stream or the socket.
 * Each answer is compared with a reading of the rules that is written here once more, and what was accepted
 * must keep what the next step relies on. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "proc/compile.h"

enum { TO_BROKER, FROM_BROKER, TO_PORTER, FROM_PORTER, FROM_OPENER, FROM_DEMANGLER, OPTION, KINDS };

static const char *const OWN[] = { "-o9", "--any thing" };
static const cli_broker_rules RULES = {
    .input = 64, .options = 4, .option_bytes = 200, .output = 4096, .log = 64, .option = OWN, .n_option = 2
};

/* What is left of the input. */
typedef struct frames_rest {
    const uint8_t *bytes;
    size_t size;
} frames_rest;

static size_t take(frames_rest *rest, void *to, size_t size)
{
    size_t got = size < rest->size ? size : rest->size;

    memcpy(to, rest->bytes, got);
    rest->bytes += got;
    rest->size -= got;
    return got;
}

/* ---- broker ---- */

/* May this option be passed on? By the other parser: one option of a member that comes out as it went in. */
static bool option_model(fz_state *fuzz, const char *option, bool ltoir)
{
    cv_u8s out = { 0 }, none = { 0 };
    size_t len = strlen(option);
    bool same = false;

    for (size_t i = 0; i < RULES.n_option; i++) {
        if (strcmp(OWN[i], option) == 0)
            return true;
    }
    if (cv_member_options(&fuzz->ctx, cv_span_of(option, len, fuzz->base), ltoir, &none, &out) == CUVET_OK)
        same = out.count == len + 1 && memcmp(out.items, option, len + 1) == 0;
    cv_u8s_free(&fuzz->ctx.mem, &out);
    return same;
}

static void check_option(fz_state *fuzz, const char *option, bool ltoir)
{
    bool ok = cli_broker_option_ok(&RULES, option, ltoir);

    fz_note(fuzz, ok);
    if (!fuzz->ctx.work_out && fuzz->ctx.mem.live == 0)
        FZ_CHECK(ok == option_model(fuzz, option, ltoir) || fuzz->ctx.work_out || strlen(option) > 200,
                 "the list of the broker is that of members");
}

static bool request_model(const broker_request *request)
{
    bool kinds = request->ltoir < 2 && request->cubin < 2 &&
                 (request->debug == 0 || (request->debug == 1 && request->cubin == 1));

    if (request->mark != 'r' || !kinds ||
        (request->suffix && request->suffix != 'a' && request->suffix != 'f'))
        return false;
    if (request->cubin && (request->ltoir || request->n_options))
        return false;
    if (request->sm < 10 || request->sm > 999 || request->threads < 1 || request->threads > 64)
        return false;
    return request->size >= 1 && request->size <= RULES.input && request->n_options <= RULES.options &&
           request->option_bytes <= RULES.option_bytes && request->option_bytes / 2 >= request->n_options;
}

/* Each option a string of its own, one behind the other, none left out. */
static void check_cut(fz_state *fuzz, const broker_request *request, const char *text)
{
    const char *option[8] = { NULL };
    bool ok = broker_cut_options(request, text, option, &RULES);
    uint64_t at = 0;

    fz_note(fuzz, ok);
    for (uint32_t i = 0; ok && i < request->n_options; i++) {
        FZ_CHECK(option[i] == text + at, "options follow each other");
        FZ_CHECK(memchr(option[i], '\0', (size_t)(request->option_bytes - at)) != NULL,
                 "an option ends in its bytes");
        check_option(fuzz, option[i], request->ltoir != 0);
        FZ_CHECK(cli_broker_option_ok(&RULES, option[i], request->ltoir != 0), "each is allowed");
        at += strlen(option[i]) + 1;
    }
    FZ_CHECK(!ok || at == request->option_bytes, "no byte is left over");
}

static void to_broker(fz_state *fuzz, frames_rest rest)
{
    while (rest.size > 0) {
        broker_request request = { 0 };
        char text[256];
        uint8_t bytes[64];

        if (*rest.bytes == BROKER_CANCEL) {
            rest.bytes++;
            rest.size--;
            continue;
        }
        if (take(&rest, &request, sizeof(request)) < sizeof(request))
            break;
        FZ_CHECK(broker_request_ok(&request, &RULES) == request_model(&request),
                 "a request is what the rules say");
        if (!broker_request_ok(&request, &RULES))
            break;
        FZ_CHECK(request.option_bytes < sizeof(text) && request.size <= sizeof(bytes),
                 "what follows has room");
        if (take(&rest, text, (size_t)request.option_bytes) < request.option_bytes)
            break;
        text[request.option_bytes] = '!'; /* nobody may go on until a NUL comes */
        check_cut(fuzz, &request, text);
        if (take(&rest, bytes, (size_t)request.size) < request.size)
            break;
        fz_note(fuzz, request.sm);
    }
}

static void from_broker(fz_state *fuzz, frames_rest rest)
{
    broker_reply reply = { 0 };
    bool ok;

    if (take(&rest, &reply, sizeof(reply)) < sizeof(reply))
        return;
    ok = broker_reply_ok(&reply, &RULES);
    fz_note(fuzz, ok);
    if (ok) {
        FZ_CHECK(reply.mark == BROKER_REPLY && reply.size <= RULES.output && reply.n_log <= RULES.log,
                 "a reply has bounds");
        FZ_CHECK(reply.size == 0 || reply.end == CUVET_COMPILED, "only what was compiled has bytes");
        FZ_CHECK(reply.end <= (uint32_t)CUVET_COMPILE_UNSUPPORTED, "it ended in one of the ways");
        FZ_CHECK(reply.status == CUVET_OK || reply.status == CUVET_E_NOMEM ||
                     reply.status == CUVET_E_INTERNAL,
                 "a status that an input knows");
    } else {
        bool bounds = reply.mark == BROKER_REPLY && reply.size <= RULES.output && reply.n_log <= RULES.log;

        FZ_CHECK(!bounds || reply.size > 0 || reply.end > 8 ||
                     (reply.status != CUVET_OK && reply.status != CUVET_E_NOMEM &&
                      reply.status != CUVET_E_INTERNAL),
                 "it is refused for a reason");
    }
}

/* ---- porter ---- */

static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

/* "[WORDS-]NNNN-REST.EXTENSION" */
static bool name_model(const char *name, size_t len)
{
    static const char *const EXT[] = { ".cubin", ".ptx", ".ltoir", ".merc", ".fatbin", ".bc", ".bin" };
    char text[PORTER_NAME_MOST + 2];
    bool ext = false, number = false;

    if (len == 0 || len > PORTER_NAME_MOST)
        return false;
    memcpy(text, name, len);
    text[len] = '\0';
    if (strspn(text, PLAIN) != len || text[0] == '.' || text[0] == '-')
        return false;
    for (size_t i = 0; i < sizeof(EXT) / sizeof(EXT[0]); i++)
        ext = ext || (len > strlen(EXT[i]) && strcmp(text + len - strlen(EXT[i]), EXT[i]) == 0);
    for (const char *at = text; at && *at; at = strchr(at, '-') ? strchr(at, '-') + 1 : NULL) {
        size_t digits = strspn(at, "0123456789");

        number = number || (digits >= 4 && at[digits] == '-');
    }
    return ext && number;
}

/* Packets: a byte for the length, then the bytes. */
static void to_porter(fz_state *fuzz, frames_rest rest)
{
    porter_state state = { 0 };
    bool done[PORTER_FILES] = { false }, given = false, ended = false;
    uint8_t agreed = 0;

    (void)take(&rest, &agreed, 1); /* none without it */
    state.n_files = agreed % (PORTER_FILES + 1u);
    state.folder = agreed & 0x10;
    while (rest.size > 0) {
        char name[PORTER_NAME_MOST + 1];
        uint8_t *packet;
        porter_order order;
        uint8_t len;
        size_t count;

        (void)take(&rest, &len, 1); /* there is one */
        count = len < rest.size ? len : rest.size;
        packet = malloc(count ? count : 1); /* of its size: nothing behind it may be looked at */
        FZ_CHECK(packet != NULL, "memory");
        (void)take(&rest, packet, count); /* the same number */
        memset(name, 'x', sizeof(name));
        if (!porter_take_order(&state, packet, count, &order, name)) {
            free(packet);
            break;
        }
        FZ_CHECK(!ended, "the end is the end");
        FZ_CHECK(memchr(name, '\0', sizeof(name)) != NULL, "a name ends");
        FZ_CHECK(count >= sizeof(order) && memcmp(packet, &order, sizeof(order)) == 0 &&
                     count == sizeof(order) + order.n_name,
                 "an order is its packet");
        switch (order.verb) {
        case PORTER_END: ended = true; break;
        case PORTER_GIVE:
            FZ_CHECK(state.folder && order.file == PORTER_IN_FOLDER && !*name, "only a folder gives files");
            given = true;
            break;
        case PORTER_DONE:
            if (order.file == PORTER_IN_FOLDER) {
                FZ_CHECK(state.folder && given, "before it was given, nothing is finished");
                FZ_CHECK(name_model(name, strlen(name)) && strlen(name) == order.n_name &&
                             memcmp(name, packet + sizeof(order), order.n_name) == 0,
                         "a name is plain, and the one that was sent");
                given = false;
                break;
            }
            FZ_CHECK(order.file < state.n_files && !done[order.file] && !*name,
                     "what was agreed, once, by its number");
            done[order.file] = true;
            break;
        default: FZ_CHECK(false, "another word");
        }
        fz_note(fuzz, (uint64_t)order.verb << 8 | order.file);
        free(packet);
    }
    if (rest.size <= PORTER_NAME_MOST + 20)
        FZ_CHECK(porter_name_ok((const char *)rest.bytes, rest.size) ==
                     name_model((const char *)rest.bytes, rest.size),
                 "a name is one to both");
}

static void from_porter(fz_state *fuzz, frames_rest rest)
{
    porter_reply reply = { 0 };
    size_t count = take(&rest, &reply, sizeof(reply)) + (rest.size > 0);

    for (int i = 0; i < 4; i++) {
        bool fd = i & 1, give = i & 2, ok = porter_reply_ok(&reply, count, fd, give);

        fz_note(fuzz, ok);
        FZ_CHECK(!ok || (count == sizeof(reply) && reply.mark == PORTER_REPLY), "a whole reply");
        FZ_CHECK(!ok || !fd || (give && reply.status == CUVET_OK), "no descriptor that nobody asked for");
        FZ_CHECK(!ok || fd || !give || reply.status != CUVET_OK, "no promise without a descriptor");
    }
}

/* ---- opener, demangler ---- */

static void from_opener(fz_state *fuzz, frames_rest rest)
{
    opener_packet packet = { 0 };
    uint8_t how = 0;
    char *text;
    size_t count;

    (void)take(&rest, &how, 1); /* 0 without it */
    if (take(&rest, &packet, sizeof(packet)) < sizeof(packet))
        return;
    /* The reader has that much room, and nothing in it but what came. */
    count = rest.size < OPENER_TEXT ? rest.size : OPENER_TEXT;
    text = malloc(count ? count : 1);
    FZ_CHECK(text != NULL, "memory");
    (void)take(&rest, text, count); /* the same number */
    if (opener_packet_ok(&packet, sizeof(packet) + count, text, how & 1, !(how & 2)) && !packet.end) {
        FZ_CHECK(!(how & 2) && packet.n_name > 0 && (uint64_t)packet.n_name + packet.n_why == count,
                 "texts fill the packet");
        FZ_CHECK(strnlen(text, count) < packet.n_name, "a name ends in its bytes");
        FZ_CHECK(!packet.n_why || strnlen(text + packet.n_name, count - packet.n_name) < packet.n_why,
                 "so does a reason");
        FZ_CHECK(packet.what == CLI_PACKAGE ? packet.n_why == 0 && !(how & 1)
                                            : (packet.n_why == 0) == (how & 1),
                 "there is a descriptor, or a reason, and a package has neither");
        FZ_CHECK(packet.hash.known <= (packet.what == CLI_PACKAGE), "a hash is one of a package");
        FZ_CHECK(!packet.remark || !(how & 1), "a remark is no input");
        fz_note(fuzz, packet.n_name);
    }
    free(text);
}

static void from_demangler(fz_state *fuzz, frames_rest rest)
{
    static demangle_packet packet;
    uint32_t number = 1;
    demangle_answer answer;
    size_t count;

    (void)take(&rest, &number, sizeof(number)); /* 1 without it */
    FZ_CHECK(!demangle_name_ok(rest.bytes, rest.size) ||
                 (rest.size > 2 && rest.size <= 4096 && memcmp(rest.bytes, "_Z", 2) == 0),
             "a name that is asked for looks like one");
    for (size_t i = 0; demangle_name_ok(rest.bytes, rest.size) && i < rest.size; i++)
        FZ_CHECK(rest.bytes[i] > ' ' && rest.bytes[i] < 0x7f, "and is printable");
    count = take(&rest, &packet, sizeof(packet));
    answer = demangle_judge(&packet, count, number);
    fz_note(fuzz, answer);
    FZ_CHECK(answer != DEMANGLE_TEXT || (count > DEMANGLE_HEAD && packet.number == number && number != 0),
             "a text answers its question");
    FZ_CHECK(answer != DEMANGLE_NONE || count == DEMANGLE_HEAD, "no text is none");
    FZ_CHECK(answer != DEMANGLE_OTHER || (packet.number != number && packet.number != 0),
             "another question's answer");
}

static void one_option(fz_state *fuzz, frames_rest rest)
{
    char text[300];
    uint8_t ltoir = 0;
    size_t count;

    (void)take(&rest, &ltoir, 1); /* 0 without it */
    count = take(&rest, text, sizeof(text) - 1);
    text[count] = '\0';
    check_option(fuzz, text, ltoir & 1);
}

static void run(fz_state *fuzz)
{
    static void (*const CHECK[KINDS])(fz_state *, frames_rest) = {
        [TO_BROKER] = to_broker,     [FROM_BROKER] = from_broker, [TO_PORTER] = to_porter,
        [FROM_PORTER] = from_porter, [FROM_OPENER] = from_opener, [FROM_DEMANGLER] = from_demangler,
        [OPTION] = one_option,
    };

    if (fuzz->in->len > 0)
        CHECK[fuzz->in->bytes[0] % KINDS](fuzz, (frames_rest){ fuzz->in->bytes + 1, fuzz->in->len - 1 });
}

CV_FUZZ_TARGET(frames)
{
    return fz_twice(data, size, FZ_OFF, run);
}
