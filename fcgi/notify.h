/* Word to systemd (sd_notify(3)), if it asked for any. */
#ifndef NOTIFY_H
#define NOTIFY_H

/* Send lines like "READY=1". Failures are nobody's concern. */
void notify_send(const char *text);

#endif
