/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "finalize/external.h"

#include "base/arith.h"
#include "proc/compile.h"

enum { COST = 100, FIRST_WORD = 4 };

static bool has_capsules(uint32_t sm)
{
    return cv_gen_has(cv_gen_of(sm), CV_GEN_CAPSULE);
}

/* What a relocatable link of one object does: its code is made again for another machine, with capsules. */
static cv_final probe_external(const void *self, const cv_backend_req *req, uint32_t *cost)
{
    const cv_final_tool *tool = self;

    *cost = COST;
    if (!tool->compiler.compile || req->in_kind != CV_KIND_CAPMERC || req->out_kind != CV_KIND_CAPMERC ||
        !has_capsules(req->src_sm) || !has_capsules(req->dst_sm))
        return CV_FINAL_NO_BACKEND;
    return cv_can_finalize(req->compat, req->src_sm, req->dst_sm);
}

static uint64_t pack_target(const cv_backend_req *req)
{
    return (uint64_t)(uint8_t)req->dst_suffix << 32 | req->dst_sm;
}

static cuvet_status refuse_result(cv_ctx *ctx, const cv_backend_req *req, cv_backend_out *out, cv_final code,
                                  cv_rule rule, uint64_t got)
{
    out->code = code;
    return cv_reject(ctx, rule, req->in.off, got, pack_target(req));
}

/* It did not deliver. */
static cuvet_status report_end(cv_ctx *ctx, const cv_backend_req *req, const cuvet_compile_result *result,
                               cv_backend_out *out)
{
    uint64_t got = (uint64_t)result->detail;

    switch (result->end) {
    case CUVET_COMPILE_TIMEOUT:
        return refuse_result(ctx, req, out, CV_FINAL_BACKEND_TIMEOUT, CV_R_BACKEND_TIMEOUT, got);
    case CUVET_COMPILE_CRASHED:
        return refuse_result(ctx, req, out, CV_FINAL_BACKEND_CRASH, CV_R_BACKEND_CRASH, got);
    case CUVET_COMPILE_OVERSIZED:
        return refuse_result(ctx, req, out, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_BACKEND_OVERSIZED, got);
    case CUVET_COMPILE_NOT_FOUND:
        return refuse_result(ctx, req, out, CV_FINAL_NO_BACKEND, CV_R_BACKEND_NOT_STARTED, got);
    case CUVET_COMPILE_UNSUPPORTED:
        return refuse_result(ctx, req, out, CV_FINAL_NO_BACKEND, CV_R_BACKEND_UNSUPPORTED, got);
    case CUVET_COMPILE_CANCELLED: out->code = CV_FINAL_CANCELLED; return CUVET_E_CANCELLED;
    case CUVET_COMPILED:
    case CUVET_COMPILE_EMPTY: /* also a success without bytes */
        return refuse_result(ctx, req, out, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_BACKEND_EMPTY, got);
    case CUVET_COMPILE_FAILED: break;
    }
    return refuse_result(ctx, req, out, CV_FINAL_BACKEND_FAILED, CV_R_BACKEND_FAILED, got);
}

/* A look for code sections, nothing more: the engine examines the file. */
static bool has_code(cv_span span)
{
    cv_elf_header header;
    cv_elf_section other;
    cv_span table;

    if (!cv_elf_peek(span, &header) || header.is32 ||
        !cv_span_sub(span, header.shoff, (uint64_t)header.shnum * 64, &table))
        return false;
    for (uint64_t i = 0; i < header.shnum; i++) {
        cv_elf_read_section(table, false, i, &other);
        if (other.type == CV_SHT_PROGBITS && (other.flags & CV_SHF_EXECINSTR) != 0 && other.size > 0)
            return true;
    }
    return false;
}

static cuvet_status deliver_result(cv_ctx *ctx, const cv_backend_req *req, cv_span span, cv_final_sink *to,
                                   cv_backend_out *out)
{
    cuvet_status status;

    if (span.len > req->max_output)
        return refuse_result(ctx, req, out, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_BACKEND_OVERSIZED,
                             req->max_output);
    if (req->cubin->n_functions > 0 && !has_code(span))
        return refuse_result(ctx, req, out, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_BACKEND_NO_CODE, span.len);
    out->code_changed = true; /* and its debug sections fit: nothing is left to be moved */
    status = cv_final_sink_begin(to, span.len);
    if (status != CUVET_OK)
        return status;
    return cv_final_sink_put(to, span) && cv_final_sink_end(to) ? CUVET_OK : CUVET_E_INTERNAL;
}

static cuvet_status pass_log(cv_ctx *ctx, const cv_final_tool *tool, const cuvet_compile_result *result)
{
    cv_u8s log = { 0 };
    bool ok = true;

    if (tool->said && result->log && result->n_log) {
        ok = cv_clean_log(&ctx->mem, cv_span_of(result->log, result->n_log, 0), &log);
        if (ok && log.count)
            tool->said(tool->user, (const char *)log.items);
    }
    cv_u8s_free(&ctx->mem, &log);
    return ok ? CUVET_OK : cv_nomem(ctx, 0);
}

/* Code for a debugger is not optimised, and has to come out so again. */
static bool is_for_debugger(const cv_cubin *cubin)
{
    for (uint64_t i = 1; i < cubin->sec.count; i++)
        if (cv_span_eq_str(cv_cubin_sec(cubin, i)->name, ".debug_info"))
            return true;
    return false;
}

static cuvet_status ask_generator(const cv_final_tool *tool, const cv_backend_req *req, uint32_t sm,
                                  char suffix, cuvet_compile_result *result)
{
    static const int NEVER = 0;
    const cuvet_compile_request request = { .size = sizeof(request),
                                            .kind = CUVET_K_CUBIN,
                                            .flags = is_for_debugger(req->cubin) ? CUVET_COMPILE_DEBUG : 0,
                                            .bytes = req->in.base,
                                            .n = (size_t)req->in.len,
                                            .sm = sm,
                                            .suffix = suffix,
                                            .threads = 1,
                                            .cancel = req->cancel ? req->cancel : &NEVER };

    *result = (cuvet_compile_result){ .size = sizeof(*result) };
    return tool->compiler.compile(tool->compiler.user, &request, result);
}

static void release_result(const cv_final_tool *tool, cuvet_compile_result *result)
{
    if (result->release)
        result->release(result, tool->compiler.user);
}

/* Fields that relocations of a code section patch: a linker may have written into them already. The operation
 * and the registers of an instruction are in its first word, which none patches. */
static bool fields_of(cv_ctx *ctx, const cv_cubin *cubin, uint64_t section, cv_keys *out, bool *nomem)
{
    cv_elf_reloc reloc;

    if (!cv_work(ctx, cubin->sec.count / 8 + 1, cubin->image.off))
        return false;
    for (uint64_t i = 1; i < cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(cubin, i);
        bool rela = sec->header.type == CV_SHT_RELA;
        cv_span table;

        if ((!rela && sec->header.type != CV_SHT_REL) || sec->header.info != section || !sec->in_file)
            continue;
        table = cv_cubin_body(cubin, i);
        for (uint64_t k = 0; k < table.len / cv_elf_rel_size(false, rela); k++) {
            uint64_t skip = 0;

            cv_elf_read_reloc(table, false, rela, k, &reloc);
            if (!cv_work(ctx, 1, table.off))
                return false;
            if (cv_reloc_of(reloc.type)->insn)
                skip = cv_min(FIRST_WORD, cv_reloc_of(reloc.type)->bytes);
            *nomem =
                !cv_keys_push(&ctx->mem, out,
                              (cv_key){ cv_sat_add(reloc.off, skip), cv_reloc_of(reloc.type)->bytes - skip });
            if (*nomem)
                return false;
        }
    }
    cv_keys_sort(out);
    return true;
}

/* The same code but for those fields. */
static bool same_code(cv_ctx *ctx, const cv_cubin *cubin, uint64_t section, cv_span first, cv_span second,
                      bool *nomem)
{
    cv_keys fields = { 0 };
    bool same = first.len == second.len && cv_work(ctx, first.len / 16, first.off) &&
                fields_of(ctx, cubin, section, &fields, nomem);
    uint64_t at = 0;

    for (uint64_t i = 0; i <= fields.count && same && at < first.len; i++) {
        const cv_key *key = i < fields.count ? cv_keys_get(&fields, i) : NULL;
        uint64_t until = key ? cv_min(key->key, first.len) : first.len;
        cv_span left = cv_span_tail(first, at), right = cv_span_tail(second, at);

        left.len = right.len = until > at ? until - at : 0;
        same = cv_span_eq(left, right);
        at = cv_max(at, key ? cv_sat_add(key->key, key->index) : first.len);
    }
    cv_keys_free(&ctx->mem, &fields);
    return same;
}

/* Is there a section of this name with this code? A look, as above. */
static bool has_same_code(cv_ctx *ctx, cv_span span, const cv_cubin *cubin, uint64_t section, bool *nomem)
{
    cv_span table, found, own, name = cv_cubin_sec(cubin, section)->name,
                               body = cv_cubin_body(cubin, section);
    cv_elf_section header, names;
    cv_elf_header file_header;

    if (!cv_elf_peek(span, &file_header) || file_header.is32 ||
        !cv_span_sub(span, file_header.shoff, (uint64_t)file_header.shnum * 64, &table) ||
        file_header.shstrndx >= file_header.shnum)
        return false;
    cv_elf_read_section(table, false, file_header.shstrndx, &names);
    for (uint64_t i = 0; i < file_header.shnum && cv_work(ctx, 2 + name.len / 16, span.off); i++) {
        cv_elf_read_section(table, false, i, &header);
        if (header.type != CV_SHT_PROGBITS || header.size != body.len)
            continue;
        found = cv_span_tail(span, cv_sat_add(names.off, header.name));
        own = cv_span_tail(span, header.off);
        own.len = cv_min(own.len, header.size);
        found.len = cv_min(found.len, cv_sat_add(name.len, 1));
        if (found.len == name.len + 1 && cv_u8_at(found, name.len) == 0) {
            found.len = name.len;
            if (cv_span_eq(found, name))
                return same_code(ctx, cubin, section, body, own, nomem);
        }
    }
    return false;
}

/* The first code section that came out otherwise; 0: none. */
static uint64_t other_code(cv_ctx *ctx, const cv_cubin *cubin, cv_span made, bool *nomem)
{
    for (uint64_t i = 1; i < cubin->sec.count; i++)
        if (cv_cubin_sec(cubin, i)->role == CV_ROLE_TEXT && !has_same_code(ctx, made, cubin, i, nomem))
            return i;
    return 0;
}

static cuvet_status report_out_of(cv_ctx *ctx, const cv_backend_req *req, cv_backend_out *out, bool nomem)
{
    out->code = nomem ? CV_FINAL_MEMORY : CV_FINAL_LIMIT;
    return nomem ? cv_nomem(ctx, req->in.off) : cv_cancelled(ctx) ? CUVET_E_CANCELLED : CUVET_E_LIMIT;
}

/* For its own machine the code has to come out as it is. */
static cuvet_status check_capsules(cv_ctx *ctx, const cv_final_tool *tool, const cv_backend_req *req,
                                   cv_backend_out *out)
{
    cuvet_compile_result result;
    bool nomem = false;
    cuvet_status status = ask_generator(tool, req, req->src_sm, req->src_suffix, &result);
    uint64_t i = 0;

    if (status == CUVET_OK && (result.end != CUVET_COMPILED || !result.bytes || result.n == 0))
        status = report_end(ctx, req, &result, out);
    if (status == CUVET_OK)
        i = other_code(ctx, req->cubin, cv_span_of(result.bytes, result.n, 0), &nomem);
    if (i != 0 && (nomem || ctx->work_out)) {
        status = report_out_of(ctx, req, out, nomem);
    } else if (i != 0) {
        out->code = CV_FINAL_CHECK_TEXT;
        status = cv_reject(ctx, CV_R_BACKEND_CAPSULE,
                           cv_sat_add(req->in.off, cv_cubin_sec(req->cubin, i)->header.off), i,
                           (uint64_t)(uint8_t)req->src_suffix << 32 | req->src_sm);
    }
    release_result(tool, &result);
    return status;
}

/* It says of itself that it is what was asked for. The engine looks closer when it gets this very file. */
static bool is_for_target(const cv_backend_req *req, cv_span made)
{
    cv_elf_header header;

    return cv_elf_peek(made, &header) && header.type == req->cubin->header.type &&
           header.osabi == req->cubin->header.osabi && header.abiversion == req->cubin->header.abiversion &&
           (header.flags & CV_EF_KIND) == (uint32_t)req->out_kind &&
           cv_elf_flags_sm(header.flags, true) == req->dst_sm;
}

/* Is it the code of the input also for the target? Then the input itself is the result, for another machine:
 * what the reference linker writes has lost its relocations against shared variables and constants. Not for
 * another family: the properties of the code in .nv.info are the machine's there. */
static cuvet_status take_result(cv_ctx *ctx, const cv_backend_req *req, cv_span made, cv_final_sink *to,
                                cv_backend_out *out)
{
    bool nomem = false;
    uint64_t i;

    if (made.len > req->max_output || !has_code(made) || !req->cubin->abi8 || !is_for_target(req, made) ||
        !cv_same_family(req->src_sm, req->dst_sm) || !cv_backend_can_copy_as(req))
        return deliver_result(ctx, req, made, to, out);
    i = other_code(ctx, req->cubin, made, &nomem);
    if (i != 0 && (nomem || ctx->work_out))
        return report_out_of(ctx, req, out, nomem);
    return i != 0 ? deliver_result(ctx, req, made, to, out) : cv_backend_copy_as(ctx, req, to, out);
}

static cuvet_status run_external(void *self, cv_ctx *ctx, const cv_backend_req *req, cv_final_sink *to,
                                 cv_backend_out *out)
{
    const cv_final_tool *tool = self;
    cuvet_compile_result result;
    cuvet_status status = ask_generator(tool, req, req->dst_sm, req->dst_suffix, &result);

    if (status == CUVET_OK)
        status = pass_log(ctx, tool, &result);
    if (status == CUVET_OK && result.end == CUVET_COMPILED && result.bytes && result.n > 0)
        status = take_result(ctx, req, cv_span_of(result.bytes, result.n, req->in.off), to, out);
    else if (status == CUVET_OK)
        status = report_end(ctx, req, &result, out);
    release_result(tool, &result);
    if (status == CUVET_OK)
        status = check_capsules(ctx, tool, req, out);
    if (status != CUVET_OK && out->code == CV_FINAL_OK)
        out->code = status == CUVET_E_NOMEM   ? CV_FINAL_MEMORY
                    : status == CUVET_E_LIMIT ? CV_FINAL_LIMIT
                                              : CV_FINAL_INTERNAL;
    return status;
}

const cv_backend cv_backend_external = {
    .abi = CV_BACKEND_ABI,
    .name = "external",
    .caps = CV_BACKEND_DECODE | CV_BACKEND_ENCODE | CV_BACKEND_CROSS_FAMILY | CV_BACKEND_OUT_OF_PROCESS |
            CV_BACKEND_RELOC_ONLY,
    .probe = probe_external,
    .run = run_external,
};
