/* A lstopo file made harmless before hwloc reads it: well-formed, without entities and references,
 * and with nothing in it but what the map needs. */
#ifndef CB_TOPOLOGY_HWLOC_TEXT_H
#define CB_TOPOLOGY_HWLOC_TEXT_H

#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"

/* Appends to out the file written anew, and says the version of its format ("2.0"; "1.0" for files
 * that state none). Errors: CB_E_INPUT for what is no such file, with the line; CB_E_MEMORY. */
int cb_hwloc_text_clean(const char *name, const char *text, size_t length_bytes,
                        struct cb_strbuf *out, char version[16], struct cb_error *err);

#endif
