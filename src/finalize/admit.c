/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stages prepare and admit: what is wanted, and may this file be finalized at all. The tests are those of the
 * reference, in its order, and stricter where it believes what it should not. */
#include "finalize/job.h"

#include "cubin/admit.h"

enum { LEVEL_MOST = 4, ISA_MOST = 0x0101, LEGACY_MERCURY = 31, LEGACY_CAPMERC = 14 }; /* bits of e_flags */

/* What the rules of the scan amount to in codes of the reference: it has none for most of them. */
static cv_final code_of(cv_rule r)
{
    if (r >= CV_R_SEG_TYPE && r <= CV_R_SEG_BOUNDARY)
        return CV_FINAL_SEGMENT;
    if (r >= CV_R_RELOC_TARGET && r <= CV_R_RELOC_ALIGN)
        return CV_FINAL_RELOC;
    if (r == CV_R_COMPAT_TWICE || r == CV_R_TLV_REPEATED || r == CV_R_TLV_SYMBOL_TWICE)
        return CV_FINAL_TWICE;
    return r == CV_R_SEC_MISSING_COMPAT ? CV_FINAL_NO_COMPAT : CV_FINAL_TYPE;
}

/* Between the examination and whoever listens: remembers the first error. */
static void listen(void *user, const cuvet_diag *d)
{
    cv_final_job *j = user;

    /* Without .nv.compat other rules are broken as well: that it is not there is what counts. */
    if (d->severity == CUVET_ERROR && (!j->has_error || d->rule == CV_R_SEC_MISSING_COMPAT)) {
        j->has_error = true;
        j->first_error = (cv_rule)d->rule;
    }
    /* Notes about a result were notes about the input, or are about what was meant. */
    if (j->emit && (!j->of_result || d->severity != CUVET_NOTE))
        j->emit(j->emit_user, d);
}

static cv_final code_of_status(const cv_final_job *j, cuvet_status s)
{
    if (s == CUVET_E_NOMEM)
        return CV_FINAL_MEMORY;
    if (s == CUVET_E_LIMIT)
        return cv_cancelled(j->x) ? CV_FINAL_CANCELLED : CV_FINAL_LIMIT;
    return j->has_error ? code_of(j->first_error) : CV_FINAL_TYPE;
}

cuvet_status cv_final_examine(cv_final_job *j, cv_cubin *c, cv_span image)
{
    cv_ctx *x = j->x;
    uint64_t extent = 0, errors = x->n_errors;
    cuvet_status s;

    j->emit = x->emit;
    j->emit_user = x->emit_user;
    j->has_error = false;
    x->emit = listen;
    x->emit_user = j;
    s = cv_cubin_examine(x, c, image, NULL, &extent);
    if (s == CUVET_OK)
        cv_cubin_check_tail(x, image, extent, 0);
    if (s == CUVET_OK)
        s = x->n_errors == errors ? CUVET_OK : cv_verdict_status(x->verdict);
    if (s == CUVET_OK && x->n_errors != errors)
        s = CUVET_E_REFUSED;
    x->emit = j->emit;
    x->emit_user = j->emit_user;
    if (s != CUVET_OK && j->code == CV_FINAL_OK)
        j->code = code_of_status(j, s);
    return s;
}

static uint64_t header_at(cv_ehdr_field f)
{
    return cv_elf_ehdr_at(false, f);
}

cuvet_status cv_final_prepare(cv_final_job *j)
{
    const cv_final_options *o = j->o;
    bool known = o->kind == CV_KIND_NONE || o->kind == CV_KIND_MERCURY || o->kind == CV_KIND_CAPMERC ||
                 o->kind == CV_KIND_SASS;

    if (!known || o->level_most > LEVEL_MOST ||
        (o->phase == CV_PHASE_PRELINK && o->kind == CV_KIND_CAPMERC) ||
        (o->phase == CV_PHASE_POSTLINK && o->kind == CV_KIND_MERCURY))
        return cv_final_refuse(j, CV_FINAL_CONFLICT, CV_R_FINAL_CONFLICT, 0, o->kind, o->phase);
    return CUVET_OK;
}

/* Nothing is known of the input yet, and what is wanted can be given in some phase. */
bool cv_final_prepare_holds(const cv_final_job *j)
{
    const cv_final_options *o = j->o;
    cv_kind never = o->phase == CV_PHASE_PRELINK    ? CV_KIND_CAPMERC
                    : o->phase == CV_PHASE_POSTLINK ? CV_KIND_MERCURY
                                                    : CV_KIND_NONE;

    return j->cubin.sec.n == 0 && j->part.n == 0 && !j->use.backend && j->in_kind == CV_KIND_NONE &&
           (o->kind == CV_KIND_NONE || (o->kind != never && cv_is_pow2(o->kind)));
}

bool cv_final_kind_of(const cv_elf_header *h, cv_kind *kind)
{
    if (h->osabi == CV_OSABI_CUDA) {
        *kind = (cv_kind)(h->flags & 0xFF);
        return *kind == CV_KIND_MERCURY || *kind == CV_KIND_CAPMERC || *kind == CV_KIND_SASS;
    }
    if (h->osabi != CV_OSABI_LEGACY)
        return false;
    *kind = h->flags >> LEGACY_MERCURY & 1   ? CV_KIND_MERCURY
            : h->flags >> LEGACY_CAPMERC & 1 ? CV_KIND_CAPMERC
                                             : CV_KIND_SASS;
    return true;
}

/* The header, before anything else is read. */
static cuvet_status judge_header(cv_final_job *j)
{
    uint64_t at = j->in.off, pair;
    cv_elf_header h;
    cuvet_status s;

    if (!cv_elf_peek(j->in, &h)) {
        if (j->code == CV_FINAL_OK)
            j->code = CV_FINAL_TYPE;
        s = cv_elf_read_header(j->x, j->in, &h);
        return CV_NEVER(s == CUVET_OK) ? cv_final_broken(j) : s;
    }
    if (h.machine != CV_EM_CUDA)
        return cv_final_refuse(j, CV_FINAL_TYPE, CV_R_ELF_MACHINE, at + header_at(CV_EH_MACHINE), h.machine,
                               CV_EM_CUDA);
    if (h.is32)
        return cv_final_refuse(j, CV_FINAL_TYPE, CV_R_FINAL_CLASS, at + 4, 1, 2);
    pair = h.osabi == CV_OSABI_CUDA ? CV_ABI_CUDA : CV_ABI_LEGACY;
    if (h.osabi != CV_OSABI_CUDA && h.osabi != CV_OSABI_LEGACY)
        return cv_final_refuse(j, CV_FINAL_TYPE, CV_R_FINAL_ABI, at + 7, h.osabi, h.abiversion);
    if (!cv_final_kind_of(&h, &j->in_kind))
        return cv_final_refuse(j, CV_FINAL_TYPE, CV_R_FINAL_KIND, at + header_at(CV_EH_FLAGS), h.flags & 0xFF,
                               CV_KIND_CAPMERC);
    if (h.type != CV_ELF_REL && h.type != CV_ELF_EXEC)
        return cv_final_refuse(j, CV_FINAL_TYPE, CV_R_FINAL_TYPE, at + header_at(CV_EH_TYPE), h.type,
                               CV_ELF_EXEC);
    if (h.abiversion != pair)
        return cv_final_refuse(j, CV_FINAL_ABI, CV_R_FINAL_ABI, at + 7, h.osabi, h.abiversion);
    return CUVET_OK;
}

static uint64_t source(const cv_final_job *j)
{
    return cv_arch_pack(j->cubin.sm, cv_admit_suffix(&j->cubin));
}

static uint64_t target(const cv_final_job *j)
{
    return cv_arch_pack(j->dst_sm, j->o->target_suffix);
}

/* Which form is wanted of which. */
static cuvet_status judge_kinds(cv_final_job *j)
{
    uint64_t at = j->in.off + header_at(CV_EH_FLAGS);
    cv_kind in = j->in_kind, out = j->o->kind;

    if (out == CV_KIND_NONE)
        out = j->o->phase == CV_PHASE_PRELINK ? CV_KIND_SASS : in;
    j->out_kind = out;
    if (j->n_capsules != 0 && in != CV_KIND_CAPMERC)
        return cv_final_refuse(j, CV_FINAL_TYPE, CV_R_FINAL_PHASE, at, in, CV_KIND_CAPMERC);
    if (in == CV_KIND_MERCURY && out == CV_KIND_MERCURY)
        return cv_final_refuse(j, CV_FINAL_ARCH, CV_R_FINAL_SAME_MERCURY, at, in, out);
    if (in == CV_KIND_SASS && j->o->phase == CV_PHASE_POSTLINK)
        return cv_final_refuse(j, CV_FINAL_TYPE, CV_R_FINAL_PHASE, at, in, CV_KIND_CAPMERC);
    if (in == CV_KIND_SASS && out != CV_KIND_SASS)
        return cv_final_refuse(j, CV_FINAL_UPLIFT, CV_R_FINAL_UPLIFT, at, in, out);
    return CUVET_OK;
}

/* Does the file allow the target, and is it believed? */
static cuvet_status judge_target(cv_final_job *j)
{
    const cv_compat *k = j->cubin.compat.len ? &j->cubin.claims : NULL;
    uint64_t at = j->in.off + header_at(CV_EH_FLAGS);
    uint32_t src = j->cubin.sm;
    bool level;
    cv_final f;

    if (j->o->target_sm != 0 && !cv_arch_known((cuvet_target){ j->dst_sm, j->o->target_suffix }))
        return cv_final_refuse(j, CV_FINAL_SM, CV_R_FINAL_SM, at, target(j), 0);
    if (src == j->dst_sm)
        return CUVET_OK;
    f = cv_can_finalize_most(k, src, j->dst_sm, j->o->level_most, &level);
    if (level)
        return cv_final_refuse(j, f, CV_R_FINAL_LEVEL, j->cubin.compat.off, j->cubin.claims.level,
                               j->o->level_most);
    if (f == CV_FINAL_NO_COMPAT)
        return cv_final_refuse(j, f, CV_R_FINAL_NO_COMPAT, at, source(j), target(j));
    return f == CV_FINAL_OK ? CUVET_OK
                            : cv_final_refuse(j, f, CV_R_FINAL_INCOMPATIBLE, at, source(j), target(j));
}

/* Code for sm_Na, and a target that does not say so. */
static cuvet_status judge_suffix(cv_final_job *j)
{
    uint64_t at = j->in.off + header_at(CV_EH_FLAGS);

    if (!j->accel || j->o->target_sm == 0 || j->o->target_suffix == 'a')
        return CUVET_OK;
    if (j->o->exact)
        return cv_final_refuse(j, CV_FINAL_INCOMPATIBLE, CV_R_ADMIT_SUFFIX, at, source(j), target(j));
    cv_report(j->x, CV_R_ADMIT_SUFFIX_LOST, at, 4, source(j), target(j));
    return CUVET_OK;
}

cuvet_status cv_final_admit(cv_final_job *j)
{
    cuvet_status s = judge_header(j);

    if (s == CUVET_OK)
        s = cv_final_examine(j, &j->cubin, j->in);
    if (s != CUVET_OK)
        return s;
    for (uint64_t i = 1; i < j->cubin.sec.n; i++)
        j->n_capsules += cv_final_part(&j->cubin, i) == CV_PART_CAPSULE;
    j->accel = cv_admit_suffix(&j->cubin) == 'a' || j->cubin.compat_accel;
    j->dst_sm = j->o->target_sm ? j->o->target_sm : j->cubin.sm;
    if (j->cubin.compat.len && j->cubin.claims.isa > ISA_MOST)
        return cv_final_refuse(j, CV_FINAL_ISA, CV_R_FINAL_ISA, j->cubin.compat.off, j->cubin.claims.isa,
                               ISA_MOST);
    s = judge_kinds(j);
    if (s == CUVET_OK)
        s = judge_target(j);
    if (s == CUVET_OK)
        s = judge_suffix(j);
    return s;
}

bool cv_final_admit_holds(const cv_final_job *j)
{
    const cv_cubin *c = &j->cubin;

    return c->sec.n != 0 && c->extent == j->in.len && (c->rel || c->exe) && (c->abi8 || c->legacy) &&
           j->out_kind != CV_KIND_NONE && j->dst_sm != 0;
}
