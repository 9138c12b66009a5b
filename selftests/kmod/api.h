/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common parts of the tests of the socket API: sockets, pairs of connected ranks, other ranks in
 * processes of their own, and /proc/net/canary
 */
#ifndef API_H
#define API_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/sockios.h>
#include <linux/canary.h>
#include <linux/canary_wire.h>

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif
#define BAD_POINTER	((void *)8)
#define PAIR_PORT	22620
#define SYSCTL		"/proc/sys/net/canary/"
#define WMEM_DEFAULT	"/proc/sys/net/core/wmem_default"
#define PATIENCE	10000		/* ms for what should come soon; the guest is slow */

extern int family;
extern volatile sig_atomic_t pipes, alarms;
extern uint32_t pair_comm;		/* of the last pair() */

struct child {
	pid_t pid;
};

double now(void);
void handle(int sig, int flags);
void on_alarm_in(unsigned int ms, bool restart);
bool loopback(bool up);
int module_family(void);
struct canary_addr ip4(const char *addr);
struct sockaddr_canary address(const char *addr, unsigned int port);
int same_address(const struct canary_addr *a, const struct canary_addr *b);
int set_u32(int fd, int name, uint32_t value);
int new_socket(void);
int set_comm(int fd, uint32_t id, unsigned int rank, unsigned int members);
void nonblock(int fd, bool on);
void timeout(int fd, int name, unsigned int ms);
short wait_any(int fd, short want, int ms);
short events(int fd, short also);
short wait_events(int fd, short want);
struct canary_status status(int fd);
bool wait_missing(int fd, uint16_t rank);
int connect_to(int fd, unsigned int port);
long proc_value(const char *name);
long set_value(const char *name, long value);
long memory_max(long bytes);
long machine_sysctl(const char *name, long value);
bool tool(const char *words);
int proc_lines(void);
unsigned long inode(int fd);
bool proc_has(unsigned long ino, const char *state);
void drain_ports(void);
bool pair(int *x, int *y);
void unpair(int x, int y);
bool send_both(int x, int y, const void *data, size_t len);
int outq(int fd);
long operations(int fd);
ssize_t send_operation(int fd, void *data, size_t size, const struct canary_operation *op,
		       int type, int len, bool twice);
ssize_t recv_completion(int fd, void *data, size_t size, struct canary_completion *c, size_t room,
			int *flags);
void start_peer(struct child *child, uint32_t id, unsigned int rank, unsigned int members,
		unsigned int port, unsigned int delay);
void start_post(struct child *child, int fd, size_t len, unsigned int delay);
bool end_peer(const struct child *child);
void probe(void *at, uint32_t comm, uint32_t epoch);

#endif /* API_H */
