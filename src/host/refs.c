/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "host/refs.h"

#include "bytes/order.h"
#include "format/elf/names.h"

void cv_hosts_init(cv_hosts *hosts, uint64_t key0, uint64_t key1)
{
    *hosts = (cv_hosts){ 0 };
    cv_names_init(&hosts->name, key0, key1);
    cv_names_init(&hosts->ref, key0, key1);
    cv_names_init(&hosts->title, key0, key1);
}

void cv_hosts_free(cv_mem *mem, cv_hosts *hosts)
{
    cv_names_free(mem, &hosts->name);
    cv_names_free(mem, &hosts->ref);
    cv_names_free(mem, &hosts->title);
    cv_lmembers_free(mem, &hosts->member);
    cv_lhosts_free(mem, &hosts->host);
    cv_u32s_free(mem, &hosts->module);
    cv_u32s_free(mem, &hosts->used);
    cv_u32s_free(mem, &hosts->linked);
    cv_u32s_free(mem, &hosts->kernel);
    cv_u32s_free(mem, &hosts->prefix);
}

/* A module's name becomes part of a C program: of letters, digits and '_' only. */
static bool is_identifier(cv_span name)
{
    for (uint64_t i = 0; i < name.len; i++) {
        uint8_t letter = cv_u8_at(name, i);

        if (letter != '_' && (letter < '0' || letter > '9') && (letter < 'A' || letter > 'Z') &&
            (letter < 'a' || letter > 'z'))
            return false;
    }
    return name.len > 0;
}

static bool mark_linked(cv_ctx *ctx, cv_hosts *hosts, cv_id name)
{
    while (hosts->linked.count <= name)
        if (!cv_u32s_push(&ctx->mem, &hosts->linked, 0))
            return false;
    if (!*cv_u32s_get(&hosts->linked, name))
        *cv_u32s_at(&hosts->linked, name) = (uint32_t)hosts->host.count + 1;
    return true;
}

static cuvet_status add_module(cv_ctx *ctx, cv_hosts *hosts, cv_lhost *host, cv_span text)
{
    bool defined = cv_span_starts(text, "def ");
    cv_span name = defined ? cv_span_tail(text, 4) : text;
    cv_id id;

    if (!is_identifier(name))
        return cv_reject(ctx, CV_R_LINK_MODULE, text.off, text.len, 0);
    id = cv_names_put(&ctx->mem, &hosts->name, name);
    if (id == CV_NONE)
        return cv_nomem(ctx, text.off);
    if (defined) {
        host->finished = true;
        return mark_linked(ctx, hosts, id) ? CUVET_OK : cv_nomem(ctx, text.off);
    }
    host->n_modules++;
    return cv_u32s_push(&ctx->mem, &hosts->module, id) ? CUVET_OK : cv_nomem(ctx, text.off);
}

static cuvet_status add_ref(cv_ctx *ctx, cv_hosts *hosts, cv_lhost *host, cv_span text)
{
    cv_id id = cv_names_put(&ctx->mem, &hosts->ref, text);

    if (id == CV_NONE || !cv_u32s_push(&ctx->mem, &hosts->used, id))
        return cv_nomem(ctx, text.off);
    host->n_refs++;
    return CUVET_OK;
}

/* The strings of a section; those without a letter say nothing. */
static cuvet_status read_texts(cv_ctx *ctx, cv_hosts *hosts, cv_lhost *host, const cv_host_section *section,
                               cv_span all)
{
    cuvet_status status = cv_work(ctx, section->size, section->off) ? CUVET_OK : CUVET_E_LIMIT;

    if (!cv_span_sub(all, section->off, section->size, &all))
        return CUVET_OK;
    while (all.len && status == CUVET_OK) {
        cv_span text = all;

        text.len = cv_span_find_byte(all, 0);
        all = cv_span_tail(all, cv_min(text.len + 1, all.len));
        if (text.len)
            status = section->kind == CV_HOSTOBJ_KERNELS ? add_ref(ctx, hosts, host, text)
                                                         : add_module(ctx, hosts, host, text);
    }
    return status;
}

static uint64_t count_said(const cv_ctx *ctx)
{
    return ctx->n_errors + ctx->n_warnings + ctx->n_notes;
}

static cuvet_status read_object(cv_ctx *ctx, cv_hosts *hosts, const cuvet_source *src, cv_span all,
                                uint64_t off, uint64_t count, cv_host_shelf *shelf)
{
    cv_lhost object = {
        .off = off, .end = off + count, .first_module = hosts->module.count, .first_ref = hosts->used.count
    };
    cv_host host = { 0 };
    uint64_t said = count_said(ctx);
    cuvet_status status = cv_host_read(ctx, src, off, count, &host);
    bool silent = status == CUVET_OK && count_said(ctx) == said;

    object.object = host.type == CV_ELF_REL;
    for (uint64_t i = 0; i < host.sections.count && status == CUVET_OK; i++) {
        const cv_host_section *section = cv_host_sections_at(&host.sections, i);

        object.linkable = object.linkable || section->kind == CV_HOSTOBJ_RELFATBIN;
        object.lists =
            object.lists || section->kind == CV_HOSTOBJ_REFS || section->kind == CV_HOSTOBJ_KERNELS;
        /* Of programs and shared objects the reference reads nothing: what they hold is linked elsewhere. */
        if (object.object && (section->kind == CV_HOSTOBJ_MODULE_ID || section->kind == CV_HOSTOBJ_KERNELS))
            status = read_texts(ctx, hosts, &object, section, all);
    }
    if (silent)
        cv_host_keep(shelf, ctx, &host);
    cv_host_free(ctx, &host);
    if (status == CUVET_OK)
        status = cv_verdict_status(ctx->verdict);
    if (status == CUVET_OK && !cv_lhosts_push(&ctx->mem, &hosts->host, object))
        status = cv_nomem(ctx, off);
    return status;
}

cuvet_status cv_hosts_read_object(cv_ctx *ctx, cv_hosts *hosts, const cuvet_source *src, cv_span all,
                                  uint64_t off, uint64_t count, cv_host_shelf *shelf)
{
    return count >= 4 && cv_u32_at(all, off) == CV_ELF_MAGIC && cv_u16_at(all, off + 18) != CV_EM_CUDA
               ? read_object(ctx, hosts, src, all, off, count, shelf)
               : CUVET_OK;
}

void cv_hosts_forget_file(cv_hosts *hosts)
{
    hosts->host.count = cv_min(hosts->host.count, hosts->first);
    for (cv_id i = 0; i < hosts->linked.count; i++)
        if (*cv_u32s_get(&hosts->linked, i) > hosts->first)
            *cv_u32s_at(&hosts->linked, i) = 0;
}

cuvet_status cv_hosts_point_out(cv_ctx *ctx, cv_hosts *hosts, uint64_t off, uint64_t end, cv_span name)
{
    cv_lmember member = { off, end, CV_NONE };

    if (!cv_work(ctx, name.len, off))
        return CUVET_E_LIMIT;
    if (name.len) {
        member.name = cv_names_put(&ctx->mem, &hosts->title, name);
        if (member.name == CV_NONE)
            return cv_nomem(ctx, off);
    }
    return cv_lmembers_push(&ctx->mem, &hosts->member, member) ? CUVET_OK : cv_nomem(ctx, off);
}

cv_id cv_hosts_at(const cv_hosts *hosts, uint64_t off)
{
    uint64_t lo = hosts->first, hi = hosts->host.count;

    while (lo < hi) { /* members lie one behind the other */
        uint64_t mid = lo + (hi - lo) / 2;
        const cv_lhost *host = cv_lhosts_get(&hosts->host, mid);

        if (off >= host->off && off < host->end)
            return (cv_id)mid;
        if (off < host->off)
            hi = mid;
        else
            lo = mid + 1;
    }
    return CV_NONE;
}

bool cv_hosts_member_at(const cv_hosts *hosts, uint64_t off, cv_span *name)
{
    uint64_t lo = 0, hi = hosts->member.count;

    while (lo < hi) { /* one behind the other */
        uint64_t mid = lo + (hi - lo) / 2;
        const cv_lmember *member = cv_lmembers_get(&hosts->member, mid);

        if (off >= member->off && off < member->end) {
            if (member->name != CV_NONE)
                *name = cv_names_text(&hosts->title, member->name);
            return member->name != CV_NONE;
        }
        if (off < member->off)
            hi = mid;
        else
            lo = mid + 1;
    }
    return false;
}

/* A reference begins with what is before its first '*'; less of it would only be compared with more names. */
static bool find_prefixes(cv_mem *mem, cv_hosts *hosts)
{
    bool ok = true;

    cv_u32s_clear(&hosts->prefix);
    for (cv_id i = 0; i < hosts->ref.list.count && ok; i++) {
        uint64_t count = cv_span_find_byte(cv_names_text(&hosts->ref, i), '*');

        ok = cv_u32s_push(mem, &hosts->prefix, (uint32_t)cv_min(count, UINT32_MAX));
    }
    return ok;
}

static cv_span prefix_of(const cv_hosts *hosts, cv_id ref)
{
    cv_span text = cv_names_text(&hosts->ref, ref);

    text.len = *cv_u32s_get(&hosts->prefix, ref);
    return text;
}

static bool is_before(void *user, uint32_t left, uint32_t right)
{
    const cv_hosts *hosts = user;
    cv_span first = prefix_of(hosts, left), second = prefix_of(hosts, right);

    for (uint64_t i = 0; i < first.len && i < second.len; i++)
        if (cv_u8_at(first, i) != cv_u8_at(second, i))
            return cv_u8_at(first, i) < cv_u8_at(second, i);
    return first.len < second.len;
}

cuvet_status cv_hosts_settle(cv_ctx *ctx, cv_hosts *hosts, bool libraries)
{
    cv_u8s seen = { 0 };
    bool ok =
        find_prefixes(&ctx->mem, hosts) && cv_u8s_fill(&ctx->mem, &seen, cv_max(hosts->ref.list.count, 1));

    for (uint64_t i = 0; i < hosts->host.count && ok; i++) {
        const cv_lhost *host = cv_lhosts_at(&hosts->host, i);

        for (uint64_t k = 0; k < host->n_refs && ok && (libraries || !host->of_system); k++) {
            cv_id ref = *cv_u32s_at(&hosts->used, host->first_ref + k);

            ok = *cv_u8s_at(&seen, ref) || cv_u32s_push(&ctx->mem, &hosts->kernel, ref);
            *cv_u8s_at(&seen, ref) = 1;
        }
    }
    cv_u8s_free(&ctx->mem, &seen);
    return ok && cv_list_sort(&ctx->mem, &hosts->kernel, is_before, hosts, false) ? CUVET_OK
                                                                                  : cv_nomem(ctx, 0);
}

bool cv_hosts_is_linked(const cv_hosts *hosts, cv_id host)
{
    const cv_lhost *object = cv_lhosts_get(&hosts->host, host);

    for (uint64_t i = 0; i < object->n_modules; i++) {
        cv_id name = *cv_u32s_get(&hosts->module, object->first_module + i);

        if (name >= hosts->linked.count || !*cv_u32s_get(&hosts->linked, name))
            return false;
    }
    return object->n_modules > 0;
}

bool cv_hosts_tell_kernels(const cv_hosts *hosts)
{
    bool any = false; /* the library of the system lists its own kernels, and speaks for nobody else */

    for (uint64_t i = 0; i < hosts->host.count; i++) {
        const cv_lhost *host = cv_lhosts_get(&hosts->host, i);

        if (host->object && !host->lists)
            return false;
        any = any || (!host->of_system && host->n_refs != 0);
    }
    return any;
}

/* '*' is any text. One '*' at a time may have to be tried at several places: the last one. */
static cuvet_status match_pattern(cv_ctx *ctx, cv_span pattern, cv_span name, bool *out)
{
    uint64_t in_pattern = 0, in_name = 0, star = UINT64_MAX, mark = 0;

    *out = false;
    while (in_name < name.len) {
        if (!cv_work(ctx, 1, 0))
            return CUVET_E_LIMIT;
        if (in_pattern < pattern.len && cv_u8_at(pattern, in_pattern) == '*') {
            star = in_pattern++;
            mark = in_name;
        } else if (in_pattern < pattern.len && cv_u8_at(pattern, in_pattern) == cv_u8_at(name, in_name)) {
            in_pattern++;
            in_name++;
        } else if (star != UINT64_MAX) {
            in_pattern = star + 1;
            in_name = ++mark;
        } else {
            return CUVET_OK;
        }
    }
    if (!cv_work(ctx, pattern.len - in_pattern, 0))
        return CUVET_E_LIMIT;
    while (in_pattern < pattern.len && cv_u8_at(pattern, in_pattern) == '*')
        in_pattern++;
    *out = in_pattern == pattern.len;
    return CUVET_OK;
}

/* First of the references in [lo, hi), all with the same first d bytes, whose next one is at least c. */
static uint64_t narrow_range(const cv_hosts *hosts, uint64_t lo, uint64_t hi, uint64_t depth, uint32_t letter)
{
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        cv_span prefix = prefix_of(hosts, *cv_u32s_get(&hosts->kernel, mid));

        if (prefix.len <= depth || cv_u8_at(prefix, depth) < letter)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Only references that begin like the name are compared with it; the shorter ones of them come first. */
cuvet_status cv_hosts_refer(cv_ctx *ctx, const cv_hosts *hosts, cv_span name, bool *out)
{
    uint64_t lo = 0, hi = hosts->kernel.count;
    cuvet_status status = cv_work(ctx, name.len + 1, 0) ? CUVET_OK : CUVET_E_LIMIT;

    *out = false;
    for (uint64_t depth = 0; depth <= name.len && lo < hi && status == CUVET_OK && !*out; depth++) {
        for (; lo < hi && prefix_of(hosts, *cv_u32s_get(&hosts->kernel, lo)).len == depth &&
               status == CUVET_OK && !*out;
             lo++)
            status =
                match_pattern(ctx, cv_names_text(&hosts->ref, *cv_u32s_get(&hosts->kernel, lo)), name, out);
        if (depth < name.len) {
            lo = narrow_range(hosts, lo, hi, depth, cv_u8_at(name, depth));
            hi = narrow_range(hosts, lo, hi, depth, (uint32_t)cv_u8_at(name, depth) + 1);
        }
    }
    return status;
}

bool cv_hosts_is_finished(const cv_hosts *hosts, cv_id host)
{
    const cv_lhost *object = cv_lhosts_get(&hosts->host, host);

    return object->finished && !object->linkable;
}

cv_span cv_hosts_module(const cv_hosts *hosts, uint64_t index)
{
    return cv_names_text(&hosts->name, *cv_u32s_get(&hosts->module, index));
}
