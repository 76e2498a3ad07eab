#include "measure/plan.h"

/* Large enough that a link's rate shows, small enough that a gigabit link does it in a blink. */
static const uint64_t link_bytes = 4u << 20;

void cb_plan_fini(struct cb_plan *plan)
{
    cb_vec_fini(&plan->items);
}

static int add_item(struct cb_plan *plan, const struct cb_item *item)
{
    struct cb_item *place = cb_vec_add(&plan->items);
    if (!place)
        return CB_E_MEMORY;
    *place = *item;
    return CB_OK;
}

/* ---- links ---- */

int cb_plan_link_rounds(int nodes)
{
    return nodes < 2 ? 0 : nodes == 2 ? 1 : nodes % 2 ? 3 : 2;
}

/* Edge e joins node e and the next one. Even edges make round 0, odd ones round 1; in an odd ring
 * the last edge would meet edge 0 and gets a round of its own. */
int cb_plan_link_partner(int nodes, int round, int node, bool *first)
{
    int edges = nodes == 2 ? 1 : nodes;
    int sides[2] = {node, (node + nodes - 1) % nodes};
    for (int i = 0; i < 2; i++) {
        int edge = sides[i];
        if (edge >= edges)
            continue;
        int edge_round = nodes % 2 && edge == nodes - 1 ? 2 : edge % 2;
        if (edge_round != round)
            continue;
        *first = i == 0;
        return *first ? (node + 1) % nodes : edge;
    }
    return -1;
}

static int add_links(const struct cb_plan_request *request, struct cb_plan *plan)
{
    for (int round = 0; round < cb_plan_link_rounds(request->nodes); round++) {
        struct cb_item item = {
            .kind = CB_ITEM_LINK,
            .scope = CB_SCOPE_INTER_NODE,
            .step = {.motion = CB_MOTION_ONE_WAY,
                     .dtype = CB_DTYPE_FLOAT32,
                     .size_bytes = link_bytes},
            .group_size = 2,
            .round = round,
        };
        int rc = add_item(plan, &item);
        if (rc)
            return rc;
    }
    return CB_OK;
}

/* ---- kernels ---- */

struct planned_kernel {
    enum cb_kernel kernel;
    enum cb_dtype dtype;
};

static const struct planned_kernel host_kernels[] = {
    {CB_KERNEL_GEMM, CB_DTYPE_FLOAT32}, {CB_KERNEL_GEMM, CB_DTYPE_FLOAT64},
    {CB_KERNEL_READ, CB_DTYPE_FLOAT64}, {CB_KERNEL_WRITE, CB_DTYPE_FLOAT64},
    {CB_KERNEL_COPY, CB_DTYPE_FLOAT64}, {CB_KERNEL_TRIAD, CB_DTYPE_FLOAT64},
};

/* What training computes in first. */
static const struct planned_kernel gpu_kernels[] = {
    {CB_KERNEL_GEMM, CB_DTYPE_BFLOAT16},    {CB_KERNEL_GEMM, CB_DTYPE_FLOAT16},
    {CB_KERNEL_GEMM, CB_DTYPE_FLOAT8_E4M3}, {CB_KERNEL_GEMM, CB_DTYPE_TF32},
    {CB_KERNEL_GEMM, CB_DTYPE_FLOAT32},     {CB_KERNEL_GEMM, CB_DTYPE_FLOAT64},
    {CB_KERNEL_READ, CB_DTYPE_FLOAT32},     {CB_KERNEL_WRITE, CB_DTYPE_FLOAT32},
    {CB_KERNEL_COPY, CB_DTYPE_FLOAT32},     {CB_KERNEL_TRIAD, CB_DTYPE_FLOAT32},
    {CB_KERNEL_H2D, CB_DTYPE_FLOAT32},      {CB_KERNEL_D2H, CB_DTYPE_FLOAT32},
    {CB_KERNEL_H2D_D2H, CB_DTYPE_FLOAT32},  {CB_KERNEL_PEER, CB_DTYPE_FLOAT32},
};

static int add_kernels(const struct cb_plan_request *request, struct cb_plan *plan)
{
    const struct planned_kernel *kernels = request->gpus ? gpu_kernels : host_kernels;
    size_t count = request->gpus ? sizeof(gpu_kernels) / sizeof(gpu_kernels[0])
                                 : sizeof(host_kernels) / sizeof(host_kernels[0]);
    for (size_t i = 0; i < count; i++) {
        struct cb_item item = {
            .kind = CB_ITEM_KERNEL, .kernel = kernels[i].kernel, .kernel_dtype = kernels[i].dtype};
        int rc = add_item(plan, &item);
        if (rc)
            return rc;
    }
    return CB_OK;
}

static int add_burn(const struct cb_plan_request *request, struct cb_plan *plan)
{
    struct cb_item item = {.kind = CB_ITEM_BURN,
                           .kernel = CB_KERNEL_GEMM,
                           .kernel_dtype = CB_DTYPE_BFLOAT16,
                           .burn_s = request->burn_s};
    return add_item(plan, &item);
}

/* ---- sweeps ---- */

/* The size of one group of the scope, and why it is not measured (NULL when it is). */
static int scope_group(const struct cb_plan_request *request, enum cb_scope scope,
                       const char **skip)
{
    *skip = NULL;
    switch (scope) {
    case CB_SCOPE_WORLD:
        if (request->ranks < 2)
            *skip = "one rank: nobody to communicate with";
        return request->ranks;
    case CB_SCOPE_INTRA_NODE:
        if (request->largest_node < 2)
            *skip = "one rank per node: nothing to measure inside a node";
        else if (request->smallest_node != request->largest_node)
            *skip = "the nodes hold different numbers of ranks";
        return request->largest_node;
    case CB_SCOPE_INTER_NODE:
        if (request->ranks == request->nodes)
            *skip = "one rank per node: between nodes is the world scope itself";
        return request->nodes;
    case CB_SCOPE_COUNT:
        break;
    }
    return 0;
}

static int add_sweep(const struct cb_plan_request *request, const struct cb_item *like,
                     struct cb_plan *plan)
{
    struct cb_item none = *like;
    uint64_t last_bytes = 0;
    for (uint64_t bytes = request->min_bytes; bytes <= request->max_bytes;
         bytes *= request->step_factor) {
        struct cb_item item = *like;
        item.step.size_bytes =
            cb_op_usable_bytes(item.step.op, item.step.dtype, item.group_size, bytes);
        bool is_new = item.step.size_bytes > last_bytes;
        last_bytes = item.step.size_bytes;
        int rc = is_new ? add_item(plan, &item) : CB_OK;
        if (rc)
            return rc;
        if (bytes > request->max_bytes / request->step_factor)
            break;
    }
    none.skip = "every size asked for is smaller than one element for each rank";
    return last_bytes ? CB_OK : add_item(plan, &none);
}

/* Sweep one op in every wanted type, reduction and placement over one scope. */
static int add_op(const struct cb_plan_request *request, enum cb_scope scope, enum cb_op op,
                  struct cb_plan *plan)
{
    struct cb_item item = {.kind = CB_ITEM_COLLECTIVE, .scope = scope, .step = {.op = op}};
    item.group_size = scope_group(request, scope, &item.skip);
    if (item.skip)
        return add_item(plan, &item);
    int redops = cb_op_reduces(op) ? CB_REDOP_COUNT : 1;
    for (int dtype = 0; dtype < CB_DTYPE_COUNT; dtype++) {
        for (int redop = 0; redop < redops; redop++) {
            if (!request->dtypes[dtype] || (cb_op_reduces(op) && !request->redops[redop]))
                continue;
            item.step.dtype = (enum cb_dtype)dtype;
            item.step.redop = (enum cb_redop)redop;
            for (int in_place = 0; in_place < 2; in_place++) {
                item.step.in_place = in_place;
                bool wanted = request->placement == CB_PLACEMENT_BOTH ||
                              (request->placement == CB_PLACEMENT_IN) == item.step.in_place;
                int rc = wanted ? add_sweep(request, &item, plan) : CB_OK;
                if (rc)
                    return rc;
            }
        }
    }
    return CB_OK;
}

/* Scope by scope, so that a transport is opened once for each: the world first, since it decides.
 */
static int add_collectives(const struct cb_plan_request *request, struct cb_plan *plan)
{
    for (int scope = 0; scope < CB_SCOPE_COUNT; scope++) {
        bool is_only_world = request->nodes < 2 && scope != CB_SCOPE_WORLD;
        if (!request->scopes[scope] || is_only_world)
            continue;
        for (int op = 0; op < CB_OP_COUNT; op++) {
            int rc = request->ops[op] ? add_op(request, (enum cb_scope)scope, (enum cb_op)op, plan)
                                      : CB_OK;
            if (rc)
                return rc;
        }
    }
    return CB_OK;
}

int cb_plan_build(const struct cb_plan_request *request, struct cb_plan *plan, struct cb_error *err)
{
    *plan = (struct cb_plan){0};
    int rc = request->links ? add_links(request, plan) : CB_OK;
    if (!rc && request->kernels)
        rc = add_kernels(request, plan);
    if (!rc)
        rc = add_collectives(request, plan);
    if (!rc && request->burn_s > 0)
        rc = add_burn(request, plan);
    if (rc) {
        cb_plan_fini(plan);
        return cb_fail(err, CB_E_MEMORY, "no memory for the plan");
    }
    return CB_OK;
}

uint64_t cb_plan_max_bytes(const struct cb_plan *plan)
{
    uint64_t most = 0;
    for (size_t i = 0; i < plan->items.count; i++)
        if (plan->items.items[i].step.size_bytes > most)
            most = plan->items.items[i].step.size_bytes;
    return most;
}
