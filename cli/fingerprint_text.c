/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Of PTX: lines, without what only tells where they come from. What is not written as compilers write it
 * counts as it is. */
#include "fingerprint_int.h"

typedef struct text_reading {
    const uint8_t *at, *end;
    bool comments;          /* what follows two slashes is one: there are no comments of several lines */
    const uint8_t *blocked; /* up to here no debug section ends as it should */
    cli_path_hash hash;
} text_reading;

/* The next line without its blanks and its comment; empty ones are passed over. In a line with a text two
 * slashes may be a part of it. */
static bool next_line(text_reading *reading, cuvet_bytes *line)
{
    while (reading->at < reading->end) {
        const uint8_t *first = reading->at;
        const uint8_t *stop = memchr(first, '\n', (size_t)(reading->end - first));
        const uint8_t *comment = NULL;

        stop = stop ? stop : reading->end;
        reading->at = stop < reading->end ? stop + 1 : stop;
        if (reading->comments && !memchr(first, '"', (size_t)(stop - first)))
            comment = memmem(first, (size_t)(stop - first), "//", 2);
        stop = comment ? comment : stop;
        while (first < stop && (*first == ' ' || *first == '\t' || *first == '\r'))
            first++;
        while (stop > first && (stop[-1] == ' ' || stop[-1] == '\t' || stop[-1] == '\r'))
            stop--;
        *line = (cuvet_bytes){ first, (size_t)(stop - first) };
        if (line->n > 0)
            return true;
    }
    return false;
}

static bool is_letter(uint8_t ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_' ||
           ch == '$';
}

/* A directive with its blank; .loc is no .local. */
static bool is_directive(cuvet_bytes line, const char *name)
{
    size_t len = strlen(name);

    return cli_begins_with(line, name) && line.n > len && (line.p[len] == ' ' || line.p[len] == '\t');
}

/* The next word, between blanks and commas; empty: the end. */
static cuvet_bytes next_word(cuvet_bytes line, size_t *at)
{
    size_t first;

    while (*at < line.n && (line.p[*at] == ' ' || line.p[*at] == '\t' || line.p[*at] == ','))
        ++*at;
    first = *at;
    while (*at < line.n && line.p[*at] != ' ' && line.p[*at] != '\t' && line.p[*at] != ',')
        ++*at;
    return (cuvet_bytes){ line.p + first, *at - first };
}

static bool is_number(cuvet_bytes word)
{
    for (size_t i = 0; i < word.n; i++)
        if (word.p[i] < '0' || word.p[i] > '9')
            return false;
    return word.n > 0;
}

static bool takes_numbers(cuvet_bytes line, size_t *at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!is_number(next_word(line, at)))
            return false;
    return true;
}

static bool takes_word(cuvet_bytes line, size_t *at, const char *want)
{
    cuvet_bytes word = next_word(line, at);

    return word.n == strlen(want) && memcmp(word.p, want, word.n) == 0;
}

/* ".loc 1 7 3" and, of what was inlined, ", function_name $L__info_string0, inlined_at 1 9 3". */
static bool is_place(cuvet_bytes line)
{
    size_t at = strlen(".loc");
    cuvet_bytes name;

    if (!is_directive(line, ".loc") || !takes_numbers(line, &at, 3))
        return false;
    if (at == line.n)
        return true;
    if (!takes_word(line, &at, "function_name"))
        return false;
    name = next_word(line, &at);
    return cli_begins_with(name, "$L__info_string") && takes_word(line, &at, "inlined_at") &&
           takes_numbers(line, &at, 3) && at == line.n;
}

/* ".file 1 "name"" and, of old tools, ", 1689945602, 1232". */
static bool is_source(cuvet_bytes line)
{
    size_t at = strlen(".file"), quote;

    if (!is_directive(line, ".file") || !takes_numbers(line, &at, 1))
        return false;
    while (at < line.n && (line.p[at] == ' ' || line.p[at] == '\t'))
        at++;
    if (at == line.n || line.p[at] != '"')
        return false;
    for (quote = at + 1; quote < line.n && line.p[quote] != '"'; quote++)
        continue;
    at = quote + 1;
    return quote < line.n && (at == line.n || (takes_numbers(line, &at, 2) && at == line.n));
}

/* A line that only tells where code comes from. What stands alone in the next one would belong to it. */
static bool tells(const text_reading *reading, cuvet_bytes line)
{
    text_reading ahead = *reading;
    cuvet_bytes next;

    return (is_place(line) || is_source(line)) && (!next_line(&ahead, &next) || *next.p != ';');
}

/* Debug information, to its brace, behind which nothing stands. False: it is not like that, and is text as
 * everything. */
static bool skip_debug(text_reading *reading, cuvet_bytes line)
{
    text_reading ahead = *reading;

    if (!is_directive(line, ".section") || !memmem(line.p, line.n, ".debug_", strlen(".debug_")) ||
        line.p < reading->blocked)
        return false;
    do {
        const uint8_t *brace = memchr(line.p, '}', line.n);

        if (brace && brace == line.p + line.n - 1) {
            *reading = ahead;
            return true;
        }
        if (brace)
            break;
    } while (next_line(&ahead, &line));
    reading->blocked = ahead.at;
    return false;
}

/* Words ".entry" of a line. */
static size_t count_entries(cuvet_bytes line)
{
    size_t count = 0, len = strlen(".entry");

    for (size_t i = 0; i + len <= line.n; i++)
        if (line.p[i] == '.' && memcmp(line.p + i, ".entry", len) == 0 &&
            (i + len == line.n || !is_letter(line.p[i + len])))
            count++;
    return count;
}

/* "…entry NAME(" */
static bool name_of_entry(cuvet_bytes line, cuvet_bytes *name)
{
    const uint8_t *at = memmem(line.p, line.n, ".entry", strlen(".entry")), *end = line.p + line.n, *stop;

    if (!at)
        return false;
    at += strlen(".entry");
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    for (stop = at; stop < end && is_letter(*stop); stop++)
        continue;
    *name = (cuvet_bytes){ at, (size_t)(stop - at) };
    return name->n > 0;
}

/* An entry, from its first line to the brace that closes it. */
typedef struct text_entry {
    cuvet_bytes name; /* empty: none is open */
    struct sha256_ctx sha;
    uint64_t depth;
    bool begun; /* its first brace was there */
} text_entry;

/* @return false: more braces are closed than were opened */
static bool count_braces(text_entry *entry, cuvet_bytes line)
{
    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] == '}' && entry->depth == 0)
            return false;
        entry->begun = entry->begun || line.p[i] == '{';
        entry->depth += line.p[i] == '{';
        entry->depth -= line.p[i] == '}';
    }
    return true;
}

bool cli_fingerprint_text(cuvet_bytes text, cli_looking *looking, const cli_session *session,
                          cli_digest *whole, cli_entry_fn *each, void *user)
{
    text_reading reading = { .comments = true };
    text_entry entry = { .depth = 0 };
    size_t n_words = 0, n_entries = 0;
    struct sha256_ctx all;
    cuvet_bytes line;
    bool known = true;

    if (!cli_looking_spend(looking, session, text.n))
        return false;
    if (text.p)
        reading = (text_reading){
            text.p, text.p + text.n, !memmem(text.p, text.n, "/*", 2), text.p, { "", false, false }
        };
    cli_note_hashes(&reading.hash, text);
    sha256_init(&all);
    while (next_line(&reading, &line)) {
        cuvet_bytes name;

        if (tells(&reading, line) || skip_debug(&reading, line))
            continue;
        add_name(&all, &reading.hash, line);
        n_words += count_entries(line);
        if (entry.name.n == 0 && name_of_entry(line, &name)) {
            entry = (text_entry){ .name = name };
            sha256_init(&entry.sha);
        }
        if (entry.name.n == 0)
            continue;
        add_name(&entry.sha, &reading.hash, line);
        known = count_braces(&entry, line) && known;
        if (entry.begun && entry.depth == 0) {
            cli_digest digest;

            finish(&entry.sha, &digest);
            if (!each(user, entry.name, &digest))
                return false;
            n_entries++;
            entry.name.n = 0;
        }
    }
    finish(&all, whole);
    /* In which way they are written, each has to be known. */
    return known && n_words == n_entries;
}
