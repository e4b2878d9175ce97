/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The picture of a link: what the inputs hold, what the output will hold, and which is which. Everything is a
 * number in a list; nothing points. The stages of run.c fill it in order, each in its own file, and none
 * looks at what a later one fills. */
#ifndef CV_LINK_IN_LINK_H
#define CV_LINK_IN_LINK_H

#include <cuvet/target.h>

#include "bytes/builder.h"
#include "bytes/intern.h"
#include "bytes/slices.h"
#include "cubin/cubin.h"
#include "host/refs.h"
#include "io/source.h"
#include "link/in/inherit.h"

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

/* Options of one link. */
typedef struct cv_part_options {
    cuvet_target target;
    const cv_gen *gen; /* of the target: cv_link_begin() fills it in */
    cuvet_arch_policy policy;
    uint32_t toolkit;
    bool relocatable; /* -r */
    bool compat;      /* with -r: the reference's exact form */
    bool debug;       /* -g: keeps the symbols of shared variables */
    bool preserve;    /* --preserve-relocs */
    bool keep_dead;   /* no code is dead */
    bool no_stack_warning;
    bool warnings_are_errors;
    const char *const *kernels_used; /* parts of names; other kernels are dead */
    uint64_t n_kernels_used;
    const cv_hosts *hosts; /* kernels that they do not refer to are dead; NULL: all stay */
    uint64_t key[2];       /* of the hash tables; the result does not depend on it */
} cv_link_options;

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

/* A section of an input. */
typedef struct cv_isec {
    cv_id obj;
    uint32_t index, type, link, info;
    uint64_t flags, size, align, entsize;
    cv_id name;
    cv_id id;       /* its own number */
    cv_id info_sec; /* of code: its .nv.info.<f> */
} cv_isec;

/* What became of a section of an input. */
typedef struct cv_became {
    cv_id out;     /* output section, CV_NONE: none */
    uint64_t base; /* where its bytes begin there */
    bool lost;     /* another definition won */
    bool late;     /* zero memory: an input before this one has a variable of it */
    bool table;    /* branch table of a device function */
} cv_became;

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

/* Where a shared variable lies. */
typedef struct cv_shared_place {
    uint64_t off; /* final offset … */
    cv_id sec;    /* … and the section of the kernel it moved to */
    bool placed;  /* off is valid */
} cv_shared_place;

/* Bits that a relocation writes into what it patches. */
typedef struct cv_field {
    uint8_t pos, bits; /* from the lowest bit of the first byte */
    bool add;          /* to what is there */
    bool cut;          /* low bits of the value were left out that are not zero */
    bool part;         /* of a value whose other bits are written elsewhere */
    uint64_t value;
} cv_field;

/* A relocation, or one that the link adds. */
typedef struct cv_irel {
    uint64_t off; /* in the output section */
    int64_t addend;
    uint32_t type;
    cv_id sym;    /* of the input; CV_NONE with osym set */
    cv_id osym;   /* overrides what the symbol became */
    cv_id target; /* input section it lies in; CV_NONE: added */
    cv_id next;   /* read before this one */
    bool gone;
} cv_irel;

/* What becomes of it. */
typedef struct cv_fixup {
    int64_t addend; /* of one that stays: as it is written … */
    uint32_t type;  /* … like its type */
    cv_id osym;     /* of one that stays: the symbol that it names */
    cv_id field;    /* what is written when it is applied: the first of n_fields */
    uint8_t n_fields;
    bool keep;
    bool resolved; /* applied, and worth a record of that */
} cv_fixup;

/* What becomes of the relocations of a section. */
typedef struct cv_fixed {
    uint64_t n_kept;
    uint64_t n_applied; /* those that write something */
} cv_fixed;

/* A piece of an output section. */
typedef struct cv_lpart {
    cv_id isec;
    uint64_t base;
    cv_id next;
} cv_lpart;

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
    cv_id rels;       /* head of the list */
    cv_builder bytes; /* made by the link; otherwise the parts */
    bool param;       /* bank of parameters, from sm_100 on */
    bool dead, pre, extern_array, is_resolved, info_listed;
    bool lent;         /* its bytes are those of its only part, in the input; what is patched is copied */
    bool hollow;       /* nothing lies in it, however large it is */
    uint32_t reg_byte; /* of code: high byte of sh_info */
} cv_osec;

typedef struct cv_osym {
    cv_id name, sec, win, src, fn;
    uint8_t info, other;
    uint64_t value, size;
    uint32_t index;
    uint64_t slot; /* of a texture or surface in the parameter bank … */
    bool has_slot; /* … of the kernels that use one */
    bool is_section, local, hidden, instance, common, common_kept, dead;
} cv_osym;

/* A function of the program: one for each local symbol that is one, and one for each global name. */
typedef struct cv_lfn {
    cv_id id; /* its own number */
    cv_id name;
    cv_id def;   /* the isym that won */
    cv_id owner; /* the function whose code its own is; itself, where it is no alias */
    bool kernel, has_def;
} cv_lfn;

/* A code section of an input. */
typedef struct cv_code {
    cv_id owner; /* the function that it is part of */
    bool lost;   /* another definition won … */
    bool beaten; /* … one of an earlier input: the reference never takes anything from this one */
} cv_code;

/* A function in the output. */
typedef struct cv_fn_out {
    cv_id sym, sec;
    cv_id table; /* branch table, an isec */
} cv_fn_out;

/* What is known of a function from the call graph. */
typedef struct cv_fn_calls {
    cv_id calls, taken, ind, adr; /* lists of edges, last read first */
    cv_id proto;
    bool live;
    bool reachable;  /* from a kernel; what is kept because its address is taken somewhere may be not */
    bool unreferred; /* a kernel that no host code refers to */
} cv_fn_calls;

/* What a function uses. */
typedef struct cv_fn_usage {
    uint32_t regs, frame, max_regs;
    uint32_t all_regs;
    cv_traits own, all; /* of its records; of all that it reaches (sums: of a kernel) */
    uint64_t stack;     /* UINT32_MAX: recursion */
    uint32_t strange;   /* code of a record that a kernel may or may not inherit, + 1 */
    bool has_info, recursive, limited;
    bool marked;    /* it says nothing of sparse multiplication, or one of its names does not */
    bool flag_bars; /* bars come from the flags of old code and have no record yet */
} cv_fn_usage;

/* Where a function finds variables. */
typedef struct cv_fn_memory {
    uint64_t extern_off; /* of the extern arrays that its code refers to */
    bool slots;          /* a kernel that uses textures or surfaces */
} cv_fn_memory;

typedef struct cv_edge {
    cv_id to; /* function, or name of a prototype */
    cv_id next;
} cv_edge;

/* What a name means, all inputs together. */
typedef struct cv_meaning {
    cv_id first, last; /* global symbols of the inputs */
    cv_id win;
    cv_id strong, weak, common; /* first strong definition, best weak one, first common */
    bool loose_size;            /* some declarations say nothing of a size that others name */
} cv_meaning;

/* What has a name in the output. */
typedef struct cv_named {
    cv_id osym, osec;
    uint32_t strings; /* 1: in .shstrtab, 2: in .strtab */
} cv_named;

/* Where a name stands in the tables of names; 0: nowhere. */
typedef struct cv_name_place {
    uint64_t sh_off, str_off;
} cv_name_place;

CV_VEC(cv_lobjs, cv_lobj);
CV_VEC(cv_isecs, cv_isec);
CV_VEC(cv_isyms, cv_isym);
CV_VEC(cv_becames, cv_became);
CV_VEC(cv_shared_places, cv_shared_place);
CV_VEC(cv_irels, cv_irel);
CV_VEC(cv_fields, cv_field);
CV_VEC(cv_fixups, cv_fixup);
CV_VEC(cv_fixeds, cv_fixed);
CV_VEC(cv_lparts, cv_lpart);
CV_VEC(cv_osecs, cv_osec);
CV_VEC(cv_osyms, cv_osym);
CV_VEC(cv_lfns, cv_lfn);
CV_VEC(cv_edges, cv_edge);
CV_VEC(cv_meanings, cv_meaning);
CV_VEC(cv_codes, cv_code);
CV_VEC(cv_fn_outs, cv_fn_out);
CV_VEC(cv_fn_calls_list, cv_fn_calls);
CV_VEC(cv_fn_usages, cv_fn_usage);
CV_VEC(cv_fn_memories, cv_fn_memory);
CV_VEC(cv_nameds, cv_named);
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

/* A word of a payload. */
typedef struct cv_iword {
    uint32_t value;
    bool symbol; /* value is an osym, its index is what is written */
} cv_iword;

CV_VEC(cv_irecs, cv_irec);
CV_VEC(cv_iwords, cv_iword);

/* .nv.info sections of the output. */
typedef struct cv_oinfo {
    cv_id fn, sec;
    uint64_t first, count; /* records */
    uint32_t order;
} cv_oinfo;

CV_VEC(cv_oinfos, cv_oinfo);

/* What the file says of itself when it is read again. */
typedef struct cv_seen {
    uint64_t sections, symbols, extent, kernels, functions;
} cv_seen;

/* ---- the parts of a link: each row of the recipe fills one, or makes some of them grow ---- */

/* Names as numbers. Entering one changes none that is there. */
typedef struct cv_part_names {
    cv_names set;
    cv_id empty; /* the name without a letter */
} cv_part_names;

/* What the inputs hold. */
typedef struct cv_part_inputs {
    cv_lobjs obj;
    cv_isecs isec;
    cv_isyms isym;
} cv_part_inputs;

/* Which definition a name stands for. */
typedef struct cv_part_resolution {
    cv_meanings mean; /* by name */
    cv_u32s next;     /* by symbol: the next one with the same name, in the order of the inputs */
    cv_u8s beaten;    /* by symbol: an earlier definition is as good, or better */
    bool reserved;
    bool unnamed; /* an input has a global symbol without a name */
} cv_part_resolution;

typedef struct cv_part_functions {
    cv_lfns fn;
    cv_u32s of;      /* by symbol: the function that it is */
    cv_u32s by_name; /* by name: the function that global symbols of this name are */
    cv_codes code;   /* by section of an input; of code */
} cv_part_functions;

/* What relocations refer to. */
typedef struct cv_part_uses {
    cv_u8s by_data; /* by function: data has its address */
} cv_part_uses;

/* Who calls whom. */
typedef struct cv_part_calls {
    cv_fn_calls_list fn;
    cv_edges edge;
    cv_u32s protos; /* names of prototypes in the order of their first use: a node for each */
    cv_u32s node;   /* by name: of a prototype, its node in the call graph */
    cv_u32s takers; /* by node: edges to the functions whose address is taken with it */
    bool reached;   /* the call graph is there */
} cv_part_calls;

/* What functions use, and kernels inherit. */
typedef struct cv_part_usage {
    cv_fn_usages fn;
    bool silent;        /* some function says nothing of sparse multiplication, others do */
    bool propagated;    /* the registers below kernels are known */
    uint32_t fragments; /* 1: code of 12.x uses tcgen05, 2: code of 13.x */
} cv_part_usage;

/* Sections and symbols of the output. */
typedef struct cv_part_out {
    cv_fn_outs fn; /* by function */
    cv_nameds by_name;
    cv_becames became;  /* by section of an input */
    cv_u32s became_sym; /* by symbol of an input: the symbol that it became */
    cv_osecs osec;
    cv_osyms osym;
    cv_irels irel;
    cv_lparts part;
    cv_u32s sh_names, str_names; /* names in the order of their first use */
    cv_u32s locals, globals;     /* osyms */
    cv_u32s info_order;          /* code sections in the order of their .nv.info */
    cv_u32s const0;              /* .nv.constant0 sections */
    cv_id tkinfo, cuinfo, info, compat, callgraph, prototype, action, debug_shared, frames, bank3;
    cv_id lines[2]; /* .debug_line, .nv_debug_line_sass where they were made anew */
    cv_id shstrtab, strtab, symtab, symtab_shndx;
    bool has_common;
} cv_part_out;

/* Where variables lie. */
typedef struct cv_part_memory {
    cv_fn_memories fn;       /* by function */
    cv_shared_places shared; /* by symbol of an input; none where no variable is shared */
    cv_u64s bank_off; /* by section, of branch tables: place in the bank of every kernel that reaches it */
    bool coloured;    /* shared variables of more than one kernel have places */
} cv_part_memory;

/* What becomes of relocations. */
typedef struct cv_part_fixups {
    cv_fixups fixup; /* by relocation */
    cv_fixeds fixed; /* by section of the output, of relocations */
    cv_fields field;
} cv_part_fixups;

/* Records of .nv.info. */
typedef struct cv_part_records {
    cv_irecs rec;
    cv_iwords word;
    cv_oinfos oinfo;
    uint64_t program_first, program_n;
} cv_part_records;

/* Order and numbers. */
typedef struct cv_part_layout {
    cv_u32s order;       /* osecs by index */
    cv_u32s sym_order;   /* osyms by index, from 1 */
    cv_name_places name; /* by name */
    uint64_t n_locals;   /* symbols before the first global one, the null symbol included */
} cv_part_layout;

/* What the link writes itself. */
typedef struct cv_part_synthetics {
    uint64_t shoff, phoff;
} cv_part_synthetics;

/* The result. */
typedef struct cv_part_file {
    uint64_t phnum, size;
    cv_block *block;   /* the caller's */
    cv_slices *slices; /* of *block and of the images */
} cv_part_file;

/* What the file says of itself when it is read again. */
typedef struct cv_part_reread {
    cv_seen seen;
} cv_part_reread;

#define CV_LINK_PARTS(PART)                                                                                  \
    PART(options)                                                                                            \
    PART(names)                                                                                              \
    PART(inputs)                                                                                             \
    PART(resolution)                                                                                         \
    PART(functions)                                                                                          \
    PART(uses) PART(calls) PART(usage) PART(out) PART(memory) PART(fixups) PART(records) PART(layout)        \
        PART(synthetics) PART(file) PART(reread)

/* A link: where each part is. It stays where it was begun. */
typedef struct cv_link {
    cv_ctx *ctx;
    uint64_t stage; /* that runs, or has run last */
#define PART(name) struct cv_part_##name *name;
    CV_LINK_PARTS(PART)
#undef PART
    struct {
#define PART(name) struct cv_part_##name name;
        CV_LINK_PARTS(PART)
#undef PART
    } own;
} cv_link;

#endif
