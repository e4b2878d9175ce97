/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The proof of a link: a good result is damaged in one place, or a hint says another place, and the rule
 * that is about it says so. */
#include "format/meta/read.h"
#include "format/tlv/attr.h"
#include "whole_link.h"

/* Of the file, which is put together of the block and of what is borrowed. */
static uint8_t *byte_at(uint64_t off)
{
    cv_slice_pos pos = { 0 };
    cv_span run;

    while (cv_slices_next(&file, &pos, &run)) {
        if (off < run.len)
            return (uint8_t *)(uintptr_t)run.base + off;
        off -= run.len;
    }
    ck_abort_msg("the file is shorter");
}

static void damage_bytes(void)
{
    for (uint64_t i = 0; i < link.out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec(&link, i);

        if (osec->group == CV_G_CONST && !osec->dead && osec->size) {
            *byte_at(osec->off) ^= 1;
            return;
        }
    }
    ck_abort_msg("no constants");
}

/* The symbol of a kernel, in the table as it was read again. */
static uint8_t *kernel_at(void)
{
    for (uint64_t i = 0; i < link.functions->fn.count; i++)
        if (cv_l_is_kernel(&link, (cv_id)i))
            return (uint8_t *)(uintptr_t)link.reread->cubin.symtab.base +
                   24 * cv_l_osym(&link, cv_l_out_of(&link, cv_l_fn(&link, i)->def))->index;
    ck_abort_msg("no kernel");
}

static void damage_symbol(void)
{
    kernel_at()[8] ^= 4;
}

static void hint_place(void)
{
    for (uint64_t i = 0; i < link.inputs->isec.count; i++)
        if (cv_span_eq_str(cv_l_text(&link, cv_l_isec(&link, i)->name), ".debug_frame")) {
            cv_becames_at(&link.out->became, i)->base += 4;
            return;
        }
    ck_abort_msg("no call frames");
}

static void damage_field(bool shared)
{
    for (uint64_t i = 0; i < link.out->irel.count; i++) {
        const cv_irel *rel = cv_irels_get(&link.out->irel, i);
        const cv_isym *sym = rel->sym == CV_NONE ? NULL : cv_l_isym(&link, rel->sym);

        if (!sym || cv_fixups_get(&link.fixups->fixup, i)->n_fields == 0 ||
            !(shared ? cv_l_is_shared(sym) : cv_l_is_constant(sym)))
            continue;
        *byte_at(cv_l_osec(&link, cv_l_became(&link, cv_out_run_of(link.out, (cv_id)i)->target)->out)->off +
                 rel->off + 5) ^= 1;
        return;
    }
    ck_abort_msg("nothing is applied");
}

static void damage_constant(void)
{
    damage_field(false);
}

static void damage_shared(void)
{
    damage_field(true);
}

/* The shared memory of kernels ends before their last variable. */
static void damage_room(void)
{
    cv_cubin *cubin = &link.reread->cubin;

    for (uint64_t i = 1; i < cubin->sec.count; i++) {
        cv_sec *sec = cv_secs_at(&cubin->sec, i);

        if (sec->role == CV_ROLE_SHARED_FN && sec->header.size)
            sec->header.size--;
    }
}

/* The shared memory of kernels is larger than what lies in it. */
static void damage_end(void)
{
    cv_cubin *cubin = &link.reread->cubin;

    for (uint64_t i = 1; i < cubin->sec.count; i++) {
        cv_sec *sec = cv_secs_at(&cubin->sec, i);

        if (sec->role == CV_ROLE_SHARED_FN && sec->header.size)
            sec->header.size += 16;
    }
}

static void damage_align(void)
{
    cv_cubin *cubin = &link.reread->cubin;

    for (uint64_t i = 1; i < cubin->sec.count; i++) {
        cv_sec *sec = cv_secs_at(&cubin->sec, i);

        if (sec->role == CV_ROLE_SHARED_FN)
            sec->header.align = 1;
    }
}

/* The body of a section of the result, as it was read again. */
static uint8_t *body_of(const char *name, uint64_t at)
{
    const cv_cubin *cubin = &link.reread->cubin;

    for (uint64_t i = 1; i < cubin->sec.count; i++)
        if (cv_span_starts(cv_cubin_sec(cubin, i)->name, name))
            return byte_at(cv_cubin_sec(cubin, i)->header.off + at);
    ck_abort_msg("no such section");
}

/* An instruction of the first description. */
static void damage_frame(void)
{
    *body_of(".debug_frame", 32) ^= 1;
}

/* A row of the first unit. */
static void damage_lines(void)
{
    *body_of(".debug_line", 28) ^= 1;
}

/* The address of another function is taken, with the prototype. */
static void damage_calls(void)
{
    const cv_cubin *cubin = &link.reread->cubin;
    cv_span body = cv_cubin_body(cubin, cv_cubin_first(cubin, CV_ROLE_CALLGRAPH));
    cv_call_cur cur = { .loose = true };
    cv_call record;

    while (cv_callgraph_peek(body, &cur, &record))
        if (record.part == CV_CALL_ADDRESS) {
            *body_of(".nv.callgraph", record.off) ^= 1;
            return;
        }
    ck_abort_msg("no address is taken");
}

/* Another machine. */
static void damage_header(void)
{
    link.reread->cubin.header.flags ^= 1U << CV_EF_SM_BIT;
}

/* The bank of a kernel begins with the table of a function. */
static void damage_table(void)
{
    *body_of(".nv.constant2.", 0) ^= 1;
}

static void damage_kept(void)
{
    for (uint64_t i = 0; i < link.out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec(&link, i);

        if (osec->group == CV_G_REL && !osec->dead && osec->size) {
            *byte_at(osec->off + 8) ^= 1;
            return;
        }
    }
    ck_abort_msg("nothing is kept");
}

/* The value of a record of the program or of a function. */
static void damage_record(const char *section, uint8_t code, uint64_t at)
{
    for (uint64_t i = 0; i < link.out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec(&link, i);
        cv_span body;
        cv_tlv tlv;

        if (osec->dead || !cv_span_starts(cv_l_text(&link, osec->name), section) ||
            !cv_span_sub(out.span, osec->off, osec->size, &body))
            continue;
        for (uint64_t pos = 0; cv_tlv_at(body, pos, &tlv) == CV_TLV_OK; pos = tlv.next)
            if (tlv.code == code) {
                --*byte_at(osec->off + pos + at);
                return;
            }
    }
    ck_abort_msg("no such record");
}

static void damage_info(void)
{
    damage_record(".nv.info.", CV_ATTR_CBANK_PARAM_SIZE, 2);
}

static void damage_registers(void)
{
    damage_record(".nv.info", CV_ATTR_REGCOUNT, 8);
}

/* What was a kernel is none any more, and nothing stands for it. */
static void damage_kernel(void)
{
    kernel_at()[4] = cv_elf_info(CV_STB_GLOBAL, CV_STT_NOTYPE);
    for (uint64_t i = 0; i < link.functions->fn.count; i++)
        if (cv_l_is_kernel(&link, (cv_id)i)) {
            *cv_u32s_at(&link.out->became_sym, cv_l_fn(&link, i)->def) = CV_NONE;
            return;
        }
}

static const struct {
    const char *rule, *name, *arch;
    void (*damage)(void);
} ROWS[] = {
    { "CV-LINK-100", "extern_basic", "sm_80", damage_bytes },
    { "CV-LINK-101", "extern_basic", "sm_80", damage_symbol },
    { "CV-LINK-102", "extern_basic", "sm_80", hint_place },
    { "CV-LINK-103", "const_multi", "sm_80", damage_constant },
    { "CV-LINK-104", "extern_basic", "sm_80", damage_kept },
    { "CV-LINK-103", "shared_static", "sm_80", damage_shared },
    { "CV-LINK-106", "extern_basic", "sm_80", damage_info },
    { "CV-LINK-106", "kernel_address", "sm_80", damage_calls },
    { "CV-LINK-107", "extern_basic", "sm_80", damage_registers },
    { "CV-LINK-108", "extern_basic", "sm_80", damage_kernel },
    { "CV-LINK-105", "shared_static", "sm_80", damage_room },
    { "CV-LINK-111", "shared_static", "sm_80", damage_end },
    { "CV-LINK-112", "shared_static", "sm_80", damage_align },
    { "CV-LINK-113", "lines", "sm_100", damage_frame },
    { "CV-LINK-114", "jump_table", "sm_80", damage_table },
    { "CV-LINK-115", "data_only", "sm_80", damage_header },
    { "CV-LINK-116", "lines", "sm_100", damage_lines },
};

START_TEST(noticed)
{
    begin(ROWS[_i].name, ROWS[_i].arch, false);
    ck_assert_int_eq(cv_link_run_to(&link, UINT64_MAX), CUVET_OK);
    ck_assert_uint_eq(said.count, 0);
    ROWS[_i].damage();
    ck_assert_int_eq(cv_link_run(&link, number_of("prove")), CUVET_E_INTERNAL);
    ck_assert_uint_gt(said.count, 0);
    ck_assert_str_eq(cuvet_rule_get(said.first.rule)->id, ROWS[_i].rule);
    end();
}
END_TEST

Suite *suite_link_prove(void)
{
    Suite *suite = suite_create("link prove");
    TCase *tcase = tcase_create("rules");

    tcase_add_loop_test(tcase, noticed, 0, (int)N(ROWS));
    suite_add_tcase(suite, tcase);
    return suite;
}
