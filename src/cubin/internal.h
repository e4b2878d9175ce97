/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared by the cubin_*.c files: how findings name their place. */
#ifndef CV_CUBIN_INTERNAL_H
#define CV_CUBIN_INTERNAL_H

#include "cubin/cubin.h"
#include "target/arch.h"

/* Place of a field of a section header in the file. */
static inline uint64_t cv_sec_at(const cv_cubin *cubin, uint64_t index, cv_shdr_field field)
{
    bool is32 = cubin->header.is32;

    return cubin->image.off + cubin->header.shoff + index * cv_elf_shdr_size(is32) +
           cv_elf_shdr_at(is32, field);
}

static inline void cv_sec_report(cv_ctx *ctx, const cv_cubin *cubin, uint64_t index, cv_rule rule,
                                 cv_shdr_field field, uint64_t got, uint64_t want)
{
    cv_report_at(ctx, CUVET_P_SECTION, index, rule, cv_sec_at(cubin, index, field), 0, got, want);
}

/* Finding at a place inside the body of a section. */
static inline void cv_body_report(cv_ctx *ctx, const cv_cubin *cubin, uint64_t index, cv_rule rule,
                                  uint64_t at, uint64_t got, uint64_t want)
{
    cv_report_at(ctx, CUVET_P_SECTION, index, rule,
                 cv_sat_add(cubin->image.off + cv_cubin_sec(cubin, index)->header.off, at), 0, got, want);
}

/* Section 'index', to be changed. Its number is one of ours, or was compared with cubin->sec.n. */
static inline cv_sec *cv_sec_mut(cv_cubin *cubin, uint64_t index)
{
    return cv_secs_at(&cubin->sec, index);
}

static inline bool cv_role_is_code(cv_role role)
{
    return role == CV_ROLE_TEXT || role == CV_ROLE_UFT_REL || role == CV_ROLE_UFT;
}

static inline bool cv_role_is_capsule(cv_role role)
{
    return role == CV_ROLE_CAPMERC_TEXT || role == CV_ROLE_CAPMERC_UFT_REL;
}

/* Memory that programs have variables in; what is not known is not judged. */
static inline bool cv_role_holds_variables(cv_role role)
{
    switch ((unsigned)role) {
    case CV_ROLE_NONE:
    case CV_ROLE_GLOBAL:
    case CV_ROLE_GLOBAL_INIT:
    case CV_ROLE_UDT:
    case CV_ROLE_CONSTANT:
    case CV_ROLE_CONSTANT_FN:
    case CV_ROLE_LOCAL_FN:
    case CV_ROLE_SHARED_FN:
    case CV_ROLE_SHARED_RESERVED:
    case CV_ROLE_NV_DEBUG_SHARED: return true;
    default: return false;
    }
}

/* By the type of a symbol; names that stand for nothing that has an address are without a type. */
static inline bool cv_is_variable(uint8_t type)
{
    return type == CV_STT_OBJECT || (type >= CV_STT_CUDA_TEXTURE && type <= CV_STT_CUDA_OBJECT);
}

/* Call frames, native or Mercury. */
static inline bool cv_is_frames(const cv_sec *sec)
{
    return (sec->role == CV_ROLE_DEBUG || sec->role == CV_ROLE_MERC_DEBUG) &&
           cv_span_eq_str(sec->fn, "frame");
}

/* End of the last string of a table: names must start before it. Found once, so that a table without NUL
 * costs nothing. */
static inline uint64_t cv_strings_end(cv_span table)
{
    uint64_t end = table.len;

    while (end > 0 && cv_u8_at(table, end - 1) != 0)
        end--;
    return end;
}

/* A read anywhere in a table that the file makes large: it finds nothing in the caches. */
#define CV_WORK_SCATTERED 16u

/* Many headers and symbols may share one long name: each pays for reading it. */
static inline CV_MUST bool cv_name_work(cv_ctx *ctx, cv_span name)
{
    return cv_work(ctx, name.len / 4, name.off);
}

/* Relocations of a capsule. */
static inline bool cv_is_merc_rela(uint32_t type)
{
    return type == CV_SHT_MERC_RELA || type == CV_SHT_MERC_RESOLVED_RELA;
}

/* Stages that are not part of the public order. */
void cv_cubin_check_flags(cv_ctx *ctx, cv_cubin *cubin);
void cv_cubin_check_pairs(cv_ctx *ctx, cv_cubin *cubin);
CV_MUST cuvet_status cv_cubin_check_unique(cv_ctx *ctx, const cv_cubin *cubin);    /* OK or NOMEM */
CV_MUST cuvet_status cv_cubin_check_twins(cv_ctx *ctx, const cv_cubin *cubin);     /* OK or NOMEM */
CV_MUST cuvet_status cv_cubin_check_variables(cv_ctx *ctx, const cv_cubin *cubin); /* OK or NOMEM */

#endif
