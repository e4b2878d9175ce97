/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "recording.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_DIAG = 1, TAG_ITEM, TAG_COUNT, TAG_END };

enum { SEVEN = 7, MORE = 1 << SEVEN, LOW = MORE - 1, NUMBER_BYTES = 10 };

/* ---- writing ---- */

static bool make_room(cli_recording *recording, size_t more)
{
    size_t cap = recording->cap ? recording->cap : 4096;
    uint8_t *bytes;

    if (recording->off || more > RECORDING_MOST - recording->size) {
        recording->off = true;
        return false;
    }
    while (cap < recording->size + more)
        cap *= 2;
    if (cap == recording->cap)
        return true;
    bytes = realloc(recording->bytes, cap);
    if (!bytes) {
        recording->off = true;
        return false;
    }
    recording->bytes = bytes;
    recording->cap = cap;
    return true;
}

/* Seven bits in each byte, the lowest first. */
static void put_number(cli_recording *recording, uint64_t value)
{
    if (!make_room(recording, NUMBER_BYTES))
        return;
    for (; value > LOW; value >>= SEVEN)
        recording->bytes[recording->size++] = (uint8_t)((value & LOW) | MORE);
    recording->bytes[recording->size++] = (uint8_t)value;
}

/* Of something that is not there the length is 0, of a text one more than that of its bytes. */
static void put_text(cli_recording *recording, const char *text, size_t size)
{
    put_number(recording, text ? (uint64_t)size + 1 : 0);
    if (!text || !make_room(recording, size + 1))
        return;
    if (size > 0)
        memcpy(recording->bytes + recording->size, text, size);
    recording->size += size;
    recording->bytes[recording->size++] = '\0';
}

static void put_path(cli_recording *recording, const cuvet_path *path)
{
    uint32_t count = path->n < CUVET_PATH_MAX ? path->n : CUVET_PATH_MAX;

    put_number(recording, count);
    for (uint32_t i = 0; i < count; i++) {
        put_number(recording, path->step[i].kind);
        put_number(recording, path->step[i].flags);
        put_number(recording, path->step[i].index);
    }
}

/* The fields that are numbers, in one list for whoever writes and whoever reads. */
/* clang-format off */
#define DIAG_NUMBERS(FIELD) \
    FIELD(rule) FIELD(severity) FIELD(file_off) FIELD(length) FIELD(flags) FIELD(inner_off) \
    FIELD(got) FIELD(want)
#define ITEM_NUMBERS(FIELD) \
    FIELD(kind) FIELD(compression) FIELD(flags) FIELD(raw_kind) FIELD(major) FIELD(minor) \
    FIELD(arch) FIELD(suffix) FIELD(member_flags) FIELD(container_off) FIELD(header_off) \
    FIELD(payload_off) FIELD(stored_size) FIELD(unpacked_size) FIELD(kernels) \
    FIELD(producer.version) FIELD(producer.flags) FIELD(errors) FIELD(warnings) FIELD(place)
#define SUM_NUMBERS(FIELD) \
    FIELD(verdict) FIELD(containers) FIELD(unreferenced) FIELD(members) FIELD(images) FIELD(elf) \
    FIELD(ptx) FIELD(ltoir) FIELD(bitcode) FIELD(other) FIELD(stored) FIELD(unpacked) FIELD(opaque) \
    FIELD(gap_bytes) FIELD(notes) FIELD(warnings) FIELD(errors) FIELD(suppressed)
/* clang-format on */

void cli_recording_diag(cli_recording *recording, const cuvet_diag *diag)
{
    if (recording->off)
        return;
    put_number(recording, TAG_DIAG);
#define FIELD(name) put_number(recording, (uint64_t)diag->name);
    DIAG_NUMBERS(FIELD)
#undef FIELD
    put_path(recording, &diag->where);
}

void cli_recording_item(cli_recording *recording, const cuvet_item *item)
{
    if (recording->off)
        return;
    put_number(recording, TAG_ITEM);
#define FIELD(name) put_number(recording, (uint64_t)item->name);
    ITEM_NUMBERS(FIELD)
#undef FIELD
    put_path(recording, &item->where);
    put_text(recording, item->ident, item->ident_len);
    put_text(recording, item->ar_name, item->ar_name_len);
    put_text(recording, item->triple, item->triple_len);
    put_text(recording, item->producer.tool, item->producer.tool ? strlen(item->producer.tool) : 0);
}

void cli_recording_count(cli_recording *recording, cuvet_rule rule, uint64_t count)
{
    put_number(recording, TAG_COUNT);
    put_number(recording, rule);
    put_number(recording, count);
}

void cli_recording_end(cli_recording *recording, const cuvet_summary *sum)
{
    put_number(recording, TAG_END);
#define FIELD(name) put_number(recording, (uint64_t)sum->name);
    SUM_NUMBERS(FIELD)
#undef FIELD
}

void cli_recording_free(cli_recording *recording)
{
    free(recording->bytes);
    *recording = (cli_recording){ .bytes = NULL };
}

/* ---- reading ---- */

static bool take_number(cli_retelling *retelling, uint64_t *out)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && retelling->at < retelling->size; shift += SEVEN) {
        uint64_t byte = retelling->bytes[retelling->at++];
        uint64_t bits = byte & LOW;

        if (bits > UINT64_MAX >> shift)
            return false;
        value |= bits << shift;
        *out = value;
        if ((byte & MORE) == 0)
            return true;
    }
    return false;
}

/* Into a field of any width: what does not fit is damage. */
#define TAKE(field)                                                                                          \
    (take_number(retelling, &value) && ((field) = (__typeof__(field))value, (uint64_t)(field) == value))

static bool take_text(cli_retelling *retelling, const char **text, size_t *size)
{
    uint64_t value;

    *text = NULL;
    *size = 0;
    if (!take_number(retelling, &value))
        return false;
    if (value == 0)
        return true;
    if (value > retelling->size - retelling->at ||
        retelling->bytes[retelling->at + (size_t)value - 1] != '\0')
        return false;
    *text = (const char *)retelling->bytes + retelling->at;
    *size = (size_t)value - 1;
    retelling->at += (size_t)value;
    return true;
}

static bool take_path(cli_retelling *retelling, cuvet_path *path)
{
    uint64_t value;

    *path = (cuvet_path){ .n = 0 };
    if (!TAKE(path->n) || path->n > CUVET_PATH_MAX)
        return false;
    for (uint32_t i = 0; i < path->n; i++) {
        cuvet_step *step = &path->step[i];

        if (!TAKE(step->kind) || step->kind > CUVET_P_OFFLOAD || !TAKE(step->flags) || !TAKE(step->index))
            return false;
    }
    return true;
}

static bool take_diag(cli_retelling *retelling)
{
    cuvet_diag *diag = &retelling->diag;
    uint64_t value;

    *diag = (cuvet_diag){ .size = sizeof(*diag) };
#define FIELD(name)                                                                                          \
    if (!TAKE(diag->name))                                                                                   \
        return false;
    DIAG_NUMBERS(FIELD)
#undef FIELD
    return diag->severity <= CUVET_ERROR && cuvet_rule_get(diag->rule) && take_path(retelling, &diag->where);
}

static bool take_item(cli_retelling *retelling)
{
    cuvet_item *item = &retelling->item;
    size_t n_tool;
    uint64_t value;

    *item = (cuvet_item){ .size = sizeof(*item) };
#define FIELD(name)                                                                                          \
    if (!TAKE(item->name))                                                                                   \
        return false;
    ITEM_NUMBERS(FIELD)
#undef FIELD
    return item->place <= CUVET_PLACE_OFFLOAD && item->compression <= CUVET_Z_UNKNOWN &&
           take_path(retelling, &item->where) && take_text(retelling, &item->ident, &item->ident_len) &&
           take_text(retelling, &item->ar_name, &item->ar_name_len) &&
           take_text(retelling, &item->triple, &item->triple_len) &&
           take_text(retelling, &item->producer.tool, &n_tool) &&
           (!item->producer.tool || strlen(item->producer.tool) == n_tool);
}

static bool take_end(cli_retelling *retelling)
{
    cuvet_summary *sum = &retelling->sum;
    uint64_t value;

    *sum = (cuvet_summary){ .size = sizeof(*sum) };
#define FIELD(name)                                                                                          \
    if (!TAKE(sum->name))                                                                                    \
        return false;
    SUM_NUMBERS(FIELD)
#undef FIELD
    return sum->verdict <= CUVET_V_ERROR && retelling->at == retelling->size;
}

static cli_told take_step(cli_retelling *retelling)
{
    uint64_t tag, value;

    if (!take_number(retelling, &tag))
        return CLI_TOLD_DAMAGED;
    if (tag == TAG_DIAG && take_diag(retelling))
        return CLI_TOLD_DIAG;
    if (tag == TAG_ITEM && take_item(retelling))
        return CLI_TOLD_ITEM;
    if (tag == TAG_COUNT && TAKE(retelling->rule) && cuvet_rule_get(retelling->rule) &&
        take_number(retelling, &retelling->count))
        return CLI_TOLD_COUNT;
    return tag == TAG_END && take_end(retelling) ? CLI_TOLD_END : CLI_TOLD_DAMAGED;
}

cli_told cli_retelling_step(cli_retelling *retelling)
{
    cli_told told = take_step(retelling);

    if (told == CLI_TOLD_DAMAGED)
        retelling->at = retelling->size;
    return told;
}

bool cli_retelling_whole(const uint8_t *bytes, size_t size)
{
    cli_retelling retelling = { .bytes = bytes, .size = size };
    cli_told told;

    do
        told = cli_retelling_step(&retelling);
    while (told != CLI_TOLD_END && told != CLI_TOLD_DAMAGED);
    return told == CLI_TOLD_END;
}
