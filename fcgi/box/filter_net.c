#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "box/filter_work.h"

/* Younger than some headers. */
#define OPT_TCP_AO_ADD_KEY 38

/* The type of a socket; what is above are flags. */
#define TYPE_BITS 0xf

/* Of this type in cmp's family only one protocol stays, by its number or as 0.
 */
static int
add_protocols(scmp_filter_ctx ctx, bool asked, struct scmp_arg_cmp cmp[3],
    scmp_datum_t type, scmp_datum_t protocol)
{
	const uint32_t action =
	    asked ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(EPROTONOSUPPORT);
	int rc;

	cmp[1] = SCMP_A1(SCMP_CMP_MASKED_EQ, TYPE_BITS, type);
	cmp[2] = SCMP_A2(SCMP_CMP_GT, (scmp_datum_t)IPPROTO_UDP, 0);
	rc = filter_add(ctx, action, SCMP_SYS(socket), 3, cmp);
	for (scmp_datum_t p = 1; rc == 0 && p <= IPPROTO_UDP; p++) {
		cmp[2] = SCMP_A2(SCMP_CMP_MASKED_EQ, LOW32, p);
		if (p != protocol)
			rc = filter_add(ctx, action, SCMP_SYS(socket), 3, cmp);
	}
	return rc;
}

/* Does this kernel have the family? Where IPv6 is switched off at boot it looks
 * for a module each time somebody asks. */
static bool
has_family(int family)
{
	OWN_FD int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd >= 0 || errno != EAFNOSUPPORT;
}

/*
 * A type or protocol that it does not know has the kernel run modprobe, as the
 * host's root and outside of every limit, whoever asks; and what is found
 * (SCTP, DCCP, L2TP) stays in the kernel and is no longer unknown. So nothing
 * of internet sockets gets there but TCP and UDP, which every kernel has built
 * in. libseccomp compares an argument once a rule, hence one rule a number.
 */
static int
add_inet(scmp_filter_ctx ctx, bool asked, int family)
{
	struct scmp_arg_cmp cmp[3] = { SCMP_A0(
	    SCMP_CMP_MASKED_EQ, LOW32, (scmp_datum_t)family) };
	uint32_t action;
	int rc = 0;

	if (!has_family(family))
		return filter_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT),
		    SCMP_SYS(socket), 1, cmp);
	for (scmp_datum_t type = 0; rc == 0 && type <= TYPE_BITS; type++) {
		if (type == SOCK_STREAM || type == SOCK_DGRAM)
			continue;
		action =
		    SCMP_ACT_ERRNO(type == SOCK_RAW ? EPERM : ESOCKTNOSUPPORT);
		cmp[1] = SCMP_A1(SCMP_CMP_MASKED_EQ, TYPE_BITS, type);
		rc = filter_add(ctx, asked ? SCMP_ACT_NOTIFY : action,
		    SCMP_SYS(socket), 2, cmp);
	}
	if (rc == 0)
		rc = add_protocols(ctx, asked, cmp, SOCK_STREAM, IPPROTO_TCP);
	if (rc == 0)
		rc = add_protocols(ctx, asked, cmp, SOCK_DGRAM, IPPROTO_UDP);
	return rc;
}

/* A key for TCP's authentication option names the algorithm, and the kernel
 * looks for a module of that name. Answered as by a kernel without it. */
static int
add_tcp_key(scmp_filter_ctx ctx)
{
	const struct scmp_arg_cmp cmp[] = {
		SCMP_A1(SCMP_CMP_MASKED_EQ, LOW32, (scmp_datum_t)IPPROTO_TCP),
		SCMP_A2(SCMP_CMP_MASKED_EQ, LOW32, OPT_TCP_AO_ADD_KEY),
	};

	return filter_add(
	    ctx, SCMP_ACT_ERRNO(ENOPROTOOPT), SCMP_SYS(setsockopt), 2, cmp);
}

/* An option of sockets in general that is answered with error. */
static int
add_option(scmp_filter_ctx ctx, uint32_t error, scmp_datum_t option)
{
	const struct scmp_arg_cmp cmp[] = {
		SCMP_A1(SCMP_CMP_MASKED_EQ, LOW32, SOL_SOCKET),
		SCMP_A2(SCMP_CMP_MASKED_EQ, LOW32, option),
	};

	return filter_add(
	    ctx, SCMP_ACT_ERRNO(error), SCMP_SYS(setsockopt), 2, cmp);
}

/*
 * Who closes a socket that lingers waits. That may be a thread of the kernel
 * that closes for all of the host (for sockets that lie unread in each other),
 * so nothing lingers: the call does nothing and seems to work. The program's
 * PID 1 may not either (sandbox-scripts/init_seal.c).
 *
 * A filter of a socket takes of what the host has for all compiled filters
 * (net.core.bpf_jit_limit), and no limit of a run counts it.
 */
static int
add_options(scmp_filter_ctx ctx)
{
	static const scmp_datum_t filters[] = { SO_ATTACH_FILTER, SO_ATTACH_BPF,
		SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF };
	int rc = add_option(ctx, 0, SO_LINGER);

	for (size_t i = 0; rc == 0 && i < sizeof(filters) / sizeof(filters[0]);
	     i++)
		rc = add_option(ctx, EPERM, filters[i]);
	return rc;
}

int
filter_net_add(scmp_filter_ctx ctx, bool asked)
{
	int rc = add_inet(ctx, asked, AF_INET);

	if (rc == 0)
		rc = add_inet(ctx, asked, AF_INET6);
	if (rc == 0)
		rc = add_options(ctx);
	return rc < 0 ? rc : add_tcp_key(ctx);
}
