/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage admit: what a link needs of its inputs beyond the rules of a scan. A file may break these and still
 * be a file; what comes of it would be none, or would lack something that it had. */
#include "base/arith.h"
#include "link/in/stages.h"

/* No device has more memory, and no section of a genuine object asks for a larger alignment. */
#define SIZE_MOST  (UINT64_C(1) << 48)
#define ALIGN_MOST (UINT64_C(1) << 20)

static cv_role role_of(const cv_link *l, const cv_isec *s)
{
    return cv_cubin_sec(&cv_l_obj(l, s->obj)->cubin, s->index)->role;
}

/* The symbol whose function a code section is; CV_NONE: it names none. */
static cv_id owner_of(const cv_link *l, cv_id sec)
{
    const cv_isec *s = cv_l_isec(l, sec);
    const cv_lobj *o = cv_l_obj(l, s->obj);
    cv_id owner = o->first_sym + cv_elf_code_symbol(s->info);

    if (cv_elf_code_symbol(s->info) >= o->n_sym || cv_l_type(cv_l_isym(l, owner)) != CV_STT_FUNC)
        return CV_NONE;
    return cv_l_isym(l, owner)->sec == sec ? owner : CV_NONE;
}

static cuvet_status admit_section(cv_link *l, cv_id id)
{
    const cv_isec *s = cv_l_isec(l, id);
    cv_role role = role_of(l, s);

    if (role == CV_ROLE_UFT_REL || role == CV_ROLE_UFT) /* code that is called through a table */
        return cv_link_refuse_section(l, id, CV_R_LINK_SECTION, s->type);
    if (role == CV_ROLE_RESOLVED_RELA) /* as the reference does; places in its output would be others */
        cv_link_say_section(l, id, CV_R_LINK_RESOLVED, s->size / cv_elf_rel_size(false, true));
    if (s->size > SIZE_MOST)
        return cv_link_refuse_section(l, id, CV_R_LINK_EXTENT, s->size);
    if (s->align > ALIGN_MOST)
        return cv_link_refuse_section(l, id, CV_R_LINK_EXTENT, s->align);
    if (role == CV_ROLE_TEXT && owner_of(l, id) == CV_NONE)
        return cv_link_refuse_section(l, id, CV_R_LINK_CODE, cv_elf_code_symbol(s->info));
    return CUVET_OK;
}

/* Other functions in a section are aliases: behind the owner, global, at the same place, no kernels. Records
 * are the owner's. */
static void admit_function(cv_link *l, cv_id id)
{
    const cv_isym *s = cv_l_isym(l, id);
    cv_id owner = role_of(l, cv_l_isec(l, s->sec)) == CV_ROLE_TEXT ? owner_of(l, s->sec) : CV_NONE;
    bool alias = owner < id && cv_l_bind(s) == CV_STB_GLOBAL && !(s->other & CV_STO_ENTRY);

    if (owner == CV_NONE || (owner != id && !alias) || s->value != 0)
        cv_link_say(l, id, CV_R_LINK_CODE, s->index, 0);
    else if (owner == id && !s->counted) /* a scan does not ask that of what an assembler made */
        cv_link_say(l, id, CV_R_TLV_NO_REGCOUNT, s->index, CV_ATTR_REGCOUNT);
}

static void admit_common(cv_link *l, cv_id id)
{
    const cv_isym *s = cv_l_isym(l, id);

    if (!cv_is_pow2(s->value))
        cv_link_say(l, id, CV_R_LINK_ALIGN, s->value, 0);
    else if (s->value > ALIGN_MOST || s->size > SIZE_MOST)
        cv_link_say(l, id, CV_R_LINK_EXTENT, cv_max(s->value, s->size), 0);
    if (cv_l_type(s) != CV_STT_CUDA_OBJECT && cv_l_type(s) != CV_STT_OBJECT)
        cv_link_say(l, id, CV_R_LINK_PLACE, CV_SHN_COMMON, 0);
    else if (cv_l_type(s) == CV_STT_CUDA_OBJECT && (s->other & CV_STO_SPACE) != CV_STO_SPACE_GLOBAL)
        cv_link_say(l, id, CV_R_LINK_SPACE, s->other, CV_STO_SPACE_GLOBAL);
}

/* What lies in shared memory without being a shared variable has no place when the variables have theirs. */
static void admit_shared(cv_link *l, cv_id id)
{
    const cv_isym *s = cv_l_isym(l, id);

    if (!cv_l_is_shared(s))
        cv_link_say(l, id, CV_R_LINK_SPACE, s->other, 0);
    else if (s->value > ALIGN_MOST)
        cv_link_say(l, id, CV_R_LINK_EXTENT, s->value, 0);
}

static bool in_shared(const cv_link *l, const cv_isym *s)
{
    cv_role r = s->sec == CV_NONE ? CV_ROLE_NONE : role_of(l, cv_l_isec(l, s->sec));

    return r == CV_ROLE_SHARED_FN || r == CV_ROLE_NV_DEBUG_SHARED;
}

/* A variable lies in a section of its memory space. What the driver keeps of the shared memory has none of
 * the program; the names that it has for shares of it may be either kind. */
static bool fits_space(const cv_link *l, const cv_isym *s)
{
    cv_role r = role_of(l, cv_l_isec(l, s->sec));

    switch (s->other & CV_STO_SPACE) {
    case CV_STO_SPACE_GLOBAL: return r == CV_ROLE_GLOBAL || r == CV_ROLE_GLOBAL_INIT || r == CV_ROLE_UDT;
    case CV_STO_SPACE_CONSTANT: return r == CV_ROLE_CONSTANT || r == CV_ROLE_CONSTANT_FN;
    case CV_STO_SPACE_LOCAL: return r == CV_ROLE_LOCAL_FN;
    case CV_STO_SPACE_SHARED: /* in_shared() has the others */
    case CV_STO_SPACE_RESERVED: return r == CV_ROLE_SHARED_RESERVED;
    default: return false;
    }
}

/* Nobody else can define what is local; a local symbol that was taken back has no type. An object is one of
 * those that the driver or the linker provides (libcudadevrt names .nv.ptx.const0.size so, with another type
 * in what a relocatable link made of it). */
static bool is_nobody(const cv_isym *s)
{
    unsigned type = cv_l_type(s), bind = cv_l_bind(s);

    return !s->defined && !cv_l_is_nowhere(s) &&
           ((bind == CV_STB_WEAK && type != CV_STT_OBJECT) ||
            (bind == CV_STB_LOCAL && type != CV_STT_NOTYPE));
}

static void admit_symbol(cv_link *l, cv_id id)
{
    const cv_isym *s = cv_l_isym(l, id);

    if (s->common)
        admit_common(l, id);
    else if (s->defined && s->sec == CV_NONE) /* an absolute value: nothing that a device could load */
        cv_link_say(l, id, CV_R_LINK_PLACE, CV_SHN_ABS, 0);
    else if (is_nobody(s))
        cv_link_say(l, id, CV_R_LINK_PLACE, CV_SHN_UNDEF, 0);
    else if (cv_l_type(s) == CV_STT_FUNC && s->sec != CV_NONE)
        admit_function(l, id);
    else if (cv_l_type(s) != CV_STT_SECTION && in_shared(l, s))
        admit_shared(l, id);
    else if (cv_l_type(s) == CV_STT_CUDA_OBJECT && s->sec != CV_NONE && !fits_space(l, s))
        cv_link_say(l, id, CV_R_LINK_SPACE, s->other, 0);
}

cuvet_status cv_link_admit(cv_link *l)
{
    cuvet_status st = CUVET_OK;

    for (cv_id i = 0; i < l->isec.n && st == CUVET_OK; i++)
        st = admit_section(l, i);
    for (cv_id i = 0; i < l->isym.n && st == CUVET_OK; i++)
        admit_symbol(l, i);
    return st;
}
