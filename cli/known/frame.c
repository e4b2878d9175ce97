/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "frame.h"

#include "recording.h"

#include <string.h>

static bool is_printable(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == '\x7f')
            return false;
    return true;
}

bool known_name_ok(const char *name, size_t size)
{
    return size > 0 && size <= KNOWN_SOURCE_MOST && is_printable(name, size);
}

static bool code_ok(const char code[KNOWN_CODE_MOST + 1])
{
    size_t len = strnlen(code, KNOWN_CODE_MOST + 1);

    return len > 0 && len <= KNOWN_CODE_MOST && is_printable(code, len);
}

static bool adds(const known_order *order, const char *text)
{
    if (order->verb == KNOWN_SOURCE)
        return known_name_ok(text, order->n_text);
    if (order->verb == KNOWN_ADD_PIECE)
        return order->n_text == 0 && code_ok(order->code);
    if (order->verb == KNOWN_ADD_KERNEL)
        return order->n_text <= KNOWN_KERNEL_MOST && code_ok(order->code);
    return order->verb == KNOWN_END && order->n_text == 0;
}

static bool keeps(const known_order *order)
{
    if (order->verb == KNOWN_PUT)
        return order->number > 0 && order->n_text > 0 && order->n_text <= KNOWN_CHUNK &&
               order->total <= RECORDING_MOST && order->at <= order->total &&
               order->n_text <= order->total - order->at;
    if (order->verb == KNOWN_GET || order->verb == KNOWN_DROP)
        return order->n_text == 0 && order->number > 0;
    return order->verb == KNOWN_END && order->n_text == 0;
}

bool known_order_ok(const known_order *order, size_t count, const char *text, known_purpose purpose)
{
    if (count < sizeof(*order) || order->n_text != count - sizeof(*order))
        return false;
    if (purpose == KNOWN_FOR_LOOKUP)
        return (order->verb == KNOWN_ASK_PIECE || order->verb == KNOWN_ASK_KERNEL ||
                order->verb == KNOWN_END) &&
               order->n_text == 0;
    return purpose == KNOWN_FOR_ADDING ? adds(order, text) : keeps(order);
}

bool known_reply_ok(const known_reply *reply, size_t count, const char *text)
{
    return count >= sizeof(*reply) && reply->mark == KNOWN_REPLY && reply->match <= KNOWN_BYTES &&
           reply->n_text == count - sizeof(*reply) && reply->n_text <= KNOWN_TEXT_MOST &&
           reply->failed <= CLI_X_SANDBOX && (reply->n_text == 0 || reply->match != KNOWN_NOT) &&
           (reply->total == 0 || reply->total <= RECORDING_MOST || reply->n_text == 0) &&
           (reply->n_text == 0 || reply->total > 0 || text[reply->n_text - 1] == '\0');
}
