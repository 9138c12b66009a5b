// SPDX-License-Identifier: BSD-2-Clause
/*
 * VLAN tags that the hardware, or the other end of a veth, keeps apart from the frame. XDP does not
 * see such a tag. It would take a frame of any VLAN for one of the port's own network. So tags have
 * to be in the frame: rxvlan is switched off at ports, txvlan at the other ends of veths.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "internal.h"
#include "setting.h"

#define FEATURES_MAX	256
#define WORDS_MAX	(FEATURES_MAX / 32)

/* The features of a device, with the kernel's names */
struct features {
	int fd;				/* a socket in its namespace */
	const char *dev;
	unsigned int n;
	char name[FEATURES_MAX][ETH_GSTRING_LEN];
	struct ethtool_get_features_block block[WORDS_MAX];
};

static int ethtool(const struct features *f, void *request)
{
	struct ifreq ifr = { .ifr_data = request };

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", f->dev);
	return ioctl(f->fd, SIOCETHTOOL, &ifr) < 0 ? -errno : 0;
}

static int read_names(struct features *f)
{
	struct ethtool_sset_info *count = calloc(1, sizeof(*count) + sizeof(uint32_t));
	struct ethtool_gstrings *strings = calloc(1, sizeof(*strings) + sizeof(f->name));
	int ret = -ENOMEM;

	if (!count || !strings)
		goto out;
	count->cmd = ETHTOOL_GSSET_INFO;
	count->sset_mask = 1 << ETH_SS_FEATURES;
	ret = ethtool(f, count);
	if (!ret && (!count->sset_mask || count->data[0] > FEATURES_MAX))
		ret = -EOPNOTSUPP;
	if (ret)
		goto out;
	f->n = count->data[0];
	strings->cmd = ETHTOOL_GSTRINGS;
	strings->string_set = ETH_SS_FEATURES;
	strings->len = f->n;
	ret = ethtool(f, strings);
	memcpy(f->name, strings->data, sizeof(f->name));
out:
	free(strings);
	free(count);
	return ret;
}

static int read_features(struct features *f)
{
	struct ethtool_gfeatures *get = calloc(1, sizeof(*get) + sizeof(f->block));
	int ret;

	if (!get)
		return -ENOMEM;
	get->cmd = ETHTOOL_GFEATURES;
	get->size = (f->n + 31) / 32;
	ret = ethtool(f, get);
	memcpy(f->block, get->features, sizeof(f->block));
	free(get);
	return ret;
}

/* Return: number of the feature @name, or FEATURES_MAX if there is none */
static unsigned int feature(const struct features *f, const char *name)
{
	unsigned int i;

	for (i = 0; i < f->n; i++)
		if (!strncmp(f->name[i], name, ETH_GSTRING_LEN))
			return i;
	return FEATURES_MAX;
}

/* Return: which of @names are on, as bits */
static uint8_t which_on(const struct features *f, const char *const *names)
{
	unsigned int i, number;
	uint8_t on = 0;

	for (i = 0; names[i]; i++) {
		number = feature(f, names[i]);
		if (number < FEATURES_MAX && f->block[number / 32].active & 1U << number % 32)
			on |= 1 << i;
	}
	return on;
}

/* Set the features of @names whose bits are in @which. */
static int change(const struct features *f, const char *const *names, uint8_t which, bool on)
{
	size_t size = WORDS_MAX * sizeof(struct ethtool_set_features_block);
	struct ethtool_sfeatures *set = calloc(1, sizeof(*set) + size);
	unsigned int i, number;
	int ret;

	if (!set)
		return -ENOMEM;
	set->cmd = ETHTOOL_SFEATURES;
	set->size = (f->n + 31) / 32;
	for (i = 0; names[i]; i++) {
		number = feature(f, names[i]);
		if (!(which & 1 << i) || number == FEATURES_MAX)
			continue;
		set->features[number / 32].valid |= 1U << number % 32;
		if (on)
			set->features[number / 32].requested |= 1U << number % 32;
	}
	ret = ethtool(f, set);
	free(set);
	return ret;
}

static int look(struct features *f)
{
	int ret = read_names(f);

	return ret ? ret : read_features(f);
}

/*
 * Switch features off. Those that were on are added to *@was. Return: 1 if some were on, 0 if all
 * were off, or -errno
 */
static int switch_off(int fd, const char *dev, const char *const *names, uint8_t *was)
{
	struct features *f = calloc(1, sizeof(*f));
	uint8_t on = 0;
	int ret;

	if (!f)
		return -ENOMEM;
	f->fd = fd;
	f->dev = dev;
	ret = look(f);
	if (!ret)
		on = which_on(f, names);
	if (!ret && on) {
		*was |= on;
		ret = change(f, names, on, false);
		if (ret >= 0)
			ret = read_features(f);
		if (!ret)
			ret = which_on(f, names) ? -EOPNOTSUPP : 1;
	}
	free(f);
	return ret;
}

/* Switch on what was switched off. The bits in *@was say what, and are cleared. */
static int switch_on(int fd, const char *dev, const char *const *names, uint8_t *was)
{
	struct features *f = calloc(1, sizeof(*f));
	int ret;

	if (!f)
		return -ENOMEM;
	f->fd = fd;
	f->dev = dev;
	ret = look(f);
	if (!ret)
		ret = change(f, names, *was, true);
	*was = 0;
	free(f);
	return ret;
}

static const char *const receiving[] = { "rx-vlan-hw-parse", "rx-vlan-stag-hw-parse", NULL };
static const char *const sending[] = { "tx-vlan-hw-insert", "tx-vlan-stag-hw-insert", NULL };

/* Switch the port's own feature off. A veth also passes on tags that its other end keeps apart. */
static int own_tags(struct switchd *sw, struct port *port)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret;

	if (fd < 0)
		return -errno;
	ret = switch_off(fd, port->option->name, receiving, &port->rx_was);
	close(fd);
	if (ret > 0 && port->tags_off)
		sw_warn(sw, "port %s: somebody switched rxvlan on again, now it is off",
			port->option->name);
	else if (ret > 0)
		sw_debug(sw, "port %s: rxvlan switched off", port->option->name);
	port->tags_off |= ret >= 0;
	return ret < 0 ? ret : 0;
}

static int peer_tags(struct switchd *sw, struct port *port)
{
	char peer[IFNAMSIZ];
	int fd, ret;

	fd = peer_socket(sw, port, peer);
	if (fd < 0)
		return -ENOENT;
	ret = switch_off(fd, peer, sending, &port->tx_was);
	close(fd);
	if (ret > 0)
		sw_info(sw, "port %s: txvlan switched off at its other end (%s): tags of VLANs are seen",
			port->option->name, peer);
	return ret < 0 ? ret : 0;
}

/*
 * Other ends of veths are not changed while everybody is admitted: they belong to others, and
 * sending in another VLAN gains nothing then.
 */
int port_want_tags(struct switchd *sw, struct port *port)
{
	bool veth = !strcmp(port->kind, "veth"), admission = sw->dp.config->admit;
	int ret = own_tags(sw, port);

	if (!ret && veth && admission)
		ret = peer_tags(sw, port);
	if (ret && port->tags != TAGS_HIDDEN)
		sw_warn(sw, "port %s: tags of VLANs may be hidden from XDP (%s), their frames count as its own: ethtool -K %s %s off",
			port->option->name, strerror(-ret), veth ? "PEER" : port->option->name,
			veth ? "txvlan" : "rxvlan");
	port->tags = ret ? TAGS_HIDDEN : veth && !admission ? TAGS_UNKNOWN : TAGS_SEEN;
	return admission && !veth ? ret : 0;
}

/* Restore the device with the port's ifindex, as another one may have its name by now. */
static int leave_own(struct port *port)
{
	char name[IFNAMSIZ];
	int fd, ret;

	if (!if_indextoname(port->ifindex, name))
		return -errno;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	ret = switch_on(fd, name, receiving, &port->rx_was);
	close(fd);
	return ret;
}

static int leave_peer(struct switchd *sw, struct port *port)
{
	char peer[IFNAMSIZ];
	int fd = peer_socket(sw, port, peer), ret;

	if (fd < 0)
		return -ENOENT;
	ret = switch_on(fd, peer, sending, &port->tx_was);
	close(fd);
	return ret;
}

void port_leave_tags(struct switchd *sw, struct port *port)
{
	int own = port->rx_was ? leave_own(port) : 0;
	int peer = port->tx_was ? leave_peer(sw, port) : 0;

	if (own < 0)
		sw_warn(sw, "port %s: rxvlan stays off: %s", port->option->name, strerror(-own));
	if (peer < 0)
		sw_warn(sw, "port %s: txvlan stays off at its other end: %s", port->option->name,
			strerror(-peer));
	port->rx_was = 0;
	port->tx_was = 0;
	port->tags_off = false;
}

/* Rules are about to apply. Refuse them if port_want_tags() would refuse a port with rules. */
int ports_refuse_hidden(struct switchd *sw, char *err, size_t len)
{
	const struct port *port;
	unsigned int i;

	for (i = 0; i < sw->ports; i++) {
		port = &sw->port[i];
		if (!port->ifindex || port->xdp_link < 0 || !strcmp(port->kind, "veth"))
			continue;
		port_want_tags(sw, &sw->port[i]);
		if (port->tags == TAGS_HIDDEN)
			return switchd_refuse(err, len, "--admit: port %s: tags of VLANs may be hidden from XDP, so rules would not hold (ethtool -K %s rxvlan off)",
					      port->option->name, port->option->name);
	}
	return 0;
}

void ports_want_tags(struct switchd *sw)
{
	unsigned int i;

	for (i = 0; i < sw->ports; i++)
		if (sw->port[i].ifindex && sw->port[i].xdp_link >= 0)
			port_want_tags(sw, &sw->port[i]);
}
