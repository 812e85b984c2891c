#ifndef C_HANGING_RESOLVER_H
#define C_HANGING_RESOLVER_H

/// The host whose look-up hangs.
extern const char *const lade_hanging_host;

/// Makes look-ups of the host hang from now on, and calls `began` from each as it begins.
void lade_hanging_host_arm(void (*began)(void));

/// Lets every look-up of the host fail, those that hang and those to come.
void lade_hanging_host_release(void);

#endif
