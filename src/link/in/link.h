/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What came in: inputs, names, and which definition a name stands for. Everything is a number in a list;
 * nothing points. What is asked of several parts takes a view: whatever has pointers to these parts. */
#ifndef CV_LINK_IN_LINK_H
#define CV_LINK_IN_LINK_H

#include <cuvet/executor.h>
#include <cuvet/target.h>

#include "bytes/intern.h"
#include "cubin/cubin.h"
#include "host/refs.h"
#include "link/in/recipe.h"

typedef struct cv_part_options cv_link_options;

/* Options of one link. */
struct cv_part_options {
    cuvet_target target;
    const cv_gen *gen; /* of the target: cv_link_begin() fills it in */
    cuvet_arch_policy policy;
    uint32_t toolkit;
    bool relocatable;         /* -r */
    bool compat;              /* with -r: the reference's exact form */
    bool debug;               /* -g: keeps the symbols of shared variables */
    bool preserve;            /* --preserve-relocs */
    bool keep_dead;           /* no code is dead */
    bool undefined_variables; /* variables in global memory may stay undefined */
    bool no_reserved;         /* nothing is set aside in shared memory */
    bool all_shared;          /* a kernel may have as much shared memory as the machine has */
    bool no_stack_warning;
    bool warnings_are_errors;
    const char *const *kernels_used; /* parts of names; other kernels are dead */
    uint64_t n_kernels_used;
    const cv_hosts *hosts;          /* kernels that they do not refer to are dead; NULL: all stay */
    uint64_t key[2];                /* of the hash tables; the result does not depend on it */
    const cuvet_executor *executor; /* threads for what can be done at the same time; NULL: none */
};

/* An input object. */
typedef struct cv_lobj {
    cv_cubin cubin;
    cv_span image;
    const char *name; /* for messages; the caller's */
    uint64_t extent;
    cv_id first_sec, first_sym; /* its section 0, its symbol 0 */
    cv_id n_sec, n_sym;
    uint64_t info, callgraph, prototype, compat, tkinfo, cuinfo; /* section indices, 0: none */
} cv_lobj;

CV_VEC(cv_lobjs, cv_lobj);

/* A section of an input. */
typedef struct cv_isec {
    cv_id obj;
    uint32_t index, type, link, info;
    uint64_t flags, size, align, entsize;
    uint64_t written_flags; /* as they stand in the file: tools before 12.0 leave SHF_INFO_LINK out */
    cv_id name;
    cv_id id;       /* its own number */
    cv_id info_sec; /* of code: its .nv.info.<f> */
} cv_isec;

CV_VEC(cv_isecs, cv_isec);

/* A symbol of an input. */
typedef struct cv_isym {
    cv_id obj;
    uint32_t index;
    cv_id name, sec; /* sec CV_NONE: undefined, common or absolute */
    uint8_t info, other;
    bool defined, common;
    uint64_t value, size;
    cv_id proto;          /* name of its prototype, CV_NONE: none */
    uint32_t regs, frame; /* of functions, from .nv.info */
    cv_id id;             /* its own number */
    bool counted;         /* its registers are recorded */
} cv_isym;

CV_VEC(cv_isyms, cv_isym);

/* What a name means, all inputs together. */
typedef struct cv_resolution_entry {
    cv_id first, last; /* global symbols of the inputs */
    cv_id win;
    cv_id strong, weak, common; /* first strong definition, best weak one, first common */
    cv_id weak_first;           /* first weak one */
    bool loose_size;            /* some declarations say nothing of a size that others name */
} cv_resolution_entry;

CV_VEC(cv_resolution_entries, cv_resolution_entry);

/* Names as numbers. Entering one changes none that is there. */
struct cv_part_names {
    cv_names set;
    cv_id empty; /* the name without a letter */
};

/* What the inputs hold. */
struct cv_part_inputs {
    cv_lobjs obj;
    cv_isecs isec;
    cv_isyms isym;
    bool progress; /* an input is for a machine whose threads go on by themselves, or says of none */
};

/* Which definition a name stands for. */
struct cv_part_resolution {
    cv_resolution_entries entries; /* by name */
    cv_u32s next;  /* by symbol: the next one with the same name, in the order of the inputs */
    cv_u8s beaten; /* by symbol: an earlier definition is as good, or better */
    bool unnamed;  /* an input has a global symbol without a name */
};

/* Short ways to elements: cv_l_isec(view, i) is element i of what the view has of the inputs, and const where
 * that is. */
#define CV_LINK_ELEMENT(part, type, way, list, member)                                                       \
    static inline type *cv_l_##way##_at(cv_part_##part *part, uint64_t i)                                    \
    {                                                                                                        \
        return list##_at(&part->member, i);                                                                  \
    }                                                                                                        \
    static inline const type *cv_l_##way##_get(const cv_part_##part *part, uint64_t i)                       \
    {                                                                                                        \
        return list##_get(&part->member, i);                                                                 \
    }                                                                                                        \
    struct cv_part_##part
#define CV_LINK_WAY(part, way, view_, index)                                                                 \
    CV_BY_CONST(cv_part_##part, (view_)->part, cv_l_##way##_at, cv_l_##way##_get)((view_)->part, (index))
CV_LINK_ELEMENT(inputs, cv_lobj, obj, cv_lobjs, obj);
CV_LINK_ELEMENT(inputs, cv_isec, isec, cv_isecs, isec);
CV_LINK_ELEMENT(inputs, cv_isym, isym, cv_isyms, isym);
CV_LINK_ELEMENT(resolution, cv_resolution_entry, entry, cv_resolution_entries, entries);
#define cv_l_obj(view_, index)   CV_LINK_WAY(inputs, obj, view_, index)
#define cv_l_isec(view_, index)  CV_LINK_WAY(inputs, isec, view_, index)
#define cv_l_isym(view_, index)  CV_LINK_WAY(inputs, isym, view_, index)
#define cv_l_entry(view_, index) CV_LINK_WAY(resolution, entry, view_, index)
/* Of a symbol: the next one with its name. */
#define cv_l_next_of(view_, id) (*cv_u32s_get(&(view_)->resolution->next, (id)))
#define cv_l_text(view_, name)  cv_names_text(&(view_)->names->set, (name))

/* The symbol that the code of a defined function is of: its own, or for an alias that of the function. */
#define cv_l_code_symbol(view_, id)                                                                          \
    (cv_l_isym(view_, id)->sec == CV_NONE                                                                    \
         ? (id)                                                                                              \
         : cv_l_obj(view_, cv_l_isym(view_, id)->obj)->first_sym +                                           \
               cv_elf_code_symbol(cv_l_isec(view_, cv_l_isym(view_, id)->sec)->info))

/* Is this so for the generation of the target? */
#define cv_l_has(view_, trait) cv_gen_has((view_)->options->gen, (trait))
/* Has a kernel that has shared memory as much more as is left to the system? */
static inline bool cv_link_reserves(const cv_part_options *options)
{
    return cv_gen_has(options->gen, CV_GEN_RESERVES) && !options->no_reserved;
}

/* An index that is in the list, or none. */
static inline bool cv_l_below(cv_id id, uint64_t count)
{
    return id == CV_NONE || id < count;
}

static inline uint8_t cv_l_bind(const cv_isym *sym)
{
    return cv_elf_info_bind(sym->info);
}
static inline uint8_t cv_l_type(const cv_isym *sym)
{
    return cv_elf_info_type(sym->info);
}
static inline bool cv_l_is_shared(const cv_isym *sym)
{
    return cv_l_type(sym) == CV_STT_CUDA_OBJECT && (sym->other & CV_STO_SPACE) == CV_STO_SPACE_SHARED;
}
static inline bool cv_l_is_global(const cv_isym *sym)
{
    return cv_l_type(sym) == CV_STT_CUDA_OBJECT && (sym->other & CV_STO_SPACE) == CV_STO_SPACE_GLOBAL;
}
static inline bool cv_l_is_constant(const cv_isym *sym)
{
    return cv_l_type(sym) == CV_STT_CUDA_OBJECT && (sym->other & CV_STO_SPACE) == CV_STO_SPACE_CONSTANT;
}
/* Part of a constant bank that no other object can name. */
static inline bool cv_l_is_hidden_bank(const cv_isym *sym)
{
    const unsigned bits = CV_STO_SPACE_CONSTANT | CV_STV_INTERNAL;

    return (sym->other & bits) == bits;
}
/* A variable in the shared memory of the system. */
static inline bool cv_l_is_reserved(const cv_isym *sym)
{
    return cv_l_type(sym) == CV_STT_CUDA_OBJECT && (sym->other & CV_STO_SPACE) == CV_STO_SPACE_RESERVED;
}
/* A variable of this file that is not in this file, nor in any memory: libcudadevrt has one,
 * .nv.ptx.const0.size. Nobody asks what is at its place: the linker's number for it goes into the code
 * (cv_link_undefined_local). */
static inline bool cv_l_is_undefined_local(const cv_isym *sym)
{
    return sym->index != 0 && cv_l_bind(sym) == CV_STB_LOCAL && !sym->defined &&
           (sym->other & CV_STO_SPACE) == 0 &&
           (cv_l_type(sym) == CV_STT_OBJECT || cv_l_type(sym) == CV_STT_CUDA_OBJECT);
}
/* A label of code that the compiler removed, which debug data still names: it has a name and nothing else. */
static inline bool cv_l_is_gone_label(const cv_isym *sym)
{
    return sym->index != 0 && cv_l_bind(sym) == CV_STB_LOCAL && !sym->defined && sym->other == 0 &&
           cv_l_type(sym) == CV_STT_NOTYPE;
}
static inline bool cv_l_is_texture(const cv_isym *sym)
{
    return cv_l_type(sym) >= CV_STT_CUDA_TEXTURE && cv_l_type(sym) <= CV_STT_CUDA_SURFACE;
}

/* Body of a section. */
static inline cv_span cv_in_body(const cv_part_inputs *inputs, const cv_isec *isec)
{
    return cv_cubin_body(&cv_l_obj_get(inputs, isec->obj)->cubin, isec->index);
}
#define cv_l_body(view_, isec) cv_in_body((view_)->inputs, (isec))

/* The definition that stands for a symbol: its own when it is local or won, else the winner, else itself. */
static inline cv_id cv_in_definition(const cv_part_inputs *inputs, const cv_part_resolution *resolution,
                                     cv_id isym)
{
    const cv_isym *sym = cv_l_isym_get(inputs, isym);
    cv_id win;

    if (cv_l_bind(sym) == CV_STB_LOCAL)
        return isym;
    win = cv_l_entry_get(resolution, sym->name)->win;
    return win == CV_NONE ? isym : win;
}
#define cv_l_definition(view_, isym) cv_in_definition((view_)->inputs, (view_)->resolution, (isym))

/* An array in shared memory that no input defines, and of which the launch says the size: whoever names it
 * first gives it none, and nobody asks the others. */
static inline bool cv_in_is_array(const cv_part_inputs *inputs, const cv_part_resolution *resolution,
                                  const cv_isym *sym)
{
    cv_id first = sym->id;

    if (!cv_l_is_shared(sym) || sym->sec != CV_NONE)
        return false;
    if (cv_l_bind(sym) != CV_STB_LOCAL)
        first = cv_l_entry_get(resolution, sym->name)->first;
    return cv_l_isym_get(inputs, first)->size == 0;
}
#define cv_l_is_array(view_, sym) cv_in_is_array((view_)->inputs, (view_)->resolution, (sym))

/* 'count' numbers, none of them of anything. */
CV_MUST bool cv_l_fill_none(cv_mem *mem, cv_u32s *list, uint64_t count);
/* No memory, or no work left, which was reported where it was used up. */
CV_MUST cuvet_status cv_in_nomem(cv_ctx *ctx);
#define cv_l_nomem(view_) cv_in_nomem((view_)->ctx)
/* Only a defect of ours brings this about: whoever runs the stage reports it. */
#define cv_link_broken(view_) ((void)(view_), (cuvet_status)CUVET_E_INTERNAL)

/* names.c: number of a name; CV_NONE: no memory. */
CV_MUST cv_id cv_in_name(cv_ctx *ctx, cv_part_names *names, cv_span text);
CV_MUST cv_id cv_in_name_join(cv_ctx *ctx, cv_part_names *names, const char *prefix, cv_span rest);
/* The same for a text that is probably that of 'likely'. */
CV_MUST cv_id cv_in_name_like(cv_ctx *ctx, cv_part_names *names, cv_span text, cv_id likely);
#define cv_l_name(view_, text) cv_in_name((view_)->ctx, (view_)->names, (text))

/* needs.c: before a link, which objects of libraries take part. */
/* Does an object refer to a function that none defines, and that the driver does not provide? out: those that
 * do not count, by number. */
CV_MUST cuvet_status cv_in_lacks_functions(cv_ctx *ctx, const cv_link_options *options,
                                           const cv_part_inputs *inputs, const cv_u8s *out, bool *lacks);
/* Take objects out again; the others keep their order. */
void cv_in_leave_out(cv_ctx *ctx, cv_part_inputs *inputs, const cv_u8s *out);

/* resolve.c. */
/* The largest size and alignment of the common variables of a name. */
void cv_in_largest_common(const cv_part_inputs *inputs, const cv_part_resolution *resolution,
                          const cv_resolution_entry *entry, uint64_t *size, uint64_t *align);
/* A reference that no input has to satisfy: the driver does, or nobody needs it. */
CV_MUST bool cv_in_may_stay_undefined(const cv_link_options *options, const cv_part_names *names,
                                      const cv_part_inputs *inputs, const cv_part_resolution *resolution,
                                      const cv_isym *sym);
#define cv_link_largest_common(view_, entry, size, align)                                                    \
    cv_in_largest_common((view_)->inputs, (view_)->resolution, (entry), (size), (align))
#define cv_link_may_stay_undefined(view_, sym)                                                               \
    cv_in_may_stay_undefined((view_)->options, (view_)->names, (view_)->inputs, (view_)->resolution, (sym))

/* resolve.c: a name of the tables of unified functions and data, which the linker makes. */
CV_MUST bool cv_link_is_table_name(cv_span name);

/* say.c: report about a symbol of an input, or without one (CV_NONE). */
void cv_in_say(cv_ctx *ctx, const cv_part_inputs *inputs, cv_id isym, cv_rule rule, uint64_t got,
               uint64_t want);
/* The same about two symbols: the second is the one that the first does not agree with. The place is that of
 * the first; the path goes on to the second. */
void cv_in_say_two(cv_ctx *ctx, const cv_part_inputs *inputs, cv_id isym, cv_id other, cv_rule rule,
                   uint64_t got, uint64_t want);
/* The same about a section of an input; to refuse it ends the link. */
void cv_in_say_section(cv_ctx *ctx, const cv_part_inputs *inputs, cv_id isec, cv_rule rule, uint64_t got);
/* The same about a record of it. */
void cv_in_say_record(cv_ctx *ctx, const cv_part_inputs *inputs, cv_id isec, cv_rule rule, const cv_tlv *tlv);
CV_MUST cuvet_status cv_in_refuse_section(cv_ctx *ctx, const cv_part_inputs *inputs, cv_id isec, cv_rule rule,
                                          uint64_t got);
#define cv_link_say(view_, ...)            cv_in_say((view_)->ctx, (view_)->inputs, __VA_ARGS__)
#define cv_link_say_two(view_, ...)        cv_in_say_two((view_)->ctx, (view_)->inputs, __VA_ARGS__)
#define cv_link_say_section(view_, ...)    cv_in_say_section((view_)->ctx, (view_)->inputs, __VA_ARGS__)
#define cv_link_say_record(view_, ...)     cv_in_say_record((view_)->ctx, (view_)->inputs, __VA_ARGS__)
#define cv_link_refuse_section(view_, ...) cv_in_refuse_section((view_)->ctx, (view_)->inputs, __VA_ARGS__)

#endif
