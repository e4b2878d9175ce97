/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "intake/probe.h"

#include "format/archive/read.h"
#include "format/elf/read.h"
#include "format/fatbin/read.h"
#include "format/hostobj/read.h"
#include "format/ptx/read.h"
#include "intake/kind_fatbin_agree.h"
#include "intake/locate.h"

/* The same value heads the structure before the present container (CV_FATBIN_OLD_MAGIC): the reference takes
 * it for NVVM IR, at 0 or behind four zero bytes, and so does this. */
#define NVVM_MAGIC      CV_FATBIN_OLD_MAGIC
#define NVVM_PAD        UINT64_C(4)

#define BYTE_ORDER_MARK 0xBFBBEFu

typedef struct probe_look {
    cv_span span;
    bool lenient;
    uint64_t probe;
    cuvet_content_info *out;
    cv_class_why *why;
} probe_look;

static cuvet_status say(probe_look *look, cuvet_status status, cv_class_why why)
{
    why.off += look->span.off;
    *look->why = why;
    return status;
}

/* How a look ends. A refusal leaves nothing but the type behind. */
static cuvet_status unknown(probe_look *look, cv_rule rule, uint64_t at, uint64_t got, uint64_t want)
{
    *look->out = (cuvet_content_info){ 0 };
    return say(look, CUVET_E_UNKNOWN, (cv_class_why){ rule, at, 0, got, want });
}

static cuvet_status cut(probe_look *look, cuvet_kind type, cv_class_why why)
{
    *look->out = (cuvet_content_info){ .type = type };
    return say(look, CUVET_E_TRUNCATED, why);
}

static cuvet_status broken(probe_look *look, cuvet_kind type, cv_class_why why)
{
    *look->out = (cuvet_content_info){ .type = type };
    return say(look, CUVET_E_MALFORMED, why);
}

/* Too short: of its bytes, 'want' are needed. */
static cuvet_status cut_short(probe_look *look, cuvet_kind type, cv_rule rule, uint64_t want)
{
    return cut(look, type, (cv_class_why){ rule, 0, look->span.len, look->span.len, want });
}

static cuvet_status found(probe_look *look, cuvet_kind type)
{
    look->out->type = type;
    look->out->length = look->span.len - look->out->off;
    return CUVET_OK;
}

/* Up to eight bytes at the place, for a message. */
static uint64_t peek(cv_span span, uint64_t at)
{
    uint64_t value = 0;

    for (uint64_t i = 8; i > 0; i--)
        value = value << 8 | cv_u8_at(span, at + i - 1);
    return value;
}

static cuvet_status look_fatbin(probe_look *look)
{
    uint64_t count = look->span.len, hs = cv_u16_at(look->span, 6), size = cv_u64_at(look->span, 8);
    uint64_t version = count == 5 ? cv_u8_at(look->span, 4) : cv_u16_at(look->span, 4);
    bool fits = count >= CV_FATBIN_HEADER && hs >= CV_FATBIN_HEADER && hs <= count && size <= count - hs;

    if (count > 4 && version != 1)
        return unknown(look, CV_R_CLASS_FATBIN_VERSION, 4, version, 1);
    if (fits || (look->lenient && count >= CV_CLASS_FATBIN_LENIENT)) {
        (void)found(look, CUVET_K_FATBIN);
        look->out->length = fits ? hs + size : count;
        return CUVET_OK;
    }
    if (count < CV_FATBIN_HEADER)
        return cut_short(look, CUVET_K_FATBIN, CV_R_CLASS_FATBIN_SHORT, CV_FATBIN_HEADER);
    if (hs < CV_FATBIN_HEADER || hs > count)
        return cut(look, CUVET_K_FATBIN, (cv_class_why){ CV_R_CLASS_FATBIN_HEADER, 6, 2, hs, count });
    return cut(look, CUVET_K_FATBIN, (cv_class_why){ CV_R_CLASS_FATBIN_SIZE, 8, 8, size, count - hs });
}

/* Architecture and kind: the layout hangs on OSABI, and there is none for another one. With both bits the
 * reference takes a file for one with a capsule. */
static void read_flags(probe_look *look)
{
    bool is32 = look->out->is32;
    uint8_t osabi = cv_u8_at(look->span, 7);
    uint32_t flags = cv_u32_at(look->span, cv_elf_ehdr_at(is32, CV_EH_FLAGS)); /* 0 when it is not there */
    bool mercury = cv_u16_at(look->span, cv_elf_ehdr_at(is32, CV_EH_TYPE)) == CV_ELF_MERCURY;

    if (osabi == CV_OSABI_CUDA) {
        look->out->sm = cv_elf_flags_sm(flags, true);
        look->out->capsule = cv_elf_flags_capsule(flags, true);
        mercury = mercury || cv_elf_flags_mercury(flags, true);
    } else if (osabi == CV_OSABI_LEGACY) {
        look->out->sm = cv_elf_flags_sm(flags, false);
        look->out->capsule = cv_elf_flags_capsule(flags, false);
        mercury = mercury || cv_elf_flags_mercury(flags, false);
    }
    look->out->mercury = mercury && !look->out->capsule;
}

/* What only a device ELF must have. */
static cuvet_status check_device(probe_look *look, uint64_t size)
{
    uint64_t at = cv_elf_ehdr_at(size == cv_elf_ehdr_size(true), CV_EH_EHSIZE);
    uint8_t osabi = cv_u8_at(look->span, 7);

    if (osabi != CV_OSABI_CUDA && osabi != CV_OSABI_LEGACY)
        return broken(look, CUVET_K_CUBIN,
                      (cv_class_why){ CV_R_CLASS_ELF_OSABI, 7, 1, osabi, CV_OSABI_CUDA });
    if (cv_u16_at(look->span, at) != size)
        return broken(look, CUVET_K_CUBIN,
                      (cv_class_why){ CV_R_CLASS_ELF_EHSIZE, at, 2, cv_u16_at(look->span, at), size });
    return CUVET_OK;
}

static cuvet_status check_elf(probe_look *look, cuvet_kind type)
{
    uint8_t cls = cv_u8_at(look->span, 4), data = cv_u8_at(look->span, 5), version = cv_u8_at(look->span, 6);
    uint64_t size = cv_elf_ehdr_size(cls == 1);

    if (cls != 1 && cls != 2)
        return broken(look, type, (cv_class_why){ CV_R_CLASS_ELF_CLASS, 4, 1, cls, 2 });
    if (look->span.len < size)
        return cut_short(look, type, CV_R_CLASS_ELF_SHORT, size);
    if (data != 1 && !(data == 2 && type == CUVET_K_HOST_ELF))
        return broken(look, type, (cv_class_why){ CV_R_CLASS_ELF_DATA, 5, 1, data, 1 });
    if (version != 1)
        return broken(look, type, (cv_class_why){ CV_R_CLASS_ELF_VERSION, 6, 1, version, 1 });
    return type == CUVET_K_CUBIN ? check_device(look, size) : CUVET_OK;
}

static cuvet_status look_elf(probe_look *look)
{
    uint8_t osabi = cv_u8_at(look->span, 7);
    bool device = cv_locate_is_device(look->span),
         swapped = device && cv_u16_at(look->span, 18) != CV_EM_CUDA;
    cuvet_kind type = device ? CUVET_K_CUBIN : CUVET_K_HOST_ELF;
    cuvet_status status = CUVET_OK;

    if (look->span.len < CV_CLASS_ELF_LENIENT) {
        /* Device code for all that is known, unless OSABI is there and says otherwise. */
        if (look->span.len <= 7 || osabi == CV_OSABI_CUDA || osabi == CV_OSABI_LEGACY)
            type = CUVET_K_CUBIN;
        return cut_short(look, type, CV_R_CLASS_ELF_SHORT, CV_CLASS_ELF_LENIENT);
    }
    if (!look->lenient || swapped) /* the reference does not see the machine in the other byte order */
        status = check_elf(look, type);
    if (status != CUVET_OK)
        return status;
    (void)found(look, type);
    look->out->is32 = cv_u8_at(look->span, 4) == 1;
    if (device)
        read_flags(look);
    return CUVET_OK;
}

static cuvet_status look_wrapper(probe_look *look)
{
    uint32_t version = cv_u32_at(look->span, 4);

    if (!look->lenient && look->span.len < CV_WRAPPER_SIZE)
        return cut_short(look, CUVET_K_WRAPPER, CV_R_CLASS_WRAPPER_SHORT, CV_WRAPPER_SIZE);
    if (!look->lenient && version != 1 && version != 2)
        return broken(look, CUVET_K_WRAPPER, (cv_class_why){ CV_R_CLASS_WRAPPER_VERSION, 4, 4, version, 2 });
    (void)found(look, CUVET_K_WRAPPER);
    look->out->length = cv_min(look->span.len, CV_WRAPPER_SIZE);
    return CUVET_OK;
}

/* All there is begins a magic and nothing else: 'least' bytes of it are needed to say so. One byte of text,
 * or zero bytes, begin many things. False: it does not. */
static bool look_short(probe_look *look, cuvet_status *status)
{
    static const struct {
        uint64_t value;
        uint64_t count, least;
        cuvet_kind type;
    } MAGICS[] = {
        { CV_FATBIN_MAGIC, 4, 2, CUVET_K_FATBIN },
        { CV_ELF_MAGIC, 4, 1, CUVET_K_CUBIN },
        { NVVM_MAGIC, 4, 2, CUVET_K_NVVM },
        { (uint64_t)NVVM_MAGIC << 32, 8, 6, CUVET_K_NVVM },
        { CV_LTOIR_MAGIC, 4, 2, CUVET_K_LTOIR },
        { CV_WRAPPER_MAGIC, 4, 2, CUVET_K_WRAPPER },
        { UINT64_C(0x0A3E686372613C21), 8, 2, CUVET_K_ARCHIVE }, /* "!<arch>\n" */
        { UINT64_C(0x0A3E6E6968743C21), 8, 2, CUVET_K_ARCHIVE }, /* "!<thin>\n" */
    };
    uint64_t count = look->span.len, have = peek(look->span, 0);

    for (size_t i = 0; i < CV_COUNT(MAGICS); i++) {
        uint64_t least = CV_AT(MAGICS, i).least, want = CV_AT(MAGICS, i).count;

        if (count >= least && count < want &&
            have == (CV_AT(MAGICS, i).value & ((UINT64_C(1) << 8 * count) - 1))) {
            *status = cut_short(look, CV_AT(MAGICS, i).type, CV_R_CLASS_MAGIC_SHORT, want);
            return true;
        }
    }
    return false;
}

/* The probe ends before the text does, and all of it could still be a beginning of PTX. */
static cuvet_status too_long(probe_look *look, uint64_t at)
{
    *look->out = (cuvet_content_info){ 0 };
    return say(look, CUVET_E_LIMIT, (cv_class_why){ CV_R_LIMIT_PTX_PROBE, at, 0, at, look->probe });
}

/* Text from .version on, all of it inside the probe. Zero bytes may end it, and nothing else may follow them.
 */
static cuvet_status check_text(probe_look *look, cv_span word, uint64_t at)
{
    uint64_t nul;

    if (!cv_ptx_is_blank(cv_u8_at(word, at)))
        return broken(look, CUVET_K_PTX,
                      (cv_class_why){ CV_R_CLASS_PTX_VERSION, at, 1, cv_u8_at(word, at), ' ' });
    nul = at + cv_span_find_byte(cv_span_tail(word, at), 0);
    if (nul + cv_span_find_nonzero(cv_span_tail(word, nul)) != word.len)
        return unknown(look, CV_R_CLASS_PTX_NUL, nul, look->span.off + nul, 0);
    return found(look, CUVET_K_PTX);
}

/* Behind blanks and comments: is it .version? */
static cuvet_status look_version(probe_look *look, cv_span word, uint64_t at)
{
    cv_span rest = cv_span_tail(word, at);
    cv_ptx_word first = cv_ptx_first(rest);
    uint64_t need = look->lenient ? CV_PTX_VERSION_LEN : CV_PTX_VERSION_LEN + 1; /* a blank */
    bool open = first == CV_PTX_WORD_CUT || (first == CV_PTX_WORD_VERSION && rest.len < need);

    if (open && word.len != look->span.len)
        return too_long(look, word.len);
    if (rest.len == 0)
        return unknown(look, CV_R_CLASS_PTX_BLANK, at, at, 0);
    if (open && rest.len > 1)
        return cut(look, CUVET_K_PTX, (cv_class_why){ CV_R_CLASS_MAGIC_SHORT, at, rest.len, rest.len, need });
    if (first != CV_PTX_WORD_VERSION)
        return unknown(look, CV_R_CLASS_UNKNOWN, at, peek(look->span, at), 0);
    return look->lenient ? found(look, CUVET_K_PTX) : check_text(look, word, at + CV_PTX_VERSION_LEN);
}

/* PTX comes last: it is the only one that walks. */
static cuvet_status walk_text(probe_look *look, bool loose)
{
    cv_span word = look->span, skipped;
    uint64_t at = 0, nul;
    bool closed;

    word.len = cv_min(word.len, look->probe);
    closed = cv_ptx_skip(word, loose, &at);
    skipped = word;
    if (closed)
        skipped.len = at;
    nul = cv_span_find_byte(skipped, 0); /* a comment hides it */
    if (nul < skipped.len)
        return unknown(look, CV_R_CLASS_PTX_NUL, nul, look->span.off + nul, 0);
    if (closed)
        return look_version(look, word, at);
    if (word.len != look->span.len)
        return too_long(look, word.len);
    return unknown(look, CV_R_CLASS_PTX_COMMENT, at, look->span.off + at, 0);
}

static cuvet_status look_text(probe_look *look)
{
    cuvet_status status;

    if ((peek(look->span, 0) & 0xFFFFFF) == BYTE_ORDER_MARK)
        return unknown(look, CV_R_CLASS_PTX_MARK, 0, BYTE_ORDER_MARK, 0);
    status = walk_text(look, false);
    if (status != CUVET_OK && look->lenient) {
        /* A comment may be read in two ways: either will do, and the first says what is wrong. */
        cv_class_why why = *look->why;
        cuvet_kind type = look->out->type;

        if (walk_text(look, true) == CUVET_OK)
            return CUVET_OK;
        *look->why = why;
        *look->out = (cuvet_content_info){ .type = type };
    }
    return status;
}

static cuvet_status dispatch(probe_look *look)
{
    uint32_t first = cv_u32_at(look->span, 0);
    cv_ar_kind ar;
    cuvet_status status;

    if (look->span.len == 0)
        return unknown(look, CV_R_CLASS_EMPTY, 0, 0, 0);
    if (first == CV_FATBIN_MAGIC)
        return look_fatbin(look);
    if (first == CV_ELF_MAGIC)
        return look_elf(look);
    if (first == NVVM_MAGIC)
        return found(look, CUVET_K_NVVM);
    if (first == 0 && cv_u32_at(look->span, NVVM_PAD) == NVVM_MAGIC) {
        look->out->off = NVVM_PAD;
        return found(look, CUVET_K_NVVM);
    }
    if (first == CV_LTOIR_MAGIC)
        return found(look, CUVET_K_LTOIR);
    if (first == CV_WRAPPER_MAGIC)
        return look_wrapper(look);
    ar = cv_ar_probe(look->span);
    look->out->thin = ar == CV_AR_THIN;
    if (ar != CV_AR_NONE)
        return found(look, CUVET_K_ARCHIVE);
    return look_short(look, &status) ? status : look_text(look);
}

cuvet_status cv_classify_look(cv_span span, uint64_t probe, unsigned flags, cuvet_content_info *out,
                              cv_class_why *why)
{
    probe_look look = { span, (flags & CUVET_CLASSIFY_LENIENT) != 0, probe, out, why };

    *out = (cuvet_content_info){ 0 };
    return dispatch(&look);
}

cuvet_status cv_classify(cv_ctx *ctx, cv_span span, unsigned flags, cuvet_content_info *out)
{
    cv_class_why why = { 0 };
    cuvet_status st = cv_classify_look(span, ctx->lim.ptx_probe, flags, out, &why);

    if (st != CUVET_OK)
        cv_report(ctx, why.rule, why.off, why.len, why.got, why.want);
    return st;
}

uint64_t cv_class_number(cuvet_kind kind)
{
    switch (kind) {
    case CUVET_K_NVVM: return 1;
    case CUVET_K_FATBIN: return 2;
    case CUVET_K_CUBIN: return 3;
    case CUVET_K_PTX: return 4;
    case CUVET_K_WRAPPER: return 100;
    case CUVET_K_LTOIR: return 101;
    case CUVET_K_ARCHIVE: return 102;
    case CUVET_K_HOST_ELF: return 103;
    case CUVET_K_MERCURY:
    case CUVET_K_BITCODE:
    case CUVET_K_NONE: break;
    }
    return 0;
}
