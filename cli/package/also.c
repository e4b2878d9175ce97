/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "also.h"

#include "../whole.h"
#include "zip.h"

const char *package_also_before(package_form form)
{
    uint8_t head[PACKAGE_HEAD];

    return form != PACKAGE_TAR && cli_read_at(PACKAGE_IN, head, sizeof(head), 0) &&
                   package_is_tar(head, sizeof(head))
               ? "is a tar file as well: what is in it depends on the reader"
               : NULL;
}

void package_also_look(package_reader *in, package_form form)
{
    uint64_t at = 0;
    package_zip_look look = form == PACKAGE_ZIP || form == PACKAGE_SEVENZIP
                                ? ZIP_NOWHERE
                                : package_zip_found(PACKAGE_IN, (uint64_t)in->size, &at);

    in->zip = look == ZIP_DIRECTORY || look == ZIP_MANY_MARKS ? (int64_t)at : -1;
    in->marks = look == ZIP_MANY_MARKS;
}

const char *package_also_behind(const package_reader *in, package_cause *cause)
{
    *cause = PACKAGE_MEMORY;
    if (in->zip < 0 || (in->end > in->zip && !in->beyond))
        return NULL;
    if (in->beyond)
        return "has more behind its entries than is unpacked: whether it is a zip file as well is not known";
    if (in->marks)
        return "has more marks of the end of a zip file than are looked at: whether it is one as well is not "
               "known";
    *cause = PACKAGE_DAMAGED;
    return "is a zip file as well: what is in it depends on the reader";
}
