/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ELF writers, the other direction of read.h: each appends one record to a builder. A value that does not fit
 * the class makes the builder fail; nothing is cut. What was read and is written again gives the same bytes.
 */
#ifndef CV_FORMAT_ELF_WRITE_H
#define CV_FORMAT_ELF_WRITE_H

#include "bytes/builder.h"
#include "format/elf/read.h"

/* Magic, class, little-endian, version 1, the fields of h; the padding of e_ident is zero whatever
 * h->pad_nonzero says. */
void cv_elf_write_header(cv_builder *out, const cv_elf_header *header);
void cv_elf_write_section(cv_builder *out, bool is32, const cv_elf_section *header);
void cv_elf_write_segment(cv_builder *out, bool is32, const cv_elf_segment *segment);
void cv_elf_write_symbol(cv_builder *out, bool is32, const cv_elf_symbol *sym);
void cv_elf_write_reloc(cv_builder *out, bool is32, bool rela, const cv_elf_reloc *reloc);

#endif
