/* The end of a paid request that is no run's answer. */
#ifndef REFUSAL_H
#define REFUSAL_H

#include "web/run_state.h"

/* Write r->f into r->a in its right form: 402s carry the requirements, a
 * failed settlement the payment response too. A run that was given up has its
 * answer already. */
void refusal_put(struct run *r);

#endif
