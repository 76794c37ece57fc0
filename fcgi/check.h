/* `tollbox check`: what on this host is missing or weak. */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>

/* Judge the settings (file at path, or NULL; environment over it), the users,
 * the host and the facilitator, one line on stdout for each thing, a wrong one
 * with its mend. True if all holds. */
bool check_all(const char *path, char *const *environment);

#endif
