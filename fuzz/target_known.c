/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What comes from a database, and what crosses the border between the caged process and the keeper of one.
 * The first byte says which. A recording that can be told is told within its bytes, and writing down what was
 * told gives one that tells the same. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "known/frame.h"
#include "known/recording.h"

enum { RECORDING, ORDER, REPLY, KINDS };

static void lies_in(const cli_retelling *telling, const char *text, size_t size)
{
    const uint8_t *at = (const uint8_t *)text;

    FZ_CHECK(!text ||
                 (at >= telling->bytes && at + size < telling->bytes + telling->size && at[size] == '\0'),
             "a text lies in the recording, with its end");
}

/* Tell it, and write it down again. @return could it be told to its end? */
static bool tell(fz_state *fuzz, const uint8_t *bytes, size_t size, cli_recording *again)
{
    cli_retelling telling = { .bytes = bytes, .size = size };
    cli_told told;

    while ((told = cli_retelling_step(&telling)) != CLI_TOLD_END && told != CLI_TOLD_DAMAGED) {
        size_t before = telling.at;

        FZ_CHECK(before <= size, "it stays within its bytes");
        fz_note(fuzz, told);
        if (told == CLI_TOLD_DIAG) {
            FZ_CHECK(telling.diag.where.n <= CUVET_PATH_MAX && cuvet_rule_get(telling.diag.rule),
                     "a finding has a rule, and a place");
            cli_recording_diag(again, &telling.diag);
        } else if (told == CLI_TOLD_ITEM) {
            const cuvet_item *item = &telling.item;

            lies_in(&telling, item->ident, item->ident_len);
            lies_in(&telling, item->ar_name, item->ar_name_len);
            lies_in(&telling, item->triple, item->triple_len);
            lies_in(&telling, item->producer.tool, item->producer.tool ? strlen(item->producer.tool) : 0);
            cli_recording_item(again, item);
        } else {
            cli_recording_count(again, telling.rule, telling.count);
        }
    }
    if (told == CLI_TOLD_END)
        cli_recording_end(again, &telling.sum);
    FZ_CHECK((told == CLI_TOLD_END) == cli_retelling_whole(bytes, size), "it is whole if it can be told");
    return told == CLI_TOLD_END;
}

static void recording(fz_state *fuzz, const uint8_t *bytes, size_t size)
{
    cli_recording first = { .bytes = NULL }, second = { .bytes = NULL };

    if (tell(fuzz, bytes, size, &first)) {
        FZ_CHECK(!first.off && first.size <= size, "it is no longer than what it was told from");
        FZ_CHECK(tell(fuzz, first.bytes, first.size, &second) && second.size == first.size &&
                     memcmp(first.bytes, second.bytes, first.size) == 0,
                 "told again it is the same");
        fz_note_bytes(fuzz, first.bytes, first.size);
    }
    cli_recording_free(&first);
    cli_recording_free(&second);
}

/* The rules once more. */
static void order(fz_state *fuzz, unsigned how, const uint8_t *bytes, size_t size)
{
    static char text[KNOWN_TEXT_MOST + 1];
    known_order head = { 0 };
    size_t n_head = size < sizeof(head) ? size : sizeof(head), n_text = size - n_head;
    known_purpose purpose = (known_purpose)(how % 3);
    bool ok, looks, adds;

    memcpy(&head, bytes, n_head);
    n_text = n_text < KNOWN_TEXT_MOST ? n_text : KNOWN_TEXT_MOST;
    memcpy(text, bytes + n_head, n_text);
    ok = known_order_ok(&head, n_head + n_text, text, purpose);
    fz_note(fuzz, ok);
    if (!ok)
        return;
    looks = head.verb == KNOWN_ASK_PIECE || head.verb == KNOWN_ASK_KERNEL;
    adds = head.verb == KNOWN_SOURCE || head.verb == KNOWN_ADD_PIECE || head.verb == KNOWN_ADD_KERNEL;
    FZ_CHECK(n_head == sizeof(head) && head.n_text == n_text, "the length of a text is what came");
    FZ_CHECK(head.verb == KNOWN_END || (purpose == KNOWN_FOR_LOOKUP   ? looks
                                        : purpose == KNOWN_FOR_ADDING ? adds
                                                                      : !looks && !adds),
             "an order is one of its purpose");
    FZ_CHECK((head.verb != KNOWN_ADD_PIECE && head.verb != KNOWN_ADD_KERNEL) ||
                 memchr(head.code, '\0', sizeof(head.code)),
             "an architecture has its end");
    FZ_CHECK(head.verb != KNOWN_PUT || (head.total <= RECORDING_MOST && n_text <= head.total - head.at),
             "a part lies within the whole");
    for (size_t i = 0; head.verb == KNOWN_SOURCE && i < n_text; i++)
        FZ_CHECK((uint8_t)text[i] >= ' ', "a name is one line");
}

static void reply(fz_state *fuzz, const uint8_t *bytes, size_t size)
{
    static char text[KNOWN_TEXT_MOST + 1];
    known_reply head = { 0 };
    size_t n_head = size < sizeof(head) ? size : sizeof(head), n_text = size - n_head;
    bool ok;

    memcpy(&head, bytes, n_head);
    n_text = n_text < KNOWN_TEXT_MOST ? n_text : KNOWN_TEXT_MOST;
    memcpy(text, bytes + n_head, n_text);
    ok = known_reply_ok(&head, n_head + n_text, text);
    fz_note(fuzz, ok);
    FZ_CHECK(!ok || (n_head == sizeof(head) && head.n_text == n_text && head.match <= KNOWN_BYTES),
             "a reply is whole");
    FZ_CHECK(!ok || n_text == 0 || head.total > 0 || text[n_text - 1] == '\0', "names have their ends");
}

static void run(fz_state *fuzz)
{
    const uint8_t *bytes = fuzz->in->bytes;
    size_t size = fuzz->in->len;

    if (size < 2)
        return;
    switch (bytes[0] % KINDS) {
    case RECORDING: recording(fuzz, bytes + 2, size - 2); break;
    case ORDER: order(fuzz, bytes[1], bytes + 2, size - 2); break;
    default: reply(fuzz, bytes + 2, size - 2); break;
    }
}

CV_FUZZ_TARGET(known)
{
    return fz_twice(data, size, FZ_OFF, run);
}
