/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Device ELFs and host objects with one field out of its bounds, at any place and with any value: a scan
 * raises the rule of that field. What the bounds are is read from the file by this target alone, and what a
 * value outside of them is called stands in the sheets (device-elf.md, metadata.md, fatbin.md section 2).
 * Five bytes for each trial: which ELF, which edit, which of the fields, and a value (2). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scanner.h"

FZ_CARRY(cv_good_bases, CV_FUZZ_BASES);

typedef struct fields_base {
    uint32_t off, size;
} fields_base;

#define BASE(off, size) { off, size },
#define OLD(off, size)
#define OBJECT(off, size)
static const fields_base BASES[] = {
#include "bases.inc"
};
#undef BASE
#undef OLD
/* Of the older ABI, which says its machine in the lowest byte of e_flags. */
#define BASE(off, size)
#define OLD(off, size) { off, size },
static const fields_base OLD_BASES[] = {
#include "bases.inc"
};
#undef OLD
#undef OBJECT
#define OLD(off, size)
#define OBJECT(off, size) { off, size },
static const fields_base OBJECTS[] = {
#include "bases.inc"
};
#undef BASE
#undef OLD
#undef OBJECT

enum {
    MOST = 1 << 14,
    RECORDS = 64,
    SHOFF = 40,
    SHNUM = 60,
    SHSTRNDX = 62,
    SHDR = 64,
    SYM = 24,
    SYMTAB = 2,
    RELA = 4,
    NOTE = 7,
    REL = 9,
    CALLGRAPH = 0x70000001,
    CODE_FLAG = 4
};

typedef struct fields_elf {
    uint8_t bytes[MOST];
    size_t size;
} fields_elf;

static uint64_t get(const fields_elf *elf, size_t at, size_t bytes)
{
    uint64_t value = 0;

    FZ_CHECK(at <= elf->size && bytes <= elf->size - at, "a base is whole");
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)elf->bytes[at + i] << (8 * i);
    return value;
}

static void put(fields_elf *elf, size_t at, size_t bytes, uint64_t value)
{
    FZ_CHECK(at <= elf->size && bytes <= elf->size - at, "a base is whole");
    for (size_t i = 0; i < bytes; i++)
        elf->bytes[at + i] = (uint8_t)(value >> (8 * i));
}

static unsigned count_sections(const fields_elf *elf)
{
    return (unsigned)get(elf, SHNUM, 2);
}

/* Where the header of a section is; fields: type 4, offset 24, size 32, link 40, info 44, entsize 56. */
static size_t header_of(const fields_elf *elf, unsigned index)
{
    return get(elf, SHOFF, 8) + (size_t)SHDR * index;
}

static uint64_t type_of(const fields_elf *elf, unsigned index)
{
    return get(elf, header_of(elf, index) + 4, 4);
}

static uint64_t body_of(const fields_elf *elf, unsigned index)
{
    return get(elf, header_of(elf, index) + 24, 8);
}

static uint64_t size_of(const fields_elf *elf, unsigned index)
{
    return get(elf, header_of(elf, index) + 32, 8);
}

static const char *name_of(const fields_elf *elf, unsigned index)
{
    uint64_t names = body_of(elf, (unsigned)get(elf, SHSTRNDX, 2));

    return (const char *)elf->bytes + names + get(elf, header_of(elf, index), 4);
}

/* The section of this kind that the input chooses; 0: there is none. */
typedef bool fields_fits(const fields_elf *elf, unsigned index);

static unsigned choose(const fields_elf *elf, fields_fits *fits, unsigned which)
{
    unsigned count = 0, found = 0;

    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned i = 1, at = 0; i < count_sections(elf); i++)
            if (fits(elf, i)) {
                if (pass == 1 && at++ == which % count)
                    found = i;
                count += pass == 0;
            }
    return found;
}

static bool is_symtab(const fields_elf *elf, unsigned index)
{
    return type_of(elf, index) == SYMTAB;
}

static bool is_relocs(const fields_elf *elf, unsigned index)
{
    return (type_of(elf, index) == RELA || type_of(elf, index) == REL) && size_of(elf, index) > 0;
}

static bool is_code(const fields_elf *elf, unsigned index)
{
    return strncmp(name_of(elf, index), ".text.", 6) == 0;
}

static bool is_relocs_of_code(const fields_elf *elf, unsigned index)
{
    return is_relocs(elf, index) && is_code(elf, (unsigned)get(elf, header_of(elf, index) + 44, 4));
}

static bool is_of_function(const fields_elf *elf, unsigned index)
{
    return strncmp(name_of(elf, index), ".nv.info.", 9) == 0 ||
           strncmp(name_of(elf, index), ".nv.constant0.", 14) == 0;
}

static bool is_note(const fields_elf *elf, unsigned index)
{
    return type_of(elf, index) == NOTE;
}

static bool is_call_graph(const fields_elf *elf, unsigned index)
{
    return type_of(elf, index) == CALLGRAPH && size_of(elf, index) >= 32;
}

/* ---- edits: each changes one field, and says whether it could ---- */

typedef struct fields_choice {
    unsigned which, value;
} fields_choice;

static uint64_t entry_size(const fields_elf *elf, unsigned table)
{
    return get(elf, header_of(elf, table) + 56, 8);
}

static size_t entry_of(const fields_elf *elf, unsigned table, unsigned which, unsigned from)
{
    uint64_t count = size_of(elf, table) / entry_size(elf, table);

    return body_of(elf, table) + entry_size(elf, table) * (from + which % (count - from));
}

/* "Section index of a symbol below e_shnum", the reserved ones apart */
static bool symbol_section(fields_elf *elf, fields_choice how)
{
    unsigned table = choose(elf, is_symtab, 0), sections = count_sections(elf);

    put(elf, entry_of(elf, table, how.which, 1) + 6, 2, sections + how.value % (0xFF00 - sections));
    return true;
}

static bool symbol_name(fields_elf *elf, fields_choice how)
{
    unsigned table = choose(elf, is_symtab, 0), names = (unsigned)get(elf, header_of(elf, table) + 40, 4);

    put(elf, entry_of(elf, table, how.which, 1), 4, size_of(elf, names) + how.value);
    return true;
}

/* sh_info: "one more than the last local symbol" */
static bool symbol_binding(fields_elf *elf, fields_choice how)
{
    unsigned table = choose(elf, is_symtab, 0);

    put(elf, header_of(elf, table) + 44, 4, size_of(elf, table) / SYM + 1 + how.value);
    return true;
}

static bool reloc_symbol(fields_elf *elf, fields_choice how)
{
    unsigned table = choose(elf, is_relocs, how.which);

    if (table)
        put(elf, entry_of(elf, table, how.which >> 2, 0) + 12, 4,
            size_of(elf, choose(elf, is_symtab, 0)) / SYM + how.value);
    return table != 0;
}

/* R_CUDA_32 (1) patches four bytes, R_CUDA_64 (2) eight. */
static bool reloc_end(fields_elf *elf, fields_choice how)
{
    unsigned table = choose(elf, is_relocs, how.which), target;
    size_t entry;
    uint64_t type, inside;

    if (!table)
        return false;
    target = (unsigned)get(elf, header_of(elf, table) + 44, 4);
    entry = entry_of(elf, table, how.which >> 2, 0);
    type = get(elf, entry + 8, 4);
    inside = type == 1 ? 4 : type == 2 ? 8 : 1;
    put(elf, entry, 8, size_of(elf, target) - (inside - 1) + how.value);
    return true;
}

/* An instruction has 16 bytes. */
static bool reloc_inside(fields_elf *elf, fields_choice how)
{
    unsigned table = choose(elf, is_relocs_of_code, how.which);
    size_t entry;

    if (!table)
        return false;
    entry = entry_of(elf, table, how.which >> 2, 0);
    put(elf, entry, 8, (get(elf, entry, 8) & ~UINT64_C(15)) + 1 + how.value % 15);
    return true;
}

/* The same type at the same place twice. */
static bool reloc_twice(fields_elf *elf, fields_choice how)
{
    unsigned table = choose(elf, is_relocs, how.which);
    size_t first, second;

    if (!table || size_of(elf, table) < 2 * entry_size(elf, table))
        return false;
    first = entry_of(elf, table, how.which >> 2, 0);
    second = entry_of(elf, table, (how.which >> 2) + 1, 0);
    if (get(elf, first + 8, 4) != get(elf, second + 8, 4))
        return false;
    put(elf, second, 8, get(elf, first, 8));
    return true;
}

static bool section_owner(fields_elf *elf, fields_choice how)
{
    unsigned section = choose(elf, is_of_function, how.which);

    if (section)
        put(elf, header_of(elf, section) + 44, 4, count_sections(elf) + how.value);
    return section != 0;
}

/* "every instruction has 16 bytes [...]; nothing else is in a code section" (machine-code.md section 1).
 * Compilers pad it to 128 (device-elf.md), but not those of CUDA 12.4 (CV-ELF-058): whole instructions are
 * what is left. */
static bool code_size(fields_elf *elf, fields_choice how)
{
    unsigned section = choose(elf, is_code, how.which);

    if (section)
        put(elf, header_of(elf, section) + 32, 8, size_of(elf, section) - 1 - how.value % 15);
    return section != 0;
}

/* The owner is "NVIDIA Corp" with its NUL, in twelve bytes; a longer one takes room from the descriptor. */
static bool note_owner(fields_elf *elf, fields_choice how)
{
    unsigned section = choose(elf, is_note, how.which);
    uint64_t size = how.value % 17;

    if (!section)
        return false;
    put(elf, body_of(elf, section), 4, size == 12 ? 13 : size);
    if (size >= 12)
        put(elf, body_of(elf, section) + 4, 4, get(elf, body_of(elf, section) + 4, 4) - 4);
    return true;
}

/* Parts begin with {0, -1}, {0, -2}, ... */
static bool call_part(fields_elf *elf, fields_choice how)
{
    unsigned section = choose(elf, is_call_graph, how.which), count = 0;
    size_t marker[16];
    uint64_t own, other;

    for (uint64_t at = 0; section && at + 8 <= size_of(elf, section) && count < 16; at += 8)
        if (get(elf, body_of(elf, section) + at, 4) == 0 &&
            get(elf, body_of(elf, section) + at + 4, 4) > UINT32_MAX - 16)
            marker[count++] = body_of(elf, section) + at + 4;
    if (count == 0)
        return false;
    own = get(elf, marker[(how.which >> 1) % count], 4);
    other = UINT32_MAX - how.value % 16;
    put(elf, marker[(how.which >> 1) % count], 4, other == own ? own - 1 : other);
    return true;
}

/* A part that is left out: its marker is gone, what follows comes nearer. "All four markers are always
 * present, in this order" (metadata.md section 7). */
static bool call_part_gone(fields_elf *elf, fields_choice how)
{
    unsigned section = choose(elf, is_call_graph, how.which), count = 0;
    uint64_t size = section ? size_of(elf, section) : 0;
    size_t body = section ? body_of(elf, section) : 0, marker[16];

    for (uint64_t at = 0; at + 8 <= size && count < CV_COUNT(marker); at += 8)
        if (get(elf, body + at, 4) == 0 && get(elf, body + at + 4, 4) > UINT32_MAX - 16)
            marker[count++] = body + at;
    if (count == 0)
        return false;
    for (size_t at = marker[how.value % count]; at + 8 < body + size; at++)
        put(elf, at, 1, get(elf, at + 8, 1));
    put(elf, header_of(elf, section) + 32, 8, size - 8);
    return true;
}

static bool is_kernel_info(const fields_elf *elf, unsigned index)
{
    bool sized = false, placed = false;

    if (strncmp(name_of(elf, index), ".nv.info.", 9) != 0)
        return false;
    for (uint64_t at = 0; at + 4 <= size_of(elf, index);) {
        uint64_t head = get(elf, body_of(elf, index) + at, 4);

        sized = sized || (head & 0xFFFF) == 0x1903;   /* CBANK_PARAM_SIZE */
        placed = placed || (head & 0xFFFF) == 0x0A04; /* PARAM_CBANK */
        at += 4 + ((head & 0xFF) == 4 ? head >> 16 : 0);
    }
    return sized && placed;
}

/* "size = CBANK_PARAM_SIZE = max(offset + size) over the parameters" (metadata.md, 3.6): larger in both. */
static bool parameters_end(fields_elf *elf, fields_choice how)
{
    unsigned section = choose(elf, is_kernel_info, how.which);
    uint64_t more = 1 + how.value % 0x1000;

    for (uint64_t at = 0; section && at + 4 <= size_of(elf, section);) {
        size_t record = body_of(elf, section) + at;
        uint64_t head = get(elf, record, 4);

        if ((head & 0xFFFF) == 0x1903)
            put(elf, record + 2, 2, (head >> 16) + more);
        if ((head & 0xFFFF) == 0x0A04)
            put(elf, record + 10, 2, get(elf, record + 10, 2) + more);
        at += 4 + ((head & 0xFF) == 4 ? head >> 16 : 0);
    }
    return section != 0;
}

/* Before sm_70 code is groups behind a control word: of 32 bytes from sm_50 on, of 64 before (CV-ELF-058).
 * Half a group too few. */
static bool old_code_size(fields_elf *elf, fields_choice how)
{
    unsigned section = choose(elf, is_code, how.which), machine = how.value & 1 ? 50 : 35,
             group = machine == 50 ? 32 : 64;

    put(elf, 48, 1, machine);
    put(elf, 50, 1, machine);
    put(elf, header_of(elf, section) + 32, 8, size_of(elf, section) / group * group - group / 2);
    return true;
}

/* "A device ELF ends with its last table or section" (CV-ELF-031), also one of whose sections lies
 * nowhere. */
static bool tail_of_broken(fields_elf *elf, fields_choice how)
{
    unsigned section = choose(elf, is_code, how.which);
    size_t end = elf->size, count = 1 + how.value % 64;

    FZ_CHECK(count <= sizeof(elf->bytes) - end, "a tail has room");
    put(elf, header_of(elf, section) + 24, 8, (uint64_t)1 << 20);
    memset(elf->bytes + end, 'x', count);
    elf->size += count;
    return true;
}

/* ---- host objects: the relocation that sets the pointer of a wrapper ---- */

static bool is_of_wrappers(const fields_elf *elf, unsigned index)
{
    return type_of(elf, index) == RELA && strcmp(name_of(elf, index), ".rela.nvFatBinSegment") == 0;
}

/* {place 8, type 4, symbol 4, addend 8} */
static size_t wrapper_reloc(const fields_elf *elf, fields_choice how)
{
    unsigned table = choose(elf, is_of_wrappers, 0);

    FZ_CHECK(table != 0, "an object has wrappers");
    return body_of(elf, table) + how.which % (size_of(elf, table) / 24) * 24;
}

static bool wrapper_symbol(fields_elf *elf, fields_choice how)
{
    unsigned symbols = choose(elf, is_symtab, 0);

    put(elf, wrapper_reloc(elf, how) + 12, 4, size_of(elf, symbols) / SYM + how.value);
    return true;
}

/* "R_X86_64_64 against .nv_fatbin or __nv_relfatbin, addend = container offset": behind the section */
static bool wrapper_target(fields_elf *elf, fields_choice how)
{
    size_t entry = wrapper_reloc(elf, how),
           symbol = body_of(elf, choose(elf, is_symtab, 0)) + SYM * get(elf, entry + 12, 4);

    put(elf, entry + 16, 8,
        size_of(elf, (unsigned)get(elf, symbol + 6, 2)) - get(elf, symbol + 8, 8) + how.value);
    return true;
}

/* In the section, where no container begins: those begin at multiples of 8. */
static bool wrapper_beside(fields_elf *elf, fields_choice how)
{
    size_t entry = wrapper_reloc(elf, how);

    put(elf, entry + 16, 8, get(elf, entry + 16, 8) + 1 + how.value % 7);
    return true;
}

typedef enum fields_kind { DEVICE, DEVICE_OLD, HOST_OBJECT } fields_kind;

typedef struct fields_edit {
    bool (*make)(fields_elf *elf, fields_choice how);
    const char *rule, *or_rule;
    fields_kind of;
} fields_edit;

static const fields_edit EDITS[] = {
    { symbol_section, "CV-ELF-071", NULL, DEVICE },
    { symbol_name, "CV-ELF-069", NULL, DEVICE },
    { symbol_binding, "CV-ELF-112", NULL, DEVICE },
    { reloc_symbol, "CV-ELF-085", NULL, DEVICE },
    { reloc_end, "CV-ELF-086", NULL, DEVICE },
    { reloc_inside, "CV-ELF-087", NULL, DEVICE },
    { reloc_twice, "CV-ELF-143", "CV-ELF-114", DEVICE },
    { section_owner, "CV-ELF-047", NULL, DEVICE },
    { code_size, "CV-ELF-058", NULL, DEVICE },
    { note_owner, "CV-NOTE-002", NULL, DEVICE },
    { call_part, "CV-META-002", NULL, DEVICE },
    { call_part_gone, "CV-META-002", NULL, DEVICE },
    { parameters_end, "CV-TLV-025", NULL, DEVICE },
    { tail_of_broken, "CV-ELF-031", NULL, DEVICE },
    { old_code_size, "CV-ELF-058", NULL, DEVICE_OLD },
    { wrapper_symbol, "CV-HOST-018", NULL, HOST_OBJECT },
    { wrapper_target, "CV-HOST-027", NULL, HOST_OBJECT },
    { wrapper_beside, "CV-HOST-028", NULL, HOST_OBJECT },
};

static const fields_base *base_of(const fields_edit *edit, unsigned which)
{
    switch (edit->of) {
    case DEVICE_OLD: return &OLD_BASES[which % CV_COUNT(OLD_BASES)];
    case HOST_OBJECT: return &OBJECTS[which % CV_COUNT(OBJECTS)];
    default: return &BASES[which % CV_COUNT(BASES)];
    }
}

static uint64_t scan(const fields_elf *elf, const char *rule, cuvet_verdict *verdict)
{
    cuvet_limits lim = { .size = sizeof(lim) };
    fz_alloc alloc = { 0 };
    fz_input in;
    fz_scan scan = { .in = &in, .depth = CUVET_DEPTH_FULL, .jobs = 1 };

    fz_open(&in, elf->bytes, elf->size);
    FZ_CHECK(cuvet_limits_preset("strict", &lim) == CUVET_OK, "limits");
    FZ_CHECK(cuvet_rule_find(rule, &scan.wanted) == CUVET_OK, "a rule");
    fz_scan_run(&scan, &lim, &alloc);
    fz_scan_free(&scan);
    fz_close(&in);
    *verdict = scan.sum.verdict;
    return scan.n_wanted;
}

static void try_edit(fields_elf *elf, const fields_base *base, const fields_edit *edit, fields_choice how)
{
    cuvet_verdict verdict;
    bool made, raised;

    memcpy(elf->bytes, cv_good_bases + base->off, base->size);
    elf->size = base->size;
    made = edit->make(elf, how);
    raised = scan(elf, edit->rule, &verdict) > 0 || (edit->or_rule && scan(elf, edit->or_rule, &verdict) > 0);
    if (getenv("FZ_LOUD"))
        (void)fprintf(stderr, "%s in ELF at %u, %u, value %u: made %d, verdict %d\n", edit->rule,
                      (unsigned)base->off, how.which, how.value, made, (int)verdict);
    FZ_CHECK(raised == made, "the rule of the field is raised, and only then");
    FZ_CHECK(made == (verdict != CUVET_V_CLEAN), "a field decides");
}

CV_FUZZ_TARGET(fields)
{
    fields_elf *elf = malloc(sizeof(*elf));
    fz_ops ops = { .bytes = data, .size = size };

    FZ_CHECK(elf != NULL, "memory");
    for (unsigned i = 0; i < RECORDS && fz_ops_left(&ops); i++) {
        uint8_t which = fz_u8(&ops);
        const fields_edit *edit = &EDITS[fz_u8(&ops) % CV_COUNT(EDITS)];
        fields_choice how = { .which = fz_u8(&ops) };

        how.value = fz_u8(&ops);
        how.value |= (unsigned)fz_u8(&ops) << 8;
        try_edit(elf, base_of(edit, which), edit, how);
    }
    free(elf);
    return 0;
}
