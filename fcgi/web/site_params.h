/*
 * The TOLLBOX_* parameters that a location gives, of a request or of a web
 * server's file. Written by the operator: a client's headers arrive as HTTP_*.
 */
#ifndef SITE_PARAMS_H
#define SITE_PARAMS_H

#include "base/buf.h"
#include "base/status.h"

struct site_params {
	/* "NAME", NUL, "VALUE", NUL for each, in their order: two locations
	 * with the same ones are the same site. */
	struct buf text;
};

void site_params_init(struct site_params *p);
void site_params_free(struct site_params *p);

/* Remember one (copied). What goes wrong shows in p->text. */
void site_params_add(
    struct site_params *p, const char *name, const char *value);

/* The value, or NULL; ctx is a struct site_params. An empty one stays empty,
 * and is an error of its own: a web server's variable that came out empty must
 * not send the money to the payee of the config file. */
const char *site_params_get(void *ctx, const char *name);

/* Are these parameters that a location may set, each given once? ST_OK, or
 * ST_FORMAT with f naming the first that is not. */
enum status site_params_judge(const struct site_params *p, struct fault *f)
    __attribute__((warn_unused_result));

#endif
