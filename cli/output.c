/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Complaints, and the truth about standard output. */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static const char *speaker = "cuvet: ";

void cli_speak_as(const char *prefix)
{
    speaker = prefix;
}

void cli_complain(const char *what, const char *format, ...)
{
    va_list ap;

    fputs(speaker, stderr);
    if (what) {
        cli_put_str(stderr, what);
        fputs(": ", stderr);
    }
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
}

int cli_exit_of(cuvet_status status)
{
    switch (status) {
    case CUVET_OK:
    case CUVET_END: return CLI_X_CLEAN;
    case CUVET_E_MALFORMED:
    case CUVET_E_UNSUPPORTED:
    case CUVET_E_NO_MATCH:
    case CUVET_E_REFUSED:
    case CUVET_E_UNKNOWN:
    case CUVET_E_TRUNCATED:
    case CUVET_E_COMPILER: return CLI_X_FINDINGS;
    case CUVET_E_ARCH: return CLI_X_USAGE;
    case CUVET_E_LIMIT: return CLI_X_LIMIT;
    case CUVET_E_IO:
    case CUVET_E_EXISTS: return CLI_X_IO;
    case CUVET_E_NOMEM:
    case CUVET_E_CANCELLED:
    case CUVET_E_NULL:
    case CUVET_E_STATE:
    case CUVET_E_USAGE:
    case CUVET_E_HANDLE:
    case CUVET_E_STALE_HANDLE:
    case CUVET_E_HANDLE_KIND:
    case CUVET_E_BUSY:
    case CUVET_E_POISONED:
    case CUVET_E_INTERNAL: break;
    }
    return CLI_X_INTERNAL;
}

/* What only a wrong call can give is our defect here. */
const char *cli_status_text(cuvet_status status)
{
    const bool misuse = (status >= CUVET_E_USAGE && status <= CUVET_E_POISONED) || status == CUVET_E_NULL ||
                        status == CUVET_E_STATE;
    const char *text = cuvet_status_text(misuse ? CUVET_E_INTERNAL : status);

    return strcmp(text, "?") != 0 ? text : cuvet_status_text(CUVET_E_INTERNAL);
}

/* Asked after a write has failed; why it did is not known any more. Only where one more byte cannot harm: in
 * what has no position, a pipe or a socket. */
bool cli_reader_gone(void)
{
    if (!ferror(stdout) || lseek(STDOUT_FILENO, 0, SEEK_CUR) >= 0 || errno != ESPIPE)
        return false;
    return write(STDOUT_FILENO, "\n", 1) < 0 && errno == EPIPE;
}

int cli_finish_stdout(int rc)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return rc;
    if (cli_reader_gone()) {
        clearerr(stdout);
        return CLI_X_PIPE;
    }
    cli_complain(NULL, "standard output could not be written in full");
    clearerr(stdout); /* said once */
    return cli_worse(rc, CLI_X_IO);
}
