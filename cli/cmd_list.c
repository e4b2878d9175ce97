/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "demangle.h"
#include "inside.h"
#include "pick.h"
#include "printing.h"
#include "report.h"

#include <inttypes.h>
#include <string.h>

typedef struct list_run {
    bool kernels, resources, json;
    bool headed; /* the heading of the present file is there */
    cli_looking looking;
    cli_printing printing;
    int rc;
} list_run;

static void look_inside(cli_inside *inside, list_run *list, const cli_session *session,
                        const cuvet_item *item)
{
    cli_inside_look(inside, &list->looking, session, item);
    cli_printing_piece(&list->printing, session, inside->bytes.n);
}

static void put_constants(const cli_resources *resources, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf(" CONSTANT[%" PRIu32 "]:%" PRIu64, resources->constant[first + i].bank,
               resources->constant[first + i].size);
}

/* In the words of the vendor's dumper. */
static void put_use(const cli_resources *resources, const cli_function *function)
{
    char stack[CLI_STACK_CAP];

    printf("REG:%" PRIu32 " STACK:%s SHARED:%" PRIu64 " LOCAL:%" PRIu64, function->registers,
           cli_stack_text(function->stack, "UNKNOWN", stack), function->shared, function->local);
    put_constants(resources, function->constant, function->n_constants);
}

/* Bytes that a name takes on standard output, at most. */
static size_t name_cost(cuvet_bytes name)
{
    size_t count = name.n < CLI_TEXT_CAP ? name.n : CLI_TEXT_CAP, made = count;
    const uint8_t *bytes = name.p;

    for (size_t i = 0; i < count; i++)
        made += bytes[i] < ' ' || bytes[i] > '~' ? 3 : bytes[i] == '\\';
    return made;
}

/* What a line costs: its name, its numbers, its banks. */
static bool spend_line(list_run *list, size_t name, size_t banks)
{
    return cli_printing_spend(&list->printing, (uint64_t)name + 64 + 32 * (uint64_t)banks);
}

static void put_kernels(const cli_inside *inside, list_run *list)
{
    for (size_t i = 0; inside->has && i < inside->use.n_kernels; i++) {
        const cli_kernel *kernel = &inside->use.kernel[i];
        const cli_function *function = &inside->use.function[kernel->function];

        const cuvet_bytes name = cli_demangle(kernel->name);

        if (!spend_line(list, name_cost(name), function->n_constants))
            return;
        fputs("      ", stdout);
        cli_put(stdout, name.p, name.n);
        fputs("  ", stdout);
        put_use(&inside->use, function);
        putchar('\n');
    }
}

static void put_banks(const cli_resources *resources, const cli_function *function)
{
    char banks[128] = "";
    size_t used = 0;

    for (size_t i = 0; i < function->n_constants && used + 40 < sizeof(banks); i++) {
        const cli_constant *constant = &resources->constant[function->constant + i];
        int len = snprintf(banks + used, sizeof(banks) - used, "%s[%" PRIu32 "]:%" PRIu64, i ? " " : "",
                           constant->bank, constant->size);

        used += len > 0 ? (size_t)len : 0;
    }
    printf("%-22s ", *banks ? banks : "-");
}

static void put_table(const cli_inside *inside, list_run *list)
{
    const cli_resources *resources = &inside->use;
    bool any = false;

    if (!inside->has)
        return;
    if (!spend_line(list, 0, resources->n_common))
        return;
    printf("      common  GLOBAL:%" PRIu64, resources->global);
    put_constants(resources, 0, resources->n_common);
    putchar('\n');
    for (size_t i = 1; i < resources->count; i++) {
        const cli_function *function = &resources->function[i];
        char stack[CLI_STACK_CAP];
        cuvet_bytes name;

        if (!function->name.p)
            continue;
        name = cli_demangle(function->name);
        if (!spend_line(list, name_cost(name), 2))
            return;
        if (!any)
            printf("      %5s %7s %8s %7s  %-22s %s\n", "REG", "STACK", "SHARED", "LOCAL", "CONSTANT",
                   "FUNCTION");
        any = true;
        printf("      %5" PRIu32 " %7s %8" PRIu64 " %7" PRIu64 "  ", function->registers,
               cli_stack_text(function->stack, "unknown", stack), function->shared, function->local);
        put_banks(resources, function);
        cli_put(stdout, name.p, name.n);
        putchar('\n');
    }
}

static void say_cut(list_run *list, const cli_session *session, const cuvet_item *item)
{
    list->rc = cli_worse(list->rc, cli_printing_end(&list->printing, session, &item->where, "what is in it"));
}

/* One object a line: bounded, whatever the tables say; "kernels" has the true number. Names of C++ templates
 * reach a few thousand bytes. */
#define NAMES_MAX 65536u
#define NAME_CAP  16384u /* of cli_record_bytes(), which marks what it cuts */

static void constants_json(cli_record *record, const cli_resources *resources, size_t first, size_t count)
{
    cli_record_open(record, "constant", '{');
    for (size_t i = 0; i < count && i < NAMES_MAX; i++) {
        char bank[16];

        /* No key twice; they are sorted, and the last one counts. */
        if (i + 1 < count && resources->constant[first + i + 1].bank == resources->constant[first + i].bank)
            continue;
        snprintf(bank, sizeof(bank), "%" PRIu32, resources->constant[first + i].bank);
        cli_record_u64(record, bank, resources->constant[first + i].size);
    }
    cli_record_close(record, '}');
}

/* False: nothing more is to be said of this piece. JSON has each backslash twice. */
static bool spend_name(list_run *list, cuvet_bytes name, size_t banks)
{
    size_t count = name.n < NAME_CAP ? name.n : NAME_CAP, made = count;
    const uint8_t *bytes = name.p;

    for (size_t i = 0; i < count; i++)
        made += bytes[i] < ' ' || bytes[i] > '~' ? 4 : bytes[i] == '\\' || bytes[i] == '"' ? 3 : 0;
    return spend_line(list, made, banks);
}

static bool function_json(cli_record *record, list_run *list, const cli_resources *resources,
                          const cli_function *function)
{
    cuvet_bytes plain = cli_demangle(function->name);

    if (!spend_name(list, function->name, function->n_constants) ||
        (plain.p != function->name.p && !spend_name(list, plain, 0)))
        return false;
    cli_record_open(record, NULL, '{');
    cli_record_bytes(record, "name", function->name.p, function->name.n);
    if (plain.p != function->name.p)
        cli_record_bytes(record, "demangled", plain.p, plain.n);
    cli_record_bool(record, "kernel", function->kernel);
    cli_record_u64(record, "registers", function->registers);
    cli_stack_json(record, "stack", function->stack);
    cli_record_u64(record, "shared", function->shared);
    cli_record_u64(record, "local", function->local);
    constants_json(record, resources, function->constant, function->n_constants);
    cli_record_close(record, '}');
    return true;
}

static void inside_json(cli_record *record, list_run *list, const cli_inside *inside)
{
    const cli_resources *resources = &inside->use;

    if (inside->unpacked) {
        char hash[CLI_SHA256_CAP];

        cli_digest_text(&inside->digest, hash);
        cli_record_string(record, "sha256", hash);
    }
    if (!inside->has)
        return;
    cli_record_open(record, "kernel_names", '[');
    for (size_t i = 0; i < resources->n_kernels && i < NAMES_MAX; i++) {
        if (!spend_name(list, resources->kernel[i].name, 0))
            break;
        cli_record_bytes(record, NULL, resources->kernel[i].name.p, resources->kernel[i].name.n);
    }
    cli_record_close(record, ']');
    cli_record_open(record, "functions", '[');
    for (size_t i = 1, count = 0; i < resources->count && count < NAMES_MAX; i++) {
        if (!resources->function[i].name.p)
            continue;
        if (!function_json(record, list, resources, &resources->function[i]))
            break;
        count++;
    }
    cli_record_close(record, ']');
    cli_record_u64(record, "global", resources->global);
    constants_json(record, resources, 0, resources->n_common);
}

static void begin_json(void *user, const cli_session *session)
{
    list_run *list = user;

    cli_looking_begin(&list->looking, session);
    cli_printing_begin(&list->printing, session);
}

static void put_heading(list_run *list, const cli_session *session)
{
    char fate[CLI_FATE_CAP];

    list->headed = true;
    cli_put_str(stdout, session->in->name);
    cli_fate_text(session->in, fate);
    printf("%s%s\n  %-32s %-8s %-13s %12s %12s  %s\n", *fate ? "; " : "", fate, "PATH", "KIND", "ARCH",
           "STORED", "SIZE", "COMPRESSION");
}

/* Most entries of a package have nothing to list. */
static void begin_text(void *user, const cli_session *session)
{
    list_run *list = user;

    begin_json(user, session);
    list->headed = false;
    if (!session->in->why && session->in->what == CLI_INPUT)
        put_heading(list, session);
}

static void put_producer(const cuvet_producer *producer)
{
    char release[CLI_RELEASE_CAP];

    if (!producer->tool || (!*producer->tool && producer->version == 0))
        return;
    cli_release_text(producer->version, release, sizeof(release));
    printf("      by %s%s%s%s\n", *producer->tool ? producer->tool : "an unknown tool of",
           *release ? " " : "", release,
           (producer->flags & CUVET_PRODUCER_INFERRED) != 0 ? " (inferred)" : "");
}

static void member_text(void *user, const cli_session *session, const cuvet_item *item)
{
    list_run *list = user;
    char path[CLI_PATH_CAP], arch[32], hash[CLI_SHA256_CAP];
    cli_inside inside;

    if (!list->headed)
        put_heading(list, session);
    cli_path(&item->where, path, sizeof(path));
    cli_arch_text(item, arch, sizeof(arch));
    printf("  %-32s %-8s %-13s %12" PRIu64 " %12" PRIu64 "  %s", *path ? path : "file",
           cuvet_kind_name(item->kind), *arch ? arch : "-", item->stored_size, item->unpacked_size,
           cuvet_compression_name(item->compression));
    if (item->triple) {
        fputs("  for ", stdout);
        cli_put(stdout, item->triple, item->triple_len);
    }
    if (item->ar_name) {
        fputs("  in ", stdout);
        cli_put_cut(stdout, item->ar_name, item->ar_name_len, CLI_MEMBER_CAP);
    }
    putchar('\n');
    if (!list->kernels && !list->resources)
        return;
    look_inside(&inside, list, session, item);
    put_producer(&item->producer);
    if (list->kernels && inside.unpacked) {
        cli_digest_text(&inside.digest, hash);
        printf("      sha256 %s\n", hash);
    }
    if (list->kernels)
        put_kernels(&inside, list);
    if (list->resources)
        put_table(&inside, list);
    cli_inside_leave(&inside);
    say_cut(list, session, item);
}

static void member_json(void *user, const cli_session *session, const cuvet_item *item)
{
    list_run *list = user;
    cli_record *record = cli_ndjson_member(session, item);
    cli_inside inside;

    if (list->kernels || list->resources) {
        look_inside(&inside, list, session, item);
        inside_json(record, list, &inside);
        cli_inside_leave(&inside);
    }
    cli_ndjson_put();
    say_cut(list, session, item);
}

static void end_text(void *user, const cli_session *session, const cli_result *result)
{
    const list_run *list = user;

    if (session->in->why || session->in->what == CLI_PACKAGE || !list->headed)
        return;
    fputs("  ", stdout);
    cli_put_counts(&result->sum);
    cli_put_filtered(result);
    putchar('\n');
    cli_point_to_scan(session, &result->sum);
}

int cmd_list(int argc, char **argv)
{
    cli_args args;
    list_run list;
    cli_sink sink;
    cli_pick pick;
    cli_needs needs = CLI_NO_NEEDS;
    cli_session session = { .args = &args, .sink = &sink, .user = &list, .needs = &needs };
    int rc;

    if (!cli_parse(CLI_C_LIST, argc, argv, &args, &rc))
        return rc;
    if (!cli_pick_init(&pick, &args))
        return CLI_X_USAGE;
    list = (list_run){ .kernels = args.set[CLI_O_KERNELS], .resources = args.set[CLI_O_RESOURCES] };
    if ((list.kernels || list.resources) && !cli_load_hash())
        return CLI_X_IO;
    list.json = args.value[CLI_O_FORMAT] && strcmp(args.value[CLI_O_FORMAT], "ndjson") == 0;
    session.depth = list.kernels || list.resources ? CUVET_DEPTH_FULL : CUVET_DEPTH_HEADERS;
    if (list.json) {
        sink = cli_ndjson_sink;
        sink.begin = begin_json;
        sink.member = member_json;
    } else {
        sink = (cli_sink){ .begin = begin_text, .member = member_text, .end = end_text };
    }
    cli_pick_sink(&pick, &session);
    rc = cli_demangle_start(&args, &needs.helper);
    if (rc != CLI_X_CLEAN)
        return rc;
    rc = cli_session_run(&session);
    cli_demangle_stop();
    cli_pick_end(&pick, session.n_inputs > 0);
    rc = cli_worse(rc, cli_worse(list.rc, list.looking.rc));
    return cli_finish_stdout(cli_json_ok() ? rc : cli_worse(rc, CLI_X_INTERNAL));
}
