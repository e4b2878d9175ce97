/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Host objects of a file that is linked, in an archive or alone. */
#include "drive/host_files.h"

#include "base/arith.h"
#include "format/archive/read.h"
#include "format/elf/names.h"
#include "intake/probe.h"
#include "io/source.h"

typedef struct host_archive {
    cv_span all, names; /* names: the table of long ones */
    uint64_t at;        /* header of the member at hand */
    cv_ar_header member;
    cv_host_shelf *shelf;
} host_archive;

/* A name that cannot be read is a finding of the scan. */
static cv_span title_of(cv_ctx *ctx, const host_archive *archive)
{
    cv_span name = archive->member.name;

    if (archive->member.entry == CV_AR_LONG_NAME &&
        cv_ar_long_name(ctx, archive->names, archive->member.name_at, archive->at, &name) != CUVET_OK)
        name.len = 0;
    if (archive->member.entry == CV_AR_BSD_NAME &&
        cv_span_sub(archive->all, archive->at + CV_AR_HEADER_SIZE, archive->member.name_size, &name))
        name = cv_ar_bsd_name(name);
    name.len = cv_min(name.len, CV_AR_NAME_MAX);
    return name;
}

/* Something is about to be said of the member: who it is. */
static cuvet_status point_out(cv_ctx *ctx, cv_hosts *hosts, const host_archive *archive)
{
    return cv_hosts_point_out(ctx, hosts, archive->at, cv_sat_add(archive->at, archive->member.end),
                              title_of(ctx, archive));
}

static bool begins_like_code(cuvet_kind type)
{
    return type == CUVET_K_CUBIN || type == CUVET_K_FATBIN || type == CUVET_K_HOST_ELF;
}

/* An ELF for no machine that has device code, but in its manner. */
static bool is_strange(cuvet_kind type, cv_span body)
{
    uint8_t osabi = cv_u8_at(body, CV_EI_OSABI);

    return type == CUVET_K_HOST_ELF && (osabi == CV_OSABI_CUDA || osabi == CV_OSABI_LEGACY);
}

/* What does the scan not see in it? Nothing of an archive is left out without a word. */
static cuvet_status judge_member(cv_ctx *ctx, cv_hosts *hosts, const host_archive *archive, cv_span body)
{
    bool text = cv_u32_at(body, 0) != CV_ELF_MAGIC; /* perhaps: all of it may have to be looked at */
    cuvet_content_info content;
    cv_class_why why;
    cuvet_status status, known;

    if (!cv_work(ctx, text ? cv_min(body.len, ctx->lim.ptx_probe) : 1, archive->at))
        return CUVET_E_LIMIT;
    known = cv_classify_look(body, ctx->lim.ptx_probe, 0, &content, &why);
    if (known == CUVET_OK && (begins_like_code(content.type) || content.type == CUVET_K_ARCHIVE))
        cv_host_put_kind(archive->shelf, body.off, content.type);
    if (known == CUVET_OK && !is_strange(content.type, body) &&
        (begins_like_code(content.type) || content.type == CUVET_K_ARCHIVE || content.type == CUVET_K_PTX))
        return CUVET_OK;
    status = point_out(ctx, hosts, archive);
    if (status != CUVET_OK)
        return status;
    if (known != CUVET_OK && (begins_like_code(content.type) || known == CUVET_E_LIMIT)) {
        cv_report(ctx, why.rule, why.off, why.len, why.got, why.want);
        return known;
    }
    if (known == CUVET_OK && (content.type == CUVET_K_NVVM || content.type == CUVET_K_LTOIR))
        return cv_reject(ctx, CV_R_LINK_CONTENT, body.off, cv_class_number(content.type),
                         cv_class_number(CUVET_K_CUBIN));
    cv_report(ctx, CV_R_LINK_NO_OBJECT, archive->at, 0, body.len, 0);
    return CUVET_OK;
}

static cuvet_status read_member(cv_ctx *ctx, cv_hosts *hosts, const cuvet_source *src, host_archive *archive)
{
    uint64_t at = archive->at + archive->member.body;
    cv_span body;
    cuvet_status status;

    if (!cv_span_sub(archive->all, at, archive->member.body_size, &body))
        return CUVET_OK;
    if (archive->member.entry == CV_AR_NAMES)
        archive->names = body;
    if (archive->member.entry == CV_AR_SYMBOLS || archive->member.entry == CV_AR_NAMES)
        return CUVET_OK;
    status = judge_member(ctx, hosts, archive, body);
    return status == CUVET_OK ? cv_hosts_read_object(ctx, hosts, src, archive->all, at,
                                                     archive->member.body_size, archive->shelf)
                              : status;
}

/* What is wrong with the archive is said by whoever takes the code out of it. */
static cuvet_status read_archive(cv_ctx *ctx, cv_hosts *hosts, const cuvet_source *src, cv_span all,
                                 cv_host_shelf *shelf)
{
    host_archive archive = {
        .all = all, .names = cv_span_of(NULL, 0, 0), .at = CV_AR_MAGIC_SIZE, .shelf = shelf
    };
    uint64_t members = 0;
    cuvet_status status = CUVET_OK;

    while (status == CUVET_OK && archive.at < all.len) {
        if (members++ == ctx->lim.containers)
            return cv_reject(ctx, CV_R_LIMIT_CONTAINERS, archive.at, members, ctx->lim.containers);
        cv_path_push(ctx, CUVET_P_MEMBER, true, members - 1);
        status = cv_ar_read_header(ctx, cv_span_tail(all, archive.at), all.len - archive.at, CV_AR_NORMAL,
                                   &archive.member);
        if (status == CUVET_OK)
            status = read_member(ctx, hosts, src, &archive);
        cv_path_pop(ctx);
        if (status == CUVET_OK)
            archive.at += archive.member.next;
    }
    if (status == CUVET_OK && hosts->member.count > ctx->lim.diagnostics)
        cv_report(ctx, CV_R_LINK_NO_OBJECTS, 0, 0, hosts->member.count, ctx->lim.diagnostics);
    return status;
}

cuvet_status cv_hosts_read(cv_ctx *ctx, cv_hosts *hosts, cv_span all, bool of_system, cv_host_shelf *shelf)
{
    const cuvet_source src = cv_source_memory(all.base, all.len);
    cuvet_status status;

    hosts->first = hosts->host.count;
    cv_lmembers_clear(&hosts->member);
    status = cv_ar_probe(all) == CV_AR_NORMAL
                 ? read_archive(ctx, hosts, &src, all, shelf)
                 : cv_hosts_read_object(ctx, hosts, &src, all, 0, all.len, shelf);
    if (status != CUVET_OK)
        cv_hosts_forget_file(hosts);
    for (uint64_t i = hosts->first; i < hosts->host.count; i++)
        cv_lhosts_at(&hosts->host, i)->of_system = of_system;
    return status;
}
