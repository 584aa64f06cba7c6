// SPDX-License-Identifier: GPL-2.0-only
/* The embedded switch of a port: its mode, and the representors of its VFs. */
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include "card.h"

/* Whoever's driver a VF has: to the firmware it is in use. */
bool vcx_esw_vf_bound(const struct vcx_port *port)
{
	struct pci_dev *pdev;
	bool bound = false;
	int i;

	for (i = 0; i < port->num_vfs && port->card->root && !bound; i++) {
		pdev = pci_get_slot(port->card->root, vcx_vf_devfn(port, i));
		bound = pdev && READ_ONCE(pdev->dev.driver);
		pci_dev_put(pdev);
	}
	return bound;
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

/* esw_info() of eswitch.c: "necvfs" came with 6.8, where switchdev also stopped to count the PF. */
static void vcx_esw_log(const struct vcx_port *port, const char *what, u16 vfs)
{
	bool since_6_8 = LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0) && !vcx_esw_none;
	bool counts_pf = !since_6_8 || !vcx_switchdev(port);

	vcx_info(port, "E-Switch: %s: mode(%s), nvfs(%u)%s, active vports(%u)\n", what,
		 vcx_switchdev(port) ? "OFFLOADS" : "LEGACY", port->num_vfs,
		 since_6_8 ? ", necvfs(0)" : "", port->fdb ? vfs + counts_pf : 0);
}

/*
 * MLX5_ESWITCH_NONE of 5.15: until the first VF and after the last one there is
 * no eswitch, unless a mode was set meanwhile. Gone since 5.18.
 */
bool vcx_esw_is_none(const struct vcx_port *port)
{
	return vcx_esw_none && !READ_ONCE(port->fdb);
}

/* mlx5_eswitch_disable_locked(), with so many VFs still loaded */
static void vcx_esw_disable(struct vcx_port *port, u16 vfs)
{
	if (vcx_esw_is_none(port))
		return;
	vcx_esw_log(port, "Disable", vfs);
	if (vcx_switchdev(port))
		vcx_reps_destroy(port, vfs);
	vcx_forget_vf_rates(port, vfs);
	WRITE_ONCE(port->fdb, false);
}

static void vcx_esw_enabled(struct vcx_port *port)
{
	WRITE_ONCE(port->fdb, true);
	vcx_esw_log(port, "Enable", port->num_vfs);
}

/*
 * Before the PCI core brings the VFs: mlx5_eswitch_enable() of 6.1 to 6.12. A
 * switch that is not there starts now, and a LAG goes down and up for it.
 */
int vcx_esw_add_vfs(struct vcx_port *port, u16 num)
{
	bool start = !port->fdb;
	int err = 0;

	if (start)
		vcx_lag_disable_change(port->card);
	if (vcx_switchdev(port))
		err = vcx_reps_create(port, num);
	if (!err) {
		port->num_vfs = num;
		if (start)
			vcx_esw_enabled(port);
	}
	if (start)
		vcx_lag_enable_change(port->card);
	return err;
}

/* The uplink keeps its netdev, is closed and opened, and starts its settings and DCB afresh. */
static void vcx_uplink_restart(struct vcx_port *port)
{
	if (vcx_switchdev(port))
		vcx_port_reporters_destroy(port);
	else
		vcx_port_reporters_create(port);
	rtnl_lock();
	vcx_settings_reset(port->netdev, vcx_switchdev(port));
	if (vcx_switchdev(port)) {
		port->netdev->wanted_features |= NETIF_F_HW_TC;
		netdev_update_features(port->netdev);
	}
	vcx_dcb_reset(port);
	vcx_link_toggle(port);
	rtnl_unlock();
}

/* mlx5_eswitch_disable() of 5.15, which mlx5_device_disable_sriov() calls there */
static void vcx_esw_to_none(struct vcx_port *port)
{
	bool was_switchdev = vcx_switchdev(port);

	vcx_lag_disable_change(port->card);
	vcx_esw_disable(port, port->num_vfs);
	WRITE_ONCE(port->mode, DEVLINK_ESWITCH_MODE_LEGACY);
	port->num_vfs = 0;
	if (was_switchdev)
		vcx_uplink_restart(port);
	vcx_lag_enable_change(port->card);
}

/*
 * After the PCI core took the VFs away: mlx5_eswitch_disable_sriov() of 6.1 to
 * 6.12. Switchdev stays; the switch of legacy mode ends.
 */
void vcx_esw_remove_vfs(struct vcx_port *port)
{
	if (!port->num_vfs)
		return;
	if (vcx_esw_none) {
		vcx_esw_to_none(port);
		return;
	}
	vcx_esw_log(port, "Unload vfs", port->num_vfs);
	if (vcx_switchdev(port))
		vcx_reps_destroy(port, port->num_vfs);
	else
		vcx_esw_disable(port, 0);
	port->num_vfs = 0;
}

/*
 * mlx5_esw_try_lock() of 5.15 to 6.12 (eswitch.c): EINVAL while somebody holds
 * the lock, EBUSY while rules are offloaded. No version looks for VFs or for a
 * bond; strict_bond is a variation, as MLNX_OFED had it.
 */
static int vcx_esw_try_lock(struct vcx_port *port)
{
	if (vcx_fault(port, VCX_ESW_LOCKED))
		return -EINVAL;
	if ((READ_ONCE(vcx_strict_rules) && vcx_flower_rules(port)) ||
	    (READ_ONCE(vcx_strict_bond) && netif_is_lag_port(port->netdev)))
		return -EBUSY;
	return 0;
}

/*
 * The firmware creates no flow table with encapsulation while a VF is in use:
 * esw_create_offloads_fdb_tables() of 5.15 to 6.12, where the slow path's table
 * has MLX5_FLOW_TABLE_TUNNEL_EN_*. Without encapsulation it does.
 */
static bool vcx_esw_refused(const struct vcx_port *port)
{
	if (vcx_fault(port, VCX_MODE_FAIL))
		return true;
	return port->encap != DEVLINK_ESWITCH_ENCAP_MODE_NONE &&
	       (port->pending_vfs || (READ_ONCE(vcx_strict_bound) && vcx_esw_vf_bound(port)));
}

/* esw_offloads_start() of 6.1 to 6.12: a failure leaves legacy mode without its switch. */
static int vcx_esw_to_switchdev(struct vcx_port *port, struct netlink_ext_ack *extack)
{
	int err = vcx_command(port, "CREATE_FLOW_TABLE", 0x930);

	if (!err && vcx_esw_refused(port)) {
		vcx_cmd_err(port, "CREATE_FLOW_TABLE(0x930)", "bad resource state(0x9)", 0x98afbb);
		err = -EINVAL;
	}
	if (err)
		dev_warn(&port->pdev->dev,
			 "E-Switch: Failed to create slow path FDB Table err %d\n", err);
	else
		err = vcx_reps_create(port, port->num_vfs);
	if (err) {
		NL_SET_ERR_MSG_MOD(extack, "Failed setting eswitch to offloads");
		return err;
	}
	WRITE_ONCE(port->mode, DEVLINK_ESWITCH_MODE_SWITCHDEV);
	vcx_esw_enabled(port);
	return 0;
}

static int vcx_esw_change_mode(struct vcx_port *port, u16 mode, struct netlink_ext_ack *extack)
{
	int err;

	vcx_esw_disable(port, port->num_vfs);
	if (mode == DEVLINK_ESWITCH_MODE_SWITCHDEV) {
		err = vcx_esw_to_switchdev(port, extack);
		if (err && vcx_esw_none)	/* esw_offloads_start() of 5.15 goes back. */
			vcx_esw_enabled(port);
		if (err)
			return err;
	} else {	/* esw_offloads_stop() since 6.1: legacy needs no switch without VFs */
		WRITE_ONCE(port->mode, DEVLINK_ESWITCH_MODE_LEGACY);
		if (port->num_vfs || vcx_esw_none)
			vcx_esw_enabled(port);
	}
	vcx_uplink_restart(port);
	return 0;
}

/* mlx5_devlink_eswitch_mode_set() of 5.15 to 6.12 */
int vcx_esw_set_mode(struct vcx_port *port, u16 mode, struct netlink_ext_ack *extack)
{
	int err;

	if (vcx_fault(port, VCX_SURPRISE_REMOVE) || !port->netdev)
		return -EIO;
	/* Even what is refused, or is the mode already, takes an active LAG down and up. */
	vcx_lag_disable_change(port->card);
	err = vcx_esw_try_lock(port);
	if (err)
		NL_SET_ERR_MSG_MOD(extack, "Can't change mode, E-Switch is busy");
	else if (mode != port->mode || vcx_esw_is_none(port))
		err = vcx_esw_change_mode(port, mode, extack);
	vcx_lag_enable_change(port->card);
	return err;
}
