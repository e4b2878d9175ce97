/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "host/refs.h"

#include "bytes/order.h"
#include "format/elf/names.h"

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

cuvet_status cv_hosts_read_object(cv_ctx *x, cv_hosts *h, const cuvet_source *src, cv_span all, uint64_t off,
                                  uint64_t n)
{
    return n >= 4 && cv_u32_at(all, off) == ELF_MAGIC && cv_u16_at(all, off + 18) != CV_EM_CUDA
               ? read_object(x, h, src, all, off, n)
               : CUVET_OK;
}

cuvet_status cv_hosts_point_out(cv_ctx *x, cv_hosts *h, uint64_t off, uint64_t end, cv_span name)
{
    cv_lmember m = { off, end, CV_NONE };

    if (!cv_work(x, name.len, off))
        return CUVET_E_LIMIT;
    if (name.len) {
        m.name = cv_names_put(&x->mem, &h->title, name);
        if (m.name == CV_NONE)
            return cv_nomem(x, off);
    }
    return cv_lmembers_push(&x->mem, &h->member, m) ? CUVET_OK : cv_nomem(x, off);
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
