/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The stages of a link, in their order, and what they share. Each returns OK, or the status of what it
 * reported. */
#ifndef CV_LINK_IN_STAGES_H
#define CV_LINK_IN_STAGES_H

#include "bytes/slices.h"
#include "io/source.h"
#include "link/in/link.h"

/* needs.c: before a link, which objects of libraries take part. */
/* Does an object refer to a function that none defines, and that the driver does not provide? out: those that
 * do not count, by number. */
CV_MUST cuvet_status cv_link_lacks_functions(cv_link *link, const cv_u8s *out, bool *lacks);
/* Take objects out again; the others keep their order. */
void cv_link_leave_out(cv_link *link, const cv_u8s *out);

CV_MUST cuvet_status cv_link_read(cv_link *link);    /* read.c: the inputs' tables */
CV_MUST cuvet_status cv_link_admit(cv_link *link);   /* validate.c: what a link needs of them */
CV_MUST cuvet_status cv_link_resolve(cv_link *link); /* resolve.c: which definition wins */
CV_MUST bool cv_link_resolve_holds(const cv_link *link);
/* What must hold after a stage: at the end of its file. */
CV_MUST bool cv_link_read_holds(const cv_link *link);
CV_MUST bool cv_link_collect_holds(const cv_link *link);
CV_MUST bool cv_link_reach_holds(const cv_link *link);
CV_MUST cuvet_status cv_link_undefined(cv_link *link); /* plan/undefined.c */
/* Pieces of a section: in order, inside, not over each other. */
CV_MUST bool cv_link_parts_hold(const cv_link *link);
CV_MUST bool cv_link_tables_holds(const cv_link *link);
CV_MUST bool cv_link_shared_holds(const cv_link *link);
CV_MUST bool cv_link_values_holds(const cv_link *link);
CV_MUST bool cv_link_commons_holds(const cv_link *link);
CV_MUST bool cv_link_slots_holds(const cv_link *link);
CV_MUST bool cv_link_propagate_holds(const cv_link *link);
CV_MUST bool cv_link_decide_holds(const cv_link *link);
CV_MUST bool cv_link_describe_holds(const cv_link *link);
CV_MUST bool cv_link_arrange_holds(const cv_link *link);
CV_MUST bool cv_link_fill_holds(const cv_link *link);
CV_MUST bool cv_link_write_holds(const cv_link *link);
CV_MUST bool cv_link_reread_holds(const cv_link *link);
/* A function that only a defect of ours lets fail: the link ends, reported. */
CV_MUST cuvet_status cv_link_broken(const cv_link *link);
CV_MUST cuvet_status
cv_link_collect(cv_link *link); /* plan/collect.c: functions, sections, symbols of the output */

CV_MUST cuvet_status cv_link_functions(cv_link *link); /* graph/functions.c */
CV_MUST bool cv_link_functions_holds(const cv_link *link);
CV_MUST cuvet_status cv_link_reach(cv_link *link); /* graph/graph.c: what kernels can call */

CV_MUST cuvet_status cv_link_tables(cv_link *link); /* plan/banks.c: branch tables */
void cv_link_commons(cv_link *link);                /* … common variables */
CV_MUST cuvet_status cv_link_slots(cv_link *link);  /* … textures and surfaces */
void cv_link_check_banks(cv_link *link);            /* … sizes */
void cv_link_values(cv_link *link);                 /* plan/symbol_values.c: values of all symbols */
/* plan/relocate.c: what becomes of a relocation. */
typedef struct cv_fix {
    cv_field field[2];
    unsigned count;
    uint32_t type;   /* of what stays … */
    uint64_t addend; /* … and what is added to its addend */
    bool keep, dead;
    bool resolved; /* applied, and worth a record of that */
} cv_fix;

/* The fields of a type for a value: an offset in shared memory, one in a constant bank, a slot of the
 * parameter bank. False: the type has none for it. */
CV_MUST bool cv_link_field(cv_fix *fix, uint32_t type, cv_reloc_use use, uint64_t value, uint64_t bank,
                           bool add);
/* Does all of it fit, with what is in the section? */
CV_MUST bool cv_link_fits(const cv_fix *fix, cv_span body, uint64_t off);
/* Asked once for each relocation, by the stage that decides. False: a type for which it is not known. */
CV_MUST bool cv_link_fix(const cv_link *link, const cv_irel *rel, const cv_osec *osec, cv_fix *fix);
/* A relocation, decided, of data or of code that a kernel reaches was left out because the function that it
 * names is gone. */
CV_MUST bool cv_link_is_lost(const cv_link *link, const cv_osec *osec, const cv_irel *rel,
                             const cv_fixup *fixup);
/* Write the fields of a relocation into the bytes of its section; every field lies inside of it. */
CV_MUST bool cv_link_put_field(const cv_field *field, uint8_t *bytes, uint64_t size, uint64_t off);
/* Bytes from the place of a relocation on that it writes into. */
uint64_t cv_link_reach_of(const cv_link *link, const cv_fixup *fixup);
/* The same with all fields of one. */
CV_MUST bool cv_link_apply(const cv_link *link, const cv_fixup *fixup, uint8_t *bytes, uint64_t size,
                           uint64_t off);
CV_MUST cuvet_status cv_link_decide(cv_link *link);
CV_MUST cuvet_status
cv_link_frames(cv_link *link); /* plan/debug_frames.c: call frame information, from sm_100 on */
CV_MUST cuvet_status cv_link_lines(cv_link *link); /* plan/debug_lines.c: line information, from sm_100 on */
CV_MUST bool cv_link_lines_holds(const cv_link *link);
CV_MUST bool cv_link_frames_holds(const cv_link *link);

CV_MUST cuvet_status cv_link_describe(cv_link *link); /* plan/info_records.c: records */
/* Symbol of the output for one of an input; CV_NONE: none. */
CV_MUST cv_id cv_link_symbol_of(const cv_link *link, cv_id isym);

CV_MUST cuvet_status cv_link_arrange(cv_link *link); /* plan/layout.c: order, numbers, names … */
CV_MUST cuvet_status cv_link_offsets(cv_link *link); /* … and offsets, when all sizes are known */
CV_MUST cuvet_status cv_link_refer(cv_link *link);   /* plan/dangling.c: what is named is there */
/* Name of the information section of a code section. */
CV_MUST cv_id cv_link_info_name(cv_link *link, cv_id text_name);
CV_MUST cuvet_status
cv_link_fill(cv_link *link); /* write/synthetics.c: bytes of the sections that the link writes itself */
/* write/write.c: the file, as cv_link_complete() says. */
CV_MUST cuvet_status cv_link_emit(cv_link *link, cv_block *out, cv_slices *file);
CV_MUST cuvet_status cv_link_reread(cv_link *link); /* write/reread.c: the file, by the rules of the scan */

/* Is a symbol left out of the output? */
CV_MUST bool cv_link_drops(const cv_link *link, cv_id osym);
/* What stands in for a variable that is nowhere: the size of bank 3 for the symbol named so, else all ones.
 */
CV_MUST bool cv_link_is_bank_size(const cv_link *link, const cv_isym *sym);
CV_MUST uint64_t cv_link_nowhere(const cv_link *link, const cv_isym *sym);
CV_MUST cuvet_status cv_link_shared(cv_link *link);         /* plan/shared_memory.c: shared memory */
CV_MUST cuvet_status cv_link_shared_partial(cv_link *link); /* … of a relocatable link */
void cv_link_place_reserved(cv_link *link); /* plan/shared_reserved.c: in what the system has for itself */
CV_MUST bool cv_link_reserved_holds(const cv_link *link);
CV_MUST cuvet_status cv_link_propagate(cv_link *link); /* graph/usage.c: registers, barriers, stack */

/* Report about a symbol of an input, or without one (CV_NONE). */
void cv_link_say(const cv_link *link, cv_id isym, cv_rule rule, uint64_t got, uint64_t want);
/* The same about two symbols: the second is the one that the first does not agree with. The place is that of
 * the first; the path goes on to the second. */
void cv_link_say_two(const cv_link *link, cv_id isym, cv_id other, cv_rule rule, uint64_t got, uint64_t want);
/* The same about a section of an input; to refuse it ends the link. */
void cv_link_say_section(const cv_link *link, cv_id isec, cv_rule rule, uint64_t got);
CV_MUST cuvet_status cv_link_refuse_section(const cv_link *link, cv_id isec, cv_rule rule, uint64_t got);
/* The largest size and alignment of the common variables of a name. */
void cv_link_largest_common(const cv_link *link, const cv_meaning *entry, uint64_t *size, uint64_t *align);
/* A reference that no input has to satisfy: the driver does, or nobody needs it. */
CV_MUST bool cv_link_may_stay_undefined(const cv_link *link, const cv_isym *sym);
/* Is a kernel of this name asked for? Without an option, each is. */
CV_MUST bool cv_link_is_used(const cv_link_options *options, cv_span name);
/* 'count' numbers, none of them of anything. */
CV_MUST bool cv_l_fill_none(cv_mem *mem, cv_u32s *list, uint64_t count);
/* Is the function where the program begins? */
CV_MUST bool cv_link_is_root(const cv_link *link, cv_id fn);

/* Is this so for the generation of the target? */
static inline bool cv_l_has(const cv_link *link, cv_gen_trait trait)
{
    return cv_gen_has(link->options->gen, trait);
}

/* Does what a kernel has of shared memory begin behind what is left to the system? */
static inline bool cv_link_reserves(const cv_link *link)
{
    return cv_l_has(link, CV_GEN_RESERVES) && link->resolution->reserved;
}

/* An index that is in the list, or none. */
static inline bool cv_l_below(cv_id id, uint64_t count)
{
    return id == CV_NONE || id < count;
}

/* Short ways to elements: cv_l_osec(l, i) is element i of l->osec, and const where the link is. */
#define CV_LINK_ELEMENT(type, way, list, member)                                                             \
    static inline type *cv_l_##way##_at(cv_link *l, uint64_t i)                                              \
    {                                                                                                        \
        return list##_at(&l->member, i);                                                                     \
    }                                                                                                        \
    static inline const type *cv_l_##way##_get(const cv_link *l, uint64_t i)                                 \
    {                                                                                                        \
        return list##_get(&l->member, i);                                                                    \
    }                                                                                                        \
    struct cv_link
#define CV_LINK_WAY(arg_, way)                                                                               \
    _Generic((arg_), cv_link * : cv_l_##way##_at, const cv_link * : cv_l_##way##_get)
CV_LINK_ELEMENT(cv_lobj, obj, cv_lobjs, inputs->obj);
CV_LINK_ELEMENT(cv_isec, isec, cv_isecs, inputs->isec);
CV_LINK_ELEMENT(cv_isym, isym, cv_isyms, inputs->isym);
CV_LINK_ELEMENT(cv_became, became, cv_becames, out->became);
CV_LINK_ELEMENT(cv_shared_place, shared, cv_shared_places, memory->shared);
CV_LINK_ELEMENT(cv_fn_calls, fn_calls, cv_fn_calls_list, calls->fn);
CV_LINK_ELEMENT(cv_fn_usage, fn_usage, cv_fn_usages, usage->fn);
CV_LINK_ELEMENT(cv_fn_out, fn_out, cv_fn_outs, out->fn);
CV_LINK_ELEMENT(cv_fn_memory, fn_memory, cv_fn_memories, memory->fn);
CV_LINK_ELEMENT(cv_named, named, cv_nameds, out->by_name);
CV_LINK_ELEMENT(uint32_t, became_sym, cv_u32s, out->became_sym);
CV_LINK_ELEMENT(cv_fixup, fixup, cv_fixups, fixups->fixup);
CV_LINK_ELEMENT(cv_fixed, fixed, cv_fixeds, fixups->fixed);
CV_LINK_ELEMENT(cv_irel, irel, cv_irels, out->irel);
CV_LINK_ELEMENT(cv_osec, osec, cv_osecs, out->osec);
CV_LINK_ELEMENT(cv_osym, osym, cv_osyms, out->osym);
CV_LINK_ELEMENT(cv_lfn, fn, cv_lfns, functions->fn);
CV_LINK_ELEMENT(cv_meaning, mean, cv_meanings, resolution->mean);
#define cv_l_obj(arg_, index)        CV_LINK_WAY(arg_, obj)((arg_), (index))
#define cv_l_isec(arg_, index)       CV_LINK_WAY(arg_, isec)((arg_), (index))
#define cv_l_isym(arg_, index)       CV_LINK_WAY(arg_, isym)((arg_), (index))
#define cv_l_fn_calls(arg_, index)   CV_LINK_WAY(arg_, fn_calls)((arg_), (index))
#define cv_l_fn_usage(arg_, index)   CV_LINK_WAY(arg_, fn_usage)((arg_), (index))
#define cv_l_fn_out(arg_, index)     CV_LINK_WAY(arg_, fn_out)((arg_), (index))
#define cv_l_fn_memory(arg_, index)  CV_LINK_WAY(arg_, fn_memory)((arg_), (index))
#define cv_l_named(arg_, index)      CV_LINK_WAY(arg_, named)((arg_), (index))
#define cv_l_became_sym(arg_, index) CV_LINK_WAY(arg_, became_sym)((arg_), (index))
#define cv_l_became(arg_, index)     CV_LINK_WAY(arg_, became)((arg_), (index))
#define cv_l_shared(arg_, index)     CV_LINK_WAY(arg_, shared)((arg_), (index))
/* Of a branch table: its place in the bank of every kernel that reaches it. */
#define cv_l_bank_off(arg_, id) (*cv_u64s_get(&(arg_)->memory->bank_off, (id)))
/* Of a symbol of an input: the next one with its name, the function that it is, the symbol that it became. */
#define cv_l_next_of(arg_, id)  (*cv_u32s_get(&(arg_)->resolution->next, (id)))
#define cv_l_fn_of(arg_, id)    (*cv_u32s_get(&(arg_)->functions->of, (id)))
#define cv_l_out_of(arg_, id)   (*cv_u32s_get(&(arg_)->out->became_sym, (id)))
#define cv_l_fixup(arg_, index) CV_LINK_WAY(arg_, fixup)((arg_), (index))
#define cv_l_fixed(arg_, index) CV_LINK_WAY(arg_, fixed)((arg_), (index))
#define cv_l_irel(arg_, index)  CV_LINK_WAY(arg_, irel)((arg_), (index))
#define cv_l_osec(arg_, index)  CV_LINK_WAY(arg_, osec)((arg_), (index))
#define cv_l_osym(arg_, index)  CV_LINK_WAY(arg_, osym)((arg_), (index))
#define cv_l_fn(arg_, index)    CV_LINK_WAY(arg_, fn)((arg_), (index))
#define cv_l_mean(arg_, index)  CV_LINK_WAY(arg_, mean)((arg_), (index))
/* A kernel that the output has. */
static inline bool cv_l_is_kernel(const cv_link *link, cv_id fn)
{
    const cv_lfn *function = cv_l_fn(link, fn);

    return function->kernel && function->def != CV_NONE && cv_l_fn_calls(link, fn)->live;
}
static inline cv_span cv_l_text(const cv_link *link, cv_id name)
{
    return cv_names_text(&link->names->set, name);
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
 * (cv_link_nowhere). */
static inline bool cv_l_is_nowhere(const cv_isym *sym)
{
    return sym->index != 0 && cv_l_bind(sym) == CV_STB_LOCAL && !sym->defined &&
           (sym->other & CV_STO_SPACE) == 0 &&
           (cv_l_type(sym) == CV_STT_OBJECT || cv_l_type(sym) == CV_STT_CUDA_OBJECT);
}
static inline bool cv_l_is_texture(const cv_isym *sym)
{
    return cv_l_type(sym) >= CV_STT_CUDA_TEXTURE && cv_l_type(sym) <= CV_STT_CUDA_SURFACE;
}

/* Number of a name, with a meaning; CV_NONE: no memory. */
CV_MUST cv_id cv_l_name(cv_link *link, cv_span text);
CV_MUST cv_id cv_l_name_join(cv_link *link, const char *prefix, cv_id rest);
CV_MUST cv_id cv_l_name_join_span(cv_link *link, const char *prefix, cv_span rest);
/* Names of the output. */
CV_MUST bool cv_l_name_room(cv_link *link);
CV_MUST cv_id cv_l_out_join(cv_link *link, const char *prefix, cv_id rest);
/* Body of an input section. */
static inline cv_span cv_l_body(const cv_link *link, const cv_isec *isec)
{
    return cv_cubin_body(&cv_l_obj(link, isec->obj)->cubin, isec->index);
}
/* The definition that stands for a symbol: its own when it is local or won, else the winner, else itself. */
static inline cv_id cv_l_canon(const cv_link *link, cv_id isym)
{
    const cv_isym *sym = cv_l_isym(link, isym);
    cv_id win;

    if (cv_l_bind(sym) == CV_STB_LOCAL)
        return isym;
    win = cv_l_mean(link, sym->name)->win;
    return win == CV_NONE ? isym : win;
}
CV_MUST cuvet_status cv_l_nomem(const cv_link *link);

/* relocs.c: the entries of a relocation section of an input. */
CV_MUST cuvet_status cv_link_relocations(cv_link *link, cv_id isec);

/* place.c: where the bytes of an input section go. */
CV_MUST cuvet_status cv_link_place(cv_link *link, cv_id isec);
/* The section that shared variables of device functions lie in, made when it is not there. */
CV_MUST cv_id cv_l_debug_shared(cv_link *link);

/* plan/output.c. False, or CV_NONE: no memory. */
CV_MUST bool cv_l_use_sh(cv_link *link, cv_id name);
CV_MUST bool cv_l_use_str(cv_link *link, cv_id name);
CV_MUST bool cv_l_use_both(cv_link *link, cv_id name);
CV_MUST bool cv_l_use_joined(cv_link *link, const char *prefix, cv_id rest);
CV_MUST cv_id cv_l_new_osym(cv_link *link, const cv_osym *proto);

typedef struct cv_new_section {
    cv_id name;
    cv_group group;
    uint32_t type;
    uint64_t flags, align, entsize;
    bool symbol;   /* gets a section symbol */
    bool named;    /* its name is entered in both string tables now */
    bool rel_name; /* … and that of its relocations between the two */
} cv_new_section;

/* With the header that spec/sections.def says sections of this role have in the output. */
cv_new_section cv_l_section(const cv_link *link, cv_role role, cv_group group);
CV_MUST cv_id cv_l_new_osec(cv_link *link, const cv_new_section *section);
CV_MUST bool cv_l_add_part(cv_link *link, cv_id osec, cv_id isec, uint64_t base);
CV_MUST bool cv_l_add_rel(cv_link *link, cv_id osec, const cv_irel *rel);
/* Section of the output with this name, CV_NONE: none yet. */
CV_MUST cv_id cv_l_find_osec(cv_link *link, const char *prefix, cv_id rest);

#endif
