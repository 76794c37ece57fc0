/* In the place of poll(2) in a sandbox-init: it looks at one descriptor after
 * the other, as the kernel does, but with a pause between, in which things
 * happen. What holds with it needs no luck. */
#include <poll.h>
#include <time.h>

#define PAUSE_MS 1

int
poll(struct pollfd *p, nfds_t n, int ms)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000 };
	const struct timespec none = { 0 };
	int ready = 0;

	do {
		for (nfds_t i = 0; i < n; i++) {
			p[i].revents = 0;
			if (ppoll(&p[i], 1, &none, NULL) > 0)
				ready++;
			(void)ppoll(NULL, 0, &pause, NULL);
			if (ms > 0)
				ms -= ms < PAUSE_MS ? ms : PAUSE_MS;
		}
	} while (ready == 0 && ms != 0);
	return ready;
}
