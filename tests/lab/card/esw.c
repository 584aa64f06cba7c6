// SPDX-License-Identifier: GPL-2.0-only
/* The embedded switch of a port: its mode, and the representors of its VFs. */
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include "card.h"

bool vcx_esw_vf_bound(const struct vcx_port *port)
{
	int i;

	for (i = 0; i < VCX_MAX_VFS; i++)
		if (READ_ONCE(port->vf[i].bound))
			return true;
	return false;
}

static void vcx_reps_destroy(struct vcx_port *port, u16 num)
{
	while (num--)
		vcx_netdev_destroy(rcu_dereference_protected(port->vf[num].rep, 1));
}

static int vcx_reps_create(struct vcx_port *port, u16 num)
{
	struct net_device *rep;
	u16 i;

	for (i = 0; i < num; i++) {
		rep = vcx_netdev_create(&port->pdev->dev, VCX_REP, port, &port->vf[i]);
		if (IS_ERR(rep)) {
			vcx_reps_destroy(port, i);
			return PTR_ERR(rep);
		}
	}
	return 0;
}

static void vcx_esw_log(const struct vcx_port *port, const char *what, bool switchdev)
{
	vcx_info(port, "E-Switch: %s: mode(%s), nvfs(%u), active vports(%u)\n", what,
		 switchdev ? "OFFLOADS" : "LEGACY", port->num_vfs, port->num_vfs + 1);
}

/* Before the PCI core brings the VFs. */
int vcx_esw_add_vfs(struct vcx_port *port, u16 num)
{
	int err = 0;

	if (vcx_switchdev(port))
		err = vcx_reps_create(port, num);
	else	/* Legacy mode starts its switch now, and a LAG without VFs ends. */
		vcx_lag_disable_change(port->card);
	if (err)
		return err;
	port->num_vfs = num;
	vcx_esw_log(port, "Enable", vcx_switchdev(port));
	if (!vcx_switchdev(port))
		vcx_lag_enable_change(port->card);
	return 0;
}

/* After the PCI core took the VFs away. */
void vcx_esw_remove_vfs(struct vcx_port *port)
{
	if (vcx_switchdev(port))
		vcx_reps_destroy(port, port->num_vfs);
	if (port->num_vfs)
		vcx_esw_log(port, "Unload vfs", vcx_switchdev(port));
	port->num_vfs = 0;
}

/* Why the mode cannot change now; see the module's strict_ parameters. */
static bool vcx_esw_busy(struct vcx_port *port)
{
	return (READ_ONCE(vcx_strict_rules) && vcx_flower_rules(port->card)) ||
	       (READ_ONCE(vcx_strict_bond) && netif_is_lag_port(port->netdev)) ||
	       (READ_ONCE(vcx_strict_bound) && vcx_esw_vf_bound(port));
}

static int vcx_esw_to_switchdev(struct vcx_port *port, struct netlink_ext_ack *extack)
{
	int err = -EINVAL;

	/* What the firmware itself refuses. */
	if (vcx_fault(port, VCX_MODE_FAIL) || port->pending_vfs)
		vcx_cmd_err(port, "SET_FLOW_TABLE_ROOT", 0x92f, 0x98afbb);
	else
		err = vcx_reps_create(port, port->num_vfs);
	if (err)
		NL_SET_ERR_MSG_MOD(extack, "Failed setting eswitch to offloads");
	else
		WRITE_ONCE(port->mode, DEVLINK_ESWITCH_MODE_SWITCHDEV);
	return err;
}

/* The uplink keeps its netdev, loses its carrier for a moment, and starts DCB afresh. */
static void vcx_uplink_restart(struct vcx_port *port)
{
	rtnl_lock();
	netif_carrier_off(port->netdev);
	if (vcx_switchdev(port)) {
		port->netdev->wanted_features |= NETIF_F_HW_TC;
		netdev_update_features(port->netdev);
	}
	vcx_dcb_reset(port);
	vcx_carrier_update(port);
	rtnl_unlock();
}

static int vcx_esw_change_mode(struct vcx_port *port, struct netlink_ext_ack *extack)
{
	bool was_switchdev = vcx_switchdev(port);
	int err;

	if (was_switchdev) {
		WRITE_ONCE(port->mode, DEVLINK_ESWITCH_MODE_LEGACY);
		vcx_reps_destroy(port, port->num_vfs);
	} else {
		err = vcx_esw_to_switchdev(port, extack);
		if (err)
			return err;
	}
	vcx_esw_log(port, "Disable", was_switchdev);
	vcx_esw_log(port, "Enable", !was_switchdev);
	vcx_uplink_restart(port);
	return 0;
}

int vcx_esw_set_mode(struct vcx_port *port, u16 mode, struct netlink_ext_ack *extack)
{
	int err = 0;

	if (vcx_fault(port, VCX_SURPRISE_REMOVE))
		return -EIO;
	if (mode != port->mode && vcx_esw_busy(port)) {
		NL_SET_ERR_MSG_MOD(extack, "Can't change mode, E-Switch is busy");
		return -EBUSY;
	}
	/* As in mlx5, even setting the mode that is set takes an active LAG down and up. */
	vcx_lag_disable_change(port->card);
	if (mode != port->mode)
		err = vcx_esw_change_mode(port, extack);
	vcx_lag_enable_change(port->card);
	return err;
}
