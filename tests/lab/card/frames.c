// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way of a frame between uplinks, VF netdevs, representors and the wire.
 *
 * switchdev: VF <-> its representor, uplink <-> wire; whatever bridges the
 *            representors forwards (in software, also what the NIC would do).
 * legacy:    a small bridge by MAC address among the VFs, the uplink and the wire.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <net/geneve.h>
#include "card.h"

/* The Ethernet header at @at, which is then behind it and a VLAN's; the payload's protocol. */
static const struct ethhdr *vcx_ethernet(const struct sk_buff *skb, int *at, struct ethhdr *buf,
					 __be16 *protocol)
{
	const struct ethhdr *eth = skb_header_pointer(skb, *at, sizeof(*buf), buf);
	const struct vlan_hdr *vlan;
	struct vlan_hdr tag;

	if (!eth)
		return NULL;
	*at += ETH_HLEN;
	*protocol = eth->h_proto;
	if (!eth_type_vlan(*protocol))
		return eth;
	vlan = skb_header_pointer(skb, *at, sizeof(tag), &tag);
	if (!vlan)
		return NULL;
	*at += VLAN_HLEN;
	*protocol = vlan->h_vlan_encapsulated_proto;
	return eth;
}

/* The header and the protocol of a frame; of one in Geneve over IPv4 those of the inner frame. */
static const struct ethhdr *vcx_inner(const struct sk_buff *skb, struct ethhdr *buf,
				      __be16 *protocol)
{
	const struct genevehdr *geneve;
	const struct ethhdr *eth;
	const struct udphdr *udp;
	const struct iphdr *ip;
	struct genevehdr geneve_buf;
	struct udphdr udp_buf;
	struct iphdr ip_buf;
	int at = 0;

	eth = vcx_ethernet(skb, &at, buf, protocol);
	if (!eth || *protocol != htons(ETH_P_IP))
		return eth;
	ip = skb_header_pointer(skb, at, sizeof(ip_buf), &ip_buf);
	if (!ip || ip->protocol != IPPROTO_UDP)
		return eth;
	at += ip->ihl * 4;
	udp = skb_header_pointer(skb, at, sizeof(udp_buf), &udp_buf);
	if (!udp || udp->dest != htons(GENEVE_UDP_PORT))
		return eth;
	at += sizeof(*udp);
	geneve = skb_header_pointer(skb, at, sizeof(geneve_buf), &geneve_buf);
	if (!geneve || geneve->proto_type != htons(ETH_P_TEB))
		return eth;
	at += sizeof(*geneve) + geneve->opt_len * 4;
	return vcx_ethernet(skb, &at, buf, protocol);
}

/* The representor of the card's VF with this address; with a LAG, behind whichever port. */
static const struct net_device *vcx_rep_of(struct vcx_card *card, const u8 *mac)
{
	const struct net_device *dev;
	struct vcx_port *port;
	int i;

	vcx_for_each_port(card, port)
		for (i = 0; i < READ_ONCE(port->num_vfs); i++) {
			dev = rcu_dereference_bh(port->vf[i].netdev);
			if (dev && ether_addr_equal(dev->dev_addr, mac))
				return rcu_dereference_bh(port->vf[i].rep);
		}
	return NULL;
}

/*
 * Whether the kernel and not the card forwards @skb, which @dev receives (@rx) or sends. @dev is a
 * representor, whose VF sends what it receives, or an uplink, which sends for VFs and for the host.
 * By the fault, rules send all to the slow path, and tc shows them in hardware as before: so does
 * mlx5 with MLX5_ATTR_FLAG_SLOW_PATH, while it does not know a tunnel's neighbour (en_tc.c of 5.15
 * to 6.12).
 */
static bool vcx_in_software(const struct net_device *dev, const struct sk_buff *skb, bool rx)
{
	const struct vcx_ndev *nd = netdev_priv(dev);
	const struct net_device *rep = dev;
	bool from = nd->kind == VCX_REP ? rx : !rx;
	const struct ethhdr *eth;
	struct ethhdr buf;
	__be16 protocol;

	if (nd->kind == VCX_VF)
		return false;
	eth = vcx_inner(skb, &buf, &protocol);
	if (!eth)
		return true;
	if (nd->kind == VCX_UPLINK) {
		rep = vcx_rep_of(nd->port->card, from ? eth->h_source : eth->h_dest);
		if (!rep)
			return !vcx_flower_routes(from ? eth->h_source : eth->h_dest, protocol, from);
	}
	nd = netdev_priv(rep);
	return vcx_fault(nd->port, VCX_SLOW_PATH) || !vcx_flower_takes(rep, protocol, from);
}

static void vcx_count_software(struct net_device *dev, unsigned int frames, unsigned int len,
			       bool rx)
{
	struct vcx_ndev *nd = netdev_priv(dev);

	atomic64_add(frames, &nd->software[rx ? 0 : 2]);
	atomic64_add(len, &nd->software[rx ? 1 : 3]);
}

/* Hands @skb to @dev as received; @dev may be NULL or in another namespace. */
static void vcx_deliver(struct net_device *dev, struct sk_buff *skb)
{
	bool software = dev && vcx_in_software(dev, skb, true);
	unsigned int len = skb->len, frames = vcx_frames(skb);

	if (!dev) {
		kfree_skb(skb);
	} else if (dev_forward_skb(dev, skb) == NET_RX_SUCCESS) {
		DEV_STATS_ADD(dev, rx_packets, frames);
		DEV_STATS_ADD(dev, rx_bytes, len);
		if (software)
			vcx_count_software(dev, frames, len, true);
	} else {
		DEV_STATS_INC(dev, rx_dropped);
	}
}

/*
 * The legacy switch, for a frame from @from (NULL: the wire). What no VF took
 * goes from the wire to the uplink, and from a VF or the uplink to the wire.
 */
static void vcx_veb(struct vcx_port *port, const struct net_device *from, struct sk_buff *skb)
{
	/* Without a switch, as a failed change of the mode leaves it, VFs are cut off. */
	int i, num_vfs = READ_ONCE(port->fdb) ? READ_ONCE(port->num_vfs) : 0;
	int num = num_vfs + (from ? 1 : 0);
	struct net_device *uplink = READ_ONCE(port->netdev);
	const u8 *dst = eth_hdr(skb)->h_dest;
	struct net_device *to;
	struct sk_buff *copy;

	for (i = 0; i < num; i++) {
		to = i < num_vfs ? rcu_dereference_bh(port->vf[i].netdev) : uplink;
		if (!to || to == from)
			continue;
		if (is_multicast_ether_addr(dst)) {
			copy = skb_clone(skb, GFP_ATOMIC);
			if (copy)
				vcx_deliver(to, copy);
		} else if (ether_addr_equal(to->dev_addr, dst)) {
			vcx_deliver(to, skb);
			return;
		}
	}
	if (from)
		vcx_wire_tx(port, skb);
	else
		vcx_deliver(uplink, skb);
}

/* From the wire; @skb starts at its Ethernet header. Called under rcu_read_lock. */
void vcx_uplink_rx(struct vcx_port *port, struct sk_buff *skb)
{
	skb_reset_mac_header(skb);
	if (vcx_fault(port, VCX_LINK_DOWN) || vcx_fault(port, VCX_SURPRISE_REMOVE))
		return kfree_skb(skb);
	vcx_count_frame(port, skb, true);
	if (vcx_switchdev(port))
		vcx_deliver(READ_ONCE(port->netdev), skb);
	else
		vcx_veb(port, NULL, skb);
}

netdev_tx_t vcx_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct vcx_ndev *nd = netdev_priv(dev);
	struct vcx_port *port = nd->port;

	DEV_STATS_ADD(dev, tx_packets, vcx_frames(skb));
	DEV_STATS_ADD(dev, tx_bytes, skb->len);
	skb_reset_mac_header(skb);
	rcu_read_lock_bh();
	if (vcx_in_software(dev, skb, false))
		vcx_count_software(dev, vcx_frames(skb), skb->len, false);
	if (vcx_fault(port, VCX_SURPRISE_REMOVE))
		kfree_skb(skb);
	else if (nd->kind == VCX_REP)
		vcx_deliver(rcu_dereference_bh(nd->vf->netdev), skb);
	else if (nd->kind == VCX_VF && !READ_ONCE(port->fdb))
		kfree_skb(skb);
	else if (!vcx_switchdev(port))
		vcx_veb(port, dev, skb);
	else if (nd->kind == VCX_VF)
		vcx_deliver(rcu_dereference_bh(nd->vf->rep), skb);
	else
		vcx_wire_tx(port, skb);
	rcu_read_unlock_bh();
	return NETDEV_TX_OK;
}
