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

bool yara_hello_ok(yara_hello *hello)
{
    if (hello->state >= YARA_STATES || hello->n_remarks > YARA_REMARKS)
        return false;
    for (uint32_t i = 0; i < hello->n_remarks; i++)
        hello->remark[i].text[YARA_TEXT_CAP - 1] = '\0';
    return true;
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

bool yara_end_ok(const yara_end *end)
{
    return end->outcome < YARA_OUTCOMES && end->hits[0] <= COUNT_MOST && end->hits[1] <= COUNT_MOST &&
           end->hits[2] <= COUNT_MOST;
}
