/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the header of an ELF says of itself, to whoever only wants to know what it is. */
#include "format/elf/read.h"
#include "intake/locate.h"
#include "intake/probe.h"

/* Architecture and kind: the layout hangs on OSABI, and there is none for another one. With both bits the
 * reference takes a file for one with a capsule. */
static void read_flags(cv_look *look)
{
    bool is32 = (look->out->flags & CUVET_CLASSIFIED_32BIT) != 0;
    uint8_t osabi = cv_u8_at(look->span, CV_EI_OSABI);
    uint32_t flags = cv_u32_at(look->span, cv_elf_ehdr_at(is32, CV_EH_FLAGS)); /* 0 when it is not there */
    bool capsule = false, mercury = false;

    if (osabi == CV_OSABI_CUDA) {
        look->out->sm = cv_elf_flags_sm(flags, true);
        capsule = cv_elf_flags_capsule(flags, true);
        mercury = cv_elf_flags_mercury(flags, true);
    } else if (osabi == CV_OSABI_LEGACY) {
        look->out->sm = cv_elf_flags_sm(flags, false);
        capsule = cv_elf_flags_capsule(flags, false);
        mercury = cv_elf_flags_mercury(flags, false);
    }
    mercury = cv_elf_is_mercury(cv_u16_at(look->span, cv_elf_ehdr_at(is32, CV_EH_TYPE)),
                                cv_u16_at(look->span, cv_elf_ehdr_at(is32, CV_EH_PHNUM)), mercury);
    look->out->flags |= capsule ? CUVET_CLASSIFIED_CAPSULE : mercury ? CUVET_CLASSIFIED_MERCURY : 0;
}

/* What only a device ELF must have. */
static cuvet_status check_device(cv_look *look, uint64_t size)
{
    uint64_t at = cv_elf_ehdr_at(size == cv_elf_ehdr_size(true), CV_EH_EHSIZE);
    uint8_t osabi = cv_u8_at(look->span, CV_EI_OSABI);

    if (osabi != CV_OSABI_CUDA && osabi != CV_OSABI_LEGACY)
        return cv_look_broken(look, CUVET_K_CUBIN,
                              (cv_class_why){ CV_R_CLASS_ELF_OSABI, CV_EI_OSABI, 1, osabi, CV_OSABI_CUDA });
    if (cv_u16_at(look->span, at) != size)
        return cv_look_broken(
            look, CUVET_K_CUBIN,
            (cv_class_why){ CV_R_CLASS_ELF_EHSIZE, at, 2, cv_u16_at(look->span, at), size });
    return CUVET_OK;
}

static cuvet_status check_elf(cv_look *look, cuvet_kind type)
{
    uint8_t cls = cv_u8_at(look->span, CV_EI_CLASS), data = cv_u8_at(look->span, CV_EI_DATA),
            version = cv_u8_at(look->span, CV_EI_VERSION);
    uint64_t size = cv_elf_ehdr_size(cls == CV_ELF_CLASS32);

    if (cls != CV_ELF_CLASS32 && cls != CV_ELF_CLASS64)
        return cv_look_broken(look, type,
                              (cv_class_why){ CV_R_CLASS_ELF_CLASS, CV_EI_CLASS, 1, cls, CV_ELF_CLASS64 });
    if (look->span.len < size)
        return cv_look_short(look, type, CV_R_CLASS_ELF_SHORT, size);
    if (data != CV_ELF_LITTLE && !(data == CV_ELF_BIG && type == CUVET_K_HOST_ELF))
        return cv_look_broken(look, type,
                              (cv_class_why){ CV_R_CLASS_ELF_DATA, CV_EI_DATA, 1, data, CV_ELF_LITTLE });
    if (version != CV_ELF_VERSION)
        return cv_look_broken(
            look, type, (cv_class_why){ CV_R_CLASS_ELF_VERSION, CV_EI_VERSION, 1, version, CV_ELF_VERSION });
    return type == CUVET_K_CUBIN ? check_device(look, size) : CUVET_OK;
}

cuvet_status cv_look_elf(cv_look *look)
{
    uint8_t osabi = cv_u8_at(look->span, CV_EI_OSABI);
    bool device = cv_locate_is_device(look->span),
         swapped = device && cv_u16_at(look->span, cv_elf_ehdr_at(false, CV_EH_MACHINE)) != CV_EM_CUDA;
    cuvet_kind type = device ? CUVET_K_CUBIN : CUVET_K_HOST_ELF;
    cuvet_status status = CUVET_OK;

    if (look->span.len < CV_CLASS_ELF_LENIENT) {
        /* Device code for all that is known, unless OSABI is there and says otherwise. */
        if (look->span.len <= CV_EI_OSABI || osabi == CV_OSABI_CUDA || osabi == CV_OSABI_LEGACY)
            type = CUVET_K_CUBIN;
        return cv_look_short(look, type, CV_R_CLASS_ELF_SHORT, CV_CLASS_ELF_LENIENT);
    }
    if (!look->lenient || swapped) /* the reference does not see the machine in the other byte order */
        status = check_elf(look, type);
    if (status != CUVET_OK)
        return status;
    (void)cv_look_found(look, type);
    look->out->flags = cv_elf_is32(look->span) ? CUVET_CLASSIFIED_32BIT : 0;
    if (device)
        read_flags(look);
    return CUVET_OK;
}
