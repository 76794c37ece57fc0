/* `tollbox config`: the settings in force. */
#ifndef CONFIG_H
#define CONFIG_H

#include "base/conf.h"
#include "base/status.h"

/* Print c, where each value comes from, and what differs at each site in the
 * web server's files (web as in places_load()). ST_OK; else the log says why;
 * a web server of this host that cannot tell is no failure. */
enum status config_print(const struct conf *c, const char *web)
    __attribute__((warn_unused_result));

#endif
