/* Giving root up for good, and looking whether it is really gone. */
#ifndef DROP_H
#define DROP_H

#include <sys/types.h>

#include "base/status.h"

/* Become uid and gid with no other group, no capability in any set and no way
 * to gain one, and refuse to be traced or dumped. Everything is read back
 * afterwards. ST_OK; else ST_REFUSED (uid or gid is root's, or something is
 * left) or ST_IO, logged: the process must then end. */
enum status drop_privileges(uid_t uid, gid_t gid)
    __attribute__((warn_unused_result));

/* The same to the service's user, unless root is given up already: the ledger
 * and the keys are his, and what root would make beside them he could not open.
 * ST_NOT_FOUND, logged: there is no such user. */
enum status drop_to_user(const char *name) __attribute__((warn_unused_result));

#endif
