/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/hostobj/read.h"

static const struct {
    const char *name;
    cv_hostobj_kind kind;
} SECTIONS[] = {
    { "", CV_HOSTOBJ_OTHER }, /* CV_AT gives the first row for an index out of range */
    { ".nv_fatbin", CV_HOSTOBJ_FATBIN },
    { "__nv_relfatbin", CV_HOSTOBJ_RELFATBIN },
    { ".nvFatBinSegment", CV_HOSTOBJ_WRAPPERS },
    { "__nv_module_id", CV_HOSTOBJ_MODULE_ID },
    { ".nvHRKE", CV_HOSTOBJ_KERNELS },
    { ".nvHRKI", CV_HOSTOBJ_KERNELS },
    { ".nvHRDE", CV_HOSTOBJ_REFS },
    { ".nvHRDI", CV_HOSTOBJ_REFS },
    { ".nvHRCE", CV_HOSTOBJ_REFS },
    { ".nvHRCI", CV_HOSTOBJ_REFS },
};

cv_hostobj_kind cv_hostobj_section(cv_span name)
{
    for (size_t i = 1; i < CV_COUNT(SECTIONS); i++)
        if (cv_span_eq_str(name, CV_AT(SECTIONS, i).name))
            return CV_AT(SECTIONS, i).kind;
    return CV_HOSTOBJ_OTHER;
}

cuvet_status cv_wrapper_read(cv_ctx *ctx, cv_span records, uint64_t index, cv_wrapper *out)
{
    uint64_t at = index * CV_WRAPPER_SIZE, off = records.off + at;
    cv_wrapper wrapper = { cv_u32_at(records, at), cv_u32_at(records, at + 4),
                           cv_u64_at(records, at + CV_WRAPPER_DATA),
                           cv_u64_at(records, at + CV_WRAPPER_SECOND) };

    if (wrapper.magic == CV_WRAPPER_OLD_MAGIC)
        return cv_reject(ctx, CV_R_HOST_WRAPPER_OLD, off, wrapper.magic, CV_WRAPPER_MAGIC);
    if (wrapper.magic != CV_WRAPPER_MAGIC)
        return cv_reject(ctx, CV_R_HOST_WRAPPER_MAGIC, off, wrapper.magic, CV_WRAPPER_MAGIC);
    if (wrapper.version != 1 && wrapper.version != 2)
        return cv_reject(ctx, CV_R_HOST_WRAPPER_VERSION, off + 4, wrapper.version, 1);
    if (wrapper.version == 1 && wrapper.second != 0)
        cv_report(ctx, CV_R_HOST_WRAPPER_SECOND, off + CV_WRAPPER_SECOND, 8, wrapper.second, 0);
    *out = wrapper;
    return CUVET_OK;
}

/* Names are source text: bytes from 0x80 on belong to identifiers in UTF-8. */
static bool is_text(uint8_t byte)
{
    return byte == 0 || (byte >= ' ' && byte != 0x7F);
}

bool cv_hostobj_check_text(cv_ctx *ctx, cv_span part, bool last)
{
    for (uint64_t i = 0; i < part.len; i++)
        if (!is_text(cv_u8_at(part, i))) {
            cv_report(ctx, CV_R_HOST_TEXT_BYTE, part.off + i, 1, cv_u8_at(part, i), 0);
            return false;
        }
    if (last && part.len > 0 && cv_u8_at(part, part.len - 1) != 0) {
        cv_report(ctx, CV_R_HOST_TEXT_END, part.off + part.len - 1, 1, cv_u8_at(part, part.len - 1), 0);
        return false;
    }
    return true;
}

/* ELF psABI of each machine. */
static const struct {
    uint16_t machine;
    uint32_t absolute, relative;
} MACHINES[] = {
    { 62, 1, 8 },       /* x86-64 */
    { 183, 257, 1027 }, /* AArch64 */
    { 21, 38, 22 },     /* PowerPC 64 */
    { 243, 2, 3 },      /* RISC-V */
};

bool cv_hostobj_pointers(uint16_t machine, uint32_t *absolute, uint32_t *relative)
{
    for (size_t row = 0; row < CV_COUNT(MACHINES); row++)
        if (CV_AT(MACHINES, row).machine == machine) {
            *absolute = CV_AT(MACHINES, row).absolute;
            *relative = CV_AT(MACHINES, row).relative;
            return true;
        }
    return false;
}
