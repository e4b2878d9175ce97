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
typedef struct rest {
    const uint8_t *p;
    size_t n;
} rest;

static size_t take(rest *r, void *to, size_t n)
{
    size_t got = n < r->n ? n : r->n;

    memcpy(to, r->p, got);
    r->p += got;
    r->n -= got;
    return got;
}

/* ---- broker ---- */

/* May this option be passed on? By the other parser: one option of a member that comes out as it went in. */
static bool option_model(fz *f, const char *option, bool ltoir)
{
    cv_u8s out = { 0 }, none = { 0 };
    size_t n = strlen(option);
    bool same = false;

    for (size_t i = 0; i < RULES.n_option; i++) {
        if (strcmp(OWN[i], option) == 0)
            return true;
    }
    if (cv_member_options(&f->x, cv_span_of(option, n, f->base), ltoir, &none, &out) == CUVET_OK)
        same = out.n == n + 1 && memcmp(out.v, option, n + 1) == 0;
    cv_u8s_free(&f->x.mem, &out);
    return same;
}

static void check_option(fz *f, const char *option, bool ltoir)
{
    bool ok = cli_broker_option_ok(&RULES, option, ltoir);

    fz_note(f, ok);
    if (!f->x.work_out && f->x.mem.live == 0)
        FZ_CHECK(ok == option_model(f, option, ltoir) || f->x.work_out || strlen(option) > 200,
                 "the list of the broker is that of members");
}

static bool request_model(const broker_request *h)
{
    bool kinds = h->ltoir < 2 && h->cubin < 2 && (h->debug == 0 || (h->debug == 1 && h->cubin == 1));

    if (h->mark != 'r' || !kinds || (h->suffix && h->suffix != 'a' && h->suffix != 'f'))
        return false;
    if (h->cubin && (h->ltoir || h->n_options))
        return false;
    if (h->sm < 10 || h->sm > 999 || h->threads < 1 || h->threads > 64)
        return false;
    return h->n >= 1 && h->n <= RULES.input && h->n_options <= RULES.options &&
           h->option_bytes <= RULES.option_bytes && h->option_bytes / 2 >= h->n_options;
}

/* Each option a string of its own, one behind the other, none left out. */
static void check_cut(fz *f, const broker_request *h, const char *text)
{
    const char *option[8] = { NULL };
    bool ok = broker_cut_options(h, text, option, &RULES);
    uint64_t at = 0;

    fz_note(f, ok);
    for (uint32_t i = 0; ok && i < h->n_options; i++) {
        FZ_CHECK(option[i] == text + at, "options follow each other");
        FZ_CHECK(memchr(option[i], '\0', (size_t)(h->option_bytes - at)) != NULL,
                 "an option ends in its bytes");
        check_option(f, option[i], h->ltoir != 0);
        FZ_CHECK(cli_broker_option_ok(&RULES, option[i], h->ltoir != 0), "each is allowed");
        at += strlen(option[i]) + 1;
    }
    FZ_CHECK(!ok || at == h->option_bytes, "no byte is left over");
}

static void to_broker(fz *f, rest r)
{
    while (r.n > 0) {
        broker_request h = { 0 };
        char text[256];
        uint8_t bytes[64];

        if (*r.p == BROKER_CANCEL) {
            r.p++;
            r.n--;
            continue;
        }
        if (take(&r, &h, sizeof(h)) < sizeof(h))
            break;
        FZ_CHECK(broker_request_ok(&h, &RULES) == request_model(&h), "a request is what the rules say");
        if (!broker_request_ok(&h, &RULES))
            break;
        FZ_CHECK(h.option_bytes < sizeof(text) && h.n <= sizeof(bytes), "what follows has room");
        if (take(&r, text, (size_t)h.option_bytes) < h.option_bytes)
            break;
        text[h.option_bytes] = '!'; /* nobody may go on until a NUL comes */
        check_cut(f, &h, text);
        if (take(&r, bytes, (size_t)h.n) < h.n)
            break;
        fz_note(f, h.sm);
    }
}

static void from_broker(fz *f, rest r)
{
    broker_reply p = { 0 };
    bool ok;

    if (take(&r, &p, sizeof(p)) < sizeof(p))
        return;
    ok = broker_reply_ok(&p, &RULES);
    fz_note(f, ok);
    if (ok) {
        FZ_CHECK(p.mark == BROKER_REPLY && p.n <= RULES.output && p.n_log <= RULES.log, "a reply has bounds");
        FZ_CHECK(p.n == 0 || p.end == CUVET_COMPILED, "only what was compiled has bytes");
        FZ_CHECK(p.end <= (uint32_t)CUVET_COMPILE_UNSUPPORTED, "it ended in one of the ways");
        FZ_CHECK(p.status == CUVET_OK || p.status == CUVET_E_NOMEM || p.status == CUVET_E_INTERNAL,
                 "a status that an input knows");
    } else {
        bool bounds = p.mark == BROKER_REPLY && p.n <= RULES.output && p.n_log <= RULES.log;

        FZ_CHECK(!bounds || p.n > 0 || p.end > 8 ||
                     (p.status != CUVET_OK && p.status != CUVET_E_NOMEM && p.status != CUVET_E_INTERNAL),
                 "it is refused for a reason");
    }
}

/* ---- porter ---- */

static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

/* "[WORDS-]NNNN-REST.EXTENSION" */
static bool name_model(const char *name, size_t n)
{
    static const char *const EXT[] = { ".cubin", ".ptx", ".ltoir", ".merc", ".fatbin", ".bc", ".bin" };
    char text[PORTER_NAME_MOST + 2];
    bool ext = false, number = false;

    if (n == 0 || n > PORTER_NAME_MOST)
        return false;
    memcpy(text, name, n);
    text[n] = '\0';
    if (strspn(text, PLAIN) != n || text[0] == '.' || text[0] == '-')
        return false;
    for (size_t i = 0; i < sizeof(EXT) / sizeof(EXT[0]); i++)
        ext = ext || (n > strlen(EXT[i]) && strcmp(text + n - strlen(EXT[i]), EXT[i]) == 0);
    for (const char *p = text; p && *p; p = strchr(p, '-') ? strchr(p, '-') + 1 : NULL) {
        size_t digits = strspn(p, "0123456789");

        number = number || (digits >= 4 && p[digits] == '-');
    }
    return ext && number;
}

/* Packets: a byte for the length, then the bytes. */
static void to_porter(fz *f, rest r)
{
    porter_state s = { 0 };
    bool done[PORTER_FILES] = { false }, given = false, ended = false;
    uint8_t agreed = 0;

    (void)take(&r, &agreed, 1); /* none without it */
    s.n_files = agreed % (PORTER_FILES + 1u);
    s.folder = agreed & 0x10;
    while (r.n > 0) {
        char name[PORTER_NAME_MOST + 1];
        uint8_t *packet;
        porter_order o;
        uint8_t len;
        size_t n;

        (void)take(&r, &len, 1); /* there is one */
        n = len < r.n ? len : r.n;
        packet = malloc(n ? n : 1); /* of its size: nothing behind it may be looked at */
        FZ_CHECK(packet != NULL, "memory");
        (void)take(&r, packet, n); /* the same number */
        memset(name, 'x', sizeof(name));
        if (!porter_take_order(&s, packet, n, &o, name)) {
            free(packet);
            break;
        }
        FZ_CHECK(!ended, "the end is the end");
        FZ_CHECK(memchr(name, '\0', sizeof(name)) != NULL, "a name ends");
        FZ_CHECK(n >= sizeof(o) && memcmp(packet, &o, sizeof(o)) == 0 && n == sizeof(o) + o.n_name,
                 "an order is its packet");
        switch (o.verb) {
        case PORTER_END: ended = true; break;
        case PORTER_GIVE:
            FZ_CHECK(s.folder && o.file == PORTER_IN_FOLDER && !*name, "only a folder gives files");
            given = true;
            break;
        case PORTER_DONE:
            if (o.file == PORTER_IN_FOLDER) {
                FZ_CHECK(s.folder && given, "before it was given, nothing is finished");
                FZ_CHECK(name_model(name, strlen(name)) && strlen(name) == o.n_name &&
                             memcmp(name, packet + sizeof(o), o.n_name) == 0,
                         "a name is plain, and the one that was sent");
                given = false;
                break;
            }
            FZ_CHECK(o.file < s.n_files && !done[o.file] && !*name, "what was agreed, once, by its number");
            done[o.file] = true;
            break;
        default: FZ_CHECK(false, "another word");
        }
        fz_note(f, (uint64_t)o.verb << 8 | o.file);
        free(packet);
    }
    if (r.n <= PORTER_NAME_MOST + 20)
        FZ_CHECK(porter_name_ok((const char *)r.p, r.n) == name_model((const char *)r.p, r.n),
                 "a name is one to both");
}

static void from_porter(fz *f, rest r)
{
    porter_reply p = { 0 };
    size_t n = take(&r, &p, sizeof(p)) + (r.n > 0);

    for (int i = 0; i < 4; i++) {
        bool fd = i & 1, give = i & 2, ok = porter_reply_ok(&p, n, fd, give);

        fz_note(f, ok);
        FZ_CHECK(!ok || (n == sizeof(p) && p.mark == PORTER_REPLY), "a whole reply");
        FZ_CHECK(!ok || !fd || (give && p.status == CUVET_OK), "no descriptor that nobody asked for");
        FZ_CHECK(!ok || fd || !give || p.status != CUVET_OK, "no promise without a descriptor");
    }
}

/* ---- opener, demangler ---- */

static void from_opener(fz *f, rest r)
{
    opener_packet p = { 0 };
    uint8_t how = 0;
    char *text;
    size_t n;

    (void)take(&r, &how, 1); /* 0 without it */
    if (take(&r, &p, sizeof(p)) < sizeof(p))
        return;
    /* The reader has that much room, and nothing in it but what came. */
    n = r.n < OPENER_TEXT ? r.n : OPENER_TEXT;
    text = malloc(n ? n : 1);
    FZ_CHECK(text != NULL, "memory");
    (void)take(&r, text, n); /* the same number */
    if (opener_packet_ok(&p, sizeof(p) + n, text, how & 1, !(how & 2)) && !p.end) {
        FZ_CHECK(!(how & 2) && p.n_name > 0 && (uint64_t)p.n_name + p.n_why == n, "texts fill the packet");
        FZ_CHECK(strnlen(text, n) < p.n_name, "a name ends in its bytes");
        FZ_CHECK(!p.n_why || strnlen(text + p.n_name, n - p.n_name) < p.n_why, "so does a reason");
        FZ_CHECK((p.n_why == 0) == (how & 1), "there is a descriptor, or a reason");
        FZ_CHECK(!p.remark || !(how & 1), "a remark is no input");
        fz_note(f, p.n_name);
    }
    free(text);
}

static void from_demangler(fz *f, rest r)
{
    static demangle_packet p;
    uint32_t number = 1;
    demangle_answer a;
    size_t n;

    (void)take(&r, &number, sizeof(number)); /* 1 without it */
    FZ_CHECK(!demangle_name_ok(r.p, r.n) || (r.n > 2 && r.n <= 4096 && memcmp(r.p, "_Z", 2) == 0),
             "a name that is asked for looks like one");
    for (size_t i = 0; demangle_name_ok(r.p, r.n) && i < r.n; i++)
        FZ_CHECK(r.p[i] > ' ' && r.p[i] < 0x7f, "and is printable");
    n = take(&r, &p, sizeof(p));
    a = demangle_judge(&p, n, number);
    fz_note(f, a);
    FZ_CHECK(a != DEMANGLE_TEXT || (n > DEMANGLE_HEAD && p.number == number && number != 0),
             "a text answers its question");
    FZ_CHECK(a != DEMANGLE_NONE || n == DEMANGLE_HEAD, "no text is none");
    FZ_CHECK(a != DEMANGLE_OTHER || (p.number != number && p.number != 0), "another question's answer");
}

static void one_option(fz *f, rest r)
{
    char text[300];
    uint8_t ltoir = 0;
    size_t n;

    (void)take(&r, &ltoir, 1); /* 0 without it */
    n = take(&r, text, sizeof(text) - 1);
    text[n] = '\0';
    check_option(f, text, ltoir & 1);
}

static void run(fz *f)
{
    static void (*const CHECK[KINDS])(fz *, rest) = {
        [TO_BROKER] = to_broker,     [FROM_BROKER] = from_broker, [TO_PORTER] = to_porter,
        [FROM_PORTER] = from_porter, [FROM_OPENER] = from_opener, [FROM_DEMANGLER] = from_demangler,
        [OPTION] = one_option,
    };

    if (f->in->len > 0)
        CHECK[f->in->bytes[0] % KINDS](f, (rest){ f->in->bytes + 1, f->in->len - 1 });
}

CV_FUZZ_TARGET(frames)
{
    return fz_twice(data, size, FZ_OFF, run);
}
