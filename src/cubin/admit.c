/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cubin/admit.h"
#include "target/retarget.h"

#include "cubin/internal.h"

typedef struct judge {
    cv_ctx *x;
    const cv_cubin *c;
    const cv_admit_for *f;
    cuvet_status s;
} judge;

static uint64_t header_at(const judge *j, cv_ehdr_field f)
{
    return j->c->image.off + cv_elf_ehdr_at(j->c->h.is32, f);
}

static void refuse(judge *j, cv_rule rule, cv_ehdr_field at, uint64_t got, uint64_t want)
{
    j->s = cv_reject(j->x, rule, header_at(j, at), got, want);
}

/* The same for a byte of e_ident. */
static void refuse_ident(judge *j, cv_rule rule, uint64_t byte, uint64_t got, uint64_t want)
{
    j->s = cv_reject(j->x, rule, j->c->image.off + byte, got, want);
}

char cv_admit_suffix(const cv_cubin *c)
{
    if (c->suffix_known)
        return c->suffix;
    return c->compat_accel_known && c->compat_accel ? 'a' : 0;
}

static void judge_form(judge *j)
{
    const cv_elf_header *h = &j->c->h;

    if (h->is32)
        refuse_ident(j, CV_R_ADMIT_CLASS, 4, 32, 64);
    if (!(h->osabi == CV_OSABI_CUDA && h->abiversion == CV_ABI_CUDA) &&
        !(h->osabi == CV_OSABI_LEGACY && h->abiversion == CV_ABI_LEGACY))
        refuse_ident(j, CV_R_ADMIT_ABI, 7, h->osabi, h->abiversion);
}

static void judge_type(judge *j)
{
    uint16_t type = j->c->h.type;

    if (j->f->execute)
        return;
    if (type == CV_ELF_EXEC)
        refuse(j, CV_R_ADMIT_EXECUTABLE, CV_EH_TYPE, type, CV_ELF_REL);
    else if (type != CV_ELF_REL)
        refuse(j, CV_R_ADMIT_TYPE, CV_EH_TYPE, type, CV_ELF_REL);
}

/* Code of an older member of the family: where it is used as it is, the compiler must have said that it runs.
 */
static void judge_retarget(judge *j, uint64_t got, uint64_t want)
{
    const cv_cubin *c = j->c;
    const cv_compat *k = c->compat.len ? &c->claims : NULL;
    uint32_t to = j->f->target.sm;

    if (!j->f->finished || !cv_gen_has(c->gen, CV_GEN_SAYS_WHERE) || c->sm == to ||
        cv_cubin_first(c, CV_ROLE_TEXT) == 0)
        return;
    if (cv_can_finalize(k, c->sm, to) != CV_FINAL_OK || !cv_can_fastpath(k, c->sm, to, true))
        refuse(j, CV_R_ADMIT_RETARGET, CV_EH_FLAGS, got, want);
}

static void judge_arch(judge *j)
{
    char suffix = cv_admit_suffix(j->c);
    uint64_t got = cv_arch_pack(j->c->sm, suffix), want = cv_arch_pack(j->f->target.sm, j->f->target.suffix);

    switch (cv_arch_sass(j->c->sm, suffix, j->f->target, j->f->policy)) {
    case CUVET_REASON_NONE:
        if (suffix == 'a' && j->f->target.suffix == 0)
            cv_report(j->x, CV_R_ADMIT_SUFFIX_LOST, header_at(j, CV_EH_FLAGS), 4, got, want);
        judge_retarget(j, got, want);
        break;
    case CUVET_REASON_SUFFIX:
    case CUVET_REASON_POLICY: refuse(j, CV_R_ADMIT_SUFFIX, CV_EH_FLAGS, got, want); break;
    case CUVET_REASON_FAMILY:
    case CUVET_REASON_NEWER:
    case CUVET_REASON_ADDRESS:
    case CUVET_REASON_REQUEST:
    case CUVET_REASON_KIND:
    case CUVET_REASON_ARCH_ZERO: refuse(j, CV_R_ADMIT_ARCH, CV_EH_FLAGS, got, want); break;
    }
}

/* The locks of the reference linker: what it will not read, and what it must not link any more. */
static void judge_toolkit(judge *j)
{
    const cv_cubin *c = j->c;
    const cv_arch *a = cv_arch_of(c->sm);
    uint32_t oldest = a ? a->oldest : 0;

    if (c->toolkit == 0) {
        if (oldest != 0 && c->abi8)
            refuse(j, CV_R_ADMIT_TOOLKIT_UNKNOWN, CV_EH_FLAGS, cv_elf_flags_note(c->h.flags), 0);
        return;
    }
    if (c->toolkit > j->f->toolkit)
        refuse(j, CV_R_ADMIT_TOOLKIT_NEWER, CV_EH_FLAGS, c->toolkit, j->f->toolkit);
    if (c->toolkit < oldest)
        refuse(j, CV_R_ADMIT_TOOLKIT_OLD, CV_EH_FLAGS, c->toolkit, oldest);
}

static void judge_kind(judge *j)
{
    uint32_t kind = j->c->h.flags & 7;

    if (j->c->abi8 && kind != 2 && kind != 4)
        refuse(j, CV_R_ADMIT_KIND, CV_EH_FLAGS, kind, cv_gen_has(j->c->gen, CV_GEN_CAPSULE) ? 2 : 4);
}

cuvet_status cv_admit(cv_ctx *x, const cv_cubin *c, const cv_admit_for *f)
{
    judge j = { x, c, f, CUVET_OK };

    judge_form(&j);
    judge_type(&j);
    if (f->target.sm != 0)
        judge_arch(&j);
    judge_toolkit(&j);
    judge_kind(&j);
    return j.s;
}

void cv_admit_note(cv_ctx *x, const cv_cubin *c, const cv_admit_for *f)
{
    cuvet_status said;

    x->advisory = true;
    said = cv_admit(x, c, f);
    x->advisory = false;
    (void)said;
}
