// SPDX-License-Identifier: GPL-2.0-only
/*
 * What `ethtool -S` shows of uplinks and representors: those of mlx5's counters
 * that tell the health of a port, with its names and in its order
 * (mlx5e_nic_stats_grps in en_stats.c, mlx5e_rep_stats_grps in en_rep.c; 6.1 and
 * 6.12). Frames and link failures are counted as they happen; all else stands
 * still until somebody adds to it in debugfs, vcx/<bdf>/counters.
 */
#include <linux/ethtool.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include "card.h"

/*
 * What passed through the kernel, without what a NIC would have forwarded by its rules; for a
 * representor also all that its VF sent and received.
 */
static const char *const netdev_names[] = {
	"rx_packets", "rx_bytes", "tx_packets", "tx_bytes",
	"vport_rx_packets", "vport_rx_bytes", "vport_tx_packets", "vport_tx_bytes",
};

/*
 * Of a representor since 6.4: RoCE of its VF (vport_rep_stats_desc of en_rep.c).
 * ethtool lacks the last four. The first of them is rx_missed_errors of the netdev
 * (mlx5e_stats_copy_rep_stats()): drops for want of the tenant's buffers. The others
 * are those of the representor's RDMA port, in rdma.c's order.
 */
static const char *const vport_names[] = {
	"rx_vport_rdma_unicast_packets", "rx_vport_rdma_unicast_bytes",
	"tx_vport_rdma_unicast_packets", "tx_vport_rdma_unicast_bytes",
	"rx_vport_rdma_multicast_packets", "rx_vport_rdma_multicast_bytes",
	"tx_vport_rdma_multicast_packets", "tx_vport_rdma_multicast_bytes",
	"rx_vport_out_of_buffer",
	"vport_out_of_buffer", "vport_out_of_sequence", "vport_local_ack_timeout_err",
};

#define VPORT_OUT_OF_BUFFER	(VCX_VPORT_NETDEV - 1)

static const char *const fixed_names[] = {
	[VCX_RX_ECN_MARK] = "rx_ecn_mark",
	[VCX_RX_OUT_OF_BUFFER] = "rx_out_of_buffer",
	[VCX_RX_STEER_MISSED] = "rx_steer_missed_packets",
	[VCX_TX_PACKETS_PHY] = "tx_packets_phy",
	[VCX_RX_PACKETS_PHY] = "rx_packets_phy",
	[VCX_RX_CRC_ERRORS] = "rx_crc_errors_phy",
	[VCX_TX_BYTES_PHY] = "tx_bytes_phy",
	[VCX_RX_BYTES_PHY] = "rx_bytes_phy",
	[VCX_RX_DISCARDS] = "rx_discards_phy",
	[VCX_TX_DISCARDS] = "tx_discards_phy",
	[VCX_TX_ERRORS] = "tx_errors_phy",
	[VCX_LINK_DOWN_EVENTS] = "link_down_events_phy",
	[VCX_RX_PCS_SYMBOL_ERR] = "rx_pcs_symbol_err_phy",
	[VCX_RX_CORRECTED_BITS] = "rx_corrected_bits_phy",
	[VCX_PCI_SIGNAL_RX] = "rx_pci_signal_integrity",
	[VCX_PCI_SIGNAL_TX] = "tx_pci_signal_integrity",
	[VCX_PCI_STALLED_RD] = "outbound_pci_stalled_rd",
	[VCX_PCI_STALLED_WR] = "outbound_pci_stalled_wr",
	[VCX_PCI_STALLED_RD_EVENTS] = "outbound_pci_stalled_rd_events",
	[VCX_PCI_STALLED_WR_EVENTS] = "outbound_pci_stalled_wr_events",
};

/* Of each priority, in VCX_TRAFFIC's order */
static const char *const traffic_names[] = {
	"rx_prio%u_bytes", "rx_prio%u_packets", "rx_prio%u_discards",
	"tx_prio%u_bytes", "tx_prio%u_packets",
};

/* Of each priority with PFC, and of the port with global pause frames; durations in microseconds */
static const char *const pause_names[] = {
	"rx_%s_pause", "rx_%s_pause_duration", "tx_%s_pause", "tx_%s_pause_duration",
	"rx_%s_pause_transition",
};

static const char *const module_names[] = {
	"module_unplug", "module_bus_stuck", "module_high_temp", "module_bad_shorted",
};

#define FIRST_TRAFFIC	VCX_FIXED_COUNTERS
#define FIRST_PAUSE	(FIRST_TRAFFIC + VCX_PRIOS * VCX_TRAFFIC)
#define FIRST_MODULE	(FIRST_PAUSE + (VCX_PRIOS + 1) * VCX_PAUSE)

static_assert(ARRAY_SIZE(fixed_names) == VCX_FIXED_COUNTERS);
static_assert(ARRAY_SIZE(vport_names) == VCX_VPORT);
static_assert(ARRAY_SIZE(traffic_names) == VCX_TRAFFIC);
static_assert(ARRAY_SIZE(pause_names) == VCX_PAUSE);
static_assert(FIRST_MODULE + ARRAY_SIZE(module_names) == VCX_COUNTERS);

/* The name of a port's counter, in ETH_GSTRING_LEN bytes. */
static void vcx_counter_name(unsigned int i, char *name)
{
	char whose[8] = "global";

	if (i < FIRST_TRAFFIC) {
		strscpy(name, fixed_names[i], ETH_GSTRING_LEN);
	} else if (i < FIRST_PAUSE) {
		i -= FIRST_TRAFFIC;
		snprintf(name, ETH_GSTRING_LEN, traffic_names[i % VCX_TRAFFIC], i / VCX_TRAFFIC);
	} else if (i < FIRST_MODULE) {
		i -= FIRST_PAUSE;
		if (i / VCX_PAUSE < VCX_PRIOS)
			snprintf(whose, sizeof(whose), "prio%u", i / VCX_PAUSE);
		snprintf(name, ETH_GSTRING_LEN, pause_names[i % VCX_PAUSE], whose);
	} else {
		strscpy(name, module_names[i - FIRST_MODULE], ETH_GSTRING_LEN);
	}
}

/* mlx5e_query_{pfc,global_pause}_combined(): pauses only where they are on. */
static bool vcx_counter_shown(const struct vcx_port *port, unsigned int i)
{
	unsigned int prio = (i - FIRST_PAUSE) / VCX_PAUSE;

	if (i < FIRST_PAUSE || i >= FIRST_MODULE)
		return true;
	if (prio == VCX_PRIOS)
		return port->rx_pause || port->tx_pause;
	return port->dcb.pfc_en & BIT(prio);
}

/* How many of netdev_names a netdev has */
static int vcx_netdev_names(const struct vcx_ndev *nd)
{
	return nd->kind == VCX_REP ? 8 : 4;
}

/* How many of vport_names ethtool shows of a netdev */
static int vcx_vport_names(const struct vcx_ndev *nd)
{
	return nd->kind == VCX_REP && vcx_since_6_4() ? VPORT_OUT_OF_BUFFER : 0;
}

int vcx_stats_count(const struct net_device *dev)
{
	const struct vcx_ndev *nd = netdev_priv(dev);
	int i, num = vcx_netdev_names(nd) + vcx_vport_names(nd);

	for (i = 0; nd->kind == VCX_UPLINK && i < VCX_COUNTERS; i++)
		num += vcx_counter_shown(nd->port, i);
	return num;
}

void vcx_stats_names(const struct net_device *dev, u8 *data)
{
	const struct vcx_ndev *nd = netdev_priv(dev);
	int i;

	for (i = 0; i < vcx_netdev_names(nd); i++, data += ETH_GSTRING_LEN)
		strscpy(data, netdev_names[i], ETH_GSTRING_LEN);
	for (i = 0; i < vcx_vport_names(nd); i++, data += ETH_GSTRING_LEN)
		strscpy(data, vport_names[i], ETH_GSTRING_LEN);
	for (i = 0; nd->kind == VCX_UPLINK && i < VCX_COUNTERS; i++)
		if (vcx_counter_shown(nd->port, i)) {
			vcx_counter_name(i, data);
			data += ETH_GSTRING_LEN;
		}
}

/* mlx5e_get_ethtool_stats(): without an answer of the firmware, the values are the last ones. */
void vcx_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *data)
{
	const struct vcx_ndev *nd = netdev_priv(dev);
	struct rtnl_link_stats64 seen;
	int i;

	vcx_command(nd->port, "ACCESS_REG", 0x805);
	dev_get_stats(dev, &seen);
	for (i = 0; nd->kind != VCX_VF && i < ARRAY_SIZE(nd->software); i++)
		*data++ = atomic64_read(&nd->software[i]);
	if (nd->kind != VCX_UPLINK) {
		*data++ = seen.rx_packets;
		*data++ = seen.rx_bytes;
		*data++ = seen.tx_packets;
		*data++ = seen.tx_bytes;
	}
	for (i = 0; i < vcx_vport_names(nd); i++, data++) {
		*data = atomic64_read(&nd->vf->counter[i]);
		data[-4 - i + i % 4] += *data;	/* of all that the VF received and sent */
	}
	for (i = 0; nd->kind == VCX_UPLINK && i < VCX_COUNTERS; i++)
		if (vcx_counter_shown(nd->port, i))
			*data++ = atomic64_read(&nd->port->counter[i]);
}

void vcx_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *stats)
{
	const struct vcx_ndev *nd = netdev_priv(dev);

	netdev_stats_to_stats64(stats, &dev->stats);
	if (vcx_vport_names(nd))
		stats->rx_missed_errors = atomic64_read(&nd->vf->counter[VPORT_OUT_OF_BUFFER]);
}

/* mlx5e_rep_has_offload_stats() of 5.15 to 6.12 */
bool vcx_has_offload_stats(const struct net_device *dev, int id)
{
	const struct vcx_ndev *nd = netdev_priv(dev);

	return nd->kind == VCX_REP && id == IFLA_OFFLOAD_XSTATS_CPU_HIT;
}

/* mlx5e_get_sw_stats64() of 5.15 to 6.12: what the kernel forwarded, of all that is in ndo_get_stats64. */
int vcx_get_offload_stats(int id, const struct net_device *dev, void *stats)
{
	const struct vcx_ndev *nd = netdev_priv(dev);
	struct rtnl_link_stats64 *seen = stats;

	if (!vcx_has_offload_stats(dev, id))
		return -EINVAL;
	seen->rx_packets = atomic64_read(&nd->software[0]);
	seen->rx_bytes = atomic64_read(&nd->software[1]);
	seen->tx_packets = atomic64_read(&nd->software[2]);
	seen->tx_bytes = atomic64_read(&nd->software[3]);
	return 0;
}

/* The priority that the port gives a frame, whose Ethernet header is set. */
static unsigned int vcx_frame_prio(const struct vcx_port *port, const struct sk_buff *skb)
{
	const struct vlan_ethhdr *eth = (const struct vlan_ethhdr *)skb_mac_header(skb);
	const struct iphdr *ip = (const struct iphdr *)((const u8 *)eth + ETH_HLEN);
	const u8 *end = skb_tail_pointer(skb);

	if (skb_vlan_tag_present(skb))
		return skb_vlan_tag_get_prio(skb);
	if ((const u8 *)(eth + 1) <= end && eth->h_vlan_proto == htons(ETH_P_8021Q))
		return ntohs(eth->h_vlan_TCI) >> VLAN_PRIO_SHIFT;
	if (port->dcb.trust_dscp && (const u8 *)(ip + 1) <= end &&
	    eth->h_vlan_proto == htons(ETH_P_IP))
		return port->dcb.dscp2prio[ip->tos >> 2];
	return 0;
}

void vcx_count(struct vcx_port *port, unsigned int counter, u64 num)
{
	atomic64_add(num, &port->counter[counter]);
}

/* Frames on the wire that @skb stands for: GSO and GRO have several in one. */
unsigned int vcx_frames(const struct sk_buff *skb)
{
	const struct skb_shared_info *info = skb_shinfo(skb);

	if (!skb_is_gso(skb))
		return 1;
	return info->gso_segs ?: DIV_ROUND_UP(skb->len, info->gso_size);
}

/* A frame on the wire, whose Ethernet header is set. */
void vcx_count_frame(struct vcx_port *port, const struct sk_buff *skb, bool rx)
{
	unsigned int prio = FIRST_TRAFFIC + vcx_frame_prio(port, skb) * VCX_TRAFFIC + (rx ? 0 : 3);

	vcx_count(port, prio, skb->len);
	vcx_count(port, prio + 1, vcx_frames(skb));
	vcx_count(port, rx ? VCX_RX_BYTES_PHY : VCX_TX_BYTES_PHY, skb->len);
	vcx_count(port, rx ? VCX_RX_PACKETS_PHY : VCX_TX_PACKETS_PHY, vcx_frames(skb));
}

static int vcx_counters_show(struct seq_file *file, void *priv)
{
	struct vcx_port *port = file->private;
	char name[ETH_GSTRING_LEN];
	int i, vf;

	for (i = 0; i < VCX_COUNTERS; i++) {
		vcx_counter_name(i, name);
		seq_printf(file, "%s %lld\n", name, atomic64_read(&port->counter[i]));
	}
	for (vf = 0; vf < VCX_MAX_VFS; vf++)
		for (i = 0; i < VCX_VPORT; i++)
			if (atomic64_read(&port->vf[vf].counter[i]))
				seq_printf(file, "vf%d:%s %lld\n", vf, vport_names[i],
					   atomic64_read(&port->vf[vf].counter[i]));
	return 0;
}

static int vcx_counters_open(struct inode *inode, struct file *file)
{
	return single_open(file, vcx_counters_show, inode->i_private);
}

static int vcx_count_vport(struct vcx_port *port, unsigned int vf, const char *name, u64 num)
{
	int i = match_string(vport_names, VCX_VPORT, name);

	if (i < 0 || vf >= VCX_MAX_VFS)
		return -ENOENT;
	atomic64_add(num, &port->vf[vf].counter[i]);
	return 0;
}

/* "NAME NUMBER" adds the number; "vf0:NAME NUMBER" to a VF's. */
static ssize_t vcx_counters_write(struct file *file, const char __user *buf, size_t len,
				  loff_t *pos)
{
	struct vcx_port *port = ((struct seq_file *)file->private_data)->private;
	char text[ETH_GSTRING_LEN + 32] = "", wanted[ETH_GSTRING_LEN], name[ETH_GSTRING_LEN];
	unsigned int vf;
	u64 num;
	int i;

	if (len >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, buf, len))
		return -EFAULT;
	if (sscanf(text, "vf%u:%31s %llu", &vf, wanted, &num) == 3)
		return vcx_count_vport(port, vf, wanted, num) ?: len;
	if (sscanf(text, "%31s %llu", wanted, &num) != 2)
		return -EINVAL;
	for (i = 0; i < VCX_COUNTERS; i++) {
		vcx_counter_name(i, name);
		if (!strcmp(name, wanted)) {
			vcx_count(port, i, num);
			return len;
		}
	}
	return -ENOENT;
}

const struct file_operations vcx_counters_fops = {
	.owner = THIS_MODULE,
	.open = vcx_counters_open,
	.read = seq_read,
	.write = vcx_counters_write,
	.llseek = seq_lseek,
	.release = single_release,
};
