/* The options that state a training job, shared by run and judge as an argp child. */
#ifndef CB_CLI_WORKLOAD_OPTIONS_H
#define CB_CLI_WORKLOAD_OPTIONS_H

#include <argp.h>

#include "cli/cli.h"
#include "judge/judge.h"

/* Input of the child: give its address in state->child_inputs. */
struct cb_workload_input {
    struct cb_cli_input base;
    struct cb_workload workload;
};

/* Options: --parameters, --communications (alias --steps), --total-time, --step-time,
 * --compute-time,
 * --tokens, --threshold, --nominal-bandwidth. Static. */
extern const struct argp cb_workload_argp;

/* Nothing stated. */
void cb_workload_input_init(struct cb_workload_input *input);

#endif
