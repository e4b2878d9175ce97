/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage validate: what a link needs of its inputs beyond the rules of a scan. A file may break these and
 * still be a file; what comes of it would be none, or would lack something that it had. */
#include "base/arith.h"
#include "format/tlv/attr.h"
#include "format/tlv/read.h"
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

/* Sections have the names of functions behind what says their kind. Where such a name is that of a section of
 * the system, what a link makes for the function would be taken for that. */
static bool is_of_system(cv_span function)
{
/* Both are constants: a compiler leaves out what cannot be. */
#define IS_BEHIND(name, kind)                                                                                \
    || (sizeof(name) > sizeof(kind) && cv_span_starts(cv_span_of_str(name), kind) &&                         \
        function.len == sizeof(name) - sizeof(kind) &&                                                       \
        cv_span_eq(function, cv_span_tail(cv_span_of_str(name), sizeof(kind) - 1)))
#define ROLE(number, name)                                                                                   \
    IS_BEHIND(name, ".nv.shared.") IS_BEHIND(name, ".nv.info.") IS_BEHIND(name, ".nv.merc.nv.info.")
    return false
#include "roles.def"
        ;
#undef ROLE
#undef IS_BEHIND
}

/* The result has the alignment of these from its inputs; 0 in the table of kinds: that of the data, which is
 * some. */
static bool fits_alignment(const cv_view_validate *view, const cv_isec *isec, cv_role role)
{
    uint64_t want = cv_section_facts_of(role)->align;

    if (role == CV_ROLE_TEXT)
        want = cv_l_obj(view, isec->obj)->cubin.gen->text;
    if (want == 0)
        return isec->align != 0 || role == CV_ROLE_NONE || role == CV_ROLE_NULL_SECTION;
    return isec->align == want || (role != CV_ROLE_TEXT && role != CV_ROLE_DEBUG && role != CV_ROLE_NV_DEBUG);
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
    if (!fits_alignment(view, isec, role))
        return cv_link_refuse_section(view, id, CV_R_LINK_SECTION_ALIGN, isec->align);
    if (role == CV_ROLE_TEXT && owner_of(view, id) == CV_NONE)
        return cv_link_refuse_section(view, id, CV_R_LINK_CODE, cv_elf_code_symbol(isec->info));
    return CUVET_OK;
}

/* Other functions in a section are aliases: global, at the same place, no kernels. Records
 * are the owner's. A scan asks that of all but what an assembler made (CV-ELF-176). */
static void admit_function(const cv_view_validate *view, cv_id id)
{
    const cv_isym *sym = cv_l_isym(view, id);
    cv_id owner =
        role_of(view, cv_l_isec(view, sym->sec)) == CV_ROLE_TEXT ? owner_of(view, sym->sec) : CV_NONE;
    bool alias = cv_l_bind(sym) == CV_STB_GLOBAL && !(sym->other & CV_STO_ENTRY);

    if (is_of_system(cv_l_text(view, sym->name)))
        cv_link_say(view, id, CV_R_LINK_SYSTEM_NAME, sym->index, 0);
    if (owner == CV_NONE || (owner != id && !alias) || sym->value != 0)
        cv_link_say(view, id, CV_R_LINK_CODE, sym->index, 0);
    else if (owner == id && !sym->counted) /* a scan does not ask that of what an assembler made */
        cv_link_say(view, id, CV_R_TLV_NO_REGCOUNT, sym->index, CV_ATTR_REGCOUNT);
}

/* That it is a variable of global memory with an alignment was asked when it was examined. One of a linker's
 * own symbols, or a weak one, would stay without memory. */
static void admit_common(const cv_view_validate *view, cv_id id)
{
    const cv_isym *sym = cv_l_isym(view, id);

    if (sym->value > ALIGN_MOST)
        cv_link_say(view, id, CV_R_LINK_EXTENT, sym->value, 0);
    if (cv_l_type(sym) != CV_STT_CUDA_OBJECT || cv_l_bind(sym) != CV_STB_GLOBAL ||
        sym->name == view->names->empty) /* nobody could name it */
        cv_link_say(view, id, CV_R_LINK_PLACE, CV_SHN_COMMON, 0);
}

/* Memory that a function has alone has no name that others see: of two definitions one would be gone with its
 * function. No compiler writes one; the reference ends with an internal error where it counts. */
static bool is_exported_private(const cv_view_validate *view, const cv_isym *sym)
{
    return cv_l_bind(sym) != CV_STB_LOCAL && sym->sec != CV_NONE &&
           cv_role_is_private(role_of(view, cv_l_isec(view, sym->sec)));
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

/* The reference's own relocatable output has weak arrays that nobody can define. What else nobody can define
 * is said when an object is examined. */
static bool is_nobody(const cv_isym *sym)
{
    return !sym->defined && cv_l_bind(sym) == CV_STB_WEAK && cv_l_type(sym) == CV_STT_CUDA_OBJECT;
}

/* What an object may name of others: functions, variables, textures and what the system has of its own. A
 * symbol of any other kind could be given a place in code or in no memory. */
static bool is_for_others(const cv_isym *sym)
{
    unsigned type = cv_l_type(sym);

    return type == CV_STT_FUNC || type == CV_STT_CUDA_OBJECT || type == CV_STT_OBJECT || cv_l_is_texture(sym);
}

/* Banks other than that of the program hold parameters, tables and addresses: the only names there are a
 * compiler's own. In an executable such a variable would be malformed (CV-ELF-145). */
static bool in_foreign_bank(const cv_view_validate *view, const cv_isym *sym)
{
    const cv_isec *isec = cv_l_isec(view, sym->sec);
    const cv_sec *sec = cv_cubin_sec(&cv_l_obj(view, isec->obj)->cubin, isec->index);
    bool own = cv_l_bind(sym) == CV_STB_LOCAL && (sym->other & CV_STV) == CV_STV_INTERNAL;

    return (sec->role == CV_ROLE_CONSTANT && sec->bank != CV_BANK_USER) ||
           (sec->role == CV_ROLE_CONSTANT_FN && !own);
}

/* Wanted of other objects, which cannot know what; or defined for them, who cannot say so. */
static bool is_nameless(const cv_view_validate *view, const cv_isym *sym)
{
    return sym->index != 0 && cv_l_bind(sym) != CV_STB_LOCAL && sym->name == view->names->empty;
}

static void admit_symbol(const cv_view_validate *view, cv_id id)
{
    const cv_isym *sym = cv_l_isym(view, id);

    if (sym->common)
        admit_common(view, id);
    else if (sym->defined && is_nameless(view, sym))
        cv_link_say(view, id, CV_R_LINK_NAMELESS, (uint64_t)sym->index, 0);
    else if (is_nobody(sym) || is_nameless(view, sym))
        cv_link_say(view, id, CV_R_LINK_PLACE, CV_SHN_UNDEF, 0);
    else if (!sym->defined && cv_l_bind(sym) != CV_STB_LOCAL && !is_for_others(sym))
        cv_link_say(view, id, CV_R_LINK_SYMBOL_TYPE, cv_l_type(sym), 0);
    else if (cv_l_type(sym) == CV_STT_FUNC && sym->sec != CV_NONE)
        admit_function(view, id);
    else if (cv_l_type(sym) == CV_STT_CUDA_OBJECT && is_exported_private(view, sym))
        cv_link_say(view, id, CV_R_LINK_PRIVATE, sym->info, 0);
    else if (cv_l_type(sym) != CV_STT_SECTION && in_shared(view, sym))
        admit_shared(view, id);
    else if (cv_l_type(sym) == CV_STT_CUDA_OBJECT && sym->sec != CV_NONE &&
             (!fits_space(view, sym) || in_foreign_bank(view, sym)))
        cv_link_say(view, id, CV_R_LINK_SPACE, sym->other, 0);
}

/* What only a link knows, and what it writes for every kernel: beside its own, that of an input would be a
 * second one, and of any other function a claim that nobody made. */
static void admit_records(const cv_view_validate *view, cv_id id)
{
    const cv_lobj *obj = cv_l_obj(view, id);
    cv_span span = cv_cubin_body(&obj->cubin, obj->info);
    uint64_t pos = 0;
    cv_tlv tlv;

    for (; obj->info && cv_tlv_at(span, pos, &tlv) == CV_TLV_OK; pos = tlv.next)
        if (tlv.code == CV_ATTR_MIN_STACK_SIZE)
            cv_link_say_record(view, obj->first_sec + (cv_id)obj->info, CV_R_LINK_OF_LINKERS, &tlv);
}

cuvet_status cv_stage_validate(const cv_view_validate *view)
{
    cuvet_status status = CUVET_OK;

    for (cv_id i = 0; i < view->inputs->isec.count && status == CUVET_OK; i++)
        status = admit_section(view, i);
    for (cv_id i = 0; i < view->inputs->isym.count && status == CUVET_OK; i++)
        admit_symbol(view, i);
    for (cv_id i = 0; i < view->inputs->obj.count && status == CUVET_OK; i++)
        admit_records(view, i);
    return status;
}
