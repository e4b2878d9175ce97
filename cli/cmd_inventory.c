/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is in files and packages, for whoever collects bills of materials. */
#include "inventory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What stands around a name, and what it grows to. */
static bool put_kernel(cli_inventory *inventory, const cli_inventory_kernel *kernel)
{
    if (!cli_printing_spend(&inventory->printing, 512 + 4 * (uint64_t)kernel->name.n))
        return false;
    inventory->form->kernel(inventory, kernel);
    inventory->kernel = kernel->number;
    return true;
}

static void begin_package(cli_inventory *inventory, const cli_session *session)
{
    if (inventory->in_package || session->in->what != CLI_ENTRY)
        return;
    inventory->in_package = true;
    inventory->n_packages++;
    inventory->form->begin_package(inventory);
}

static void begin_file(cli_inventory *inventory, const cli_session *session)
{
    if (inventory->in_file)
        return;
    begin_package(inventory, session);
    inventory->in_file = true;
    inventory->n_files++;
    inventory->piece = 0;
    inventory->form->begin_file(inventory);
}

static void on_begin(void *user, const cli_session *session)
{
    cli_inventory *inventory = user;

    cli_looking_begin(&inventory->looking, session);
    cli_printing_begin(&inventory->printing, session);
}

static void put_kernels(cli_inventory *inventory, const cli_inside *inside, const cli_fingerprint *parts)
{
    for (size_t i = 0; inside->has && i < inside->use.n_kernels; i++) {
        size_t section = inside->use.kernel[i].function;
        cli_digest print;
        const cli_inventory_kernel kernel = { .name = inside->use.kernel[i].name,
                                              .number = i + 1,
                                              .print = section > 0 && parts->count > 0 ? &print : NULL,
                                              .function = &inside->use.function[section] };

        cli_fingerprint_function(parts, section, &print);
        if (!put_kernel(inventory, &kernel))
            break;
    }
}

static bool put_entry(void *user, cuvet_bytes name, const cli_digest *digest)
{
    cli_inventory *inventory = user;
    const cli_inventory_kernel kernel = { .name = name, .number = inventory->kernel + 1, .print = digest };

    return put_kernel(inventory, &kernel);
}

static bool no_entry(void *user, cuvet_bytes name, const cli_digest *digest)
{
    (void)user;
    (void)name;
    (void)digest;
    return true;
}

/* PTX is read once for the whole, which is told first, and once for its entries. */
static void put_piece(cli_inventory *inventory, const cli_session *session, const cuvet_item *item,
                      const cli_inside *inside)
{
    cli_looking *looking = &inventory->looking;
    cli_fingerprint parts = { .count = 0 };
    cli_digest print, again;
    bool text = item->kind == CUVET_K_PTX && inside->unpacked;
    bool known = text ? cli_fingerprint_text(inside->bytes, looking, session, &print, no_entry, NULL)
                      : inside->has && cli_fingerprint_read(&parts, inside, looking, session);
    const cli_inventory_piece piece = { .item = item, .inside = inside, .print = known ? &print : NULL };

    if (known && !text)
        print = parts.whole;
    inventory->kernel = 0;
    inventory->form->begin_piece(inventory, &piece);
    put_kernels(inventory, inside, &parts);
    if (text && known)
        (void)cli_fingerprint_text(inside->bytes, looking, session, &again, put_entry, inventory);
    inventory->form->end_piece(inventory, inventory->kernel);
    cli_fingerprint_free(&parts);
}

static void on_member(void *user, const cli_session *session, const cuvet_item *item)
{
    cli_inventory *inventory = user;
    cli_inside inside;

    begin_file(inventory, session);
    inventory->piece++;
    cli_inside_look(&inside, &inventory->looking, session, item);
    cli_printing_piece(&inventory->printing, session, inside.bytes.n);
    put_piece(inventory, session, item, &inside);
    cli_record_flush(&inventory->record, stdout);
    cli_inside_leave(&inside);
    inventory->rc = cli_worse(inventory->rc,
                              cli_printing_end(&inventory->printing, session, &item->where, "its kernels"));
}

static void end_package(cli_inventory *inventory, const cli_input *in)
{
    const cli_inventory_package package = { in->name, in->entries, in->hash.known ? &in->hash.digest : NULL };

    if (in->rc != 0) /* inside of another one */
        return;
    if (!inventory->in_package) {
        inventory->n_packages++;
        inventory->form->begin_package(inventory);
    }
    inventory->form->end_package(inventory, &package);
    inventory->in_package = false;
    cli_record_flush(&inventory->record, stdout);
}

/* Of a package, what has no device code and nothing that is wrong is left out. */
static void on_end(void *user, const cli_session *session, const cli_result *result)
{
    cli_inventory *inventory = user;
    const cli_input *in = session->in;
    cli_inventory_file file = { .name = in->name, .verdict = result->verdict };

    if (in->what == CLI_PACKAGE) {
        end_package(inventory, in);
        return;
    }
    if (!inventory->in_file && in->what == CLI_ENTRY && result->verdict == CUVET_V_CLEAN)
        return;
    begin_file(inventory, session);
    file.fate = cli_fate_name(in->fate);
    if (!in->why) {
        file.length = in->source.length;
        file.hashed = file.length <= session->args->limits.input &&
                      cli_digest_source(&file.digest, &in->source, 0, file.length);
    }
    inventory->form->end_file(inventory, &file);
    inventory->in_file = false;
    cli_record_flush(&inventory->record, stdout);
}

/* Before the cage: the C library looks for the time zone. */
static bool take_time(cli_inventory *inventory)
{
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    uint64_t given = 0;
    time_t now = time(NULL);
    struct tm parts;

    if (epoch && *epoch && (!cli_number(epoch, &given) || given > INT64_C(253402300799))) {
        cli_complain(epoch, "SOURCE_DATE_EPOCH is no number of seconds");
        return false;
    }
    inventory->time_given = epoch && *epoch;
    now = inventory->time_given ? (time_t)given : now;
    return gmtime_r(&now, &parts) &&
           strftime(inventory->time, sizeof(inventory->time), "%Y-%m-%dT%H:%M:%SZ", &parts) > 0;
}

int cmd_inventory(int argc, char **argv)
{
    static const cli_sink SINK = { .begin = on_begin, .member = on_member, .end = on_end };
    static cli_inventory inventory;
    cli_args args;
    cli_session session = { .args = &args, .sink = &SINK, .user = &inventory, .depth = CUVET_DEPTH_FULL };
    int rc;

    if (!cli_parse(CLI_C_INVENTORY, argc, argv, &args, &rc))
        return rc;
    if (!cli_has_inputs(&args) || !take_time(&inventory))
        return CLI_X_USAGE;
    if (!cli_load_hash())
        return CLI_X_IO;
    inventory.form = args.value[CLI_O_FORMAT] && strcmp(args.value[CLI_O_FORMAT], cli_spdx.name) == 0
                         ? &cli_spdx
                         : &cli_cyclonedx;
    inventory.form->begin(&inventory);
    rc = cli_session_run(&session);
    if (inventory.in_package) /* whoever opens packages is gone, which was said */
        inventory.form->end_package(&inventory, &(cli_inventory_package){ .name = "not read to its end" });
    inventory.form->end(&inventory);
    cli_record_free(&inventory.record);
    rc = cli_worse(rc, cli_worse(inventory.rc, inventory.looking.rc));
    return cli_finish_stdout(cli_json_ok() ? rc : cli_worse(rc, CLI_X_INTERNAL));
}
