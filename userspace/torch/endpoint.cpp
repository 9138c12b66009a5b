// SPDX-License-Identifier: BSD-2-Clause
/* Which address the process has, and the member that holds its port. */
#include <arpa/inet.h>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ifaddrs.h>
#include <mutex>
#include <net/if.h>
#include <netdb.h>
#include <sstream>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "endpoint.hpp"
#include "settings.hpp"
#include "table.hpp"
#include "userspace/common/key_check.h"

extern "C" {
#include "userspace/common/parse.h"
}

namespace canary_torch {

static const unsigned int MTU_MOST = 9000;

static std::string address_text(struct in_addr addr)
{
	char text[INET_ADDRSTRLEN];

	return inet_ntop(AF_INET, &addr, text, sizeof(text));
}

static struct in_addr peer_address(const struct canary_peer &peer)
{
	struct in_addr addr;

	memcpy(&addr, (const char *)&peer.addr + sizeof(peer.addr) - sizeof(addr), sizeof(addr));
	return addr;
}

std::string peer_text(const struct canary_peer &peer)
{
	return address_text(peer_address(peer)) + ":" + std::to_string(ntohs(peer.port));
}

static struct in_addr resolve(const char *what, const char *name)
{
	struct addrinfo hints = {}, *found;
	struct in_addr addr;
	int err;

	hints.ai_family = AF_INET;
	hints.ai_socktype = SOCK_DGRAM;
	err = getaddrinfo(name, nullptr, &hints, &found);
	if (err)
		throw std::runtime_error(std::string(what) + ": " + name + " has no IPv4 address: " +
					 gai_strerror(err));
	addr = ((struct sockaddr_in *)found->ai_addr)->sin_addr;
	freeaddrinfo(found);
	return addr;
}

/* Is it the interface of that name, or has it an address of the prefix ADDRESS/LENGTH? */
static bool is_meant(const struct ifaddrs *i, const std::string &word)
{
	const size_t slash = word.find('/');
	struct in_addr prefix;
	uint32_t length;

	if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET)
		return false;
	if (slash == std::string::npos)
		return word == i->ifa_name;
	if (!inet_aton(word.substr(0, slash).c_str(), &prefix) ||
	    !parse_number(word.c_str() + slash + 1, 0, 32, &length))
		throw std::runtime_error("CANARY_INTERFACES: '" + plain(word) +
					 "' is not ADDRESS/LENGTH");
	return !length || !(ntohl(prefix.s_addr ^
				  ((struct sockaddr_in *)i->ifa_addr)->sin_addr.s_addr) >>
			    (32 - length));
}

/* @words: names of interfaces or prefixes, separated by commas. The first one that fits counts. */
static struct in_addr interface_address(const std::string &words)
{
	std::istringstream in(words);
	struct ifaddrs *all, *i;
	std::string word;

	if (getifaddrs(&all))
		throw std::runtime_error(std::string("interfaces: ") + strerror(errno));
	std::unique_ptr<struct ifaddrs, decltype(&freeifaddrs)> freed(all, freeifaddrs);

	while (std::getline(in, word, ','))
		for (i = all; i; i = i->ifa_next)
			if (is_meant(i, word))
				return ((struct sockaddr_in *)i->ifa_addr)->sin_addr;
	throw std::runtime_error("CANARY_INTERFACES: no IPv4 address at " + words);
}

/*
 * The route to an address: which address of this machine it begins at, and its MTU, 0 if that is
 * not known. No packet is sent.
 */
static struct in_addr route_to(struct in_addr to, int *mtu)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in addr = {};
	socklen_t len = sizeof(addr), mtu_len = sizeof(*mtu);

	addr.sin_family = AF_INET;
	addr.sin_addr = to;
	addr.sin_port = htons(CANARY_PORT_BASE);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    getsockname(fd, (struct sockaddr *)&addr, &len)) {
		std::string why = strerror(errno);

		if (fd >= 0)
			close(fd);
		throw std::runtime_error("route to " + address_text(to) + ": " + why);
	}
	if (getsockopt(fd, IPPROTO_IP, IP_MTU, mtu, &mtu_len))
		*mtu = 0;
	close(fd);
	return addr.sin_addr;
}

/* A route to an own address goes over loopback, which says nothing about the network. */
static int interface_mtu(struct in_addr addr)
{
	struct ifaddrs *all, *i;
	struct ifreq ifr = {};
	int fd, mtu = 0;

	if (getifaddrs(&all))
		return 0;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (i = all; i && !mtu; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
		    ((struct sockaddr_in *)i->ifa_addr)->sin_addr.s_addr != addr.s_addr)
			continue;
		strncpy(ifr.ifr_name, i->ifa_name, IFNAMSIZ - 1);
		if (!ioctl(fd, SIOCGIFMTU, &ifr))
			mtu = ifr.ifr_mtu;
	}
	if (fd >= 0)
		close(fd);
	freeifaddrs(all);
	return mtu;
}

/* The address that the user chose, or that of the route to rank 0, or that of the host's name */
static struct in_addr choose_address(const char *master, struct in_addr *to)
{
	char host[HOST_NAME_MAX + 1] = "";
	const char *text;
	int mtu;

	if (master)
		*to = resolve("MASTER_ADDR", master);
	text = setting_text("CANARY_BIND");
	if (text)
		return resolve("CANARY_BIND", text);
	text = setting_text("CANARY_INTERFACES");
	if (text)
		return interface_address(text);
	if (master)
		return route_to(*to, &mtu);
	gethostname(host, HOST_NAME_MAX);
	return resolve("name of this host", host);
}

Endpoint::Endpoint() : pid_(getpid())
{
	const char *master = setting_text("MASTER_ADDR");
	struct in_addr to = {}, own = choose_address(master, &to);
	struct canary_params params;
	struct canary_info info;
	unsigned int most = MTU_MOST;
	int mtu = 0;

	canary_params_init(&given_);
	settings_params(&given_);
	params = given_;
	if (canary_params_set(&params, "bind", address_text(own).c_str()))
		throw std::runtime_error(canary_errmsg());
	params.table = 1;
	if (canary_open(&params, &holder_) || canary_get_info(holder_, &info, sizeof(info))) {
		std::string why = canary_errmsg();

		canary_close(holder_);
		throw std::runtime_error(why);
	}
	local_ = info.local;
	engine_ = canary_engine_name(holder_);
	if (master)
		route_to(to, &mtu);
	if (given_.mtu)
		most = given_.mtu;
	mtu_ = interface_mtu(own);
	if (!mtu_)
		mtu_ = MTU_MOST;
	if (mtu > 0 && (unsigned int)mtu < mtu_)
		mtu_ = mtu;
	if (mtu_ > most)
		mtu_ = most;
}

Endpoint::~Endpoint()
{
	if (pid_ == getpid())
		canary_close(holder_);
}

std::shared_ptr<Endpoint> Endpoint::get()
{
	static std::mutex lock;
	static std::weak_ptr<Endpoint> *now = new std::weak_ptr<Endpoint>;
	std::lock_guard<std::mutex> guard(lock);
	std::shared_ptr<Endpoint> endpoint = now->lock();

	if (endpoint && endpoint->pid_ == getpid())
		return endpoint;
	endpoint.reset(new Endpoint);
	*now = endpoint;
	return endpoint;
}

struct canary_params Endpoint::params() const
{
	struct canary_params params = given_;

	params.share = holder_;
	params.table = 1;
	return params;
}

uint64_t Endpoint::key() const
{
	return key_check(given_.key);
}

} // namespace canary_torch
