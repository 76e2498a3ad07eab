/* A training job in a YAML file: one mapping, its keys those of model/workload_fields.h, its values
 * spelled as on the command line.
 *
 *     model: llama-8b
 *     scheme: zero3+lora
 *     micro-batch: 2
 *     total-tokens: 10B
 */
#ifndef CB_OFFER_WORKLOAD_FILE_H
#define CB_OFFER_WORKLOAD_FILE_H

#include <stddef.h>

#include "base/error.h"
#include "model/workload.h"

#define CB_WORKLOAD_FILE_MAX_BYTES (16u << 10)

/* Reads length_bytes of text (which need not end in a NUL) that is called name in messages and in
 * texts->file, borrowed. Nothing is interpreted yet: cb_workload_texts_apply does that. Errors:
 * CB_E_INPUT with the line for what is no YAML, no flat mapping of known keys, has a key twice, a
 * second document, or is too large; CB_E_MEMORY. *texts only on success. */
int cb_workload_file_read(const char *name, const char *text, size_t length_bytes,
                          struct cb_workload_texts *texts, struct cb_error *err);

/* The same of a file. Errors: also CB_E_IO. */
int cb_workload_file_load(const char *path, struct cb_workload_texts *texts, struct cb_error *err);

#endif
