/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A policy as JSON, and a baseline, which is lines of it: they are refused with a text, or what they ask for
 * can be asked. Everything is released. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "check/policy.h"

enum { PATTERNS = 256 };

static uint64_t n_complaints;

/* What the command says on standard error. */
void cli_complain(const char *file, const char *format, ...)
{
    (void)file;
    FZ_CHECK(*format, "a complaint has a text");
    n_complaints++;
}

/* What it suggests instead. */
void cli_suggest_word(cli_suggestion *suggestion, const char *word, size_t len)
{
    FZ_CHECK(suggestion->given && strlen(word) == len, "a word is suggested for another");
}

void cli_suggest_end(const cli_suggestion *suggestion, const char *before)
{
    (void)suggestion;
    (void)before;
}

static void ask_architectures(check_codes *list)
{
    FZ_CHECK(list->count <= CHECK_MOST_CODES, "a list has an end");
    for (size_t i = 0; i < list->count; i++) {
        char text[CHECK_CODE_CAP];
        check_code again;

        check_code_text(&list->code[i], text);
        FZ_CHECK(check_take_code(text, &again) && check_find_code(list, &again),
                 "an architecture is called as it is written");
    }
}

static void ask(fz_state *fuzz, check_policy *policy)
{
    static bool seen[PATTERNS];
    const cuvet_diag diag = { .size = sizeof(diag), .rule = fuzz->in->param % 64 };

    ask_architectures(&policy->required);
    ask_architectures(&policy->most);
    if (check_n_patterns(policy->kernels_required) <= PATTERNS)
        fz_note(fuzz, check_fits(policy->kernels_required, "_Z5plainPi", seen));
    fz_note(fuzz, check_fits(policy->kernels_forbidden, "_Z5plainPi", NULL));
    fz_note(fuzz, check_fits(policy->producers, "ptxas 13.0", NULL));
    fz_note(fuzz, check_waived(policy, "file", &diag));
    fz_note(fuzz, check_known(policy, "file", &diag));
    check_policy_end(policy);
}

static void run(fz_state *fuzz)
{
    static bool loaded;
    static check_policy policy;
    char *text = malloc(fuzz->in->len + 1);
    json_t *root;
    int rc;

    FZ_CHECK(loaded || cli_load_for("sarif"), "jansson and nettle are there");
    loaded = true;
    FZ_CHECK(text, "there is memory for the input");
    memcpy(text, fuzz->in->bytes, fuzz->in->len);
    text[fuzz->in->len] = '\0';
    policy = (check_policy){ .name = NULL };
    root = json_loadb(text, fuzz->in->len, JSON_REJECT_DUPLICATES, NULL);
    n_complaints = 0;
    rc = root ? check_policy_take("policy", root, &policy) : CLI_X_CLEAN;
    FZ_CHECK(rc == CLI_X_CLEAN || (rc == CLI_X_USAGE && n_complaints > 0),
             "what is refused is refused with a text");
    if (rc == CLI_X_CLEAN) {
        rc = check_baseline_take("baseline", text, &policy);
        FZ_CHECK(rc == CLI_X_CLEAN || (rc == CLI_X_USAGE && n_complaints > 0), "so is a baseline");
        ask(fuzz, &policy);
    }
    fz_note(fuzz, (uint64_t)rc);
    fz_note(fuzz, n_complaints);
    check_policy_drop(&policy);
    free(text);
}

CV_FUZZ_TARGET(policy)
{
    return fz_twice(data, size, FZ_OFF, run);
}
