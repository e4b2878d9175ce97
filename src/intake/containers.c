/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What device code lies in, each kind once: asked by the walk, and by whoever wants to know what a file is. A
 * new kind is a row of spec/containers.def and a file beside this one. */
#include "intake/region.h"

static const cv_container_ops *const CONTAINERS[] = {
#define CONTAINER(name) &cv_kind_##name,
#include "containers.def"
#undef CONTAINER
};

const size_t cv_n_containers = CV_COUNT(CONTAINERS);

const cv_container_ops *cv_containers_row(size_t index)
{
    return CV_AT(CONTAINERS, index);
}

const cv_container_ops *cv_containers_probe(cv_span head, bool *more)
{
    *more = false;
    for (size_t i = 0; i < CV_COUNT(CONTAINERS); i++) {
        const cv_container_ops *row = CV_AT(CONTAINERS, i);
        cv_probe_result result = row->probe(head);

        *more = result == CV_PROBE_MORE;
        if (result == CV_PROBE_YES || *more)
            return row;
    }
    return &cv_kind_raw;
}

const cv_container_ops *cv_containers_hit(cv_span head)
{
    for (size_t i = 0; i < CV_COUNT(CONTAINERS); i++) {
        const cv_container_ops *row = CV_AT(CONTAINERS, i);

        if (row->searched && row->probe(head) == CV_PROBE_YES)
            return row;
    }
    return NULL;
}

const cv_container_ops *cv_containers_of(cuvet_kind kind)
{
    for (size_t i = 0; i < CV_COUNT(CONTAINERS); i++) {
        const cv_container_ops *row = CV_AT(CONTAINERS, i);

        if (row->kind == kind)
            return row;
    }
    return &cv_kind_raw;
}
