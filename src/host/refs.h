/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What host objects say about the device code in them: which modules they are, which were linked already, and
 * which kernels host code refers to. */
#ifndef CV_HOST_REFS_H
#define CV_HOST_REFS_H

#include "bytes/intern.h"
#include "host/host.h"

typedef struct cv_lhost {
    uint64_t off, end; /* in its file */
    uint64_t first_module, n_modules;
    uint64_t first_ref, n_refs;
    bool object;    /* relocatable: its host code is still to be linked */
    bool lists;     /* says what its host code refers to */
    bool linkable;  /* holds relocatable device code */
    bool finished;  /* a device link made it: it names modules that are linked */
    bool of_system; /* a library of the system */
} cv_lhost;

CV_VEC(cv_lhosts, cv_lhost);

/* A member of an archive that something was said about, because nothing in it can be linked. */
typedef struct cv_lmember {
    uint64_t off, end; /* in its file, with the header */
    cv_id name;        /* CV_NONE: it has none */
} cv_lmember;

CV_VEC(cv_lmembers, cv_lmember);

typedef struct cv_hosts {
    cv_names name; /* of modules */
    cv_names ref;  /* kernels that host code refers to, each once */
    cv_lhosts host;
    cv_u32s module;     /* names, by host */
    cv_u32s used;       /* references, by host */
    cv_u32s linked;     /* by name, as far as it goes: 1 + who says first that it is linked */
    cv_u32s kernel;     /* references that count, each once, sorted */
    cv_u32s prefix;     /* by reference: bytes before its first '*' */
    uint64_t first;     /* host of the file at hand */
    cv_names title;     /* of members */
    cv_lmembers member; /* of the file at hand */
} cv_hosts;

void cv_hosts_init(cv_hosts *hosts, uint64_t key0, uint64_t key1);
void cv_hosts_free(cv_mem *mem, cv_hosts *hosts);
/* What a host object of a file says; anything that is none is left alone. off, n: its place in 'all', the
 * bytes of the file. What was read without a word goes to the shelf. @return OK · MALFORMED, TRUNCATED, LIMIT
 * (reported) · NOMEM · REFUSED (a module has no proper name) */
CV_MUST cuvet_status cv_hosts_read_object(cv_ctx *ctx, cv_hosts *hosts, const cuvet_source *src, cv_span all,
                                          uint64_t off, uint64_t count, cv_host_shelf *shelf);
/* The file at hand is refused: what its host objects said counts for nothing. */
void cv_hosts_forget_file(cv_hosts *hosts);
/* Something is said of the member of an archive from off to end; name: empty, when it has none.
 * @return OK · LIMIT (reported) · NOMEM */
CV_MUST cuvet_status cv_hosts_point_out(cv_ctx *ctx, cv_hosts *hosts, uint64_t off, uint64_t end,
                                        cv_span name);
/* The host object of that file which this place lies in; CV_NONE: none. */
CV_MUST cv_id cv_hosts_at(const cv_hosts *hosts, uint64_t off);
/* Name of the member of that file which something was said about at this place. False: none, or it has none.
 */
CV_MUST bool cv_hosts_member_at(const cv_hosts *hosts, uint64_t off, cv_span *name);
/* All files were read; libraries: those of the system take part. */
CV_MUST cuvet_status cv_hosts_settle(cv_ctx *ctx, cv_hosts *hosts, bool libraries);
/* Are all modules of a host object linked already? When all files were read. */
CV_MUST bool cv_hosts_is_linked(const cv_hosts *hosts, cv_id host);
/* Does all host code say what it refers to, and is there anything that it refers to? After cv_hosts_settle().
 */
CV_MUST bool cv_hosts_tell_kernels(const cv_hosts *hosts);
/* Does host code refer to a kernel of this name? Pays for what it compares; *out is false when that ran out.
 * After cv_hosts_settle(). @return OK · LIMIT (reported) */
CV_MUST cuvet_status cv_hosts_refer(cv_ctx *ctx, const cv_hosts *hosts, cv_span name, bool *out);
/* Did a device link make this host object? */
CV_MUST bool cv_hosts_is_finished(const cv_hosts *hosts, cv_id host);
/* Name of a module. */
CV_MUST cv_span cv_hosts_module(const cv_hosts *hosts, uint64_t index);

#endif
