/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What belongs to one function: code, metadata, parameter bank, capsule. Names repeat, so pairs go by sh_info
 * and index. */
#include "cubin/internal.h"

#include "format/meta/read.h"

/* First word: the code section with the same function name. */
static void check_capsule_text(cv_ctx *ctx, cv_cubin *cubin, uint64_t at, const cv_sec *sec, cv_span body)
{
    uint32_t index = cv_u32_at(body, 0);
    const cv_sec *named = cv_cubin_sec(cubin, index);
    cv_role want = sec->role == CV_ROLE_CAPMERC_TEXT ? CV_ROLE_TEXT : CV_ROLE_UFT_REL;
    cv_sec *code;

    if (index == 0 || index >= cubin->sec.count || named->role != want || !cv_span_eq(named->fn, sec->fn)) {
        cv_body_report(ctx, cubin, at, CV_R_CAPSULE_TEXT, 0, index, 0);
        return;
    }
    code = cv_sec_mut(cubin, index);
    if (code->capsule != 0)
        cv_body_report(ctx, cubin, at, CV_R_PAIR_CAPSULE, 0, 2, 1);
    code->capsule = (uint32_t)at;
}

static void check_capsule(cv_ctx *ctx, cv_cubin *cubin, uint64_t index, const cv_sec *sec)
{
    cv_span body = cv_cubin_body(cubin, index);
    uint32_t word, count;

    if (!sec->in_file)
        return;
    if (body.len < CV_CAPSULE_HEAD || body.len % 2 != 0) {
        cv_sec_report(ctx, cubin, index, CV_R_CAPSULE_SIZE, CV_SH_SIZE, body.len, CV_CAPSULE_HEAD);
        return;
    }
    if (body.len < CV_CAPSULE_LEAST)
        cv_sec_report(ctx, cubin, index, CV_R_CAPSULE_SMALL, CV_SH_SIZE, body.len, CV_CAPSULE_LEAST);
    check_capsule_text(ctx, cubin, index, sec, body);
    word = cv_u32_at(body, CV_CAPSULE_FORMAT);
    count = cv_u32_at(body, CV_CAPSULE_COUNT);
    if (word != CV_CAPSULE_WORD || count == 0 || count > CV_CAPSULE_MOST)
        cv_body_report(ctx, cubin, index, CV_R_CAPSULE_WORD, CV_CAPSULE_FORMAT, word, CV_CAPSULE_WORD);
    if (sec->role == CV_ROLE_CAPMERC_TEXT && !cv_capsule_ends(body))
        cv_body_report(ctx, cubin, index, CV_R_CAPSULE_END, body.len - 2,
                       (uint64_t)cv_u8_at(body, body.len - 2) << 8 | cv_u8_at(body, body.len - 1), 0);
}

/* sh_info of code: its FUNC symbol, and the register count where it belongs. */
static void check_symbol(cv_ctx *ctx, const cv_cubin *cubin, uint64_t at, const cv_sec *sec, bool capsule)
{
    uint32_t index = capsule ? sec->header.info : cv_elf_code_symbol(sec->header.info);
    cv_span table = capsule ? cubin->merc_symtab : cubin->symtab, name = cv_span_tail(table, table.len), rest;
    cv_elf_symbol sym;
    bool ok;

    if (table.len == 0)
        return;
    cv_elf_read_symbol(table, false, index, &sym);
    ok = cv_elf_sym_type(&sym) == CV_STT_FUNC && cv_cubin_shndx(cubin, capsule, index, &sym) == at &&
         cv_span_cstr(cubin->strtab, sym.name, &name);
    if (!cv_name_work(ctx, name))
        return;
    if (ok && (sec->role == CV_ROLE_UFT_REL || sec->role == CV_ROLE_CAPMERC_UFT_REL))
        ok = cv_span_after(name, "__cuda_uf_stub_", &rest) && cv_span_eq(rest, sec->fn);
    else if (ok)
        ok = cv_span_eq(name, sec->fn);
    if (!ok)
        cv_sec_report(ctx, cubin, at, CV_R_TEXT_SYMBOL, CV_SH_INFO, index, 0);
    if (!capsule && !cv_gen_has(cubin->gen, CV_GEN_REGS_IN_INFO) &&
        cv_elf_code_registers(sec->header.info) != 0)
        cv_sec_report(ctx, cubin, at, CV_R_TEXT_REGISTERS, CV_SH_INFO,
                      cv_elf_code_registers(sec->header.info), 0);
}

static void check_code(cv_ctx *ctx, const cv_cubin *cubin, uint64_t index, const cv_sec *sec)
{
    uint32_t const0 = sec->const0 != 0, kernel = sec->kernel_sym != 0;

    check_symbol(ctx, cubin, index, sec, false);
    if (sec->info_sec == 0)
        cv_sec_report(ctx, cubin, index, CV_R_PAIR_NO_INFO, CV_SH_NAME, 0, 1);
    if (const0 != kernel && sec->role == CV_ROLE_TEXT)
        cv_sec_report(ctx, cubin, index, CV_R_PAIR_NO_CONST0, CV_SH_NAME, const0, kernel);
    if (sec->capsule == 0 && cubin->abi8 && cv_gen_has(cubin->gen, CV_GEN_CAPSULE) && cubin->flag_capsule)
        cv_sec_report(ctx, cubin, index, CV_R_PAIR_NO_CAPSULE, CV_SH_NAME, 0, 1);
}

void cv_cubin_check_pairs(cv_ctx *ctx, cv_cubin *cubin)
{
    if (!cv_work(ctx, 2 * cubin->sec.count, cubin->image.off))
        return;
    for (uint64_t i = 1; cubin->has_capsule && i < cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(cubin, i);

        if (cv_role_is_capsule(sec->role)) {
            check_capsule(ctx, cubin, i, sec);
            check_symbol(ctx, cubin, i, sec, true);
        }
    }
    for (uint64_t i = 1; i < cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(cubin, i);

        if (cv_role_is_code(sec->role))
            check_code(ctx, cubin, i, sec);
    }
}
