/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The functions that programs call: arguments are checked here, and what is locked is released. */
#include "face.h"

#include <string.h>

/* An opaque pointer in the caller's eyes, a number in ours. */
typedef struct nvJitLink *nvJitLinkHandle;
typedef cv_jit_result nvJitLinkResult; /* an enumeration of the caller's as well */

#ifndef CV_JIT_MAJOR
#error "the library needs its major version"
#endif

#define FACE __attribute__((visibility("default")))

FACE nvJitLinkResult nvJitLinkCreate(nvJitLinkHandle *handle, uint32_t count, const char *const *options);
FACE nvJitLinkResult nvJitLinkDestroy(nvJitLinkHandle *handle);
FACE nvJitLinkResult nvJitLinkAddData(nvJitLinkHandle handle, int type, const void *data, size_t size,
                                      const char *name);
FACE nvJitLinkResult nvJitLinkAddFile(nvJitLinkHandle handle, int type, const char *path);
FACE nvJitLinkResult nvJitLinkComplete(nvJitLinkHandle handle);
FACE nvJitLinkResult nvJitLinkGetLinkedCubinSize(nvJitLinkHandle handle, size_t *size);
FACE nvJitLinkResult nvJitLinkGetLinkedCubin(nvJitLinkHandle handle, void *cubin);
FACE nvJitLinkResult nvJitLinkGetLinkedPtxSize(nvJitLinkHandle handle, size_t *size);
FACE nvJitLinkResult nvJitLinkGetLinkedPtx(nvJitLinkHandle handle, char *ptx);
FACE nvJitLinkResult nvJitLinkGetLinkedLTOIRSize(nvJitLinkHandle handle, size_t *size);
FACE nvJitLinkResult nvJitLinkGetLinkedLTOIR(nvJitLinkHandle handle, void *ir);
FACE nvJitLinkResult nvJitLinkGetErrorLogSize(nvJitLinkHandle handle, size_t *size);
FACE nvJitLinkResult nvJitLinkGetErrorLog(nvJitLinkHandle handle, char *log);
FACE nvJitLinkResult nvJitLinkGetInfoLogSize(nvJitLinkHandle handle, size_t *size);
FACE nvJitLinkResult nvJitLinkGetInfoLog(nvJitLinkHandle handle, char *log);
FACE nvJitLinkResult nvJitLinkVersion(unsigned int *major, unsigned int *minor);

nvJitLinkResult nvJitLinkCreate(nvJitLinkHandle *handle, uint32_t count, const char *const *options)
{
    cv_jit_link *link;
    cv_jit_result result;
    uintptr_t bits;

    if (!handle || !options)
        return CV_JIT_NULL_INPUT;
    *handle = NULL;
    bits = cv_jit_handle_new(&link);
    if (bits == 0)
        return CV_JIT_INTERNAL;
    result = cv_jit_open(link, count, options);
    cv_jit_release(bits);
    *handle = (nvJitLinkHandle)bits; /* also when it was refused: its log says why, and it is destroyed */
    return result;
}

nvJitLinkResult nvJitLinkDestroy(nvJitLinkHandle *handle)
{
    cv_jit_link *link;

    if (!handle || !*handle)
        return CV_JIT_NULL_INPUT;
    link = cv_jit_handle_get((uintptr_t)*handle);
    if (!link)
        return CV_JIT_INVALID_INPUT;
    cv_jit_close(link);
    cv_jit_handle_end((uintptr_t)*handle);
    *handle = NULL;
    return CV_JIT_SUCCESS;
}

nvJitLinkResult nvJitLinkAddData(nvJitLinkHandle handle, int type, const void *data, size_t size,
                                 const char *name)
{
    cv_jit_link *link;
    cv_jit_result result;

    if (!handle || (!data && size > 0))
        return CV_JIT_NULL_INPUT;
    link = cv_jit_handle_get((uintptr_t)handle);
    if (!link)
        return CV_JIT_INVALID_INPUT;
    result = cv_jit_add(link, type, data, size, name);
    cv_jit_release((uintptr_t)handle);
    return result;
}

nvJitLinkResult nvJitLinkAddFile(nvJitLinkHandle handle, int type, const char *path)
{
    cv_jit_link *link;
    cv_jit_result result;

    if (!handle || !path)
        return CV_JIT_NULL_INPUT;
    link = cv_jit_handle_get((uintptr_t)handle);
    if (!link)
        return CV_JIT_INVALID_INPUT;
    result = cv_jit_add_file(link, type, path);
    cv_jit_release((uintptr_t)handle);
    return result;
}

nvJitLinkResult nvJitLinkComplete(nvJitLinkHandle handle)
{
    cv_jit_link *link;
    cv_jit_result result;

    if (!handle)
        return CV_JIT_NULL_INPUT;
    link = cv_jit_handle_get((uintptr_t)handle);
    if (!link)
        return CV_JIT_INVALID_INPUT;
    result = cv_jit_complete(link);
    cv_jit_release((uintptr_t)handle);
    return result;
}

/* What can be asked for. */
typedef enum jit_query { JIT_CUBIN, JIT_PTX_TEXT, JIT_IR, JIT_ERROR_LOG, JIT_INFO_LOG } jit_query;

/* With 'size': how many bytes there are. Otherwise they are copied, as many as that. */
static cv_jit_result query(nvJitLinkHandle handle, jit_query what, size_t *size, void *out)
{
    cv_jit_link *link = cv_jit_handle_get((uintptr_t)handle);
    cv_jit_result result = CV_JIT_SUCCESS;
    const void *bytes = NULL;
    size_t len = 0;

    if (!link)
        return CV_JIT_INVALID_INPUT;
    if (what == JIT_CUBIN || (what == JIT_PTX_TEXT && link->settings.ptx)) {
        bool has = link->state == CV_JIT_LINKED && (what == JIT_PTX_TEXT) == link->settings.ptx;

        bytes = link->result;
        len = link->n_result;
        result = has ? CV_JIT_SUCCESS : CV_JIT_INTERNAL;
    } else if (what == JIT_PTX_TEXT || what == JIT_IR) {
        result = CV_JIT_INVALID_INPUT; /* there is none without -ptx; LTO-IR is never a result here */
    } else {
        const cv_jit_log *log = what == JIT_ERROR_LOG ? &link->error : &link->info;

        bytes = log->text;
        len = log->text ? log->size + 1 : 0;
    }
    if (result == CV_JIT_SUCCESS && size)
        *size = len;
    if (result == CV_JIT_SUCCESS && out && len > 0)
        memcpy(out, bytes, len);
    cv_jit_release((uintptr_t)handle);
    return result;
}

static cv_jit_result query_size(nvJitLinkHandle handle, jit_query what, size_t *size)
{
    return handle && size ? query(handle, what, size, NULL) : CV_JIT_NULL_INPUT;
}

static cv_jit_result query_bytes(nvJitLinkHandle handle, jit_query what, void *out)
{
    return handle && out ? query(handle, what, NULL, out) : CV_JIT_NULL_INPUT;
}

nvJitLinkResult nvJitLinkGetLinkedCubinSize(nvJitLinkHandle handle, size_t *size)
{
    return query_size(handle, JIT_CUBIN, size);
}

nvJitLinkResult nvJitLinkGetLinkedCubin(nvJitLinkHandle handle, void *cubin)
{
    return query_bytes(handle, JIT_CUBIN, cubin);
}

nvJitLinkResult nvJitLinkGetLinkedPtxSize(nvJitLinkHandle handle, size_t *size)
{
    return query_size(handle, JIT_PTX_TEXT, size);
}

nvJitLinkResult nvJitLinkGetLinkedPtx(nvJitLinkHandle handle, char *ptx)
{
    return query_bytes(handle, JIT_PTX_TEXT, ptx);
}

nvJitLinkResult nvJitLinkGetLinkedLTOIRSize(nvJitLinkHandle handle, size_t *size)
{
    return query_size(handle, JIT_IR, size);
}

nvJitLinkResult nvJitLinkGetLinkedLTOIR(nvJitLinkHandle handle, void *ir)
{
    return query_bytes(handle, JIT_IR, ir);
}

nvJitLinkResult nvJitLinkGetErrorLogSize(nvJitLinkHandle handle, size_t *size)
{
    return query_size(handle, JIT_ERROR_LOG, size);
}

nvJitLinkResult nvJitLinkGetErrorLog(nvJitLinkHandle handle, char *log)
{
    return query_bytes(handle, JIT_ERROR_LOG, log);
}

nvJitLinkResult nvJitLinkGetInfoLogSize(nvJitLinkHandle handle, size_t *size)
{
    return query_size(handle, JIT_INFO_LOG, size);
}

nvJitLinkResult nvJitLinkGetInfoLog(nvJitLinkHandle handle, char *log)
{
    return query_bytes(handle, JIT_INFO_LOG, log);
}

nvJitLinkResult nvJitLinkVersion(unsigned int *major, unsigned int *minor)
{
    if (!major || !minor)
        return CV_JIT_NULL_INPUT;
    *major = CV_JIT_MAJOR;
    *minor = CV_JIT_MINOR;
    return CV_JIT_SUCCESS;
}

/* Programs are compiled against one release and call its names. The names are those of the library alone: they
 * begin with two underscores, which no name of C may. */
#define NAME(function, release)                                                                              \
    FACE extern __typeof__(nvJitLink##function) cv_jit_##function##_##release __asm__(                       \
        "__nvJitLink" #function "_" #release) __attribute__((alias("nvJitLink" #function)));

#define NAMES(release)                                                                                       \
    NAME(Create, release)                                                                                    \
    NAME(Destroy, release)                                                                                   \
    NAME(AddData, release)                                                                                   \
    NAME(AddFile, release)                                                                                   \
    NAME(Complete, release)                                                                                  \
    NAME(GetLinkedCubinSize, release)                                                                        \
    NAME(GetLinkedCubin, release)                                                                            \
    NAME(GetLinkedPtxSize, release)                                                                          \
    NAME(GetLinkedPtx, release)                                                                              \
    NAME(GetErrorLogSize, release)                                                                           \
    NAME(GetErrorLog, release)                                                                               \
    NAME(GetInfoLogSize, release)                                                                            \
    NAME(GetInfoLog, release)

#if CV_JIT_MAJOR == 12
NAMES(12_0)
NAMES(12_1)
NAMES(12_2)
NAMES(12_3)
NAMES(12_4)
NAMES(12_5)
NAMES(12_6)
NAMES(12_7)
NAMES(12_8)
NAMES(12_9)
#else
#define NAMES_IR(release)                                                                                    \
    NAMES(release)                                                                                           \
    NAME(GetLinkedLTOIRSize, release)                                                                        \
    NAME(GetLinkedLTOIR, release)
NAMES_IR(13_0)
NAMES_IR(13_1)
NAMES_IR(13_2)
NAMES_IR(13_3)
NAMES_IR(13_4)
NAMES_IR(13_5)
#endif
