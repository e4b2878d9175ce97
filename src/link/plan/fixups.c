/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The fields of relocations, written into the bytes of what they patch. */
#include "link/plan/plan.h"

CV_BUF_BEGIN
/* Bits of the byte in which bit 'at' lies that belong to a field with 'left' bits from there on. */
static unsigned bits_in_byte(unsigned at, unsigned left)
{
    return left < 8 - at % 8 ? left : 8 - at % 8;
}

static uint64_t get_bits(const uint8_t *bytes, unsigned pos, unsigned bits)
{
    uint64_t value = 0;

    for (unsigned done = 0, part; done < bits; done += part) {
        unsigned at = pos + done;

        part = bits_in_byte(at, bits - done);
        value |= (uint64_t)((unsigned)bytes[at / 8] >> at % 8 & ((1u << part) - 1)) << done;
    }
    return value;
}

static void put_bits(uint8_t *bytes, unsigned pos, unsigned bits, uint64_t value)
{
    for (unsigned done = 0, part; done < bits; done += part) {
        unsigned at = pos + done, ones;

        part = bits_in_byte(at, bits - done);
        ones = (1u << part) - 1;
        bytes[at / 8] = (uint8_t)(((unsigned)bytes[at / 8] & ~(ones << at % 8)) |
                                  ((unsigned)(value >> done & ones) << at % 8));
    }
}

bool cv_link_put_field(const cv_field *field, uint8_t *bytes, uint64_t size, uint64_t off)
{
    uint64_t end = ((uint64_t)field->pos + field->bits + 7) / 8, value = field->value;

    if (off > size || end > size - off)
        return false;
    if (field->add)
        value = cv_wrap_add(value, get_bits(bytes + off, field->pos, field->bits));
    put_bits(bytes + off, field->pos, field->bits, value);
    return true;
}
CV_BUF_END

static const cv_field *field_at(const cv_part_fixups *fixups, const cv_fixed *fixed, const cv_fixup *fixup,
                                unsigned index)
{
    return cv_fields_get(&fixups->field, (uint64_t)fixed->first_field + fixup->field + index);
}

uint64_t cv_fixups_reach(const cv_part_fixups *fixups, const cv_fixed *fixed, const cv_fixup *fixup)
{
    uint64_t most = 0;

    for (unsigned i = 0; i < fixup->n_fields; i++) {
        const cv_field *field = field_at(fixups, fixed, fixup, i);

        most = cv_max(most, ((uint64_t)field->pos + field->bits + 7) / 8);
    }
    return most;
}

bool cv_fixups_apply(const cv_part_fixups *fixups, const cv_fixed *fixed, const cv_fixup *fixup,
                     uint8_t *bytes, uint64_t size, uint64_t off)
{
    bool ok = true;

    for (unsigned i = 0; i < fixup->n_fields && ok; i++)
        ok = cv_link_put_field(field_at(fixups, fixed, fixup, i), bytes, size, off);
    return ok;
}
