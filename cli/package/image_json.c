/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Descriptions of images: JSON that nobody vouches for, read by jansson in the cage of cuvet-package. */
#include "image.h"

#include <jansson.h>

#include <ctype.h>
#include <string.h>

/* A key that comes twice means one thing to some readers, and another to others. */
static json_t *load(const char *bytes, size_t size)
{
    return json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
}

/* Is it this key for readers that do not tell small letters from capitals, as Go's library does, which takes
 * two more signs for letters? */
static bool is_like(const char *key, const char *wanted)
{
    static const char LONG_S[] = "\xc5\xbf", KELVIN[] = "\xe2\x84\xaa";

    for (; *wanted; wanted++) {
        if (*wanted == 's' && strncmp(key, LONG_S, strlen(LONG_S)) == 0)
            key += strlen(LONG_S);
        else if (*wanted == 'k' && strncmp(key, KELVIN, strlen(KELVIN)) == 0)
            key += strlen(KELVIN);
        else if (tolower((unsigned char)*key) == tolower((unsigned char)*wanted))
            key++;
        else
            return false;
    }
    return *key == '\0';
}

/* The value of a key. One that is like it, and not it, is a finding: some readers take the last of both. */
static const json_t *get(package_image *image, json_t *object, const char *wanted)
{
    const char *key;
    json_t *value;

    json_object_foreach (object, key, value)
        if (is_like(key, wanted) && strcmp(key, wanted) != 0)
            image_set_fault(image,
                            "has a description with a key in other letters: what is in its images depends "
                            "on the reader");
    return json_object_get(object, wanted);
}

static bool take_names(package_image *image, const json_t *layers)
{
    json_t *name;
    size_t at;

    image_begin(image, false);
    json_array_foreach (layers, at, name) {
        if (!json_is_string(name))
            return false;
        image_add_layer(image, json_string_value(name), false, false);
    }
    return true;
}

bool image_take_docker(package_image *image, const char *bytes, size_t size)
{
    json_t *all = load(bytes, size), *one;
    bool ok = json_is_array(all);
    size_t at;

    json_array_foreach (all, at, one) {
        const json_t *layers = get(image, one, "Layers");

        ok = json_is_array(layers) && take_names(image, layers) && ok;
    }
    json_decref(all);
    return ok;
}

static bool take_layers(package_image *image, const json_t *layers)
{
    json_t *layer;
    size_t at;

    image_begin(image, true);
    json_array_foreach (layers, at, layer) {
        const char *digest = json_string_value(get(image, layer, "digest"));
        const char *type = json_string_value(get(image, layer, "mediaType"));

        if (!digest)
            return false;
        image_add_layer(image, digest, true, type && strstr(type, "encrypted"));
    }
    return true;
}

static bool take_index(package_image *image, const json_t *manifests)
{
    json_t *manifest;
    size_t at;

    json_array_foreach (manifests, at, manifest) {
        const char *digest = json_string_value(get(image, manifest, "digest"));

        if (!digest)
            return false;
        image_add_description(image, digest);
    }
    return true;
}

bool image_take_oci(package_image *image, const char *bytes, size_t size)
{
    json_t *all = load(bytes, size);
    const json_t *layers = get(image, all, "layers"), *manifests = get(image, all, "manifests");
    bool ok = json_is_array(layers) != json_is_array(manifests);

    if (!all)
        image_set_fault(image, "has a description that cannot be read");
    if (layers && manifests)
        image_set_fault(image,
                        "has a description that is an image for some readers, and for others an index");
    if (ok)
        ok = json_is_array(layers) ? take_layers(image, layers) : take_index(image, manifests);
    json_decref(all);
    return ok;
}
