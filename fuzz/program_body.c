/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is in the sections of an object of a program, as metadata.md has it. */
#include "program_int.h"

#include <stdio.h>
#include <string.h>

#include "format/elf/names.h"
#include "format/tlv/attr.h"

const uint8_t fz_trait_code[MD_TRAITS] = {
    [MD_BARRIERS] = CV_ATTR_NUM_BARRIERS,     [MD_MBARRIERS] = CV_ATTR_NUM_MBARRIERS,
    [MD_SYNC_STACK] = CV_ATTR_CRS_STACK_SIZE, [MD_SPARSE] = CV_ATTR_SPARSE_MMA_MASK,
    [MD_CTAIDZ] = CV_ATTR_CTAIDZ_USED,        [MD_RESERVED] = CV_ATTR_RESERVED_SMEM_USED,
    [MD_RECONFIGURE] = CV_ATTR_REG_RECONFIG,
};

void fz_put(fz_out *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to->bytes[to->len++] = (uint8_t)(value >> 8 * i);
}

void fz_put_text(fz_out *to, const char *text)
{
    size_t len = strlen(text) + 1;

    memcpy(to->bytes + to->len, text, len);
    to->len += len;
}

void fz_pad(fz_out *to, uint64_t align)
{
    while (align && to->len % align)
        to->bytes[to->len++] = 0;
}

bool fz_is_here(const fz_object *obj, unsigned fn)
{
    const md_fn *function = &obj->program->fn[fn];

    return fn < obj->program->n_fns && function->unit == obj->unit && md_is_defined(function);
}

static void write_notes(const fz_object *obj, fz_out *to, unsigned which)
{
    static const char BLOCK[] = "\0ptxas\0Cuda compilation tools, release 13.0, V13.0.88\0built\0-arch sm_";
    char options[16];
    unsigned len = (unsigned)snprintf(options, sizeof(options), "%u ", obj->program->sm) + 1;
    unsigned size = 24 + (unsigned)sizeof(BLOCK) - 1 + len, padded = (size + 3) & ~3u;

    fz_put(to, 12, 4);
    fz_put(to, which ? 8 : padded, 4);
    fz_put(to, which ? 1000 : 2000, 4);
    fz_put_text(to, "NVIDIA Corp");
    if (which) {
        fz_put(to, 2 | (uint64_t)obj->program->sm << 16 | UINT64_C(130) << 32, 8);
        return;
    }
    fz_put(to, 2, 8);
    fz_put(to, 1 | UINT64_C(7) << 32, 8);
    fz_put(to, 54 | UINT64_C(60) << 32, 8);
    memcpy(to->bytes + to->len, BLOCK, sizeof(BLOCK) - 1);
    to->len += sizeof(BLOCK) - 1;
    fz_put_text(to, options);
    fz_pad(to, 4);
}

/* value: of the record, or the length of what is behind it. */
static void put_record(fz_out *to, uint8_t code, uint16_t value)
{
    fz_put(to, cv_attr_get(code)->format | (uint64_t)code << 8 | (uint64_t)value << 16, 4);
}

static void put_pair(fz_out *to, uint8_t code, uint32_t sym, uint32_t value)
{
    put_record(to, code, 8);
    fz_put(to, sym, 4);
    fz_put(to, value, 4);
}

static void write_info(const fz_object *obj, fz_out *to)
{
    for (unsigned i = 0; i < obj->program->n_fns; i++) {
        const md_fn *fn = &obj->program->fn[i];

        if (!fz_is_here(obj, i))
            continue;
        put_pair(to, CV_ATTR_REGCOUNT, obj->fn_sym[i], fn->registers);
        put_pair(to, CV_ATTR_MAX_STACK_SIZE, obj->fn_sym[i], 0);
        put_pair(to, CV_ATTR_FRAME_SIZE, obj->fn_sym[i], fn->frame);
    }
}

static void write_parameters(const fz_object *obj, fz_out *to, unsigned fn)
{
    unsigned base = obj->program->sm >= 90 ? 0x210 : 0x160, size = obj->program->fn[fn].bank - base;

    if (size == 0)
        return;
    put_record(to, CV_ATTR_PARAM_CBANK, 8);
    fz_put(to, obj->bank_sym[fn], 4);
    fz_put(to, base | (uint64_t)size << 16, 4);
    put_record(to, CV_ATTR_CBANK_PARAM_SIZE, (uint16_t)size);
    for (unsigned i = size / 4; i > 0; i--) {
        put_record(to, CV_ATTR_KPARAM_INFO, 12);
        fz_put(to, 0, 4);
        fz_put(to, (i - 1) | (uint64_t)(i - 1) * 4 << 16, 4);
        fz_put(to, 4u << 18 | 0x1F000, 4);
    }
}

static void write_trait(fz_out *to, const md_traits *own, unsigned trait)
{
    uint8_t code = fz_trait_code[trait], format = cv_attr_get(code)->format;
    uint32_t value = own->value[trait];

    if (!(own->has & MD_BIT(trait)))
        return;
    put_record(to, code, (uint16_t)(format == 1 ? 0 : format == 4 ? 4 : value));
    if (format == 4)
        fz_put(to, value, 4);
}

static void write_records(const fz_object *obj, fz_out *to, unsigned fn)
{
    const md_fn *function = &obj->program->fn[fn];
    uint32_t sm = obj->program->sm;
    unsigned externs = 0;

    put_record(to, CV_ATTR_CUDA_API_VERSION, 4);
    fz_put(to, 130, 4);
    if (sm >= 80 && sm < 90) {
        put_record(to, CV_ATTR_SW2861232_WAR, 0);
    } else {
        put_record(to, CV_ATTR_SW_WAR, 4);
        fz_put(to, sm >= 90 ? 8 : 1, 4);
    }
    for (unsigned i = 0; i < obj->program->n_fns; i++)
        externs += (function->calls & MD_BIT(i)) && !fz_is_here(obj, i);
    if (externs)
        put_record(to, CV_ATTR_EXTERNS, (uint16_t)(4 * externs));
    for (unsigned i = 0; i < obj->program->n_fns; i++)
        if ((function->calls & MD_BIT(i)) && !fz_is_here(obj, i))
            fz_put(to, obj->fn_sym[i], 4);
    for (unsigned i = 0; i < MD_TRAITS; i++)
        write_trait(to, &function->own, i);
    if (function->kernel) {
        put_record(to, CV_ATTR_MAXREG_COUNT, (uint16_t)function->limit);
        write_parameters(obj, to, fn);
    }
    put_record(to, CV_ATTR_MERCURY_ISA_VERSION, sm >= 90 ? 0x101 : 0);
}

static uint32_t type_at(unsigned type)
{
    return 1 + 4 * type; /* .strtab begins with "\0#vi\0#vl\0#ii" */
}

static void write_callgraph(const fz_object *obj, fz_out *to)
{
    const md_program *program = obj->program;

    fz_put(to, UINT64_C(0xFFFFFFFF) << 32, 8);
    for (unsigned i = 0; i < program->n_fns; i++)
        for (unsigned k = 0; k < program->n_fns && fz_is_here(obj, i); k++)
            if (program->fn[i].calls & MD_BIT(k))
                fz_put(to, obj->fn_sym[i] | (uint64_t)obj->fn_sym[k] << 32, 8);
    fz_put(to, UINT64_C(0xFFFFFFFE) << 32, 8);
    for (unsigned i = 0; i < program->n_fns; i++)
        if (program->fn[i].said & MD_BIT(obj->unit))
            fz_put(to,
                   obj->fn_sym[i] | (uint64_t)(program->fn[i].kernel ? 0 : type_at(program->fn[i].type))
                                        << 32,
                   8);
    fz_put(to, UINT64_C(0xFFFFFFFD) << 32, 8);
    for (unsigned i = 0; i < program->n_fns; i++)
        for (unsigned k = 0; k < MD_PROTOS && fz_is_here(obj, i); k++)
            if (program->fn[i].by_type & MD_BIT(k))
                fz_put(to, obj->fn_sym[i] | (uint64_t)type_at(k) << 32, 8);
    fz_put(to, UINT64_C(0xFFFFFFFC) << 32, 8);
    for (unsigned i = 0; i < program->n_fns; i++)
        for (unsigned k = 0; k < program->n_fns && fz_is_here(obj, i); k++)
            if (program->fn[i].takes & MD_BIT(k))
                fz_put(to, obj->fn_sym[i] | (uint64_t)obj->fn_sym[k] << 32, 8);
}

static void write_prototypes(const fz_object *obj, fz_out *to)
{
    for (unsigned i = 0; i < obj->program->n_fns; i++)
        if ((obj->mentioned & MD_BIT(i)) && !obj->program->fn[i].kernel)
            fz_put(to, obj->fn_sym[i] | (uint64_t)type_at(obj->program->fn[i].type) << 32, 8);
}

static void write_relocs(const fz_object *obj, fz_out *to, unsigned target)
{
    for (unsigned i = obj->n_relocs; i > 0; i--) {
        const fz_reloc *rel = &obj->reloc[i - 1];

        if (rel->target != target)
            continue;
        fz_put(to, rel->off, 8);
        fz_put(to, rel->type | (uint64_t)*rel->sym << 32, 8);
        if (rel->rela)
            fz_put(to, 0, 8);
    }
}

static void write_compat(fz_out *to)
{
    static const uint32_t WORDS[] = { 0x902, 0x10202, 0x50502, 0x1010703, 0x302, 0x10602, 0x80B04, 0, 0 };

    for (unsigned i = 0; i < CV_COUNT(WORDS); i++)
        fz_put(to, WORDS[i], 4);
}

bool fz_write_body(fz_object *obj, fz_out *to, unsigned at)
{
    const fz_section *sec = &obj->section[at];

    for (unsigned i = 0; i < obj->program->n_fns; i++) {
        if (!fz_is_here(obj, i))
            continue;
        if (at == obj->info[i])
            write_records(obj, to, i);
        if (at == obj->bank[i])
            for (unsigned k = 0; k < obj->program->fn[i].bank; k++)
                fz_put(to, 0, 1);
    }
    if (at == obj->tkinfo || at == obj->tkinfo + 1)
        write_notes(obj, to, at - obj->tkinfo);
    if (sec->type == CV_SHT_CUDA_INFO && at == obj->tkinfo + 2)
        write_info(obj, to);
    if (sec->type == CV_SHT_CUDA_COMPAT)
        write_compat(to);
    if (at == obj->callgraph)
        write_callgraph(obj, to);
    if (at == obj->prototype)
        write_prototypes(obj, to);
    if (sec->type == CV_SHT_REL || sec->type == CV_SHT_RELA)
        write_relocs(obj, to, sec->info);
    if (sec->type == CV_SHT_PROGBITS || sec->type == CV_SHT_CUDA_GLOBAL_INIT)
        for (uint64_t k = 0; k < sec->size; k++)
            fz_put(to, 0, 1);
    return sec->type != CV_SHT_CUDA_SHARED;
}
