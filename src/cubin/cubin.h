/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Picture of one device ELF: decoded section headers with their roles, the facts other rules compare with,
 * and the byte ledger. Built and checked by cv_cubin_examine(); everything refers to sections and symbols by
 * index. */
#ifndef CV_CUBIN_CUBIN_H
#define CV_CUBIN_CUBIN_H

#include "base/vec.h"
#include "bytes/ledger.h"
#include "format/elf/read.h"
#include "format/tlv/attr.h"
#include "target/gen.h"

/* What a section is, from spec/sections.def (prefix of the name together with the type). */
typedef enum cv_role {
    CV_ROLE_NONE = 0, /* unknown: reported, kept, never interpreted */
#define ROLE(name, prefix) CV_ROLE_##name,
#include "roles.def"
#undef ROLE
    CV_N_ROLES
} cv_role;

/* Memory of one function alone: its banks, and what it has of shared and local memory. */
static inline bool cv_role_is_private(cv_role role)
{
    return role == CV_ROLE_SHARED_FN || role == CV_ROLE_CONSTANT_FN || role == CV_ROLE_LOCAL_FN;
}

/* What the header of a section of a role says, in files of the ABI that tools write now
 * (spec/sections.def). */
typedef struct cv_section_facts {
    uint32_t type_rel, type_exe; /* of constant banks the number of the bank is added in REL files */
    uint32_t flags;
    uint8_t link, info;     /* what they name, see sections.c */
    uint8_t align, entsize; /* align 0: that of the data */
    uint8_t props;
} cv_section_facts;
extern const cv_section_facts CV_SECTION_FACTS[CV_N_ROLES];

static inline const cv_section_facts *cv_section_facts_of(cv_role role)
{
    return &CV_AT(CV_SECTION_FACTS, role);
}
/* Type of a section of a role in a relocatable file; 'got' where that is no habit of old tools. 'bank' is of
 * constants. */
uint32_t cv_section_type_rel(cv_role role, uint32_t bank, uint32_t got);

typedef struct cv_sec {
    cv_elf_section header;
    cv_role role;
    bool in_file; /* non-exempt type and its range lies inside the image: body may be asked for */
    cv_span name; /* without NUL; empty when the name is broken */
    /* The part behind the role's prefix; empty for singletons; of a relocation section: the target's name
     * (".text.f"; Mercury: without ".nv.merc" or ".nv.capmerc"). */
    cv_span fn;
    uint32_t bank; /* constant bank number for .nv.constantN */
    /* Partners, filled by cv_cubin_check_sections, _symbols and _relocs; section indices, 0 = none. */
    uint32_t info_sec;      /* of code: its .nv.info.<fn> (Mercury capsule: .nv.merc.nv.info.<fn>) */
    uint32_t capsule;       /* of code: its .nv.capmerc section */
    uint32_t const0;        /* of code: its .nv.constant0.<fn> */
    uint32_t sym, merc_sym; /* section symbol in .symtab, in .nv.merc.symtab; 0 = none */
    uint32_t kernel_sym;    /* of .text: symbol of the kernel; 0 = a device function */
    uint32_t regs;          /* of .text: registers, where .nv.info tells; 0 = it does not */
    bool sets_regs;         /* of .text: a record says that it sets its registers while it runs */
    uint32_t relocs;        /* its relocations, those that a linker has resolved apart; 0 = none */
    uint64_t code_end; /* of code: largest value + size of its FUNC symbols (capsule: of the expanded code) */
} cv_sec;

CV_VEC(cv_secs, cv_sec);

/* The tool of the first note of .note.nv.tkinfo, or what files of the older ABI, which have none, amount to.
 */
typedef enum cv_tool {
    CV_TOOL_NONE = 0,
    CV_TOOL_LEGACY,
    CV_TOOL_HAND,
    CV_TOOL_PTXAS,
    CV_TOOL_NVLINK,
    CV_TOOL_NVASM,
    CV_TOOL_FINALIZER,
    CV_TOOL_FATBINARY,
    CV_TOOL_CUVET,
    CV_TOOL_OTHER
} cv_tool;

/* Who wrote the file: by whose profile it is judged. */
typedef struct cv_producer {
    uint8_t tool;     /* cv_tool; small types: parsed objects lie on stacks */
    uint8_t profile;  /* cv_profile */
    uint16_t release; /* times ten: 128; 0 unknown */
    bool inferred;    /* said by no note */
    bool stranger;    /* no row of spec/producers.def: profile is that of the nearest */
} cv_producer;

typedef struct cv_cubin {
    cv_span image; /* exactly the ELF: extent bytes */
    cv_elf_header header;
    cv_secs sec;                                           /* all of them, index = ELF section index */
    cv_span shstrtab, strtab;                              /* empty when absent or broken */
    cv_span symtab, merc_symtab, symtab_shndx, merc_shndx; /* bodies */
    uint32_t symtab_index, merc_symtab_index;              /* section indices, 0 = none */
    uint64_t n_syms, n_merc_syms;
    /* facts */
    bool conv; /* one of the two known ABIs, class 64, not Mercury: conventions of real tools are checked */
    bool abi8, rel, exe; /* (0x41, 8); e_type 1, or as below; e_type 2 */
    bool hand;           /* hand-assembled by nvasm: a looser layout */
    bool legacy;         /* (0x33, 7) */
    bool flag_capsule;   /* e_flags says SASS + capsule */
    bool has_capsule;    /* at least one .nv.capmerc section */
    bool old_tools;      /* 12.7/12.8 ABI-8 file: .note.nv.cuver instead of cuinfo */
    bool suffix_known;
    char suffix;                           /* 'a', 'f' or 0: from tkinfo's -arch */
    bool compat_accel_known, compat_accel; /* .nv.compat tag 9 */
    cv_producer producer;
    const cv_gen *gen;          /* what its generation fixes */
    uint32_t sm;                /* SM number from e_flags */
    uint32_t virtual_sm;        /* from cuinfo, or legacy e_flags; 0 unknown */
    uint32_t toolkit;           /* e.g. 130; 0 unknown */
    uint32_t tool_sm, tool_len; /* the number beside the suffix; bytes of that note, the first one */
    cv_span compat;             /* body of .nv.compat, empty when absent */
    cv_compat claims;           /* … and what it says */
    uint64_t n_kernels, n_functions,
        n_relocs; /* defined in .symtab; functions include kernels; both kinds of relocations */
    uint64_t extent;
    uint32_t first[CV_N_ROLES]; /* first section of each role, 0 = none: see cv_cubin_first */
    cv_keys by_off;             /* ranges sorted by offset: scratch of the ledger and of the segments */
} cv_cubin;
/* Is it for a machine whose threads all go on by themselves, or not known which? */
bool cv_cubin_promises_progress(const cv_cubin *cubin);

/* May the call graph lack a function whose address code, or data, has? nvlink drops the record where several
 * units define the function and one whose definition does not stay has the address; of code it does so where
 * graphs of before CUDA 12 may be. No assembler does. */
bool cv_cubin_may_forget(const cv_cubin *cubin, bool code);

/* An object of nvcc -ewp: relocatable, with the type of Mercury. */
static inline bool cv_cubin_is_whole(const cv_cubin *cubin)
{
    return cubin->rel && cubin->header.type == CV_ELF_MERCURY;
}

/* Keep the memory between two cubins: init once, examine often, free at the end. */
void cv_cubin_init(cv_cubin *cubin);
void cv_cubin_free(cv_ctx *ctx, cv_cubin *cubin);

/* Examine the device ELF in 'image' (its start; the file may be followed by padding: *extent gets the true
 * length). Runs every rule of spec/rules_elf.def, rules_tlv.def and rules_note.def; reports all findings it
 * can and returns the first fatal status: OK when the whole object could be parsed (findings may have been
 * reported), else MALFORMED, UNSUPPORTED, LIMIT or NOMEM. 'ledger' may be NULL; otherwise every byte of
 * [image.off, image.off + extent) is claimed. The spans of c borrow from image. */
/* The caller has pushed the path step of the ELF and set the work budget (cv_ctx_unit). */
CV_MUST cuvet_status cv_cubin_examine(cv_ctx *ctx, cv_cubin *cubin, cv_span image, cv_ledger *ledger,
                                      uint64_t *extent);

/* Stages of cv_cubin_examine, in order; each needs the ones before. */
CV_MUST cuvet_status cv_cubin_header(cv_ctx *ctx, cv_cubin *cubin, cv_span image,
                                     uint64_t *extent);     /* header, tables, names, roles */
void cv_cubin_check_sections(cv_ctx *ctx, cv_cubin *cubin); /* conventions of each role */
void cv_cubin_check_symbols(cv_ctx *ctx, cv_cubin *cubin);
CV_MUST cuvet_status cv_cubin_check_relocs(cv_ctx *ctx, cv_cubin *cubin); /* OK or NOMEM */
/* list, sorted: target, relocation section << 1 | no two entries of it touch the same bytes. OK, NOMEM or
 * LIMIT */
CV_MUST cuvet_status cv_cubin_check_overlap(cv_ctx *ctx, const cv_cubin *cubin, const cv_keys *list);
/* list, sorted: call frames, relocation section. OK or NOMEM */
CV_MUST cuvet_status cv_cubin_check_frames(cv_ctx *ctx, const cv_cubin *cubin, const cv_keys *list);
CV_MUST cuvet_status cv_cubin_check_segments(cv_ctx *ctx,
                                             cv_cubin *cubin); /* after the ledger: uses by_off */
void cv_cubin_read_notes(
    cv_ctx *ctx,
    cv_cubin *cubin); /* fills the facts that come from notes and .nv.compat (cubin_meta.'cubin') */
CV_MUST cuvet_status cv_cubin_check_meta(
    cv_ctx *ctx,
    cv_cubin
        *cubin); /* .nv.info*, call graph, prototype, rel.action (cubin_meta*.'cubin'); OK, NOMEM or LIMIT */
CV_MUST cuvet_status cv_cubin_check_ledger(cv_ctx *ctx, cv_cubin *cubin, cv_ledger *ledger);

/* Body of section 'index'; the empty span for exempt types and ranges outside the image. No island is made
 * twice: call once per use. */
static inline cv_span cv_cubin_body(const cv_cubin *cubin, uint64_t index);
/* Section i. Most numbers of sections come from the file, and each of its rules says what is wrong with
 * the one it looks at; everybody else gets the null section, as for number 0, and nobody can write into
 * it. */
static inline const cv_sec *cv_cubin_sec(const cv_cubin *cubin, uint64_t index)
{
    static const cv_sec NONE;

    return CV_LIKELY(index < cubin->sec.count) ? cv_secs_get(&cubin->sec, index) : &NONE;
}
static inline cv_span cv_cubin_body(const cv_cubin *cubin, uint64_t index)
{
    const cv_sec *sec = cv_cubin_sec(cubin, index);
    cv_span body;

    if (sec->in_file && cv_span_sub(cubin->image, sec->header.off, sec->header.size, &body))
        return body;
    body = cubin->image;
    body.len = 0;
    return body;
}
/* Bytes of 'image' behind the extent: at most 'allowed' and all zero, else CV-ELF is reported (raw members:
 * 7, files: 0). */
void cv_cubin_check_tail(cv_ctx *ctx, cv_span image, uint64_t extent, uint64_t allowed);
/* Next defined kernel of .symtab at or behind symbol *pos; *pos is left behind it. False: no more. */
CV_MUST bool cv_cubin_next_kernel(const cv_cubin *cubin, uint64_t *pos, cv_span *name, cv_elf_symbol *sym);
/* Role of a section name; *fn and *bank as in cv_sec. */
cv_role cv_cubin_classify(cv_span name, cv_span *fn, uint32_t *bank);
/* Name without ".nv.merc" or ".nv.capmerc"; other names as they are. */
cv_span cv_cubin_native_name(const cv_sec *sec);
/* First section of a role, 0 = none. */
CV_BUF_BEGIN
static inline uint32_t cv_cubin_first(const cv_cubin *cubin, cv_role role)
{
    return role < CV_N_ROLES ? cubin->first[role] : 0;
}
static inline void cv_cubin_set_first(cv_cubin *cubin, cv_role role, uint64_t index)
{
    if (role < CV_N_ROLES && cubin->first[role] == 0)
        cubin->first[role] = (uint32_t)index;
}
CV_BUF_END
/* Real section index of a symbol (extended numbering applied); 0xFFF1 (ABS) and other reserved values as they
 * are. */
static inline uint32_t cv_cubin_shndx(const cv_cubin *cubin, bool merc, uint64_t index,
                                      const cv_elf_symbol *symbol)
{
    if (CV_LIKELY(symbol->shndx != CV_SHN_XINDEX))
        return symbol->shndx;
    return cv_u32_at(merc ? cubin->merc_shndx : cubin->symtab_shndx, cv_sat_mul(index, 4));
}

/* Is it an array in shared memory of which the launch says the size, as a relocatable link of the reference
 * writes one: a variable without bytes in what a debugger is told? For a linker nobody defines it. */
static inline bool cv_cubin_is_array(const cv_cubin *cubin, const cv_elf_symbol *symbol, uint32_t shndx)
{
    return symbol->size == 0 && cv_elf_sym_type(symbol) == CV_STT_CUDA_OBJECT &&
           cv_elf_sym_bind(symbol) != CV_STB_LOCAL && shndx < cubin->sec.count &&
           cv_cubin_sec(cubin, shndx)->role == CV_ROLE_NV_DEBUG_SHARED;
}

#endif
