/*
 * A facilitator's answer of any bytes: the first two choose the call and the
 * status, the rest is the body. What must hold whatever comes in is asserted.
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "pay/facilitator_answer.h"
#include "pay/facilitator_kinds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_reason(const struct facilitator_answer *a)
{
	size_t i;

	assert(memchr(a->reason, '\0', sizeof(a->reason)) != NULL);
	for (i = 0; a->reason[i] != '\0'; i++)
		assert(a->reason[i] >= 0x20 && a->reason[i] < 0x7f);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const long statuses[] = { 200, 200, 400, 500, 201, 302, 403,
		429 };
	struct facilitator_answer a;
	struct facilitator_reply r;
	enum facilitator_call call;
	char note[FACILITATOR_NOTE];
	struct facilitator_kinds *kinds = NULL;
	bool ok;

	if (size < 2)
		return 0;
	call = data[0] % 2 == 0 ? FACILITATOR_SETTLE : FACILITATOR_VERIFY;
	r = (struct facilitator_reply){ .http = statuses[data[1] % 8],
		.body = (const char *)data + 2,
		.len = size - 2 };
	ok = r.http / 100 == 2;
	if (facilitator_answer_init(&a) != ST_OK)
		return 0;
	facilitator_answer_read(&a, call, &r);
	check_reason(&a);
	assert(a.transaction != NULL && a.http == r.http);
	if (a.verdict == FACILITATOR_YES)
		assert(ok && (call == FACILITATOR_VERIFY ||
				 a.transaction[0] != '\0'));
	if (a.verdict == FACILITATOR_NO)
		assert(a.reason[0] != '\0' && a.transaction[0] == '\0');
	assert(a.verdict != FACILITATOR_NOT_SENT);
	if (facilitator_answer_pending(&a))
		assert(a.verdict == FACILITATOR_UNKNOWN);
	facilitator_answer_free(&a);
	facilitator_answer_note(note, &r);
	assert(memchr(note, '\0', sizeof(note)) != NULL);
	if (facilitator_kinds_open(&kinds) != ST_OK)
		return 0;
	if (facilitator_kinds_take(kinds, &r) != ST_OK)
		assert(!facilitator_kinds_known(kinds));
	facilitator_kinds_close(kinds);
	return 0;
}
