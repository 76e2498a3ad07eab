#include "cli/offer_options.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/units.h"

enum { KEY_GPU = 0x4001, KEY_GPUS_PER_NODE, KEY_NODES, KEY_INTRA, KEY_INTER, KEY_NICS };

static const struct argp_option options[] = {
    {.doc = "An offer, judged by its data sheets before anything is rented:", .group = 16},
    {.name = "gpu",
     .key = KEY_GPU,
     .arg = "NAME",
     .doc = "Its GPUs: A100-SXM4-80GB, H200, rtx-4090 (--list gpus)"},
    {.name = "gpus-per-node", .key = KEY_GPUS_PER_NODE, .arg = "N", .doc = "GPUs of a node"},
    {.name = "nodes", .key = KEY_NODES, .arg = "N", .doc = "Nodes (default 1)"},
    {.name = "intra",
     .key = KEY_INTRA,
     .arg = "LINK",
     .doc = "Between the GPUs of a node: nvlink3, pcie4 (--list links; default: the card's own)"},
    {.name = "inter",
     .key = KEY_INTER,
     .arg = "LINK",
     .doc = "Between nodes: roce-100G, ib-ndr, eth-10G, efa-400 (--list links)"},
    {.name = "nics-per-node",
     .key = KEY_NICS,
     .arg = "N",
     .doc = "Ports of that link per node (default 1, or all that the link's row counts)"},
    {0},
};

#define FIELD(member) offsetof(struct cb_offer_terms, member)

/* What is read how into what. */
static const struct target {
    int key;
    const char *option;
    size_t offset;
    long high; /* of a number; 0: a text */
} targets[] = {
    {KEY_GPU, "--gpu", FIELD(gpu), 0},
    {KEY_GPUS_PER_NODE, "--gpus-per-node", FIELD(gpus_per_node), 1024},
    {KEY_NODES, "--nodes", FIELD(nodes), CB_OFFER_GPUS_MAX},
    {KEY_INTRA, "--intra", FIELD(intra), 0},
    {KEY_INTER, "--inter", FIELD(inter), 0},
    {KEY_NICS, "--nics-per-node", FIELD(ports_per_node), 1024},
};

static error_t store(struct cb_offer_input *input, const struct target *target,
                     const char *argument)
{
    char *place = (char *)&input->terms + target->offset;
    struct cb_error err;
    long number;
    if (target->high == 0) {
        memcpy(place, &argument, sizeof(argument));
        return 0;
    }
    if (cb_parse_integer(argument, 1, target->high, &number, &err))
        return cb_cli_reject(input, target->option, argument, &err);
    memcpy(place, &(int){(int)number}, sizeof(int));
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct cb_offer_input *input = state->input;
    if (key == ARGP_KEY_ERROR) {
        cb_cli_pass_error(state, &input->base);
        return 0;
    }
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
        if (targets[i].key == key)
            return store(input, &targets[i], argument);
    return ARGP_ERR_UNKNOWN;
}

const struct argp cb_offer_argp = {.options = options, .parser = parse};

void cb_offer_input_init(struct cb_offer_input *input)
{
    memset(input, 0, sizeof(*input));
    cb_error_clear(&input->base.error);
}
