/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stages prepare and admit: what is wanted, and may this file be finalized at all. The tests are those of the
 * reference, in its order, and stricter where it believes what it should not. */
#include "finalize/job.h"

#include "cubin/admit.h"

/* What the rules of the scan amount to in codes of the reference: it has none for most of them. */
static cv_final code_of(cv_rule rule)
{
    if (rule >= CV_R_SEG_TYPE && rule <= CV_R_SEG_BOUNDARY)
        return CV_FINAL_SEGMENT;
    if (rule >= CV_R_RELOC_TARGET && rule <= CV_R_RELOC_ALIGN)
        return CV_FINAL_RELOC;
    if (rule == CV_R_COMPAT_TWICE || rule == CV_R_TLV_REPEATED || rule == CV_R_TLV_SYMBOL_TWICE)
        return CV_FINAL_TWICE;
    return rule == CV_R_SEC_MISSING_COMPAT ? CV_FINAL_NO_COMPAT : CV_FINAL_TYPE;
}

/* Between the examination and whoever listens: remembers the first error. */
static void note_first_error(void *user, const cuvet_diag *diag)
{
    cv_final_job *job = user;

    /* Without .nv.compat other rules are broken as well: that it is not there is what counts. */
    if (diag->severity == CUVET_ERROR && (!job->has_error || diag->rule == CV_R_SEC_MISSING_COMPAT)) {
        job->has_error = true;
        job->first_error = (cv_rule)diag->rule;
    }
    if (diag->rule >= CV_R_TWIN_SYMBOL && diag->rule <= CV_R_TWIN_CALLS && !job->of_result)
        job->sides_differ = true;
    /* Notes about a result were notes about the input, or are about what was meant. */
    if (job->emit && (!job->of_result || diag->severity != CUVET_NOTE))
        job->emit(job->emit_user, diag);
}

static cv_final code_of_status(const cv_final_job *job, cuvet_status status)
{
    if (status == CUVET_E_NOMEM)
        return CV_FINAL_MEMORY;
    if (status == CUVET_E_LIMIT)
        return cv_cancelled(job->ctx) ? CV_FINAL_CANCELLED : CV_FINAL_LIMIT;
    return job->has_error ? code_of(job->first_error) : CV_FINAL_TYPE;
}

cuvet_status cv_final_examine(cv_final_job *job, cv_cubin *cubin, cv_span image)
{
    cv_ctx *ctx = job->ctx;
    uint64_t extent = 0, errors = ctx->n_errors;
    cuvet_status status;

    job->emit = ctx->emit;
    job->emit_user = ctx->emit_user;
    job->has_error = false;
    ctx->emit = note_first_error;
    ctx->emit_user = job;
    status = cv_cubin_examine(ctx, cubin, image, NULL, &extent);
    if (status == CUVET_OK)
        cv_cubin_check_tail(ctx, image, extent, 0);
    if (status == CUVET_OK)
        status = ctx->n_errors == errors ? CUVET_OK : cv_verdict_status(ctx->verdict);
    if (status == CUVET_OK && ctx->n_errors != errors)
        status = CUVET_E_REFUSED;
    ctx->emit = job->emit;
    ctx->emit_user = job->emit_user;
    if (status != CUVET_OK && job->code == CV_FINAL_OK)
        job->code = code_of_status(job, status);
    return status;
}

static uint64_t header_at(cv_ehdr_field field)
{
    return cv_elf_ehdr_at(false, field);
}

cuvet_status cv_final_prepare(cv_final_job *job)
{
    const cv_final_options *options = job->options;
    bool known = options->kind == CV_KIND_NONE || options->kind == CV_KIND_MERCURY ||
                 options->kind == CV_KIND_CAPMERC || options->kind == CV_KIND_SASS;

    if (!known || options->level_most > CV_FINAL_LEVEL_MOST ||
        (options->phase == CV_PHASE_PRELINK && options->kind == CV_KIND_CAPMERC) ||
        (options->phase == CV_PHASE_POSTLINK && options->kind == CV_KIND_MERCURY))
        return cv_final_refuse(job, CV_FINAL_CONFLICT, CV_R_FINAL_CONFLICT, 0, options->kind, options->phase);
    return CUVET_OK;
}

/* Nothing is known of the input yet, and what is wanted can be given in some phase. */
bool cv_final_prepare_holds(const cv_final_job *job)
{
    const cv_final_options *options = job->options;
    cv_kind never = options->phase == CV_PHASE_PRELINK    ? CV_KIND_CAPMERC
                    : options->phase == CV_PHASE_POSTLINK ? CV_KIND_MERCURY
                                                          : CV_KIND_NONE;

    return job->cubin.sec.count == 0 && job->part.count == 0 && !job->use.backend &&
           job->in_kind == CV_KIND_NONE &&
           (options->kind == CV_KIND_NONE || (options->kind != never && cv_is_pow2(options->kind)));
}

bool cv_final_kind_of(const cv_elf_header *header, cv_kind *kind)
{
    if (header->osabi == CV_OSABI_CUDA) {
        *kind = (cv_kind)(header->flags & CV_EF_KIND);
        return *kind == CV_KIND_MERCURY || *kind == CV_KIND_CAPMERC || *kind == CV_KIND_SASS;
    }
    if (header->osabi != CV_OSABI_LEGACY)
        return false;
    *kind = cv_elf_flags_mercury(header->flags, false)   ? CV_KIND_MERCURY
            : cv_elf_flags_capsule(header->flags, false) ? CV_KIND_CAPMERC
                                                         : CV_KIND_SASS;
    return true;
}

/* The header, before anything else is read. */
static cuvet_status check_header(cv_final_job *job)
{
    uint64_t at = job->in.off, pair;
    cv_elf_header header;
    cuvet_status status;

    if (!cv_elf_peek(job->in, &header)) {
        if (job->code == CV_FINAL_OK)
            job->code = CV_FINAL_TYPE;
        status = cv_elf_read_header(job->ctx, job->in, &header);
        return CV_NEVER(status == CUVET_OK) ? cv_final_broken(job) : status;
    }
    if (header.machine != CV_EM_CUDA)
        return cv_final_refuse(job, CV_FINAL_TYPE, CV_R_ELF_MACHINE, at + header_at(CV_EH_MACHINE),
                               header.machine, CV_EM_CUDA);
    if (header.is32)
        return cv_final_refuse(job, CV_FINAL_TYPE, CV_R_FINAL_CLASS, at + 4, 1, 2);
    pair = header.osabi == CV_OSABI_CUDA ? CV_ABI_CUDA : CV_ABI_LEGACY;
    if (header.osabi != CV_OSABI_CUDA && header.osabi != CV_OSABI_LEGACY)
        return cv_final_refuse(job, CV_FINAL_TYPE, CV_R_FINAL_ABI, at + 7, header.osabi, header.abiversion);
    if (!cv_final_kind_of(&header, &job->in_kind))
        return cv_final_refuse(job, CV_FINAL_TYPE, CV_R_FINAL_KIND, at + header_at(CV_EH_FLAGS),
                               header.flags & CV_EF_KIND, CV_KIND_CAPMERC);
    if (header.type != CV_ELF_REL && header.type != CV_ELF_EXEC)
        return cv_final_refuse(job, CV_FINAL_TYPE, CV_R_FINAL_TYPE, at + header_at(CV_EH_TYPE), header.type,
                               CV_ELF_EXEC);
    if (header.abiversion != pair)
        return cv_final_refuse(job, CV_FINAL_ABI, CV_R_FINAL_ABI, at + 7, header.osabi, header.abiversion);
    return CUVET_OK;
}

static uint64_t source_arch(const cv_final_job *job)
{
    return cv_arch_pack(job->cubin.sm, cv_admit_suffix(&job->cubin));
}

static uint64_t target_arch(const cv_final_job *job)
{
    return cv_arch_pack(job->dst_sm, job->options->target_suffix);
}

/* Which form is wanted of which. */
static cuvet_status check_kinds(cv_final_job *job)
{
    uint64_t at = job->in.off + header_at(CV_EH_FLAGS);
    cv_kind in = job->in_kind, out = job->options->kind;

    if (out == CV_KIND_NONE)
        out = job->options->phase == CV_PHASE_PRELINK ? CV_KIND_SASS : in;
    job->out_kind = out;
    if (job->n_capsules != 0 && in != CV_KIND_CAPMERC)
        return cv_final_refuse(job, CV_FINAL_TYPE, CV_R_FINAL_PHASE, at, in, CV_KIND_CAPMERC);
    if (in == CV_KIND_MERCURY && out == CV_KIND_MERCURY)
        return cv_final_refuse(job, CV_FINAL_ARCH, CV_R_FINAL_SAME_MERCURY, at, in, out);
    if (in == CV_KIND_SASS && job->options->phase == CV_PHASE_POSTLINK)
        return cv_final_refuse(job, CV_FINAL_TYPE, CV_R_FINAL_PHASE, at, in, CV_KIND_CAPMERC);
    if (in == CV_KIND_SASS && out != CV_KIND_SASS)
        return cv_final_refuse(job, CV_FINAL_UPLIFT, CV_R_FINAL_UPLIFT, at, in, out);
    return CUVET_OK;
}

/* Does the file allow the target, and is it believed? */
static cuvet_status check_target(cv_final_job *job)
{
    const cv_compat *compat = job->cubin.compat.len ? &job->cubin.claims : NULL;
    uint64_t at = job->in.off + header_at(CV_EH_FLAGS);
    uint32_t src = job->cubin.sm;
    bool level;
    cv_final answer;

    if (job->options->target_sm != 0 &&
        !cv_arch_known((cuvet_target){ job->dst_sm, job->options->target_suffix }))
        return cv_final_refuse(job, CV_FINAL_SM, CV_R_FINAL_SM, at, target_arch(job), 0);
    if (src == job->dst_sm)
        return CUVET_OK;
    answer = cv_can_finalize_most(compat, src, job->dst_sm, job->options->level_most, &level);
    if (level)
        return cv_final_refuse(job, answer, CV_R_FINAL_LEVEL, job->cubin.compat.off, job->cubin.claims.level,
                               job->options->level_most);
    if (answer == CV_FINAL_NO_COMPAT)
        return cv_final_refuse(job, answer, CV_R_FINAL_NO_COMPAT, at, source_arch(job), target_arch(job));
    return answer == CV_FINAL_OK ? CUVET_OK
                                 : cv_final_refuse(job, answer, CV_R_FINAL_INCOMPATIBLE, at, source_arch(job),
                                                   target_arch(job));
}

/* Code for sm_Na, and a target that does not say so. */
static cuvet_status check_suffix(cv_final_job *job)
{
    uint64_t at = job->in.off + header_at(CV_EH_FLAGS);

    if (!job->accel || job->options->target_sm == 0 || job->options->target_suffix == 'a')
        return CUVET_OK;
    if (job->options->exact)
        return cv_final_refuse(job, CV_FINAL_INCOMPATIBLE, CV_R_ADMIT_SUFFIX, at, source_arch(job),
                               target_arch(job));
    cv_report(job->ctx, CV_R_ADMIT_SUFFIX_LOST, at, 4, source_arch(job), target_arch(job));
    return CUVET_OK;
}

cuvet_status cv_final_admit(cv_final_job *job)
{
    cuvet_status status = check_header(job);

    if (status == CUVET_OK)
        status = cv_final_examine(job, &job->cubin, job->in);
    if (status != CUVET_OK)
        return status;
    for (uint64_t i = 1; i < job->cubin.sec.count; i++)
        job->n_capsules += cv_final_part(&job->cubin, i) == CV_PART_CAPSULE;
    job->accel = cv_admit_suffix(&job->cubin) == 'a' || job->cubin.compat_accel;
    job->dst_sm = job->options->target_sm ? job->options->target_sm : job->cubin.sm;
    if (job->cubin.compat.len && job->cubin.claims.isa > CV_MERCURY_ISA)
        return cv_final_refuse(job, CV_FINAL_ISA, CV_R_FINAL_ISA, job->cubin.compat.off,
                               job->cubin.claims.isa, CV_MERCURY_ISA);
    status = check_kinds(job);
    if (status == CUVET_OK)
        status = check_target(job);
    if (status == CUVET_OK)
        status = check_suffix(job);
    return status;
}

/* Form and target are those that were asked for; where none was, those of the input. */
static bool is_as_asked(const cv_final_job *job)
{
    const cv_final_options *options = job->options;
    cv_kind in = CV_KIND_NONE, own;

    if (!cv_final_kind_of(&job->cubin.header, &in) || job->in_kind != in)
        return false;
    own = options->phase == CV_PHASE_PRELINK ? CV_KIND_SASS : in;
    return job->out_kind == (options->kind != CV_KIND_NONE ? options->kind : own) &&
           job->dst_sm == (options->target_sm != 0 ? options->target_sm : job->cubin.sm);
}

bool cv_final_admit_holds(const cv_final_job *job)
{
    const cv_cubin *cubin = &job->cubin;

    return cubin->sec.count != 0 && cubin->extent == job->in.len && (cubin->rel || cubin->exe) &&
           (cubin->abi8 || cubin->legacy) && job->out_kind != CV_KIND_NONE && job->dst_sm != 0 &&
           is_as_asked(job);
}
