/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage admit: what a link needs of its inputs beyond the rules of a scan. A file may break these and still
 * be a file; what comes of it would be none, or would lack something that it had. */
#include "base/arith.h"
#include "link/in/link.h"

/* No device has more memory, and no section of a genuine object asks for a larger alignment. */
#define SIZE_MOST  (UINT64_C(1) << 48)
#define ALIGN_MOST (UINT64_C(1) << 20)

static cv_role role_of(const cv_view_validate *view, const cv_isec *isec)
{
    return cv_cubin_sec(&cv_l_obj(view, isec->obj)->cubin, isec->index)->role;
}

/* The symbol whose function a code section is; CV_NONE: it names none. */
static cv_id owner_of(const cv_view_validate *view, cv_id sec)
{
    const cv_isec *isec = cv_l_isec(view, sec);
    const cv_lobj *obj = cv_l_obj(view, isec->obj);
    cv_id owner = obj->first_sym + cv_elf_code_symbol(isec->info);

    if (cv_elf_code_symbol(isec->info) >= obj->n_sym || cv_l_type(cv_l_isym(view, owner)) != CV_STT_FUNC)
        return CV_NONE;
    return cv_l_isym(view, owner)->sec == sec ? owner : CV_NONE;
}

static cuvet_status admit_section(const cv_view_validate *view, cv_id id)
{
    const cv_isec *isec = cv_l_isec(view, id);
    cv_role role = role_of(view, isec);

    if (role == CV_ROLE_UFT_REL || role == CV_ROLE_UFT) /* code that is called through a table */
        return cv_link_refuse_section(view, id, CV_R_LINK_SECTION, isec->type);
    if (role == CV_ROLE_RESOLVED_RELA) /* as the reference does; places in its output would be others */
        cv_link_say_section(view, id, CV_R_LINK_RESOLVED, isec->size / cv_elf_rel_size(false, true));
    if (isec->size > SIZE_MOST)
        return cv_link_refuse_section(view, id, CV_R_LINK_EXTENT, isec->size);
    if (isec->align > ALIGN_MOST)
        return cv_link_refuse_section(view, id, CV_R_LINK_EXTENT, isec->align);
    if (role == CV_ROLE_TEXT && owner_of(view, id) == CV_NONE)
        return cv_link_refuse_section(view, id, CV_R_LINK_CODE, cv_elf_code_symbol(isec->info));
    return CUVET_OK;
}

/* Other functions in a section are aliases: behind the owner, global, at the same place, no kernels. Records
 * are the owner's. */
static void admit_function(const cv_view_validate *view, cv_id id)
{
    const cv_isym *sym = cv_l_isym(view, id);
    cv_id owner =
        role_of(view, cv_l_isec(view, sym->sec)) == CV_ROLE_TEXT ? owner_of(view, sym->sec) : CV_NONE;
    bool alias = owner < id && cv_l_bind(sym) == CV_STB_GLOBAL && !(sym->other & CV_STO_ENTRY);

    if (owner == CV_NONE || (owner != id && !alias) || sym->value != 0)
        cv_link_say(view, id, CV_R_LINK_CODE, sym->index, 0);
    else if (owner == id && !sym->counted) /* a scan does not ask that of what an assembler made */
        cv_link_say(view, id, CV_R_TLV_NO_REGCOUNT, sym->index, CV_ATTR_REGCOUNT);
}

static void admit_common(const cv_view_validate *view, cv_id id)
{
    const cv_isym *sym = cv_l_isym(view, id);

    if (!cv_is_pow2(sym->value))
        cv_link_say(view, id, CV_R_LINK_ALIGN, sym->value, 0);
    else if (sym->value > ALIGN_MOST || sym->size > SIZE_MOST)
        cv_link_say(view, id, CV_R_LINK_EXTENT, cv_max(sym->value, sym->size), 0);
    if (cv_l_type(sym) != CV_STT_CUDA_OBJECT && cv_l_type(sym) != CV_STT_OBJECT)
        cv_link_say(view, id, CV_R_LINK_PLACE, CV_SHN_COMMON, 0);
    else if (cv_l_type(sym) == CV_STT_CUDA_OBJECT && (sym->other & CV_STO_SPACE) != CV_STO_SPACE_GLOBAL)
        cv_link_say(view, id, CV_R_LINK_SPACE, sym->other, CV_STO_SPACE_GLOBAL);
}

/* What lies in shared memory without being a shared variable has no place when the variables have theirs. */
static void admit_shared(const cv_view_validate *view, cv_id id)
{
    const cv_isym *sym = cv_l_isym(view, id);

    if (!cv_l_is_shared(sym))
        cv_link_say(view, id, CV_R_LINK_SPACE, sym->other, 0);
    else if (sym->value > ALIGN_MOST)
        cv_link_say(view, id, CV_R_LINK_EXTENT, sym->value, 0);
}

static bool in_shared(const cv_view_validate *view, const cv_isym *sym)
{
    cv_role role = sym->sec == CV_NONE ? CV_ROLE_NONE : role_of(view, cv_l_isec(view, sym->sec));

    return role == CV_ROLE_SHARED_FN || role == CV_ROLE_NV_DEBUG_SHARED;
}

/* A variable lies in a section of its memory space. What the driver keeps of the shared memory has none of
 * the program; the names that it has for shares of it may be either kind. */
static bool fits_space(const cv_view_validate *view, const cv_isym *sym)
{
    cv_role role = role_of(view, cv_l_isec(view, sym->sec));

    switch (sym->other & CV_STO_SPACE) {
    case CV_STO_SPACE_GLOBAL:
        return role == CV_ROLE_GLOBAL || role == CV_ROLE_GLOBAL_INIT || role == CV_ROLE_UDT;
    case CV_STO_SPACE_CONSTANT: return role == CV_ROLE_CONSTANT || role == CV_ROLE_CONSTANT_FN;
    case CV_STO_SPACE_LOCAL: return role == CV_ROLE_LOCAL_FN;
    case CV_STO_SPACE_SHARED: /* in_shared() has the others */
    case CV_STO_SPACE_RESERVED: return role == CV_ROLE_SHARED_RESERVED;
    default: return false;
    }
}

/* Nobody else can define what is local; a local symbol that was taken back has no type. An object is one of
 * those that the driver or the linker provides (libcudadevrt names .nv.ptx.const0.size so, with another type
 * in what a relocatable link made of it). */
static bool is_nobody(const cv_isym *sym)
{
    unsigned type = cv_l_type(sym), bind = cv_l_bind(sym);

    return !sym->defined && !cv_l_is_nowhere(sym) &&
           ((bind == CV_STB_WEAK && type != CV_STT_OBJECT) ||
            (bind == CV_STB_LOCAL && type != CV_STT_NOTYPE));
}

static void admit_symbol(const cv_view_validate *view, cv_id id)
{
    const cv_isym *sym = cv_l_isym(view, id);

    if (sym->common)
        admit_common(view, id);
    else if (sym->defined && sym->sec == CV_NONE) /* an absolute value: nothing that a device could load */
        cv_link_say(view, id, CV_R_LINK_PLACE, CV_SHN_ABS, 0);
    else if (is_nobody(sym))
        cv_link_say(view, id, CV_R_LINK_PLACE, CV_SHN_UNDEF, 0);
    else if (cv_l_type(sym) == CV_STT_FUNC && sym->sec != CV_NONE)
        admit_function(view, id);
    else if (cv_l_type(sym) != CV_STT_SECTION && in_shared(view, sym))
        admit_shared(view, id);
    else if (cv_l_type(sym) == CV_STT_CUDA_OBJECT && sym->sec != CV_NONE && !fits_space(view, sym))
        cv_link_say(view, id, CV_R_LINK_SPACE, sym->other, 0);
}

cuvet_status cv_stage_validate(const cv_view_validate *view)
{
    cuvet_status st = CUVET_OK;

    for (cv_id i = 0; i < view->inputs->isec.count && st == CUVET_OK; i++)
        st = admit_section(view, i);
    for (cv_id i = 0; i < view->inputs->isym.count && st == CUVET_OK; i++)
        admit_symbol(view, i);
    return st;
}
