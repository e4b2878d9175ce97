/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The fingerprint of PTX, and names without the hash of a path, of any bytes: blanks at the end change
 * nothing, each entry has a name that lies in the text, and a name keeps its length and all but digits of a
 * hash. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "fingerprint.h"

enum { MORE = 5 };

/* What the command says on standard error: loaded.c, that a library is missing. */
void cli_complain(const char *file, const char *format, ...)
{
    (void)file;
    fz_fail(format, 0, "nettle cannot be loaded");
}

static uint64_t spent;

/* The budget has no end here; what is asked of it is counted. */
bool cli_looking_spend(cli_looking *looking, const cli_session *session, uint64_t count)
{
    (void)looking;
    (void)session;
    spent += count;
    return true;
}

static bool on_entry(void *user, cuvet_bytes name, const cli_digest *digest)
{
    const cuvet_bytes *text = user;

    FZ_CHECK(name.n > 0 && name.p >= text->p && name.p + name.n <= text->p + text->n,
             "a name lies in the text");
    (void)digest;
    return true;
}

static void check_name(fz_state *fuzz, cuvet_bytes name)
{
    char plain[CLI_PLAIN_CAP], again[CLI_PLAIN_CAP];

    if (!cli_plain_name(name, plain))
        return;
    for (size_t i = 0; i < name.n; i++)
        FZ_CHECK(plain[i] == (char)name.p[i] || (plain[i] == '0' && strchr("123456789abcdef", name.p[i])),
                 "only digits of a hash go");
    FZ_CHECK(cli_plain_name((cuvet_bytes){ (const uint8_t *)plain, name.n }, again) &&
                 memcmp(plain, again, name.n) == 0,
             "a name without a hash stays as it is");
    fz_note_bytes(fuzz, plain, name.n);
}

static void run(fz_state *fuzz)
{
    static bool loaded;
    static const char BLANKS[] = "\n \t\r\n";
    cuvet_bytes text = { fuzz->in->bytes, fuzz->in->len };
    uint8_t *longer = malloc(text.n + MORE);
    cli_digest first, second;
    bool known;

    FZ_CHECK(loaded || cli_load_hash(), "nettle is there");
    loaded = true;
    FZ_CHECK(longer, "there is memory for the input");
    spent = 0;
    known = cli_fingerprint_text(text, NULL, NULL, &first, on_entry, &text);
    FZ_CHECK(spent == text.n, "a text costs its length");
    fz_note(fuzz, known);
    fz_note_bytes(fuzz, first.byte, sizeof(first.byte));
    if (text.n > 0)
        memcpy(longer, text.p, text.n);
    memcpy(longer + text.n, BLANKS, MORE);
    text = (cuvet_bytes){ longer, text.n + MORE };
    FZ_CHECK(cli_fingerprint_text(text, NULL, NULL, &second, on_entry, &text) == known &&
                 memcmp(&first, &second, sizeof(first)) == 0,
             "blanks at the end change nothing");
    free(longer);
    check_name(fuzz, (cuvet_bytes){ fuzz->in->bytes, fuzz->in->len });
}

CV_FUZZ_TARGET(print)
{
    return fz_twice(data, size, FZ_OFF, run);
}
