/* `tollbox verify-receipt`: is this receipt what it says? */
#ifndef VERIFY_H
#define VERIFY_H

#define VERIFY_USAGE                                                           \
	"  verify-receipt FILE [--jwks FILE|URL] [--request FILE]\n"           \
	"                 [--answer FILE] [--ca FILE]\n"                       \
	"                       is a receipt signed by its issuer, and is "    \
	"it\n"                                                                 \
	"                       that of this request and this answer?\n"

/* argv is the command's: argv[1] is its name. Prints a line for each thing
 * that was looked at. Gives the exit status: 0, all holds; 1, something does
 * not; 2, usage; 3, it could not be looked at (a file or URL). */
int verify_command(int argc, char **argv);

#endif
