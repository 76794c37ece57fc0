/*
 * did:web: the name that a public URL has as an issuer, and the URL that such a
 * name's document is found at. Pure.
 *
 *   https://api.example.com          did:web:api.example.com
 *   https://example.com:8443/run     did:web:example.com%3A8443:run
 */
#ifndef DID_H
#define DID_H

#include "base/buf.h"
#include "base/status.h"

#define DID_PREFIX "did:web:"
#define DID_BYTES 1600 /* the DID of any public_url fits, with its NUL */

/* Append the DID of a public URL (http or https, without a slash at its end;
 * base/conf_form.c has judged its form). The host's letter case is dropped. */
void did_put(struct buf *out, const char *public_url);

/* Append the https URL of did's document, in two parts: the origin, and the
 * path from its slash on. ST_OK, the status of a buf, or ST_FORMAT if did is no
 * did:web name that can be one: what it says is another's word, and must not
 * reach another place of the URL. */
enum status did_document_url(struct buf *origin, struct buf *path,
    const char *did) __attribute__((warn_unused_result));

#endif
