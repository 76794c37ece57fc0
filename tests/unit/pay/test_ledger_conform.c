/* Every store there is, held against what ledger.h says. */
#include "ledger_conform.h"

#include "base/log.h"

int
main(void)
{
	log_open("test", LOG_LEVEL_ERR);
	return ledger_conform(&sqlite_kind);
}
