/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* From JSON to a job. What is not known is refused: a word that is spelled wrong must not be passed over. */
#include "serve.h"

#include <string.h>
#include <sys/stat.h>

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

enum { KERNELS = 1024 };

json_t *serve_parse(const serve_frame *frame)
{
    json_t *object = json_loadb(frame->text, frame->size, JSON_REJECT_DUPLICATES, NULL);

    if (object && !json_is_object(object)) {
        json_decref(object);
        return NULL;
    }
    return object;
}

int serve_hello(const json_t *object)
{
    const json_t *hello = json_object_get(object, "hello"), *versions = json_object_get(hello, "versions");

    if (json_object_size(object) != 1 || json_object_size(hello) != 1 || !json_is_array(versions))
        return 0;
    for (size_t i = 0; i < json_array_size(versions); i++) {
        const json_t *version = json_array_get(versions, i);

        if (json_is_integer(version) && json_integer_value(version) == SERVE_VERSION)
            return SERVE_VERSION;
    }
    return 0;
}

/* A request, and how many of its members were looked at. */
typedef struct serve_reading {
    const json_t *object;
    size_t known;
    const char *wrong;
} serve_reading;

static const json_t *member(serve_reading *reading, const char *key)
{
    const json_t *value = json_object_get(reading->object, key);

    reading->known += value != NULL;
    return value;
}

static uint64_t number(serve_reading *reading, const char *key, uint64_t otherwise)
{
    const json_t *value = member(reading, key);

    if (!value)
        return otherwise;
    if (!json_is_integer(value) || json_integer_value(value) < 0) {
        reading->wrong = "a number is wanted that is not negative";
        return otherwise;
    }
    return (uint64_t)json_integer_value(value);
}

static bool truth(serve_reading *reading, const char *key)
{
    const json_t *value = member(reading, key);

    if (value && json_typeof(value) != JSON_TRUE && json_typeof(value) != JSON_FALSE)
        reading->wrong = "true or false is wanted";
    return json_is_true(value);
}

static const char *text(serve_reading *reading, const char *key)
{
    const json_t *value = member(reading, key);

    if (value && !json_is_string(value))
        reading->wrong = "a text is wanted";
    return json_string_value(value); /* NULL: there is none, or it is no text */
}

/* Number of a word in a list, 0 without one. */
static unsigned choice(serve_reading *reading, const char *key, const char *const *word, size_t count)
{
    const char *given = text(reading, key);

    if (!given)
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(word[i], given) == 0)
            return (unsigned)i;
    }
    reading->wrong = "a word that is none of those that are known";
    return 0;
}

typedef struct serve_flag {
    const char *name;
    unsigned flag;
} serve_flag;

static unsigned flags(serve_reading *reading, const serve_flag *known, size_t count)
{
    const json_t *list = member(reading, "flags");
    unsigned all = 0;

    if (list && !json_is_array(list))
        reading->wrong = "flags are a list";
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *given = json_string_value(json_array_get(list, i));
        size_t row = 0;

        while (row < count && (!given || strcmp(known[row].name, given) != 0))
            row++;
        if (row == count)
            reading->wrong = "a flag that is none of those that are known";
        else
            all |= known[row].flag;
    }
    return all;
}

static cuvet_target target(serve_reading *reading)
{
    const char *given = text(reading, "target");
    cuvet_target out = { .sm = 0 };

    if (given && cuvet_target_parse(given, &out) != CUVET_OK)
        reading->wrong = "no such target";
    return out;
}

static cuvet_arch_policy policy(serve_reading *reading)
{
    static const char *const WORDS[] = { "reference", "exact" };

    return (cuvet_arch_policy)choice(reading, "policy", WORDS, ROWS(WORDS));
}

/* ---- options of each kind ---- */

typedef struct serve_options {
    cuvet_job_options job;
    cuvet_linker_options link;
    cuvet_scan_options scan;
    cuvet_select_options select;
    cuvet_finalize_options finalize;
    const char *kernel[KERNELS];
} serve_options;

static void read_kernels(serve_reading *reading, serve_options *options)
{
    const json_t *list = member(reading, "kernels");

    if (list && (!json_is_array(list) || json_array_size(list) > KERNELS)) {
        reading->wrong = "kernels are a list of names";
        return;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        options->kernel[i] = json_string_value(json_array_get(list, i));
        if (!options->kernel[i])
            reading->wrong = "kernels are a list of names";
    }
    options->link.n_kernels_used = json_array_size(list);
    options->link.kernels_used = options->kernel;
}

static void read_link(serve_reading *reading, serve_options *options)
{
    static const serve_flag FLAGS[] = { { "relocatable", CUVET_LINK_RELOCATABLE },
                                        { "exact-relocatable", CUVET_LINK_EXACT_RELOCATABLE },
                                        { "debug", CUVET_LINK_DEBUG },
                                        { "preserve-relocs", CUVET_LINK_PRESERVE_RELOCS },
                                        { "keep-dead", CUVET_LINK_KEEP_DEAD },
                                        { "no-stack-warning", CUVET_LINK_NO_STACK_WARNING },
                                        { "warnings-are-errors", CUVET_LINK_WARNINGS_ARE_ERRORS },
                                        { "host-info", CUVET_LINK_HOST_INFO },
                                        { "undefined-variables", CUVET_LINK_UNDEFINED_VARIABLES },
                                        { "no-reserved-shared", CUVET_LINK_NO_RESERVED_SHARED },
                                        { "all-shared", CUVET_LINK_ALL_SHARED } };

    options->link = (cuvet_linker_options){ .size = sizeof(options->link),
                                            .target = target(reading),
                                            .policy = policy(reading),
                                            .flags = flags(reading, FLAGS, ROWS(FLAGS)) };
    read_kernels(reading, options);
    options->job.link = &options->link;
}

static void read_scan(serve_reading *reading, serve_options *options)
{
    static const char *const DEPTHS[] = { "full", "headers" };
    bool headers = choice(reading, "depth", DEPTHS, ROWS(DEPTHS)) == 1;

    options->scan = (cuvet_scan_options){ .size = sizeof(options->scan),
                                          .depth = headers ? CUVET_DEPTH_HEADERS : CUVET_DEPTH_FULL,
                                          .target = target(reading) };
    options->job.scan = &options->scan;
}

static void read_select(serve_reading *reading, serve_options *options)
{
    static const char *const REQUESTS[] = { "link", "sass", "ptx", "ltoir" };
    static const serve_flag FLAGS[] = { { "address32", CUVET_SELECT_ADDRESS32 },
                                        { "lenient", CUVET_SELECT_LENIENT } };

    options->select = (cuvet_select_options){ .size = sizeof(options->select),
                                              .target = target(reading),
                                              .request = (cuvet_request)choice(reading, "request", REQUESTS,
                                                                               ROWS(REQUESTS)),
                                              .policy = policy(reading),
                                              .flags = flags(reading, FLAGS, ROWS(FLAGS)) };
    options->job.select = &options->select;
}

static void read_finalize(serve_reading *reading, serve_options *options)
{
    static const char *const FORMS[] = { "same", "mercury", "capmerc", "?", "sass" };
    static const char *const BACKENDS[] = { "", "copy", "strip" };
    static const serve_flag FLAGS[] = { { "no-fastpath", CUVET_FINALIZE_NO_FASTPATH },
                                        { "self-check", CUVET_FINALIZE_SELF_CHECK },
                                        { "tool-note", CUVET_FINALIZE_TOOL_NOTE } };
    unsigned backend = choice(reading, "backend", BACKENDS, ROWS(BACKENDS));

    options->finalize =
        (cuvet_finalize_options){ .size = sizeof(options->finalize),
                                  .target = target(reading),
                                  .kind = (cuvet_form)choice(reading, "form", FORMS, ROWS(FORMS)),
                                  .policy = policy(reading),
                                  .flags = flags(reading, FLAGS, ROWS(FLAGS)),
                                  .backend = backend ? BACKENDS[backend] : NULL };
    options->job.finalize = &options->finalize;
}

/* ---- inputs ---- */

static uint64_t size_of(int fd, uint64_t off)
{
    struct stat st;

    return fstat(fd, &st) == 0 && off <= (uint64_t)st.st_size ? (uint64_t)st.st_size - off : 0;
}

static const char *add_input(cuvet_job *job, const serve_frame *frame, const json_t *object)
{
    serve_reading reading = { .object = object };
    uint64_t file = number(&reading, "fd", UINT64_MAX), off = number(&reading, "offset", 0);
    const char *name = text(&reading, "name");
    unsigned how = (truth(&reading, "system") ? CUVET_ADD_SYSTEM : 0u) |
                   (truth(&reading, "library") ? CUVET_ADD_LIBRARY : 0u);
    uint64_t size;
    cuvet_status status;

    if (file >= frame->n_files)
        return "an input has the number of a descriptor that came with the frame";
    size = number(&reading, "size", size_of(frame->file[file], off));
    if (reading.wrong)
        return reading.wrong;
    if (reading.known != json_object_size(object))
        return "an input with a member that is not known";
    status = cuvet_job_add_fd(job, frame->file[file], off, size, name ? name : "input", how);
    return status == CUVET_OK     ? NULL
           : status == CUVET_E_IO ? "an input is a file with as many bytes as are said"
                                  : "too many inputs, or no memory for them";
}

static const char *add_inputs(cuvet_job *job, const serve_frame *frame, const json_t *list)
{
    const char *wrong = NULL;

    if (!json_is_array(list) || json_array_size(list) == 0)
        return "there are no inputs";
    for (size_t i = 0; i < json_array_size(list) && !wrong; i++) {
        const json_t *input = json_array_get(list, i);

        wrong = json_is_object(input) ? add_input(job, frame, input) : "an input is an object";
    }
    return wrong;
}

/* ---- all of it ---- */

const char *serve_job(const serve_server *server, const serve_frame *frame, const json_t *request,
                      cuvet_job_kind kind, cuvet_job **out)
{
    static void (*const READ[])(serve_reading *, serve_options *) = {
        [CUVET_JOB_LINK] = read_link,
        [CUVET_JOB_SCAN] = read_scan,
        [CUVET_JOB_SELECT] = read_select,
        [CUVET_JOB_FINALIZE] = read_finalize,
    };
    serve_reading reading = { .object = request, .known = json_object_get(request, "id") ? 2 : 1 };
    serve_options options = { .job = { .size = sizeof(options.job), .kind = kind } };
    const json_t *inputs = member(&reading, "inputs");
    const char *wrong;

    *out = NULL;
    options.job.deadline_ms = number(&reading, "deadline_ms", 0);
    options.job.cpu_ms = number(&reading, "cpu_ms", 0);
    options.job.memory = number(&reading, "memory", 0);
    options.job.output = number(&reading, "output", 0);
    READ[kind](&reading, &options);
    if (reading.wrong)
        return reading.wrong;
    if (reading.known != json_object_size(request))
        return "a member that is not known, or not for this kind of request";
    if (cuvet_job_create(server->workers, &options.job, out) != CUVET_OK)
        return "a value out of its range";
    wrong = add_inputs(*out, frame, inputs);
    if (wrong) {
        cuvet_job_destroy(*out);
        *out = NULL;
    }
    return wrong;
}
