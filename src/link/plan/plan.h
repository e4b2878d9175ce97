/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the output will hold: sections and symbols, where variables lie, what becomes of relocations, records,
 * order and numbers. */
#ifndef CV_LINK_PLAN_PLAN_H
#define CV_LINK_PLAN_PLAN_H

#include "bytes/builder.h"
#include "link/graph/graph.h"

/* Groups of the output, in the order of the file. */
typedef enum cv_group {
    CV_G_FIXED = 0, /* null and the three tables */
    CV_G_DEBUG,
    CV_G_NOTE,
    CV_G_META,
    CV_G_REL,
    CV_G_CONST,
    CV_G_CODE,
    CV_G_INIT,
    CV_G_NOBITS,
    CV_G_PARAM, /* from sm_100 on: the parameter banks, behind everything else */
    CV_N_GROUPS
} cv_group;

/* What became of a section of an input. */
typedef struct cv_became {
    cv_id out;     /* output section, CV_NONE: none */
    uint64_t base; /* where its bytes begin there */
    bool lost;     /* another definition won */
    bool late;     /* zero memory: an input before this one has a variable of it */
    bool table;    /* branch table of a device function */
    bool twice;    /* it has a weak variable that an input before this one has as well */
} cv_became;

CV_VEC(cv_becames, cv_became);

/* Where a shared variable lies. */
typedef struct cv_shared_place {
    uint64_t off; /* final offset … */
    cv_id sec;    /* … and the section of the kernel it moved to */
    bool placed;  /* off is valid */
} cv_shared_place;

CV_VEC(cv_shared_places, cv_shared_place);

/* Bits that a relocation writes into what it patches. */
typedef struct cv_field {
    uint8_t pos, bits; /* from the lowest bit of the first byte */
    bool add;          /* to what is there */
    bool cut;          /* low bits of the value were left out that are not zero */
    bool part;         /* of a value whose other bits are written elsewhere */
    uint64_t value;
} cv_field;

CV_VEC(cv_fields, cv_field);

/* A relocation, or one that the link adds. There are more of them than of anything else. */
typedef struct cv_irel {
    uint64_t off; /* in the output section */
    int64_t addend;
    uint32_t type : 31, gone : 1; /* see cv_rel_of() */
    cv_id sym;                    /* of the input */
} cv_irel;

CV_VEC(cv_irels, cv_irel);

/* Relocations of a section that were read from one table, or that the link added, one behind the other. */
typedef struct cv_rel_run {
    cv_id first, count;
    cv_id target; /* input section that they lie in; CV_NONE: added */
    cv_id osym;   /* CV_NONE, or the first of as many elements of rel_osym */
    cv_id before; /* the run of the section that was read before this one */
} cv_rel_run;

CV_VEC(cv_rel_runs, cv_rel_run);

/* What becomes of it. */
typedef struct cv_fixup {
    int64_t addend; /* of one that stays: as it is written … */
    uint32_t type;  /* … like its type */
    cv_id osym;     /* of one that stays: the symbol that it names */
    cv_id field;    /* what is written when it is applied: the first of n_fields, see cv_fixed */
    uint8_t n_fields;
    bool keep;
    bool resolved; /* applied, and worth a record of that */
} cv_fixup;

CV_VEC(cv_fixups, cv_fixup);

/* What becomes of the relocations of a section. */
typedef struct cv_fixed {
    uint64_t n_kept;
    uint64_t n_applied; /* those that write something */
    cv_id first_field;  /* from here their fields are counted */
} cv_fixed;

CV_VEC(cv_fixeds, cv_fixed);

/* A piece of an output section. */
typedef struct cv_lpart {
    cv_id isec;
    uint64_t base;
    cv_id next;
} cv_lpart;

CV_VEC(cv_lparts, cv_lpart);

typedef struct cv_osec {
    cv_id name;
    cv_group group;
    uint32_t type, link, info;
    uint64_t flags, align, entsize, size, off;
    uint32_t index;         /* in the output */
    cv_id sym;              /* its section symbol */
    cv_id infosec, linksec; /* sections that sh_info and sh_link name */
    cv_id fn;               /* of code */
    cv_id target;           /* of relocations: what they patch */
    cv_id rel[2];           /* of what is patched: its .rel and its .rela section */
    cv_id resolved;         /* … and its .nv.resolvedrela */
    cv_id shared;           /* of a kernel: its .nv.shared */
    cv_id first_part, last_part;
    cv_id own_first; /* per-function sections of code: a list through own_next */
    cv_id own_next;
    cv_id rels;       /* its last run */
    cv_builder bytes; /* made by the link; otherwise the parts */
    bool param;       /* bank of parameters, from sm_100 on */
    bool dead, pre, extern_array, is_resolved, info_listed;
    bool borrowed;     /* its bytes are those of its only part, in the input; what is patched is copied */
    bool no_contents;  /* nothing lies in it, however large it is */
    uint32_t reg_byte; /* of code: high byte of sh_info */
} cv_osec;

CV_VEC(cv_osecs, cv_osec);

typedef struct cv_osym {
    cv_id name, sec, win, src, fn;
    uint8_t info, other;
    uint64_t value, size;
    uint32_t index;
    uint32_t str_name; /* of a local shared variable: 1 + element of the names of .strtab */
    uint64_t slot;     /* of a texture or surface in the parameter bank … */
    bool has_slot;     /* … of the kernels that use one */
    bool is_section, local, hidden, instance, common, common_kept, dead;
} cv_osym;

CV_VEC(cv_osyms, cv_osym);

/* A function in the output. */
typedef struct cv_fn_out {
    cv_id sym, sec;
    cv_id table; /* branch table, an isec */
    bool sheds;  /* code that lost against a later input had relocations with addends */
} cv_fn_out;

CV_VEC(cv_fn_outs, cv_fn_out);

/* Where a function finds variables. */
typedef struct cv_fn_memory {
    uint64_t extern_off; /* of the extern arrays that its code refers to */
    bool slots;          /* a kernel that uses textures or surfaces */
} cv_fn_memory;

CV_VEC(cv_fn_memories, cv_fn_memory);

/* What has a name in the output. */
typedef struct cv_named {
    cv_id osym, osec;
    cv_id sh_user, str_user; /* function of the last use in .shstrtab, in .strtab */
    uint32_t strings;        /* 1: in .shstrtab, 2: in .strtab */
    bool forgotten;          /* a dead function took it along */
} cv_named;

CV_VEC(cv_nameds, cv_named);

/* A place among the names of a table. Local functions of several inputs have one name, and each has its own
 * place there: a dead one takes only its own along. */
typedef struct cv_name_use {
    cv_id name; /* CV_NONE: forgotten */
    cv_id fn;   /* whose name, or whose section's; CV_NONE: of no function */
} cv_name_use;

CV_VEC(cv_name_uses, cv_name_use);

/* Where a name stands in the tables of names; 0: nowhere. */
typedef struct cv_name_place {
    uint64_t sh_off, str_off;
} cv_name_place;

CV_VEC(cv_name_places, cv_name_place);

/* One record of .nv.info that the link writes: its payload is words, some of which become symbol indices. */
typedef struct cv_irec {
    uint8_t format, code;
    uint16_t value; /* formats without payload */
    cv_id first;    /* payload: words of L->words */
    uint32_t count; /* words, or bytes when raw */
    bool raw;       /* payload: bytes of an input */
    cv_span bytes;
} cv_irec;

CV_VEC(cv_irecs, cv_irec);

/* A word of a payload. */
typedef struct cv_iword {
    uint32_t value;
    bool symbol; /* value is an osym, its index is what is written */
} cv_iword;

CV_VEC(cv_iwords, cv_iword);

/* .nv.info sections of the output. */
typedef struct cv_oinfo {
    cv_id fn, sec;
    uint64_t first, count; /* records */
    uint32_t order;
    uint32_t barriers; /* that the flags of its code go on telling */
} cv_oinfo;

CV_VEC(cv_oinfos, cv_oinfo);

/* Sections and symbols of the output. */
struct cv_part_out {
    cv_fn_outs fn; /* by function */
    cv_nameds by_name;
    cv_becames became;  /* by section of an input */
    cv_u32s became_sym; /* by symbol of an input: the symbol that it became */
    cv_osecs osec;
    cv_osyms osym;
    cv_irels irel;
    cv_rel_runs run; /* of relocations: their numbers ascend */
    cv_u32s
        rel_osym;  /* of runs that have some: symbols of the output that stand for what the symbols became */
    bool any_gone; /* some relocation went with what it patched */
    cv_lparts part;
    cv_name_uses sh_names, str_names; /* in the order of the output, each name once for each function */
    cv_u32s locals, globals;          /* osyms */
    cv_u32s info_order;               /* code sections in the order of their .nv.info */
    cv_u32s const0;                   /* .nv.constant0 sections */
    cv_id tkinfo, cuinfo, info, compat, callgraph, prototype, action, debug_shared, frames, bank3;
    cv_id bank_size; /* the symbol that stands for the size of bank 3 */
    cv_id lines[2];  /* .debug_line, .nv_debug_line_sass where they were made anew */
    cv_id shstrtab, strtab, symtab, symtab_shndx;
    bool has_common;
};

/* Where variables lie. */
struct cv_part_memory {
    cv_fn_memories fn;       /* by function */
    cv_shared_places shared; /* by symbol of an input; none where no variable is shared */
    cv_u64s bank_off; /* by section, of branch tables: place in the bank of every kernel that reaches it */
    bool coloured;    /* shared variables of more than one kernel have places */
};

/* What becomes of relocations. */
struct cv_part_fixups {
    cv_fixups fixup; /* by relocation */
    cv_fixeds fixed; /* by section of the output, of relocations */
    cv_fields field;
};

/* Records of .nv.info. */
struct cv_part_records {
    cv_irecs rec;
    cv_iwords word;
    cv_oinfos oinfo;
    uint64_t program_first, program_n;
};

/* Order and numbers. */
struct cv_part_layout {
    cv_u32s order;       /* osecs by index */
    cv_u32s sym_order;   /* osyms by index, from 1 */
    cv_name_places name; /* by name */
    uint64_t n_locals;   /* symbols before the first global one, the null symbol included */
};

CV_LINK_ELEMENT(out, cv_became, became, cv_becames, became);
CV_LINK_ELEMENT(out, uint32_t, became_sym, cv_u32s, became_sym);
CV_LINK_ELEMENT(out, cv_fn_out, fn_out, cv_fn_outs, fn);
CV_LINK_ELEMENT(out, cv_named, named, cv_nameds, by_name);
CV_LINK_ELEMENT(out, cv_osec, osec, cv_osecs, osec);
CV_LINK_ELEMENT(out, cv_osym, osym, cv_osyms, osym);
CV_LINK_ELEMENT(out, cv_irel, irel, cv_irels, irel);
CV_LINK_ELEMENT(memory, cv_shared_place, shared, cv_shared_places, shared);
CV_LINK_ELEMENT(memory, cv_fn_memory, fn_memory, cv_fn_memories, fn);
CV_LINK_ELEMENT(fixups, cv_fixup, fixup, cv_fixups, fixup);
CV_LINK_ELEMENT(fixups, cv_fixed, fixed, cv_fixeds, fixed);
#define cv_l_became(view_, index)     CV_LINK_WAY(out, became, view_, index)
#define cv_l_became_sym(view_, index) CV_LINK_WAY(out, became_sym, view_, index)
#define cv_l_fn_out(view_, index)     CV_LINK_WAY(out, fn_out, view_, index)
#define cv_l_named(view_, index)      CV_LINK_WAY(out, named, view_, index)
#define cv_l_osec(view_, index)       CV_LINK_WAY(out, osec, view_, index)
#define cv_l_osym(view_, index)       CV_LINK_WAY(out, osym, view_, index)
#define cv_l_irel(view_, index)       CV_LINK_WAY(out, irel, view_, index)
#define cv_l_shared(view_, index)     CV_LINK_WAY(memory, shared, view_, index)
#define cv_l_fn_memory(view_, index)  CV_LINK_WAY(memory, fn_memory, view_, index)
#define cv_l_fixup(view_, index)      CV_LINK_WAY(fixups, fixup, view_, index)
#define cv_l_fixed(view_, index)      CV_LINK_WAY(fixups, fixed, view_, index)
/* Of a branch table: its place in the bank of every kernel that reaches it. */
#define cv_l_bank_off(view_, isec) (*cv_u64s_get(&(view_)->memory->bank_off, (isec)))
/* Of a symbol of an input: the symbol that it became. */
#define cv_l_out_of(view_, isym) (*cv_u32s_get(&(view_)->out->became_sym, (isym)))

/* Numbers that are no type stay such numbers. */
static inline cv_irel cv_rel_of(const cv_elf_reloc *reloc, uint64_t base, cv_id sym)
{
    return (cv_irel){ .off = cv_sat_add(reloc->off, base),
                      .addend = reloc->addend,
                      .type = cv_min(reloc->type, INT32_MAX) & INT32_MAX,
                      .sym = sym };
}

/* A run without relocations yet, behind those that the section has. False: no memory. */
static inline CV_MUST bool cv_out_add_run(cv_ctx *ctx, cv_part_out *out, cv_id osec, cv_id target)
{
    const cv_rel_run run = { .first = (cv_id)out->irel.count,
                             .target = target,
                             .osym = CV_NONE,
                             .before = cv_l_osec_at(out, osec)->rels };

    if (out->run.count >= CV_NONE || !cv_rel_runs_push(&ctx->mem, &out->run, run))
        return false;
    cv_l_osec_at(out, osec)->rels = (cv_id)(out->run.count - 1);
    return true;
}

/* A relocation more, in the run that was added last. False: no memory. */
static inline CV_MUST bool cv_out_add_rel(cv_ctx *ctx, cv_part_out *out, const cv_irel *rel)
{
    if (out->irel.count >= CV_NONE || !cv_irels_push(&ctx->mem, &out->irel, *rel))
        return false;
    cv_rel_runs_at(&out->run, out->run.count - 1)->count++;
    return true;
}

/* The relocations of a section, the one that was read last first; those that are gone are passed over. */
typedef struct cv_rel_cur {
    const cv_irel *rel;
    cv_id id;     /* of rel */
    cv_id target; /* of its run, see there */
    cv_id first;  /* of its run */
    cv_id run, before;
} cv_rel_cur;

static inline cv_rel_cur cv_out_rels(const cv_osec *osec)
{
    return (cv_rel_cur){ .run = CV_NONE, .before = osec->rels };
}

static inline CV_MUST bool cv_rel_next(const cv_part_out *out, cv_rel_cur *cur)
{
    do {
        while (cur->id == cur->first) {
            const cv_rel_run *run;

            if (cur->before == CV_NONE)
                return false;
            run = cv_rel_runs_get(&out->run, cur->before);
            cur->run = cur->before;
            cur->before = run->before;
            cur->target = run->target;
            cur->first = run->first;
            cur->id = run->first + run->count;
        }
        cur->id--;
        cur->rel = cv_irels_get(&out->irel, cur->id);
    } while (cur->rel->gone);
    return true;
}

/* The symbol of the output that stands for what the symbol of a relocation became; CV_NONE: none does. */
static inline cv_id cv_rel_osym(const cv_part_out *out, const cv_rel_cur *cur)
{
    cv_id osym = cv_rel_runs_get(&out->run, cur->run)->osym;

    return osym == CV_NONE ? CV_NONE : *cv_u32s_get(&out->rel_osym, (uint64_t)osym + (cur->id - cur->first));
}

/* How many there are. */
static inline uint64_t cv_out_count_rels(const cv_part_out *out, const cv_osec *osec)
{
    uint64_t count = 0;

    for (cv_id run = osec->rels; run != CV_NONE; run = cv_rel_runs_get(&out->run, run)->before)
        count += cv_rel_runs_get(&out->run, run)->count;
    return count;
}

/* reloc_runs.c. False: no memory. */
/* From now on this one does. */
CV_MUST bool cv_out_set_rel_osym(cv_ctx *ctx, cv_part_out *out, cv_id run, cv_id id, cv_id osym);
/* A relocation more with such a symbol, in a run that has no others. */
CV_MUST bool cv_out_add_rel_of(cv_ctx *ctx, cv_part_out *out, const cv_irel *rel, cv_id osym);
/* The run that a relocation is in. */
const cv_rel_run *cv_out_run_of(const cv_part_out *out, cv_id id);

/* output.c. False, or CV_NONE: no memory. */
/* Names of the output. */
CV_MUST bool cv_out_name_room(cv_ctx *ctx, const cv_part_names *names, cv_part_out *out);
CV_MUST cv_id cv_out_join(cv_ctx *ctx, cv_part_names *names, cv_part_out *out, const char *prefix,
                          cv_id rest);
/* which: 1 .shstrtab, 2 .strtab, 3 both. fn: the function that takes the name along when it is dead, or
 * CV_NONE. */
CV_MUST bool cv_out_use(cv_ctx *ctx, cv_part_out *out, cv_id fn, cv_id name, unsigned which);
CV_MUST bool cv_out_use_joined(cv_ctx *ctx, cv_part_names *names, cv_part_out *out, cv_id fn,
                               const char *prefix, cv_id rest);
/* The function that a section of the output belongs to, as its code or a bank; CV_NONE: to none, or it is
 * none. */
cv_id cv_out_owner(const cv_part_out *out, cv_id osec);
CV_MUST cv_id cv_out_new_osym(cv_ctx *ctx, cv_part_out *out, const cv_osym *proto);

typedef struct cv_new_section {
    cv_id name;
    cv_id fn; /* that its name goes with; CV_NONE: it belongs to no function */
    cv_group group;
    uint32_t type;
    uint64_t flags, align, entsize;
    bool symbol;   /* gets a section symbol */
    bool named;    /* its name is entered in both string tables now */
    bool rel_name; /* … and that of its relocations between the two */
} cv_new_section;

/* With the header that spec/sections.def says sections of this role have in the output. */
cv_new_section cv_out_section(const cv_link_options *options, cv_role role, cv_group group);
CV_MUST cv_id cv_out_new_osec(cv_ctx *ctx, const cv_link_options *options, cv_part_names *names,
                              cv_part_out *out, const cv_new_section *section);
CV_MUST bool cv_out_add_part(cv_ctx *ctx, cv_part_out *out, cv_id osec, cv_id isec, uint64_t base);
/* Section of the output with this name, CV_NONE: none yet. */
CV_MUST cv_id cv_out_find_osec(const cv_part_names *names, const cv_part_out *out, const char *name);
#define cv_l_name_room(view_)       cv_out_name_room((view_)->ctx, (view_)->names, (view_)->out)
#define cv_l_out_join(view_, ...)   cv_out_join((view_)->ctx, (view_)->names, (view_)->out, __VA_ARGS__)
#define cv_l_use_sh(view_, ...)     cv_out_use((view_)->ctx, (view_)->out, __VA_ARGS__, 1)
#define cv_l_use_str(view_, ...)    cv_out_use((view_)->ctx, (view_)->out, __VA_ARGS__, 2)
#define cv_l_use_both(view_, ...)   cv_out_use((view_)->ctx, (view_)->out, __VA_ARGS__, 3)
#define cv_l_use_joined(view_, ...) cv_out_use_joined((view_)->ctx, (view_)->names, (view_)->out, __VA_ARGS__)
#define cv_l_new_osym(view_, proto) cv_out_new_osym((view_)->ctx, (view_)->out, (proto))
#define cv_l_section(view_, ...)    cv_out_section((view_)->options, __VA_ARGS__)
#define cv_l_new_osec(view_, section)                                                                        \
    cv_out_new_osec((view_)->ctx, (view_)->options, (view_)->names, (view_)->out, (section))
#define cv_l_add_part(view_, ...)   cv_out_add_part((view_)->ctx, (view_)->out, __VA_ARGS__)
#define cv_l_add_run(view_, ...)    cv_out_add_run((view_)->ctx, (view_)->out, __VA_ARGS__)
#define cv_l_add_rel(view_, rel)    cv_out_add_rel((view_)->ctx, (view_)->out, (rel))
#define cv_l_find_osec(view_, name) cv_out_find_osec((view_)->names, (view_)->out, (name))
/* Pieces of a section: in order, inside, not over each other. */
CV_MUST bool cv_out_parts_hold(const cv_part_inputs *inputs, const cv_part_out *out);

/* kept.c: is a symbol left out of the output? */
typedef struct cv_keep_facts {
    const cv_part_options *options;
    const cv_part_names *names;
    const cv_part_inputs *inputs;
    const cv_part_resolution *resolution;
    const cv_part_calls *calls;
    const cv_part_memory *memory;
    const cv_part_out *out;
} cv_keep_facts;

CV_MUST bool cv_out_drops(const cv_keep_facts *view, cv_id osym);
/* A debugger finds extern shared arrays by name. */
CV_MUST bool cv_out_keeps_extern(const cv_part_options *options, const cv_part_memory *memory,
                                 const cv_isym *sym);
/* In the exact form of a relocatable link old code keeps its barriers in the flags, and gets no record. */
#define cv_link_keeps_barriers(options_) ((options_)->relocatable && (options_)->compat)
/* Common variables wait for the final link; the exact form gives them a place at once. */
#define cv_l_places_commons(view_) (!(view_)->options->relocatable || (view_)->options->compat)
/* In the exact form of a relocatable link: are extern arrays behind the data of this kernel? */
CV_MUST bool cv_link_has_instance(const cv_part_options *options, const cv_lfn *fn);
/* Where shared memory of functions begins behind what is reserved, the reference counts that for arrays, too.
 */
#define cv_l_counts_reserved(view_) (cv_link_reserves((view_)->options) && (view_)->memory->coloured)
#define CV_KEEP_FACTS(view_)                                                                                 \
    &(const cv_keep_facts)                                                                                   \
    {                                                                                                        \
        (view_)->options, (view_)->names, (view_)->inputs, (view_)->resolution, (view_)->calls,              \
            (view_)->memory, (view_)->out                                                                    \
    }
/* What stands in for a variable that is nowhere: the size of bank 3 for the symbol named so, else all ones.
 */
CV_MUST bool cv_out_is_bank_size(const cv_part_names *names, const cv_isym *sym);
CV_MUST uint64_t cv_out_undefined_local(const cv_part_names *names, const cv_part_out *out,
                                        const cv_isym *sym);
#define cv_link_is_bank_size(view_, sym)    cv_out_is_bank_size((view_)->names, (sym))
#define cv_link_undefined_local(view_, sym) cv_out_undefined_local((view_)->names, (view_)->out, (sym))
/* Symbol of the output for one of an input, by its index there or by its number; CV_NONE: none. */
CV_MUST cv_id cv_out_symbol(const cv_part_inputs *inputs, const cv_part_functions *functions,
                            const cv_part_out *out, const cv_lobj *obj, uint32_t index);
CV_MUST cv_id cv_out_symbol_of(const cv_part_inputs *inputs, const cv_part_functions *functions,
                               const cv_part_out *out, cv_id isym);
#define cv_l_output_symbol(view_, ...)                                                                       \
    cv_out_symbol((view_)->inputs, (view_)->functions, (view_)->out, __VA_ARGS__)
#define cv_link_symbol_of(view_, isym)                                                                       \
    cv_out_symbol_of((view_)->inputs, (view_)->functions, (view_)->out, (isym))

/* fixups.c: write the fields of a relocation into the bytes of its section; every field lies inside of it. */
CV_MUST bool cv_link_put_field(const cv_field *field, uint8_t *bytes, uint64_t size, uint64_t off);
/* The same with all fields of one, a relocation of the section that 'fixed' is about. */
CV_MUST bool cv_fixups_apply(const cv_part_fixups *fixups, const cv_fixed *fixed, const cv_fixup *fixup,
                             uint8_t *bytes, uint64_t size, uint64_t off);
/* Bytes from the place of a relocation on that it writes into. */
uint64_t cv_fixups_reach(const cv_part_fixups *fixups, const cv_fixed *fixed, const cv_fixup *fixup);

#endif
