/* The options that state a training job, shared by all that judge one, as an argp child. */
#ifndef CB_CLI_WORKLOAD_OPTIONS_H
#define CB_CLI_WORKLOAD_OPTIONS_H

#include <argp.h>

#include "cli/cli.h"
#include "model/workload.h"
#include "reference/links.h"

/* Input of the child: give its address in state->child_inputs. */
struct cb_workload_input {
    struct cb_cli_input base;
    struct cb_workload workload;                  /* whole once the command line has been parsed */
    struct cb_workload_texts line;                /* what the command line stated */
    const char *file;                             /* of --workload, or NULL */
    const struct cb_link_reference *nominal_link; /* of --nominal-link, or NULL */
};

/* Options: --workload, one for every field of model/workload_fields.h, --nominal-bandwidth,
 * --nominal-link; --steps for --communications. Static. */
extern const struct argp cb_workload_argp;

/* Nothing stated. */
void cb_workload_input_init(struct cb_workload_input *input);

#endif
