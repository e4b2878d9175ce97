/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Descriptions of images: JSON that nobody vouches for, read by jansson in the cage of cuvet-package. */
#include "image.h"

#include <jansson.h>

#include <string.h>

/* A key that comes twice means one thing to some readers, and another to others. */
static json_t *load(const char *bytes, size_t size)
{
    return json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
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
        const json_t *layers = json_object_get(one, "Layers");

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
        const char *digest = json_string_value(json_object_get(layer, "digest"));
        const char *type = json_string_value(json_object_get(layer, "mediaType"));

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
        const char *digest = json_string_value(json_object_get(manifest, "digest"));

        if (!digest)
            return false;
        image_add_description(image, digest);
    }
    return true;
}

bool image_take_oci(package_image *image, const char *bytes, size_t size)
{
    json_t *all = load(bytes, size);
    const json_t *layers = json_object_get(all, "layers"), *manifests = json_object_get(all, "manifests");
    bool ok = json_is_array(layers) != json_is_array(manifests);

    if (ok)
        ok = json_is_array(layers) ? take_layers(image, layers) : take_index(image, manifests);
    json_decref(all);
    return ok;
}
