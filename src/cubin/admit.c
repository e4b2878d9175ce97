/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cubin/admit.h"
#include "target/retarget.h"

#include "cubin/internal.h"

typedef struct admit_judge {
    cv_ctx *ctx;
    const cv_cubin *cubin;
    const cv_admit_for *wanted;
    cuvet_status status;
} admit_judge;

static uint64_t header_at(const admit_judge *judge, cv_ehdr_field field)
{
    return judge->cubin->image.off + cv_elf_ehdr_at(judge->cubin->header.is32, field);
}

static void refuse_object(admit_judge *judge, cv_rule rule, cv_ehdr_field at, uint64_t got, uint64_t want)
{
    judge->status = cv_reject(judge->ctx, rule, header_at(judge, at), got, want);
}

/* The same for a byte of e_ident. */
static void refuse_ident(admit_judge *judge, cv_rule rule, uint64_t byte, uint64_t got, uint64_t want)
{
    judge->status = cv_reject(judge->ctx, rule, judge->cubin->image.off + byte, got, want);
}

char cv_admit_suffix(const cv_cubin *cubin)
{
    if (cubin->suffix_known)
        return cubin->suffix;
    return cubin->compat_accel_known && cubin->compat_accel ? 'a' : 0;
}

static void judge_form(admit_judge *judge)
{
    const cv_elf_header *header = &judge->cubin->header;

    if (header->is32)
        refuse_ident(judge, CV_R_ADMIT_CLASS, 4, 32, 64);
    if (!(header->osabi == CV_OSABI_CUDA && header->abiversion == CV_ABI_CUDA) &&
        !(header->osabi == CV_OSABI_LEGACY && header->abiversion == CV_ABI_LEGACY))
        refuse_ident(judge, CV_R_ADMIT_ABI, 7, header->osabi, header->abiversion);
}

static void judge_type(admit_judge *judge)
{
    uint16_t type = judge->cubin->header.type;

    if (judge->wanted->execute)
        return;
    if (type == CV_ELF_EXEC)
        refuse_object(judge, CV_R_ADMIT_EXECUTABLE, CV_EH_TYPE, type, CV_ELF_REL);
    else if (type != CV_ELF_REL)
        refuse_object(judge, CV_R_ADMIT_TYPE, CV_EH_TYPE, type, CV_ELF_REL);
}

/* Code of an older member of the family: where it is used as it is, the compiler must have said that it runs.
 */
static void judge_retarget(admit_judge *judge, uint64_t got, uint64_t want)
{
    const cv_cubin *cubin = judge->cubin;
    const cv_compat *compat = cubin->compat.len ? &cubin->claims : NULL;
    uint32_t to = judge->wanted->target.sm;

    if (!judge->wanted->finished || !cv_gen_has(cubin->gen, CV_GEN_SAYS_WHERE) || cubin->sm == to ||
        cv_cubin_first(cubin, CV_ROLE_TEXT) == 0)
        return;
    if (cv_can_finalize(compat, cubin->sm, to) != CV_FINAL_OK ||
        !cv_can_fastpath(compat, cubin->sm, to, true))
        refuse_object(judge, CV_R_ADMIT_RETARGET, CV_EH_FLAGS, got, want);
}

static void judge_arch(admit_judge *judge)
{
    char suffix = cv_admit_suffix(judge->cubin);
    uint64_t got = cv_arch_pack(judge->cubin->sm, suffix),
             want = cv_arch_pack(judge->wanted->target.sm, judge->wanted->target.suffix);

    switch (cv_arch_sass(judge->cubin->sm, suffix, judge->wanted->target, judge->wanted->policy)) {
    case CUVET_REASON_NONE:
        if (suffix == 'a' && judge->wanted->target.suffix == 0)
            cv_report(judge->ctx, CV_R_ADMIT_SUFFIX_LOST, header_at(judge, CV_EH_FLAGS), 4, got, want);
        judge_retarget(judge, got, want);
        break;
    case CUVET_REASON_SUFFIX:
    case CUVET_REASON_POLICY: refuse_object(judge, CV_R_ADMIT_SUFFIX, CV_EH_FLAGS, got, want); break;
    case CUVET_REASON_FAMILY:
    case CUVET_REASON_NEWER:
    case CUVET_REASON_ADDRESS:
    case CUVET_REASON_REQUEST:
    case CUVET_REASON_KIND:
    case CUVET_REASON_ARCH_ZERO: refuse_object(judge, CV_R_ADMIT_ARCH, CV_EH_FLAGS, got, want); break;
    }
}

/* The locks of the reference linker: what it will not read, and what it must not link any more. */
static void judge_toolkit(admit_judge *judge)
{
    const cv_cubin *cubin = judge->cubin;
    const cv_arch *arch = cv_arch_of(cubin->sm);
    uint32_t oldest = arch ? arch->oldest : 0;

    if (cubin->toolkit == 0) {
        if (oldest != 0 && cubin->abi8)
            refuse_object(judge, CV_R_ADMIT_TOOLKIT_UNKNOWN, CV_EH_FLAGS,
                          cv_elf_flags_note(cubin->header.flags), 0);
        return;
    }
    if (cubin->toolkit > judge->wanted->toolkit)
        refuse_object(judge, CV_R_ADMIT_TOOLKIT_NEWER, CV_EH_FLAGS, cubin->toolkit, judge->wanted->toolkit);
    if (cubin->toolkit < oldest)
        refuse_object(judge, CV_R_ADMIT_TOOLKIT_OLD, CV_EH_FLAGS, cubin->toolkit, oldest);
}

static void judge_kind(admit_judge *judge)
{
    uint32_t kind = judge->cubin->header.flags & 7;

    if (judge->cubin->abi8 && kind != 2 && kind != 4)
        refuse_object(judge, CV_R_ADMIT_KIND, CV_EH_FLAGS, kind,
                      cv_gen_has(judge->cubin->gen, CV_GEN_CAPSULE) ? 2 : 4);
}

cuvet_status cv_admit(cv_ctx *ctx, const cv_cubin *cubin, const cv_admit_for *wanted)
{
    admit_judge judge = { ctx, cubin, wanted, CUVET_OK };

    judge_form(&judge);
    judge_type(&judge);
    if (wanted->target.sm != 0)
        judge_arch(&judge);
    judge_toolkit(&judge);
    judge_kind(&judge);
    return judge.status;
}

void cv_admit_note(cv_ctx *ctx, const cv_cubin *cubin, const cv_admit_for *wanted)
{
    cuvet_status said;

    ctx->advisory = true;
    said = cv_admit(ctx, cubin, wanted);
    ctx->advisory = false;
    (void)said;
}
