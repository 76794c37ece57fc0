#include "web/health.h"

#include "base/json.h"
#include "box/client.h"

static void
head(struct http_reply *a, int status)
{
	a->status = status;
	http_header(a, "Content-Type", "application/json");
	http_header(a, "Cache-Control", "no-store");
}

static const char *
mechanism(uint32_t m)
{
	if (m == 0)
		return "cgroup2";
	return m == 1 ? "cgroup1" : "meter";
}

void
health_put(struct http_reply *a, struct context *g)
{
	struct wire_state s;
	struct buf *out = &a->body;

	/* Alive but without sandboxes is not healthy: nothing can be sold. */
	if (client_state(g->boxer, &s) != ST_OK) {
		head(a, 503);
		http_header(a, "Retry-After", "2");
		buf_adds(out,
		    "{\"status\":\"degraded\",\"version\":\"" TOLLBOX_VERSION
		    "\",\"queue\":0,\"slots\":0,\"pool\":{},"
		    "\"memoryLimit\":null}");
		return;
	}
	head(a, 200);
	buf_adds(out, "{\"status\":\"ok\",\"version\":\"" TOLLBOX_VERSION "\"");
	buf_addf(
	    out, ",\"queue\":%u,\"slots\":%u,\"pool\":{", s.queue, s.slots);
	for (uint32_t i = 0; i < s.n_pools; i++) {
		s.pools[i].runtime[WIRE_NAME - 1] = '\0';
		json_key(out, s.pools[i].runtime);
		buf_addf(out, "{\"warm\":%u,\"starting\":%u}", s.pools[i].warm,
		    s.pools[i].starting);
	}
	buf_addf(out, "},\"memoryLimit\":\"%s\"}", mechanism(s.mechanism));
}

void
health_version(struct http_reply *a)
{
	head(a, 200);
	buf_adds(&a->body,
	    "{\"name\":\"tollbox\",\"version\":\"" TOLLBOX_VERSION
	    "\",\"commit\":\"" TOLLBOX_COMMIT "\"}");
}

void
health_put_short(struct http_reply *a, struct context *g)
{
	struct wire_state s;
	bool ok = client_state(g->boxer, &s) == ST_OK;

	head(a, ok ? 200 : 503);
	if (!ok)
		http_header(a, "Retry-After", "2");
	buf_adds(
	    &a->body, ok ? "{\"status\":\"ok\"}" : "{\"status\":\"degraded\"}");
}

void
health_version_short(struct http_reply *a)
{
	head(a, 200);
	buf_adds(&a->body, "{\"version\":\"" TOLLBOX_VERSION "\"}");
}
