/*
 * No name twice in an object. RFC 8259 leaves open what a duplicate means, so
 * that two readers of one text could see two different requests.
 */
#ifndef JSON_UNIQUE_H
#define JSON_UNIQUE_H

#include <stddef.h>

#include "base/status.h"

struct cJSON;

/* ST_OK, ST_NOMEM, or ST_FORMAT with name and place in f (may be NULL; f->st
 * is left alone). root is the tree made of text, which json_scan() accepts. */
enum status json_unique(const struct cJSON *root, const char *text, size_t len,
    struct fault *f) __attribute__((warn_unused_result));

#endif
