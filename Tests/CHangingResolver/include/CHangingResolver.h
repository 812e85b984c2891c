#ifndef C_HANGING_RESOLVER_H
#define C_HANGING_RESOLVER_H

/// The end of the names whose look-ups are under the control of tests; unless one hangs, it has no address.
#define lade_hanging_suffix ".hanging.lade.test"

/// Makes look-ups of a name with that end hang from now on, and calls `began` from each as it begins.
///
/// Tests that run at the same time need different names. Returns 0 when the name hangs already or too many do.
int lade_hanging_host_arm(const char *host, void (*began)(void));

/// Lets every look-up of the name fail, current and future.
void lade_hanging_host_release(const char *host);

#endif
