extern int cb_placeholder; /* to be written */
