/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cubin/admit.h"
#include "linking.h"

/* --- the grammar: a choice is a byte or two, whatever they are --- */

static void draw_function(md_program *program, unsigned at, fz_ops *ops)
{
    static const uint8_t KIND[8] = { 0, 1, 1, 1, 0, 1, 1, 2 }; /* kernel, function, of the driver */
    uint8_t choice = fz_u8(ops), more = fz_u8(ops);
    md_fn *fn = &program->fn[at];

    fn->kernel = at == 0 || KIND[choice & 7] == 0;
    fn->provided = !fn->kernel && KIND[choice & 7] == 2;
    fn->unit = (uint8_t)((choice >> 3 & 3) % program->n_units);
    fn->type = (uint8_t)((choice >> 5) % MD_PROTOS);
    fn->registers = 2 + (more & 63) * 4 % 250u;
    fn->frame = (more >> 6) * 8u;
    fn->limit = 0xFF;
    fn->bank = (program->sm >= 90 ? 0x210 : 0x160) + (fn->kernel ? (more & 7) * 4 : 0);
}

static void take_address(md_program *program, unsigned from, unsigned to)
{
    md_fn *taker = &program->fn[from], *target = &program->fn[to];

    taker->takes |= MD_BIT(to);
    target->said |= (uint8_t)MD_BIT(taker->unit);
}

static void draw_edge(md_program *program, fz_ops *ops)
{
    uint8_t first = fz_u8(ops), second = fz_u8(ops);
    unsigned from = first % program->n_fns, to = second % program->n_fns, how = first >> 4;
    md_fn *caller = &program->fn[from], *callee = &program->fn[to];

    if (!md_is_defined(caller))
        return;
    if (how < 10 && !callee->kernel) {
        caller->calls |= MD_BIT(to);
    } else if (how < 12 && !callee->provided) {
        take_address(program, from, to);
    } else if (how < 14) {
        caller->by_type |= (uint8_t)MD_BIT(second % MD_PROTOS);
    } else if (!callee->provided && !callee->kernel) {
        callee->in_data = true;
        callee->said |= (uint8_t)MD_BIT(callee->unit);
    }
}

static uint32_t few(uint8_t value)
{
    return 1 + value % 16u;
}
static uint32_t many(uint8_t value)
{
    return value > 250 ? 0xFFFF : value * 257u; /* sums of which end at, below and above 0xFFFF */
}
static uint32_t words(uint8_t value)
{
    return value * 4u;
}
static uint32_t bits(uint8_t value)
{
    return value;
}

static uint32_t (*const NUMBER[MD_CTAIDZ])(uint8_t) = {
    [MD_BARRIERS] = few, [MD_MBARRIERS] = many, [MD_SYNC_STACK] = words, [MD_SPARSE] = bits
};

static void draw_trait(md_program *program, fz_ops *ops)
{
    uint8_t first = fz_u8(ops), value = fz_u8(ops);
    md_fn *fn = &program->fn[first % program->n_fns];
    unsigned trait = (first >> 4) % (MD_TRAITS + 1);

    if (!md_is_defined(fn))
        return;
    if (trait == MD_TRAITS) {
        fn->limit = fn->kernel ? value : 0xFF;
        return;
    }
    fn->own.has |= MD_BIT(trait);
    fn->own.value[trait] = trait >= MD_CTAIDZ ? 1 : value < 48 ? 0 : NUMBER[trait](value);
}

static void draw_variable(md_program *program, unsigned at, fz_ops *ops)
{
    static const uint32_t ALIGN[8] = { 4, 1, 2, 8, 16, 4, 8, 32 };
    uint8_t how = fz_u8(ops), size = fz_u8(ops), who = fz_u8(ops);
    md_var *var = &program->var[at];
    md_fn *owner = &program->fn[who % program->n_fns];

    *var = (md_var){ .align = ALIGN[how & 7], .size = 1 + size * (how & 8 ? 16u : 1u) };
    if (!md_is_defined(owner))
        owner = &program->fn[0];
    var->owner = (uint8_t)(owner - program->fn);
    var->unit = owner->unit;
    var->of_kernel = owner->kernel && (how & 0x30) != 0;
    var->array = (how & 0xC0) == 0xC0;
    var->global = var->array || (!var->of_kernel && (how & 0x40));
    if (var->array) {
        var->of_kernel = false;
        var->size = 0;
    }
    owner->uses |= (uint16_t)MD_BIT(at);
}

static void draw_use(md_program *program, fz_ops *ops)
{
    uint8_t who = fz_u8(ops), what = fz_u8(ops);
    unsigned fn = who % program->n_fns, var = what % (program->n_vars ? program->n_vars : 1);
    const md_var *used = &program->var[var];

    if (program->n_vars == 0 || !md_is_defined(&program->fn[fn]))
        return;
    if (used->global || (!used->of_kernel && used->unit == program->fn[fn].unit) || used->owner == fn)
        program->fn[fn].uses |= (uint16_t)MD_BIT(var);
}

static void draw_image(md_program *program, unsigned at, fz_ops *ops)
{
    uint8_t how = fz_u8(ops), who = fz_u8(ops);

    program->image[at].kind = how % 3 == 2 ? 12 : 10;
    for (unsigned i = 0; i < 2; i++) {
        md_fn *fn = &program->fn[(who >> 4 * i & 15) % program->n_fns];

        if (md_is_defined(fn) && (i == 0 || how & 0x10))
            fn->images |= (uint8_t)MD_BIT(at);
    }
}

/* One thing is made otherwise, or wrong: the models know what comes of it. */
static void edit(md_program *program, fz_ops *ops)
{
    uint8_t how = fz_u8(ops), who = fz_u8(ops);
    md_fn *fn = &program->fn[who % program->n_fns];

    switch (how % 8) {
    case 0: /* nobody defines it */
        if (!fn->kernel && !fn->provided && fn->takes == 0 && fn->uses == 0 && fn->images == 0) {
            fn->missing = true;
            fn->calls = 0;
            fn->by_type = 0;
            fn->own = (md_traits){ 0 };
        }
        break;
    case 1: program->asked = (uint8_t)(who % program->n_fns); break;
    case 2: program->keep_dead = true; break;
    case 3: fn->calls |= fn->kernel || !md_is_defined(fn) ? 0 : MD_BIT(who % program->n_fns); break;
    case 4: fn->frame = UINT32_C(8) << (who >> 4); break;
    case 5: fn->calls = 0; break;
    case 6: fn->by_type = md_is_defined(fn) ? 7 : 0; break;
    default: fn->registers = 2 + who % 254u;
    }
}

void fz_program_draw(md_program *program, const uint8_t *bytes, size_t size, unsigned with)
{
    static const uint32_t SM[4] = { 80, 75, 86, 90 };
    fz_ops ops = { .bytes = bytes, .size = size };
    uint8_t first = fz_u8(&ops), counts = fz_u8(&ops), edits = fz_u8(&ops);
    unsigned edges, uses = 0, traits = 0;

    *program = (md_program){ .sm = SM[first & 3], .asked = MD_NONE };
    program->n_units = 1 + (first >> 2 & 3) % MD_UNITS;
    program->n_fns = 1 + counts % MD_FNS;
    edges = first >> 4;
    if (with & FZ_TRAITS)
        traits = edits >> 2 & 7;
    if (with & FZ_VARIABLES) {
        program->n_vars = (counts >> 4) % (MD_VARS + 1);
        uses = program->n_vars ? edits >> 5 : 0;
    }
    if (with & FZ_SLOTS)
        program->n_images = (counts >> 4) % (MD_IMAGES + 1);
    program->reserves = program->sm >= 90;
    for (unsigned i = 0; i < program->n_fns; i++)
        draw_function(program, i, &ops);
    for (unsigned i = 0; i < edges; i++)
        draw_edge(program, &ops);
    for (unsigned i = 0; i < traits; i++)
        draw_trait(program, &ops);
    for (unsigned i = 0; i < program->n_vars; i++)
        draw_variable(program, i, &ops);
    for (unsigned i = 0; i < uses; i++)
        draw_use(program, &ops);
    for (unsigned i = 0; i < program->n_images; i++)
        draw_image(program, i, &ops);
    for (unsigned i = 0; i < (edits & 3); i++)
        edit(program, &ops);
    for (unsigned i = 0; i < program->n_fns; i++) {
        md_fn *fn = &program->fn[i];

        if (!md_is_defined(fn)) /* nobody says anything of it */
            fn->registers = fn->frame = 0;
        if (fn->limit < fn->registers) /* a compiler promises no fewer than it used */
            fn->limit = fn->registers;
    }
}

size_t fz_program_name(const md_program *program, unsigned fn, char *out)
{
    static const char *const DRIVER[3] = { "malloc", "free", "vprintf" };
    const md_fn *function = &program->fn[fn];
    unsigned before = 0;

    for (unsigned i = 0; i < fn; i++)
        before += program->fn[i].provided;
    if (function->provided && before < 3)
        return (size_t)snprintf(out, 24, "%s", DRIVER[before]);
    if (function->provided)
        return (size_t)snprintf(out, 24, "__cuda_syscall_%u", fn);
    return (size_t)snprintf(out, 24, "%c%u", function->kernel ? 'k' : 'f', fn);
}

/* --- a link of it --- */

/* For who looks at a finding: FZ_LOUD=1 build/asan/replay/<target> FILE tells the program and what is
 * said of it, FZ_KEEP=FOLDER writes its objects there. */
static void tell_program(const md_program *program)
{
    char name[24];

    fprintf(stderr, "sm_%u, %u units, asked %u%s\n", program->sm, program->n_units, program->asked,
            program->keep_dead ? ", keeps dead code" : "");
    for (unsigned i = 0; i < program->n_fns; i++) {
        const md_fn *fn = &program->fn[i];

        (void)fz_program_name(program, i, name);
        fprintf(
            stderr,
            "%u %s%s unit %u calls %x takes %x by type %x type %u data %u said %x regs %u frame %u limit %u "
            "has %x uses %x images %x bank %x\n",
            i, name, fn->missing ? " MISSING" : "", fn->unit, fn->calls, fn->takes, fn->by_type, fn->type,
            fn->in_data, fn->said, fn->registers, fn->frame, fn->limit, fn->own.has, fn->uses, fn->images,
            fn->bank);
    }
    for (unsigned i = 0; i < program->n_vars; i++) {
        const md_var *var = &program->var[i];

        fprintf(stderr, "s%u size %x align %u owner %u unit %u%s%s%s\n", i, var->size, var->align, var->owner,
                var->unit, var->of_kernel ? " of kernel" : "", var->array ? " array" : "",
                var->global ? " global" : "");
    }
}

static void keep(const uint8_t *image, size_t len, const char *name)
{
    char path[256];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s.cubin", getenv("FZ_KEEP"), name);
    file = fopen(path, "wb");
    FZ_CHECK(file && fwrite(image, 1, len, file) == len && fclose(file) == 0, "FZ_KEEP is a folder");
}

static void tell(void *user, const cuvet_diag *diag)
{
    fz_linked *linked = user;

    linked->said = fz_mix(linked->said, fz_diag(diag, 0, UINT64_MAX));
    if (getenv("FZ_LOUD"))
        fprintf(stderr, "rule %s got %llu want %llu at %llu\n", cuvet_rule_get(diag->rule)->id,
                (unsigned long long)diag->got, (unsigned long long)diag->want,
                (unsigned long long)diag->file_off);
}

/* The function of each name. */
static void find_functions(const md_program *program, fz_linked *linked)
{
    for (unsigned i = 0; i < program->n_fns; i++) {
        char name[24];
        size_t len = fz_program_name(program, i, name);

        linked->fn[i] = CV_NONE;
        for (cv_id k = 0; k < linked->link.functions->fn.count; k++) {
            cv_span text = cv_l_text(&linked->link, cv_l_fn(&linked->link, k)->name);

            if (text.len == len && cv_span_starts(text, name))
                linked->fn[i] = k;
        }
    }
}

bool fz_program_said(const fz_linked *linked, cv_rule rule)
{
    return linked->ctx.seen[rule] != 0;
}

static const char *const NAMES[MD_UNITS] = { "a", "b", "c" };
static uint8_t image[MD_UNITS][FZ_IMAGE];
static size_t image_len[MD_UNITS];

static void write_objects(const md_program *program)
{
    for (unsigned unit = 0; unit < program->n_units; unit++) {
        image_len[unit] = fz_program_write(program, unit, image[unit]);
        if (getenv("FZ_KEEP"))
            keep(image[unit], image_len[unit], NAMES[unit]);
    }
}

static cuvet_status run_link(const md_program *program, fz_linked *linked, const char *stage, uint64_t key)
{
    cv_link_options options = { .toolkit = CV_ADMIT_TOOLKIT,
                                .keep_dead = program->keep_dead,
                                .kernels_used = linked->asked,
                                .n_kernels_used = program->asked != MD_NONE,
                                .key = { key, ~key } };
    cuvet_limits lim = { .size = sizeof(lim) };
    uint64_t last = 0;

    *linked = (fz_linked){ 0 };
    linked->asked[0] = linked->name;
    if (program->asked != MD_NONE)
        (void)fz_program_name(program, program->asked, linked->name);
    fz_limits(0, &lim);
    lim.work = 0;
    cv_ctx_init(&linked->ctx, &fz_pool, &lim);
    linked->ctx.emit = tell;
    linked->ctx.emit_user = linked;
    for (size_t i = 0; cuvet_target_get(i, &options.target) == CUVET_OK; i++)
        if (options.target.sm == program->sm)
            break;
    FZ_CHECK(options.target.sm == program->sm, "a target of this machine");
    cv_link_begin(&linked->link, &linked->ctx, &options);
    for (unsigned unit = 0; unit < program->n_units; unit++)
        FZ_CHECK(fz_take(&linked->link, cv_span_of(image[unit], image_len[unit], 0), NAMES[unit]),
                 "a program of the grammar is an object");
    cv_ctx_unit(&linked->ctx, FZ_IMAGE);
    linked->link.file->block = &linked->out;
    linked->link.file->slices = &linked->file;
    while (strcmp(cv_link_stage(last), stage) != 0)
        last++;
    return cv_link_run_to(&linked->link, last);
}

static void end_link(fz_linked *linked)
{
    cv_link_end(&linked->link);
    cv_slices_free(&linked->ctx.mem, &linked->file);
    cv_block_free(&linked->ctx, &linked->out);
    cv_islands_drop();
    FZ_CHECK(linked->ctx.mem.live == 0, "nothing stays allocated");
}

int fz_program_run(const uint8_t *data, size_t size, unsigned with, const char *stage, fz_program_fn *compare)
{
    fz_input in = { .bytes = (uint8_t *)(uintptr_t)data, .len = size };
    unsigned passes = fz_one_in(&in, 4) ? 2 : 1;
    uint64_t made[2];
    fz_linked linked;
    md_program program;

    fz_program_draw(&program, data, size, with);
    if (getenv("FZ_LOUD"))
        tell_program(&program);
    write_objects(&program);
    for (unsigned pass = 0; pass < passes; pass++) {
        cuvet_status status = run_link(&program, &linked, stage, 1 + pass * 0x5EED);

        FZ_CHECK(status == CUVET_OK || status == CUVET_E_REFUSED,
                 "a link of it ends with a file or a reason");
        made[pass] = fz_program_made(&linked, status);
        if (pass == 0) {
            find_functions(&program, &linked);
            compare(&program, &linked, status);
        }
        end_link(&linked);
    }
    FZ_CHECK(passes < 2 || made[0] == made[1], "the second run is the same");
    return 0;
}
