/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* linking.md section 5, "Shared memory": the numbers are those of its steps. */
#include "model/model.h"

static uint64_t round_up(uint64_t value, uint64_t align)
{
    return align ? (value + align - 1) / align * align : value;
}

static uint64_t larger(uint64_t left, uint64_t right)
{
    return left > right ? left : right;
}

/* Step 1: kernels that reach a function whose code refers to the variable. */
static md_set kernels_of(const md_program *program, const md_reach *reach, unsigned var)
{
    md_set set = 0;

    for (unsigned k = 0; k < program->n_fns; k++)
        for (unsigned i = 0; i < program->n_fns && (reach->kernels & MD_BIT(k)); i++)
            if ((reach->below[k] & MD_BIT(i)) && (program->fn[i].uses & MD_BIT(var)))
                set |= MD_BIT(k);
    return set;
}

static bool larger_first(const void *user, unsigned left, unsigned right)
{
    const md_program *program = user;

    return program->var[left].size > program->var[right].size;
}

static bool aligned_first(const void *user, unsigned left, unsigned right)
{
    const md_var *one = &((const md_program *)user)->var[left],
                 *two = &((const md_program *)user)->var[right];

    return one->align > two->align || (one->align == two->align && one->size < two->size);
}

/* The first input that names an array. */
static unsigned first_unit(const md_program *program, unsigned var)
{
    unsigned unit = MD_UNITS;

    for (unsigned i = 0; i < program->n_fns; i++)
        if ((program->fn[i].uses & MD_BIT(var)) && program->fn[i].unit < unit)
            unit = program->fn[i].unit;
    return unit;
}

/* Step 2: input by input, in the order of its symbols, of which those that others see are last. Arrays get no
 * place here, but are sorted with the others, which decides between equals (the sheet does not say so;
 * nvlink 13.0.88 does). */
static unsigned list_variables(const md_program *program, unsigned *list)
{
    unsigned count = 0;

    for (unsigned unit = 0; unit < program->n_units; unit++)
        for (unsigned global = 0; global < 2; global++)
            for (unsigned i = 0; i < program->n_vars; i++) {
                const md_var *var = &program->var[i];

                if ((var->array ? first_unit(program, i) : var->unit) == unit &&
                    var->global == (global != 0) && !var->of_kernel)
                    list[count++] = i;
            }
    return count;
}

typedef struct placing {
    const md_program *program;
    md_shared *shared;
    md_set kernels[MD_VARS]; /* by variable */
    unsigned of_class[MD_VARS], n_classes, n_own[MD_FNS];
    unsigned own[MD_FNS][MD_VARS];
} placing;

/* Step 3. */
static void colour(placing *p, unsigned var, const unsigned *before, unsigned count)
{
    unsigned class = 0;

    for (bool free = false; !free; class += !free) {
        free = true;
        for (unsigned i = 0; i < count; i++)
            if (p->of_class[before[i]] == class && (p->kernels[before[i]] & p->kernels[var]))
                free = false;
    }
    p->of_class[var] = class;
    if (class >= p->n_classes)
        p->n_classes = class + 1;
}

/* Step 4. */
static void place_classes(placing *p, const unsigned *list, unsigned count)
{
    uint64_t end = 0;

    for (unsigned class = 0; class < p->n_classes; class ++) {
        uint64_t align = 1, start;

        for (unsigned i = 0; i < count; i++)
            if (p->of_class[list[i]] == class)
                align = larger(align, p->program->var[list[i]].align);
        start = end = round_up(end, align);
        for (unsigned i = 0; i < count; i++) {
            const md_var *var = &p->program->var[list[i]];
            md_place *place = &p->shared->var[list[i]];

            if (p->of_class[list[i]] != class)
                continue;
            *place = (md_place){ .placed = true, .kernel = MD_NONE, .off = round_up(start, var->align) };
            end = larger(end, place->off + var->size);
        }
    }
}

/* Step 5. */
static void place_own(placing *p, unsigned kernel)
{
    md_section *sec = &p->shared->of[kernel];

    for (unsigned i = 0; i < p->program->n_vars; i++) {
        const md_place *place = &p->shared->var[i];

        if (place->placed && place->kernel == MD_NONE && (p->kernels[i] & MD_BIT(kernel))) {
            sec->end = larger(sec->end, place->off + p->program->var[i].size);
            sec->align = larger(sec->align, p->program->var[i].align);
        }
    }
    md_list_sort(p->own[kernel], p->n_own[kernel], aligned_first, p->program, false);
    for (unsigned i = 0; i < p->n_own[kernel]; i++) {
        unsigned at = p->own[kernel][i];
        const md_var *var = &p->program->var[at];

        p->shared->var[at] =
            (md_place){ .placed = true, .kernel = (uint8_t)kernel, .off = round_up(sec->end, var->align) };
        sec->end = p->shared->var[at].off + var->size;
        sec->align = larger(sec->align, var->align);
    }
}

/* Step 6: kernels and functions whose arrays lie at one place, until nothing joins any more. */
static void place_arrays(placing *p, const md_reach *reach)
{
    const md_program *program = p->program;
    uint64_t align[MD_FNS] = { 0 };
    md_set done = 0;

    for (unsigned i = 0; i < program->n_fns; i++)
        for (unsigned k = 0; k < program->n_vars; k++)
            if (program->var[k].array && (program->fn[i].uses & MD_BIT(k)))
                align[i] = larger(larger(align[i], 16), program->var[k].align);
    for (unsigned first = 0; first < program->n_fns; first++) {
        md_set fns = MD_BIT(first), kernels = 0;
        uint64_t most = 0, off = 0;

        if (!align[first] || (done & MD_BIT(first)))
            continue;
        for (unsigned round = 0; round < program->n_fns; round++)
            for (unsigned k = 0; k < program->n_fns; k++) {
                md_set below = 0;

                if (!(reach->kernels & MD_BIT(k)))
                    continue;
                for (unsigned i = 0; i < program->n_fns; i++)
                    if (align[i] && (reach->below[k] & MD_BIT(i)))
                        below |= MD_BIT(i);
                if (below & fns) {
                    fns |= below;
                    kernels |= MD_BIT(k);
                }
            }
        done |= fns;
        for (unsigned i = 0; i < program->n_fns; i++)
            if (fns & MD_BIT(i))
                most = larger(most, align[i]);
        for (unsigned k = 0; k < program->n_fns; k++)
            if ((kernels & MD_BIT(k)) && p->shared->of[k].end)
                off = larger(off, round_up(p->shared->of[k].end, most));
        for (unsigned k = 0; k < program->n_fns; k++) {
            if (kernels & MD_BIT(k)) {
                p->shared->of[k].end = off;
                p->shared->of[k].align = larger(p->shared->of[k].align, most);
            }
            if (fns & MD_BIT(k) && kernels) {
                p->shared->has_arrays |= MD_BIT(k);
                p->shared->arrays[k] = off;
            }
        }
    }
}

/* Steps 7 to 9. */
static void finish(placing *p, const unsigned *list, unsigned count, const md_reach *reach)
{
    uint64_t most = 0;
    bool array = false;

    for (unsigned i = 0; i < count && p->n_classes; i++)
        if (!p->program->var[list[i]].array)
            most = larger(most, p->program->var[list[i]].align);
    for (unsigned i = 0; i < p->program->n_vars; i++)
        array = array || p->program->var[i].array;
    for (unsigned k = 0; k < p->program->n_fns; k++) {
        md_section *sec = &p->shared->of[k];

        if (!(reach->kernels & MD_BIT(k)))
            continue;
        sec->align = larger(sec->align, most);
        /* An empty one: as wide as an array asks for, and no wider, or the system has its part (the sheet
         * says 16 or more; nvlink 13.0.88 makes none for 32 on sm_86). */
        sec->there =
            sec->end > 0 || (array && (sec->align == 16 || (sec->align > 16 && p->program->reserves)));
        if (sec->end > 0xC000)
            p->shared->too_much = true;
        if (sec->there && p->program->reserves)
            sec->end += 0x400;
    }
}

void md_find_shared(const md_program *program, const md_reach *reach, md_shared *shared)
{
    placing p = { .program = program, .shared = shared };
    unsigned list[MD_VARS], coloured[MD_VARS], count = list_variables(program, list), n = 0;

    *shared = (md_shared){ 0 };
    for (unsigned i = 0; i < program->n_vars; i++) {
        const md_var *var = &program->var[i];

        p.kernels[i] = kernels_of(program, reach, i);
        if (var->of_kernel && (reach->kernels & MD_BIT(var->owner)))
            p.own[var->owner][p.n_own[var->owner]++] = i;
    }
    md_list_sort(list, count, larger_first, program, true);
    for (unsigned i = 0; i < count; i++) {
        md_set kernels = program->var[list[i]].array ? 0 : p.kernels[list[i]];
        bool one = kernels && (kernels & (kernels - 1)) == 0;

        for (unsigned k = 0; k < program->n_fns && one; k++)
            if (kernels == MD_BIT(k))
                p.own[k][p.n_own[k]++] = list[i];
        if (!one && !program->var[list[i]].array) {
            colour(&p, list[i], coloured, n);
            coloured[n++] = list[i];
        }
    }
    place_classes(&p, coloured, n);
    for (unsigned k = 0; k < program->n_fns; k++)
        if (reach->kernels & MD_BIT(k))
            place_own(&p, k);
    place_arrays(&p, reach);
    finish(&p, list, count, reach);
}
