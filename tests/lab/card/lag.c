// SPDX-License-Identifier: GPL-2.0-only
/*
 * LAG of a card's two ports, by the rules of mlx5's lag/lag.c in Linux 6.1 to 6.12:
 * events of the bond are tracked under rtnl, a work item acts on them later.
 */
#include <linux/debugfs.h>
#include <net/bonding.h>
#include "card.h"

#define UNBIND_FIRST \
	"Make sure all VFs are unbound prior to VF LAG activation or deactivation\n"

/*
 * The LAG object exists on a NIC of two ports whose firmware sets lag_master
 * (mlx5_lag_add_mdev() of 5.15 and 6.1, mlx5_lag_is_supported() of 6.8 and
 * 6.12). Firmware that offers more than 64 VFs clears that bit: then there is
 * no debugfs directory, and no event of a bond is looked at.
 */
bool vcx_lag_object(const struct vcx_card *card)
{
	if (card->preset->dpu || card->nports < VCX_MAX_PORTS)
		return false;
	return !READ_ONCE(vcx_strict_vf64) ||
	       (card->port[0].total_vfs <= 64 && card->port[1].total_vfs <= 64);
}

static bool vcx_lag_ready(const struct vcx_card *card)
{
	return vcx_lag_object(card) && card->lag.port[0] && card->lag.port[1];
}

static bool vcx_lag_prereq(const struct vcx_lag *lag)
{
	const struct vcx_port *p0 = lag->port[0], *p1 = lag->port[1];

	if (vcx_switchdev(p0) != vcx_switchdev(p1))
		return false;
	if (vcx_esw_none)	/* mlx5_esw_lag_prereq() of 5.15 */
		return vcx_switchdev(p0) || (vcx_esw_is_none(p0) && vcx_esw_is_none(p1));
	return vcx_switchdev(p0) || (!READ_ONCE(p0->num_vfs) && !READ_ONCE(p1->num_vfs));
}

/* mlx5_shared_fdb_supported() of 6.1, mlx5_lag_shared_fdb_supported() of 6.8 and 6.12 */
static bool vcx_lag_shared_fdb(const struct vcx_card *card)
{
	const struct vcx_port *p0 = card->lag.port[0], *p1 = card->lag.port[1];

	return card->preset->shared_fdb && vcx_switchdev(p0) && vcx_switchdev(p1) &&
	       READ_ONCE(p0->metadata) && READ_ONCE(p1->metadata);
}

/* The firmware wants no VF's driver to run when a LAG comes or goes, unless it pre-allocates. */
static int vcx_lag_firmware(struct vcx_card *card, bool create)
{
	bool bound = vcx_esw_vf_bound(&card->port[0]) || vcx_esw_vf_bound(&card->port[1]);
	struct vcx_lag *lag = &card->lag;

	if (!create && !lag->in_firmware)
		return 0;
	if ((bound && !vcx_fw_lag_prealloc(card)) || (create && lag->in_firmware)) {
		vcx_cmd_err(lag->port[0], create ? "CREATE_LAG(0x840)" : "DESTROY_LAG(0x843)",
			    "bad parameter(0x3)", 0x7d49cb);
		return -EINVAL;
	}
	lag->in_firmware = create;
	return 0;
}

/* mlx5_infer_tx_affinity_mapping(): of a port that cannot send, the other one sends. */
static void vcx_lag_infer_map(const struct vcx_lag *lag, u8 *map)
{
	bool up[VCX_MAX_PORTS];
	int i;

	for (i = 0; i < VCX_MAX_PORTS; i++)
		up[i] = lag->state[i].link_up && lag->state[i].tx_enabled;
	for (i = 0; i < VCX_MAX_PORTS; i++)
		map[i] = (up[i] || !up[1 - i] ? i : 1 - i) + 1;
}

/* mlx5_lag_print_mapping() of 6.1 to 6.12; mlx5_create_lag() and mlx5_modify_lag() of 5.15 */
static void vcx_lag_print_map(const struct vcx_lag *lag, bool new)
{
	const struct vcx_port *p0 = lag->port[0];

	if (vcx_esw_none && new)
		vcx_info(p0, "lag map port 1:%d port 2:%d shared_fdb:%d\n", lag->map[0],
			 lag->map[1], lag->shared_fdb);
	else if (vcx_esw_none)
		vcx_info(p0, "modify lag map port 1:%d port 2:%d\n", lag->map[0], lag->map[1]);
	else if (!lag->hash)
		vcx_info(p0, "lag map: port 1:%d port 2:%d\n", lag->map[0], lag->map[1]);
	else if (lag->map[0] == lag->map[1])
		vcx_info(p0, "lag map active ports: %d\n", lag->map[0]);
	else
		vcx_info(p0, "lag map active ports: 1, 2\n");
}

const char *vcx_lag_port_sel_mode(const struct vcx_lag *lag)
{
	return lag->mode == VCX_LAG_MPESW ? "mpesw" : lag->hash ? "hash" : "queue_affinity";
}

/* mlx5_activate_lag() and mlx5_create_lag() of 6.1 to 6.12 */
static int vcx_lag_activate(struct vcx_card *card, enum vcx_lag_mode mode)
{
	struct vcx_lag *lag = &card->lag;
	struct vcx_port *p0 = lag->port[0];
	int err;

	lag->shared_fdb = vcx_lag_shared_fdb(card);
	/* mlx5_lag_set_port_sel_mode_roce() and _offloads(): by hash where the NIC can */
	lag->hash = card->preset->port_select && !vcx_esw_none &&
		    (mode == VCX_LAG_ROCE ||
		     (mode == VCX_LAG_SRIOV && lag->tx_type == NETDEV_LAG_TX_TYPE_HASH));
	vcx_lag_infer_map(lag, lag->map);
	WRITE_ONCE(lag->mode, mode);
	if (mode != VCX_LAG_MPESW)
		vcx_lag_print_map(lag, true);
	if (!vcx_esw_none)
		vcx_info(p0, "shared_fdb:%d mode:%s\n", lag->shared_fdb,
			 vcx_lag_port_sel_mode(lag));
	err = vcx_lag_firmware(card, true);
	if (!err) {
		blocking_notifier_call_chain(&vcx_changes, 0, NULL);
		if (lag->shared_fdb)
			vcx_info(p0, "Operation mode is single FDB\n");
		return 0;
	}
	WRITE_ONCE(lag->mode, VCX_LAG_NONE);
	vcx_err(p0, "mlx5_create_lag", "Failed to create LAG (%d)\n", err);
	if (mode == VCX_LAG_ROCE)
		vcx_err(p0, "mlx5_activate_lag", "Failed to activate RoCE LAG\n");
	else
		vcx_err(p0, "mlx5_activate_lag", "Failed to activate VF LAG\n" UNBIND_FIRST);
	return err;
}

static void vcx_lag_deactivate(struct vcx_card *card)
{
	struct vcx_lag *lag = &card->lag;
	bool roce = lag->mode == VCX_LAG_ROCE;

	if (lag->mode == VCX_LAG_NONE)
		return;
	WRITE_ONCE(lag->mode, VCX_LAG_NONE);
	blocking_notifier_call_chain(&vcx_changes, 0, NULL);
	if (!vcx_lag_firmware(card, false))
		return;
	if (roce)
		vcx_err(lag->port[0], "mlx5_deactivate_lag",
			"Failed to deactivate RoCE LAG; driver restart required\n");
	else
		vcx_err(lag->port[0], "mlx5_deactivate_lag",
			"Failed to deactivate VF LAG; driver restart required\n" UNBIND_FIRST);
}

/* mlx5_modify_lag(): the ports that can send have changed. */
static void vcx_lag_modify(struct vcx_lag *lag)
{
	u8 map[VCX_MAX_PORTS];

	vcx_lag_infer_map(lag, map);
	if (!memcmp(map, lag->map, sizeof(map)))
		return;
	memcpy(lag->map, map, sizeof(map));
	vcx_lag_print_map(lag, false);
}

static void vcx_lag_do_bond(struct vcx_card *card)
{
	struct vcx_lag *lag = &card->lag;

	/* mlx5_lag_should_modify_lag(), _disable_lag() of 6.1 to 6.12 leave esw_multiport alone. */
	if (lag->mode == VCX_LAG_MPESW)
		return;
	if (!lag->bonded || !vcx_lag_ready(card) || !vcx_lag_prereq(lag) ||
	    vcx_fault(lag->port[0], VCX_LAG_NEVER) || vcx_fault(lag->port[1], VCX_LAG_NEVER))
		vcx_lag_deactivate(card);
	else if (lag->mode == VCX_LAG_NONE)
		vcx_lag_activate(card, vcx_switchdev(lag->port[0]) ? VCX_LAG_SRIOV : VCX_LAG_ROCE);
	else
		vcx_lag_modify(lag);
}

static void vcx_lag_work(struct work_struct *work)
{
	struct vcx_card *card = container_of(to_delayed_work(work), struct vcx_card, lag.work);

	mutex_lock(&card->lag.lock);
	if (card->lag.changing)
		schedule_delayed_work(&card->lag.work, HZ);
	else
		vcx_lag_do_bond(card);
	mutex_unlock(&card->lag.lock);
}

/* Around every change of the eswitch: LAG goes down and may come back afterwards. */
void vcx_lag_disable_change(struct vcx_card *card)
{
	mutex_lock(&card->lag.lock);
	card->lag.changing++;
	vcx_lag_deactivate(card);
	mutex_unlock(&card->lag.lock);
}

void vcx_lag_enable_change(struct vcx_card *card)
{
	mutex_lock(&card->lag.lock);
	card->lag.changing--;
	mutex_unlock(&card->lag.lock);
	mod_delayed_work(system_wq, &card->lag.work, 0);
}

/*
 * enable_mpesw() of 6.8 and 6.12 (lag/mpesw.c); without a LAG object nothing
 * happens. Bonding the ports is not refused, and makes no LAG of its own.
 */
int vcx_lag_set_multiport(struct vcx_port *port, bool on)
{
	struct vcx_card *card = port->card;
	struct vcx_lag *lag = &card->lag;
	int err = 0;

	if (!vcx_lag_object(card))
		return 0;
	mutex_lock(&lag->lock);
	if (lag->changing)
		err = -EAGAIN;
	else if (!on && lag->mode == VCX_LAG_MPESW)
		vcx_lag_deactivate(card);
	else if (on && lag->mode != VCX_LAG_NONE)
		err = -EINVAL;
	else if (on && (!vcx_lag_ready(card) || !card->preset->port_select ||
			!vcx_lag_prereq(lag) || !vcx_lag_shared_fdb(card)))
		err = -EOPNOTSUPP;
	else if (on)
		err = vcx_lag_activate(card, VCX_LAG_MPESW);
	mutex_unlock(&lag->lock);
	return err;
}

/* --- what happens to the bond (rtnl) -------------------------------------- */

static int vcx_lag_index(const struct vcx_card *card, const struct net_device *dev)
{
	int i;

	for (i = 0; i < card->nports; i++)
		if (card->port[i].netdev == dev)
			return i;
	return -1;
}

/*
 * mlx5_handle_changeupper_event() of 5.15 to 6.12: a bond that neither hashes nor
 * has a backup makes no LAG; the driver says so, and refuses nothing.
 */
static bool vcx_lag_changeupper(struct vcx_card *card,
				struct netdev_notifier_changeupper_info *info)
{
	struct netdev_lag_upper_info *upper_info = info->linking ? info->upper_info : NULL;
	struct netlink_ext_ack *extack = info->info.extack;
	bool in_lag, supported, was_bonded;
	struct vcx_lag *lag = &card->lag;
	int idx, slaves = 0, ours = 0;
	struct net_device *slave;

	if (!netif_is_lag_master(info->upper_dev))
		return false;
	/* Slaves of others count: a bond with a third member is no LAG. */
	rcu_read_lock();
	for_each_netdev_in_bond_rcu(info->upper_dev, slave) {
		idx = vcx_lag_index(card, slave);
		if (idx >= 0)
			ours |= BIT(idx);
		slaves++;
	}
	rcu_read_unlock();
	if (!ours)
		return false;

	if (upper_info)
		lag->tx_type = upper_info->tx_type;
	in_lag = slaves == VCX_MAX_PORTS && ours == GENMASK(VCX_MAX_PORTS - 1, 0);
	supported = lag->tx_type == NETDEV_LAG_TX_TYPE_ACTIVEBACKUP ||
		    lag->tx_type == NETDEV_LAG_TX_TYPE_HASH;
	if (in_lag && !supported)
		NL_SET_ERR_MSG_MOD(extack,
				   "Can't activate LAG offload, TX type isn't supported");
	was_bonded = lag->bonded;
	lag->bonded = in_lag && supported;
	return lag->bonded != was_bonded;
}

/* Carrier, and whether the bond sends through it, of a member */
static bool vcx_lag_changelowerstate(struct vcx_card *card,
				     struct netdev_notifier_changelowerstate_info *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(&info->info);
	int idx = vcx_lag_index(card, dev);

	if (idx < 0 || !netif_is_lag_port(dev) || !info->lower_state_info)
		return false;
	card->lag.state[idx] = *(struct netdev_lag_lower_state_info *)info->lower_state_info;
	return true;
}

/* mlx5_lag_netdev_event() of 5.15 to 6.12 refuses nothing. */
void vcx_lag_event(struct vcx_card *card, unsigned long event, void *ptr)
{
	bool changed;

	if ((event != NETDEV_CHANGEUPPER && event != NETDEV_CHANGELOWERSTATE) ||
	    !vcx_lag_object(card))
		return;
	mutex_lock(&card->lag.lock);
	changed = event == NETDEV_CHANGEUPPER ? vcx_lag_changeupper(card, ptr) :
						vcx_lag_changelowerstate(card, ptr);
	mutex_unlock(&card->lag.lock);
	if (changed)
		mod_delayed_work(system_wq, &card->lag.work, 0);
}

/* At the end of the driver's loading */
void vcx_lag_add_port(struct vcx_port *port)
{
	struct vcx_lag *lag = &port->card->lag;

	mutex_lock(&lag->lock);
	lag->port[port->port] = port;
	memset(&lag->state[port->port], 0, sizeof(*lag->state));
	mutex_unlock(&lag->lock);
	vcx_debugfs_add_port(port);
	mod_delayed_work(system_wq, &lag->work, 0);
}

/* At the start of the driver's unloading */
void vcx_lag_remove_port(struct vcx_port *port)
{
	struct vcx_lag *lag = &port->card->lag;

	debugfs_remove(port->debugfs);
	mutex_lock(&lag->lock);
	vcx_lag_deactivate(port->card);
	lag->port[port->port] = NULL;
	/* The driver restart that a failed deactivation asked for. */
	if (!lag->port[0] && !lag->port[1])
		lag->in_firmware = false;
	mutex_unlock(&lag->lock);
}

void vcx_lag_forget(struct vcx_card *card)
{
	mutex_lock(&card->lag.lock);
	if (card->lag.mode == VCX_LAG_NONE)
		card->lag.in_firmware = false;
	mutex_unlock(&card->lag.lock);
}

void vcx_lag_init(struct vcx_card *card)
{
	mutex_init(&card->lag.lock);
	INIT_DELAYED_WORK(&card->lag.work, vcx_lag_work);
}

/* No port has a driver and no event comes any more. */
void vcx_lag_exit(struct vcx_card *card)
{
	cancel_delayed_work_sync(&card->lag.work);
}
