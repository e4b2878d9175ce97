/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Container and member headers, walked as the scan walks them, and the writer. */
#include "common.h"

#include "format/fatbin/read.h"
#include "format/fatbin/write.h"
#include "mutate.h"

/* The writer makes canonical headers; older forms of the option block are read only. */
static bool canonical(cv_span header, const cv_fatbin_member *member)
{
    bool no_string = member->has_options && cv_u32_at(header, member->options_offset) == 0;
    bool empty_name = member->name_offset != 0 && member->ident.len == 0;
    /* Of tools 12.3 to 12.5, and up to 10.2. */
    bool old_order = member->empty_ident || cv_fatbin_writer(member) != CV_PROFILE_NONE;

    return !member->compat_values && !no_string && !empty_name && !old_order;
}

static void write_back(fz_state *fuzz, cv_span header, const cv_fatbin_member *member)
{
    cv_builder builder;

    cv_builder_init(&builder, &fuzz->ctx.mem);
    cv_fatbin_put_member(&builder, member);
    if (!builder.failed)
        FZ_CHECK(cv_span_eq(cv_builder_span(&builder), header), "write after read is the same bytes");
    cv_builder_free(&builder);
}

static void member(fz_state *fuzz, cv_span header)
{
    uint64_t before = fz_reported(fuzz);
    cv_fatbin_member member;
    cuvet_status st = cv_fatbin_read_member(&fuzz->ctx, header, &member);

    fz_status(fuzz, st, before);
    fz_inside(fuzz, member.ident);
    fz_inside(fuzz, member.options);
    fz_inside(fuzz, member.compat_copy);
    if (st == CUVET_OK && (member.flags & CV_FB_COMPRESSED) != 0)
        FZ_CHECK(member.compressed_size <= member.payload_size &&
                     member.payload_size - member.compressed_size <= 8 && /* eight: 12.3 to 12.5 */
                     member.uncompressed_size != 0,
                 "a compressed payload fills its room");
    if (st == CUVET_OK && fz_reported(fuzz) == before && canonical(header, &member))
        write_back(fuzz, header, &member);
    fz_note(fuzz, member.flags ^ member.payload_size << 20 ^ member.ident.len << 40);
    fz_note(fuzz, member.options.len << 32 | member.compat_copy.len);
}

/* The container at 'at'; returns where the next one may be. */
static uint64_t container(fz_state *fuzz, cv_span span, uint64_t at)
{
    cv_span in = cv_span_tail(span, at), head, header;
    uint64_t before = fz_reported(fuzz), pos = at + CV_FATBIN_HEADER, end, hs, ps;
    cv_fatbin_container container;
    cuvet_status st = cv_fatbin_read_container(&fuzz->ctx, in, in.len, at, &container);

    fz_status(fuzz, st, before);
    if (st != CUVET_OK)
        return at + 4;
    FZ_CHECK(container.body_size <= container.size && container.body_size <= in.len - CV_FATBIN_HEADER,
             "the body lies in the object");
    end = pos + container.body_size;
    while (pos < end) {
        head = cv_span_tail(span, pos);
        head.len = cv_min(end - pos, CV_FATBIN_MEMBER);
        if (!cv_fatbin_member_extent(head, end - pos, &hs, &ps)) {
            before = fz_reported(fuzz);
            st = cv_fatbin_reject_member(&fuzz->ctx, head, end - pos);
            FZ_CHECK(st != CUVET_OK, "a member without an extent is rejected");
            fz_status(fuzz, st, before);
            return cv_min(pos + 4, end);
        }
        FZ_CHECK(hs >= CV_FATBIN_MEMBER && hs <= end - pos && ps <= end - pos - hs,
                 "a member lies in its container");
        if (!cv_span_sub(span, pos, hs, &header))
            FZ_CHECK(false, "a member lies in the file");
        member(fuzz, header);
        pos += hs + ps;
    }
    return end;
}

static void run(fz_state *fuzz)
{
    cv_span span = fz_span(fuzz);
    uint64_t at = 0;

    while (at < span.len && cv_work(&fuzz->ctx, 16, span.off + at)) {
        if (at == 0 || cv_u32_at(span, at) == CV_FATBIN_MAGIC)
            at = container(fuzz, span, at);
        else
            at += 8 - at % 8;
    }
}

CV_FUZZ_TARGET(fatbin)
{
    return fz_twice(data, size, FZ_OFF, run);
}

CV_FUZZ_MUTATOR(cv_mutate_fatbin)
