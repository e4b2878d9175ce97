/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "wire.h"

#include <string.h>

/* Of numbers, hits are counted by whoever adds them up: no sum of these wraps. */
#define COUNT_MOST (UINT64_C(1) << 40)

static bool is_letter(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_';
}

static bool is_ended(const char *text, size_t cap)
{
    return memchr(text, '\0', cap) != NULL;
}

/* @param first what it may begin with, or '\0' */
static bool is_name(const char *text, char first)
{
    const char *end = memchr(text, '\0', YARA_NAME_CAP);

    if (!end)
        return false;
    text += first && *text == first;
    while (is_letter(*text))
        text++;
    return text == end;
}

/* As the compiler of rules writes it: names, with blanks between them. */
static bool are_tags(const char *text)
{
    if (!is_ended(text, YARA_TEXT_CAP))
        return false;
    while (is_letter(*text) || *text == ' ')
        text++;
    return *text == '\0';
}

bool yara_ask_size(const yara_ask *ask, uint64_t *size)
{
    uint64_t most = (uint64_t)ask->n_sections * sizeof(yara_section) + ask->texts + ask->names;

    if (most > SIZE_MAX || ask->size > SIZE_MAX - most) /* the former where a size has 32 bits */
        return false;
    *size = most + ask->size;
    return true;
}

static bool take_variables(yara_question *question, const char *texts, size_t size)
{
    for (size_t i = 0; i < YARA_N_VARIABLES; i++) {
        const char *end = size > 0 ? memchr(texts, '\0', size) : NULL;

        if (!end)
            return false;
        question->variable[i] = texts;
        size -= (size_t)(end - texts) + 1;
        texts = end + 1;
    }
    return size == 0;
}

/* The last name has its end, so that each has one. */
static bool are_sections(const yara_question *question)
{
    const yara_ask *ask = &question->ask;
    bool good = ask->names == 0 || question->names[ask->names - 1] == '\0';

    for (uint32_t i = 0; good && i < ask->n_sections; i++) {
        const yara_section *section = &question->section[i];

        good = section->name < ask->names && section->off <= ask->size &&
               section->size <= ask->size - section->off;
    }
    return good;
}

/* Sections first, which are aligned. */
bool yara_question_ok(yara_question *question, const void *block)
{
    const yara_ask *ask = &question->ask;
    const char *texts = (const char *)block + (size_t)ask->n_sections * sizeof(yara_section);

    question->section = block;
    question->names = texts + ask->texts;
    question->bytes = (const uint8_t *)question->names + ask->names;
    return take_variables(question, texts, ask->texts) && are_sections(question);
}

/* Also of remarks that are not said: nobody reads on behind a text. */
bool yara_hello_ok(yara_hello *hello)
{
    for (uint32_t i = 0; i < YARA_REMARKS; i++)
        hello->remark[i].text[i < hello->n_remarks ? YARA_TEXT_CAP - 1 : 0] = '\0';
    return hello->state < YARA_STATES && hello->n_remarks <= YARA_REMARKS &&
           (hello->state == YARA_READY || hello->n_remarks > 0);
}

static bool place_ok(const yara_place *place, const yara_ask *ask)
{
    return place->off <= ask->size && place->length <= ask->size - place->off && is_name(place->string, '$');
}

bool yara_hit_ok(yara_hit *hit, const yara_ask *ask)
{
    bool good = hit->section <= ask->n_sections && hit->severity <= 2 && hit->n_places <= YARA_PLACES &&
                hit->n_metas <= YARA_METAS && hit->places >= hit->n_places && hit->places <= COUNT_MOST &&
                is_name(hit->rule, '\0') && *hit->rule && is_name(hit->space, '\0') && are_tags(hit->tags) &&
                is_ended(hit->description, YARA_TEXT_CAP);

    for (uint32_t i = 0; good && i < hit->n_metas; i++)
        good = is_name(hit->meta[i].name, '\0') && is_ended(hit->meta[i].value, YARA_TEXT_CAP);
    for (uint32_t i = 0; good && i < hit->n_places; i++)
        good = place_ok(&hit->place[i], ask);
    return good;
}

bool yara_end_ok(const yara_end *end, const uint64_t said[3])
{
    bool good = end->outcome < YARA_OUTCOMES;

    for (size_t i = 0; i < 3; i++)
        good = good && end->hits[i] >= said[i] && end->hits[i] <= COUNT_MOST;
    return good;
}
