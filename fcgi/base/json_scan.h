/*
 * The grammar of RFC 8259 over raw bytes: what json_parse() asks before it lets
 * cJSON near a text. Allocates nothing, does not recurse.
 */
#ifndef JSON_SCAN_H
#define JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/status.h"

/* Nesting that no caps can raise: cJSON recurses, and gives up at 1000. */
#define JSON_SCAN_DEPTH 1000

/* Is text one JSON text, strict as json_parse() promises but for duplicate
 * names? ST_OK, else ST_FORMAT with reason and place in f (may be NULL; f->st
 * is left alone). *nul tells if a string holds the escape \u0000. */
enum status json_scan(bool *nul, const char *text, size_t len,
    const struct json_caps *caps, struct fault *f)
    __attribute__((warn_unused_result));

/* Where the name of the nth object member (from 0, in the order of the text)
 * begins in a text that json_scan() accepts; len if there are fewer. */
size_t json_scan_member(const char *text, size_t len, size_t nth);

#endif
