/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What goes through the stream between the two sides of a broker. Both are the same program: no byte order.
 */
#ifndef CLI_BROKER_INT_H
#define CLI_BROKER_INT_H

#include "broker.h"

#define BROKER_REQUEST 'r'
#define BROKER_CANCEL                                                                                        \
    'c' /* a byte alone: nobody waits for the request that runs. Too late, it means nothing */
#define BROKER_REPLY 0x79727663u

/* Then the options, each with its NUL, then the bytes. */
typedef struct broker_request {
    uint8_t mark;
    uint8_t ltoir;
    char suffix;
    uint8_t cubin, debug, unused[3];
    uint32_t sm, threads, n_options;
    uint64_t option_bytes, n;
} broker_request;

/* Then the result, then the log. */
typedef struct broker_reply {
    uint32_t mark, status, end, unused;
    int64_t detail;
    uint64_t n, n_log;
} broker_reply;

bool broker_read(int fd, void *buf, uint64_t len);
bool broker_write(int fd, const void *buf, uint64_t len);
/** Give up what the broker does not need. Does not return when its parent has gone already. */
void broker_settle(int fd, int parent, const cli_broker_rules *rules);

#endif
