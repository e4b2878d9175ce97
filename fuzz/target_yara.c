/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the command and its process with libyara say to each other, as the other side sees it. The first byte
 * says which: the first word of the process, a question, a hit, the end. Whoever made rules or a file may
 * have either side; what is accepted keeps what the other one relies on, written here once more. */
#include "common.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "yara/wire.h"

enum { HELLO, QUESTION, HIT, END, KINDS };

typedef struct rest {
    const uint8_t *bytes;
    size_t size;
} rest;

/* What there is; the rest is letters, so that a text that nobody ended is seen to have no end. */
static void take(rest *from, void *to, size_t size)
{
    size_t count = from->size < size ? from->size : size;

    memset(to, 'a', size);
    memcpy(to, from->bytes, count);
    from->bytes += count;
    from->size -= count;
}

static void check_text(const char *text, size_t cap)
{
    FZ_CHECK(strnlen(text, cap) < cap, "a text has its end");
}

static void check_name(const char *text, const char *more)
{
    check_text(text, YARA_NAME_CAP);
    for (; *text; text++)
        FZ_CHECK(isalnum((unsigned char)*text) || *text == '_' || strchr(more, *text), "a name has letters");
}

static void hello(fz_state *fuzz, rest from)
{
    yara_hello *said = malloc(sizeof(*said));
    bool ok;

    FZ_CHECK(said, "memory");
    take(&from, said, sizeof(*said));
    ok = yara_hello_ok(said);
    fz_note(fuzz, ok);
    for (uint32_t i = 0; ok && i < YARA_REMARKS; i++) {
        check_text(said->remark[i].text, YARA_TEXT_CAP);
        FZ_CHECK(i < said->n_remarks || !*said->remark[i].text, "what is not counted says nothing");
    }
    FZ_CHECK(!ok || (said->state < YARA_STATES && said->n_remarks <= YARA_REMARKS), "numbers");
    FZ_CHECK(!ok || said->state == YARA_READY || said->n_remarks > 0, "an end has its reason");
    free(said);
}

/* Each text of it lies in the part that it belongs to, with its end. */
static void check_question(fz_state *fuzz, const yara_question *question, const char *block, size_t size)
{
    const yara_ask *ask = &question->ask;
    const char *text = block + ask->n_sections * sizeof(yara_section), *names = text + ask->texts;

    FZ_CHECK(question->names == names && question->bytes == (const uint8_t *)names + ask->names, "parts");
    FZ_CHECK((const char *)question->bytes + ask->size == block + size, "and they fill it");
    for (size_t i = 0; i < YARA_N_VARIABLES; i++) {
        FZ_CHECK(question->variable[i] == text, "a variable begins behind the one before");
        text += strnlen(text, (size_t)(names - text)) + 1;
        FZ_CHECK(text <= names, "a variable has its end");
    }
    FZ_CHECK(text == names, "there are no more");
    for (uint32_t i = 0; i < ask->n_sections; i++) {
        const yara_section *section = &question->section[i];

        FZ_CHECK(section->name < ask->names, "a name lies among the names");
        FZ_CHECK(memchr(names + section->name, '\0', ask->names - section->name), "and has its end");
        FZ_CHECK(section->off <= ask->size && section->size <= ask->size - section->off,
                 "it lies in the piece");
    }
    fz_note_bytes(fuzz, question->bytes, ask->size);
}

static void question(fz_state *fuzz, rest from)
{
    yara_question asked = { .names = NULL };
    uint64_t size = 0;
    char *block;
    bool ok;

    take(&from, &asked.ask, sizeof(asked.ask));
    ok = yara_ask_size(&asked.ask, &size) && size <= from.size;
    fz_note(fuzz, ok);
    if (!ok)
        return;
    /* Exactly so long: who reads behind it is seen. */
    block = malloc(size > 0 ? (size_t)size : 1);
    FZ_CHECK(block, "memory");
    memcpy(block, from.bytes, (size_t)size);
    ok = yara_question_ok(&asked, block);
    fz_note(fuzz, ok);
    if (ok)
        check_question(fuzz, &asked, block, (size_t)size);
    free(block);
}

static void hit(fz_state *fuzz, rest from)
{
    yara_hit *said = malloc(sizeof(*said));
    yara_ask ask;
    bool ok;

    FZ_CHECK(said, "memory");
    take(&from, &ask, sizeof(ask));
    take(&from, said, sizeof(*said));
    ok = yara_hit_ok(said, &ask);
    fz_note(fuzz, ok);
    if (ok) {
        FZ_CHECK(said->section <= ask.n_sections && said->severity <= CUVET_ERROR, "numbers");
        FZ_CHECK(said->n_places <= YARA_PLACES && said->n_places <= said->places, "places");
        FZ_CHECK(said->n_metas <= YARA_METAS && *said->rule, "a rule");
        check_name(said->rule, "");
        check_name(said->space, "");
        check_text(said->tags, YARA_TEXT_CAP);
        check_text(said->description, YARA_TEXT_CAP);
        for (const char *tag = said->tags; *tag; tag++)
            FZ_CHECK(isalnum((unsigned char)*tag) || *tag == '_' || *tag == ' ', "tags");
    }
    for (uint32_t i = 0; ok && i < said->n_metas; i++) {
        check_name(said->meta[i].name, "");
        check_text(said->meta[i].value, YARA_TEXT_CAP);
    }
    for (uint32_t i = 0; ok && i < said->n_places; i++) {
        const yara_place *place = &said->place[i];

        FZ_CHECK(place->off <= ask.size && place->length <= ask.size - place->off, "it lies in the piece");
        check_name(place->string, "$");
        FZ_CHECK(!*place->string || !strchr(place->string + 1, '$'), "a string begins with its mark");
    }
    free(said);
}

static void end(fz_state *fuzz, rest from)
{
    uint64_t before[3];
    yara_end said;
    bool ok;

    take(&from, before, sizeof(before));
    take(&from, &said, sizeof(said));
    ok = yara_end_ok(&said, before);
    fz_note(fuzz, ok);
    FZ_CHECK(!ok || said.outcome < YARA_OUTCOMES, "an outcome");
    for (size_t i = 0; ok && i < 3; i++)
        FZ_CHECK(said.hits[i] >= before[i] && said.hits[i] <= UINT64_MAX / 1024, "counts can be added up");
}

static void run(fz_state *fuzz)
{
    rest from = { fuzz->in->bytes, fuzz->in->len };

    if (from.size == 0)
        return;
    from.bytes++;
    from.size--;
    switch (fuzz->in->bytes[0] % KINDS) {
    case HELLO: hello(fuzz, from); break;
    case QUESTION: question(fuzz, from); break;
    case HIT: hit(fuzz, from); break;
    default: end(fuzz, from); break;
    }
}

CV_FUZZ_TARGET(yara)
{
    return fz_twice(data, size, FZ_OFF, run);
}
