/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Host objects of a file that is linked, in an archive or alone. */
#include "drive/host_files.h"

#include "base/arith.h"
#include "format/archive/read.h"
#include "format/elf/names.h"
#include "intake/probe.h"
#include "io/source.h"

typedef struct archive {
    cv_span all, names; /* names: the table of long ones */
    uint64_t at;        /* header of the member at hand */
    cv_ar_header m;
} archive;

/* A name that cannot be read is a finding of the scan. */
static cv_span title_of(cv_ctx *x, const archive *a)
{
    cv_span name = a->m.name;

    if (a->m.entry == CV_AR_LONG_NAME && cv_ar_long_name(x, a->names, a->m.name_at, a->at, &name) != CUVET_OK)
        name.len = 0;
    if (a->m.entry == CV_AR_BSD_NAME && cv_span_sub(a->all, a->at + CV_AR_HEADER_SIZE, a->m.name_size, &name))
        name = cv_ar_bsd_name(name);
    name.len = cv_min(name.len, CV_AR_NAME_MAX);
    return name;
}

/* Something is about to be said of the member: who it is. */
static cuvet_status point_out(cv_ctx *x, cv_hosts *h, const archive *a)
{
    return cv_hosts_point_out(x, h, a->at, cv_sat_add(a->at, a->m.end), title_of(x, a));
}

static bool begins_like_code(cuvet_kind type)
{
    return type == CUVET_K_CUBIN || type == CUVET_K_FATBIN || type == CUVET_K_HOST_ELF;
}

/* An ELF for no machine that has device code, but in its manner. */
static bool is_strange(cuvet_kind type, cv_span body)
{
    uint8_t osabi = cv_u8_at(body, 7);

    return type == CUVET_K_HOST_ELF && (osabi == CV_OSABI_CUDA || osabi == CV_OSABI_LEGACY);
}

/* What does the scan not see in it? Nothing of an archive is left out without a word. */
static cuvet_status judge_member(cv_ctx *x, cv_hosts *h, const archive *a, cv_span body)
{
    bool text = cv_u32_at(body, 0) != CV_ELF_MAGIC; /* perhaps: all of it may have to be looked at */
    cuvet_content_info c;
    cv_class_why why;
    cuvet_status s, known;

    if (!cv_work(x, text ? cv_min(body.len, x->lim.ptx_probe) : 1, a->at))
        return CUVET_E_LIMIT;
    known = cv_classify_look(body, x->lim.ptx_probe, 0, &c, &why);
    if (known == CUVET_OK && !is_strange(c.type, body) &&
        (begins_like_code(c.type) || c.type == CUVET_K_ARCHIVE || c.type == CUVET_K_PTX))
        return CUVET_OK;
    s = point_out(x, h, a);
    if (s != CUVET_OK)
        return s;
    if (known != CUVET_OK && (begins_like_code(c.type) || known == CUVET_E_LIMIT)) {
        cv_report(x, why.rule, why.off, why.len, why.got, why.want);
        return known;
    }
    if (known == CUVET_OK && (c.type == CUVET_K_NVVM || c.type == CUVET_K_LTOIR))
        return cv_reject(x, CV_R_LINK_CONTENT, body.off, cv_class_number(c.type),
                         cv_class_number(CUVET_K_CUBIN));
    cv_report(x, CV_R_LINK_NO_OBJECT, a->at, 0, body.len, 0);
    return CUVET_OK;
}

static cuvet_status read_member(cv_ctx *x, cv_hosts *h, const cuvet_source *src, archive *a)
{
    uint64_t at = a->at + a->m.body;
    cv_span body;
    cuvet_status s;

    if (!cv_span_sub(a->all, at, a->m.body_size, &body))
        return CUVET_OK;
    if (a->m.entry == CV_AR_NAMES)
        a->names = body;
    if (a->m.entry == CV_AR_SYMBOLS || a->m.entry == CV_AR_NAMES)
        return CUVET_OK;
    s = judge_member(x, h, a, body);
    return s == CUVET_OK ? cv_hosts_read_object(x, h, src, a->all, at, a->m.body_size) : s;
}

/* What is wrong with the archive is said by whoever takes the code out of it. */
static cuvet_status read_archive(cv_ctx *x, cv_hosts *h, const cuvet_source *src, cv_span all)
{
    archive a = { .all = all, .names = cv_span_of(NULL, 0, 0), .at = CV_AR_MAGIC_SIZE };
    uint64_t members = 0;
    cuvet_status s = CUVET_OK;

    while (s == CUVET_OK && a.at < all.len) {
        if (members++ == x->lim.containers)
            return cv_reject(x, CV_R_LIMIT_CONTAINERS, a.at, members, x->lim.containers);
        cv_path_push(x, CUVET_P_MEMBER, true, members - 1);
        s = cv_ar_read_header(x, cv_span_tail(all, a.at), all.len - a.at, CV_AR_NORMAL, &a.m);
        if (s == CUVET_OK)
            s = read_member(x, h, src, &a);
        cv_path_pop(x);
        if (s == CUVET_OK)
            a.at += a.m.next;
    }
    if (s == CUVET_OK && h->member.n > x->lim.diagnostics)
        cv_report(x, CV_R_LINK_NO_OBJECTS, 0, 0, h->member.n, x->lim.diagnostics);
    return s;
}

cuvet_status cv_hosts_read(cv_ctx *x, cv_hosts *h, const void *bytes, uint64_t n, bool of_system)
{
    cv_span all = cv_span_of(bytes, n, 0);
    const cuvet_source src = cv_source_memory(bytes, n);
    cuvet_status s;

    h->first = h->host.n;
    cv_lmembers_clear(&h->member);
    s = cv_ar_probe(all) == CV_AR_NORMAL ? read_archive(x, h, &src, all)
                                         : cv_hosts_read_object(x, h, &src, all, 0, n);
    for (uint64_t i = h->first; i < h->host.n; i++)
        cv_lhosts_at(&h->host, i)->of_system = of_system;
    return s;
}
