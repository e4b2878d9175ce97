/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/hostobj/read.h"

#define SECTION(name, kind)                                                                                  \
    {                                                                                                        \
        name, sizeof(name) - 1, kind                                                                         \
    }
static const struct {
    const char *name;
    size_t len;
    cv_hostobj_kind kind;
} SECTIONS[] = {
    SECTION("", CV_HOSTOBJ_OTHER), /* CV_AT gives the first row for an index out of range */
    SECTION(".nv_fatbin", CV_HOSTOBJ_FATBIN),
    SECTION("__nv_relfatbin", CV_HOSTOBJ_RELFATBIN),
    SECTION(".nvFatBinSegment", CV_HOSTOBJ_WRAPPERS),
    SECTION("__nv_module_id", CV_HOSTOBJ_MODULE_ID),
    SECTION(".nvHRKE", CV_HOSTOBJ_KERNELS),
    SECTION(".nvHRKI", CV_HOSTOBJ_KERNELS),
    SECTION(".nvHRDE", CV_HOSTOBJ_REFS),
    SECTION(".nvHRDI", CV_HOSTOBJ_REFS),
    SECTION(".nvHRCE", CV_HOSTOBJ_REFS),
    SECTION(".nvHRCI", CV_HOSTOBJ_REFS),
};
#undef SECTION

cv_hostobj_kind cv_hostobj_section(cv_span name)
{
    for (size_t i = 1; i < CV_COUNT(SECTIONS); i++)
        if (name.len == CV_AT(SECTIONS, i).len && cv_span_eq_str(name, CV_AT(SECTIONS, i).name))
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

#define LARGE_PAGE UINT64_C(65536)
#define PAGE       UINT64_C(4096)

/* ELF psABI of each machine: the types that set a pointer, a copy of a symbol, a descriptor of 16 bytes,
 * and those of 8 bytes in objects beside 'absolute'. All have a type 0 that does nothing. */
typedef struct host_machine {
    uint16_t machine;
    uint32_t absolute, relative, copy, descriptor, wide[11];
    uint64_t page; /* the largest that its systems have */
} host_machine;

static const host_machine MACHINES[] = {
    { 62, 1, 8, 5, 36, { 16, 17, 18, 24, 25, 27, 28, 29, 30, 31, 33 }, PAGE }, /* x86-64 */
    { 183, 257, 1027, 1024, 1031, { 260, 307 }, LARGE_PAGE },                  /* AArch64 */
    { 21, 38, 22, 19, 0, { 43, 44, 45, 46, 51, 68, 73, 78 }, LARGE_PAGE },     /* PowerPC 64 */
    { 243, 2, 3, 4, 12, { 35, 39, 9, 7, 11, 18, 19 }, LARGE_PAGE }, /* RISC-V: calls are two words */
};

/* NULL: not known. */
static const host_machine *machine_of(uint16_t machine)
{
    for (size_t row = 0; row < CV_COUNT(MACHINES); row++)
        if (CV_AT(MACHINES, row).machine == machine)
            return &CV_AT(MACHINES, row);
    return NULL;
}

void cv_hostobj_pages(uint16_t machine, uint64_t *least, uint64_t *most)
{
    const host_machine *row = machine_of(machine);

    *least = PAGE;
    *most = row ? row->page : PAGE;
}

uint64_t cv_hostobj_loaded_bytes(uint16_t machine, bool is32, uint32_t type)
{
    const host_machine *row = machine_of(machine);
    uint64_t bytes = is32 ? 4 : 8;

    if (type == 0)
        return 0;
    if (row && type == row->copy)
        return CV_RELOC_COPY;
    return row && type == row->descriptor ? 2 * bytes : bytes;
}

uint64_t cv_hostobj_linked_bytes(uint16_t machine, uint32_t type)
{
    const host_machine *row = machine_of(machine);

    if (type == 0)
        return 0;
    if (!row)
        return 4;
    for (size_t i = 0; i < CV_COUNT(row->wide); i++)
        if (type == CV_AT(row->wide, i))
            return 8;
    return type == row->absolute ? 8 : 4;
}

bool cv_hostobj_packed_relocs(uint32_t section_type)
{
    return section_type == 0x40000014 || section_type == 0x60000001 || section_type == 0x60000002;
}

bool cv_hostobj_pointers(uint16_t machine, uint32_t *absolute, uint32_t *relative)
{
    const host_machine *row = machine_of(machine);

    if (row) {
        *absolute = row->absolute;
        *relative = row->relative;
    }
    return row != NULL;
}
