/* Sockets of the simulated NCCL. Everything waits with poll, so that an abort ends it. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nccl_internal.h"

#define CONNECT_TRIES 200
#define CONNECT_PAUSE_MS 50

uint32_t simnccl_own_address(char *interface, size_t size)
{
    const char *wanted = getenv("NCCL_SOCKET_IFNAME");
    struct ifaddrs *all = NULL;
    uint32_t found = htonl(INADDR_LOOPBACK);
    snprintf(interface, size, "lo");
    if (getifaddrs(&all) != 0)
        return found;
    for (const struct ifaddrs *one = all; one != NULL; one = one->ifa_next) {
        if (one->ifa_addr == NULL || one->ifa_addr->sa_family != AF_INET ||
            (one->ifa_flags & IFF_UP) == 0)
            continue;
        bool loopback = (one->ifa_flags & IFF_LOOPBACK) != 0;
        if (wanted != NULL ? strncmp(one->ifa_name, wanted, strlen(wanted)) != 0
                           : loopback || strncmp(one->ifa_name, "docker", 6) == 0)
            continue;
        found = ((const struct sockaddr_in *)(const void *)one->ifa_addr)->sin_addr.s_addr;
        snprintf(interface, size, "%s", one->ifa_name);
        break;
    }
    freeifaddrs(all);
    return found;
}

static void make_ready(int socket)
{
    int yes = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
}

int simnccl_listen(uint32_t address, uint16_t *port)
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = address};
    socklen_t length = sizeof(name);
    if (listener < 0)
        return -1;
    if (bind(listener, (struct sockaddr *)&name, sizeof(name)) != 0 ||
        listen(listener, 1024) != 0 ||
        getsockname(listener, (struct sockaddr *)&name, &length) != 0) {
        close(listener);
        return -1;
    }
    make_ready(listener);
    *port = name.sin_port;
    return listener;
}

/* Waits for the socket; -1 when wake (may be -1) comes first. */
static int wait_for(int socket, short events, int wake)
{
    struct pollfd both[2] = {{.fd = socket, .events = events}, {.fd = wake, .events = POLLIN}};
    int ready;
    do
        ready = poll(both, 2, -1);
    while (ready < 0 && errno == EINTR);
    return ready < 0 || both[1].revents != 0 ? -1 : 0;
}

int simnccl_connect(uint32_t address, uint16_t port, int wake)
{
    const struct sockaddr_in name = {
        .sin_family = AF_INET, .sin_addr.s_addr = address, .sin_port = port};
    for (int i = 0; i < CONNECT_TRIES; i++) {
        int one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (one < 0)
            return -1;
        if (connect(one, (const struct sockaddr *)&name, sizeof(name)) == 0) {
            make_ready(one);
            return one;
        }
        close(one);
        struct pollfd stop = {.fd = wake, .events = POLLIN};
        if (poll(&stop, 1, CONNECT_PAUSE_MS) > 0)
            return -1;
    }
    return -1;
}

int simnccl_accept(int listener, int wake)
{
    for (;;) {
        if (wait_for(listener, POLLIN, wake) != 0)
            return -1;
        int one = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (one >= 0) {
            make_ready(one);
            return one;
        }
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            return -1;
    }
}

int simnccl_send(int socket, const void *data, size_t size_bytes, int wake)
{
    const char *rest = data;
    while (size_bytes > 0) {
        ssize_t done = send(socket, rest, size_bytes, MSG_NOSIGNAL);
        if (done > 0) {
            rest += done;
            size_bytes -= (size_t)done;
        } else if (errno != EAGAIN || wait_for(socket, POLLOUT, wake) != 0) {
            return -1;
        }
    }
    return 0;
}

int simnccl_recv(int socket, void *data, size_t size_bytes, int wake)
{
    char *rest = data;
    while (size_bytes > 0) {
        ssize_t done = recv(socket, rest, size_bytes, 0);
        if (done > 0) {
            rest += done;
            size_bytes -= (size_t)done;
        } else if (done == 0 || errno != EAGAIN || wait_for(socket, POLLIN, wake) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Moves what can be moved now. Returns whether the other end is gone. */
static bool move(int socket, struct simnccl_piece *piece)
{
    while (piece->send_bytes > 0) {
        ssize_t done = send(socket, piece->send, piece->send_bytes, MSG_NOSIGNAL);
        if (done < 0)
            break;
        piece->send += done;
        piece->send_bytes -= (size_t)done;
    }
    if (piece->send_bytes > 0 && errno != EAGAIN && errno != EINTR)
        return true;
    while (piece->recv_bytes > 0) {
        ssize_t done = recv(socket, piece->recv, piece->recv_bytes, 0);
        if (done == 0)
            return true;
        if (done < 0)
            return errno != EAGAIN && errno != EINTR;
        piece->recv += done;
        piece->recv_bytes -= (size_t)done;
    }
    return false;
}

int simnccl_exchange(struct ncclComm *comm, struct simnccl_piece *pieces, int count)
{
    struct pollfd *polls = calloc((size_t)count + 1, sizeof(*polls));
    if (polls == NULL)
        abort();
    int rc = 0;
    for (;;) {
        nfds_t waiting = 0;
        for (int i = 0; rc == 0 && i < count; i++) {
            struct simnccl_piece *piece = &pieces[i];
            int socket = comm->sockets[piece->peer];
            if (piece->send_bytes + piece->recv_bytes > 0 && move(socket, piece))
                rc = 1 + piece->peer;
            if (piece->send_bytes + piece->recv_bytes == 0)
                continue;
            polls[waiting++] =
                (struct pollfd){.fd = socket,
                                .events = (short)((piece->send_bytes > 0 ? POLLOUT : 0) |
                                                  (piece->recv_bytes > 0 ? POLLIN : 0))};
        }
        if (rc != 0 || waiting == 0)
            break;
        polls[waiting] = (struct pollfd){.fd = comm->wake, .events = POLLIN};
        if (poll(polls, waiting + 1, -1) > 0 && polls[waiting].revents != 0) {
            rc = -1;
            break;
        }
    }
    free(polls);
    return rc;
}
