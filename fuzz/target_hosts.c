/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which files take part in a link: up to five, each a half of a program as a host object, alone or in an
 * archive beside members that are none, or as a cubin; compared with tests/model/hosts.c. The halves are
 * those of nvcc (corpus/samples) with other modules and other lists of what host code launches. Bytes:
 * what is linked how; of each file what it is, its module, its list, its archive; of each member of an
 * archive what it is and how it is called. */
#include <cuvet/linker.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "model/hosts.h"
#include "scanner.h"

FZ_CARRY(cv_host_halves, CV_FUZZ_HOSTS);

enum {
    FILES = 5,
    MEMBERS = 4,
    OBJECTS = FILES * MEMBERS,
    EVENTS = 2 * OBJECTS + 2 * FILES,
    MOST_BYTES = 1 << 15,
    TEXT = 96
};

typedef struct hosts_sample {
    uint32_t off, size, module, module_size;
} hosts_sample;

/* What the build found out of the samples: rows of one kind at a time. */
#define TOOLKIT(name, off)
#define INFO(off)
#define HOST(name, off, size, module, module_size) name,
#define LIST(name, off)
#define LIST_NAME(name, off)
enum {
#include "hosts.inc"
};
#undef HOST
#define HOST(name, off, size, module, module_size) { off, size, module, module_size },
static const hosts_sample SAMPLES[] = {
#include "hosts.inc"
};
#undef HOST
#undef LIST

/* Where an object says which kernels it launches, and how its lists are called. */
typedef struct hosts_place {
    unsigned sample;
    uint32_t off;
} hosts_place;

#define HOST(name, off, size, module, module_size)
#define LIST(name, off) { name, off },
static const hosts_place LISTS[] = {
#include "hosts.inc"
};
#undef LIST
#undef LIST_NAME
#define LIST(name, off)
#define LIST_NAME(name, off) { name, off },
static const hosts_place LIST_NAMES[] = {
#include "hosts.inc"
};

/* Samples that are drawn; OBJECT_90 is for another machine. */
#define FILE_KINDS 9

static const char *const MODULES[] = { "",  "a",   "b",   "c",  "_09AZaz",  "a_b",
                                       "9", "m n", "m.n", "m-", "\xC3\xA4", "(a" };

/* What lists say: names of kernels, and patterns that are some or none. */
static const char *const LAUNCHED[] = {
    "_Z6callerPi",  "_Z7printeri", "_Z6caller*", "_Z7*i",        "*",  "*Pi",
    "_Z6callerPiX", "_Z6callerP",  "_Z*r*i",     "**",           "x*", "_Z6caller*Pi",
    "_Z7printeri*", "?Z6callerPi", "*er*er*",    "_Z7printeri_*"
};

/* Of a host object: its module, and what its lists say. */
typedef struct hosts_said {
    const char *module;
    bool lists;
    const char *launched[2];
} hosts_said;

typedef struct hosts_file {
    uint8_t bytes[MOST_BYTES];
    size_t size;
    unsigned flags;
    bool archive;
} hosts_file;

typedef struct hosts_run {
    fz_ops ops;
    unsigned flags; /* of the link */
    uint64_t containers;
    hosts_file file[FILES];
    unsigned n_files;
    md_object object[OBJECTS];
    unsigned n_objects, from[OBJECTS]; /* of which file */
    char want[EVENTS][TEXT];           /* an event as a text */
    unsigned n_want, n_added;          /* of files as they are added */
    bool said[FILES];                  /* the file is refused */
    bool others;                       /* there is code for another machine, with a module of its own */
    cuvet_ctx *ctx;
    cuvet_linker linker;
} hosts_run;

static void append(hosts_file *file, const void *bytes, size_t size)
{
    file->size = fz_append(file->bytes, sizeof(file->bytes), file->size, bytes, size);
}

static void want(hosts_run *run, const char *kind, unsigned file, const char *member)
{
    FZ_CHECK(run->n_want < EVENTS, "few events");
    (void)snprintf(run->want[run->n_want++], TEXT, "%s %c%s%s", kind, (char)('0' + file),
                   member[0] ? " " : "", member);
}

/* Lists are said by each host object that is linked, and that is not of the system. */
static hosts_said draw_said(hosts_run *run, unsigned sample, const char *module, bool system)
{
    hosts_said said = { .module = module, .lists = sample == CALLER || sample == CALLED };
    uint8_t how = said.lists && (run->flags & CUVET_LINK_HOST_INFO) ? fz_u8(&run->ops) : 0;

    if ((how & 7) == 7 && !system)
        said.lists = false;
    else if ((how & 7) != 0)
        said.launched[0] = LAUNCHED[how >> 3 & 15];
    if (said.launched[0] && (how & 0x80))
        said.launched[1] = LAUNCHED[(how ^ how >> 4) & 15];
    return said;
}

/* A half with a module of this name, and with these lists. */
static void append_sample(hosts_file *file, unsigned sample, const hosts_said *said)
{
    size_t at = file->size;
    char text[32];

    append(file, cv_host_halves + SAMPLES[sample].off, SAMPLES[sample].size);
    for (size_t i = 0; i < CV_COUNT(LIST_NAMES); i++)
        if (LIST_NAMES[i].sample == sample && !said->lists) /* no name: a section that means nothing */
            memset(file->bytes + at + LIST_NAMES[i].off, 0, 4);
    for (size_t i = 0; i < CV_COUNT(LISTS); i++)
        for (size_t k = 0, in = at + LISTS[i].off; k < 2 && LISTS[i].sample == sample && said->launched[k];
             k++) {
            memcpy(file->bytes + in, said->launched[k], strlen(said->launched[k]));
            in += strlen(said->launched[k]) + 1;
        }
    if (SAMPLES[sample].module_size == 0 || sample == WHOLE || sample == OTHERS)
        return;
    (void)snprintf(text, sizeof(text), "%s%s", sample == FINISHED ? "def " : "", said->module);
    memset(file->bytes + at + SAMPLES[sample].module, 0, SAMPLES[sample].module_size);
    memcpy(file->bytes + at + SAMPLES[sample].module, text, strlen(text));
}

static md_half half_of(unsigned sample)
{
    return sample == CALLER || sample == CALLER_CUBIN   ? MD_CALLER
           : sample == CALLED || sample == CALLED_CUBIN ? MD_CALLED
           : sample == FINISHED                         ? MD_FINISHED
           : sample == WHOLE                            ? MD_WHOLE
                                                        : MD_PRINTER;
}

/* Of a device ELF by itself "system" says nothing (cuvet/linker.h). */
static void add_object(hosts_run *run, unsigned sample, const hosts_said *said)
{
    hosts_file *file = &run->file[run->n_files];
    bool host = sample == CALLER || sample == CALLED || sample == FINISHED || sample == WHOLE;

    run->from[run->n_objects] = run->n_files;
    run->object[run->n_objects++] =
        (md_object){ .half = half_of(sample),
                     .host = host,
                     .system = (file->flags & CUVET_ADD_SYSTEM) && (host || file->archive),
                     .module = host ? said->module : "",
                     .lists = said->lists,
                     .launched = { said->launched[0], said->launched[1] } };
}

/* ---- archives ---- */

typedef struct hosts_member {
    enum { OBJECT, README, EMPTY, NVVM, LTOIR, BROKEN, KINDS } what;
    unsigned sample;
    hosts_said said;
    char name[24];
    unsigned form; /* short, in the table, in front of the body */
} hosts_member;

static void append_member(hosts_file *file, const char *field, const char *front, const void *body,
                          size_t size)
{
    char header[FZ_AR_HEADER + 1];

    fz_ar_header(header, field, strlen(front) + size);
    append(file, header, FZ_AR_HEADER);
    append(file, front, strlen(front));
    append(file, body, size);
    if (file->size % 2)
        append(file, "\n", 1);
}

static const char *body_of(const hosts_member *member, hosts_file *scratch)
{
    static const uint8_t HEADS[][4] = { { 0xED, 0x43, 0x4E, 0x7F }, { 0x01, 0x5A, 0xE5, 0x1E } };

    scratch->size = 0;
    if (member->what == OBJECT)
        append_sample(scratch, member->sample, &member->said);
    else if (member->what == README)
        append(scratch, "Read me first.\n", 15);
    else if (member->what == NVVM || member->what == LTOIR)
        append(scratch, HEADS[member->what == NVVM], 4);
    else if (member->what == BROKEN)
        append(scratch, cv_host_halves + SAMPLES[CALLED].off, 40);
    return (const char *)scratch->bytes;
}

static void draw_member(hosts_run *run, hosts_member *member, unsigned number)
{
    static const unsigned INSIDE[] = { CALLER, CALLED, CALLED, CALLER_CUBIN, CALLED_CUBIN, PRINTER };
    uint8_t what = fz_u8(&run->ops), how = fz_u8(&run->ops);

    /* A file that is refused says nothing of the others: most are not. */
    member->what = what < 0xC0      ? OBJECT
                   : what < 0xE0    ? README
                   : what < 0xF0    ? EMPTY
                   : (what & 7) < 3 ? (what & 7) + NVVM
                                    : README;
    member->sample = INSIDE[what % CV_COUNT(INSIDE)];
    member->said = draw_said(run, member->what == OBJECT ? member->sample : (unsigned)PRINTER,
                             MODULES[how % (how < 0xE0 ? 6 : CV_COUNT(MODULES))],
                             (run->file[run->n_files].flags & CUVET_ADD_SYSTEM) != 0);
    member->form = (what >> 3 ^ how >> 4) % 3;
    (void)snprintf(member->name, sizeof(member->name), member->form == 0 ? "m%u" : "a name of its own %u",
                   number);
}

static void append_archive(hosts_run *run, hosts_file *file, const hosts_member *member, unsigned count)
{
    char table[MEMBERS * 32] = "", field[32];
    size_t at[MEMBERS] = { 0 };
    hosts_file *scratch = malloc(sizeof(*scratch));

    FZ_CHECK(scratch != NULL, "memory");
    append(file, "!<arch>\n", 8);
    for (unsigned i = 0; i < count; i++)
        if (member[i].form == 1) {
            at[i] = strlen(table);
            (void)snprintf(table + at[i], sizeof(table) - at[i], "%s/\n", member[i].name);
        }
    if (table[0])
        append_member(file, "//", "", table, strlen(table));
    for (unsigned i = 0; i < count; i++) {
        const char *body = body_of(&member[i], scratch);

        if (member[i].form == 0)
            (void)snprintf(field, sizeof(field), "%s/", member[i].name);
        else if (member[i].form == 1)
            (void)snprintf(field, sizeof(field), "/%zu", at[i]);
        else
            (void)snprintf(field, sizeof(field), "#1/%zu", strlen(member[i].name));
        append_member(file, field, member[i].form == 2 ? member[i].name : "", body, scratch->size);
    }
    run->containers = cv_max(run->containers, count + (table[0] != 0));
    free(scratch);
}

/* IR and damaged objects are refused, and with them the archive; other bytes are told and left out. */
static void draw_archive(hosts_run *run, hosts_file *file)
{
    hosts_member member[MEMBERS];
    unsigned count = 1 + fz_u8(&run->ops) % MEMBERS, first = run->n_objects, number = run->n_files;

    for (unsigned i = 0; i < count; i++)
        draw_member(run, &member[i], i);
    append_archive(run, file, member, count);
    for (unsigned i = 0; i < count; i++) {
        bool host = member[i].what == OBJECT && SAMPLES[member[i].sample].module_size != 0;

        const char *module = member[i].said.module;

        if (member[i].what > EMPTY || (host && module[0] && !md_is_module_name(module))) {
            want(run, "refused", number, "");
            run->said[number] = true;
            return;
        }
    }
    for (unsigned i = 0; i < count; i++)
        if (member[i].what != OBJECT)
            want(run, "not-an-object", number, member[i].name);
    for (unsigned i = 0; i < count; i++)
        if (member[i].what == OBJECT) {
            add_object(run, member[i].sample, &member[i].said);
            /* nvlink passes over a member that is device code itself */
            if (SAMPLES[member[i].sample].module_size == 0)
                want(run, "findings", number, member[i].name);
            want(run, "taken", number, member[i].name);
        }
    if (run->n_objects == first) {
        want(run, "no-device-code", number, "");
        run->said[number] = !(file->flags & CUVET_ADD_LIBRARY) && !(run->flags & CUVET_LINK_MODULES_ONLY);
    }
}

/* ---- files ---- */

static void draw_file(hosts_run *run)
{
    hosts_file *file = &run->file[run->n_files];
    uint8_t what = fz_u8(&run->ops), how = fz_u8(&run->ops);
    const char *module = MODULES[how % (how < 0xE0 ? 6 : CV_COUNT(MODULES))];
    unsigned sample = what % FILE_KINDS;
    bool host = SAMPLES[sample].module_size != 0 && sample != WHOLE && sample != OTHERS;
    bool code = !(run->flags & CUVET_LINK_MODULES_ONLY);
    hosts_said said = { .module = module };

    file->flags = what & 0x40 ? CUVET_ADD_SYSTEM : 0;
    file->archive = what >= 0xA0;
    if (file->archive) {
        file->flags |= how & 1 ? CUVET_ADD_LIBRARY : 0;
        draw_archive(run, file);
    } else {
        if (sample == WHOLE)
            file->flags |= CUVET_ADD_OPTIONAL;
        said = draw_said(run, sample, module, (file->flags & CUVET_ADD_SYSTEM) != 0);
        append_sample(file, sample, &said);
        if (sample == OTHERS && (how & 1))
            file->flags |= CUVET_ADD_OPTIONAL;
        run->said[run->n_files] = host && (module[0] || sample == FINISHED) && !md_is_module_name(module);
        run->said[run->n_files] = run->said[run->n_files] || (sample == PROGRAM && code) ||
                                  (sample == OTHERS && code && !(file->flags & CUVET_ADD_OPTIONAL));
        if (sample == OTHERS) {
            /* "Not copied: an error" (docs/link.md, Files and libraries), but where it is optional
             * (cuvet/linker.h) */
            if (!(file->flags & CUVET_ADD_OPTIONAL))
                want(run, "refused", run->n_files, "");
            want(run, file->flags & CUVET_ADD_OPTIONAL ? "no-match" : "nothing-fits", run->n_files, "");
            run->others = true;
        } else if (run->said[run->n_files]) {
            want(run, "refused", run->n_files, "");
        } else if (sample != PROGRAM) {
            add_object(run, sample, &said);
            want(run,
                 sample == FINISHED ? "already-linked"
                 : sample == WHOLE  ? "outside"
                                    : "taken",
                 run->n_files, "");
        }
    }
    run->n_files++;
}

/* ---- what comes of them ---- */

/* The next event, but for what says why a file is refused. */
static bool next_event(const hosts_run *run, uint64_t *at, cuvet_event *event)
{
    while (cuvet_linker_get_event(run->ctx, run->linker, (*at)++, event) == CUVET_OK) {
        unsigned file = (unsigned)(event->file[0] - '0');

        if (event->kind != CUVET_EVENT_DAMAGED)
            return true;
        FZ_CHECK(file < run->n_files && run->said[file], "what is damaged is refused");
    }
    return false;
}

/* Which file an event is about: behind the blank. */
static char file_of(const char *text)
{
    return strchr(text, ' ')[1];
}

/* Files are told as they are added, and last who does not take part. In which order the pieces of one file
 * are told, cuvet/linker.h does not say: by their texts, here. */
static void sort_events(char (*text)[TEXT], unsigned count, unsigned added)
{
    char other[TEXT];

    for (unsigned pass = 0; pass < count; pass++)
        for (unsigned i = 0; i + 1 < count; i++) {
            bool together = i >= added || (i + 1 < added && file_of(text[i]) == file_of(text[i + 1]));

            if (!together || strcmp(text[i], text[i + 1]) <= 0)
                continue;
            memcpy(other, text[i], TEXT);
            memcpy(text[i], text[i + 1], TEXT);
            memcpy(text[i + 1], other, TEXT);
        }
}

static void check_events(hosts_run *run)
{
    static char got[EVENTS][TEXT];
    cuvet_event event = { .size = sizeof(event) };
    uint64_t at = 0;
    unsigned count = 0;

    while (next_event(run, &at, &event)) {
        FZ_CHECK(count < run->n_want, "and nothing else is told");
        (void)snprintf(got[count++], TEXT, "%s %.1s%s%s", cuvet_event_kind_name(event.kind), event.file,
                       event.member ? " " : "", event.member ? event.member : "");
    }
    FZ_CHECK(count == run->n_want, "all of it is told");
    sort_events(got, count, run->n_added);
    sort_events(run->want, count, run->n_added);
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(got[i], run->want[i]) != 0 && getenv("FZ_LOUD"))
            (void)fprintf(stderr, "event %u: %s, and not %s\n", i, got[i], run->want[i]);
        FZ_CHECK(strcmp(got[i], run->want[i]) == 0, "what becomes of a file is told");
    }
}

static void check_modules(hosts_run *run)
{
    const char *name;
    uint64_t at = 0;

    for (unsigned i = 0; i < run->n_objects; i++) {
        if (!md_takes_part(&run->object[i]) || !run->object[i].module[0])
            continue;
        FZ_CHECK(cuvet_linker_get_module(run->ctx, run->linker, at++, &name) == CUVET_OK &&
                     strcmp(name, run->object[i].module) == 0,
                 "the module of each host object that takes part");
    }
    FZ_CHECK(cuvet_linker_get_module(run->ctx, run->linker, at, &name) == CUVET_END, "and no others");
}

/* FZ_LOUD: what was made of the input. */
static void tell(const hosts_run *run)
{
    static const char *const HALVES[] = { "caller", "called", "printer", "finished", "whole" };

    for (unsigned i = 0; i < run->n_objects && getenv("FZ_LOUD"); i++)
        (void)fprintf(stderr, "file %u: %s%s '%s'%s%s%s\n", run->from[i], run->object[i].host ? "host " : "",
                      CV_AT(HALVES, run->object[i].half), run->object[i].module,
                      run->object[i].system ? ", system" : "", run->object[i].already ? ", already" : "",
                      run->object[i].not_needed ? ", not needed" : "");
}

/* Kernels that stay: with lists, those that are launched. */
static unsigned count_kernels(const hosts_run *run)
{
    unsigned count = 0;

    for (unsigned i = 0; i < run->n_objects; i++) {
        const char *kernel = md_kernel_of(run->object[i].half);

        count +=
            md_takes_part(&run->object[i]) && kernel &&
            (!(run->flags & CUVET_LINK_HOST_INFO) || md_kernel_stays(run->object, run->n_objects, kernel));
    }
    return count;
}

static void complete(hosts_run *run)
{
    bool code = !(run->flags & CUVET_LINK_MODULES_ONLY), left = false;
    cuvet_link_result made = { .size = sizeof(made) };
    cuvet_status status = cuvet_linker_complete(run->ctx, run->linker);
    uint64_t objects = 0;

    run->n_added = run->n_want;
    md_take_part(run->object, run->n_objects, code);
    tell(run);
    for (unsigned i = 0; i < run->n_objects && code; i++) {
        objects += md_takes_part(&run->object[i]);
        left = left || run->object[i].half <= MD_PRINTER;
        if (run->object[i].already)
            want(run, "already-linked", run->from[i], "");
        if (run->object[i].not_needed)
            want(run, "not-needed", run->from[i], "");
    }
    if (!left && code) /* there is no link of nothing */
        return;
    if (code)
        check_events(run);
    FZ_CHECK((status == CUVET_OK) == (!code || md_can_be_linked(run->object, run->n_objects)),
             "whether it can be linked");
    if (status != CUVET_OK)
        return;
    FZ_CHECK(cuvet_linker_get_result(run->ctx, run->linker, &made) == CUVET_OK && made.objects == objects,
             "of so many objects");
    /* What a file without code for this machine says of kernels is not linked, and no sheet says whether it
     * counts. */
    FZ_CHECK(!code || run->others || made.kernels == count_kernels(run), "kernels that nobody launches go");
    if (!run->others)
        check_modules(run);
}

static void add_all(hosts_run *run, bool few)
{
    for (unsigned i = 0; i < run->n_files; i++) {
        const cuvet_add_options options = { .size = sizeof(options), .flags = run->file[i].flags };
        const char name[2] = { (char)('0' + i), 0 };
        cuvet_status status = cuvet_linker_add_memory(run->ctx, run->linker, run->file[i].bytes,
                                                      run->file[i].size, name, &options);

        if (getenv("FZ_LOUD"))
            (void)fprintf(stderr, "file %u: %d, flags %u, %zu bytes\n", i, (int)status, run->file[i].flags,
                          run->file[i].size);
        FZ_CHECK(few || (status == CUVET_OK) == !run->said[i],
                 "what is no input is refused, and nothing else");
        if (status == CUVET_E_LIMIT)
            return;
    }
    FZ_CHECK(!few, "an archive has no more members than a file may have containers");
    complete(run);
}

CV_FUZZ_TARGET(hosts)
{
    hosts_run *run = calloc(1, sizeof(*run));
    fz_alloc counting = { 0 };
    cuvet_alloc alloc = fz_alloc_of(&counting);
    cuvet_limits lim = { .size = sizeof(lim) };
    cuvet_ctx_options with = { .size = sizeof(with), .alloc = &alloc, .limits = &lim };
    cuvet_linker_options options = { .size = sizeof(options), .target = { .sm = 75 } };
    uint8_t how;
    bool few;

    FZ_CHECK(run != NULL, "memory");
    run->ops = (fz_ops){ .bytes = data, .size = size };
    how = fz_u8(&run->ops);
    run->flags = (how & 3) == 3 ? CUVET_LINK_MODULES_ONLY : how & 4 ? CUVET_LINK_HOST_INFO : 0;
    while (run->n_files < FILES && fz_ops_left(&run->ops))
        draw_file(run);
    FZ_CHECK(cuvet_limits_preset("strict", &lim) == CUVET_OK, "limits");
    /* As many members as there are, or one less. */
    few = (how & 0x18) == 0x18 && run->containers > 1;
    for (unsigned i = 0; i < run->n_files; i++)
        few = few && !run->said[i];
    lim.containers = run->containers > 1 && how & 0x10 ? run->containers - few : lim.containers;
    options.flags = run->flags;
    FZ_CHECK(cuvet_ctx_create(&with, &run->ctx) == CUVET_OK, "a context");
    FZ_CHECK(cuvet_linker_create(run->ctx, &options, &run->linker) == CUVET_OK, "a linker");
    add_all(run, few);
    cuvet_ctx_destroy(run->ctx);
    FZ_CHECK(counting.live == 0, "nothing stays allocated");
    free(run);
    return 0;
}
