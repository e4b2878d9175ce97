/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "model/hosts.h"

#include <stddef.h>
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

const char *md_kernel_of(md_half half)
{
    return half == MD_CALLER ? "_Z6callerPi" : half == MD_PRINTER ? "_Z7printeri" : NULL;
}

/* "'*' in a list stands for any text, also several times and in the middle; there are no other wildcards, and
 * the whole name has to match." */
static bool matches(const char *pattern, const char *name)
{
    if (*pattern == '*')
        return matches(pattern + 1, name) || (*name && matches(pattern, name + 1));
    return *pattern == *name && (!*name || matches(pattern + 1, name + 1));
}

/* "When every input is a host object with these sections, or an archive of such"; "the object of an earlier
 * device link" has none, nor have whole programs; "when the lists name no kernel at all, all stay". */
static bool are_told(const md_object *object, unsigned count)
{
    bool any = false;

    for (unsigned i = 0; i < count; i++) {
        bool takes_part = md_takes_part(&object[i]);

        if (object[i].half == MD_FINISHED || object[i].half == MD_WHOLE ||
            (object[i].host && !object[i].lists) || (takes_part && !object[i].host))
            return false;
        any = any || (object[i].launched[0] && !object[i].system);
    }
    return any;
}

bool md_kernel_stays(const md_object *object, unsigned count, const char *kernel)
{
    if (!are_told(object, count))
        return true;
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < 2 && md_takes_part(&object[i]); k++)
            if (object[i].launched[k] && matches(object[i].launched[k], kernel))
                return true;
    return false;
}

bool md_can_be_linked(const md_object *object, unsigned count)
{
    unsigned half[3] = { 0 };

    /* The caller names a variable of the other half as well. "Variables are never removed, referenced or
     * not": one that is missing is an error although only dead code refers to it. */
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
