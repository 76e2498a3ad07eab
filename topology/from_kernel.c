#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "topology/internal.h"

/* The address that the kernel would send from. Connecting a datagram socket looks up the route and
 * sends nothing. */
static bool find_source(const struct addrinfo *peer, struct sockaddr_storage *source)
{
    int fd = socket(peer->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    socklen_t size = sizeof(*source);
    bool found = connect(fd, peer->ai_addr, peer->ai_addrlen) == 0 &&
                 getsockname(fd, (struct sockaddr *)source, &size) == 0;
    close(fd);
    return found;
}

static bool is_same_address(const struct sockaddr *a, const struct sockaddr_storage *b)
{
    if (!a || a->sa_family != b->ss_family)
        return false;
    if (a->sa_family == AF_INET)
        return memcmp(&((const struct sockaddr_in *)(const void *)a)->sin_addr,
                      &((const struct sockaddr_in *)(const void *)b)->sin_addr,
                      sizeof(struct in_addr)) == 0;
    if (a->sa_family == AF_INET6)
        return memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
                      &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr,
                      sizeof(struct in6_addr)) == 0;
    return false;
}

bool cb_topo_find_route(const char *peer, char *name, size_t size_bytes)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *addresses = NULL;
    struct ifaddrs *interfaces = NULL;
    bool found = false;
    /* Any port will do: nothing is sent. */
    if (getaddrinfo(peer, "9", &hints, &addresses) != 0 || getifaddrs(&interfaces) != 0)
        goto out;
    for (const struct addrinfo *a = addresses; a && !found; a = a->ai_next) {
        struct sockaddr_storage source = {0};
        if (!find_source(a, &source))
            continue;
        for (const struct ifaddrs *i = interfaces; i && !found; i = i->ifa_next) {
            if ((i->ifa_flags & IFF_LOOPBACK) || !is_same_address(i->ifa_addr, &source))
                continue;
            cb_tree_clean(name, size_bytes, i->ifa_name);
            name[strcspn(name, ":")] = '\0'; /* "eth0:1" is an alias of eth0 */
            found = true;
        }
    }
out:
    if (interfaces)
        freeifaddrs(interfaces);
    if (addresses)
        freeaddrinfo(addresses);
    return found;
}

bool cb_topo_ask_driver(const char *interface, char *driver, size_t size_bytes)
{
    struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
    struct ifreq request = {.ifr_data = (char *)&info};
    if (strlen(interface) >= sizeof(request.ifr_name))
        return false;
    memcpy(request.ifr_name, interface, strlen(interface) + 1);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool told = ioctl(fd, SIOCETHTOOL, &request) == 0 && info.driver[0];
    close(fd);
    if (told) {
        info.driver[sizeof(info.driver) - 1] = '\0';
        cb_tree_clean(driver, size_bytes, info.driver);
    }
    return told;
}
