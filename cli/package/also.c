/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "also.h"

#include "../whole.h"
#include "zip.h"

/* Where what is compressed ends; what stands behind it nobody unpacks. */
static uint64_t end_of_stream(package_reader *in, package_form form)
{
    struct archive *archive = package_open(in, form, PACKAGE_NONE, AS_IT_SAYS);
    struct archive_entry *entry;
    const void *bytes;
    la_int64_t offset;
    size_t size;
    uint64_t end = 0;

    if (archive && archive_read_open1(archive) >= ARCHIVE_WARN &&
        archive_read_next_header(archive, &entry) >= ARCHIVE_WARN) {
        while (archive_read_data_block(archive, &bytes, &size, &offset) == ARCHIVE_OK)
            continue;
        end = (uint64_t)archive_filter_bytes(archive, -1);
    }
    (void)archive_read_free(archive); /* nothing is written by it */
    return end;
}

const char *package_also_before(package_form form)
{
    uint8_t head[PACKAGE_HEAD];

    return form != PACKAGE_TAR && cli_read_at(PACKAGE_IN, head, sizeof(head), 0) &&
                   package_is_tar(head, sizeof(head))
               ? "is a tar file as well: what is in it depends on the reader"
               : NULL;
}

const char *package_also_behind(package_reader *in, package_form form, uint64_t end, uint64_t *at)
{
    if (form == PACKAGE_ZIP || form == PACKAGE_SEVENZIP ||
        !package_zip_found(PACKAGE_IN, (uint64_t)in->size, at))
        return NULL;
    if (package_is_stream(form))
        end = end_of_stream(in, form);
    return *at >= end ? "is a zip file as well: what is in it depends on the reader" : NULL;
}
