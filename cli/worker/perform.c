/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "perform.h"

#include "../whole.h"
#include "plant.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SAID = 16, SUBJECT = 640 };

/* An input: a piece of a file that nobody can change any more. */
typedef struct input_piece {
    int fd;
    uint64_t off;
} input_piece;

/* A request on its way. */
typedef struct performance {
    const wire_request_view *view;
    const int *file;
    cli_answer *answer;
    cuvet_ctx *ctx;
    size_t text; /* the next one that was not read */
    /* Of a link: what the call that runs said, until its names can be asked for. */
    bool keeps;
    cuvet_diag *said;
    size_t n_said, cap_said;
} performance;

static cuvet_status read_piece(void *user, uint64_t off, void *buf, size_t len)
{
    const input_piece *piece = user;

    return cli_read_at(piece->fd, buf, len, piece->off + off) ? CUVET_OK : CUVET_E_IO;
}

static cuvet_source source_of(const performance *work, uint32_t index, input_piece *piece)
{
    wire_input input = wire_input_at(work->view, index);

    *piece = (input_piece){ .fd = work->file[input.file], .off = input.off };
    return (cuvet_source){ .size = sizeof(cuvet_source),
                           .length = input.size,
                           .read_at = read_piece,
                           .user = piece,
                           .owned_fd = -1 };
}

static void on_diag(void *user, const cuvet_diag *diag)
{
    performance *work = user;

    if (work->keeps && work->n_said == work->cap_said && work->cap_said < WIRE_SAID) {
        size_t cap = work->cap_said ? 2 * work->cap_said : FIRST_SAID;
        cuvet_diag *more = reallocarray(work->said, cap, sizeof(*more));

        if (more) {
            work->said = more;
            work->cap_said = cap;
        }
    }
    if (!work->keeps || work->n_said == work->cap_said)
        cli_answer_diag(work->answer, diag, "");
    else
        work->said[work->n_said++] = *diag;
}

static void on_event(void *user, const cuvet_event *event)
{
    cli_answer_event(user, event);
}

static cuvet_target target_of(const wire_request *head)
{
    return (cuvet_target){ .sm = head->sm, .suffix = (char)head->suffix };
}

static void answer_target(cli_answer *answer, cuvet_target target)
{
    answer->head.sm = target.sm;
    answer->head.suffix = (uint32_t)(unsigned char)target.suffix;
}

/* ---- link ---- */

/* A text that grows as far as it fits. */
typedef struct subject_text {
    char text[SUBJECT];
    size_t len;
} subject_text;

static void put_quoted(subject_text *out, const char *before, const char *text, size_t size)
{
    static const char DIGITS[] = "0123456789abcdef";

    for (; *before != '\0' && out->len + 2 < sizeof(out->text); before++)
        out->text[out->len++] = *before;
    for (size_t i = 0; i < size && out->len + 6 < sizeof(out->text); i++) {
        unsigned char byte = (unsigned char)text[i];

        if (byte >= ' ' && byte <= '~') {
            out->text[out->len++] = (char)byte;
        } else { /* printable ASCII is what the wire takes */
            out->text[out->len++] = '\\';
            out->text[out->len++] = 'x';
            out->text[out->len++] = DIGITS[byte >> 4];
            out->text[out->len++] = DIGITS[byte & 15];
        }
    }
    out->text[out->len++] = '\'';
    out->text[out->len] = '\0';
}

/* The which-th input that the path names. */
static const char *input_of(const performance *work, cuvet_linker linker, const cuvet_diag *diag,
                            uint32_t which)
{
    const char *name;

    for (uint32_t i = 0; i < diag->where.n && i < CUVET_PATH_MAX; i++) {
        if (diag->where.step[i].kind != CUVET_P_MEMBER)
            continue;
        if (which == 0)
            return cuvet_linker_get_name(work->ctx, linker, diag->where.step[i].index, &name) == CUVET_OK
                       ? name
                       : NULL;
        which--;
    }
    return NULL;
}

/* What the diagnostics of a call are about, by name. @param file what was added; NULL: their paths say it */
static void tell(performance *work, cuvet_linker linker, const char *file)
{
    work->keeps = false;
    for (size_t i = 0; i < work->n_said; i++) {
        const cuvet_diag *diag = &work->said[i];
        const char *name = file ? file : input_of(work, linker, diag, 0), *symbol;
        const char *other = file ? NULL : input_of(work, linker, diag, 1);
        subject_text subject = { .len = 0 };
        size_t len;

        subject.text[0] = '\0';
        if (cuvet_linker_get_symbol(work->ctx, linker, diag, 0, &symbol, &len) == CUVET_OK)
            put_quoted(&subject, " '", symbol, len);
        if (name)
            put_quoted(&subject, " in '", name, strlen(name));
        if (other)
            put_quoted(&subject, ", first in '", other, strlen(other));
        cli_answer_diag(work->answer, diag, subject.text);
    }
    work->n_said = 0;
    work->keeps = true;
}

/* All inputs are looked at, also when one is refused. */
static cuvet_status add_inputs(performance *work, cuvet_linker linker)
{
    cuvet_status first = CUVET_OK;

    for (uint32_t i = 0; i < work->view->head.n_inputs; i++) {
        const char *name = wire_next_text(work->view, &work->text);
        cuvet_add_options options = { .size = sizeof(options), .flags = wire_input_at(work->view, i).flags };
        input_piece piece;
        cuvet_source source = source_of(work, i, &piece);
        cuvet_status status;

        cli_plant(name);
        status = cuvet_linker_add_file(work->ctx, linker, &source, name, &options);
        tell(work, linker, name);
        if (first == CUVET_OK)
            first = status;
        if (status == CUVET_E_NOMEM)
            return status;
    }
    return first;
}

/* Those behind the names of the inputs. */
static bool used_kernels(const performance *work, const char ***out)
{
    const wire_request *head = &work->view->head;
    size_t at = 0;
    const char **word;

    *out = NULL;
    if (head->n_words == 0)
        return true;
    word = calloc(head->n_words, sizeof(*word));
    if (!word)
        return false;
    for (uint32_t i = 0; i < head->n_inputs; i++)
        (void)wire_next_text(work->view, &at);
    for (uint32_t i = 0; i < head->n_words; i++)
        word[i] = wire_next_text(work->view, &at);
    *out = word;
    return true;
}

static cuvet_status link_inputs(performance *work, const cuvet_linker_options *options)
{
    cuvet_link_result result = { .size = sizeof(result) };
    cuvet_linker linker;
    cuvet_status status = cuvet_linker_create(work->ctx, options, &linker);

    if (status == CUVET_OK)
        status = add_inputs(work, linker);
    if (status == CUVET_OK) {
        status = cuvet_linker_complete(work->ctx, linker);
        tell(work, linker, NULL);
    }
    if (status == CUVET_OK)
        status = cuvet_linker_get_result(work->ctx, linker, &result);
    if (status == CUVET_OK)
        cli_answer_result(work->answer, result.bytes, result.n);
    return status;
}

static cuvet_status do_link(performance *work)
{
    const wire_request *head = &work->view->head;
    cuvet_linker_options options = { .size = sizeof(options),
                                     .target = target_of(head),
                                     .policy = (cuvet_arch_policy)head->policy,
                                     .toolkit = head->toolkit,
                                     .flags = head->flags,
                                     .n_kernels_used = head->n_words,
                                     .event = on_event,
                                     .event_user = work->answer };
    const char **word;
    cuvet_status status;

    if (!used_kernels(work, &word))
        return CUVET_E_NOMEM;
    options.kernels_used = word;
    status = link_inputs(work, &options);
    free(word);
    return status;
}

/* ---- scan ---- */

static void answer_counts(cli_answer *answer, const cuvet_summary *summary)
{
    const uint64_t count[WIRE_COUNTS] = { summary->containers, summary->members,  summary->images,
                                          summary->notes,      summary->warnings, summary->errors };

    for (size_t i = 0; i < WIRE_COUNTS; i++)
        answer->head.count[i] = count[i];
    answer->head.verdict = (uint32_t)summary->verdict;
    answer->head.dropped += summary->suppressed;
}

static cuvet_status do_scan(performance *work)
{
    const wire_request *head = &work->view->head;
    const cuvet_scan_options options = { .size = sizeof(options),
                                         .depth = (cuvet_depth)head->want,
                                         .target = target_of(head) };
    cuvet_summary summary = { .size = sizeof(summary) };
    cuvet_item item = { .size = sizeof(item) };
    input_piece piece;
    cuvet_source source = source_of(work, 0, &piece);
    cuvet_scan scan;
    cuvet_status status;

    cli_plant(wire_next_text(work->view, &work->text));
    status = cuvet_scan_create(work->ctx, &source, &options, &scan);
    if (status != CUVET_OK)
        return status;
    do
        status = cuvet_scan_next(work->ctx, scan, &item);
    while (status == CUVET_OK);
    if (cuvet_scan_summary(work->ctx, scan, &summary) == CUVET_OK)
        answer_counts(work->answer, &summary);
    return status == CUVET_END ? CUVET_OK : status;
}

/* ---- select, finalize ---- */

static cuvet_status do_select(performance *work)
{
    const wire_request *head = &work->view->head;
    const cuvet_select_options options = { .size = sizeof(options),
                                           .target = target_of(head),
                                           .request = (cuvet_request)head->want,
                                           .policy = (cuvet_arch_policy)head->policy,
                                           .flags = head->flags,
                                           .toolkit = head->toolkit };
    cuvet_select_result result = { .size = sizeof(result) };
    input_piece piece;
    cuvet_source source = source_of(work, 0, &piece);
    cuvet_select selection;
    cuvet_status status;

    cli_plant(wire_next_text(work->view, &work->text));
    status = cuvet_select_create(work->ctx, &options, &selection);
    if (status == CUVET_OK)
        status = cuvet_select_bind_source(work->ctx, selection, &source, NULL);
    if (status == CUVET_OK)
        status = cuvet_select_run(work->ctx, selection);
    if (status == CUVET_OK)
        status = cuvet_select_get_result(work->ctx, selection, &result);
    if (status != CUVET_OK)
        return status;
    cli_answer_result(work->answer, result.bytes, result.n);
    work->answer->head.kind = (uint32_t)result.kind;
    answer_target(work->answer, (cuvet_target){ .sm = result.sm, .suffix = result.suffix });
    return CUVET_OK;
}

static cuvet_finalize_options final_options(performance *work)
{
    const wire_request *head = &work->view->head;
    const char *word[WIRE_FINAL_WORDS];

    for (size_t i = 0; i < WIRE_FINAL_WORDS; i++) {
        word[i] = wire_next_text(work->view, &work->text);
        if (!*word[i])
            word[i] = NULL;
    }
    return (cuvet_finalize_options){ .size = sizeof(cuvet_finalize_options),
                                     .target = target_of(head),
                                     .kind = (cuvet_form)head->want,
                                     .phase = (cuvet_final_phase)head->phase,
                                     .policy = (cuvet_arch_policy)head->policy,
                                     .flags = head->flags,
                                     .max_level = (uint8_t)head->level,
                                     .backend = word[WIRE_BACKEND],
                                     .max_output = head->max_output,
                                     .tool = word[WIRE_TOOL],
                                     .tool_version = word[WIRE_TOOL_VERSION],
                                     .tool_command = word[WIRE_TOOL_COMMAND] };
}

static cuvet_status do_finalize(performance *work)
{
    const char *name = wire_next_text(work->view, &work->text);
    cuvet_finalize_options options = final_options(work);
    cuvet_final_result result = { .size = sizeof(result) };
    input_piece piece;
    cuvet_source source = source_of(work, 0, &piece);
    cuvet_finalizer finalizer;
    cuvet_status status;

    cli_plant(name);
    status = cuvet_finalizer_create(work->ctx, &options, &finalizer);
    if (status != CUVET_OK)
        return status;
    status = cuvet_finalizer_run_source(work->ctx, finalizer, &source, NULL);
    if (cuvet_finalizer_get_result(work->ctx, finalizer, &result) != CUVET_OK)
        return status;
    work->answer->head.code = (uint32_t)result.code;
    answer_target(work->answer, result.target);
    if (status == CUVET_OK && result.bytes)
        cli_answer_result(work->answer, result.bytes, result.n);
    return status;
}

/* ---- all of them ---- */

typedef cuvet_status perform_fn(performance *work);

static perform_fn *const DO[] = { [CUVET_JOB_LINK] = do_link,
                                  [CUVET_JOB_SCAN] = do_scan,
                                  [CUVET_JOB_SELECT] = do_select,
                                  [CUVET_JOB_FINALIZE] = do_finalize };

static cuvet_limits limits_of(const wire_request *head)
{
    cuvet_limits limits = { .size = sizeof(limits) };

    if (!head->strict || cuvet_limits_preset("strict", &limits) != CUVET_OK)
        return head->limits;
    if (limits.live > head->limits.live)
        limits.live = head->limits.live;
    return limits;
}

bool cli_perform(const wire_request_view *view, const int *file, cli_answer *answer)
{
    performance work = {
        .view = view, .file = file, .answer = answer, .keeps = view->head.kind == CUVET_JOB_LINK
    };
    cuvet_limits limits = limits_of(&view->head);
    const cuvet_ctx_options options = {
        .size = sizeof(options), .limits = &limits, .diag = on_diag, .diag_user = &work
    };
    cuvet_status status;
    bool written;

    if (!cli_answer_begin(answer, view->head.number))
        return false;
    status = cuvet_ctx_create(&options, &work.ctx);
    if (status == CUVET_OK)
        status = DO[view->head.kind](&work);
    for (size_t i = 0; i < work.n_said; i++) /* of a call that did not get as far */
        cli_answer_diag(answer, &work.said[i], "");
    free(work.said);
    answer->head.status = (uint32_t)status;
    written = cli_answer_write(answer, file[0], view->head.most);
    cuvet_ctx_destroy(work.ctx); /* which has the result; NULL is allowed */
    return written;
}
