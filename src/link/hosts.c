/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "link/hosts.h"

#include "format/archive/read.h"
#include "format/elf/names.h"
#include "link/sort.h"
#include "model/classify.h"

#define ELF_MAGIC UINT32_C(0x464C457F)

void cv_hosts_init(cv_hosts *h, uint64_t key0, uint64_t key1)
{
    *h = (cv_hosts){ 0 };
    cv_names_init(&h->name, key0, key1);
    cv_names_init(&h->ref, key0, key1);
    cv_names_init(&h->title, key0, key1);
}

void cv_hosts_free(cv_mem *m, cv_hosts *h)
{
    cv_names_free(m, &h->name);
    cv_names_free(m, &h->ref);
    cv_names_free(m, &h->title);
    cv_lmembers_free(m, &h->member);
    cv_lhosts_free(m, &h->host);
    cv_u32s_free(m, &h->module);
    cv_u32s_free(m, &h->used);
    cv_u32s_free(m, &h->linked);
    cv_u32s_free(m, &h->kernel);
    cv_u32s_free(m, &h->prefix);
}

/* A module's name becomes part of a C program: of letters, digits and '_' only. */
static bool is_identifier(cv_span name)
{
    for (uint64_t i = 0; i < name.len; i++) {
        uint8_t c = cv_u8_at(name, i);

        if (c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z'))
            return false;
    }
    return name.len > 0;
}

static bool mark_linked(cv_ctx *x, cv_hosts *h, cv_id name)
{
    while (h->linked.n <= name)
        if (!cv_u32s_push(&x->mem, &h->linked, 0))
            return false;
    *cv_u32s_at(&h->linked, name) = 1;
    return true;
}

static cuvet_status add_module(cv_ctx *x, cv_hosts *h, cv_lhost *o, cv_span text)
{
    bool defined = cv_span_starts(text, "def ");
    cv_span name = defined ? cv_span_tail(text, 4) : text;
    cv_id id;

    if (!is_identifier(name))
        return cv_reject(x, CV_R_LINK_MODULE, text.off, text.len, 0);
    id = cv_names_put(&x->mem, &h->name, name);
    if (id == CV_NONE)
        return cv_nomem(x, text.off);
    if (defined) {
        o->finished = true;
        return mark_linked(x, h, id) ? CUVET_OK : cv_nomem(x, text.off);
    }
    o->n_modules++;
    return cv_u32s_push(&x->mem, &h->module, id) ? CUVET_OK : cv_nomem(x, text.off);
}

static cuvet_status add_ref(cv_ctx *x, cv_hosts *h, cv_lhost *o, cv_span text)
{
    cv_id id = cv_names_put(&x->mem, &h->ref, text);

    if (id == CV_NONE || !cv_u32s_push(&x->mem, &h->used, id))
        return cv_nomem(x, text.off);
    o->n_refs++;
    return CUVET_OK;
}

/* The strings of a section; those without a letter say nothing. */
static cuvet_status read_texts(cv_ctx *x, cv_hosts *h, cv_lhost *o, const cv_host_section *c, cv_span all)
{
    cuvet_status s = cv_work(x, c->size, c->off) ? CUVET_OK : CUVET_E_LIMIT;

    if (!cv_span_sub(all, c->off, c->size, &all))
        return CUVET_OK;
    while (all.len && s == CUVET_OK) {
        cv_span text = all;

        text.len = cv_span_find_byte(all, 0);
        all = cv_span_tail(all, cv_min(text.len + 1, all.len));
        if (text.len)
            s = c->kind == CV_HOSTOBJ_KERNELS ? add_ref(x, h, o, text) : add_module(x, h, o, text);
    }
    return s;
}

static cuvet_status read_object(cv_ctx *x, cv_hosts *h, const cuvet_source *src, cv_span all, uint64_t off,
                                uint64_t n)
{
    cv_lhost o = { .off = off, .end = off + n, .first_module = h->module.n, .first_ref = h->used.n };
    cv_host host = { 0 };
    cuvet_status s;

    s = cv_host_read(x, src, off, n, &host);
    o.object = host.type == CV_ELF_REL;
    for (uint64_t i = 0; i < host.sections.n && s == CUVET_OK; i++) {
        const cv_host_section *c = cv_host_sections_at(&host.sections, i);

        o.linkable = o.linkable || c->kind == CV_HOSTOBJ_RELFATBIN;
        o.lists = o.lists || c->kind == CV_HOSTOBJ_REFS || c->kind == CV_HOSTOBJ_KERNELS;
        /* Of programs and shared objects the reference reads nothing: what they hold is linked elsewhere. */
        if (o.object && (c->kind == CV_HOSTOBJ_MODULE_ID || c->kind == CV_HOSTOBJ_KERNELS))
            s = read_texts(x, h, &o, c, all);
    }
    cv_host_free(x, &host);
    if (s == CUVET_OK)
        s = cv_verdict_status(x->verdict);
    if (s == CUVET_OK && !cv_lhosts_push(&x->mem, &h->host, o))
        s = cv_nomem(x, off);
    return s;
}

static cuvet_status read_if_object(cv_ctx *x, cv_hosts *h, const cuvet_source *src, cv_span all, uint64_t off,
                                   uint64_t n)
{
    return n >= 4 && cv_u32_at(all, off) == ELF_MAGIC && cv_u16_at(all, off + 18) != CV_EM_CUDA
               ? read_object(x, h, src, all, off, n)
               : CUVET_OK;
}

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
    cv_span name = title_of(x, a);
    cv_lmember m = { a->at, cv_sat_add(a->at, a->m.end), CV_NONE };

    if (!cv_work(x, name.len, a->at))
        return CUVET_E_LIMIT;
    if (name.len) {
        m.name = cv_names_put(&x->mem, &h->title, name);
        if (m.name == CV_NONE)
            return cv_nomem(x, a->at);
    }
    return cv_lmembers_push(&x->mem, &h->member, m) ? CUVET_OK : cv_nomem(x, a->at);
}

static bool begins_like_code(cuvet_content type)
{
    return type == CUVET_CONTENT_CUBIN || type == CUVET_CONTENT_FATBIN || type == CUVET_CONTENT_HOST_ELF;
}

/* An ELF for no machine that has device code, but in its manner. */
static bool is_strange(cuvet_content type, cv_span body)
{
    uint8_t osabi = cv_u8_at(body, 7);

    return type == CUVET_CONTENT_HOST_ELF && (osabi == CV_OSABI_CUDA || osabi == CV_OSABI_LEGACY);
}

/* What does the scan not see in it? Nothing of an archive is left out without a word. */
static cuvet_status judge_member(cv_ctx *x, cv_hosts *h, const archive *a, cv_span body)
{
    bool text = cv_u32_at(body, 0) != ELF_MAGIC; /* perhaps: all of it may have to be looked at */
    cuvet_content_info c;
    cv_class_why why;
    cuvet_status s, known;

    if (!cv_work(x, text ? cv_min(body.len, x->lim.ptx_probe) : 1, a->at))
        return CUVET_E_LIMIT;
    known = cv_classify_look(body, x->lim.ptx_probe, 0, &c, &why);
    if (known == CUVET_OK && !is_strange(c.type, body) &&
        (begins_like_code(c.type) || c.type == CUVET_CONTENT_ARCHIVE || c.type == CUVET_CONTENT_PTX))
        return CUVET_OK;
    s = point_out(x, h, a);
    if (s != CUVET_OK)
        return s;
    if (known != CUVET_OK && (begins_like_code(c.type) || known == CUVET_E_LIMIT)) {
        cv_report(x, why.rule, why.off, why.len, why.got, why.want);
        return known;
    }
    if (known == CUVET_OK && (c.type == CUVET_CONTENT_NVVM || c.type == CUVET_CONTENT_LTOIR))
        return cv_reject(x, CV_R_LINK_CONTENT, body.off, c.type, CUVET_CONTENT_CUBIN);
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
    return s == CUVET_OK ? read_if_object(x, h, src, a->all, at, a->m.body_size) : s;
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
    cuvet_source src;
    cuvet_status s = cuvet_source_memory(bytes, (size_t)n, &src);

    h->first = h->host.n;
    cv_lmembers_clear(&h->member);
    if (s != CUVET_OK)
        return s;
    s = cv_ar_probe(all) == CV_AR_NORMAL ? read_archive(x, h, &src, all)
                                         : read_if_object(x, h, &src, all, 0, n);
    for (uint64_t i = h->first; i < h->host.n; i++)
        cv_lhosts_at(&h->host, i)->of_system = of_system;
    return s;
}

cv_id cv_hosts_at(const cv_hosts *h, uint64_t off)
{
    uint64_t lo = h->first, hi = h->host.n;

    while (lo < hi) { /* members lie one behind the other */
        uint64_t mid = lo + (hi - lo) / 2;
        const cv_lhost *o = cv_lhosts_at(&h->host, mid);

        if (off >= o->off && off < o->end)
            return (cv_id)mid;
        if (off < o->off)
            hi = mid;
        else
            lo = mid + 1;
    }
    return CV_NONE;
}

bool cv_hosts_member_at(const cv_hosts *h, uint64_t off, cv_span *name)
{
    uint64_t lo = 0, hi = h->member.n;

    while (lo < hi) { /* one behind the other */
        uint64_t mid = lo + (hi - lo) / 2;
        const cv_lmember *m = cv_lmembers_at(&h->member, mid);

        if (off >= m->off && off < m->end) {
            if (m->name != CV_NONE)
                *name = cv_names_text(&h->title, m->name);
            return m->name != CV_NONE;
        }
        if (off < m->off)
            hi = mid;
        else
            lo = mid + 1;
    }
    return false;
}

/* A reference begins with what is before its first '*'; less of it would only be compared with more names. */
static bool find_prefixes(cv_mem *m, cv_hosts *h)
{
    bool ok = true;

    cv_u32s_clear(&h->prefix);
    for (cv_id i = 0; i < h->ref.list.n && ok; i++) {
        uint64_t n = cv_span_find_byte(cv_names_text(&h->ref, i), '*');

        ok = cv_u32s_push(m, &h->prefix, (uint32_t)cv_min(n, UINT32_MAX));
    }
    return ok;
}

static cv_span prefix_of(const cv_hosts *h, cv_id ref)
{
    cv_span t = cv_names_text(&h->ref, ref);

    t.len = *cv_u32s_at(&h->prefix, ref);
    return t;
}

static bool before(void *user, uint32_t a, uint32_t b)
{
    const cv_hosts *h = user;
    cv_span p = prefix_of(h, a), q = prefix_of(h, b);

    for (uint64_t i = 0; i < p.len && i < q.len; i++)
        if (cv_u8_at(p, i) != cv_u8_at(q, i))
            return cv_u8_at(p, i) < cv_u8_at(q, i);
    return p.len < q.len;
}

cuvet_status cv_hosts_settle(cv_ctx *x, cv_hosts *h, bool libraries)
{
    cv_u8s seen = { 0 };
    bool ok = find_prefixes(&x->mem, h) && cv_u8s_fill(&x->mem, &seen, cv_max(h->ref.list.n, 1));

    for (uint64_t i = 0; i < h->host.n && ok; i++) {
        const cv_lhost *o = cv_lhosts_at(&h->host, i);

        for (uint64_t k = 0; k < o->n_refs && ok && (libraries || !o->of_system); k++) {
            cv_id ref = *cv_u32s_at(&h->used, o->first_ref + k);

            ok = *cv_u8s_at(&seen, ref) || cv_u32s_push(&x->mem, &h->kernel, ref);
            *cv_u8s_at(&seen, ref) = 1;
        }
    }
    cv_u8s_free(&x->mem, &seen);
    return ok && cv_list_sort(&x->mem, &h->kernel, before, h, false) ? CUVET_OK : cv_nomem(x, 0);
}

bool cv_hosts_is_linked(const cv_hosts *h, cv_id host)
{
    const cv_lhost *o = cv_lhosts_at(&h->host, host);

    for (uint64_t i = 0; i < o->n_modules; i++) {
        cv_id name = *cv_u32s_at(&h->module, o->first_module + i);

        if (name >= h->linked.n || !*cv_u32s_at(&h->linked, name))
            return false;
    }
    return o->n_modules > 0;
}

bool cv_hosts_tell_kernels(const cv_hosts *h)
{
    for (uint64_t i = 0; i < h->host.n; i++)
        if (cv_lhosts_at(&h->host, i)->object && !cv_lhosts_at(&h->host, i)->lists)
            return false;
    return h->kernel.n > 0;
}

/* '*' is any text. One '*' at a time may have to be tried at several places: the last one. */
static cuvet_status matches(cv_ctx *x, cv_span pattern, cv_span name, bool *out)
{
    uint64_t p = 0, n = 0, star = UINT64_MAX, mark = 0;

    *out = false;
    while (n < name.len) {
        if (!cv_work(x, 1, 0))
            return CUVET_E_LIMIT;
        if (p < pattern.len && cv_u8_at(pattern, p) == '*') {
            star = p++;
            mark = n;
        } else if (p < pattern.len && cv_u8_at(pattern, p) == cv_u8_at(name, n)) {
            p++;
            n++;
        } else if (star != UINT64_MAX) {
            p = star + 1;
            n = ++mark;
        } else {
            return CUVET_OK;
        }
    }
    if (!cv_work(x, pattern.len - p, 0))
        return CUVET_E_LIMIT;
    while (p < pattern.len && cv_u8_at(pattern, p) == '*')
        p++;
    *out = p == pattern.len;
    return CUVET_OK;
}

/* First of the references in [lo, hi), all with the same first d bytes, whose next one is at least c. */
static uint64_t narrow(const cv_hosts *h, uint64_t lo, uint64_t hi, uint64_t d, uint32_t c)
{
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        cv_span p = prefix_of(h, *cv_u32s_at(&h->kernel, mid));

        if (p.len <= d || cv_u8_at(p, d) < c)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Only references that begin like the name are compared with it; the shorter ones of them come first. */
cuvet_status cv_hosts_refer(cv_ctx *x, const cv_hosts *h, cv_span name, bool *out)
{
    uint64_t lo = 0, hi = h->kernel.n;
    cuvet_status s = cv_work(x, name.len + 1, 0) ? CUVET_OK : CUVET_E_LIMIT;

    *out = false;
    for (uint64_t d = 0; d <= name.len && lo < hi && s == CUVET_OK && !*out; d++) {
        for (; lo < hi && prefix_of(h, *cv_u32s_at(&h->kernel, lo)).len == d && s == CUVET_OK && !*out; lo++)
            s = matches(x, cv_names_text(&h->ref, *cv_u32s_at(&h->kernel, lo)), name, out);
        if (d < name.len) {
            lo = narrow(h, lo, hi, d, cv_u8_at(name, d));
            hi = narrow(h, lo, hi, d, (uint32_t)cv_u8_at(name, d) + 1);
        }
    }
    return s;
}

bool cv_hosts_is_finished(const cv_hosts *h, cv_id host)
{
    const cv_lhost *o = cv_lhosts_at(&h->host, host);

    return o->finished && !o->linkable;
}

cv_span cv_hosts_module(const cv_hosts *h, uint64_t i)
{
    return cv_names_text(&h->name, *cv_u32s_at(&h->module, i));
}
