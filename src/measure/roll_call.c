#define _GNU_SOURCE /* ifaddrs, getrandom */
#include "measure/roll_call.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { FIRST_ADDRESSES = 8, HELLOS = 50 };

static const double ask_s = 2, ask_again_s = 0.4;

enum kind { HELLO = 1, HEARD, ASKED, ANSWER };

struct datagram {
    uint64_t key;
    uint32_t kind, round;
    int32_t rank;
    struct cb_place_record place;
    char host[64];
};

/* What rank 0 tells everybody. */
struct invitation {
    uint64_t key;
    int32_t count;
    struct sockaddr_in addresses[FIRST_ADDRESSES];
};

/* ---- opening ---- */

/* The addresses of this host's interfaces; the loopback's last, for a job of one host. */
static int own_addresses(bool is_alone, uint16_t port, struct sockaddr_in *out)
{
    struct ifaddrs *all = NULL;
    int count = 0;
    if (!is_alone && getifaddrs(&all))
        all = NULL;
    for (const struct ifaddrs *one = all; one && count < FIRST_ADDRESSES - 1; one = one->ifa_next) {
        bool is_up = (one->ifa_flags & IFF_UP) && !(one->ifa_flags & IFF_LOOPBACK);
        if (is_up && one->ifa_addr && one->ifa_addr->sa_family == AF_INET)
            memcpy(&out[count++], one->ifa_addr, sizeof(*out));
    }
    if (all)
        freeifaddrs(all);
    out[count++] =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; i < count; i++)
        out[i].sin_port = port;
    return count;
}

static int open_socket(bool is_alone, uint16_t *port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(is_alone ? INADDR_LOOPBACK : INADDR_ANY)};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
        getsockname(fd, (struct sockaddr *)&address, &length)) {
        close(fd);
        return -1;
    }
    *port = address.sin_port;
    return fd;
}

static int make_table(struct cb_roll_call *call, struct cb_error *err)
{
    call->entries = calloc((size_t)call->size, sizeof(*call->entries));
    call->addresses = calloc((size_t)call->size, sizeof(*call->addresses));
    if (!call->entries || !call->addresses)
        return cb_fail(err, CB_E_MEMORY, "no memory for a list of %d ranks", call->size);
    for (int i = 0; i < call->size; i++)
        call->entries[i].rank = i;
    memcpy(call->entries[0].host, call->host, sizeof(call->host));
    call->entries[0].was_heard = true;
    return CB_OK;
}

int cb_roll_call_open(struct cb_roll_call *call, const struct cb_coordinator *coordinator,
                      struct cb_place *place, struct cb_error *err)
{
    bool is_alone = coordinator->node_count == 1;
    uint16_t port = 0;
    struct invitation invitation = {0};
    call->socket = open_socket(is_alone, &port);
    call->rank = coordinator->rank;
    call->size = coordinator->size;
    call->place = place;
    call->hellos_left = HELLOS;
    pthread_mutex_init(&call->lock, NULL);
    gethostname(call->host, sizeof(call->host) - 1);
    int rc = CB_OK;
    if (call->rank == 0) {
        rc = make_table(call, err);
        if (call->socket >= 0)
            invitation.count = own_addresses(is_alone, port, invitation.addresses);
        if (getrandom(&invitation.key, sizeof(invitation.key), 0) != sizeof(invitation.key))
            invitation.count = 0;
    }
    rc = cb_group_agree(coordinator->world, rc, err);
    if (!rc)
        rc = cb_group_broadcast(coordinator->world, &invitation, sizeof(invitation), err);
    if (rc)
        return rc;
    call->key = invitation.key;
    call->first_count = invitation.count;
    memcpy(call->first, invitation.addresses, sizeof(call->first));
    atomic_store(&call->is_open, call->socket >= 0 && call->first_count > 0);
    return CB_OK;
}

void cb_roll_call_close(struct cb_roll_call *call)
{
    if (!call->size)
        return;
    if (call->socket >= 0)
        close(call->socket);
    pthread_mutex_destroy(&call->lock);
    free(call->entries);
    free(call->addresses);
    memset(call, 0, sizeof(*call));
}

/* ---- datagrams ---- */

/* One that is lost is sent again, or its sender counts as one that does not answer. */
static void send_to(const struct cb_roll_call *call, enum kind kind, uint32_t round,
                    const struct sockaddr_in *to)
{
    struct datagram datagram = {.key = call->key, .kind = kind, .round = round, .rank = call->rank};
    memcpy(datagram.host, call->host, sizeof(datagram.host));
    if (kind == ANSWER)
        datagram.place = cb_place_read(call->place);
    sendto(call->socket, &datagram, sizeof(datagram), MSG_DONTWAIT, (const struct sockaddr *)to,
           sizeof(*to));
}

/* On rank 0, from another rank. */
static void note(struct cb_roll_call *call, const struct datagram *datagram,
                 const struct sockaddr_in *from)
{
    if (datagram->rank <= 0 || datagram->rank >= call->size)
        return;
    struct cb_roll_entry *entry = &call->entries[datagram->rank];
    pthread_mutex_lock(&call->lock);
    if (datagram->kind == HELLO) {
        entry->was_heard = true;
        memcpy(entry->host, datagram->host, sizeof(entry->host));
        entry->host[sizeof(entry->host) - 1] = '\0';
        call->addresses[datagram->rank] = *from;
    } else if (datagram->kind == ANSWER && datagram->round == call->round) {
        entry->answers = true;
        entry->place = datagram->place;
    }
    pthread_mutex_unlock(&call->lock);
    if (datagram->kind == HELLO)
        send_to(call, HEARD, 0, from);
}

static void take_all(struct cb_roll_call *call)
{
    struct datagram datagram;
    struct sockaddr_in from;
    socklen_t length = sizeof(from);
    ssize_t got;
    /* An error is a peer's closed port, told for a datagram before: the next may be there. */
    while ((got = recvfrom(call->socket, &datagram, sizeof(datagram), MSG_DONTWAIT,
                           (struct sockaddr *)&from, &length)) >= 0 ||
           errno == ECONNREFUSED) {
        bool is_ours = got == (ssize_t)sizeof(datagram) && datagram.key == call->key;
        if (is_ours && call->rank == 0)
            note(call, &datagram, &from);
        else if (is_ours && datagram.kind == HEARD)
            call->is_heard = true;
        else if (is_ours && datagram.kind == ASKED)
            send_to(call, ANSWER, datagram.round, &from);
        length = sizeof(from);
    }
}

void cb_roll_call_serve(struct cb_roll_call *call)
{
    if (!atomic_load(&call->is_open))
        return;
    take_all(call);
    if (call->rank == 0 || call->is_heard || call->hellos_left == 0)
        return;
    call->hellos_left--;
    for (int i = 0; i < call->first_count; i++)
        send_to(call, HELLO, 0, &call->first[i]);
}

/* ---- asking ---- */

/* Those that could be asked and have not answered yet. */
static int count_silent(struct cb_roll_call *call)
{
    int silent = 0;
    pthread_mutex_lock(&call->lock);
    for (int i = 1; i < call->size; i++)
        silent += call->entries[i].was_heard && !call->entries[i].answers;
    pthread_mutex_unlock(&call->lock);
    return silent;
}

static void ask_silent(struct cb_roll_call *call)
{
    pthread_mutex_lock(&call->lock);
    for (int i = 1; i < call->size; i++)
        if (call->entries[i].was_heard && !call->entries[i].answers)
            send_to(call, ASKED, call->round, &call->addresses[i]);
    pthread_mutex_unlock(&call->lock);
}

bool cb_roll_call_describe(struct cb_roll_call *call, char *text, size_t size_bytes)
{
    text[0] = '\0';
    if (!atomic_load(&call->is_open) || call->rank != 0)
        return false;
    pthread_mutex_lock(&call->lock);
    call->round++;
    for (int i = 0; i < call->size; i++)
        call->entries[i].answers = i == 0;
    call->entries[0].place = cb_place_read(call->place);
    pthread_mutex_unlock(&call->lock);
    double start_s = cb_clock_now_s();
    while (cb_clock_now_s() - start_s < ask_s && count_silent(call) > 0) {
        ask_silent(call);
        double asked_s = cb_clock_now_s();
        while (cb_clock_now_s() - asked_s < ask_again_s && count_silent(call) > 0) {
            struct pollfd ready = {.fd = call->socket, .events = POLLIN};
            poll(&ready, 1, 50);
            take_all(call);
        }
    }
    pthread_mutex_lock(&call->lock);
    cb_missing_describe(call->entries, call->size, text, size_bytes);
    pthread_mutex_unlock(&call->lock);
    return true;
}
