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

typedef struct look {
    cv_span s;
    bool lenient;
    uint64_t probe;
    cuvet_content_info *out;
    cv_class_why *why;
} look;

static cuvet_status say(look *l, cuvet_status s, cv_class_why why)
{
    why.off += l->s.off;
    *l->why = why;
    return s;
}

/* How a look ends. A refusal leaves nothing but the type behind. */
static cuvet_status unknown(look *l, cv_rule rule, uint64_t at, uint64_t got, uint64_t want)
{
    *l->out = (cuvet_content_info){ 0 };
    return say(l, CUVET_E_UNKNOWN, (cv_class_why){ rule, at, 0, got, want });
}

static cuvet_status cut(look *l, cuvet_kind type, cv_class_why why)
{
    *l->out = (cuvet_content_info){ .type = type };
    return say(l, CUVET_E_TRUNCATED, why);
}

static cuvet_status broken(look *l, cuvet_kind type, cv_class_why why)
{
    *l->out = (cuvet_content_info){ .type = type };
    return say(l, CUVET_E_MALFORMED, why);
}

/* Too short: of its bytes, 'want' are needed. */
static cuvet_status cut_short(look *l, cuvet_kind type, cv_rule rule, uint64_t want)
{
    return cut(l, type, (cv_class_why){ rule, 0, l->s.len, l->s.len, want });
}

static cuvet_status found(look *l, cuvet_kind type)
{
    l->out->type = type;
    l->out->length = l->s.len - l->out->off;
    return CUVET_OK;
}

/* Up to eight bytes at the place, for a message. */
static uint64_t peek(cv_span s, uint64_t at)
{
    uint64_t v = 0;

    for (uint64_t i = 8; i > 0; i--)
        v = v << 8 | cv_u8_at(s, at + i - 1);
    return v;
}

static cuvet_status look_fatbin(look *l)
{
    uint64_t n = l->s.len, hs = cv_u16_at(l->s, 6), size = cv_u64_at(l->s, 8);
    uint64_t version = n == 5 ? cv_u8_at(l->s, 4) : cv_u16_at(l->s, 4);
    bool fits = n >= CV_FATBIN_HEADER && hs >= CV_FATBIN_HEADER && hs <= n && size <= n - hs;

    if (n > 4 && version != 1)
        return unknown(l, CV_R_CLASS_FATBIN_VERSION, 4, version, 1);
    if (fits || (l->lenient && n >= CV_CLASS_FATBIN_LENIENT)) {
        (void)found(l, CUVET_K_FATBIN);
        l->out->length = fits ? hs + size : n;
        return CUVET_OK;
    }
    if (n < CV_FATBIN_HEADER)
        return cut_short(l, CUVET_K_FATBIN, CV_R_CLASS_FATBIN_SHORT, CV_FATBIN_HEADER);
    if (hs < CV_FATBIN_HEADER || hs > n)
        return cut(l, CUVET_K_FATBIN, (cv_class_why){ CV_R_CLASS_FATBIN_HEADER, 6, 2, hs, n });
    return cut(l, CUVET_K_FATBIN, (cv_class_why){ CV_R_CLASS_FATBIN_SIZE, 8, 8, size, n - hs });
}

/* Architecture and kind: the layout hangs on OSABI, and there is none for another one. With both bits the
 * reference takes a file for one with a capsule. */
static void read_flags(look *l)
{
    bool is32 = l->out->is32;
    uint8_t osabi = cv_u8_at(l->s, 7);
    uint32_t f = cv_u32_at(l->s, cv_elf_ehdr_at(is32, CV_EH_FLAGS)); /* 0 when it is not there */
    bool mercury = cv_u16_at(l->s, cv_elf_ehdr_at(is32, CV_EH_TYPE)) == CV_ELF_MERCURY;

    if (osabi == CV_OSABI_CUDA) {
        l->out->sm = cv_elf_flags_sm(f, true);
        l->out->capsule = cv_elf_flags_capsule(f, true);
        mercury = mercury || cv_elf_flags_mercury(f, true);
    } else if (osabi == CV_OSABI_LEGACY) {
        l->out->sm = cv_elf_flags_sm(f, false);
        l->out->capsule = cv_elf_flags_capsule(f, false);
        mercury = mercury || cv_elf_flags_mercury(f, false);
    }
    l->out->mercury = mercury && !l->out->capsule;
}

/* What only a device ELF must have. */
static cuvet_status check_device(look *l, uint64_t size)
{
    uint64_t at = cv_elf_ehdr_at(size == cv_elf_ehdr_size(true), CV_EH_EHSIZE);
    uint8_t osabi = cv_u8_at(l->s, 7);

    if (osabi != CV_OSABI_CUDA && osabi != CV_OSABI_LEGACY)
        return broken(l, CUVET_K_CUBIN, (cv_class_why){ CV_R_CLASS_ELF_OSABI, 7, 1, osabi, CV_OSABI_CUDA });
    if (cv_u16_at(l->s, at) != size)
        return broken(l, CUVET_K_CUBIN,
                      (cv_class_why){ CV_R_CLASS_ELF_EHSIZE, at, 2, cv_u16_at(l->s, at), size });
    return CUVET_OK;
}

static cuvet_status check_elf(look *l, cuvet_kind type)
{
    uint8_t cls = cv_u8_at(l->s, 4), data = cv_u8_at(l->s, 5), version = cv_u8_at(l->s, 6);
    uint64_t size = cv_elf_ehdr_size(cls == 1);

    if (cls != 1 && cls != 2)
        return broken(l, type, (cv_class_why){ CV_R_CLASS_ELF_CLASS, 4, 1, cls, 2 });
    if (l->s.len < size)
        return cut_short(l, type, CV_R_CLASS_ELF_SHORT, size);
    if (data != 1 && !(data == 2 && type == CUVET_K_HOST_ELF))
        return broken(l, type, (cv_class_why){ CV_R_CLASS_ELF_DATA, 5, 1, data, 1 });
    if (version != 1)
        return broken(l, type, (cv_class_why){ CV_R_CLASS_ELF_VERSION, 6, 1, version, 1 });
    return type == CUVET_K_CUBIN ? check_device(l, size) : CUVET_OK;
}

static cuvet_status look_elf(look *l)
{
    uint8_t osabi = cv_u8_at(l->s, 7);
    bool device = cv_locate_is_device(l->s), swapped = device && cv_u16_at(l->s, 18) != CV_EM_CUDA;
    cuvet_kind type = device ? CUVET_K_CUBIN : CUVET_K_HOST_ELF;
    cuvet_status s = CUVET_OK;

    if (l->s.len < CV_CLASS_ELF_LENIENT) {
        /* Device code for all that is known, unless OSABI is there and says otherwise. */
        if (l->s.len <= 7 || osabi == CV_OSABI_CUDA || osabi == CV_OSABI_LEGACY)
            type = CUVET_K_CUBIN;
        return cut_short(l, type, CV_R_CLASS_ELF_SHORT, CV_CLASS_ELF_LENIENT);
    }
    if (!l->lenient || swapped) /* the reference does not see the machine in the other byte order */
        s = check_elf(l, type);
    if (s != CUVET_OK)
        return s;
    (void)found(l, type);
    l->out->is32 = cv_u8_at(l->s, 4) == 1;
    if (device)
        read_flags(l);
    return CUVET_OK;
}

static cuvet_status look_wrapper(look *l)
{
    uint32_t version = cv_u32_at(l->s, 4);

    if (!l->lenient && l->s.len < CV_WRAPPER_SIZE)
        return cut_short(l, CUVET_K_WRAPPER, CV_R_CLASS_WRAPPER_SHORT, CV_WRAPPER_SIZE);
    if (!l->lenient && version != 1 && version != 2)
        return broken(l, CUVET_K_WRAPPER, (cv_class_why){ CV_R_CLASS_WRAPPER_VERSION, 4, 4, version, 2 });
    (void)found(l, CUVET_K_WRAPPER);
    l->out->length = cv_min(l->s.len, CV_WRAPPER_SIZE);
    return CUVET_OK;
}

/* All there is begins a magic and nothing else: 'least' bytes of it are needed to say so. One byte of text,
 * or zero bytes, begin many things. False: it does not. */
static bool look_short(look *l, cuvet_status *s)
{
    static const struct {
        uint64_t value;
        uint64_t n, least;
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
    uint64_t n = l->s.len, have = peek(l->s, 0);

    for (size_t i = 0; i < CV_COUNT(MAGICS); i++) {
        uint64_t least = CV_AT(MAGICS, i).least, want = CV_AT(MAGICS, i).n;

        if (n >= least && n < want && have == (CV_AT(MAGICS, i).value & ((UINT64_C(1) << 8 * n) - 1))) {
            *s = cut_short(l, CV_AT(MAGICS, i).type, CV_R_CLASS_MAGIC_SHORT, want);
            return true;
        }
    }
    return false;
}

/* The probe ends before the text does, and all of it could still be a beginning of PTX. */
static cuvet_status too_long(look *l, uint64_t at)
{
    *l->out = (cuvet_content_info){ 0 };
    return say(l, CUVET_E_LIMIT, (cv_class_why){ CV_R_LIMIT_PTX_PROBE, at, 0, at, l->probe });
}

/* Text from .version on, all of it inside the probe. Zero bytes may end it, and nothing else may follow them.
 */
static cuvet_status check_text(look *l, cv_span w, uint64_t at)
{
    uint64_t nul;

    if (!cv_ptx_is_blank(cv_u8_at(w, at)))
        return broken(l, CUVET_K_PTX, (cv_class_why){ CV_R_CLASS_PTX_VERSION, at, 1, cv_u8_at(w, at), ' ' });
    nul = at + cv_span_find_byte(cv_span_tail(w, at), 0);
    if (nul + cv_span_find_nonzero(cv_span_tail(w, nul)) != w.len)
        return unknown(l, CV_R_CLASS_PTX_NUL, nul, l->s.off + nul, 0);
    return found(l, CUVET_K_PTX);
}

/* Behind blanks and comments: is it .version? */
static cuvet_status look_version(look *l, cv_span w, uint64_t at)
{
    cv_span rest = cv_span_tail(w, at);
    cv_ptx_word first = cv_ptx_first(rest);
    uint64_t need = l->lenient ? CV_PTX_VERSION_LEN : CV_PTX_VERSION_LEN + 1; /* a blank */
    bool open = first == CV_PTX_WORD_CUT || (first == CV_PTX_WORD_VERSION && rest.len < need);

    if (open && w.len != l->s.len)
        return too_long(l, w.len);
    if (rest.len == 0)
        return unknown(l, CV_R_CLASS_PTX_BLANK, at, at, 0);
    if (open && rest.len > 1)
        return cut(l, CUVET_K_PTX, (cv_class_why){ CV_R_CLASS_MAGIC_SHORT, at, rest.len, rest.len, need });
    if (first != CV_PTX_WORD_VERSION)
        return unknown(l, CV_R_CLASS_UNKNOWN, at, peek(l->s, at), 0);
    return l->lenient ? found(l, CUVET_K_PTX) : check_text(l, w, at + CV_PTX_VERSION_LEN);
}

/* PTX comes last: it is the only one that walks. */
static cuvet_status walk_text(look *l, bool loose)
{
    cv_span w = l->s, skipped;
    uint64_t at = 0, nul;
    bool closed;

    w.len = cv_min(w.len, l->probe);
    closed = cv_ptx_skip(w, loose, &at);
    skipped = w;
    if (closed)
        skipped.len = at;
    nul = cv_span_find_byte(skipped, 0); /* a comment hides it */
    if (nul < skipped.len)
        return unknown(l, CV_R_CLASS_PTX_NUL, nul, l->s.off + nul, 0);
    if (closed)
        return look_version(l, w, at);
    if (w.len != l->s.len)
        return too_long(l, w.len);
    return unknown(l, CV_R_CLASS_PTX_COMMENT, at, l->s.off + at, 0);
}

static cuvet_status look_text(look *l)
{
    cuvet_status s;

    if ((peek(l->s, 0) & 0xFFFFFF) == BYTE_ORDER_MARK)
        return unknown(l, CV_R_CLASS_PTX_MARK, 0, BYTE_ORDER_MARK, 0);
    s = walk_text(l, false);
    if (s != CUVET_OK && l->lenient) {
        /* A comment may be read in two ways: either will do, and the first says what is wrong. */
        cv_class_why why = *l->why;
        cuvet_kind type = l->out->type;

        if (walk_text(l, true) == CUVET_OK)
            return CUVET_OK;
        *l->why = why;
        *l->out = (cuvet_content_info){ .type = type };
    }
    return s;
}

static cuvet_status dispatch(look *l)
{
    uint32_t first = cv_u32_at(l->s, 0);
    cv_ar_kind ar;
    cuvet_status s;

    if (l->s.len == 0)
        return unknown(l, CV_R_CLASS_EMPTY, 0, 0, 0);
    if (first == CV_FATBIN_MAGIC)
        return look_fatbin(l);
    if (first == CV_ELF_MAGIC)
        return look_elf(l);
    if (first == NVVM_MAGIC)
        return found(l, CUVET_K_NVVM);
    if (first == 0 && cv_u32_at(l->s, NVVM_PAD) == NVVM_MAGIC) {
        l->out->off = NVVM_PAD;
        return found(l, CUVET_K_NVVM);
    }
    if (first == CV_LTOIR_MAGIC)
        return found(l, CUVET_K_LTOIR);
    if (first == CV_WRAPPER_MAGIC)
        return look_wrapper(l);
    ar = cv_ar_probe(l->s);
    l->out->thin = ar == CV_AR_THIN;
    if (ar != CV_AR_NONE)
        return found(l, CUVET_K_ARCHIVE);
    return look_short(l, &s) ? s : look_text(l);
}

cuvet_status cv_classify_look(cv_span s, uint64_t probe, unsigned flags, cuvet_content_info *out,
                              cv_class_why *why)
{
    look l = { s, (flags & CUVET_CLASSIFY_LENIENT) != 0, probe, out, why };

    *out = (cuvet_content_info){ 0 };
    return dispatch(&l);
}

cuvet_status cv_classify(cv_ctx *x, cv_span s, unsigned flags, cuvet_content_info *out)
{
    cv_class_why why = { 0 };
    cuvet_status st = cv_classify_look(s, x->lim.ptx_probe, flags, out, &why);

    if (st != CUVET_OK)
        cv_report(x, why.rule, why.off, why.len, why.got, why.want);
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
