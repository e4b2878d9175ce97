/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "intake/unit.h"

#include "bytes/search.h"
#include "cubin/admit.h"
#include "cubin/producer.h"
#include "format/elf/read.h"
#include "format/ptx/read.h"
#include "intake/kind_code.h"
#include "intake/kind_fatbin_agree.h"
#include "intake/locate.h"

void cv_worker_init(cv_worker *w, const cuvet_alloc *alloc, const cuvet_limits *lim)
{
    cv_ctx_init(&w->x, alloc, lim);
    w->codec = (cv_codec){ 0 };
    w->head = w->stored = w->unpacked = (cv_block){ 0 };
    w->window = (cv_window){ 0 };
    cv_cubin_init(&w->cubin);
}

void cv_worker_free(cv_worker *w)
{
    cv_cubin_free(&w->x, &w->cubin);
    cv_block_free(&w->x, &w->head);
    cv_block_free(&w->x, &w->stored);
    cv_block_free(&w->x, &w->unpacked);
    cv_window_free(&w->x, &w->window);
    cv_codec_free(&w->x, &w->codec);
}

CV_BUF_BEGIN
static uint32_t seen_so_far(const uint32_t *seen, cuvet_rule rule)
{
    return rule < CV_N_RULES ? seen[rule] : 0;
}
CV_BUF_END

CV_BUF_BEGIN
static bool keep_totals(const cv_ctx *x, cv_result *r)
{
    bool ok = true;

    for (uint32_t i = 0; ok && i < CV_N_RULES; i++)
        ok = x->seen[i] == 0 || cv_keys_push(r->mem, &r->totals, (cv_key){ i, x->seen[i] });
    return ok;
}
CV_BUF_END

/* A diagnostic that cannot be kept makes the unit fail: nothing is ever dropped silently. */
static void keep_diag(void *user, const cuvet_diag *d)
{
    cv_result *r = user;

    if (r->seen && seen_so_far(r->seen, d->rule) >= r->cap)
        return; /* counted, and would not be delivered */
    if (!cv_diags_push(r->mem, &r->diags, *d))
        r->status = CUVET_E_NOMEM;
    else if (d->rule == CV_R_LIMIT_LIVE)
        r->live_said = true;
}

typedef struct job {
    cv_worker *w;
    cv_ctx *x;
    const cuvet_source *src;
    const cv_unit *u;
    const cv_examine_options *opt;
    cv_result *r;
    cv_span near;   /* all of a small unit, or empty */
    cv_span stored; /* its payload, … */
    bool loaded;    /* … once that was read */
} job;

/* The content of a unit lies in decompressed bytes; whatever is reported there is inner. */
static void enter(const job *j, uint64_t anchor, bool inner)
{
    if (inner)
        cv_ctx_enter_inner(j->x, anchor);
}

static void leave(const job *j)
{
    if (!j->opt->inner)
        cv_ctx_leave_inner(j->x);
}

static void examine_elf(const job *j, const cv_fatbin_member *m, cv_span content, bool inner)
{
    cv_result *r = j->r;
    cv_ledger *ledger = !j->opt->ledger ? NULL : inner ? &r->inner : &r->file;
    uint64_t extent = 0;
    cuvet_status s;

    if (m)
        cv_path_push(j->x, CUVET_P_ELF, false, 0);
    enter(j, j->u->off + j->u->header_size, inner);
    s = cv_cubin_examine(j->x, &j->w->cubin, content, ledger, &extent);
    if (s == CUVET_OK && j->opt->admit)
        cv_admit_note(j->x, &j->w->cubin, j->opt->admit);
    leave(j);
    if (m)
        cv_path_pop(j->x);
    if (s == CUVET_E_NOMEM)
        r->status = s;
    if (s != CUVET_OK) {
        r->item.unpacked_size = content.len;
        if (ledger)
            cv_claims_clear(&ledger->claims); /* half an account is none */
        return;
    }
    r->cubin = true;
    r->claimed = ledger != NULL;
    r->item.unpacked_size = extent;
    r->item.kernels = j->w->cubin.n_kernels;
    r->item.producer = (cuvet_producer){ cv_tool_name((cv_tool)j->w->cubin.producer.tool),
                                         j->w->cubin.producer.release, j->w->cubin.producer.inferred };
    r->item.arch = j->w->cubin.sm;
    r->payload.len = extent;
    if (!m) {
        r->item.suffix = cv_admit_suffix(&j->w->cubin);
        cv_cubin_check_tail(j->x, content, extent, 0);
        cv_ledger_claim(j->x, ledger, content.off + extent, content.len - extent, CV_CLAIM_ELF_UNCLAIMED, 0,
                        false);
        return;
    }
    r->item.arch = m->arch;
    cv_ctx_begin_profile(j->x, cv_fatbin_writer(m), false);
    cv_agree_elf(j->x, m, j->u->off, &j->w->cubin);
    if (!inner)
        cv_cubin_check_tail(j->x, content, extent, 7); /* padded to 8 */
    else if (extent != content.len)
        cv_report(j->x, CV_R_AGREE_EXTENT, j->u->off + CV_FB_AT_MEMBER_UNPACKED_SIZE, 8, extent, content.len);
}

static void examine_ptx(const job *j, const cv_fatbin_member *m, cv_span content, bool inner)
{
    cv_ptx_form form = !m ? CV_PTX_BARE : inner ? CV_PTX_MEMBER : CV_PTX_PADDED;
    uint64_t errors = j->x->n_errors;
    cv_result *r = j->r;
    cuvet_status s;
    cv_ptx p;

    if (m)
        cv_path_push(j->x, CUVET_P_PTX, false, 0);
    enter(j, j->u->off + j->u->header_size, inner);
    s = cv_ptx_read(j->x, content, form, &p);
    leave(j);
    if (m)
        cv_path_pop(j->x);
    if (s != CUVET_OK)
        return;
    r->text = j->x->n_errors == errors; /* no byte of it can be part of a magic */
    /* The text alone is what a person wants to read; its NUL and padding stay behind. */
    r->payload.len = p.text_len;
    r->item.unpacked_size = m ? p.text_len + 1 : content.len;
    if (m) {
        cv_agree_ptx(j->x, m, j->u->off, &p);
        return;
    }
    r->item.arch = p.target;
    r->item.suffix = p.suffix;
    r->item.major = (uint16_t)p.major;
    r->item.minor = (uint16_t)p.minor;
}

/* More device code in the content: walked after this unit was delivered. Until then only the place is kept;
 * what was decompressed is unpacked once more, so that a batch of such units never holds more than one
 * content. What is stored raw is walked where it lies. */
static void nest(const job *j, cv_span content, bool inner, uint64_t from)
{
    j->r->nested = true;
    j->r->nested_off = from;
    j->r->nested_len = content.len - from;
    j->r->nested_inner = inner;
    if (inner && j->opt->ledger &&
        !j->r->claimed) /* no part of it has an owner; from there on the next level has */
        cv_ledger_claim(j->x, &j->r->inner, content.off, from, CV_CLAIM_PAYLOAD, 0, false);
    if (!inner || !j->opt->take)
        return;
    j->r->content = j->w->unpacked;
    j->r->content.span = content;
    j->w->unpacked = (cv_block){ 0 };
}

/* Stored bytes of a compressed ELF may keep its header verbatim: there only a container counts. */
static bool is_hidden(cv_span content, uint64_t at, bool packed)
{
    cv_span head = cv_span_tail(content, at), first = cv_span_tail(head, cv_u16_at(head, 6));

    if (cv_u32_at(head, 0) == CV_FATBIN_MAGIC)
        return cv_u32_at(head, 4) == CV_FATBIN_TAIL ||
               (cv_fatbin_get(head, CV_FB_FIELD_CONTAINER_VERSION) == CV_FATBIN_VERSION &&
                cv_fatbin_begins_member(first, first.len));
    return at != 0 && !packed && cv_locate_is_device(head);
}

/* A hit costs as much as the search of so many bytes. */
#define HIT_WORK UINT64_C(32)

/* Look for a container or a device ELF in [from, end) of the content: that is paid for. */
static void find_in(const job *j, cv_span content, bool inner, bool packed, uint64_t from, uint64_t end)
{
    cv_span part = content;
    uint64_t at = from;

    part.len = cv_min(end, content.len);
    if (!cv_work(j->x, (part.len - cv_min(from, part.len)) / 16, content.off + from))
        return;
    while (!j->r->nested) {
        at = cv_span_find_u32(part, at, CV_FATBIN_MAGIC, CV_ELF_MAGIC);
        if (at >= part.len || !cv_work(j->x, HIT_WORK, content.off + at))
            return;
        if (is_hidden(content, at, packed)) {
            enter(j, j->u->off + j->u->header_size, inner);
            cv_report(j->x, CV_R_FATBIN_HIDDEN, content.off + at, 8, at, 0);
            leave(j);
            nest(j, content, inner, at);
        }
        at += 4;
    }
}

/* Bytes that a format leaves free (debug data, string tables, opaque payloads) can hold a whole container:
 * they are searched at every offset, as the file itself is. Unpacked machine code is not: reading it once
 * more would cost more than everything else that is done with it. Whatever lies outside of it is. */
static void find_hidden(const job *j, cv_span content, bool inner)
{
    const cv_cubin *c = &j->w->cubin;
    uint64_t pos = 0;

    if (j->r->text)
        return;
    for (uint64_t k = 0; inner && j->r->cubin && k < c->by_off.n && !j->r->nested; k++) {
        uint64_t i = cv_keys_get(&c->by_off, k)->index;
        const cv_sec *s = i < c->sec.n ? cv_cubin_sec(c, i) : NULL;

        if (!s || !s->in_file || (s->role != CV_ROLE_TEXT && s->role != CV_ROLE_CAPMERC_TEXT) ||
            s->h.off < pos)
            continue;
        find_in(j, content, inner, false, pos, s->h.off + 3); /* a magic may end in the code */
        pos = s->h.off + s->h.size;
    }
    find_in(j, content, inner, false, pos, content.len);
}

static void examine_content(const job *j, const cv_fatbin_member *m, cv_span content, bool inner)
{
    cv_result *r = j->r;

    r->payload = content;
    r->item.examined = true;
    if (cv_u32_at(content, 0) == CV_FATBIN_MAGIC) {
        cv_report(j->x, CV_R_FATBIN_NESTED, j->u->off + j->u->header_size, 0, 0, 0);
        r->item.kind = CUVET_K_FATBIN;
        nest(j, content, inner, 0);
        r->nested_whole = true;
        return;
    }
    if (!cv_agree_kind(j->x, m, j->u->off, content))
        return;
    if (m->kind == CV_FB_KIND_ELF) {
        examine_elf(j, m, content, inner);
    } else if (m->kind == CV_FB_KIND_PTX) {
        examine_ptx(j, m, content, inner);
    } else if (m->kind == CV_FB_KIND_LTOIR) {
        cv_path_push(j->x, CUVET_P_LTOIR, false, 0);
        cv_agree_ltoir(j->x, m, j->u->off, content);
        cv_path_pop(j->x);
    } else {
        r->item.examined = false; /* CV_R_FATBIN_KIND has said so */
    }
}

/* A status that is not a finding ends the scan. */
static cuvet_status keep(const job *j, cuvet_status s)
{
    if (s == CUVET_E_NOMEM || s == CUVET_E_INTERNAL)
        j->r->status = s;
    return s;
}

/* Padding behind a compressed payload. */
static void check_padding(const job *j, cv_span pad)
{
    if (cv_span_find_nonzero(pad) != pad.len)
        cv_report(j->x, CV_R_FATBIN_PAYLOAD_PADDING, pad.off, pad.len, 1, pad.len);
}

/* The payload as it is stored: read by who needs it first. */
static cuvet_status load_stored(job *j)
{
    uint64_t off = j->u->off + j->u->header_size, len = j->u->payload_size;
    cuvet_status s = CUVET_OK;

    if (j->loaded)
        return CUVET_OK;
    if (!cv_near(j->near, off, len, &j->stored)) {
        s = keep(j, cv_block_load(j->x, &j->w->stored, j->src, off, len));
        j->stored = j->w->stored.span;
    }
    j->loaded = s == CUVET_OK;
    return s;
}

/* A copy of what is stored raw, which can be handed on without the file. */
static bool own_content(const job *j, cv_span *content)
{
    content->off = 0;
    if (keep(j, cv_block_copy(j->x, &j->w->unpacked, *content)) != CUVET_OK)
        return false;
    *content = j->w->unpacked.span;
    return true;
}

/* Payload of a member: padding, method, limits, bytes. *inner: content is decompressed. False: no content. */
static bool unpack_member(job *j, const cv_fatbin_member *m, cv_span *content, bool *inner)
{
    cv_codec_kind method = m->flags & CV_FB_LZ4 ? CV_CODEC_LZ4 : CV_CODEC_ZSTD;
    cv_span stored;

    *inner = false;
    if (load_stored(j) != CUVET_OK)
        return false;
    *content = j->stored;
    if (!(m->flags & CV_FB_COMPRESSED))
        return !j->opt->own || own_content(j, content);
    check_padding(j, cv_span_tail(j->stored, m->compressed_size));
    if (m->flags & CV_FB_SCRAMBLED) {
        cv_report(j->x, CV_R_FATBIN_OPAQUE, j->stored.off, m->compressed_size, m->compressed_size, 0);
        return false;
    }
    if (!cv_span_sub(j->stored, 0, m->compressed_size, &stored))
        return false;
    if (keep(j, cv_codec_decode(j->x, &j->w->codec, method, stored, m->uncompressed_size, &j->w->unpacked)) !=
        CUVET_OK)
        return false;
    *content = j->w->unpacked.span;
    *inner = true;
    return true;
}

static cuvet_compression method_of(const cv_fatbin_member *m)
{
    uint64_t f = m->flags & CV_FB_COMPRESSED;

    if (f == 0)
        return CUVET_Z_NONE;
    if (m->flags & CV_FB_SCRAMBLED)
        return CUVET_Z_OPAQUE;
    return f == CV_FB_LZ4 ? CUVET_Z_LZ4 : f == CV_FB_ZSTD ? CUVET_Z_ZSTD : CUVET_Z_UNKNOWN;
}

static void fill_item(const job *j, const cv_fatbin_member *m)
{
    cuvet_item *i = &j->r->item;

    i->kind = cv_unit_kind_of(m->kind);
    i->compression = method_of(m);
    i->raw_kind = m->kind;
    i->major = m->major;
    i->minor = m->minor;
    i->arch = m->arch;
    i->suffix = m->flags & CV_FB_ARCH_A ? 'a' : m->flags & CV_FB_ARCH_F ? 'f' : 0;
    i->flags = m->flags;
    i->stored_size =
        m->flags & CV_FB_COMPRESSED ? cv_min(m->compressed_size, m->payload_size) : m->payload_size;
    i->unpacked_size = m->flags & CV_FB_COMPRESSED ? m->uncompressed_size : m->payload_size;
    for (uint64_t k = 0; k < m->ident.len; k++) {
        if (!cv_u8s_push(j->r->mem, &j->r->ident, cv_u8_at(m->ident, k))) {
            j->r->status = CUVET_E_NOMEM;
            return;
        }
    }
}

static void claim_member(const job *j, const cv_fatbin_member *m, cv_span header)
{
    cv_ledger *l = &j->r->file;
    uint64_t at = header.off + CV_FATBIN_MEMBER, ident = m->ident.len ? cv_sat_align(m->ident.len + 1, 8) : 0;
    uint64_t payload = header.off + header.len, stored = j->r->item.stored_size;

    cv_ledger_claim(j->x, l, header.off, CV_FATBIN_MEMBER, CV_CLAIM_MEMBER_HEADER, 0, false);
    cv_ledger_claim(j->x, l, at, ident, CV_CLAIM_IDENTIFIER, 0, false);
    if (m->has_options)
        cv_ledger_claim(j->x, l, at + ident, header.len - CV_FATBIN_MEMBER - ident, CV_CLAIM_OPTIONS, 0,
                        false);
    else
        cv_ledger_claim(j->x, l, at + ident, header.len - CV_FATBIN_MEMBER - ident, CV_CLAIM_HEADER_PADDING,
                        0, false);
    /* A raw ELF claims its own parts; everything else is one payload. */
    if (j->r->claimed && j->r->item.compression == CUVET_Z_NONE)
        stored = cv_min(j->r->item.unpacked_size, m->payload_size);
    else
        cv_ledger_claim(j->x, l, payload, stored, CV_CLAIM_PAYLOAD, 0, false);
    cv_ledger_claim(j->x, l, payload + stored, m->payload_size - stored, CV_CLAIM_PAYLOAD_PADDING, 0, false);
}

/* Without the payload: the true size of what is stored raw comes from its tables, or from where its text
 * ends. */
static void size_raw(const job *j, const cv_fatbin_member *m)
{
    uint64_t at = j->u->off + j->u->header_size, end = at + m->payload_size, extent = 0, tail;
    cv_located found = CV_LOCATED_NO;

    if (m->flags & CV_FB_COMPRESSED || m->payload_size == 0)
        return;
    if (m->kind == CV_FB_KIND_ELF) {
        if (keep(j, cv_locate_extent(j->x, &j->w->stored, j->src, at, end, &found, &extent)) == CUVET_OK &&
            found == CV_LOCATED_YES)
            j->r->item.unpacked_size = extent;
    } else if (m->kind == CV_FB_KIND_PTX) {
        tail = cv_min(m->payload_size, 16);
        if (keep(j, cv_block_load(j->x, &j->w->stored, j->src, end - tail, tail)) != CUVET_OK)
            return;
        while (tail && cv_u8_at(j->w->stored.span, tail - 1) == 0)
            tail--;
        j->r->item.unpacked_size =
            cv_min(m->payload_size, m->payload_size - j->w->stored.span.len + tail + 1);
    }
}

/* Everything that was stored, whatever became of it, and what it was unpacked to. */
static void search_member(job *j, cv_span content, bool inner)
{
    if (inner)
        find_hidden(j, content, true);
    if (j->r->nested || (!inner && j->r->text))
        return;
    if (load_stored(j) == CUVET_OK)
        find_in(j, j->stored, false, j->r->item.compression != CUVET_Z_NONE, 0, j->stored.len);
}

/* The header, and of a small member the payload with it. */
static cuvet_status load_header(job *j, bool full, cv_span *header)
{
    const cv_unit *u = j->u;
    uint64_t len = u->header_size + (full ? u->payload_size : 0);
    cuvet_status s = CUVET_OK;

    if (len > CV_NEAR_MAX)
        cv_window_free(j->x, &j->w->window); /* a large one has the whole budget */
    else if (!cv_near(j->opt->near, u->off, len, &j->near))
        s = keep(j, cv_window_near(j->x, &j->w->window, j->src, u->off, len, j->src->length, &j->near));
    if (s != CUVET_OK || cv_near(j->near, u->off, u->header_size, header))
        return s;
    s = keep(j, cv_block_load(j->x, &j->w->head, j->src, u->off, u->header_size));
    *header = j->w->head.span;
    return s;
}

static void examine_member(job *j)
{
    const cv_unit *u = j->u;
    bool full = j->opt->depth == CUVET_DEPTH_FULL && !u->skip_payload, inner = false, readable;
    cv_span header, content, fixed;
    cv_fatbin_member m;

    if (load_header(j, full, &header) != CUVET_OK)
        return;
    fixed = header;
    fixed.len = cv_min(fixed.len, sizeof(u->head));
    if (!cv_span_eq(cv_span_of(&u->head, sizeof(u->head), 0), fixed)) {
        cv_report(j->x, CV_R_IO_CHANGED, u->off, 0, cv_u64_at(header, 0),
                  cv_u64_at(cv_span_of(&u->head, sizeof(u->head), 0), 0));
        return;
    }
    readable = cv_fatbin_read_member(j->x, header, &m) == CUVET_OK;
    fill_item(j, &m);
    if (readable && !full)
        size_raw(j, &m);
    content = header;
    if (readable && full && unpack_member(j, &m, &content, &inner))
        examine_content(j, &m, content, inner);
    if (full && !j->r->nested)
        search_member(j, content, inner);
    if (j->opt->ledger)
        claim_member(j, &m, header);
}

static void examine_bare(const job *j)
{
    cuvet_item *i = &j->r->item;
    cv_block *b = &j->w->stored;
    bool full = !j->u->skip_payload;

    i->kind = j->u->kind == CV_UNIT_IMAGE ? CUVET_K_CUBIN : CUVET_K_PTX;
    i->stored_size = i->unpacked_size = j->u->payload_size;
    if (full && keep(j, cv_block_load(j->x, b, j->src, j->u->off, j->u->payload_size)) != CUVET_OK)
        return;
    i->examined = full;
    if (full) {
        j->r->payload = b->span;
        if (i->kind == CUVET_K_CUBIN)
            examine_elf(j, NULL, b->span, false);
        else
            examine_ptx(j, NULL, b->span, false);
    }
    if (j->opt->ledger && !j->r->claimed)
        cv_ledger_claim(j->x, &j->r->file, j->u->off, j->u->payload_size,
                        i->kind == CUVET_K_PTX ? CV_CLAIM_PTX : CV_CLAIM_PAYLOAD, 0, false);
    j->x->path = j->u->path;
    if (full)
        find_hidden(j, b->span, false);
}

static void examine_ir(job *j)
{
    cv_result *r = j->r;
    cv_ir ir = { j->x, &j->w->stored, &j->w->head, &j->w->window, j->src, j->u->off, j->u->payload_size };
    bool bitcode = j->u->kind == CV_UNIT_BITCODE;
    bool full = j->opt->depth == CUVET_DEPTH_FULL && !j->u->skip_payload;

    r->item.kind = bitcode ? CUVET_K_BITCODE : CUVET_K_LTOIR;
    r->item.stored_size = r->item.unpacked_size = ir.size;
    if (!j->u->skip_payload)
        (void)keep(j, bitcode ? cv_ir_bitcode(&ir, r->mem, &r->triple) : cv_ir_ltoir(&ir, &r->item.arch));
    if (j->opt->ledger)
        cv_ledger_claim(j->x, &r->file, ir.off, ir.size, CV_CLAIM_PAYLOAD, 0, false);
    r->nested = full && keep(j, cv_ir_search(&ir, &r->nested_off)) == CUVET_OK && r->nested_off < ir.size;
    r->nested_len = ir.size - cv_min(r->nested_off, ir.size);
}

/* … even when there was no room left to keep it with the others. */
static void say_live(cv_worker *w, const cv_unit *u, cv_result *r)
{
    r->live_said = false;
    r->live = (cuvet_diag){ .rule = CV_R_LIMIT_LIVE,
                            .severity = CUVET_ERROR,
                            .file_off = w->x.anchor ? w->x.anchor : u->off,
                            .got = w->x.mem.live,
                            .want = w->x.mem.limit,
                            .where = u->path };
    r->has_live = true;
    r->item.errors++;
    if (r->verdict < CUVET_V_LIMIT)
        r->verdict = CUVET_V_LIMIT;
}

void cv_examine(cv_worker *w, const cuvet_source *src, const cv_unit *u, const cv_examine_options *opt,
                cv_result *r)
{
    job j = { .w = w, .x = &w->x, .src = src, .u = u, .opt = opt, .r = r };
    uint64_t declared = u->kind == CV_UNIT_MEMBER
                            ? cv_fatbin_member_claim(cv_span_of(&u->head, sizeof(u->head), 0)).unpacked
                            : 0;

    *r = (cv_result){ .mem = &w->x.mem, .status = CUVET_OK, .seen = opt->seen, .cap = w->x.lim.diagnostics };
    r->item = (cuvet_item){ .where = u->path,
                            .in_container = u->kind == CV_UNIT_MEMBER,
                            .referenced = u->referenced,
                            .place = u->place,
                            .producer = { .tool = "" },
                            .container_off = u->container_off,
                            .header_off = u->off,
                            .payload_off = u->off + u->header_size };
    if (!opt->follows)
        cv_window_forget(&w->window);
    w->x.emit = keep_diag;
    w->x.emit_user = r;
    /* A lying declared size cannot buy work: it is capped by the limit that the decoder enforces. */
    cv_ctx_unit(&w->x, cv_sat_add(u->payload_size + u->header_size, cv_min(declared, w->x.lim.member)));
    cv_ctx_cap_work(&w->x, u->work_most ? u->work_most : UINT64_MAX);
    w->x.path = u->path;
    w->x.embedded = u->embedded;
    if (opt->inner)
        cv_ctx_enter_inner(&w->x, opt->anchor);
    if (u->kind == CV_UNIT_MEMBER)
        examine_member(&j);
    else if (u->kind == CV_UNIT_BITCODE || u->kind == CV_UNIT_LTOIR)
        examine_ir(&j);
    else
        examine_bare(&j);
    if (r->file.failed || r->inner.failed || !cv_ledger_sort(&w->x, &r->file) ||
        !cv_ledger_sort(&w->x, &r->inner))
        r->status = CUVET_E_NOMEM;
    r->item.triple = r->triple.n ? (const char *)r->triple.v : NULL;
    r->item.triple_len = (size_t)r->triple.n;
    r->item.ident = r->ident.n ? (const char *)r->ident.v : NULL;
    r->item.ident_len = (size_t)r->ident.n;
    r->item.errors = (uint32_t)cv_min(w->x.n_errors, UINT32_MAX);
    r->item.warnings = (uint32_t)cv_min(w->x.n_warnings, UINT32_MAX);
    r->n_notes = w->x.n_notes;
    r->work = cv_ctx_spent(&w->x);
    r->verdict = w->x.verdict;
    r->suppressed = w->x.n_errors + w->x.n_warnings + w->x.n_notes - r->diags.n;
    if (r->suppressed > 0 && !keep_totals(&w->x, r))
        r->status = CUVET_E_NOMEM;
    if (r->status == CUVET_E_NOMEM && cv_mem_status(&w->x.mem) == CUVET_E_LIMIT) {
        r->status = CUVET_OK; /* a limit is a finding of this unit … */
        if (!r->live_said)
            say_live(w, u, r);
    }
}
