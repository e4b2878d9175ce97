/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "inside.h"

/* The limit 'work' is about bytes looked at per byte of input. */
static uint64_t work_for(const cli_session *session, uint64_t size)
{
    const uint64_t work = session->args->limits.work, least = UINT64_C(1) << 20;

    return work > 0 && size > (UINT64_MAX - least) / work ? UINT64_MAX : least + size * work;
}

static void ended_by(cli_looking *looking, const cli_session *session, cuvet_status status)
{
    cli_complain(session->in->name, "what the functions of a piece use is not known in full: %s",
                 cli_status_text(status));
    looking->rc = cli_worse(looking->rc, cli_exit_of(status));
}

void cli_looking_begin(cli_looking *looking, const cli_session *session)
{
    looking->left = session->in->why ? 0 : work_for(session, session->in->source.length);
}

bool cli_looking_spend(cli_looking *looking, const cli_session *session, uint64_t count)
{
    if (count > looking->left) {
        ended_by(looking, session, CUVET_E_LIMIT);
        return false;
    }
    looking->left -= count;
    return true;
}

/* The rules of a piece were judged by the scan already, so that a context of its own, without a listener,
 * keeps its findings from being told twice. */
static void read_elf(cli_inside *inside, cli_looking *looking, const cli_session *session)
{
    const cuvet_ctx_options co = { .size = sizeof(co), .limits = &session->args->limits };
    uint64_t work = work_for(session, inside->bytes.n), before;
    cuvet_status status = cuvet_ctx_create(&co, &inside->ctx);

    if (status == CUVET_OK &&
        cuvet_elf_create(inside->ctx, inside->bytes.p, inside->bytes.n, &inside->elf) != CUVET_OK)
        return; /* the findings of the scan say why */
    work = before = work < looking->left ? work : looking->left;
    if (status == CUVET_OK)
        status = cli_resources_read(&inside->use, inside->ctx, inside->elf, &work);
    looking->left -= before - work;
    inside->has = status == CUVET_OK;
    if (inside->use.cut)
        status = CUVET_E_LIMIT;
    if (status != CUVET_OK)
        ended_by(looking, session, status);
}

void cli_inside_look(cli_inside *inside, cli_looking *looking, const cli_session *session,
                     const cuvet_item *item)
{
    const void *bytes;
    size_t count;

    *inside = (cli_inside){ .ctx = NULL };
    if (cuvet_scan_payload(session->ctx, session->scan, &bytes, &count) != CUVET_OK)
        return;
    if (item->compression != CUVET_Z_NONE)
        looking->left = looking->left > UINT64_MAX - work_for(session, count)
                            ? UINT64_MAX
                            : looking->left + work_for(session, count);
    if (!cli_looking_spend(looking, session, count))
        return;
    inside->unpacked = true;
    inside->bytes = (cuvet_bytes){ bytes, count };
    if (!looking->plain)
        cli_digest_of(&inside->digest, bytes, count);
    if (item->kind == CUVET_K_CUBIN && !looking->shallow)
        read_elf(inside, looking, session);
}

void cli_inside_leave(cli_inside *inside)
{
    cli_resources_free(&inside->use);
    cuvet_ctx_destroy(inside->ctx);
}

bool cli_inside_stored(cli_digest *digest, cli_looking *looking, const cli_session *session,
                       const cuvet_item *item)
{
    unsigned containers = 0;

    for (uint32_t i = 0; i < item->where.n && i < CUVET_PATH_MAX; i++)
        containers += item->where.step[i].kind == CUVET_P_FATBIN;
    return containers <= 1 && item->errors == 0 && cli_looking_spend(looking, session, item->stored_size) &&
           cli_digest_source(digest, &session->in->source, item->payload_off, item->stored_size);
}
