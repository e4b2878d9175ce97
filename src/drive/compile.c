/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The compile step: what is not a device ELF yet goes through the plug-in, and comes back a stranger. */
#include "proc/compile.h"
#include "cubin/admit.h"
#include "drive/select.h"

CV_VEC(texts, const char *);

/* The options of a call: first the member's that are allowed, then the caller's. */
typedef struct options {
    cv_u8s pool; /* the member's, each with its NUL */
    texts list;
} options;

static void options_free(cv_input *in, options *o)
{
    cv_u8s_free(&in->x.mem, &o->pool);
    texts_free(&in->x.mem, &o->list);
}

/* Option text in the header of a member; empty for anything else. Its findings were reported already. */
static cuvet_status member_text(cv_input *in, const cuvet_source *src, const cv_unit *u, cv_block *header,
                                cv_span *text)
{
    cv_emit_fn *emit = in->x.emit;
    cv_fatbin_member m;
    cuvet_status s;

    *text = cv_span_of(NULL, 0, 0);
    if (u->kind != CV_UNIT_MEMBER || u->header_size == 0)
        return CUVET_OK;
    s = cv_block_load(&in->x, header, src, u->off, u->header_size);
    if (s != CUVET_OK)
        return s;
    in->x.emit = NULL;
    s = cv_fatbin_read_member(&in->x, header->span, &m);
    in->x.emit = emit;
    if (s == CUVET_OK && m.has_options)
        *text = m.options;
    return s == CUVET_OK ? s : CUVET_E_INTERNAL; /* the examination would have stopped */
}

static cuvet_status gather(cv_input *in, cv_span text, bool ltoir, options *o)
{
    cuvet_status s = cv_member_options(&in->x, text, ltoir, &in->option_text, &o->pool);
    cv_span pool = cv_span_of(o->pool.v, o->pool.n, 0);
    const char *p;

    for (uint64_t at = 0; s == CUVET_OK && at < pool.len;) {
        p = (const char *)cv_u8s_at(&o->pool, at);
        at += cv_span_find_byte(cv_span_tail(pool, at), 0) + 1;
        if (!texts_push(&in->x.mem, &o->list, p))
            s = cv_nomem(&in->x, 0);
    }
    for (uint64_t i = 0; s == CUVET_OK && i < in->option_at.n; i++) {
        p = (const char *)cv_u8s_at(&in->option_text, *cv_u64s_at(&in->option_at, i));
        if (!texts_push(&in->x.mem, &o->list, p))
            s = cv_nomem(&in->x, 0);
    }
    return s;
}

/* Whatever it said: cleaned, cut, ours. */
static cuvet_status keep_log(cv_input *in, const cuvet_compile_result *r)
{
    cv_u8s_clear(&in->log);
    if (!r->log || r->n_log == 0)
        return CUVET_OK;
    return cv_clean_log(&in->x.mem, cv_span_of(r->log, r->n_log, 0), &in->log) ? CUVET_OK
                                                                               : cv_nomem(&in->x, 0);
}

static cuvet_status call(cv_input *in, const cv_candidate *c, const options *o, cuvet_compile_result *r)
{
    const cuvet_compile_request q = { .size = sizeof(q),
                                      .kind = c->pub.kind,
                                      .bytes = in->image.mem,
                                      .n = (size_t)in->image.span.len,
                                      .sm = in->cfg.target.sm,
                                      .suffix = in->cfg.target.suffix,
                                      .option = o->list.v,
                                      .n_options = (size_t)o->list.n,
                                      .threads = in->cfg.threads,
                                      .cancel = &in->cancel };
    cuvet_status s = in->compiler.compile(in->compiler.user, &q, r);

    if (s != CUVET_OK) /* the plug-in has no other statuses: another one is a defect, not a verdict */
        return s == CUVET_E_NOMEM ? s : CUVET_E_INTERNAL;
    s = keep_log(in, r);
    if (s != CUVET_OK)
        return s;
    if (r->end == CUVET_COMPILE_CANCELLED || cv_input_cancelled(in))
        return CUVET_E_CANCELLED;
    if (r->end == CUVET_COMPILED && (!r->bytes || r->n == 0))
        r->end = CUVET_COMPILE_EMPTY;
    if (r->end == CUVET_COMPILED)
        return cv_block_copy(&in->x, &in->image, cv_span_of(r->bytes, r->n, 0));
    cv_report(&in->x, cv_compile_rule(r->end), c->pub.payload_off, 0, (uint64_t)r->detail,
              cv_arch_pack(in->cfg.target.sm, in->cfg.target.suffix));
    return CUVET_E_COMPILER;
}

/* Output of the compiler: examined and admitted as if it had come in a file. */
static cuvet_status judge(cv_input *in, uint64_t at)
{
    cv_unit u = {
        .kind = CV_UNIT_IMAGE, .path = in->x.path, .payload_size = in->image.span.len, .referenced = true
    };
    cuvet_target t = in->cfg.target;
    const cuvet_source src = cv_source_memory(in->image.mem, in->image.span.len);
    cuvet_status s;

    if (cv_u32_at(in->image.span, 0) != CV_ELF_MAGIC)
        return cv_reject(&in->x, CV_R_INPUT_COMPILED_KIND, 0, cv_u32_at(in->image.span, 0), CV_ELF_MAGIC);
    cv_ctx_enter_inner(&in->x, at); /* offsets in what the member became */
    s = cv_input_examine(in, &src, &u);
    if (s == CUVET_OK)
        s = cv_input_admit(in);
    if (s == CUVET_OK && (in->out.sm != t.sm || (in->out.suffix != t.suffix && in->out.suffix != 0)))
        s = cv_reject(&in->x, CV_R_INPUT_COMPILED_ARCH, 0, cv_arch_pack(in->out.sm, in->out.suffix),
                      cv_arch_pack(t.sm, t.suffix));
    if (s == CUVET_OK)
        s = cv_block_copy(&in->x, &in->image, in->result.payload);
    in->out.compiled = true;
    return s;
}

cuvet_status cv_input_compile(cv_input *in, const cuvet_source *src, const cv_candidate *c)
{
    cuvet_compile_result r = { .size = sizeof(r) };
    cv_block header = { 0 };
    options o = { 0 };
    cv_span text;
    cuvet_status s;

    if (!in->compiler.compile) {
        cv_report(&in->x, c->pub.kind == CUVET_K_PTX ? CV_R_COMPILE_NEEDED_PTX : CV_R_COMPILE_NEEDED_IR,
                  c->pub.payload_off, 0, cv_arch_pack(c->pub.sm, c->pub.suffix),
                  cv_arch_pack(in->cfg.target.sm, in->cfg.target.suffix));
        return CUVET_E_COMPILER;
    }
    s = member_text(in, src, &c->unit, &header, &text);
    if (s == CUVET_OK)
        s = gather(in, text, c->pub.kind == CUVET_K_LTOIR, &o);
    if (s == CUVET_OK) {
        s = call(in, c, &o, &r);
        if (r.release)
            r.release(&r, in->compiler.user);
    }
    options_free(in, &o);
    cv_block_free(&in->x, &header);
    return s == CUVET_OK ? judge(in, c->pub.payload_off) : s;
}
