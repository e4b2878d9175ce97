/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* CycloneDX 1.6 in JSON: components in components. Members of an object come in any order, so that what is
 * known of a file or package when it ends stands behind what is in it. */
#include "inventory.h"

#include <inttypes.h>

static void put_property(cli_record *record, const char *name, const char *value)
{
    cli_record_open(record, NULL, '{');
    cli_record_string(record, "name", name);
    cli_record_text(record, "value", value);
    cli_record_close(record, '}');
}

static void put_number(cli_record *record, const char *name, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, value);
    put_property(record, name, text);
}

static void put_digest(cli_record *record, const char *name, const cli_digest *digest)
{
    char hash[CLI_SHA256_CAP];

    cli_digest_text(digest, hash);
    put_property(record, name, hash);
}

static void put_hash(cli_record *record, const cli_digest *digest)
{
    char hash[CLI_SHA256_CAP];

    cli_digest_text(digest, hash);
    cli_record_open(record, "hashes", '[');
    cli_record_open(record, NULL, '{');
    cli_record_string(record, "alg", "SHA-256");
    cli_record_string(record, "content", hash);
    cli_record_close(record, '}');
    cli_record_close(record, ']');
}

static void begin(cli_inventory *inventory)
{
    cli_record *record = &inventory->record;

    cli_record_start(record);
    cli_record_string(record, "$schema", "http://cyclonedx.org/schema/bom-1.6.schema.json");
    cli_record_string(record, "bomFormat", "CycloneDX");
    cli_record_string(record, "specVersion", "1.6");
    cli_record_u64(record, "version", 1);
    cli_record_open(record, "metadata", '{');
    if (inventory->time_given)
        cli_record_string(record, "timestamp", inventory->time);
    cli_record_open(record, "tools", '{');
    cli_record_open(record, "components", '[');
    cli_record_open(record, NULL, '{');
    cli_record_string(record, "type", "application");
    cli_record_string(record, "name", "cuvet");
    cli_record_string(record, "version", cuvet_version());
    cli_record_close(record, '}');
    cli_record_close(record, ']');
    cli_record_close(record, '}');
    cli_record_close(record, '}');
    cli_record_open(record, "components", '[');
}

static void begin_component(cli_inventory *inventory)
{
    cli_record_open(&inventory->record, NULL, '{');
    cli_record_open(&inventory->record, "components", '[');
}

static void put_kernel(cli_inventory *inventory, const cli_inventory_kernel *kernel)
{
    cli_record *record = &inventory->record;
    const cli_function *function = kernel->function;
    char ref[96], stack[CLI_STACK_CAP];

    snprintf(ref, sizeof(ref), "file-%" PRIu64 "-piece-%" PRIu64 "-kernel-%" PRIu64, inventory->n_files,
             inventory->piece, kernel->number);
    cli_record_open(record, NULL, '{');
    cli_record_string(record, "type", "library");
    cli_record_string(record, "bom-ref", ref);
    cli_record_bytes(record, "name", kernel->name.p, kernel->name.n);
    cli_record_open(record, "properties", '[');
    if (kernel->print)
        put_digest(record, "cuvet:fingerprint", kernel->print);
    if (function) {
        put_number(record, "cuvet:registers", function->registers);
        put_property(record, "cuvet:stack", cli_stack_text(function->stack, "unknown", stack));
        put_number(record, "cuvet:shared", function->shared);
        put_number(record, "cuvet:local", function->local);
    }
    cli_record_close(record, ']');
    cli_record_close(record, '}');
}

static void put_piece_properties(cli_record *record, const cli_inventory_piece *piece)
{
    const cuvet_item *item = piece->item;
    char text[128];

    cli_record_open(record, "properties", '[');
    put_property(record, "cuvet:kind", cuvet_kind_name(item->kind));
    cli_arch_text(item, text, sizeof(text));
    if (*text)
        put_property(record, "cuvet:architecture", text);
    cli_producer_text(&item->producer, text, sizeof(text));
    if (*text)
        put_property(record, "cuvet:producer", text);
    put_property(record, "cuvet:compression", cuvet_compression_name(item->compression));
    put_number(record, "cuvet:stored", item->stored_size);
    put_number(record, "cuvet:size", item->unpacked_size);
    put_number(record, "cuvet:offset", item->payload_off);
    put_number(record, "cuvet:errors", item->errors);
    put_number(record, "cuvet:warnings", item->warnings);
    if (piece->print)
        put_digest(record, "cuvet:fingerprint", piece->print);
    cli_record_close(record, ']');
}

static void begin_piece(cli_inventory *inventory, const cli_inventory_piece *piece)
{
    cli_record *record = &inventory->record;
    char path[CLI_PATH_CAP], ref[64];

    cli_path(&piece->item->where, path, sizeof(path));
    snprintf(ref, sizeof(ref), "file-%" PRIu64 "-piece-%" PRIu64, inventory->n_files, inventory->piece);
    cli_record_open(record, NULL, '{');
    cli_record_string(record, "type", "file");
    cli_record_string(record, "bom-ref", ref);
    cli_record_string(record, "name", *path ? path : "file");
    if (piece->inside->unpacked)
        put_hash(record, &piece->inside->digest);
    put_piece_properties(record, piece);
    cli_record_open(record, "components", '[');
}

static void end_piece(cli_inventory *inventory, uint64_t kernels)
{
    (void)kernels;
    cli_record_close(&inventory->record, ']');
    cli_record_close(&inventory->record, '}');
}

static void end_component(cli_inventory *inventory, const char *type, const char *ref, const char *name)
{
    cli_record *record = &inventory->record;

    cli_record_close(record, ']');
    cli_record_string(record, "type", type);
    cli_record_string(record, "bom-ref", ref);
    cli_record_text(record, "name", name);
}

static void end_file(cli_inventory *inventory, const cli_inventory_file *file)
{
    cli_record *record = &inventory->record;
    char ref[32];

    snprintf(ref, sizeof(ref), "file-%" PRIu64, inventory->n_files);
    end_component(inventory, "file", ref, file->name);
    if (file->hashed)
        put_hash(record, &file->digest);
    cli_record_open(record, "properties", '[');
    put_property(record, "cuvet:verdict", cuvet_verdict_name(file->verdict));
    put_number(record, "cuvet:size", file->length);
    if (file->fate)
        put_property(record, "cuvet:image", file->fate);
    cli_record_close(record, ']');
    cli_record_close(record, '}');
}

static void end_package(cli_inventory *inventory, const cli_inventory_package *package)
{
    cli_record *record = &inventory->record;
    char ref[32];

    snprintf(ref, sizeof(ref), "package-%" PRIu64, inventory->n_packages);
    end_component(inventory, "container", ref, package->name);
    if (package->digest)
        put_hash(record, package->digest);
    cli_record_open(record, "properties", '[');
    put_number(record, "cuvet:entries", package->entries);
    cli_record_close(record, ']');
    cli_record_close(record, '}');
}

static void end(cli_inventory *inventory)
{
    cli_record_close(&inventory->record, ']');
    cli_record_put(&inventory->record, stdout);
}

const cli_inventory_form cli_cyclonedx = { .name = "cyclonedx",
                                           .begin = begin,
                                           .begin_package = begin_component,
                                           .begin_file = begin_component,
                                           .begin_piece = begin_piece,
                                           .kernel = put_kernel,
                                           .end_piece = end_piece,
                                           .end_file = end_file,
                                           .end_package = end_package,
                                           .end = end };
