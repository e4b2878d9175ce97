/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What host objects say of themselves decides which code takes part in a link: modules that are linked
 * already, libraries of the system that nothing needs, kernels that no host code refers to; and what becomes
 * of the members of an archive. Each that is left out is said. Host objects are those of nvcc 13.0
 * (corpus/samples) with other names in them. */
#include <stdlib.h>

#include "link_fixture.h"

enum { MOST_BYTES = 1 << 16, MOST_FILES = 5, MOST_EVENTS = 8, MOST_MODULES = 4, AR_HEADER = 60 };

typedef struct linker_hosts_file {
    uint8_t bytes[MOST_BYTES];
    size_t size;
} linker_hosts_file;

static linker_hosts_file file[MOST_FILES], archive;

static void load(linker_hosts_file *into, const char *name)
{
    char path[256];
    FILE *stream;

    (void)snprintf(path, sizeof(path), "corpus/samples/%s", name);
    stream = fopen(path, "rb");
    ck_assert_msg(stream != NULL, "%s", path);
    into->size = fread(into->bytes, 1, sizeof(into->bytes), stream);
    ck_assert(into->size > 0 && into->size < sizeof(into->bytes) && fclose(stream) == 0);
}

/* A text that stands in the file once gives way to one that is no longer; zeros follow it. */
static void replace(linker_hosts_file *in, const char *old, const char *new)
{
    size_t length = strlen(old), found = 0, times = 0;

    ck_assert_uint_le(strlen(new), length);
    for (size_t i = 0; i + length <= in->size; i++)
        if (memcmp(in->bytes + i, old, length) == 0) {
            found = i;
            times++;
        }
    ck_assert_msg(times == 1, "%s: %zu times", old, times);
    memset(in->bytes + found, 0, length);
    memcpy(in->bytes + found, new, strlen(new));
}

/* The host object with half a program: two_a calls what two_b defines. */
static void load_half(linker_hosts_file *into, char half, const char *module)
{
    lc_section section;
    unsigned index;

    load(into, half == 'a' ? "host-two_a.o" : "host-two_b.o");
    section = lc_find_section(into->bytes, "__nv_module_id", &index);
    ck_assert_uint_lt(strlen(module), section.size);
    memset(into->bytes + section.off, 0, section.size);
    memcpy(into->bytes + section.off, module, strlen(module));
}

/* What nvcc makes of a device link: the code is finished, and the modules in it are named so. */
static void load_finished(linker_hosts_file *into, const char *module)
{
    static const char NAME[sizeof("__nv_relfatbin")] = ".nv_fatbin";
    lc_section section;
    char text[30];
    unsigned index;

    (void)snprintf(text, sizeof(text), "def %s", module);
    load_half(into, 'a', text);
    section = lc_find_section(into->bytes, "__nv_relfatbin", &index);
    memcpy(into->bytes + (section.name - (const char *)into->bytes), NAME, sizeof(NAME));
}

static void begin_archive(void)
{
    memcpy(archive.bytes, "!<arch>\n", 8);
    archive.size = 8;
}

/* field: the name as it stands in the header. */
static void add_member(const char *field, const void *body, size_t size)
{
    char header[AR_HEADER + 1];

    ck_assert_uint_lt(archive.size + AR_HEADER + size + 1, sizeof(archive.bytes));
    (void)snprintf(header, sizeof(header), "%-16s%-12d%-6d%-6d%-8s%-10zu`\n", field, 0, 0, 0, "644", size);
    memcpy(archive.bytes + archive.size, header, AR_HEADER);
    memcpy(archive.bytes + archive.size + AR_HEADER, body, size);
    archive.size += AR_HEADER + size;
    if (size % 2)
        archive.bytes[archive.size++] = '\n';
}

static void add_text(const char *field, const char *text)
{
    add_member(field, text, strlen(text));
}

static cuvet_status add(cuvet_linker linker, const linker_hosts_file *what, const char *name, unsigned flags)
{
    const cuvet_add_options options = { .size = sizeof(options), .flags = flags };

    return cuvet_linker_add_memory(lc_ctx, linker, what->bytes, what->size, name, &options);
}

/* An event as a text: "taken 0", "not-needed 1 a.o", with the member of an archive behind its file. */
static void expect_events(cuvet_linker linker, const char *const *want)
{
    cuvet_event event = { .size = sizeof(event) };
    unsigned count = 0;
    char text[200];

    for (; count < MOST_EVENTS && want[count]; count++) {
        ck_assert_int_eq(cuvet_linker_get_event(lc_ctx, linker, count, &event), CUVET_OK);
        (void)snprintf(text, sizeof(text), "%s %s%s%s", cuvet_event_kind_name(event.kind), event.file,
                       event.member ? " " : "", event.member ? event.member : "");
        ck_assert_str_eq(text, want[count]);
    }
    ck_assert_int_eq(cuvet_linker_get_event(lc_ctx, linker, count, &event), CUVET_END);
}

static void expect_modules(cuvet_linker linker, const char *const *want)
{
    const char *name;
    unsigned count = 0;

    for (; count < MOST_MODULES && want[count]; count++) {
        ck_assert_int_eq(cuvet_linker_get_module(lc_ctx, linker, count, &name), CUVET_OK);
        ck_assert_str_eq(name, want[count]);
    }
    ck_assert_int_eq(cuvet_linker_get_module(lc_ctx, linker, count, &name), CUVET_END);
}

/* Files of a link: a half with a module of this name, or a sample. */
typedef struct linker_hosts_input {
    enum { NONE, HALF_A, HALF_B, FINISHED, SAMPLE } what;
    const char *text; /* name of the module, or of the sample */
    unsigned flags;
} linker_hosts_input;

static void load_input(linker_hosts_file *into, const linker_hosts_input *input)
{
    if (input->what == SAMPLE)
        load(into, input->text);
    else if (input->what == FINISHED)
        load_finished(into, input->text);
    else
        load_half(into, input->what == HALF_A ? 'a' : 'b', input->text);
}

/* Files are called 0, 1, 2 ... in events. */
typedef struct linker_hosts_row {
    linker_hosts_input input[MOST_FILES];
    uint64_t objects;
    const char *event[MOST_EVENTS], *module[MOST_MODULES + 1];
} linker_hosts_row;

#define A                                                                                                    \
    {                                                                                                        \
        HALF_A, "a", 0                                                                                       \
    }
#define B                                                                                                    \
    {                                                                                                        \
        HALF_B, "b", 0                                                                                       \
    }
#define SYSTEM_B                                                                                             \
    {                                                                                                        \
        HALF_B, "b", CUVET_ADD_SYSTEM                                                                        \
    }

static const linker_hosts_row ROWS[] = {
    /* What a device link made is no input, and what it linked is not linked again, in any order. */
    { { { HALF_A, "a", 0 }, B, { FINISHED, "a", 0 } },
      1,
      { "taken 0", "taken 1", "already-linked 2", "already-linked 0" },
      { "b" } },
    { { { FINISHED, "a", 0 }, A, B },
      1,
      { "already-linked 0", "taken 1", "taken 2", "already-linked 1" },
      { "b" } },
    { { A, B, { FINISHED, "c", 0 } }, 2, { "taken 0", "taken 1", "already-linked 2" }, { "a", "b" } },
    /* An object without a module was linked by nobody. */
    { { { HALF_A, "", 0 }, B }, 2, { "taken 0", "taken 1" }, { "b" } },
    { { { HALF_A, "", 0 }, B, { FINISHED, "c", 0 } },
      2,
      { "taken 0", "taken 1", "already-linked 2" },
      { "b" } },
    /* Two objects of one name have one module each, as in the reference. */
    { { A, { HALF_B, "a", 0 } }, 2, { "taken 0", "taken 1" }, { "a", "a" } },
    /* The code of a whole program is linked, and registers its module itself. */
    { { A, B, { SAMPLE, "host-plain.o", CUVET_ADD_OPTIONAL } },
      2,
      { "taken 0", "taken 1", "outside 2" },
      { "a", "b" } },
    /* The library takes part where a function is missing, and its module with it. */
    { { A, SYSTEM_B }, 2, { "taken 0", "taken 1" }, { "a", "b" } },
    { { SYSTEM_B, A }, 2, { "taken 0", "taken 1" }, { "b", "a" } },
    /* The same where something else is left out. */
    { { A, SYSTEM_B, { HALF_B, "c", 0 }, { FINISHED, "c", 0 } },
      2,
      { "taken 0", "taken 1", "taken 2", "already-linked 3", "already-linked 2" },
      { "a", "b" } },
    /* It does not where none is: every function that is called is defined by an input ... */
    { { A, B, { HALF_B, "c", CUVET_ADD_SYSTEM } },
      2,
      { "taken 0", "taken 1", "taken 2", "not-needed 2" },
      { "a", "b" } },
    { { SYSTEM_B, B }, 1, { "taken 0", "taken 1", "not-needed 0" }, { "b" } },
    /* ... or by the driver (vprintf). */
    { { { SAMPLE, "printer.sm_75.rdc.cubin", 0 }, SYSTEM_B },
      1,
      { "taken 0", "taken 1", "not-needed 1" },
      { NULL } },
};

START_TEST(who_takes_part)
{
    const linker_hosts_row *row = &ROWS[_i];
    const cuvet_linker_options options = lc_options("sm_75");
    cuvet_link_result made = { .size = sizeof(made) };
    cuvet_linker linker = lc_linker(&options);

    for (unsigned i = 0; i < MOST_FILES && row->input[i].what != NONE; i++) {
        const char name[2] = { (char)('0' + i), 0 };

        load_input(&file[i], &row->input[i]);
        ck_assert_int_eq(add(linker, &file[i], name, row->input[i].flags), CUVET_OK);
    }
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &made), CUVET_OK);
    ck_assert_uint_eq(made.objects, row->objects);
    expect_events(linker, row->event);
    expect_modules(linker, row->module);
    lc_end(linker);
}
END_TEST

/* Kernels that stay of these files, and whether it was said that some do not. */
static uint64_t count_kernels(unsigned flags, bool cubin, bool *said)
{
    cuvet_linker_options options = lc_options("sm_90");
    cuvet_link_result made = { .size = sizeof(made) };
    cuvet_linker linker;

    options.flags = flags;
    linker = lc_linker(&options);
    lc_forget();
    ck_assert_int_eq(add(linker, &file[0], "launch.o", 0), CUVET_OK);
    if (cubin)
        ck_assert_int_eq(add(linker, &file[1], "other.cubin", 0), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &made), CUVET_OK);
    *said = lc_said("CV-LINK-043");
    lc_end(linker);
    return made.kernels;
}

/* A cubin is of no host object: what the host code that goes with it launches is not known. */
START_TEST(kernels_beside_a_cubin)
{
    bool said;

    load(&file[0], "host-launch.o");
    load(&file[1], "dynshared.sm_90.rdc.cubin");
    ck_assert_uint_eq(count_kernels(CUVET_LINK_HOST_INFO, false, &said), 2);
    ck_assert(!said);
    replace(&file[0], "_ZN5inner7outside*", "_ZN5inner9outside*");
    ck_assert_uint_eq(count_kernels(CUVET_LINK_HOST_INFO, false, &said), 1);
    ck_assert(said);
    ck_assert_uint_eq(count_kernels(CUVET_LINK_HOST_INFO, true, &said), count_kernels(0, true, &said));
    (void)count_kernels(CUVET_LINK_HOST_INFO, true, &said);
    ck_assert(!said);
}
END_TEST

/* Names of modules become part of a C program. */
START_TEST(names_of_modules)
{
    static const char LEGAL[] = "_09AZaz", ILLEGAL[] = "/:@[`{( \"\n\x80\xFF";

    for (unsigned i = 0; i + 2 < sizeof(LEGAL) + sizeof(ILLEGAL); i++) {
        bool legal = i < sizeof(LEGAL) - 1;
        const char name[] = { 'm', legal ? LEGAL[i] : ILLEGAL[i + 1 - sizeof(LEGAL)], 'n', 0 };
        cuvet_linker_options options = lc_options("sm_75");
        cuvet_linker linker;

        options.flags = CUVET_LINK_MODULES_ONLY;
        linker = lc_linker(&options);
        lc_forget();
        load_half(&file[0], 'a', name);
        ck_assert_int_eq(add(linker, &file[0], "a", 0), legal ? CUVET_OK : CUVET_E_REFUSED);
        ck_assert(lc_said("CV-LINK-040") == !legal);
        ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
        expect_modules(linker, (const char *const[]){ legal ? name : NULL, NULL });
        lc_end(linker);
    }
}
END_TEST

/* Each member that is no object is said, under its name, in whatever form the archive has it. */
START_TEST(members_that_are_no_objects)
{
    static const char *const WANT[] = { "not-an-object lib README",  "not-an-object lib a name of its own",
                                        "not-an-object lib another", "taken lib first.o",
                                        "taken lib second.o",        NULL };
    const cuvet_linker_options options = lc_options("sm_75");
    cuvet_linker linker = lc_linker(&options);
    size_t at;

    load_half(&file[0], 'a', "a");
    load_half(&file[1], 'b', "b");
    begin_archive();
    add_text("//", "a name of its own/\nsecond.o/\n");
    add_member("first.o/", file[0].bytes, file[0].size);
    at = archive.size;
    add_text("README/", "Read me first.\n");
    add_text("/0", "Read me then.\n");
    add_text("#1/7", "anotherRead me last.\n");
    add_member("/19", file[1].bytes, file[1].size);
    ck_assert_int_eq(add(linker, &archive, "lib", 0), CUVET_OK);
    ck_assert_uint_eq(lc_diag("CV-LINK-045")->file_off, at);
    expect_events(linker, WANT);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
    expect_modules(linker, (const char *const[]){ "a", "b", NULL });
    lc_end(linker);
}
END_TEST

/* What a refused file said before something was wrong with it counts for nothing: neither that a module is
 * linked already, nor that there is one. */
START_TEST(refused_says_nothing)
{
    const cuvet_linker_options options = lc_options("sm_75");
    cuvet_linker linker = lc_linker(&options);
    cuvet_link_result made = { .size = sizeof(made) };

    load_half(&file[0], 'b', "b");
    ck_assert_int_eq(add(linker, &file[0], "b.o", 0), CUVET_OK);
    load_finished(&file[1], "b");
    load_half(&file[2], 'a', "a");
    load_half(&file[3], 'a', "no name");
    begin_archive();
    for (unsigned i = 1; i < 4; i++)
        add_member("m.o/", file[i].bytes, file[i].size);
    ck_assert_int_eq(add(linker, &archive, "lib", 0), CUVET_E_REFUSED);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &made), CUVET_OK);
    ck_assert_uint_eq(made.objects, 1);
    expect_modules(linker, (const char *const[]){ "b", NULL });
    lc_end(linker);
}
END_TEST

/* A library of the system that nothing needs has no module to register. */
START_TEST(modules_of_a_library)
{
    for (unsigned alone = 0; alone < 2; alone++) {
        cuvet_linker_options options = lc_options("sm_75");
        cuvet_linker linker;

        options.flags = alone ? CUVET_LINK_MODULES_ONLY : 0;
        linker = lc_linker(&options);
        load_half(&file[0], 'b', "b");
        begin_archive();
        add_member("b.o/", file[0].bytes, file[0].size);
        ck_assert_int_eq(add(linker, &archive, "lib", CUVET_ADD_SYSTEM), CUVET_OK);
        load(&file[1], "host-plain.o");
        ck_assert_int_eq(add(linker, &file[1], "plain.o", CUVET_ADD_OPTIONAL), CUVET_OK);
        load_half(&file[2], 'b', "c");
        if (!alone)
            ck_assert_int_eq(add(linker, &file[2], "c.o", 0), CUVET_OK);
        ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
        expect_modules(linker, (const char *const[]){ alone ? NULL : "c", NULL });
        lc_end(linker);
    }
}
END_TEST

/* IR of either kind is code that this link cannot take: it is not left out. */
START_TEST(members_of_other_code)
{
    static const struct {
        uint8_t head[4];
        cuvet_status added;
    } ROWS_OF_CODE[] = { { { 0xED, 0x43, 0x4E, 0x7F }, CUVET_E_REFUSED },
                         { { 0xED, 0x43, 0x4E, 0x7E }, CUVET_OK },
                         { { 0x01, 0x5A, 0xE5, 0x1E }, CUVET_E_REFUSED },
                         { { 0x01, 0x5A, 0xE5, 0x1F }, CUVET_OK } };

    load_half(&file[0], 'b', "b");
    for (unsigned i = 0; i < N(ROWS_OF_CODE); i++) {
        const cuvet_linker_options options = lc_options("sm_75");
        cuvet_linker linker = lc_linker(&options);
        uint8_t body[64] = { 0 };

        lc_forget();
        memcpy(body, ROWS_OF_CODE[i].head, 4);
        begin_archive();
        add_member("b.o/", file[0].bytes, file[0].size);
        add_member("ir.o/", body, sizeof(body));
        ck_assert_int_eq(add(linker, &archive, "lib", 0), ROWS_OF_CODE[i].added);
        if (ROWS_OF_CODE[i].added == CUVET_OK) {
            ck_assert(lc_said("CV-LINK-045") && !lc_said("CV-LINK-013"));
            expect_events(linker, (const char *const[]){ "not-an-object lib ir.o", "taken lib b.o", NULL });
        } else {
            ck_assert_uint_eq(lc_diag("CV-LINK-013")->file_off, archive.size - sizeof(body));
            expect_events(linker, (const char *const[]){ "damaged lib ir.o", "refused lib", NULL });
        }
        lc_end(linker);
    }
}
END_TEST

/* As many members as a file may have containers, also where no code is looked at. */
START_TEST(members_of_an_archive)
{
    cuvet_limits limits = { .size = sizeof(limits) };
    const cuvet_ctx_options with = { .size = sizeof(with), .limits = &limits };

    ck_assert_int_eq(cuvet_limits_preset("strict", &limits), CUVET_OK);
    limits.containers = 3;
    cuvet_ctx_destroy(lc_ctx);
    ck_assert_int_eq(cuvet_ctx_create(&with, &lc_ctx), CUVET_OK);
    load_half(&file[0], 'b', "b");
    for (unsigned i = 0; i < 4; i++) {
        bool alone = i % 2 != 0, more = i > 1;
        cuvet_linker_options options = lc_options("sm_75");
        cuvet_linker linker;

        options.flags = alone ? CUVET_LINK_MODULES_ONLY : 0;
        linker = lc_linker(&options);
        begin_archive();
        for (unsigned k = more ? 3 : 2; k > 0; k--)
            add_text("README/", "Read me.\n");
        add_member("b.o/", file[0].bytes, file[0].size);
        ck_assert_int_eq(add(linker, &archive, "lib", 0), more ? CUVET_E_LIMIT : CUVET_OK);
        ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), more && !alone ? CUVET_E_REFUSED : CUVET_OK);
        if (!more || alone)
            expect_modules(linker, (const char *const[]){ more ? NULL : "b", NULL });
        lc_end(linker);
    }
}
END_TEST

Suite *suite_linker_hosts(void);
Suite *suite_linker_hosts(void)
{
    Suite *suite = suite_create("linker_hosts");
    TCase *tcase = tcase_create("hosts");

    tcase_add_checked_fixture(tcase, lc_setup, lc_teardown);
    tcase_add_loop_test(tcase, who_takes_part, 0, N(ROWS));
    tcase_add_test(tcase, kernels_beside_a_cubin);
    tcase_add_test(tcase, names_of_modules);
    tcase_add_test(tcase, refused_says_nothing);
    tcase_add_test(tcase, members_that_are_no_objects);
    tcase_add_test(tcase, modules_of_a_library);
    tcase_add_test(tcase, members_of_other_code);
    tcase_add_test(tcase, members_of_an_archive);
    suite_add_tcase(suite, tcase);
    return suite;
}
