/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the functions of a device ELF use: registers, stack, shared, local and constant memory, as the file
 * says it. */
#ifndef CLI_RESOURCES_H
#define CLI_RESOURCES_H

#include "cli.h"
#include "record.h"

typedef struct cli_constant {
    uint64_t section; /* of the code; 0: of the whole file */
    uint32_t bank;
    uint64_t size;
} cli_constant;

/* Stack of a function that calls itself, perhaps through others: the file says that nobody knows. */
#define CLI_STACK_UNKNOWN UINT32_MAX
#define CLI_STACK_CAP     12

typedef struct cli_function {
    cuvet_bytes name; /* empty: the section has no code */
    bool kernel;
    uint32_t registers, stack, barriers;
    uint64_t shared, local;
    size_t constant, n_constants; /* of cli_resources.constant */
} cli_function;

/* A kernel is a symbol; its code may have another name. */
typedef struct cli_kernel {
    cuvet_bytes name;
    size_t function; /* 0: there is none */
} cli_kernel;

typedef struct cli_resources {
    cli_function *function; /* by section; those without a name are none */
    size_t count;
    cli_kernel *kernel; /* in the order of the symbols */
    size_t n_kernels, cap_kernels;
    cli_constant *constant; /* by section, then by bank */
    size_t n_constants, cap_constants, n_common;
    uint64_t global;
    bool cut; /* the budget ended it: not everything was looked at */
} cli_resources;

/** @param work bytes that may be looked at, and then those that are left: tables of a hostile file may all
 * lie over the same bytes.
 *  @return CUVET_OK · CUVET_E_NOMEM. Free it in both cases. */
cuvet_status cli_resources_read(cli_resources *resources, cuvet_ctx *ctx, cuvet_elf elf, uint64_t *work);
void cli_resources_free(cli_resources *resources);

/** @return 'text': the number, or the word for one that nobody knows. */
const char *cli_stack_text(uint32_t stack, const char *unknown, char text[CLI_STACK_CAP]);
/** The number, or null. */
void cli_stack_json(cli_record *record, const char *key, uint32_t stack);

#endif
