/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "question.h"

#include "../fingerprint.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of what rules are told beside a piece. What does not fit makes the file one that was not seen in
 * full: whoever made it has a say in how much that is. */
#define KERNELS_MOST ((size_t)4 << 20)
#define NAMES_MOST   ((size_t)64 << 20) /* of all sections */
#define NAME_MOST    ((size_t)64 << 10) /* of one: of longer ones the library has no more than that */

static void *grow(yara_parts *parts, void *list, size_t need, size_t *cap, size_t size)
{
    size_t more = *cap ? *cap : 256;
    void *out;

    if (need <= *cap)
        return list;
    while (more < need)
        more *= 2;
    out = reallocarray(list, more, size);
    parts->failed = parts->failed || !out;
    if (!out)
        return list;
    *cap = more;
    return out;
}

static void add_text(yara_parts *parts, const void *bytes, size_t size)
{
    parts->text = grow(parts, parts->text, parts->n_text + size, &parts->cap_text, 1);
    if (parts->failed || size == 0)
        return;
    memcpy(parts->text + parts->n_text, bytes, size);
    parts->n_text += size;
}

/* A name, escaped and whole. @return false: no memory */
static bool add_escaped(yara_parts *parts, const void *name, size_t size)
{
    size_t most = 4 * size + 1;

    parts->text = grow(parts, parts->text, parts->n_text + most, &parts->cap_text, 1);
    if (parts->failed)
        return false;
    parts->n_text += cli_escape(name, size, size, parts->text + parts->n_text, most);
    return true;
}

/* A variable, which ends with its NUL. */
static void add_variable(yara_parts *parts, const char *text)
{
    add_text(parts, text, strlen(text) + 1);
}

/* Names of kernels, a line each. What is no plain text in one is escaped: a name cannot be two. */
static bool add_kernel(void *user, cuvet_bytes name, const cli_digest *digest)
{
    yara_parts *parts = user;

    (void)digest;
    if (parts->n_text >= KERNELS_MOST || name.n >= (KERNELS_MOST - parts->n_text) / 4) {
        parts->cut = true;
        return true;
    }
    parts->cut = parts->cut || name.n >= NAME_MOST;
    if (!add_escaped(parts, name.p, name.n))
        return false;
    add_text(parts, "\n", 1);
    return !parts->failed;
}

static void add_kernels(cli_yara *yara, yara_parts *parts, const cli_session *session, const cuvet_item *item,
                        const cli_inside *inside)
{
    cli_digest digest;

    for (size_t i = 0; inside->has && i < inside->use.n_kernels; i++)
        (void)add_kernel(parts, inside->use.kernel[i].name, NULL);
    if (item->kind == CUVET_K_PTX && yara->wants_kernels)
        (void)cli_fingerprint_text(inside->bytes, &yara->looking, session, &digest, add_kernel, parts);
    add_text(parts, "", 1);
}

static void add_variables(cli_yara *yara, yara_parts *parts, const cli_session *session,
                          const cuvet_item *item, const cli_inside *inside)
{
    char arch[32], producer[128], path[CLI_PATH_CAP];

    cli_arch_text(item, arch, sizeof(arch));
    cli_producer_text(&item->producer, producer, sizeof(producer));
    cli_path(&item->where, path, sizeof(path));
    add_variable(parts, arch);
    add_variable(parts, cuvet_kind_name(item->kind));
    add_variable(parts, producer);
    add_kernels(yara, parts, session, item, inside);
    add_variable(parts, cuvet_compression_name(item->compression));
    add_variable(parts, path);
    if (add_escaped(parts, session->in->name, strlen(session->in->name)))
        add_text(parts, "", 1);
}

static void add_section(yara_parts *parts, const cuvet_elf_section *section, uint64_t index)
{
    const cuvet_bytes *name = &section->name;
    size_t shown = name->n < NAME_MOST ? name->n : NAME_MOST, most = 4 * shown + 1;

    parts->cut = parts->cut || name->n >= NAME_MOST || most > NAMES_MOST - parts->n_names;
    if (most > NAMES_MOST - parts->n_names)
        return;
    parts->section =
        grow(parts, parts->section, parts->n_sections + 1, &parts->cap_sections, sizeof(*parts->section));
    parts->names = grow(parts, parts->names, parts->n_names + most, &parts->cap_names, 1);
    if (parts->failed)
        return;
    parts->section[parts->n_sections++] = (yara_section){ .off = section->off,
                                                          .size = section->body.n,
                                                          .name = (uint32_t)parts->n_names,
                                                          .index = (uint32_t)index };
    parts->n_names += cli_escape(name->p, shown, shown, parts->names + parts->n_names, most) + 1;
    parts->bytes = parts->bytes > UINT64_MAX - section->body.n ? UINT64_MAX : parts->bytes + section->body.n;
}

/* What has no bytes, or no name, is seen with the whole. */
static void add_sections(yara_parts *parts, const cli_inside *inside)
{
    cuvet_elf_section section = { .size = sizeof(section) };

    for (uint64_t i = 1; inside->has && !parts->failed && i < inside->use.count; i++)
        if (cuvet_elf_get_section(inside->ctx, inside->elf, i, &section) == CUVET_OK && section.body.n > 0 &&
            section.name.n > 0 && section.off <= inside->bytes.n &&
            section.body.n <= inside->bytes.n - section.off)
            add_section(parts, &section, i);
}

void yara_parts_take(yara_parts *parts, cli_yara *yara, const cli_session *session, const cuvet_item *item,
                     const cli_inside *inside)
{
    add_variables(yara, parts, session, item, inside);
    if (yara->wants_sections)
        add_sections(parts, inside);
}

void yara_parts_free(yara_parts *parts)
{
    free(parts->text);
    free(parts->names);
    free(parts->section);
}
