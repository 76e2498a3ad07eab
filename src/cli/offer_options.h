/* The options that state an offer, as an argp child. */
#ifndef CB_CLI_OFFER_OPTIONS_H
#define CB_CLI_OFFER_OPTIONS_H

#include <argp.h>

#include "cli/cli.h"
#include "offer/offer.h"

/* Input of the child: give its address in state->child_inputs. */
struct cb_offer_input {
    struct cb_cli_input base;
    struct cb_offer_terms terms; /* texts borrowed from the command line */
};

/* Options: --gpu, --gpus-per-node, --nodes, --intra, --inter, --nics-per-node. Static. */
extern const struct argp cb_offer_argp;

/* Nothing stated. */
void cb_offer_input_init(struct cb_offer_input *input);

#endif
