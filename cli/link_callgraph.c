/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --dump-callgraph: the text of the reference linker. A line is a function; dead ones leave theirs empty. */
#include "link_int.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct graph_name {
    const char *text;
    size_t len;
    uint32_t registers;
} graph_name;

typedef struct graph_state {
    graph_name *of; /* by number, from 1: for the lines at the end */
    uint64_t count, cap;
    bool open; /* a line is not ended */
    bool lost; /* no memory */
} graph_state;

static bool remember(graph_state *graph, const cuvet_link_function *function)
{
    if (graph->count == graph->cap) {
        uint64_t cap = graph->cap ? 2 * graph->cap : 64;
        graph_name *of = realloc(graph->of, (size_t)cap * sizeof(*of));

        if (!of) {
            graph->lost = true;
            return false;
        }
        graph->of = of;
        graph->cap = cap;
    }
    graph->of[graph->count++] = (graph_name){ function->name, function->n_name, function->registers };
    return true;
}

static void end_line(graph_state *graph)
{
    if (graph->open)
        fputc('\n', stderr);
    graph->open = false;
}

static int on_function(void *user, uint64_t number, const cuvet_link_function *function)
{
    graph_state *graph = user;

    end_line(graph);
    if (!remember(graph, function))
        return 1;
    graph->open = true;
    fprintf(stderr, "%" PRIu64 ": ", number);
    if (!(function->flags & CUVET_FUNCTION_KEPT))
        return 0;
    fputs((function->flags & CUVET_FUNCTION_KERNEL) != 0 ? "^" : "", stderr);
    fputs((function->flags & CUVET_FUNCTION_ADDRESS_TAKEN) != 0 ? "&" : "", stderr);
    cli_put(stderr, function->name, function->n_name);
    if ((function->flags & CUVET_FUNCTION_DEFINED) != 0)
        fprintf(stderr, " [%" PRIu32 "]", function->registers);
    fputs(" ->", stderr);
    return 0;
}

static int on_call(void *user, uint64_t from, uint64_t to)
{
    (void)user;
    (void)from;
    fprintf(stderr, " %" PRIu64, to);
    return ferror(stderr) != 0;
}

static const graph_name *name_of(const graph_state *graph, uint64_t number)
{
    static const graph_name none = { "?", 1, 0 };

    return number > 0 && number <= graph->count ? &graph->of[number - 1] : &none;
}

static int on_raised(void *user, uint64_t function, uint64_t kernel)
{
    graph_state *graph = user;
    const graph_name *name = name_of(graph, function), *key = name_of(graph, kernel);

    end_line(graph);
    fprintf(stderr, "regcount %" PRIu32 " for ", name->registers);
    cli_put(stderr, name->text, name->len);
    fputs(" propagated to entry ", stderr);
    cli_put(stderr, key->text, key->len);
    fputc('\n', stderr);
    return ferror(stderr) != 0;
}

void link_callgraph(link_run *run)
{
    graph_state graph = { 0 };
    const cuvet_callgraph_sink sink = {
        .size = sizeof(sink), .user = &graph, .function = on_function, .call = on_call, .raised = on_raised
    };
    cuvet_status status;

    if (run->args->set[LINK_O_RELOCATABLE])
        return;
    fprintf(stderr,
            "callgraph for %s:\n# A: s -> B // s (number A) potentially calls B\n"
            "# s [N]     // s uses N registers\n# ^s        // s is entry point\n"
            "# &s        // s has address taken\n",
            run->args->value[LINK_O_ARCH]);
    status = cuvet_linker_callgraph(run->ctx, run->linker, &sink);
    end_line(&graph);
    free(graph.of);
    if (graph.lost)
        link_error(run, NULL, CLI_X_LIMIT, "no memory for the call graph");
    else if (status == CUVET_E_CANCELLED)
        link_error(run, NULL, CLI_X_IO, "standard error failed");
    else if (status != CUVET_OK && status != CUVET_E_STATE)
        link_error(run, NULL, link_exit_of(status), "the call graph cannot be told in full");
}
