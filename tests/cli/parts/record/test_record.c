/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The writer of NDJSON against jansson: the same bytes for any texts, numbers and nesting. */
#include "record.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/* What json.c would remember. */
static bool ok = true;

bool cli_json_failed(void)
{
    ok = false;
    return false;
}

static uint64_t state = 1;

static uint64_t next_random(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

/* Valid UTF-8 with every kind of character that is written in a way of its own. */
static const char *any_text(char *out, size_t most)
{
    static const char *const PIECES[] = { "a",  "Zz9",  "\"",       "\\",           "/",
                                          "\b", "\f",   "\n",       "\r",           "\t",
                                          " ",  "\177", "\303\244", "\342\200\256", "\360\237\230\200" };
    size_t count = 0;

    for (size_t k = next_random() % 40; k > 0; k--) {
        char control[2] = { (char)(1 + next_random() % 0x1f), '\0' };
        size_t pick = next_random() % (sizeof(PIECES) / sizeof(PIECES[0]) + 3);
        const char *text = pick < sizeof(PIECES) / sizeof(PIECES[0]) ? PIECES[pick] : control;

        if (count + strlen(text) + 1 < most) {
            memcpy(out + count, text, strlen(text));
            count += strlen(text);
        }
    }
    out[count] = '\0';
    return out;
}

static uint64_t any_number(void)
{
    uint64_t bits = next_random() % 65, value = next_random() << 33 ^ next_random() << 10 ^ next_random();

    return bits == 0 ? 0 : value >> (64 - bits);
}

/* One field to both, or an array or object of them. */
static void put(cli_record *record, json_t *to, const char *key, unsigned depth)
{
    char text[256], hex[24];
    uint64_t other_value = any_number();
    unsigned kind = (unsigned)(next_random() % (depth < 3 ? 7 : 5));
    json_t *value;

    switch (kind) {
    case 0:
        cli_record_string(record, key, any_text(text, sizeof(text)));
        value = json_string(text);
        break;
    case 1:
        cli_record_u64(record, key, other_value);
        (void)snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)other_value);
        value = other_value < UINT64_C(1) << 53 ? json_integer((json_int_t)other_value) : json_string(hex);
        break;
    case 2:
        cli_record_signed(record, key, (int64_t)other_value);
        value = json_integer((json_int_t)other_value);
        break;
    case 3:
        cli_record_bool(record, key, other_value & 1);
        value = json_boolean(other_value & 1);
        break;
    case 4:
        cli_record_null(record, key);
        value = json_null();
        break;
    default:
        cli_record_open(record, key, kind == 5 ? '[' : '{');
        value = kind == 5 ? json_array() : json_object();
        for (unsigned i = 0, count = (unsigned)(next_random() % 5); i < count; i++) {
            char name[16];

            (void)snprintf(name, sizeof(name), "k%u", i);
            put(record, value, kind == 5 ? NULL : name, depth + 1);
        }
        cli_record_close(record, kind == 5 ? ']' : '}');
        break;
    }
    ck_assert_int_eq(key ? json_object_set_new(to, key, value) : json_array_append_new(to, value), 0);
}

static void check(cli_record *record, json_t *object)
{
    char *want = json_dumps(object, JSON_COMPACT), *got = NULL;
    size_t count = 0;
    FILE *to = open_memstream(&got, &count);

    ck_assert(want && to);
    cli_record_put(record, to);
    ck_assert_int_eq(fclose(to), 0);
    ck_assert_uint_eq(count, strlen(want) + 1);
    ck_assert_int_eq(got[count - 1], '\n');
    ck_assert_mem_eq(got, want, count - 1);
    free(got);
    free(want);
    json_decref(object);
}

static json_t *begin(cli_record *record, const char *type)
{
    json_t *object = json_object();

    cli_record_begin(record, type, NULL);
    ck_assert_int_eq(json_object_set_new(object, "schema", json_string(CLI_SCHEMA)), 0);
    ck_assert_int_eq(json_object_set_new(object, "type", json_string(type)), 0);
    return object;
}

START_TEST(the_bytes_are_those_of_jansson)
{
    cli_record record = { .text = NULL };

    for (unsigned i = 0; i < 20000; i++) {
        json_t *object = begin(&record, "thing");

        for (unsigned k = 0, count = (unsigned)(next_random() % 12); k < count; k++) {
            char name[16];

            (void)snprintf(name, sizeof(name), "f%u", k);
            put(&record, object, name, 0);
        }
        check(&record, object);
    }
    cli_record_free(&record);
    ck_assert(ok);
}
END_TEST

START_TEST(any_bytes_are_escaped_and_capped)
{
    static char bytes[CLI_JSON_CAP + 100], escaped[4 * CLI_JSON_CAP + 64];
    cli_record record = { .text = NULL };

    for (unsigned i = 0; i < 300; i++) {
        size_t count = i % 10 == 0 ? sizeof(bytes) - i % 100 : next_random() % 300;
        json_t *object;

        for (size_t k = 0; k < count; k++)
            bytes[k] = (char)(i % 3 ? next_random() : 32 + next_random() % 96);
        object = begin(&record, "bytes");
        cli_record_bytes(&record, "any", bytes, count);
        (void)cli_escape(bytes, count, CLI_JSON_CAP, escaped, sizeof(escaped));
        ck_assert_int_eq(json_object_set_new(object, "any", json_string(escaped)), 0);
        check(&record, object);
    }
    cli_record_free(&record);
}
END_TEST

Suite *suite_record(void);
Suite *suite_record(void)
{
    Suite *suite = suite_create("record");
    TCase *tcase = tcase_create("record");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, the_bytes_are_those_of_jansson);
    tcase_add_test(tcase, any_bytes_are_escaped_and_capped);
    suite_add_tcase(suite, tcase);
    return suite;
}
