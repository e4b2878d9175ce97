/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --dump-callgraph: the text of the reference linker. A line is a function; dead ones leave theirs empty. */
#include "link_int.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct name {
    const char *text;
    size_t n;
    uint32_t registers;
} name;

typedef struct graph {
    name *of; /* by number, from 1: for the lines at the end */
    uint64_t n, cap;
    bool open; /* a line is not ended */
    bool lost; /* no memory */
} graph;

static bool remember(graph *g, const cuvet_link_function *f)
{
    if (g->n == g->cap) {
        uint64_t cap = g->cap ? 2 * g->cap : 64;
        name *of = realloc(g->of, (size_t)cap * sizeof(*of));

        if (!of) {
            g->lost = true;
            return false;
        }
        g->of = of;
        g->cap = cap;
    }
    g->of[g->n++] = (name){ f->name, f->n_name, f->registers };
    return true;
}

static void end_line(graph *g)
{
    if (g->open)
        fputc('\n', stderr);
    g->open = false;
}

static bool on_function(void *user, uint64_t number, const cuvet_link_function *f)
{
    graph *g = user;

    end_line(g);
    if (!remember(g, f))
        return false;
    g->open = true;
    fprintf(stderr, "%" PRIu64 ": ", number);
    if (!f->kept)
        return true;
    fputs(f->kernel ? "^" : "", stderr);
    fputs(f->address_taken ? "&" : "", stderr);
    cli_put(stderr, f->name, f->n_name);
    if (f->defined)
        fprintf(stderr, " [%" PRIu32 "]", f->registers);
    fputs(" ->", stderr);
    return true;
}

static bool on_call(void *user, uint64_t from, uint64_t to)
{
    (void)user;
    (void)from;
    fprintf(stderr, " %" PRIu64, to);
    return !ferror(stderr);
}

static const name *name_of(const graph *g, uint64_t number)
{
    static const name none = { "?", 1, 0 };

    return number > 0 && number <= g->n ? &g->of[number - 1] : &none;
}

static bool on_raised(void *user, uint64_t function, uint64_t kernel)
{
    graph *g = user;
    const name *f = name_of(g, function), *k = name_of(g, kernel);

    end_line(g);
    fprintf(stderr, "regcount %" PRIu32 " for ", f->registers);
    cli_put(stderr, f->text, f->n);
    fputs(" propagated to entry ", stderr);
    cli_put(stderr, k->text, k->n);
    fputc('\n', stderr);
    return !ferror(stderr);
}

void link_callgraph(link_run *r)
{
    graph g = { 0 };
    const cuvet_callgraph_sink sink = {
        .size = sizeof(sink), .user = &g, .function = on_function, .call = on_call, .raised = on_raised
    };
    cuvet_status s;

    if (r->args->set[LINK_O_RELOCATABLE])
        return;
    fprintf(stderr,
            "callgraph for %s:\n# A: s -> B // s (number A) potentially calls B\n"
            "# s [N]     // s uses N registers\n# ^s        // s is entry point\n"
            "# &s        // s has address taken\n",
            r->args->value[LINK_O_ARCH]);
    s = cuvet_linker_callgraph(r->ctx, r->linker, &sink);
    end_line(&g);
    free(g.of);
    if (g.lost)
        link_error(r, NULL, CLI_X_LIMIT, "no memory for the call graph");
    else if (s == CUVET_E_CANCELLED)
        link_error(r, NULL, CLI_X_IO, "standard error failed");
    else if (s != CUVET_OK && s != CUVET_E_STATE)
        link_error(r, NULL, link_exit_of(s), "the call graph cannot be told in full");
}
