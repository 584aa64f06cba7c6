// SPDX-License-Identifier: GPL-2.0-only
/* Uplinks, VF netdevs and representors: how they come and go, and their links. */
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include "card.h"

#define VCX_MAX_MTU 9978

static const struct net_device_ops vcx_ops;

struct vcx_port *vcx_port_of(const struct net_device *dev)
{
	const struct vcx_ndev *nd = netdev_priv(dev);

	return dev->netdev_ops == &vcx_ops && nd->kind != VCX_VF ? nd->port : NULL;
}

/*
 * A VF's link. In switchdev mode its vport is down until its representor is up
 * (mlx5_esw_offloads_vf_rep_load() sets ADMIN_STATE_DOWN, mlx5e_rep_open() UP,
 * in 5.15 to 6.12); in legacy mode it follows the port (ADMIN_STATE_AUTO).
 */
static void vcx_vf_carrier_update(struct vcx_vf *vf)
{
	struct net_device *dev = rtnl_dereference(vf->netdev);
	struct net_device *rep = rtnl_dereference(vf->rep);

	if (!dev || !netif_running(dev))
		return;
	if (vcx_switchdev(vf->port) ? rep && netif_running(rep) : vcx_wire_carrier(vf->port))
		netif_carrier_on(dev);
	else
		netif_carrier_off(dev);
}

static void vcx_link_lost(struct vcx_port *port)
{
	if (netif_carrier_ok(port->netdev))
		vcx_count(port, VCX_LINK_DOWN_EVENTS, 1);
	netif_carrier_off(port->netdev);
}

/* What is down may be on its way out. */
void vcx_carrier_update(struct vcx_port *port)
{
	struct net_device *dev = port->netdev;
	int i;

	for (i = 0; i < VCX_MAX_VFS; i++)
		vcx_vf_carrier_update(&port->vf[i]);
	if (!dev || !netif_running(dev))
		return;
	if (!vcx_wire_carrier(port)) {
		cancel_delayed_work(&port->link_up);
		vcx_link_lost(port);
	} else if (!netif_carrier_ok(dev)) {
		schedule_delayed_work(&port->link_up, msecs_to_jiffies(vcx_link_up_ms));
	}
}

void vcx_link_trained(struct work_struct *work)
{
	struct vcx_port *port = container_of(to_delayed_work(work), struct vcx_port, link_up);
	struct net_device *dev;

	rtnl_lock();
	dev = port->netdev;
	if (dev && netif_running(dev) && vcx_wire_carrier(port))
		netif_carrier_on(dev);
	rtnl_unlock();
}

/*
 * mlx5_toggle_port_link() of 5.15 to 6.12 (port.c), and the PAOS commands of
 * mlx5e_close() and mlx5e_open(). The far end keeps its carrier, as the
 * firmware's KEEP_ETH_LINK_UP has it.
 */
void vcx_link_toggle(struct vcx_port *port)
{
	vcx_link_lost(port);
	cancel_delayed_work(&port->link_up);
	vcx_carrier_update(port);
}

static int vcx_open(struct net_device *dev)
{
	struct vcx_ndev *nd = netdev_priv(dev);

	if (nd->kind == VCX_UPLINK)
		vcx_link_toggle(nd->port);
	else if (nd->kind == VCX_REP)
		netif_carrier_on(dev);
	if (nd->vf)
		vcx_vf_carrier_update(nd->vf);
	return 0;
}

static int vcx_stop(struct net_device *dev)
{
	struct vcx_ndev *nd = netdev_priv(dev);

	netif_carrier_off(dev);
	if (nd->kind == VCX_REP)
		vcx_vf_carrier_update(nd->vf);
	return 0;
}

#ifndef SET_NETDEV_DEVLINK_PORT
static struct devlink_port *vcx_get_devlink_port(struct net_device *dev)
{
	struct vcx_ndev *nd = netdev_priv(dev);

	return nd->kind == VCX_VF ? NULL : &nd->dl_port;
}
#endif

static int vcx_setup_tc(struct net_device *dev, enum tc_setup_type type, void *data)
{
	return vcx_port_of(dev) ? vcx_flower_setup(dev, type, data) : -EOPNOTSUPP;
}

static const struct net_device_ops vcx_ops = {
#ifndef SET_NETDEV_DEVLINK_PORT
	.ndo_get_devlink_port = vcx_get_devlink_port,
#endif
	.ndo_open = vcx_open,
	.ndo_stop = vcx_stop,
	.ndo_start_xmit = vcx_xmit,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_setup_tc = vcx_setup_tc,
	.ndo_get_stats64 = vcx_get_stats64,
	.ndo_has_offload_stats = vcx_has_offload_stats,
	.ndo_get_offload_stats = vcx_get_offload_stats,
	.ndo_set_vf_mac = vcx_set_vf_mac,
	.ndo_set_vf_vlan = vcx_set_vf_vlan,
	.ndo_set_vf_rate = vcx_set_vf_rate,
	.ndo_get_vf_config = vcx_get_vf_config,
};

static int vcx_devlink_port_add(struct vcx_ndev *nd)
{
	const struct vcx_card *card = nd->port->card;
	struct devlink_port *dlp = &nd->dl_port;
	struct devlink_port_attrs attrs = {};
	/* mlx5_esw_vport_to_devlink_port_index() of 5.15 to 6.12; the uplink's vport is 0xffff. */
	unsigned int index = nd->port->port << 16 | (nd->vf ? nd->vf->index + 1 : 0xffff);

	if (nd->kind == VCX_VF)
		return 0;
	memcpy(attrs.switch_id.id, card->system_image_guid, sizeof(card->system_image_guid));
	attrs.switch_id.id_len = sizeof(card->system_image_guid);
	if (nd->kind == VCX_UPLINK) {
		attrs.flavour = DEVLINK_PORT_FLAVOUR_PHYSICAL;
		attrs.phys.port_number = nd->port->port;
		devlink_port_attrs_set(dlp, &attrs);
	} else {
		dlp->attrs.switch_id = attrs.switch_id;
		devlink_port_attrs_pci_vf_set(dlp, 0, nd->port->port, nd->vf->index, false);
	}
	return devl_port_register(nd->port->devlink, dlp, index);
}

static void vcx_netdev_setup(struct net_device *dev, struct vcx_ndev *nd)
{
	dev->netdev_ops = &vcx_ops;
	dev->ethtool_ops = &vcx_ethtool_ops[nd->kind];
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
	if (nd->kind != VCX_VF)
		dev->hw_features |= NETIF_F_HW_TC;
	if (nd->kind == VCX_REP)
		dev->features |= NETIF_F_HW_TC;
	if (nd->kind == VCX_UPLINK)
		eth_hw_addr_set(dev, nd->port->mac);
	else if (nd->kind == VCX_VF && !is_zero_ether_addr(nd->vf->mac))
		eth_hw_addr_set(dev, nd->vf->mac);
	else
		eth_hw_addr_random(dev);
}

/* Lets the datapath find @dev (or, with NULL, no longer). */
static void vcx_netdev_publish(struct vcx_ndev *nd, struct net_device *dev)
{
	rtnl_lock();
	if (nd->kind == VCX_UPLINK) {
		WRITE_ONCE(nd->port->netdev, dev);
		vcx_dcb_set_ops(nd->port);
	} else if (nd->kind == VCX_VF) {
		rcu_assign_pointer(nd->vf->netdev, dev);
	} else {
		rcu_assign_pointer(nd->vf->rep, dev);
	}
	rtnl_unlock();
}

/* The end of @dev, which is not, or no longer, registered. */
static void vcx_netdev_free(struct net_device *dev)
{
	struct vcx_ndev *nd = netdev_priv(dev);

	if (nd->kind == VCX_UPLINK)
		cancel_delayed_work_sync(&nd->port->link_up);
	vcx_netdev_publish(nd, NULL);
	synchronize_net();
	if (nd->kind != VCX_VF)
		devl_port_unregister(&nd->dl_port);
	free_netdev(dev);
}

/* Returns an ERR_PTR on failure. */
struct net_device *vcx_netdev_create(struct device *parent, enum vcx_kind kind,
				     struct vcx_port *port, struct vcx_vf *vf)
{
	struct net_device *dev;
	struct vcx_ndev *nd;
	int err;

	dev = alloc_etherdev_mq(sizeof(*nd), vcx_max_channels());
	if (!dev)
		return ERR_PTR(-ENOMEM);
	nd = netdev_priv(dev);
	nd->kind = kind;
	nd->port = port;
	nd->vf = vf;
	SET_NETDEV_DEV(dev, parent);
	vcx_netdev_setup(dev, nd);
	vcx_settings_reset(dev, kind == VCX_REP);
	err = vcx_devlink_port_add(nd);
	if (err) {
		free_netdev(dev);
		return ERR_PTR(err);
	}
#ifdef SET_NETDEV_DEVLINK_PORT
	if (kind != VCX_VF)
		SET_NETDEV_DEVLINK_PORT(dev, &nd->dl_port);
#endif
	if (kind == VCX_UPLINK)
		vcx_dcb_init(port);
	vcx_netdev_publish(nd, dev);
	netif_carrier_off(dev);
	err = register_netdev(dev);
	if (err) {
		vcx_netdev_free(dev);
		return ERR_PTR(err);
	}
#ifndef SET_NETDEV_DEVLINK_PORT
	if (kind != VCX_VF)
		devlink_port_type_eth_set(&nd->dl_port, dev);
#endif
	blocking_notifier_call_chain(&vcx_changes, 0, NULL);
	return dev;
}

void vcx_netdev_destroy(struct net_device *dev)
{
#ifndef SET_NETDEV_DEVLINK_PORT
	struct vcx_ndev *nd = netdev_priv(dev);

	if (nd->kind != VCX_VF)
		devlink_port_type_clear(&nd->dl_port);
#endif
	unregister_netdev(dev);
	vcx_netdev_free(dev);
	blocking_notifier_call_chain(&vcx_changes, 0, NULL);
}
