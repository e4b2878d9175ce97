/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "session.h"

#include <inttypes.h>

static const char *arch_prefix(cuvet_kind kind)
{
    switch (kind) {
    case CUVET_K_PTX: return "compute_";
    case CUVET_K_LTOIR: return "lto_";
    case CUVET_K_CUBIN:
    case CUVET_K_MERCURY:
    case CUVET_K_FATBIN:
    case CUVET_K_BITCODE:
    case CUVET_K_NVVM:
    case CUVET_K_WRAPPER:
    case CUVET_K_ARCHIVE:
    case CUVET_K_HOST_ELF:
    case CUVET_K_NONE: break;
    }
    return "sm_";
}

void cli_arch_text(const cuvet_item *item, char *out, size_t cap)
{
    char suffix[2] = { item->suffix == 'a' || item->suffix == 'f' ? item->suffix : '\0', '\0' };

    out[0] = '\0';
    if (item->arch)
        snprintf(out, cap, "%s%u%s", arch_prefix(item->kind), (unsigned)item->arch, suffix);
}

void cli_release_text(uint32_t version, char *out, size_t cap)
{
    out[0] = '\0';
    if (version)
        snprintf(out, cap, "%" PRIu32 ".%" PRIu32, version / 10, version % 10);
}

void cli_producer_text(const cuvet_producer *producer, char *out, size_t cap)
{
    char release[CLI_RELEASE_CAP];

    *out = '\0';
    if (!producer->tool || (!*producer->tool && producer->version == 0))
        return;
    cli_release_text(producer->version, release, sizeof(release));
    snprintf(out, cap, "%s%s%s", *producer->tool ? producer->tool : "unknown tool", *release ? " " : "",
             release);
}

void cli_path(const cuvet_path *path, char *out, size_t cap)
{
    if (cuvet_path_text(path, out, cap) == 0)
        out[0] = '\0';
}

void cli_message(const cuvet_diag *diag, char *out, size_t cap)
{
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);
    int len = snprintf(out, cap, "%s: ", rule ? rule->title : "?");

    if (len > 0 && (size_t)len < cap)
        (void)cuvet_diag_message(diag, out + len, cap - (size_t)len); /* a cut message is still a message */
}

void cli_point_to_scan(const cli_session *session, const cuvet_summary *sum)
{
    uint64_t count = sum->errors + sum->warnings;

    if (count > 0)
        cli_complain(session->in->name, "%" PRIu64 " finding%s; 'cuvet scan' shows %s", count,
                     count == 1 ? "" : "s", count == 1 ? "it" : "them");
}
