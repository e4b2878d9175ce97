/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Container and member headers, walked as the scan walks them, and the writer. */
#include "common.h"

#include "format/fatbin/read.h"
#include "format/fatbin/write.h"
#include "mutate.h"

/* The writer makes canonical headers; older forms of the option block are read only. */
static bool canonical(cv_span header, const cv_fatbin_member *m)
{
    bool no_string = m->has_options && cv_u32_at(header, m->options_offset) == 0;
    bool empty_name = m->name_offset != 0 && m->ident.len == 0;
    /* Of tools 12.3 to 12.5, and up to 10.2. */
    bool old_order = m->empty_ident || cv_fatbin_writer(m) != CV_PROFILE_NONE;

    return !m->compat_values && !no_string && !empty_name && !old_order;
}

static void write_back(fz *f, cv_span header, const cv_fatbin_member *m)
{
    cv_builder b;

    cv_builder_init(&b, &f->x.mem);
    cv_fatbin_put_member(&b, m);
    if (!b.failed)
        FZ_CHECK(cv_span_eq(cv_builder_span(&b), header), "write after read is the same bytes");
    cv_builder_free(&b);
}

static void member(fz *f, cv_span header)
{
    uint64_t before = fz_reported(f);
    cv_fatbin_member m;
    cuvet_status st = cv_fatbin_read_member(&f->x, header, &m);

    fz_status(f, st, before);
    fz_inside(f, m.ident);
    fz_inside(f, m.options);
    fz_inside(f, m.compat_copy);
    if (st == CUVET_OK && (m.flags & CV_FB_COMPRESSED) != 0)
        FZ_CHECK(m.compressed_size <= m.payload_size &&
                     m.payload_size - m.compressed_size <= 8 && /* eight: 12.3 to 12.5 */
                     m.uncompressed_size != 0,
                 "a compressed payload fills its room");
    if (st == CUVET_OK && fz_reported(f) == before && canonical(header, &m))
        write_back(f, header, &m);
    fz_note(f, m.flags ^ m.payload_size << 20 ^ m.ident.len << 40);
    fz_note(f, m.options.len << 32 | m.compat_copy.len);
}

/* The container at 'at'; returns where the next one may be. */
static uint64_t container(fz *f, cv_span s, uint64_t at)
{
    cv_span in = cv_span_tail(s, at), head, header;
    uint64_t before = fz_reported(f), pos = at + CV_FATBIN_HEADER, end, hs, ps;
    cv_fatbin_container c;
    cuvet_status st = cv_fatbin_read_container(&f->x, in, in.len, at, &c);

    fz_status(f, st, before);
    if (st != CUVET_OK)
        return at + 4;
    FZ_CHECK(c.body_size <= c.size && c.body_size <= in.len - CV_FATBIN_HEADER,
             "the body lies in the object");
    end = pos + c.body_size;
    while (pos < end) {
        head = cv_span_tail(s, pos);
        head.len = cv_min(end - pos, CV_FATBIN_MEMBER);
        if (!cv_fatbin_member_extent(head, end - pos, &hs, &ps)) {
            before = fz_reported(f);
            st = cv_fatbin_reject_member(&f->x, head, end - pos);
            FZ_CHECK(st != CUVET_OK, "a member without an extent is rejected");
            fz_status(f, st, before);
            return cv_min(pos + 4, end);
        }
        FZ_CHECK(hs >= CV_FATBIN_MEMBER && hs <= end - pos && ps <= end - pos - hs,
                 "a member lies in its container");
        if (!cv_span_sub(s, pos, hs, &header))
            FZ_CHECK(false, "a member lies in the file");
        member(f, header);
        pos += hs + ps;
    }
    return end;
}

static void run(fz *f)
{
    cv_span s = fz_span(f);
    uint64_t at = 0;

    while (at < s.len && cv_work(&f->x, 16, s.off + at)) {
        if (at == 0 || cv_u32_at(s, at) == CV_FATBIN_MAGIC)
            at = container(f, s, at);
        else
            at += 8 - at % 8;
    }
}

CV_FUZZ_TARGET(fatbin)
{
    return fz_twice(data, size, FZ_OFF, run);
}

CV_FUZZ_MUTATOR(cv_mutate_fatbin)
