/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet-package: the only program of cuvet that has libarchive in it. It is started by the process
 * that opens inputs, for one package: 3 is the pipe that frames go into, 4 the package. It enters its cage
 * before the first byte is read; what it can do then is read the one and write into the other. usage:
 * cuvet-package FORM, the number of a package_form behind PACKAGE_WORD */
#include "../sandbox.h"
#include "../whole.h"
#include "also.h"
#include "frame.h"
#include "image_read.h"
#include "open.h"
#include "zip.h"

#include <jansson.h>

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Seconds of processor time: bzip2 unpacks some ten megabytes of zeros in one. */
enum { TIME_FIXED = 120, TIME_OF_MIB = 10 };
#define MEMORY (UINT64_C(1) << 30) /* of address space: dictionaries of xz and zstd are the most of it */

/* ---- what goes out ---- */

static void put(const void *bytes, size_t size)
{
    if (!cli_write_all(PACKAGE_OUT, bytes, size))
        _exit(1); /* nobody reads any more */
}

static void put_frame(package_verb verb, package_cause cause, uint64_t offset, const void *bytes, size_t size)
{
    const package_frame frame = { .mark = PACKAGE_MARK,
                                  .verb = (uint8_t)verb,
                                  .cause = (uint8_t)cause,
                                  .n = (uint32_t)size,
                                  .offset = offset };

    put(&frame, sizeof(frame));
    put(bytes, size);
}

/* Plain characters, and as many of them as may come. */
static void put_text(package_verb verb, package_cause cause, const char *text)
{
    char plain[PACKAGE_TEXT_MOST];
    size_t size = strnlen(text ? text : "", PACKAGE_TEXT_MOST);

    if (size == 0) {
        text = "cannot be read";
        size = strlen(text);
    }
    for (size_t i = 0; i < size; i++)
        plain[i] = text[i] < ' ' || text[i] > '~' ? ' ' : text[i];
    put_frame(verb, cause, 0, plain, size);
}

/* What is wrong, and where in the package; in a stream, where in what it holds. */
static void add_place(char text[PACKAGE_TEXT_MOST], const char *why, bool stream, int64_t at)
{
    why = why && *why ? why : "cannot be read";
    if (at < 0) /* libarchive does not know it */
        snprintf(text, PACKAGE_TEXT_MOST, "%s", why);
    else
        snprintf(text, PACKAGE_TEXT_MOST, "%.400s (byte %" PRId64 "%s)", why, at,
                 stream ? " of what is unpacked" : "");
}

static void put_finding(const char *why, package_cause cause, bool stream, int64_t at)
{
    char text[PACKAGE_TEXT_MOST];

    add_place(text, why, stream, at);
    put_text(PACKAGE_FINDING, cause, text);
}

static void put_remark(const char *name, const char *what)
{
    static char text[PACKAGE_NAME_MOST + PACKAGE_TEXT_MOST];
    size_t n_name = strnlen(name, PACKAGE_NAME_MOST), n_what = strlen(what);

    memcpy(text, name, n_name);
    text[n_name] = '\0';
    memcpy(text + n_name + 1, what, n_what);
    put_frame(PACKAGE_REMARK, 0, 0, text, n_name + 1 + n_what);
}

/* What was met so far. */
typedef struct package_seen {
    bool any;
    bool sent;           /* a file, or what there was of it */
    uint32_t ordinal;    /* of the present entry */
    package_notes notes; /* of whoever unpacked what this package is an entry of */
    struct package_image *image;
    bool leaves, longer; /* a name was met that is a finding, each once */
    uint64_t skipped;    /* headers that are none */
    package_cause cause; /* of its end before all of it was read */
    char why[PACKAGE_TEXT_MOST];
} package_seen;

/* ---- entries ---- */

static const char *name_of(struct archive_entry *entry)
{
    const char *name = archive_entry_pathname(entry);

    if (!name)
        name = archive_entry_pathname_utf8(entry);
    return name && *name ? name : "(no name)";
}

/* What is a folder or a link may have bytes all the same: in a tar file for some readers, which make a
 * file of it. A link of the other formats has its target there. */
static bool has_bytes(struct archive *archive, struct archive_entry *entry)
{
    bool tar = (archive_format(archive) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;

    return archive_entry_size_is_set(entry) && archive_entry_size(entry) > 0 &&
           (tar || archive_entry_filetype(entry) == AE_IFDIR || archive_entry_hardlink(entry));
}

/* NULL: a file, whose bytes are of interest. */
static const char *why_no_file(struct archive *archive, struct archive_entry *entry)
{
    if (has_bytes(archive, entry))
        return NULL;
    if (archive_entry_hardlink(entry))
        return "hard link, not followed";
    switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
    case 0: return NULL;
    case AE_IFLNK: return "symbolic link, not followed";
    default: return "special file, skipped";
    }
}

static package_cause cause_of(struct archive *archive, int rc)
{
    if (archive_errno(archive) == ENOMEM)
        return PACKAGE_MEMORY;
    if (archive_format(archive) == ARCHIVE_FORMAT_RAW)
        return PACKAGE_OTHER;
    return rc == ARCHIVE_FAILED ? PACKAGE_UNSUPPORTED : PACKAGE_DAMAGED;
}

static void put_data(const uint8_t *bytes, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        size_t step = size - done < PACKAGE_DATA_MOST ? size - done : PACKAGE_DATA_MOST;

        put_frame(PACKAGE_DATA, 0, offset + done, bytes + done, step);
        done += step;
    }
}

/* An entry begins, with what is known of it in an image. */
static void put_entry(package_seen *seen, const char *name)
{
    size_t n_name = strnlen(name, PACKAGE_NAME_MOST), count = 0;
    const image_mark *mark = package_note_of(&seen->notes, seen->ordinal);
    package_frame frame = { .mark = PACKAGE_MARK, .verb = PACKAGE_ENTRY, .n = (uint32_t)n_name };
    image_mark *marks = seen->image ? image_marks(seen->image, seen->ordinal, &count) : NULL;

    for (size_t done = 0, step; done < count; done += step) {
        step = count - done < PACKAGE_DATA_MOST / sizeof(*marks) ? count - done
                                                                 : PACKAGE_DATA_MOST / sizeof(*marks);
        put_frame(PACKAGE_NOTE, 0, 0, marks + done, step * sizeof(*marks));
    }
    free(marks);
    frame.fate = seen->image ? (uint8_t)image_fate(seen->image, seen->ordinal) : 0;
    if (mark) {
        frame.fate = (uint8_t)mark->fate;
        frame.layer = mark->layer;
    }
    put(&frame, sizeof(frame));
    put(name, n_name);
}

/* @return false: nothing more can be read of the package */
static bool send_entry(struct archive *archive, struct archive_entry *entry, package_seen *seen)
{
    uint64_t end = 0;
    const void *bytes;
    la_int64_t offset;
    size_t size;
    int rc;

    put_entry(seen, name_of(entry));
    if (archive_entry_is_encrypted(entry) || (seen->image && image_is_secret(seen->image, seen->ordinal))) {
        put_text(PACKAGE_FAILED, PACKAGE_UNSUPPORTED, "is encrypted");
        return true;
    }
    /* Of an entry without a byte there is nothing to read; of one that LZMA packed libarchive 3.6 cannot. */
    if (archive_entry_size_is_set(entry) && archive_entry_size(entry) == 0) {
        put_frame(PACKAGE_DONE, 0, 0, NULL, 0);
        return true;
    }
    while ((rc = archive_read_data_block(archive, &bytes, &size, &offset)) == ARCHIVE_OK) {
        if (offset < 0 || (uint64_t)offset < end) {
            put_text(PACKAGE_FAILED, PACKAGE_DAMAGED, "its pieces overlap");
            return true;
        }
        put_data(bytes, size, (uint64_t)offset);
        end = (uint64_t)offset + size;
    }
    if (rc != ARCHIVE_EOF) {
        put_text(PACKAGE_FAILED, cause_of(archive, rc), archive_error_string(archive));
        return rc != ARCHIVE_FATAL;
    }
    /* A sparse file may end with a hole. */
    if (archive_entry_sparse_count(entry) > 0 && archive_entry_size_is_set(entry) &&
        archive_entry_size(entry) > 0 && (uint64_t)archive_entry_size(entry) > end)
        end = (uint64_t)archive_entry_size(entry);
    put_frame(PACKAGE_DONE, 0, end, NULL, 0);
    return true;
}

/* A stream that nothing could be unpacked of is handed on as it is, as if it were what is in it; zeros behind
 * the first four bytes of a zip file are an entry without a name. */
static bool is_unpacked(const package_reader *in, struct archive *archive, struct archive_entry *entry,
                        package_form form, package_way how)
{
    const char *name = archive_entry_pathname(entry);

    if (how == BY_ENTRIES && name && !*name)
        return false;
    return !package_is_stream(form) || in->outer || archive_filter_code(archive, 0) != ARCHIVE_FILTER_NONE;
}

/* The header that was begun last tells where, in formats that are read from their beginning to their end. */
static void keep_reason(package_seen *seen, struct archive *archive, package_form form, package_form within)
{
    const char *text = archive ? archive_error_string(archive) : "out of memory";
    package_form inner = package_is_stream(form) ? within : form;

    seen->cause = archive ? cause_of(archive, ARCHIVE_FATAL) : PACKAGE_MEMORY;
    if (archive && (inner == PACKAGE_TAR || inner == PACKAGE_CPIO || inner == PACKAGE_DEB))
        add_place(seen->why, text, package_is_stream(form), archive_read_header_position(archive));
    else
        snprintf(seen->why, sizeof(seen->why), "%s", text && *text ? text : "cannot be read");
}

enum { SKIPPED_MOST = 1000, PATH_MOST = 4096 };

/* Does it climb out of the folder that it is unpacked in? Absolute names are of the root, for who builds
 * one. */
static bool climbs(const char *name)
{
    int depth = 0;

    while (*name && depth >= 0) {
        size_t n_part = strcspn(name, "/");

        if (n_part == 2 && memcmp(name, "..", 2) == 0)
            depth--;
        else if (n_part > 0 && !(n_part == 1 && *name == '.'))
            depth++;
        name += n_part;
        name += strspn(name, "/");
    }
    return depth < 0;
}

/* Files are never written by these names here; who does it with a careless tool is hurt. */
static void judge_name(struct archive_entry *entry, package_seen *seen)
{
    const char *name = name_of(entry), *link = archive_entry_hardlink(entry);

    if (!seen->leaves && (climbs(name) || (link && climbs(link)))) {
        put_finding("has a name that leaves the folder which it is unpacked in", PACKAGE_DAMAGED, false, -1);
        seen->leaves = true;
    }
    if (!seen->longer && strnlen(name, PATH_MOST) == PATH_MOST) {
        put_finding("has a name that no system takes: of 4096 bytes or more", PACKAGE_DAMAGED, false, -1);
        seen->longer = true;
    }
}

/* @return false: nothing more can be read of the package */
static bool take_entry(struct archive *archive, struct archive_entry *entry, package_seen *seen)
{
    const char *what = why_no_file(archive, entry);

    seen->any = true;
    judge_name(entry, seen);
    if (!what) {
        seen->sent = true;
        return send_entry(archive, entry, seen);
    }
    if (archive_entry_filetype(entry) == AE_IFDIR && !archive_entry_hardlink(entry))
        put_frame(PACKAGE_FOLDER, 0, 0, NULL, 0);
    else
        put_remark(name_of(entry), what);
    return true;
}

/* ---- a tar file, as others see it ---- */

/* Said once: where readers go different ways all that follows differs. */
static void say_other_readers(package_reader *in, package_seen *seen, const char *why, bool stream,
                              uint64_t at)
{
    char text[PACKAGE_TEXT_MOST];

    snprintf(text, sizeof(text), "%s: what is in it depends on the reader", why);
    put_finding(text, PACKAGE_DAMAGED, stream, (int64_t)at);
    package_tar_free(in->tar);
    in->tar = NULL;
    seen->any = true;
}

static void compare_entry(package_reader *in, package_seen *seen, struct archive *archive,
                          struct archive_entry *entry, bool stream)
{
    int64_t at = archive_read_header_position(archive);
    bool file = has_bytes(archive, entry) ||
                (!archive_entry_hardlink(entry) && archive_entry_filetype(entry) == AE_IFREG);

    if (in->tar && seen->skipped == 0 &&
        !package_tar_take(in->tar, (uint64_t)at, file,
                          archive_entry_size_is_set(entry) ? (uint64_t)archive_entry_size(entry) : 0))
        say_other_readers(in, seen, "has entries that other readers do not see so", stream, (uint64_t)at);
}

/* @param whole it was read to its end, or nothing of it was */
static void compare_end(package_reader *in, package_seen *seen, bool whole, bool stream)
{
    uint64_t at;
    const char *why = in->tar ? package_tar_fault(in->tar, &at) : NULL;

    if (why)
        say_other_readers(in, seen, why, stream, at);
    else if (in->tar && whole && seen->skipped == 0 && package_tar_left(in->tar))
        say_other_readers(in, seen, "has entries that only other readers see", stream, 0);
    package_tar_free(in->tar);
    in->tar = NULL;
}

/* @return false: there is no more of it, for the reason that is kept */
static bool send_entries(package_reader *in, package_form form, package_form within, package_way how,
                         package_seen *seen)
{
    struct archive *archive = package_open(in, form, within, how);
    struct archive_entry *entry;
    bool stream = package_is_stream(form);
    int rc;

    in->tar = (stream ? within : form) == PACKAGE_TAR ? package_tar_new() : NULL;
    rc = archive ? archive_read_open1(archive) : ARCHIVE_FATAL;
    seen->ordinal = 0;
    while (rc != ARCHIVE_EOF && (rc >= ARCHIVE_WARN || rc == ARCHIVE_RETRY)) {
        rc = archive_read_next_header(archive, &entry);
        if (rc == ARCHIVE_RETRY && seen->skipped++ < SKIPPED_MOST) {
            put_finding(archive_error_string(archive), PACKAGE_DAMAGED, stream,
                        archive_read_header_position(archive));
            seen->any = true;
        } else if (rc != ARCHIVE_EOF && rc >= ARCHIVE_WARN) {
            compare_entry(in, seen, archive, entry, stream);
            if (!is_unpacked(in, archive, entry, form, how)) {
                archive_set_error(archive, EILSEQ, "is not what it begins like");
                rc = ARCHIVE_FATAL;
            } else if (!take_entry(archive, entry, seen)) {
                rc = ARCHIVE_FATAL;
            }
            seen->ordinal++;
        } else if (rc == ARCHIVE_RETRY) {
            rc = ARCHIVE_FATAL;
        }
    }
    if (rc != ARCHIVE_EOF)
        keep_reason(seen, archive, form, within);
    compare_end(in, seen, rc == ARCHIVE_EOF || !seen->any, stream);
    in->end = archive ? archive_filter_bytes(archive, -1) : 0;
    (void)archive_read_free(archive); /* nothing is written by it; of what is in a stream it finds the end */
    return rc == ARCHIVE_EOF;
}

/* What a stream holds is known by the first bytes that come out. */
static package_form look_into(package_reader *in, package_form stream)
{
    struct archive *archive = package_open(in, stream, PACKAGE_NONE, AS_IT_SAYS);
    struct archive_entry *entry;
    uint8_t head[PACKAGE_HEAD];
    size_t n_head = 0;
    package_form form = PACKAGE_NONE;
    la_ssize_t got = 1;

    if (archive && archive_read_open1(archive) >= ARCHIVE_WARN &&
        archive_read_next_header(archive, &entry) >= ARCHIVE_WARN) {
        while (got > 0 && n_head < sizeof(head)) {
            got = archive_read_data(archive, head + n_head, sizeof(head) - n_head);
            n_head += got > 0 ? (size_t)got : 0;
        }
        if (!package_is_program(head, n_head))
            form = package_form_of(head, n_head);
        in->sure = form == PACKAGE_TAR && package_has_sum(head, n_head);
    }
    (void)archive_read_free(archive); /* nothing is written by it */
    return form == PACKAGE_TAR || form == PACKAGE_CPIO ? form : PACKAGE_NONE;
}

/* Of a filter that it was told to use libarchive forgets why it could not begin; of one that it found itself
 * it knows. @return true: it begins, and there is nothing in it; what is longer than that takes may have more
 * behind its end */
static bool ask_filter(package_reader *in, package_form form, package_seen *seen)
{
    bool marked = form == PACKAGE_LZ4 || form == PACKAGE_SKIPPED;
    struct archive *archive = package_open(in, marked ? form : PACKAGE_RPM, PACKAGE_NONE, AS_IT_SAYS);
    struct archive_entry *entry;
    bool empty = false;

    if (archive && archive_read_support_format_empty(archive) == ARCHIVE_OK) {
        if (archive_read_open1(archive) < ARCHIVE_WARN)
            keep_reason(seen, archive, form, PACKAGE_NONE);
        else
            empty = in->size <= PACKAGE_HEAD && archive_read_next_header(archive, &entry) == ARCHIVE_EOF &&
                    archive_errno(archive) == 0 && archive_filter_code(archive, 0) != ARCHIVE_FILTER_NONE;
    }
    (void)archive_read_free(archive); /* nothing is written by it */
    return empty;
}

/* A file without a byte, under the name that libarchive has for what a stream holds. */
static bool put_nothing(package_seen *seen)
{
    static const char NAME[] = "data";

    put_frame(PACKAGE_ENTRY, 0, 0, NAME, strlen(NAME));
    put_frame(PACKAGE_DONE, 0, 0, NULL, 0);
    seen->any = true;
    return true;
}

/* What is known of the package as an archive of images. */
static void put_image(const struct package_image *image)
{
    bool limit;
    const char *why = image_fault(image, &limit), *name;

    if (why)
        put_finding(why, limit ? PACKAGE_MEMORY : PACKAGE_DAMAGED, false, -1);
    for (size_t i = 0; (name = image_missing(image, i)) != NULL; i++)
        put_remark(*name ? name : "(no name)",
                   "of an image, and not in this package, or of a kind that is not known");
    if (image_missing(image, 0))
        put_finding("is an image of which something is not in it, or of a kind that is not known",
                    PACKAGE_UNSUPPORTED, false, -1);
}

static void put_also(const char *why, package_cause cause, int64_t at)
{
    if (why)
        put_finding(why, cause, false, at);
}

/* What there is to be said of a zip file whose entries were sent, if there were any. Behind a program, and
 * before something else, it may be one of the parts. @return is there more? */
static bool judge_zip(package_reader *in, package_seen *seen, bool whole)
{
    uint64_t size = (uint64_t)in->size, at = 0;
    const char *why = package_zip_differs(PACKAGE_IN, size, &at);
    bool ends = package_zip_ends(PACKAGE_IN, size);
    uint8_t head[PACKAGE_HEAD] = { 0 };
    package_zip_look look;
    bool first = cli_read_at(PACKAGE_IN, head, size < sizeof(head) ? size : sizeof(head), 0) &&
                 package_form_of(head, sizeof(head)) == PACKAGE_ZIP;

    /* A zip file without its end is none for some, and for others has entries. */
    if (!seen->any)
        whole = send_entries(in, PACKAGE_ZIP, PACKAGE_NONE, BY_ENTRIES, seen);
    look = !seen->any && !whole && !ends && !first ? package_zip_found(PACKAGE_IN, size, &at) : ZIP_NOWHERE;
    if (look == ZIP_MANY_MARKS)
        put_finding(
            "has more marks of the end of a zip file than are looked at: whether it is one is not known",
            PACKAGE_MEMORY, false, (int64_t)at);
    else if (!seen->any && !whole && (ends || look == ZIP_DIRECTORY))
        put_finding("has a directory, and its entries cannot be unpacked",
                    ends ? PACKAGE_DAMAGED : PACKAGE_UNSUPPORTED, false, (int64_t)at);
    else if (seen->any && why && (ends || first))
        put_finding(why, PACKAGE_DAMAGED, false, (int64_t)at);
    return whole;
}

/* A tar file that is in no stream. */
static bool is_sure(package_form form)
{
    uint8_t head[PACKAGE_HEAD];

    return form == PACKAGE_TAR && cli_read_at(PACKAGE_IN, head, sizeof(head), 0) &&
           package_has_sum(head, sizeof(head));
}

/* In all ways that make something of it. */
static bool send_package(package_reader *in, package_form form, package_seen *seen)
{
    package_form within = package_is_stream(form) ? look_into(in, form) : PACKAGE_NONE;
    package_cause cause;
    const char *why;
    bool whole;

    in->sure = in->sure || is_sure(form);
    put_also(package_also_before(form), PACKAGE_DAMAGED, 0);
    if ((package_is_stream(form) ? within : form) != PACKAGE_TAR)
        seen->notes.count = 0; /* they are about the entries of a layer */
    if ((package_is_stream(form) ? within : form) == PACKAGE_TAR)
        seen->image = package_read_image(in, form, within);
    if (seen->image)
        put_image(seen->image);
    package_also_look(in, form);
    whole = send_entries(in, form, within, AS_IT_SAYS, seen);

    if ((in->sure || seen->any) && !seen->sent && !whole) /* one it is */
        put_finding(seen->why, seen->cause, false, -1);
    /* It only begins like tar or cpio. */
    if (within != PACKAGE_NONE && !seen->any && !whole)
        whole = send_entries(in, form, PACKAGE_NONE, AS_IT_SAYS, seen);
    if (package_is_stream(form) && !seen->any && !whole)
        whole = ask_filter(in, form, seen) && put_nothing(seen);
    if (form == PACKAGE_ZIP)
        whole = judge_zip(in, seen, whole);
    why = package_also_behind(in, &cause);
    put_also(why, cause, in->zip);
    return whole;
}

/* The number of a form, as a letter. */
static package_form form_of(const char *word)
{
    return word[0] > PACKAGE_WORD && word[0] < PACKAGE_WORD + PACKAGE_N_FORM && word[1] == 0
               ? (package_form)(word[0] - PACKAGE_WORD)
               : PACKAGE_NONE;
}

/* What takes longer than the slowest of the formats is stopped. */
static void limit_time(const package_reader *in)
{
    rlim_t seconds = TIME_FIXED + TIME_OF_MIB * (rlim_t)(in->size >> 20);
    const struct rlimit limit = { .rlim_cur = seconds, .rlim_max = seconds + 1 };

    (void)setrlimit(RLIMIT_CPU, &limit); /* lower than it may be, or as it was */
}

int main(int argc, char **argv)
{
    static package_reader in;
    static const int OURS[] = { PACKAGE_IN }, THEIRS[] = { PACKAGE_OUT };
    const cli_cage cage = { CLI_CAGE_NOTHING, .cpu_elsewhere = true, .keep = OURS, .n_keep = 1, .out = THEIRS,
                            .n_out = 1,       .memory = MEMORY };
    package_form form = argc == 2 || argc == 3 ? form_of(argv[1]) : PACKAGE_NONE;
    static package_seen seen;
    struct stat st;

    /* Nobody is left to be told when the process that reads the frames is gone. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (form == PACKAGE_NONE || fstat(PACKAGE_IN, &st) != 0) {
        fputs("cuvet-package is started by cuvet\n", stderr);
        return 2;
    }
    in.size = st.st_size;
    in.zip = -1;
    limit_time(&in);
    /* Before the cage: names are bytes, and times of day are of no interest. */
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    json_object_seed(0); /* of its tables, by chance */
    if (setenv("TZ", "UTC0", 1) != 0)
        return 1;
    (void)signal(SIGPIPE, SIG_IGN);
    if (argc == 3)
        package_read_notes(&seen.notes); /* numbers, of which nothing is believed */
    (void)cli_cage_enter(&cage);
    if (!send_package(&in, form, &seen)) {
        put_text(PACKAGE_FAILED, seen.cause, seen.why);
        return 0;
    }
    put_frame(PACKAGE_END, 0, 0, NULL, 0);
    return 0;
}
