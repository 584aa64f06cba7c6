// SPDX-License-Identifier: GPL-2.0-only
/* The embedded switch of a port: its mode, and the representors of its VFs. */
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include "core.h"

u16 vcx_esw_mode(const struct vcx_port *port)
{
	return READ_ONCE(port->esw->mode);
}

bool vcx_esw_vf_bound(const struct vcx_port *port)
{
	int i;

	for (i = 0; i < VCX_MAX_VFS; i++)
		if (READ_ONCE(port->esw->vf[i].bound))
			return true;
	return false;
}

static void vcx_reps_destroy(struct vcx_port *port, u16 num)
{
	struct net_device *rep;

	while (num--) {
		rep = rcu_dereference_protected(port->esw->vf[num].rep, 1);
		vcx_netdev_destroy(rep);
	}
}

static int vcx_reps_create(struct vcx_port *port, u16 num)
{
	struct net_device *rep;
	u16 i;

	for (i = 0; i < num; i++) {
		rep = vcx_netdev_create(port->devlink, &port->pdev->dev, VCX_REP, port,
					&port->esw->vf[i]);
		if (IS_ERR(rep)) {
			vcx_reps_destroy(port, i);
			return PTR_ERR(rep);
		}
	}
	return 0;
}

/* Before the PCI core brings the VFs. */
int vcx_esw_add_vfs(struct vcx_port *port, u16 num)
{
	struct vcx_esw *esw = port->esw;
	bool switchdev = esw->mode == DEVLINK_ESWITCH_MODE_SWITCHDEV;
	int err = 0;

	/* Legacy mode starts its switch now, and a LAG without VFs ends. */
	if (!switchdev)
		vcx_lag_disable_change(port->card);
	else
		err = vcx_reps_create(port, num);
	if (!err) {
		esw->num_vfs = num;
		vcx_info(port, "E-Switch: Enable: mode(%s), nvfs(%u), active vports(%u)\n",
			 switchdev ? "OFFLOADS" : "LEGACY", num, num + 1);
	}
	if (!switchdev)
		vcx_lag_enable_change(port->card);
	return err;
}

/* After the PCI core took the VFs away. */
void vcx_esw_remove_vfs(struct vcx_port *port)
{
	struct vcx_esw *esw = port->esw;
	int i;

	if (esw->mode == DEVLINK_ESWITCH_MODE_SWITCHDEV)
		vcx_reps_destroy(port, esw->num_vfs);
	if (esw->num_vfs)
		vcx_info(port, "E-Switch: Unload vfs: mode(%s), nvfs(%u), active vports(%u)\n",
			 esw->mode == DEVLINK_ESWITCH_MODE_SWITCHDEV ? "OFFLOADS" : "LEGACY",
			 esw->num_vfs, esw->num_vfs + 1);
	esw->num_vfs = 0;
	for (i = 0; i < VCX_MAX_VFS; i++)
		eth_zero_addr(esw->vf[i].mac);
}

/* Why the mode cannot change now; see the module's strict_ parameters. */
static int vcx_esw_busy(struct vcx_port *port, struct netlink_ext_ack *extack)
{
	bool bonded = netif_is_lag_port(port->netdev);

	if ((READ_ONCE(vcx_strict_rules) && vcx_flower_rules(port->card)) ||
	    (READ_ONCE(vcx_strict_bond) && bonded) ||
	    (READ_ONCE(vcx_strict_bound) && vcx_esw_vf_bound(port))) {
		NL_SET_ERR_MSG_MOD(extack, "Can't change mode, E-Switch is busy");
		return -EBUSY;
	}
	return 0;
}

/* What the firmware itself refuses. */
static int vcx_esw_firmware_refuses(struct vcx_port *port, struct netlink_ext_ack *extack)
{
	if (!READ_ONCE(port->faults.mode_fail) && !READ_ONCE(port->esw->pending_vfs))
		return 0;
	vcx_cmd_err(port, "SET_FLOW_TABLE_ROOT", 0x92f, "bad parameter", 0x3, 0x98afbb, -EINVAL);
	NL_SET_ERR_MSG_MOD(extack, "Failed setting eswitch to offloads");
	return -EINVAL;
}

/* The uplink keeps its netdev, loses its carrier for a moment, and starts DCB afresh. */
static void vcx_uplink_restart(struct vcx_port *port, bool switchdev)
{
	rtnl_lock();
	netif_carrier_off(port->netdev);
	if (switchdev) {
		port->netdev->wanted_features |= NETIF_F_HW_TC;
		netdev_update_features(port->netdev);
	}
	vcx_dcb_reset(port);
	vcx_carrier_update(port);
	rtnl_unlock();
}

static int vcx_esw_change_mode(struct vcx_port *port, u16 mode, struct netlink_ext_ack *extack)
{
	bool switchdev = mode == DEVLINK_ESWITCH_MODE_SWITCHDEV;
	struct vcx_esw *esw = port->esw;
	int err;

	if (switchdev) {
		err = vcx_esw_firmware_refuses(port, extack);
		if (err)
			return err;
		err = vcx_reps_create(port, esw->num_vfs);
		if (err) {
			NL_SET_ERR_MSG_MOD(extack, "Failed setting eswitch to offloads");
			return err;
		}
		WRITE_ONCE(esw->mode, mode);
	} else {
		WRITE_ONCE(esw->mode, mode);
		vcx_reps_destroy(port, esw->num_vfs);
	}
	vcx_info(port, "E-Switch: Disable: mode(%s), nvfs(%u), active vports(%u)\n",
		 switchdev ? "LEGACY" : "OFFLOADS", esw->num_vfs, esw->num_vfs + 1);
	vcx_info(port, "E-Switch: Enable: mode(%s), nvfs(%u), active vports(%u)\n",
		 switchdev ? "OFFLOADS" : "LEGACY", esw->num_vfs, esw->num_vfs + 1);
	vcx_uplink_restart(port, switchdev);
	return 0;
}

int vcx_esw_set_mode(struct vcx_port *port, u16 mode, struct netlink_ext_ack *extack)
{
	int err = 0;

	if (mode != DEVLINK_ESWITCH_MODE_LEGACY && mode != DEVLINK_ESWITCH_MODE_SWITCHDEV)
		return -EINVAL;
	if (READ_ONCE(port->faults.surprise_remove))
		return -EIO;
	if (mode != port->esw->mode) {
		err = vcx_esw_busy(port, extack);
		if (err)
			return err;
	}
	/* As in mlx5, even setting the mode that is set takes an active LAG down and up. */
	vcx_lag_disable_change(port->card);
	if (mode != port->esw->mode)
		err = vcx_esw_change_mode(port, mode, extack);
	vcx_lag_enable_change(port->card);
	return err;
}
