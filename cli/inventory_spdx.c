/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* SPDX 2.3 in JSON. Everything is a package with relationships, since files have to have a SHA-1 there; a
 * kernel has a name and a fingerprint. Relationships come at the end, and follow from how many there are of
 * each. */
#include "inventory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FILE_END      UINT32_MAX
#define PACKAGE_END   (UINT32_MAX - 1)
#define PACKAGE_BEGIN (UINT32_MAX - 2)
#define ID_CAP        96

static void begin(cli_inventory *inventory)
{
    cli_record *record = &inventory->record;
    char creator[64];

    snprintf(creator, sizeof(creator), "Tool: cuvet-%s", cuvet_version());
    sha256_init(&inventory->sha);
    cli_record_start(record);
    cli_record_string(record, "spdxVersion", "SPDX-2.3");
    cli_record_string(record, "dataLicense", "CC0-1.0");
    cli_record_string(record, "SPDXID", "SPDXRef-DOCUMENT");
    cli_record_string(record, "name", "cuvet inventory");
    cli_record_open(record, "creationInfo", '{');
    cli_record_string(record, "created", inventory->time);
    cli_record_open(record, "creators", '[');
    cli_record_string(record, NULL, creator);
    cli_record_close(record, ']');
    cli_record_close(record, '}');
    cli_record_open(record, "packages", '[');
}

/* How many kernels a piece has, or one of the marks above. */
static void keep(cli_inventory *inventory, uint32_t count)
{
    if (inventory->n_kernels == inventory->cap_kernels) {
        size_t cap = inventory->cap_kernels ? 2 * inventory->cap_kernels : 256;
        uint32_t *more = reallocarray(inventory->kernels, cap, sizeof(*more));

        if (!more) {
            (void)cli_json_failed();
            return;
        }
        inventory->kernels = more;
        inventory->cap_kernels = cap;
    }
    inventory->kernels[inventory->n_kernels++] = count;
}

static void begin_package(cli_inventory *inventory)
{
    keep(inventory, PACKAGE_BEGIN);
}

static void begin_file(cli_inventory *inventory)
{
    (void)inventory; /* it comes when it ends */
}

static void begin_element(cli_inventory *inventory, const char *id, const char *purpose)
{
    cli_record *record = &inventory->record;

    cli_record_open(record, NULL, '{');
    cli_record_string(record, "SPDXID", id);
    cli_record_string(record, "downloadLocation", "NOASSERTION");
    cli_record_bool(record, "filesAnalyzed", false);
    cli_record_string(record, "primaryPackagePurpose", purpose);
}

/* The address of a document is of what is in it. */
static void add_to_space(cli_inventory *inventory, const char *name)
{
    sha256_update(&inventory->sha, strlen(name) + 1, (const uint8_t *)name);
}

static void put_checksum(cli_inventory *inventory, const cli_digest *digest)
{
    cli_record *record = &inventory->record;
    char hash[CLI_SHA256_CAP];

    cli_digest_text(digest, hash);
    sha256_update(&inventory->sha, sizeof(digest->byte), digest->byte);
    cli_record_open(record, "checksums", '[');
    cli_record_open(record, NULL, '{');
    cli_record_string(record, "algorithm", "SHA256");
    cli_record_string(record, "checksumValue", hash);
    cli_record_close(record, '}');
    cli_record_close(record, ']');
}

/* "fingerprint=…; registers=40" */
static void put_kernel(cli_inventory *inventory, const cli_inventory_kernel *kernel)
{
    const cli_function *function = kernel->function;
    char id[ID_CAP], hash[CLI_SHA256_CAP] = "NONE", text[256], stack[CLI_STACK_CAP];

    if (kernel->print)
        cli_digest_text(kernel->print, hash);
    if (function)
        snprintf(text, sizeof(text),
                 "fingerprint=%s; registers=%" PRIu32 "; stack=%s; shared=%" PRIu64 "; local=%" PRIu64, hash,
                 function->registers, cli_stack_text(function->stack, "unknown", stack), function->shared,
                 function->local);
    else
        snprintf(text, sizeof(text), "fingerprint=%s", hash);
    snprintf(id, sizeof(id), "SPDXRef-file-%" PRIu64 "-piece-%" PRIu64 "-kernel-%" PRIu64, inventory->n_files,
             inventory->piece, kernel->number);
    begin_element(inventory, id, "LIBRARY");
    cli_record_bytes(&inventory->record, "name", kernel->name.p, kernel->name.n);
    cli_record_string(&inventory->record, "comment", text);
    cli_record_close(&inventory->record, '}');
}

static void put_comment(cli_inventory *inventory, const cli_inventory_piece *piece)
{
    const cuvet_item *item = piece->item;
    char text[512], arch[32], producer[128], hash[CLI_SHA256_CAP] = "NONE";

    cli_arch_text(item, arch, sizeof(arch));
    cli_producer_text(&item->producer, producer, sizeof(producer));
    if (piece->print)
        cli_digest_text(piece->print, hash);
    snprintf(text, sizeof(text),
             "kind=%s; architecture=%s; producer=%s; compression=%s; stored=%" PRIu64 "; size=%" PRIu64
             "; offset=%" PRIu64 "; fingerprint=%s; errors=%" PRIu64 "; warnings=%" PRIu64,
             cuvet_kind_name(item->kind), *arch ? arch : "NONE", *producer ? producer : "NONE",
             cuvet_compression_name(item->compression), item->stored_size, item->unpacked_size,
             item->payload_off, hash, (uint64_t)item->errors, (uint64_t)item->warnings);
    cli_record_string(&inventory->record, "comment", text);
}

static void begin_piece(cli_inventory *inventory, const cli_inventory_piece *piece)
{
    char id[ID_CAP], path[CLI_PATH_CAP];

    cli_path(&piece->item->where, path, sizeof(path));
    snprintf(id, sizeof(id), "SPDXRef-file-%" PRIu64 "-piece-%" PRIu64, inventory->n_files, inventory->piece);
    begin_element(inventory, id, "FILE");
    cli_record_string(&inventory->record, "name", *path ? path : "file");
    if (piece->inside->unpacked)
        put_checksum(inventory, &piece->inside->digest);
    put_comment(inventory, piece);
    cli_record_close(&inventory->record, '}');
}

static void end_piece(cli_inventory *inventory, uint64_t kernels)
{
    keep(inventory, (uint32_t)kernels);
}

static void end_file(cli_inventory *inventory, const cli_inventory_file *file)
{
    char id[ID_CAP], text[96];

    snprintf(id, sizeof(id), "SPDXRef-file-%" PRIu64, inventory->n_files);
    snprintf(text, sizeof(text), "verdict=%s; size=%" PRIu64 "%s%s", cuvet_verdict_name(file->verdict),
             file->length, file->fate ? "; image=" : "", file->fate ? file->fate : "");
    add_to_space(inventory, file->name);
    begin_element(inventory, id, "FILE");
    cli_record_text(&inventory->record, "name", file->name);
    if (file->hashed)
        put_checksum(inventory, &file->digest);
    cli_record_string(&inventory->record, "comment", text);
    cli_record_close(&inventory->record, '}');
    keep(inventory, FILE_END);
}

static void end_package(cli_inventory *inventory, const cli_inventory_package *package)
{
    char id[ID_CAP], text[64];

    snprintf(id, sizeof(id), "SPDXRef-package-%" PRIu64, inventory->n_packages);
    snprintf(text, sizeof(text), "entries=%" PRIu64, package->entries);
    add_to_space(inventory, package->name);
    begin_element(inventory, id, "ARCHIVE");
    cli_record_text(&inventory->record, "name", package->name);
    if (package->digest)
        put_checksum(inventory, package->digest);
    cli_record_string(&inventory->record, "comment", text);
    cli_record_close(&inventory->record, '}');
    keep(inventory, PACKAGE_END);
}

static void relate(cli_inventory *inventory, const char *from, const char *how, const char *to)
{
    cli_record *record = &inventory->record;

    cli_record_open(record, NULL, '{');
    cli_record_string(record, "spdxElementId", from);
    cli_record_string(record, "relationshipType", how);
    cli_record_string(record, "relatedSpdxElement", to);
    cli_record_close(record, '}');
    cli_record_flush(record, stdout);
}

static void relate_kernels(cli_inventory *inventory, const char *piece, uint32_t count)
{
    char id[2 * ID_CAP];

    for (uint32_t i = 1; i <= count; i++) {
        snprintf(id, sizeof(id), "%s-kernel-%" PRIu32, piece, i);
        relate(inventory, piece, "CONTAINS", id);
    }
}

/* Files from the first to the one before the last, in a package or by themselves. */
static void relate_files(cli_inventory *inventory, uint64_t first, uint64_t last, const char *package)
{
    char id[ID_CAP];

    for (uint64_t file = first; file < last; file++) {
        snprintf(id, sizeof(id), "SPDXRef-file-%" PRIu64, file);
        if (package)
            relate(inventory, package, "CONTAINS", id);
        else
            relate(inventory, "SPDXRef-DOCUMENT", "DESCRIBES", id);
    }
}

static void relate_piece(cli_inventory *inventory, uint64_t file, uint64_t piece, uint32_t kernels)
{
    char from[ID_CAP], id[ID_CAP];

    snprintf(from, sizeof(from), "SPDXRef-file-%" PRIu64, file);
    snprintf(id, sizeof(id), "SPDXRef-file-%" PRIu64 "-piece-%" PRIu64, file, piece);
    relate(inventory, from, "CONTAINS", id);
    relate_kernels(inventory, id, kernels);
}

static void put_relationships(cli_inventory *inventory)
{
    uint64_t file = 1, piece = 0, told = 1, package = 0;
    char id[ID_CAP];

    for (size_t i = 0; i < inventory->n_kernels; i++) {
        uint32_t count = inventory->kernels[i];

        if (count == FILE_END) {
            file++;
            piece = 0;
        } else if (count == PACKAGE_BEGIN) {
            relate_files(inventory, told, file, NULL);
            told = file;
        } else if (count == PACKAGE_END) {
            snprintf(id, sizeof(id), "SPDXRef-package-%" PRIu64, ++package);
            relate(inventory, "SPDXRef-DOCUMENT", "DESCRIBES", id);
            relate_files(inventory, told, file, id);
            told = file;
        } else {
            relate_piece(inventory, file, ++piece, count);
        }
    }
    relate_files(inventory, told, file, NULL);
}

static void end(cli_inventory *inventory)
{
    cli_record *record = &inventory->record;
    char hash[CLI_SHA256_CAP], space[160];
    cli_digest digest;

    sha256_update(&inventory->sha, strlen(inventory->time), (const uint8_t *)inventory->time);
    sha256_digest(&inventory->sha, sizeof(digest.byte), digest.byte);
    cli_digest_text(&digest, hash);
    snprintf(space, sizeof(space), "https://spdx.org/spdxdocs/cuvet-inventory-%s", hash);
    cli_record_close(record, ']');
    cli_record_string(record, "documentNamespace", space);
    cli_record_open(record, "relationships", '[');
    put_relationships(inventory);
    cli_record_close(record, ']');
    cli_record_put(record, stdout);
    free(inventory->kernels);
}

const cli_inventory_form cli_spdx = { .name = "spdx",
                                      .begin = begin,
                                      .begin_package = begin_package,
                                      .begin_file = begin_file,
                                      .begin_piece = begin_piece,
                                      .kernel = put_kernel,
                                      .end_piece = end_piece,
                                      .end_file = end_file,
                                      .end_package = end_package,
                                      .end = end };
