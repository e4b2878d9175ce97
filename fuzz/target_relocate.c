/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What becomes of a relocation, without files: a small picture of a link is made here, with a symbol of each
 * kind, and the input is a program of relocations: type, offset, addend, symbol. What a fix says is compared
 * with spec/relocs.def, and what applying it does to the bytes with a loop over bits. First byte: 0
 * relocatable, 1 reference's form, 2 preserve, 3 RELA, 4..5 what is patched. Second: symbol of a dead
 * function, third: bank. Then per relocation: symbol and how, type, offset, addend, bases; see step(). */
#include <stdlib.h>
#include <string.h>

#include "format/elf/names.h"
#include "link/plan/scan_relocs.h"
#include "linking.h"

enum { TEXT = 1, CONST = 2, TABLE = 3, SHARED = 4, DEBUG = 5, GLOBAL = 6, N_SECTIONS = 7, Q = 7 };
enum { PATCHED = 48 }; /* bytes of each section */

/* A symbol of the picture. */
static const struct {
    const char *name;
    uint8_t info, other;
    uint32_t sec; /* 0: none */
    bool placed, dead, slot;
} SYMBOLS[] = {
    { "", 0, 0, 0, false, false, false },
    { ".text.k", CV_STT_SECTION, 0, TEXT, false, false, false },
    { ".nv.constant3", CV_STT_SECTION, 0, CONST, false, false, false },
    { ".nv.constant2.f", CV_STT_SECTION, 0, TABLE, false, false, false },
    { ".nv.shared.k", CV_STT_SECTION, 0, SHARED, false, false, false },
    { ".debug_info", CV_STT_SECTION, 0, DEBUG, false, false, false },
    { ".nv.global", CV_STT_SECTION, 0, GLOBAL, false, false, false },
    { "k", CV_STB_GLOBAL << 4 | CV_STT_FUNC, CV_STO_ENTRY, TEXT, false, false, false },
    { "f", CV_STB_GLOBAL << 4 | CV_STT_FUNC, 0, TEXT, false, true, false },
    { "in_bank", CV_STB_GLOBAL << 4 | CV_STT_CUDA_OBJECT, 0x80, CONST, false, false, false },
    { "in_bank_local", CV_STT_CUDA_OBJECT, 0x81, CONST, false, false, false },
    { "shared", CV_STT_CUDA_OBJECT, CV_STO_SPACE_SHARED, SHARED, true, false, false },
    { "shared_global", CV_STB_GLOBAL << 4 | CV_STT_CUDA_OBJECT, CV_STO_SPACE_SHARED, SHARED, false, false,
      false },
    { "shared_extern", CV_STB_GLOBAL << 4 | CV_STT_CUDA_OBJECT, CV_STO_SPACE_SHARED, 0, false, false, false },
    { "variable", CV_STB_GLOBAL << 4 | CV_STT_OBJECT, 0, GLOBAL, false, false, false },
    { "texture", CV_STB_GLOBAL << 4 | 10, 0, 0, false, false, true },
    { "surface", CV_STB_GLOBAL << 4 | 12, 0, 0, false, false, false },
    { "__UFT_OFFSET", CV_STB_GLOBAL << 4, 0, 0, false, false, false },
};

static const struct {
    cv_role role;
    cv_group group;
} SECTIONS[N_SECTIONS] = { { CV_ROLE_NULL_SECTION, CV_G_FIXED }, { CV_ROLE_TEXT, CV_G_CODE },
                           { CV_ROLE_CONSTANT, CV_G_CONST },     { CV_ROLE_CONSTANT_FN, CV_G_CONST },
                           { CV_ROLE_SHARED_FN, CV_G_NOBITS },   { CV_ROLE_DEBUG, CV_G_DEBUG },
                           { CV_ROLE_GLOBAL, CV_G_INIT } };

typedef struct relocate_world {
    fz_state *fuzz;
    fz_ops ops;
    cv_link link;
    cv_id target;
} relocate_world;

static bool add_sections(relocate_world *world, uint32_t bank)
{
    cv_mem *mem = &world->fuzz->ctx.mem;
    cv_cubin *cubin = &cv_l_obj(&world->link, 0)->cubin;

    for (uint32_t i = 0; i < N_SECTIONS; i++) {
        cv_sec sec = { .role = SECTIONS[i].role, .bank = i == TABLE ? 2 : bank % 18 };
        cv_isec in = { .index = i, .id = i, .size = PATCHED };
        cv_became became = { .out = i == TABLE ? CV_NONE : i, .table = i == TABLE };
        cv_osec out = {
            .group = SECTIONS[i].group, .fn = 0, .size = PATCHED, .resolved = CV_NONE, .rels = CV_NONE
        };

        if (!cv_secs_push(mem, &cubin->sec, sec) || !cv_isecs_push(mem, &world->link.inputs->isec, in) ||
            !cv_becames_push(mem, &world->link.out->became, became) ||
            !cv_osecs_push(mem, &world->link.out->osec, out))
            return false;
    }
    return cv_u64s_fill(mem, &world->link.memory->bank_off, N_SECTIONS);
}

static bool add_symbols(relocate_world *world)
{
    cv_mem *mem = &world->fuzz->ctx.mem;

    for (uint32_t i = 0; i < CV_COUNT(SYMBOLS); i++) {
        cv_id name = cv_l_name(&world->link, cv_span_of(SYMBOLS[i].name, strlen(SYMBOLS[i].name), 0));
        cv_id sec = SYMBOLS[i].sec ? SYMBOLS[i].sec : CV_NONE;
        bool function = (SYMBOLS[i].info & 15) == CV_STT_FUNC;
        cv_isym sym = { .index = i,
                        .name = name,
                        .sec = sec,
                        .info = SYMBOLS[i].info,
                        .other = SYMBOLS[i].other,
                        .defined = sec != CV_NONE,
                        .id = i };
        cv_shared_place place = { .placed = SYMBOLS[i].placed };
        cv_resolution_entry entry = { .first = i, .last = i, .win = sec == CV_NONE ? CV_NONE : i };
        cv_osym osym = { .name = name,
                         .sec = sec,
                         .win = sec == CV_NONE ? CV_NONE : i,
                         .src = i,
                         .fn = !function ? CV_NONE : SYMBOLS[i].dead,
                         .info = SYMBOLS[i].info,
                         .has_slot = SYMBOLS[i].slot };

        if (name == CV_NONE || !cv_isyms_push(mem, &world->link.inputs->isym, sym) ||
            !cv_u32s_push(mem, &world->link.functions->of, 0) ||
            !cv_u32s_push(mem, &world->link.out->became_sym, i) ||
            !cv_shared_places_push(mem, &world->link.memory->shared, place) ||
            !cv_resolution_entries_push(mem, &world->link.resolution->entries, entry) ||
            !cv_osyms_push(mem, &world->link.out->osym, osym))
            return false;
    }
    return true;
}

/* A kernel, and a function that is gone. */
static bool add_functions(relocate_world *world)
{
    cv_mem *mem = &world->fuzz->ctx.mem;

    for (cv_id i = 0; i < 2; i++)
        if (!cv_lfns_push(mem, &world->link.functions->fn,
                          (cv_lfn){ .id = i, .owner = i, .kernel = i == 0 }) ||
            !cv_fn_calls_list_push(mem, &world->link.calls->fn, (cv_fn_calls){ .live = i == 0 }) ||
            !cv_fn_memories_push(mem, &world->link.memory->fn,
                                 (cv_fn_memory){ .extern_off = i == 0 ? 0x40 : 0 }))
            return false;
    return true;
}

static bool build(relocate_world *world)
{
    cv_mem *mem = &world->fuzz->ctx.mem;
    uint8_t how = fz_u8(&world->ops);
    cv_link_options options = { .relocatable = how & 1, .compat = (how & 3) == 3, .preserve = how & 4 };
    cv_osec osec = {
        .group = CV_G_REL, .type = how & 8 ? CV_SHT_RELA : CV_SHT_REL, .resolved = CV_NONE, .rels = CV_NONE
    };
    static const uint8_t TARGETS[] = { TEXT, DEBUG, GLOBAL, CONST };

    cv_link_begin(&world->link, &world->fuzz->ctx, &options);
    world->target = osec.target = TARGETS[how >> 4 & 3];
    if (!cv_lobjs_reserve(mem, &world->link.inputs->obj, 1))
        return false;
    world->link.inputs->obj.count = 1;
    *cv_l_obj(&world->link, 0) = (cv_lobj){ .n_sec = N_SECTIONS, .n_sym = CV_COUNT(SYMBOLS) };
    cv_cubin_init(&cv_l_obj(&world->link, 0)->cubin);
    return add_sections(world, fz_u8(&world->ops)) && add_symbols(world) &&
           cv_osecs_push(mem, &world->link.out->osec, osec) && add_functions(world);
}

static bool bit(const uint8_t *bytes, uint64_t index)
{
    return bytes[index / 8] >> index % 8 & 1;
}

static uint64_t read_bits(const uint8_t *bytes, uint64_t off, const cv_field *field)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < field->bits; i++)
        value |= (uint64_t)bit(bytes, 8 * off + field->pos + i) << i;
    return value;
}

static bool in_field(const cv_fix *fix, uint64_t off, uint64_t index)
{
    for (unsigned k = 0; k < fix->count; k++)
        if (index >= 8 * off + fix->field[k].pos && index < 8 * off + fix->field[k].pos + fix->field[k].bits)
            return true;
    return false;
}

/* Applied to a block of exactly the section's size. Fields of one fix do not overlap. */
static void check_apply(relocate_world *world, const cv_fix *fix, uint64_t off)
{
    uint8_t *before = malloc(PATCHED), *after = malloc(PATCHED);
    bool fits = true, done;

    FZ_CHECK(before && after, "memory");
    for (unsigned i = 0; i < PATCHED; i++)
        before[i] = after[i] = fz_u8(&world->ops);
    for (unsigned i = 0; i < fix->count; i++)
        fits = fits && off <= PATCHED &&
               ((uint64_t)fix->field[i].pos + fix->field[i].bits + 7) / 8 <= PATCHED - off;
    done = true;
    for (unsigned i = 0; i < fix->count && done; i++)
        done = cv_link_put_field(&fix->field[i], after, PATCHED, off);
    FZ_CHECK(done == fits, "applied when all of it lies in the section");
    for (uint64_t i = 0; done && i < 8 * PATCHED; i++)
        FZ_CHECK(in_field(fix, off, i) || bit(before, i) == bit(after, i), "no other bit changes");
    for (unsigned k = 0; done && k < fix->count; k++) {
        const cv_field *field = &fix->field[k];
        uint64_t mask = field->bits == 64 ? UINT64_MAX : (UINT64_C(1) << field->bits) - 1;
        uint64_t want = field->value + (field->add ? read_bits(before, off, field) : 0);

        FZ_CHECK(read_bits(after, off, field) == (want & mask), "the field holds the value");
    }
    for (unsigned i = 0; i < PATCHED; i++)
        fz_note(world->fuzz, after[i]);
    free(before);
    free(after);
}

static bool overlap(const cv_field *left, const cv_field *right)
{
    return left->pos < right->pos + right->bits && right->pos < left->pos + left->bits;
}

static void check_fix(const relocate_world *world, const cv_irel *rel, const cv_fix *fix)
{
    uint32_t bytes = cv_reloc_of(rel->type)->bytes;

    FZ_CHECK(fix->count <= 2, "two fields at most");
    for (unsigned i = 0; i < fix->count; i++) {
        const cv_field *field = &fix->field[i];

        FZ_CHECK(field->bits >= 1 && field->bits <= 64 && field->pos + field->bits <= 128,
                 "a field of an instruction");
        FZ_CHECK((uint32_t)(field->pos + field->bits + 7) / 8 <= bytes, "no more than its type has");
    }
    FZ_CHECK(fix->count < 2 || !overlap(&fix->field[0], &fix->field[1]), "apart from each other");
    /* An addend that lies in the field counts from where the section begins now. */
    FZ_CHECK(!fix->keep || fix->count == 0 || world->link.options->relocatable || fix->field[0].add,
             "applied or kept in a program, not both");
    FZ_CHECK(!fix->keep || !fix->resolved, "what stays is not resolved");
    FZ_CHECK(!fix->keep || !fix->dead, "nothing stays of a dead function");
    FZ_CHECK(fix->keep || fix->addend == 0, "an addend of what stays");
}

/* Applying does not look at what a field means: any field is the same. */
static void any_field(relocate_world *world)
{
    uint8_t left = fz_u8(&world->ops), right = fz_u8(&world->ops);
    cv_fix fix = { .count = 1u + (left >> 7) };

    fix.field[0] = (cv_field){
        .pos = left & 127, .bits = 1 + right % 64, .add = right >> 7, .value = fz_u64(&world->ops)
    };
    if (fix.count == 2)
        fix.field[1] = (cv_field){ .pos = (uint8_t)(fix.field[0].pos + fix.field[0].bits),
                                   .bits = 1 + left % 16,
                                   .value = fz_u64(&world->ops) };
    check_apply(world, &fix, fz_edge(&world->ops, PATCHED));
}

static uint32_t type_of(relocate_world *world)
{
    uint8_t total = fz_u8(&world->ops);

    return total == 255 ? (uint32_t)fz_u64(&world->ops) : total % 124;
}

static cv_check_scan_relocs seen_of(const cv_link *link)
{
#define READS(part) .part = link->part,
#define FILLS(part) .part = link->part,
    return (cv_check_scan_relocs){ READS(options) READS(names) READS(inputs) READS(resolution)
                                       READS(functions) READS(calls) READS(out) READS(memory) FILLS(fixups) };
#undef READS
#undef FILLS
}

static void step(relocate_world *world)
{
    uint8_t what = fz_u8(&world->ops);
    cv_irel rel = { .sym = what & 31 };
    cv_osec *osec = cv_l_osec(&world->link, Q);
    const cv_check_scan_relocs seen = seen_of(&world->link);
    cv_symbol_fixes symbols = { 0 };
    cv_fix fix, again;
    cv_rel_cur cur;
    bool known;

    if (rel.sym >= CV_COUNT(SYMBOLS)) {
        any_field(world);
        return;
    }
    rel.type = type_of(world) & INT32_MAX;
    rel.off = fz_edge(&world->ops, PATCHED);
    rel.addend = (int64_t)(what & 32 ? fz_u64(&world->ops) : fz_u8(&world->ops));
    if (what & 64) {
        cv_l_became(&world->link, 1 + what % GLOBAL)->base = fz_edge(&world->ops, 0x10000);
        *cv_u64s_at(&world->link.memory->bank_off, TABLE) = cv_l_shared(&world->link, rel.sym)->off =
            fz_edge(&world->ops, 0x10000);
        cv_l_osym(&world->link, rel.sym)->value = cv_l_osym(&world->link, rel.sym)->slot =
            fz_edge(&world->ops, 0x10000);
        cv_l_isym(&world->link, rel.sym)->value = fz_u8(&world->ops);
    }
    /* The examination lets through what lies inside of the section that it patches. */
    if (rel.off >= PATCHED || cv_reloc_of(rel.type)->bytes > PATCHED - rel.off ||
        !cv_l_add_run(&world->link, Q, world->target) || !cv_l_add_rel(&world->link, &rel))
        return;
    cur = cv_out_rels(osec);
    FZ_CHECK(cv_rel_next(world->link.out, &cur), "the last one");
    if (!cv_symbol_fixes_reserve(&world->fuzz->ctx.mem, &symbols, CV_KNOWN_SYMBOLS))
        return;
    symbols.count = CV_KNOWN_SYMBOLS;
    known = cv_link_fix(&seen, &cur, osec, &symbols, &fix);
    fz_note(world->fuzz, known);
    if (known) {
        check_fix(world, &rel, &fix);
        check_apply(world, &fix, rel.off);
        FZ_CHECK(cv_link_fix(&seen, &cur, osec, &symbols, &again) && again.count == fix.count &&
                     again.keep == fix.keep,
                 "asked twice, the second time of a symbol that is remembered");
    }
    cv_symbol_fixes_free(&world->fuzz->ctx.mem, &symbols);
}

static uint64_t decide_stage(void)
{
    uint64_t i = 0;

    while (strcmp(cv_link_stage(i), "scan_relocs") != 0)
        i++;
    return i;
}

/* All of them together, as the stage decides. */
static void decide(relocate_world *world)
{
    uint64_t kept = 0, errors = world->fuzz->ctx.n_errors;
    cuvet_status status = cv_link_run(&world->link, decide_stage());

    fz_note(world->fuzz, (uint64_t)status);
    FZ_CHECK(status == CUVET_OK || status == CUVET_E_REFUSED, "decided or refused");
    FZ_CHECK(status == CUVET_OK || world->fuzz->ctx.n_errors > errors, "a refusal is reported");
    for (cv_rel_cur cur = cv_out_rels(cv_l_osec(&world->link, Q));
         status == CUVET_OK && cv_rel_next(world->link.out, &cur);)
        kept += cv_l_fixup(&world->link, cur.id)->keep;
    FZ_CHECK(kept == (status == CUVET_OK ? cv_l_fixed(&world->link, Q)->n_kept : 0), "what stays is counted");
    FZ_CHECK(status != CUVET_E_INTERNAL, "the checker agrees");
}

static void on_diag(void *user, const cuvet_diag *diag)
{
    fz_note(user, fz_diag(diag, 0, UINT64_MAX)); /* there is no file */
    FZ_CHECK(diag->rule == CV_R_LINK_RELOC || diag->rule == CV_R_LINK_FIELD ||
                 diag->rule == CV_R_LINK_REFERENCE || diag->rule == CV_R_LINK_UNREACHED ||
                 diag->rule == CV_R_LINK_GIVEN_UP || cuvet_diag_verdict(diag) == CUVET_V_LIMIT,
             "a rule of this stage");
}

static void run(fz_state *fuzz)
{
    relocate_world world = { .fuzz = fuzz, .ops = { .bytes = fuzz->in->bytes, .size = fuzz->in->len } };

    fuzz->ctx.emit = on_diag;
    if (build(&world)) {
        while (fz_ops_left(&world.ops))
            step(&world);
        decide(&world);
    }
    fuzz->ctx.verdict = CUVET_V_CLEAN;
    cv_link_end(&world.link);
}

CV_FUZZ_TARGET(relocate)
{
    return fz_twice(data, size, 0, run);
}
