/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "finalize/external.h"

#include "base/arith.h"
#include "proc/compile.h"

enum { COST = 100, FIRST_SM = 100, FIRST_WORD = 4 };

/* What a relocatable link of one object does: its code is made again for another machine, with capsules. */
static cv_final probe(const void *self, const cv_backend_req *req, uint32_t *cost)
{
    const cv_final_tool *t = self;

    *cost = COST;
    if (!t->compiler.compile || req->in_kind != CV_KIND_CAPMERC || req->out_kind != CV_KIND_CAPMERC ||
        req->src_sm < FIRST_SM || req->dst_sm < FIRST_SM)
        return CV_FINAL_NO_BACKEND;
    return cv_can_finalize(req->compat, req->src_sm, req->dst_sm);
}

static uint64_t target(const cv_backend_req *req)
{
    return (uint64_t)(uint8_t)req->dst_suffix << 32 | req->dst_sm;
}

static cuvet_status refuse(cv_ctx *x, const cv_backend_req *req, cv_backend_out *out, cv_final code,
                           cv_rule rule, uint64_t got)
{
    out->code = code;
    return cv_reject(x, rule, req->in.off, got, target(req));
}

/* It did not deliver. */
static cuvet_status judge(cv_ctx *x, const cv_backend_req *req, const cuvet_compile_result *r,
                          cv_backend_out *out)
{
    uint64_t got = (uint64_t)r->detail;

    switch (r->end) {
    case CUVET_COMPILE_TIMEOUT:
        return refuse(x, req, out, CV_FINAL_BACKEND_TIMEOUT, CV_R_BACKEND_TIMEOUT, got);
    case CUVET_COMPILE_CRASHED: return refuse(x, req, out, CV_FINAL_BACKEND_CRASH, CV_R_BACKEND_CRASH, got);
    case CUVET_COMPILE_OVERSIZED:
        return refuse(x, req, out, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_BACKEND_OVERSIZED, got);
    case CUVET_COMPILE_NOT_FOUND:
        return refuse(x, req, out, CV_FINAL_NO_BACKEND, CV_R_BACKEND_NOT_STARTED, got);
    case CUVET_COMPILE_UNSUPPORTED:
        return refuse(x, req, out, CV_FINAL_NO_BACKEND, CV_R_BACKEND_UNSUPPORTED, got);
    case CUVET_COMPILE_CANCELLED: out->code = CV_FINAL_CANCELLED; return CUVET_E_CANCELLED;
    case CUVET_COMPILED:
    case CUVET_COMPILE_EMPTY: /* also a success without bytes */
        return refuse(x, req, out, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_BACKEND_EMPTY, got);
    case CUVET_COMPILE_FAILED: break;
    }
    return refuse(x, req, out, CV_FINAL_BACKEND_FAILED, CV_R_BACKEND_FAILED, got);
}

/* A look for code sections, nothing more: the engine examines the file. */
static bool has_code(cv_span s)
{
    cv_elf_header h;
    cv_elf_section e;
    cv_span table;

    if (!cv_elf_peek(s, &h) || h.is32 || !cv_span_sub(s, h.shoff, (uint64_t)h.shnum * 64, &table))
        return false;
    for (uint64_t i = 0; i < h.shnum; i++) {
        cv_elf_read_section(table, false, i, &e);
        if (e.type == CV_SHT_PROGBITS && (e.flags & CV_SHF_EXECINSTR) != 0 && e.size > 0)
            return true;
    }
    return false;
}

static cuvet_status deliver(cv_ctx *x, const cv_backend_req *req, cv_span s, cv_final_sink *to,
                            cv_backend_out *out)
{
    cuvet_status st;

    if (s.len > req->max_output)
        return refuse(x, req, out, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_BACKEND_OVERSIZED, req->max_output);
    if (req->cubin->n_functions > 0 && !has_code(s))
        return refuse(x, req, out, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_BACKEND_NO_CODE, s.len);
    out->code_changed = true; /* and its debug sections fit: nothing is left to be moved */
    st = cv_final_sink_begin(to, s.len);
    if (st != CUVET_OK)
        return st;
    return cv_final_sink_put(to, s) && cv_final_sink_end(to) ? CUVET_OK : CUVET_E_INTERNAL;
}

static cuvet_status tell(cv_ctx *x, const cv_final_tool *t, const cuvet_compile_result *r)
{
    cv_u8s log = { 0 };
    bool ok = true;

    if (t->said && r->log && r->n_log) {
        ok = cv_clean_log(&x->mem, cv_span_of(r->log, r->n_log, 0), &log);
        if (ok && log.n)
            t->said(t->user, (const char *)log.v);
    }
    cv_u8s_free(&x->mem, &log);
    return ok ? CUVET_OK : cv_nomem(x, 0);
}

/* Code for a debugger is not optimised, and has to come out so again. */
static bool is_for_debugger(const cv_cubin *c)
{
    for (uint64_t i = 1; i < c->sec.n; i++)
        if (cv_span_eq_str(cv_cubin_sec(c, i)->name, ".debug_info"))
            return true;
    return false;
}

static cuvet_status ask(const cv_final_tool *t, const cv_backend_req *req, uint32_t sm, char suffix,
                        cuvet_compile_result *r)
{
    static const bool NEVER = false;
    const cuvet_compile_request q = { .size = sizeof(q),
                                      .bytes = req->in.base,
                                      .n = (size_t)req->in.len,
                                      .sm = sm,
                                      .suffix = suffix,
                                      .threads = 1,
                                      .cancel = req->cancel ? req->cancel : &NEVER,
                                      .cubin = true,
                                      .debug = is_for_debugger(req->cubin) };

    *r = (cuvet_compile_result){ .size = sizeof(*r) };
    return t->compiler.compile(t->compiler.user, &q, r);
}

static void done(const cv_final_tool *t, cuvet_compile_result *r)
{
    if (r->release)
        r->release(r, t->compiler.user);
}

/* Fields that relocations of a code section patch: a linker may have written into them already. The operation
 * and the registers of an instruction are in its first word, which none patches. */
static bool fields_of(cv_ctx *x, const cv_cubin *c, uint64_t section, cv_keys *out, bool *nomem)
{
    cv_elf_reloc e;

    if (!cv_work(x, c->sec.n / 8 + 1, c->image.off))
        return false;
    for (uint64_t i = 1; i < c->sec.n; i++) {
        const cv_sec *s = cv_cubin_sec(c, i);
        bool rela = s->h.type == CV_SHT_RELA;
        cv_span table;

        if ((!rela && s->h.type != CV_SHT_REL) || s->h.info != section || !s->in_file)
            continue;
        table = cv_cubin_body(c, i);
        for (uint64_t k = 0; k < table.len / cv_elf_rel_size(false, rela); k++) {
            uint64_t skip = 0;

            cv_elf_read_reloc(table, false, rela, k, &e);
            if (!cv_work(x, 1, table.off))
                return false;
            if (cv_reloc_of(e.type)->insn)
                skip = cv_min(FIRST_WORD, cv_reloc_of(e.type)->bytes);
            *nomem = !cv_keys_push(&x->mem, out,
                                   (cv_key){ cv_sat_add(e.off, skip), cv_reloc_of(e.type)->bytes - skip });
            if (*nomem)
                return false;
        }
    }
    cv_keys_sort(out);
    return true;
}

/* The same code but for those fields. */
static bool same_code(cv_ctx *x, const cv_cubin *c, uint64_t section, cv_span a, cv_span b, bool *nomem)
{
    cv_keys fields = { 0 };
    bool same = a.len == b.len && cv_work(x, a.len / 16, a.off) && fields_of(x, c, section, &fields, nomem);
    uint64_t at = 0;

    for (uint64_t i = 0; i <= fields.n && same && at < a.len; i++) {
        const cv_key *k = cv_keys_at(&fields, i);
        uint64_t until = i < fields.n ? cv_min(k->key, a.len) : a.len;
        cv_span left = cv_span_tail(a, at), right = cv_span_tail(b, at);

        left.len = right.len = until > at ? until - at : 0;
        same = cv_span_eq(left, right);
        at = cv_max(at, i < fields.n ? cv_sat_add(k->key, k->index) : a.len);
    }
    cv_keys_free(&x->mem, &fields);
    return same;
}

/* Is there a section of this name with this code? A look, as above. */
static bool holds(cv_ctx *x, cv_span s, const cv_cubin *c, uint64_t section, bool *nomem)
{
    cv_span table, found, own, name = cv_cubin_sec(c, section)->name, body = cv_cubin_body(c, section);
    cv_elf_section e, names;
    cv_elf_header h;

    if (!cv_elf_peek(s, &h) || h.is32 || !cv_span_sub(s, h.shoff, (uint64_t)h.shnum * 64, &table) ||
        h.shstrndx >= h.shnum)
        return false;
    cv_elf_read_section(table, false, h.shstrndx, &names);
    for (uint64_t i = 0; i < h.shnum && cv_work(x, 2 + name.len / 16, s.off); i++) {
        cv_elf_read_section(table, false, i, &e);
        if (e.type != CV_SHT_PROGBITS || e.size != body.len)
            continue;
        found = cv_span_tail(s, cv_sat_add(names.off, e.name));
        own = cv_span_tail(s, e.off);
        own.len = cv_min(own.len, e.size);
        found.len = cv_min(found.len, cv_sat_add(name.len, 1));
        if (found.len == name.len + 1 && cv_u8_at(found, name.len) == 0) {
            found.len = name.len;
            if (cv_span_eq(found, name))
                return same_code(x, c, section, body, own, nomem);
        }
    }
    return false;
}

/* The first code section that came out otherwise; 0: none. */
static uint64_t other_code(cv_ctx *x, const cv_cubin *c, cv_span made, bool *nomem)
{
    for (uint64_t i = 1; i < c->sec.n; i++)
        if (cv_cubin_sec(c, i)->role == CV_ROLE_TEXT && !holds(x, made, c, i, nomem))
            return i;
    return 0;
}

static cuvet_status out_of(cv_ctx *x, const cv_backend_req *req, cv_backend_out *out, bool nomem)
{
    out->code = nomem ? CV_FINAL_MEMORY : CV_FINAL_LIMIT;
    return nomem ? cv_nomem(x, req->in.off) : cv_cancelled(x) ? CUVET_E_CANCELLED : CUVET_E_LIMIT;
}

/* For its own machine the code has to come out as it is. */
static cuvet_status check_capsules(cv_ctx *x, const cv_final_tool *t, const cv_backend_req *req,
                                   cv_backend_out *out)
{
    cuvet_compile_result r;
    bool nomem = false;
    cuvet_status st = ask(t, req, req->src_sm, req->src_suffix, &r);
    uint64_t i = 0;

    if (st == CUVET_OK && (r.end != CUVET_COMPILED || !r.bytes || r.n == 0))
        st = judge(x, req, &r, out);
    if (st == CUVET_OK)
        i = other_code(x, req->cubin, cv_span_of(r.bytes, r.n, 0), &nomem);
    if (i != 0 && (nomem || x->work_out)) {
        st = out_of(x, req, out, nomem);
    } else if (i != 0) {
        out->code = CV_FINAL_CHECK_TEXT;
        st = cv_reject(x, CV_R_BACKEND_CAPSULE, cv_sat_add(req->in.off, cv_cubin_sec(req->cubin, i)->h.off),
                       i, (uint64_t)(uint8_t)req->src_suffix << 32 | req->src_sm);
    }
    done(t, &r);
    return st;
}

/* It says of itself that it is what was asked for. The engine looks closer when it gets this very file. */
static bool is_for_target(const cv_backend_req *req, cv_span made)
{
    cv_elf_header h;

    return cv_elf_peek(made, &h) && h.type == req->cubin->h.type && h.osabi == req->cubin->h.osabi &&
           h.abiversion == req->cubin->h.abiversion && (h.flags & 0xFF) == (uint32_t)req->out_kind &&
           (h.flags >> 8 & 0xFFFF) == req->dst_sm;
}

/* Is it the code of the input also for the target? Then the input itself is the result, for another machine:
 * what the reference linker writes has lost its relocations against shared variables and constants. Not for
 * another family: the properties of the code in .nv.info are the machine's there. */
static cuvet_status take(cv_ctx *x, const cv_backend_req *req, cv_span made, cv_final_sink *to,
                         cv_backend_out *out)
{
    bool nomem = false;
    uint64_t i;

    if (made.len > req->max_output || !has_code(made) || !req->cubin->abi8 || !is_for_target(req, made) ||
        !cv_same_family(req->src_sm, req->dst_sm) || !cv_backend_can_copy_as(req))
        return deliver(x, req, made, to, out);
    i = other_code(x, req->cubin, made, &nomem);
    if (i != 0 && (nomem || x->work_out))
        return out_of(x, req, out, nomem);
    return i != 0 ? deliver(x, req, made, to, out) : cv_backend_copy_as(x, req, to, out);
}

static cuvet_status run(void *self, cv_ctx *x, const cv_backend_req *req, cv_final_sink *to,
                        cv_backend_out *out)
{
    const cv_final_tool *t = self;
    cuvet_compile_result r;
    cuvet_status st = ask(t, req, req->dst_sm, req->dst_suffix, &r);

    if (st == CUVET_OK)
        st = tell(x, t, &r);
    if (st == CUVET_OK && r.end == CUVET_COMPILED && r.bytes && r.n > 0)
        st = take(x, req, cv_span_of(r.bytes, r.n, req->in.off), to, out);
    else if (st == CUVET_OK)
        st = judge(x, req, &r, out);
    done(t, &r);
    if (st == CUVET_OK)
        st = check_capsules(x, t, req, out);
    if (st != CUVET_OK && out->code == CV_FINAL_OK)
        out->code = st == CUVET_E_NOMEM   ? CV_FINAL_MEMORY
                    : st == CUVET_E_LIMIT ? CV_FINAL_LIMIT
                                          : CV_FINAL_INTERNAL;
    return st;
}

const cv_backend cv_backend_external = {
    .abi = CV_BACKEND_ABI,
    .name = "external",
    .caps = CV_BACKEND_DECODE | CV_BACKEND_ENCODE | CV_BACKEND_CROSS_FAMILY | CV_BACKEND_OUT_OF_PROCESS |
            CV_BACKEND_RELOC_ONLY,
    .probe = probe,
    .run = run,
};
