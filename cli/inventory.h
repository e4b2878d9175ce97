/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bills of materials: packages, files with device code, their pieces, and the kernels in these. A form writes
 * while the run goes on, and keeps a number for each piece at most. */
#ifndef CLI_INVENTORY_H
#define CLI_INVENTORY_H

#include "fingerprint.h"
#include "printing.h"

#define INVENTORY_TIME_CAP 32

typedef struct cli_inventory {
    cli_record record;
    const struct cli_inventory_form *form;
    char time[INVENTORY_TIME_CAP]; /* when the document is made, as ISO 8601 */
    bool time_given;               /* by SOURCE_DATE_EPOCH */
    uint64_t n_files, n_packages;  /* begun; numbers are from 1 */
    bool in_package, in_file;      /* begun, and not ended */
    uint64_t piece;                /* number in its file */
    uint64_t kernel;               /* number in its piece, of the last one */
    cli_looking looking;
    cli_printing printing;
    /* of SPDX */
    uint32_t *kernels; /* by piece, with marks where files and packages begin and end */
    size_t n_kernels, cap_kernels;
    struct sha256_ctx sha; /* of the hashes of all pieces */
    int rc;
} cli_inventory;

/* What is known of a file when it ends. */
typedef struct cli_inventory_file {
    const char *name;
    cuvet_verdict verdict;
    bool hashed;
    cli_digest digest; /* of its bytes */
    uint64_t length;
    const char *fate; /* of a file of an image archive that is in no image; NULL */
} cli_inventory_file;

/* What is known of a package when it ends. */
typedef struct cli_inventory_package {
    const char *name;
    uint64_t entries;
    const cli_digest *digest; /* of its bytes; NULL: it is not known */
} cli_inventory_package;

/* What is known of a piece. */
typedef struct cli_inventory_piece {
    const cuvet_item *item;
    const cli_inside *inside;
    const cli_digest *print; /* of what it does; NULL: it is not known */
} cli_inventory_piece;

/* A kernel of a device ELF, or an entry of PTX. */
typedef struct cli_inventory_kernel {
    cuvet_bytes name;
    uint64_t number;              /* in its piece, from 1 */
    const cli_digest *print;      /* NULL: it is not known */
    const cli_function *function; /* NULL: of PTX */
} cli_inventory_kernel;

typedef struct cli_inventory_form {
    const char *name; /* of --format */
    void (*begin)(cli_inventory *inventory);
    void (*begin_package)(cli_inventory *inventory);
    void (*begin_file)(cli_inventory *inventory);
    void (*begin_piece)(cli_inventory *inventory, const cli_inventory_piece *piece);
    void (*kernel)(cli_inventory *inventory, const cli_inventory_kernel *kernel);
    void (*end_piece)(cli_inventory *inventory, uint64_t kernels);
    void (*end_file)(cli_inventory *inventory, const cli_inventory_file *file);
    void (*end_package)(cli_inventory *inventory, const cli_inventory_package *package);
    void (*end)(cli_inventory *inventory);
} cli_inventory_form;

extern const cli_inventory_form cli_cyclonedx, cli_spdx;

#endif
