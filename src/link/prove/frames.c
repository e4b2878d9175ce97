/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Call frame information that is made anew: the descriptions of all functions that stay, in the order of the
 * inputs, each with the bytes of the input behind the common part of the input, and nothing else. Of a
 * function that several inputs describe it is known that it has a description, that those which it has say
 * what one of the inputs says or nothing, and that nothing in them refers to what no input does. */
#include "base/arith.h"
#include "format/dwarf/read.h"
#include "link/prove/parts.h"

/* A function that several inputs describe has a description. */
#define TOLD (UINT32_C(1) << 31)

typedef struct framer {
    cv_prove *prove;
    cv_span before, after; /* of the input at hand, and of the result */
    uint64_t pos;          /* in the result: what is not accounted for yet */
    uint64_t mate;         /* in the result: the common part at hand */
    cv_frame common;       /* of the input */
    uint64_t n_common;     /* of all inputs, met so far */
    bool pending;          /* the common part at hand was not needed yet */
    uint32_t sec, out;     /* of the input and of the result */
    cv_u32s described;     /* by symbol of the result: in how many descriptions of the inputs */
    bool strange;          /* a description is of two functions */
    cv_u8s unsure;         /* by common part: another one may stand in its place … */
    cv_names texts;        /* … of these, which also has what is said of functions that several describe */
} framer;

static cuvet_status bad_frame(const framer *all, uint64_t at, uint64_t got)
{
    return cv_prove_fail_section(all->prove, CV_R_LINK_PROVE_FRAME, all->sec, at, got, all->pos);
}

/* The function that the relocation at this place of a description names, a symbol of the result; 0: it is
 * gone. */
static uint32_t named_at(const framer *all, uint64_t at)
{
    const cv_prove *prove = all->prove;
    uint64_t i = cv_keys_lower_bound(&prove->field, at);
    cv_prove_reloc reloc;
    cv_elf_symbol named;

    for (; i < prove->field.count && cv_keys_get(&prove->field, i)->key == at; i++) {
        if (!cv_prove_read_listed(prove, i, &reloc) || cv_prove_is_dropped(prove, &reloc) ||
            reloc.symbol->out == 0 || reloc.symbol->out >= all->described.count)
            continue;
        cv_elf_read_symbol(prove->facts->result->symtab, false, reloc.symbol->out, &named);
        if (named.shndx != CV_SHN_UNDEF)
            return reloc.symbol->out;
    }
    return 0;
}

/* The function that is described; 0: it is gone. Where the code begins and how long it is name the same one;
 * of a file that somebody made otherwise nothing is said. */
static uint32_t function_of(framer *all, const cv_frame *frame)
{
    uint32_t fn = named_at(all, frame->body), other = named_at(all, frame->body + CV_FRAME_WORD);

    all->strange = all->strange || (fn != 0 && other != 0 && fn != other) || (fn == 0 && other != 0);
    return fn;
}

/* The size of the code is that of its function. */
static bool is_size(const framer *all, const cv_prove_reloc *reloc)
{
    cv_elf_symbol named;

    cv_elf_read_symbol(all->prove->facts->result->symtab, false, reloc->symbol->out, &named);
    return cv_u64_at(all->after, reloc->elf.off) == named.size;
}

/* It is not in the result: its value is, or it left no trace. */
static cuvet_status check_applied(const framer *all, const cv_prove_reloc *reloc, bool size)
{
    const cv_reloc_facts *facts = cv_reloc_of(reloc->elf.type);

    if (cv_prove_is_dropped(all->prove, reloc) || cv_reloc_has(facts, CV_USE_CLEARS | CV_USE_TABLE))
        return CUVET_OK;
    return size && is_size(all, reloc) ? CUVET_OK : bad_frame(all, reloc->elf.off, reloc->elf.type);
}

static cuvet_status check_reloc(framer *all, cv_prove_reloc *reloc, bool sure, bool size, bool *told)
{
    bool kept = false;
    cuvet_status status = cv_prove_find_listed(all->prove, all->out, reloc, &kept);

    *told = *told || kept;
    return status == CUVET_OK && !kept && sure ? check_applied(all, reloc, size) : status;
}

/* Whatever a description refers to it refers to in the result, but for the common part, which is known.
 * *told: something of it stays. */
static cuvet_status check_relocs(framer *all, const cv_frame *frame, const cv_frame *found, bool sure,
                                 bool *told)
{
    cv_prove *prove = all->prove;
    uint64_t i = cv_keys_lower_bound(&prove->field, frame->at);
    cuvet_status status = CUVET_OK;

    for (; i < prove->field.count && cv_keys_get(&prove->field, i)->key < frame->end && status == CUVET_OK;
         i++) {
        uint64_t off = cv_keys_get(&prove->field, i)->key;
        cv_prove_reloc reloc;

        if (off == frame->pointer)
            continue;
        if (!cv_prove_read_listed(prove, i, &reloc))
            return bad_frame(all, off, reloc.elf.sym);
        reloc.elf.off = cv_sat_add(found->at, off - frame->at);
        status = check_reloc(all, &reloc, sure, off == frame->body + CV_FRAME_WORD, told);
    }
    return status;
}

static bool is_same_tail(const framer *all, const cv_frame *frame, const cv_frame *found, uint64_t head)
{
    cv_span left, right;

    return frame->end - frame->at == found->end - found->at && frame->end - frame->at >= head &&
           cv_span_sub(all->before, frame->at + head, frame->end - frame->at - head, &left) &&
           cv_span_sub(all->after, found->at + head, frame->end - frame->at - head, &right) &&
           cv_span_eq(left, right);
}

/* What comes next in the result. */
static bool next(framer *all, cv_frame *found)
{
    cv_dwarf_bad bad;

    if (!cv_frame_read(all->after, all->pos, found, &bad) || !found->wide)
        return false;
    all->pos = found->end;
    return true;
}

/* An entry, of a description without the code that it is about. */
static cv_span text_of(cv_span section, const cv_frame *frame)
{
    cv_span text = cv_span_of(NULL, 0, 0);
    uint64_t at = frame->common ? frame->at : cv_sat_add(frame->body, CV_FRAME_RANGE);

    if (!cv_span_sub(section, at, frame->end - cv_min(at, frame->end), &text))
        text.len = 0;
    return text;
}

static bool is_told(const framer *all, const cv_frame *found)
{
    return cv_names_find(&all->texts, text_of(all->after, found)) != CV_NONE;
}

/* A description that says only where the code is. */
static bool says_nothing(const framer *all, const cv_frame *found)
{
    cv_span text = text_of(all->after, found);

    return text.len <= CV_FRAME_WORD && cv_span_find_nonzero(text) == text.len;
}

static cuvet_status check_common(framer *all)
{
    cv_frame found;

    all->pending = false;
    all->mate = all->pos;
    if (!next(all, &found) || !found.common ||
        !(*cv_u8s_get(&all->unsure, all->n_common - 1) == 0 ? is_same_tail(all, &all->common, &found, 0)
                                                            : is_told(all, &found)))
        return bad_frame(all, all->common.at, all->mate);
    return CUVET_OK;
}

static bool is_next(framer *all, const cv_frame *frame, bool sure, cv_frame *found)
{
    if (!next(all, found) || found->common || found->names != all->mate)
        return false;
    return sure ? is_same_tail(all, frame, found, CV_FRAME_BODY + CV_FRAME_RANGE) &&
                      cv_u64_at(all->before, frame->body) == cv_u64_at(all->after, found->body)
                : is_told(all, found) || says_nothing(all, found);
}

/* The only description of a function. */
static cuvet_status check_description(framer *all, const cv_frame *frame)
{
    cuvet_status status = all->pending ? check_common(all) : CUVET_OK;
    bool told = false;
    cv_frame found;

    if (status != CUVET_OK)
        return status;
    return is_next(all, frame, true, &found) ? check_relocs(all, frame, &found, true, &told)
                                             : bad_frame(all, frame->at, all->mate);
}

/* One of several: at least one is there, and says where the code is. */
static cuvet_status find_description(framer *all, const cv_frame *frame, uint32_t *times)
{
    const framer before = *all;
    cuvet_status status = CUVET_OK;
    cv_frame common, found;
    bool told = false;

    if (all->pending) {
        all->mate = all->pos;
        all->pending = !next(all, &common) || !common.common || !is_told(all, &common);
    }
    if (!all->pending && is_next(all, frame, false, &found))
        status = check_relocs(all, frame, &found, false, &told);
    if (told)
        *times |= TOLD;
    else
        *all = before;
    return status;
}

static bool keep_text(framer *all, const cv_frame *frame)
{
    return cv_names_put(&all->prove->ctx->mem, &all->texts, text_of(all->before, frame)) != CV_NONE;
}

/* Where descriptions are counted nothing is compared yet. */
static cuvet_status visit(framer *all, const cv_frame *frame, bool counts)
{
    uint32_t fn, *times;

    if (frame->common) {
        all->common = *frame;
        all->pending = true;
        all->n_common++;
        return !counts || cv_u8s_push(&all->prove->ctx->mem, &all->unsure, 0) ? CUVET_OK
                                                                              : cv_nomem(all->prove->ctx, 0);
    }
    fn = function_of(all, frame);
    if (fn == 0)
        return CUVET_OK;
    if (all->n_common == 0)
        return bad_frame(all, frame->at, 0);
    times = cv_u32s_at(&all->described, fn);
    if (counts)
        *times += *times < TOLD - 1;
    if (counts || *times <= 1)
        return CUVET_OK;
    *cv_u8s_at(&all->unsure, all->n_common - 1) = 1;
    return *times >= TOLD || (keep_text(all, &all->common) && keep_text(all, frame))
               ? CUVET_OK
               : cv_nomem(all->prove->ctx, 0);
}

enum { COUNT, MARK, COMPARE, PASSES };

static cuvet_status read_section(framer *all, unsigned pass)
{
    cuvet_status status = CUVET_OK;
    cv_frame frame;
    cv_dwarf_bad bad;

    all->before = cv_cubin_body(all->prove->in, all->sec);
    if (!cv_prove_list_relocs(all->prove, all->sec))
        return cv_nomem(all->prove->ctx, 0);
    for (uint64_t pos = 0; pos < all->before.len && status == CUVET_OK; pos = frame.end) {
        uint32_t fn, *times;

        if (!cv_frame_read(all->before, pos, &frame, &bad) || !frame.wide)
            return bad_frame(all, pos, 0);
        status = visit(all, &frame, pass == COUNT);
        fn = frame.common || pass != COMPARE ? 0 : function_of(all, &frame);
        if (status != CUVET_OK || fn == 0)
            continue;
        times = cv_u32s_at(&all->described, fn);
        status = *times == 1 ? check_description(all, &frame) : find_description(all, &frame, times);
    }
    return status;
}

static uint32_t section_of(const cv_cubin *cubin)
{
    for (uint32_t i = 1; i < cubin->sec.count; i++)
        if (cv_cubin_sec(cubin, i)->role == CV_ROLE_DEBUG &&
            cv_span_eq_str(cv_cubin_sec(cubin, i)->name, ".debug_frame"))
            return i;
    return 0;
}

/* A common part may also be that of the capsule. */
static bool keep_capsule(framer *all)
{
    const cv_cubin *cubin = all->prove->in;
    cv_frame frame = { .end = 0 };
    cv_dwarf_bad bad;
    uint64_t i = 1;

    while (i < cubin->sec.count && !cv_span_eq_str(cv_cubin_sec(cubin, i)->name, ".nv.merc.debug_frame"))
        i++;
    all->before = i < cubin->sec.count ? cv_cubin_body(cubin, i) : cv_span_of(NULL, 0, 0);
    while (frame.end < all->before.len && cv_frame_read(all->before, frame.end, &frame, &bad))
        if (frame.common && !keep_text(all, &frame))
            return false;
    return true;
}

static cuvet_status read_all(framer *all)
{
    cuvet_status status = CUVET_OK;

    for (unsigned pass = COUNT; pass < PASSES && !all->strange; pass++) {
        all->n_common = 0;
        for (uint32_t obj = 0; obj < all->prove->facts->in.count && status == CUVET_OK; obj++) {
            cv_prove_open(all->prove, obj);
            all->sec = section_of(all->prove->in);
            if (all->sec != 0)
                status = read_section(all, pass);
            if (status == CUVET_OK && pass == MARK && all->texts.list.count != 0 && !keep_capsule(all))
                status = cv_nomem(all->prove->ctx, 0);
        }
    }
    all->prove->strange_frames = all->strange;
    if (all->strange)
        return status;
    for (uint64_t i = 0; i < all->described.count && status == CUVET_OK; i++) {
        uint32_t times = *cv_u32s_get(&all->described, i);

        if (times > 1 && times < TOLD)
            status = cv_prove_fail(all->prove, CV_R_LINK_PROVE_FRAME, CUVET_P_SYMBOL, i, 0, i, all->pos);
    }
    return status == CUVET_OK && all->pos != all->after.len
               ? cv_prove_fail(all->prove, CV_R_LINK_PROVE_FRAME, CUVET_P_SECTION, all->out, 0, all->pos,
                               all->after.len)
               : status;
}

cuvet_status cv_prove_frames(cv_prove *prove)
{
    framer all = { .prove = prove, .out = section_of(prove->facts->result) };
    cuvet_status status;

    if (!prove->facts->rebuilt)
        return CUVET_OK;
    cv_names_init(&all.texts, prove->facts->key0, prove->facts->key1);
    all.after = cv_cubin_body(prove->facts->result, all.out);
    status = cv_u32s_fill(&prove->ctx->mem, &all.described, prove->facts->result->n_syms)
                 ? read_all(&all)
                 : cv_nomem(prove->ctx, 0);
    cv_u32s_free(&prove->ctx->mem, &all.described);
    cv_u8s_free(&prove->ctx->mem, &all.unsure);
    cv_names_free(&prove->ctx->mem, &all.texts);
    return status;
}
