/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the code of the Mercury side names, beside what the native code names. Its instructions cannot be
 * read. But both sides have their relocations in one order: for the same functions and variables, with the
 * same addends. Places inside of the function itself have other numbers, in the same order. The Mercury side
 * has more in two cases: branches of the function, and sizes of reserved shared memory. */
#include "cubin/twins.h"

/* The relocations of one piece of code, on both sides. */
typedef struct twin_code {
    uint64_t native, merc;     /* relocation sections; 0: none */
    uint32_t capsule;          /* section of the Mercury code; 0: no code */
    int64_t place, merc_place; /* the last place inside of the function */
    uint64_t off, merc_off;    /* where the last two that were the same are */
    bool placed, paired;       /* there was one */
} twin_code;

/* A place inside of the function itself. */
static bool is_inner(const cv_twins *pass, const twin_code *code, const cv_elf_reloc *merc)
{
    cv_twin_symbol symbol;

    return code->capsule != 0 && cv_twin_symbol_at(pass, true, merc->sym, &symbol) &&
           symbol.shndx == code->capsule && (uint64_t)merc->addend <= symbol.symbol.size;
}

static int order(int64_t left, int64_t right)
{
    return (left > right) - (left < right);
}

/* Return addresses and the like: instructions of both sides have one order. */
static bool is_same_place(twin_code *code, const cv_elf_reloc *native, const cv_elf_reloc *merc)
{
    bool same = !code->placed || order(native->addend, code->place) == order(merc->addend, code->merc_place);

    code->place = native->addend;
    code->merc_place = merc->addend;
    code->placed = true;
    return same;
}

/* An address is written by several relocations, one behind the other: its symbol is compared once. */
static bool is_same_symbol(cv_twins *pass, uint32_t native, uint32_t merc)
{
    if (native == merc && merc == pass->same)
        return true;
    if (!cv_twin_same_symbol(pass, native, merc))
        return false;
    pass->same = native == merc ? merc : 0;
    return true;
}

/* The instructions that name things have one order as well. */
static bool is_same_order(twin_code *code, const cv_elf_reloc *native, const cv_elf_reloc *merc)
{
    bool same = !code->paired || (native->off < code->off) == (merc->off < code->merc_off);

    code->off = native->off;
    code->merc_off = merc->off;
    code->paired = true;
    return same;
}

static bool is_pair(cv_twins *pass, twin_code *code, const cv_elf_reloc *native, const cv_elf_reloc *merc)
{
    if (!cv_reloc_is_twin(native->type, merc->type) || !is_same_symbol(pass, native->sym, merc->sym))
        return false;
    if (cv_reloc_is_inner(merc->type))
        return is_inner(pass, code, merc) && is_same_place(code, native, merc) &&
               is_same_order(code, native, merc);
    return native->addend == merc->addend && is_same_order(code, native, merc);
}

/* Memory that the driver keeps. */
static bool is_reserved(cv_twins *pass, uint32_t index)
{
    cv_twin_symbol symbol;
    cv_span name;

    if (index == pass->reserved && index != 0)
        return true;
    if (!cv_twin_symbol_at(pass, true, index, &symbol))
        return false;
    if (symbol.shndx == CV_SHN_UNDEF) {
        if (!cv_span_cstr(pass->cubin->strtab, symbol.symbol.name, &name) ||
            !cv_span_starts(name, ".nv.reservedSmem."))
            return false;
    } else if (cv_cubin_sec(pass->cubin, symbol.shndx)->role != CV_ROLE_MERC_SHARED_RESERVED) {
        return false;
    }
    pass->reserved = index;
    return true;
}

/* What native code does not need: a branch inside of the function, or the size of reserved memory. */
static bool is_extra(cv_twins *pass, const twin_code *code, const cv_elf_reloc *merc)
{
    if (merc->type == CV_R_MERCURY_PROG_REL32)
        return is_inner(pass, code, merc);
    return code->capsule != 0 && merc->type == CV_R_MERCURY_ABS32 && is_reserved(pass, merc->sym);
}

/* The first field that makes two relocations different. */
static void report_different(cv_twins *pass, const twin_code *code, uint64_t index, const cv_elf_reloc *merc,
                             const cv_elf_reloc *native)
{
    if (!cv_twin_same_symbol(pass, native->sym, merc->sym))
        cv_twin_reloc_report(pass, CV_R_TWIN_CODE, code->merc, index, merc->sym, native->sym);
    else if (native->addend != merc->addend && !cv_reloc_is_inner(merc->type))
        cv_twin_reloc_report(pass, CV_R_TWIN_CODE, code->merc, index, (uint64_t)merc->addend,
                             (uint64_t)native->addend);
    else
        cv_twin_reloc_report(pass, CV_R_TWIN_CODE, code->merc, index, merc->type, native->type);
}

/* The next entry of native code. One that says what an instruction is where nobody counts on it names
 * nothing: the Mercury side has none. */
static void next_native(const cv_twins *pass, const twin_code *code, uint64_t *at, uint64_t count,
                        cv_elf_reloc *native)
{
    cv_span body = cv_cubin_body(pass->cubin, code->native);

    for (; *at < count; ++*at) {
        cv_elf_read_reloc(body, false, true, *at, native);
        if (!cv_reloc_has(cv_reloc_of(native->type), CV_USE_DROPS))
            return;
    }
}

static void check_lists(cv_twins *pass, twin_code *code)
{
    uint64_t count = cv_twin_count(pass, code->native), merc_count = cv_twin_count(pass, code->merc), at = 0;
    cv_span merc_body = cv_cubin_body(pass->cubin, code->merc);
    cv_elf_reloc native = { 0 }, merc;

    if ((count | merc_count) == 0 || !cv_work(pass->ctx, (count + merc_count) * CV_WORK_SCATTERED,
                                              cv_cubin_sec(pass->cubin, code->merc)->header.off))
        return;
    next_native(pass, code, &at, count, &native);
    for (uint64_t i = 0; i < merc_count; i++) {
        cv_elf_read_reloc(merc_body, false, true, i, &merc);
        if (at < count && is_pair(pass, code, &native, &merc)) {
            at++;
            next_native(pass, code, &at, count, &native);
        } else if (!is_extra(pass, code, &merc)) {
            if (at < count)
                report_different(pass, code, i, &merc, &native);
            else
                cv_twin_reloc_report(pass, CV_R_TWIN_CODE, code->merc, i, merc.sym, CV_TWIN_NONE);
            return;
        }
    }
    if (at < count)
        cv_twin_reloc_report(pass, CV_R_TWIN_CODE, code->native, at, CV_TWIN_NONE, native.sym);
}

void cv_twin_check_code(cv_twins *pass, uint64_t index)
{
    const cv_sec *sec = cv_cubin_sec(pass->cubin, index);
    twin_code code = { .native = sec->relocs,
                       .merc = cv_cubin_sec(pass->cubin, sec->capsule)->relocs,
                       .capsule = sec->capsule };

    if ((code.native | code.merc) != 0)
        check_lists(pass, &code);
}

/* The code section that a section of the Mercury side belongs to; 0: that is said with the pairs. */
static uint64_t code_of(const cv_twins *pass, const cv_sec *sec)
{
    uint64_t code = cv_u32_at(cv_cubin_body(pass->cubin, sec->header.info), 0);

    return cv_cubin_sec(pass->cubin, code)->capsule == sec->header.info ? code : 0;
}

/* Textures of a kernel: native code finds them in its parameters. */
void cv_twin_check_textures(cv_twins *pass, uint64_t index)
{
    const cv_sec *sec = cv_cubin_sec(pass->cubin, index);
    uint64_t at = code_of(pass, sec);
    twin_code code = { .native = cv_cubin_sec(pass->cubin, cv_cubin_sec(pass->cubin, at)->const0)->relocs,
                       .merc = sec->relocs };

    if (at != 0)
        check_lists(pass, &code);
}

/* A branch table: where the code of the Mercury side is, by relocations; of the native side, in words. */
typedef struct twin_table {
    uint64_t native, relocs; /* section of the words; relocation section of the Mercury side */
    uint32_t capsule;
    cv_keys places; /* function and native place, number of the relocation */
} twin_table;

static uint64_t table_of(const cv_twins *pass, uint64_t code)
{
    uint64_t at = cv_keys_lower_bound(&pass->tables, code);
    const cv_key *found = at < pass->tables.count ? cv_keys_get(&pass->tables, at) : NULL;

    return found && found->key == code ? found->index : 0;
}

/* Is the entry one of a function that both sides have, inside of both? A linker puts tables of what a kernel
 * calls into its own. */
static bool is_inside(const cv_twins *pass, const twin_table *table, const cv_elf_reloc *reloc)
{
    const cv_cubin *cubin = pass->cubin;
    uint64_t word = cv_u32_at(cv_cubin_body(cubin, table->native), reloc->off);
    cv_twin_symbol native, merc;

    if (reloc->type != CV_R_MERCURY_PROG_REL32 || !cv_twin_symbol_at(pass, false, reloc->sym, &native) ||
        !cv_twin_symbol_at(pass, true, reloc->sym, &merc))
        return false;
    return merc.type == CV_STT_FUNC && (cubin->exe || merc.shndx == table->capsule) &&
           (uint64_t)reloc->addend < merc.symbol.size &&
           cv_cubin_sec(cubin, native.shndx)->capsule == merc.shndx &&
           word < cv_cubin_sec(cubin, native.shndx)->header.size && word % cubin->gen->instruction == 0;
}

/* A weak function with a table that lost against one without: the linker leaves the table to the winner,
 * whose code does not know it, empty on the native side and as it was on the other. No label is the begin of
 * code. */
static bool is_left_over(const cv_twins *pass, const twin_table *table)
{
    cv_span words = cv_cubin_body(pass->cubin, table->native);

    return cv_span_find_nonzero(words) == words.len;
}

/* The entries of such a table are those of one function, which both sides have. */
static bool fits_left_over(const cv_twins *pass, const cv_elf_reloc *reloc, uint32_t capsule)
{
    cv_twin_symbol native, merc;

    return reloc->type == CV_R_MERCURY_PROG_REL32 && cv_twin_symbol_at(pass, false, reloc->sym, &native) &&
           cv_twin_symbol_at(pass, true, reloc->sym, &merc) && merc.type == CV_STT_FUNC &&
           merc.shndx == capsule && cv_cubin_sec(pass->cubin, native.shndx)->capsule == capsule;
}

/* One label is one place, and behind it there is another one, on both sides. */
static void compare_places(const cv_twins *pass, const twin_table *table)
{
    cv_elf_reloc before, reloc;

    for (uint64_t k = 1; k < table->places.count; k++) {
        const cv_key *last = cv_keys_get(&table->places, k - 1), *entry = cv_keys_get(&table->places, k);

        if (last->key >> 32 != entry->key >> 32)
            continue;
        cv_twin_reloc(pass, table->relocs, last->index, &before);
        cv_twin_reloc(pass, table->relocs, entry->index, &reloc);
        if ((last->key < entry->key) == (before.addend < reloc.addend) && before.addend <= reloc.addend)
            continue;
        cv_twin_reloc_report(pass, CV_R_TWIN_TABLE, table->relocs, entry->index, (uint64_t)reloc.addend,
                             (uint32_t)entry->key);
        return;
    }
}

static cuvet_status check_places(cv_twins *pass, twin_table *table)
{
    uint64_t count = cv_twin_count(pass, table->relocs);
    cv_span words = cv_cubin_body(pass->cubin, table->native);
    bool left_over = is_left_over(pass, table);
    cv_elf_reloc reloc;

    for (uint64_t i = 0; i < count; i++) {
        cv_twin_reloc(pass, table->relocs, i, &reloc);
        if (left_over && fits_left_over(pass, &reloc, table->capsule))
            continue;
        if (!is_inside(pass, table, &reloc)) {
            cv_twin_reloc_report(pass, CV_R_TWIN_TABLE, table->relocs, i, (uint64_t)reloc.addend,
                                 cv_u32_at(words, reloc.off));
            return CUVET_OK;
        }
        if (!cv_keys_push(&pass->ctx->mem, &table->places,
                          (cv_key){ (uint64_t)reloc.sym << 32 | cv_u32_at(words, reloc.off), i }))
            return cv_nomem(pass->ctx, words.off);
    }
    cv_keys_sort(&table->places);
    compare_places(pass, table);
    return CUVET_OK;
}

#define TABLE_WORK (UINT64_C(4) * CV_WORK_SCATTERED) /* of an entry: read, looked up, sorted, read again */

cuvet_status cv_twin_check_table(cv_twins *pass, uint64_t index)
{
    const cv_sec *sec = cv_cubin_sec(pass->cubin, index);
    uint64_t code = code_of(pass, sec), native = table_of(pass, code);
    cv_twin_data data = { .native = native, .merc = index };
    twin_table table = { .native = native, .relocs = sec->relocs, .capsule = sec->header.info };
    cuvet_status st;

    if (code == 0)
        return CUVET_OK;
    if (sec->header.size != cv_cubin_sec(pass->cubin, native)->header.size) {
        cv_sec_report(pass->ctx, pass->cubin, index, CV_R_TWIN_TABLE, CV_SH_SIZE, sec->header.size,
                      cv_cubin_sec(pass->cubin, native)->header.size);
        return CUVET_OK;
    }
    if (pass->ctx->no_contents ||
        !cv_work(pass->ctx, (uint64_t)cv_twin_count(pass, table.relocs) * TABLE_WORK,
                 pass->cubin->image.off + sec->header.off))
        return CUVET_OK;
    st = check_places(pass, &table);
    cv_keys_free(&pass->ctx->mem, &table.places);
    return st == CUVET_OK ? cv_twin_check_bytes(pass, &data, CV_R_TWIN_TABLE, 4) : st;
}
