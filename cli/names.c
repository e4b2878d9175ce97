/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "session.h"

#include <string.h>

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

const char *cli_fate_name(cli_fate fate)
{
    static const char *const NAME[CLI_N_FATE] = {
        [CLI_FATE_DELETED] = "deleted", [CLI_FATE_REPLACED] = "replaced", [CLI_FATE_UNUSED] = "unused"
    };

    return fate < CLI_N_FATE ? NAME[fate] : NULL;
}

/* It is shipped, and nobody who runs the image has it. */
void cli_fate_text(const cli_input *in, char out[CLI_FATE_CAP])
{
    if (in->fate == CLI_FATE_CONTENT)
        *out = '\0';
    else if (in->fate == CLI_FATE_UNUSED || !in->layer)
        snprintf(out, CLI_FATE_CAP, "in no image");
    else
        snprintf(out, CLI_FATE_CAP, "in no image: %s by layer %" PRIu32, cli_fate_name(in->fate), in->layer);
}

void cli_point_to_scan(const cli_session *session, const cuvet_summary *sum)
{
    uint64_t count = sum->errors + sum->warnings;

    if (count > 0)
        cli_complain(session->in->name, "%" PRIu64 " finding%s; 'cuvet scan' shows %s", count,
                     count == 1 ? "" : "s", count == 1 ? "it" : "them");
}

/* Names of what is internal to a source file, as nvcc writes them: a mark, the hash of its path, its name
 * with the length before it, and another hash; where nobody else can call anything of the file, the number of
 * the compiler's process as well. "_GLOBAL__N__71b411a3_4_a_cu_e56deae2_1813845plain": a length before the
 * mark ("43_GLOBAL") says where the number ends; behind "__nv_static_" digits and two underlines follow. */
static const char *const MARKS[] = { "_GLOBAL__N__", "_INTERNAL_", "__nv_static_" };
enum { HASH_DIGITS = 8, LENGTH_DIGITS = 4, PROCESS_DIGITS = 10 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hash(const char *at, const char *end)
{
    size_t count = 0;

    while (at + count < end && count < HASH_DIGITS && strchr("0123456789abcdef", at[count]) && at[count])
        count++;
    return count == HASH_DIGITS;
}

static const char *behind_mark(const char *at, const char *end, const char *mark)
{
    size_t len = strlen(mark);

    if ((size_t)(end - at) < len || memcmp(at, mark, len) != 0)
        return NULL;
    at += len;
    if (strcmp(mark, "__nv_static_") != 0)
        return at;
    while (at < end && is_digit(*at))
        at++;
    return end - at >= 2 && at[0] == '_' && at[1] == '_' ? at + 2 : NULL;
}

/* The second hash, behind "_4_a_cu_". NULL: none. */
static const char *second_hash(const char *at, const char *end)
{
    size_t size = 0;

    if (at == end || *at++ != '_')
        return NULL;
    for (size_t i = 0; i < LENGTH_DIGITS && at < end && is_digit(*at); i++)
        size = 10 * size + (size_t)(*at++ - '0');
    if (at == end || *at++ != '_' || size == 0 || (size_t)(end - at) <= size || at[size] != '_')
        return NULL;
    at += size + 1;
    return is_hash(at, end) ? at : NULL;
}

/* How many digits the number of a process has behind a second hash. The length of the whole is what the
 * digits before the mark say; those before them may belong to another name. */
static size_t process_digits(const char *first, const char *mark, const char *at, const char *end)
{
    size_t size = 0, unit = 1;

    for (size_t i = 1; i <= LENGTH_DIGITS && (size_t)(mark - first) >= i && is_digit(mark[-(ptrdiff_t)i]);
         i++) {
        size_t count = 1;

        size += unit * (size_t)(mark[-(ptrdiff_t)i] - '0');
        unit *= 10;
        if (size <= (size_t)(at - mark) + 1 || size > (size_t)(end - mark) || *at != '_')
            continue;
        while (at + count < mark + size && count <= PROCESS_DIGITS && is_digit(at[count]))
            count++;
        if (at + count == mark + size)
            return count - 1;
    }
    return 0;
}

/* What does not count in a name. */
typedef struct hash_place {
    size_t path, file; /* where the hashes are; file 0: there is no second one */
    size_t process;    /* digits behind an underline behind the second one */
} hash_place;

typedef void hash_fn(void *user, const hash_place *place);

static bool each_hash(cuvet_bytes text, hash_fn *each, void *user)
{
    const char *first = (const char *)text.p, *end = first + text.n;
    bool any = false;

    if (text.n < HASH_DIGITS)
        return false;
    for (const char *at = memchr(first, '_', text.n); at; at = memchr(at + 1, '_', (size_t)(end - at - 1)))
        for (size_t i = 0; i < sizeof(MARKS) / sizeof(MARKS[0]); i++) {
            const char *hash = behind_mark(at, end, MARKS[i]), *more;
            hash_place place = { 0 };

            if (!hash || !is_hash(hash, end) || hash + HASH_DIGITS == end || hash[HASH_DIGITS] != '_')
                continue;
            place.path = (size_t)(hash - first);
            more = second_hash(hash + HASH_DIGITS, end);
            if (more) {
                place.file = (size_t)(more - first);
                place.process = process_digits(first, at, more + HASH_DIGITS, end);
            }
            any = true;
            each(user, &place);
        }
    return any;
}

typedef struct hash_seen {
    cli_path_hash *hash;
    cuvet_bytes text;
} hash_seen;

static void note_hash(void *user, const hash_place *place)
{
    hash_seen *seen = user;
    cli_path_hash *hash = seen->hash;
    const uint8_t *text = seen->text.p;
    bool both = place->file > 0 && hash->digits[HASH_DIGITS] != '\0';

    if (hash->any && (memcmp(hash->digits, text + place->path, HASH_DIGITS) != 0 ||
                      (both && memcmp(hash->digits + HASH_DIGITS, text + place->file, HASH_DIGITS) != 0)))
        hash->several = true;
    hash->any = true;
    memcpy(hash->digits, text + place->path, HASH_DIGITS);
    if (place->file > 0)
        memcpy(hash->digits + HASH_DIGITS, text + place->file, HASH_DIGITS);
}

void cli_note_hashes(cli_path_hash *hash, cuvet_bytes text)
{
    hash_seen seen = { hash, text };

    (void)each_hash(text, note_hash, &seen);
}

static void blank_hash(void *user, const hash_place *place)
{
    char *name = user;

    memset(name + place->path, '0', HASH_DIGITS);
    if (place->file)
        memset(name + place->file, '0', HASH_DIGITS);
    if (place->process)
        memset(name + place->file + HASH_DIGITS + 1, '0', place->process);
}

bool cli_plain_name(cuvet_bytes name, char out[CLI_PLAIN_CAP])
{
    if (name.n < HASH_DIGITS || name.n > CLI_PLAIN_CAP)
        return false;
    memcpy(out, name.p, name.n);
    return each_hash(name, blank_hash, out);
}
