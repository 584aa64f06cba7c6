// SPDX-License-Identifier: GPL-2.0-only
/*
 * Uplinks, VF netdevs and representors, and the way of a frame between them.
 *
 * switchdev: VF <-> its representor, uplink <-> wire; whatever bridges the
 *            representors forwards (in software, also what the NIC would do).
 * legacy:    a small bridge by MAC address among the VFs, the uplink and the wire.
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include "core.h"

#define VCX_MAX_MTU 9978

static const struct net_device_ops vcx_uplink_ops, vcx_vf_ops, vcx_rep_ops;

bool vcx_is_uplink(const struct net_device *dev)
{
	return dev->netdev_ops == &vcx_uplink_ops;
}

bool vcx_is_rep(const struct net_device *dev)
{
	return dev->netdev_ops == &vcx_rep_ops;
}

struct vcx_port *vcx_port_of(const struct net_device *dev)
{
	const struct vcx_ndev *nd = netdev_priv(dev);

	return vcx_is_uplink(dev) || vcx_is_rep(dev) ? nd->port : NULL;
}

/* --- frames ------------------------------------------------------------- */

/* Hands @skb to @dev as received; @dev may be NULL or in another namespace. */
static void vcx_deliver(struct net_device *dev, struct sk_buff *skb)
{
	unsigned int len = skb->len;

	if (!dev) {
		kfree_skb(skb);
		return;
	}
	if (dev_forward_skb(dev, skb) == NET_RX_SUCCESS)
		dev_sw_netstats_rx_add(dev, len);
	else
		dev_core_stats_rx_dropped_inc(dev);
}

/*
 * The legacy switch. Offers @skb from @from (NULL: the wire) to the VFs.
 * Returns true when a VF took it, false when it goes on to uplink or wire.
 */
static bool vcx_veb(struct vcx_port *port, const struct net_device *from, struct sk_buff *skb)
{
	const u8 *dst = eth_hdr(skb)->h_dest;
	bool multicast = is_multicast_ether_addr(dst);
	struct net_device *vf;
	struct sk_buff *copy;
	int i;

	for (i = 0; i < READ_ONCE(port->esw->num_vfs); i++) {
		vf = rcu_dereference_bh(port->esw->vf[i].netdev);
		if (!vf || vf == from)
			continue;
		if (!multicast && !ether_addr_equal(vf->dev_addr, dst))
			continue;
		if (!multicast) {
			vcx_deliver(vf, skb);
			return true;
		}
		copy = skb_clone(skb, GFP_ATOMIC);
		if (copy)
			vcx_deliver(vf, copy);
	}
	return false;
}

/* A frame from a VF in legacy mode: to another VF, the host, or the wire. */
static void vcx_vf_tx_legacy(struct vcx_port *port, struct net_device *from, struct sk_buff *skb)
{
	const u8 *dst = eth_hdr(skb)->h_dest;
	struct net_device *uplink;
	struct sk_buff *copy;

	if (vcx_veb(port, from, skb))
		return;
	uplink = READ_ONCE(port->netdev);
	if (uplink && ether_addr_equal(uplink->dev_addr, dst)) {
		vcx_deliver(uplink, skb);
		return;
	}
	if (uplink && is_multicast_ether_addr(dst)) {
		copy = skb_clone(skb, GFP_ATOMIC);
		if (copy)
			vcx_deliver(uplink, copy);
	}
	vcx_wire_tx(port, skb);
}

/* From the wire; @skb starts at its Ethernet header. Called under rcu_read_lock. */
void vcx_uplink_rx(struct vcx_port *port, struct sk_buff *skb)
{
	if (READ_ONCE(port->faults.link_down) || READ_ONCE(port->faults.surprise_remove)) {
		kfree_skb(skb);
		return;
	}
	skb_reset_mac_header(skb);
	if (vcx_esw_mode(port) == DEVLINK_ESWITCH_MODE_LEGACY && vcx_veb(port, NULL, skb))
		return;
	vcx_deliver(READ_ONCE(port->netdev), skb);
}

static netdev_tx_t vcx_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct vcx_ndev *nd = netdev_priv(dev);
	struct vcx_port *port = nd->port;
	bool legacy = vcx_esw_mode(port) == DEVLINK_ESWITCH_MODE_LEGACY;

	dev_sw_netstats_tx_add(dev, 1, skb->len);
	skb_tx_timestamp(skb);
	skb_reset_mac_header(skb);
	rcu_read_lock_bh();
	if (READ_ONCE(port->faults.surprise_remove))
		kfree_skb(skb);
	else if (nd->kind == VCX_REP)
		vcx_deliver(rcu_dereference_bh(nd->vf->netdev), skb);
	else if (nd->kind == VCX_VF && legacy)
		vcx_vf_tx_legacy(port, dev, skb);
	else if (nd->kind == VCX_VF)
		vcx_deliver(rcu_dereference_bh(nd->vf->rep), skb);
	else if (!legacy || !vcx_veb(port, dev, skb))
		vcx_wire_tx(port, skb);
	rcu_read_unlock_bh();
	return NETDEV_TX_OK;
}

/* --- carrier ------------------------------------------------------------ */

static void vcx_set_carrier(struct net_device *dev, bool on)
{
	if (on && netif_running(dev))
		netif_carrier_on(dev);
	else
		netif_carrier_off(dev);
}

/* A VF's link follows its representor in switchdev mode, the uplink in legacy mode. */
static void vcx_vf_carrier(struct vcx_vf *vf)
{
	struct net_device *dev = rtnl_dereference(vf->netdev);
	struct net_device *rep = rtnl_dereference(vf->rep);

	if (!dev)
		return;
	if (vcx_esw_mode(vf->port) == DEVLINK_ESWITCH_MODE_SWITCHDEV)
		vcx_set_carrier(dev, rep && netif_running(rep));
	else
		vcx_set_carrier(dev, vcx_wire_carrier(vf->port));
}

/* rtnl; whenever wire, faults or mode may have changed */
void vcx_carrier_update(struct vcx_port *port)
{
	int i;

	if (port->netdev)
		vcx_set_carrier(port->netdev, vcx_wire_carrier(port));
	for (i = 0; i < VCX_MAX_VFS; i++)
		vcx_vf_carrier(&port->esw->vf[i]);
}

static int vcx_open(struct net_device *dev)
{
	struct vcx_ndev *nd = netdev_priv(dev);

	switch (nd->kind) {
	case VCX_UPLINK:
		vcx_set_carrier(dev, vcx_wire_carrier(nd->port));
		break;
	case VCX_REP:
		netif_carrier_on(dev);
		fallthrough;
	case VCX_VF:
		vcx_vf_carrier(nd->vf);
	}
	return 0;
}

static int vcx_stop(struct net_device *dev)
{
	struct vcx_ndev *nd = netdev_priv(dev);

	netif_carrier_off(dev);
	if (nd->kind == VCX_REP)
		vcx_vf_carrier(nd->vf);
	return 0;
}

/* --- the PF's say over its VFs ------------------------------------------ */

static int vcx_set_vf_mac(struct net_device *dev, int vf, u8 *mac)
{
	struct vcx_ndev *nd = netdev_priv(dev);

	if (vf >= nd->port->esw->num_vfs || is_multicast_ether_addr(mac))
		return -EINVAL;
	ether_addr_copy(nd->port->esw->vf[vf].mac, mac);
	return 0;
}

static int vcx_get_vf_config(struct net_device *dev, int vf, struct ifla_vf_info *info)
{
	struct vcx_ndev *nd = netdev_priv(dev);

	if (vf >= nd->port->esw->num_vfs)
		return -EINVAL;
	memset(info, 0, sizeof(*info));
	info->vf = vf;
	ether_addr_copy(info->mac, nd->port->esw->vf[vf].mac);
	return 0;
}

/* --- operations --------------------------------------------------------- */

#ifdef SET_NETDEV_DEVLINK_PORT
#define VCX_COMMON_OPS
#else
static struct devlink_port *vcx_get_devlink_port(struct net_device *dev)
{
	struct vcx_ndev *nd = netdev_priv(dev);

	return &nd->dl_port;
}

#define VCX_COMMON_OPS .ndo_get_devlink_port = vcx_get_devlink_port,
#endif

static const struct net_device_ops vcx_uplink_ops = {
	VCX_COMMON_OPS
	.ndo_open = vcx_open,
	.ndo_stop = vcx_stop,
	.ndo_start_xmit = vcx_xmit,
	.ndo_get_stats64 = dev_get_tstats64,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_set_vf_mac = vcx_set_vf_mac,
	.ndo_get_vf_config = vcx_get_vf_config,
	.ndo_setup_tc = vcx_flower_setup,
};

static const struct net_device_ops vcx_rep_ops = {
	VCX_COMMON_OPS
	.ndo_open = vcx_open,
	.ndo_stop = vcx_stop,
	.ndo_start_xmit = vcx_xmit,
	.ndo_get_stats64 = dev_get_tstats64,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_setup_tc = vcx_flower_setup,
};

static const struct net_device_ops vcx_vf_ops = {
	VCX_COMMON_OPS
	.ndo_open = vcx_open,
	.ndo_stop = vcx_stop,
	.ndo_start_xmit = vcx_xmit,
	.ndo_get_stats64 = dev_get_tstats64,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

static void vcx_get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	struct vcx_ndev *nd = netdev_priv(dev);
	const struct vcx_preset *preset = nd->port->card->preset;
	const u16 *fw = preset->fw_version;

	strscpy(info->driver, nd->kind == VCX_REP ? "mlx5e_rep" : "mlx5_core",
		sizeof(info->driver));
	snprintf(info->fw_version, sizeof(info->fw_version), "%u.%u.%04u (%s)",
		 fw[0], fw[1], fw[2], preset->psid);
	if (nd->kind != VCX_REP)
		strscpy(info->bus_info, dev_name(dev->dev.parent), sizeof(info->bus_info));
}

static int vcx_get_link_ksettings(struct net_device *dev, struct ethtool_link_ksettings *ks)
{
	bool up = netif_carrier_ok(dev);

	ethtool_link_ksettings_zero_link_mode(ks, supported);
	ethtool_link_ksettings_zero_link_mode(ks, advertising);
	ks->base.speed = up ? vcx_speed() : SPEED_UNKNOWN;
	ks->base.duplex = up ? DUPLEX_FULL : DUPLEX_UNKNOWN;
	ks->base.port = PORT_DA;
	ks->base.autoneg = AUTONEG_DISABLE;
	return 0;
}

static const struct ethtool_ops vcx_ethtool_ops = {
	.get_drvinfo = vcx_get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = vcx_get_link_ksettings,
};

/* --- life --------------------------------------------------------------- */

static int vcx_devlink_port_add(struct devlink *devlink, struct vcx_ndev *nd)
{
	const struct vcx_card *card = nd->port->card;
	struct devlink_port_attrs attrs = {};

	if (nd->kind == VCX_VF) {
		attrs.flavour = DEVLINK_PORT_FLAVOUR_VIRTUAL;
		devlink_port_attrs_set(&nd->dl_port, &attrs);
		return devl_port_register(devlink, &nd->dl_port, 0x10000 * (nd->vf->index + 2));
	}
	memcpy(attrs.switch_id.id, card->system_image_guid, sizeof(card->system_image_guid));
	attrs.switch_id.id_len = sizeof(card->system_image_guid);
	if (nd->kind == VCX_UPLINK) {
		attrs.flavour = DEVLINK_PORT_FLAVOUR_PHYSICAL;
		attrs.phys.port_number = nd->port->port;
		devlink_port_attrs_set(&nd->dl_port, &attrs);
		return devl_port_register(devlink, &nd->dl_port, 0xffff);
	}
	nd->dl_port.attrs.switch_id = attrs.switch_id;
	devlink_port_attrs_pci_vf_set(&nd->dl_port, 0, nd->port->port, nd->vf->index, false);
	return vcx_rep_port_register(devlink, &nd->dl_port, nd->vf->index + 1);
}

static void vcx_netdev_setup(struct net_device *dev, struct vcx_ndev *nd)
{
	dev->ethtool_ops = &vcx_ethtool_ops;
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = VCX_MAX_MTU;
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE;
	dev->hw_features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HIGHDMA | NETIF_F_HW_CSUM |
			   NETIF_F_RXCSUM | NETIF_F_GSO_SOFTWARE;
	dev->hw_enc_features = dev->hw_features;
	dev->vlan_features = dev->hw_features;
	dev->features = dev->hw_features;
#ifdef NETIF_F_LLTX
	dev->features |= NETIF_F_LLTX;
#else
	dev->lltx = true;
#endif
	switch (nd->kind) {
	case VCX_UPLINK:
		dev->netdev_ops = &vcx_uplink_ops;
		dev->hw_features |= NETIF_F_HW_TC;
		eth_hw_addr_set(dev, nd->port->mac);
		break;
	case VCX_REP:
		dev->netdev_ops = &vcx_rep_ops;
		dev->hw_features |= NETIF_F_HW_TC;
		dev->features |= NETIF_F_HW_TC;
		eth_hw_addr_random(dev);
		break;
	case VCX_VF:
		dev->netdev_ops = &vcx_vf_ops;
		if (is_valid_ether_addr(nd->vf->mac))
			eth_hw_addr_set(dev, nd->vf->mac);
		else
			eth_hw_addr_random(dev);
	}
}

/* Lets the datapath find @dev (or, with NULL, no longer). */
static void vcx_netdev_publish(struct vcx_ndev *nd, struct net_device *dev)
{
	rtnl_lock();
	switch (nd->kind) {
	case VCX_UPLINK:
		WRITE_ONCE(nd->port->netdev, dev);
		break;
	case VCX_VF:
		rcu_assign_pointer(nd->vf->netdev, dev);
		break;
	case VCX_REP:
		rcu_assign_pointer(nd->vf->rep, dev);
	}
	rtnl_unlock();
}

/* Under devl_lock of @devlink, not under rtnl. Returns an ERR_PTR on failure. */
struct net_device *vcx_netdev_create(struct devlink *devlink, struct device *parent,
				     enum vcx_kind kind, struct vcx_port *port, struct vcx_vf *vf)
{
	struct net_device *dev;
	struct vcx_ndev *nd;
	int err = -ENOMEM;

	dev = alloc_etherdev(sizeof(*nd));
	if (!dev)
		return ERR_PTR(-ENOMEM);
	nd = netdev_priv(dev);
	nd->kind = kind;
	nd->port = port;
	nd->vf = vf;
	SET_NETDEV_DEV(dev, parent);
	vcx_netdev_setup(dev, nd);
	dev->tstats = netdev_alloc_pcpu_stats(struct pcpu_sw_netstats);
	if (!dev->tstats)
		goto free_netdev;
	err = vcx_devlink_port_add(devlink, nd);
	if (err)
		goto free_stats;
#ifdef SET_NETDEV_DEVLINK_PORT
	SET_NETDEV_DEVLINK_PORT(dev, &nd->dl_port);
#endif
	vcx_netdev_publish(nd, dev);
	if (kind == VCX_UPLINK)
		vcx_dcb_init(port);
	netif_carrier_off(dev);
	err = register_netdev(dev);
	if (err)
		goto unpublish;
#ifndef SET_NETDEV_DEVLINK_PORT
	devlink_port_type_eth_set(&nd->dl_port, dev);
#endif
	return dev;

unpublish:
	if (kind == VCX_UPLINK)
		vcx_dcb_exit(port);
	vcx_netdev_publish(nd, NULL);
	synchronize_net();
	devl_port_unregister(&nd->dl_port);
free_stats:
	free_percpu(dev->tstats);
free_netdev:
	free_netdev(dev);
	return ERR_PTR(err);
}

/* Under devl_lock, not under rtnl. */
void vcx_netdev_destroy(struct net_device *dev)
{
	struct vcx_ndev *nd = netdev_priv(dev);

#ifndef SET_NETDEV_DEVLINK_PORT
	devlink_port_type_clear(&nd->dl_port);
#endif
	unregister_netdev(dev);
	if (nd->kind == VCX_UPLINK)
		vcx_dcb_exit(nd->port);
	vcx_netdev_publish(nd, NULL);
	synchronize_net();
	devl_port_unregister(&nd->dl_port);
	free_percpu(dev->tstats);
	free_netdev(dev);
}
