/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "model/hosts.h"

#include <string.h>

static bool is_input(const md_object *object)
{
    return object->half != MD_FINISHED && object->half != MD_WHOLE;
}

bool md_takes_part(const md_object *object)
{
    return is_input(object) && !object->already && !object->not_needed;
}

/* "Host objects whose modules are defined by any other input are left out, in whichever order" */
static void find_linked(md_object *object, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < count; k++)
            if (is_input(&object[i]) && object[i].host && object[i].module[0] &&
                object[k].half == MD_FINISHED && strcmp(object[k].module, object[i].module) == 0)
                object[i].already = true;
}

void md_take_part(md_object *object, unsigned count, bool code)
{
    bool called = false, defined = false, others = false;

    find_linked(object, count);
    /* "linked only when some input refers to a function that no input defines and the driver does not
     * provide" */
    for (unsigned i = 0; i < count; i++) {
        if (object[i].system || !is_input(&object[i]))
            continue;
        others = others || object[i].host;
        if (object[i].already)
            continue;
        called = called || object[i].half == MD_CALLER;
        defined = defined || object[i].half == MD_CALLED;
    }
    for (unsigned i = 0; i < count; i++)
        object[i].not_needed = object[i].system && is_input(&object[i]) && !object[i].already &&
                               !(code ? called && !defined : others);
}

bool md_can_be_linked(const md_object *object, unsigned count)
{
    unsigned half[3] = { 0 };

    for (unsigned i = 0; i < count; i++)
        if (md_takes_part(&object[i]))
            half[object[i].half]++;
    return half[MD_CALLER] <= 1 && half[MD_CALLED] <= 1 && half[MD_PRINTER] <= 1 &&
           (half[MD_CALLED] || !half[MD_CALLER]);
}

bool md_is_module_name(const char *name)
{
    static const char LEGAL[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

    return name[0] && strspn(name, LEGAL) == strlen(name);
}
