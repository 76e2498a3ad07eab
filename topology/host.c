#include <string.h>
#include <unistd.h>

#include "topology/internal.h"

static void read_name(struct cb_topo_host *host)
{
    char name[256] = "";
    if (gethostname(name, sizeof(name) - 1) != 0)
        name[0] = '\0';
    cb_tree_clean(host->name, sizeof(host->name), name[0] ? name : "unknown");
}

/* Memory added while the system runs belongs to no NUMA node on some virtual machines: the kernel's
 * total counts it, unless the NUMA nodes were filtered on purpose. */
static void read_memory(const char *root, bool has_whole_memory, struct cb_topo_host *host)
{
    uint64_t total = cb_topo_read_total_memory(root);
    uint64_t available = cb_topo_read_available_memory(root);
    if (has_whole_memory && total)
        host->memory_bytes = total;
    if (host->memory_bytes && available > host->memory_bytes)
        available = host->memory_bytes;
    host->available_memory_bytes = available;
}

int cb_topo_discover_host(const char *sysroot, const char *peer, struct cb_topo_host *host,
                          struct cb_error *err)
{
    const char *root = sysroot ? sysroot : "";
    char used[32] = "";
    struct cb_topo_host found = {0};
    bool has_whole_memory;
    read_name(&found);
    if (!root[0] && peer && peer[0])
        cb_topo_find_route(peer, used, sizeof(used));
    int rc = cb_topo_read_machine(&found, &has_whole_memory, err);
    if (!rc)
        rc = cb_topo_read_nics(root, used, &found, err);
    if (rc)
        return rc;
    read_memory(root, has_whole_memory, &found);
    *host = found;
    return 0;
}
