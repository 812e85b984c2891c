// Nothing to call: the library works by being preloaded (LD_PRELOAD).
