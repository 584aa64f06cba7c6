// SPDX-License-Identifier: GPL-2.0-only
/* What a PF's administrator sets for its VFs: "ip link set PF vf N". */
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include "card.h"

/*
 * The VF that "ip link set PF vf N" means, by the rules of 6.1 to 6.12: vports
 * exist for all VFs that the PF can have, and any other is EINVAL
 * (mlx5_eswitch_get_vport() of eswitch.c). Only uplinks have the operations.
 */
static struct vcx_vf *vcx_vf_of(const struct net_device *dev, int index)
{
	struct vcx_ndev *nd = netdev_priv(dev);

	if (nd->kind != VCX_UPLINK)
		return ERR_PTR(-EOPNOTSUPP);
	if (index < 0 || index >= nd->port->total_vfs)
		return ERR_PTR(-EINVAL);
	return &nd->port->vf[index];
}

/*
 * mlx5_esw_set_vport_mac_locked() of 6.1 to 6.12. A VF has the address from when
 * its driver is bound next (mlx5e_set_netdev_dev_addr() of en_main.c).
 */
int vcx_set_vf_mac(struct net_device *dev, int index, u8 *mac)
{
	struct vcx_vf *vf = vcx_vf_of(dev, index);

	if (IS_ERR(vf))
		return PTR_ERR(vf);
	if (is_multicast_ether_addr(mac))
		return -EINVAL;
	ether_addr_copy(vf->mac, mac);
	return 0;
}

/*
 * mlx5_eswitch_set_vport_vlan() of 6.1 to 6.12: in switchdev mode only VLAN 0,
 * which libvirt sets with every address. Unlike mlx5, the card does not tag in
 * legacy mode either.
 */
int vcx_set_vf_vlan(struct net_device *dev, int index, u16 vlan, u8 qos, __be16 proto)
{
	struct vcx_vf *vf = vcx_vf_of(dev, index);

	if (proto != htons(ETH_P_8021Q))
		return -EPROTONOSUPPORT;
	if (IS_ERR(vf) && (PTR_ERR(vf) != -EINVAL || !vcx_switchdev(vcx_port_of(dev))))
		return PTR_ERR(vf);
	return vlan ? -EOPNOTSUPP : 0;
}

/*
 * mlx5_esw_qos_set_vport_rate() of 6.1 to 6.12: in both modes. The card only keeps
 * the rates, its traffic is not limited.
 */
int vcx_set_vf_rate(struct net_device *dev, int index, int min_rate, int max_rate)
{
	struct vcx_vf *vf = vcx_vf_of(dev, index);

	if (IS_ERR(vf))
		return PTR_ERR(vf);
	vf->min_rate = min_rate;
	vf->max_rate = max_rate;
	return 0;
}

/* mlx5_eswitch_get_vport_config() of 6.1 to 6.12 */
int vcx_get_vf_config(struct net_device *dev, int index, struct ifla_vf_info *ivi)
{
	struct vcx_vf *vf = vcx_vf_of(dev, index);

	if (IS_ERR(vf))
		return PTR_ERR(vf);
	memset(ivi, 0, sizeof(*ivi));
	ivi->vf = index;
	ether_addr_copy(ivi->mac, vf->mac);
	ivi->min_tx_rate = vf->min_rate;
	ivi->max_tx_rate = vf->max_rate;
	return 0;
}

/* mlx5_esw_qos_vport_disable() of 6.1 to 6.12, when a vport ends: also at a change of the mode. */
void vcx_forget_vf_rates(struct vcx_port *port, int num)
{
	int i;

	rtnl_lock();
	for (i = 0; i < num; i++) {
		port->vf[i].min_rate = 0;
		port->vf[i].max_rate = 0;
	}
	rtnl_unlock();
}

/*
 * mlx5_eswitch_clear_vf_vports_info() of 6.1 to 6.12: the end of the VFs is that
 * of their settings. A change of the mode, a reset and a recovery keep them.
 */
void vcx_forget_vf_settings(struct vcx_port *port, int num)
{
	int i;

	rtnl_lock();
	for (i = 0; i < num; i++)
		eth_zero_addr(port->vf[i].mac);
	rtnl_unlock();
	vcx_forget_vf_rates(port, num);
}
