// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way of a frame between uplinks, VF netdevs, representors and the wire.
 *
 * switchdev: VF <-> its representor, uplink <-> wire; whatever bridges the
 *            representors forwards (in software, also what the NIC would do).
 * legacy:    a small bridge by MAC address among the VFs, the uplink and the wire.
 */
#include <linux/etherdevice.h>
#include "card.h"

/*
 * Whether @dev is a representor, and the kernel and not the card forwards @skb from it, or to it.
 * By the fault, rules send all to the slow path, and tc shows them in hardware as before: so does
 * mlx5 with MLX5_ATTR_FLAG_SLOW_PATH, while it does not know a tunnel's neighbour (en_tc.c of 5.15
 * to 6.12).
 */
static bool vcx_in_software(const struct net_device *dev, const struct sk_buff *skb, bool from)
{
	const struct vcx_ndev *nd = netdev_priv(dev);

	return nd->kind == VCX_REP &&
	       (vcx_fault(nd->port, VCX_SLOW_PATH) || !vcx_flower_takes(dev, skb, from));
}

static void vcx_count_software(struct net_device *rep, unsigned int len, bool from)
{
	struct vcx_ndev *nd = netdev_priv(rep);

	atomic64_inc(&nd->software[from ? 0 : 2]);
	atomic64_add(len, &nd->software[from ? 1 : 3]);
}

/* Hands @skb to @dev as received; @dev may be NULL or in another namespace. */
static void vcx_deliver(struct net_device *dev, struct sk_buff *skb)
{
	bool software = dev && vcx_in_software(dev, skb, true);
	unsigned int len = skb->len;

	if (!dev) {
		kfree_skb(skb);
	} else if (dev_forward_skb(dev, skb) == NET_RX_SUCCESS) {
		DEV_STATS_INC(dev, rx_packets);
		DEV_STATS_ADD(dev, rx_bytes, len);
		if (software)
			vcx_count_software(dev, len, true);
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

	DEV_STATS_INC(dev, tx_packets);
	DEV_STATS_ADD(dev, tx_bytes, skb->len);
	skb_reset_mac_header(skb);
	if (vcx_in_software(dev, skb, false))
		vcx_count_software(dev, skb->len, false);
	rcu_read_lock_bh();
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
