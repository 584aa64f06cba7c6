// SPDX-License-Identifier: GPL-2.0-only
/*
 * LAG of a card's two ports, by the rules of mlx5's LAG code in Linux 6.1:
 * events of the bond are tracked under rtnl, a work item acts on them later.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/bonding.h>
#include "core.h"

enum vcx_lag_mode { VCX_LAG_NONE, VCX_LAG_ROCE, VCX_LAG_SRIOV, VCX_LAG_MULTIPORT };

/* What the events say of the bond. */
struct vcx_tracker {
	enum netdev_lag_tx_type tx_type;
	struct netdev_lag_lower_state_info state[VCX_MAX_PORTS];
	bool bonded;
};

struct vcx_lag {
	struct vcx_card *card;
	struct mutex lock;		/* everything below but tracker */
	struct vcx_port *port[VCX_MAX_PORTS];	/* ports with a driver */
	enum vcx_lag_mode mode;
	bool hash;			/* port selection by hash, else queue affinity */
	bool in_firmware;		/* the firmware has a LAG; outlives a failed deactivation */
	u8 map[VCX_MAX_PORTS];
	int changing;			/* mode changes in progress */
	spinlock_t tracker_lock;
	struct vcx_tracker tracker;
	struct delayed_work work;
	struct dentry *debugfs[VCX_MAX_PORTS];
};

bool vcx_lag_is_active(const struct vcx_card *card)
{
	return READ_ONCE(card->lag->mode) != VCX_LAG_NONE;
}

bool vcx_lag_multiport(const struct vcx_card *card)
{
	return READ_ONCE(card->lag->mode) == VCX_LAG_MULTIPORT;
}

static struct vcx_tracker vcx_lag_tracker(struct vcx_lag *lag)
{
	struct vcx_tracker tracker;

	spin_lock(&lag->tracker_lock);
	tracker = lag->tracker;
	spin_unlock(&lag->tracker_lock);
	return tracker;
}

static bool vcx_lag_both_ports(const struct vcx_lag *lag)
{
	return !lag->card->preset->dpu && READ_ONCE(lag->port[0]) && READ_ONCE(lag->port[1]);
}

/* mlx5 has no LAG at all on a card whose firmware offers more than 64 VFs. */
static bool vcx_lag_ready(const struct vcx_lag *lag)
{
	if (!vcx_lag_both_ports(lag))
		return false;
	return !READ_ONCE(vcx_strict_vf64) ||
	       (lag->card->port[0].total_vfs <= 64 && lag->card->port[1].total_vfs <= 64);
}

static bool vcx_lag_prereq(const struct vcx_lag *lag)
{
	struct vcx_port *p0 = lag->port[0], *p1 = lag->port[1];
	u16 mode = vcx_esw_mode(p0);

	if (mode != vcx_esw_mode(p1))
		return false;
	return mode == DEVLINK_ESWITCH_MODE_SWITCHDEV ||
	       (!READ_ONCE(p0->esw->num_vfs) && !READ_ONCE(p1->esw->num_vfs));
}

static bool vcx_lag_port_up(const struct vcx_tracker *tracker, int i)
{
	return tracker->state[i].tx_enabled && tracker->state[i].link_up;
}

/* Port i's traffic leaves through map[i]: its own port, or the only one that is up. */
static void vcx_lag_infer_map(const struct vcx_tracker *tracker, u8 *map)
{
	bool up0 = vcx_lag_port_up(tracker, 0), up1 = vcx_lag_port_up(tracker, 1);

	map[0] = up1 && !up0 ? 2 : 1;
	map[1] = up0 && !up1 ? 1 : 2;
}

/* With hash: the ports that are up, or both when none is. Returns how many, in @ports from 1. */
static int vcx_lag_active_ports(const u8 *map, u8 *ports)
{
	if (map[0] == map[1]) {
		ports[0] = map[0];
		return 1;
	}
	ports[0] = 1;
	ports[1] = 2;
	return 2;
}

static void vcx_lag_print_map(struct vcx_lag *lag)
{
	u8 ports[VCX_MAX_PORTS];

	if (!lag->hash)
		vcx_info(lag->port[0], "lag map: port 1:%d port 2:%d\n", lag->map[0], lag->map[1]);
	else if (vcx_lag_active_ports(lag->map, ports) == 1)
		vcx_info(lag->port[0], "lag map active ports: %d\n", ports[0]);
	else
		vcx_info(lag->port[0], "lag map active ports: 1, 2\n");
}

/* The firmware wants no VF's driver to run when a LAG comes or goes, unless it pre-allocates. */
static int vcx_lag_firmware(struct vcx_lag *lag, bool create)
{
	struct vcx_port *p0 = lag->port[0];
	bool bound = vcx_esw_vf_bound(&lag->card->port[0]) || vcx_esw_vf_bound(&lag->card->port[1]);

	if (!create && !lag->in_firmware)
		return 0;
	if ((bound && !vcx_fw_lag_prealloc(lag->card)) || (create && lag->in_firmware)) {
		vcx_cmd_err(p0, create ? "CREATE_LAG" : "DESTROY_LAG", create ? 0x840 : 0x843,
			    "bad parameter", 0x3, 0x7d49cb, -EINVAL);
		return -EINVAL;
	}
	lag->in_firmware = create;
	return 0;
}

static void vcx_lag_activate(struct vcx_lag *lag, const struct vcx_tracker *tracker)
{
	struct vcx_port *p0 = lag->port[0];
	bool switchdev = vcx_esw_mode(p0) == DEVLINK_ESWITCH_MODE_SWITCHDEV;
	int err;

	lag->hash = switchdev && tracker->tx_type == NETDEV_LAG_TX_TYPE_HASH;
	vcx_lag_infer_map(tracker, lag->map);
	vcx_lag_print_map(lag);
	vcx_info(p0, "shared_fdb:%d mode:%s\n", switchdev, lag->hash ? "hash" : "queue_affinity");
	err = vcx_lag_firmware(lag, true);
	if (err) {
		vcx_err(p0, "mlx5_create_lag", "Failed to create LAG (%d)\n", err);
		if (switchdev)
			vcx_err(p0, "mlx5_activate_lag", "Failed to activate VF LAG\n"
				"Make sure all VFs are unbound prior to VF LAG activation or deactivation\n");
		else
			vcx_err(p0, "mlx5_activate_lag", "Failed to activate RoCE LAG\n");
		return;
	}
	if (switchdev)
		vcx_info(p0, "Operation mode is single FDB\n");
	WRITE_ONCE(lag->mode, switchdev ? VCX_LAG_SRIOV : VCX_LAG_ROCE);
}

static void vcx_lag_deactivate(struct vcx_lag *lag)
{
	bool roce = lag->mode == VCX_LAG_ROCE;

	WRITE_ONCE(lag->mode, VCX_LAG_NONE);
	if (!vcx_lag_firmware(lag, false))
		return;
	if (roce)
		vcx_err(lag->port[0], "mlx5_deactivate_lag",
			"Failed to deactivate RoCE LAG; driver restart required\n");
	else
		vcx_err(lag->port[0], "mlx5_deactivate_lag",
			"Failed to deactivate VF LAG; driver restart required\n"
			"Make sure all VFs are unbound prior to VF LAG activation or deactivation\n");
}

static void vcx_lag_modify(struct vcx_lag *lag, const struct vcx_tracker *tracker)
{
	u8 map[VCX_MAX_PORTS];

	vcx_lag_infer_map(tracker, map);
	if (!memcmp(map, lag->map, sizeof(map)))
		return;
	memcpy(lag->map, map, sizeof(map));
	vcx_lag_print_map(lag);
}

static void vcx_lag_do_bond(struct vcx_lag *lag)
{
	struct vcx_tracker tracker = vcx_lag_tracker(lag);
	bool active = lag->mode != VCX_LAG_NONE;
	bool bond;

	if (lag->mode == VCX_LAG_MULTIPORT)
		return;
	bond = vcx_lag_ready(lag) && tracker.bonded && vcx_lag_prereq(lag) &&
	       !READ_ONCE(lag->port[0]->faults.lag_never) &&
	       !READ_ONCE(lag->port[1]->faults.lag_never);
	if (bond && !active)
		vcx_lag_activate(lag, &tracker);
	else if (bond)
		vcx_lag_modify(lag, &tracker);
	else if (active)
		vcx_lag_deactivate(lag);
}

static void vcx_lag_work(struct work_struct *work)
{
	struct vcx_lag *lag = container_of(to_delayed_work(work), struct vcx_lag, work);

	mutex_lock(&lag->lock);
	if (lag->changing)
		schedule_delayed_work(&lag->work, HZ);
	else
		vcx_lag_do_bond(lag);
	mutex_unlock(&lag->lock);
}

/* Around every change of the eswitch: LAG goes down and may come back afterwards. */
void vcx_lag_disable_change(struct vcx_card *card)
{
	struct vcx_lag *lag = card->lag;

	mutex_lock(&lag->lock);
	lag->changing++;
	if (lag->mode != VCX_LAG_NONE)
		vcx_lag_deactivate(lag);
	mutex_unlock(&lag->lock);
}

void vcx_lag_enable_change(struct vcx_card *card)
{
	mutex_lock(&card->lag->lock);
	card->lag->changing--;
	mutex_unlock(&card->lag->lock);
	mod_delayed_work(system_wq, &card->lag->work, 0);
}

int vcx_lag_set_multiport(struct vcx_port *port, bool on)
{
	struct vcx_lag *lag = port->card->lag;
	int err = 0;

	mutex_lock(&lag->lock);
	if (!on && lag->mode == VCX_LAG_MULTIPORT) {
		vcx_lag_deactivate(lag);
	} else if (on && lag->mode != VCX_LAG_MULTIPORT) {
		if (lag->mode != VCX_LAG_NONE || !vcx_lag_both_ports(lag) ||
		    vcx_esw_mode(lag->port[0]) != DEVLINK_ESWITCH_MODE_SWITCHDEV ||
		    !vcx_lag_prereq(lag))
			err = -EOPNOTSUPP;
		else
			err = vcx_lag_firmware(lag, true);
		if (!err)
			WRITE_ONCE(lag->mode, VCX_LAG_MULTIPORT);
	}
	mutex_unlock(&lag->lock);
	return err;
}

/* --- what happens to the bond (rtnl) -------------------------------------- */

static int vcx_lag_index(const struct vcx_lag *lag, const struct net_device *dev)
{
	int i;

	for (i = 0; i < lag->card->nports; i++)
		if (lag->card->port[i].netdev == dev)
			return i;
	return -1;
}

static bool vcx_lag_changeupper(struct vcx_lag *lag, struct vcx_tracker *tracker,
				struct netdev_notifier_changeupper_info *info)
{
	struct netdev_lag_upper_info *upper_info = info->linking ? info->upper_info : NULL;
	struct netlink_ext_ack *extack = info->info.extack;
	bool in_lag, supported, bonded;
	int idx, slaves = 0, ours = 0;
	struct net_device *slave;

	if (!netif_is_lag_master(info->upper_dev))
		return false;
	/* Slaves of others count: a bond with a third member is no LAG. */
	rcu_read_lock();
	for_each_netdev_in_bond_rcu(info->upper_dev, slave) {
		idx = vcx_lag_index(lag, slave);
		if (idx >= 0)
			ours |= BIT(idx);
		slaves++;
	}
	rcu_read_unlock();
	if (!ours)
		return false;

	if (upper_info)
		tracker->tx_type = upper_info->tx_type;
	in_lag = slaves == VCX_MAX_PORTS && ours == GENMASK(VCX_MAX_PORTS - 1, 0);
	supported = tracker->tx_type == NETDEV_LAG_TX_TYPE_ACTIVEBACKUP ||
		    tracker->tx_type == NETDEV_LAG_TX_TYPE_HASH;
	bonded = in_lag && supported;
	if (in_lag && !vcx_lag_ready(lag))
		NL_SET_ERR_MSG_MOD(extack,
				   "Can't activate LAG offload, PF is configured with more than 64 VFs");
	else if (in_lag && !supported)
		NL_SET_ERR_MSG_MOD(extack,
				   "Can't activate LAG offload, TX type isn't supported");
	if (tracker->bonded == bonded)
		return false;
	tracker->bonded = bonded;
	return true;
}

static bool vcx_lag_changelowerstate(struct vcx_lag *lag, struct vcx_tracker *tracker,
				     struct netdev_notifier_changelowerstate_info *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(&info->info);
	struct netdev_lag_lower_state_info *state = info->lower_state_info;
	int idx = netif_is_lag_port(dev) ? vcx_lag_index(lag, dev) : -1;

	if (idx < 0 || !state)
		return false;
	tracker->state[idx] = *state;
	return true;
}

/* While one eswitch spans both ports, they cannot be bonded. */
static int vcx_lag_prechangeupper(struct vcx_lag *lag,
				  struct netdev_notifier_changeupper_info *info)
{
	if (!info->linking || !netif_is_lag_master(info->upper_dev) ||
	    READ_ONCE(lag->mode) != VCX_LAG_MULTIPORT ||
	    vcx_lag_index(lag, netdev_notifier_info_to_dev(&info->info)) < 0)
		return NOTIFY_DONE;
	NL_SET_ERR_MSG_MOD(info->info.extack, "Can't enslave while esw_multiport is enabled");
	return notifier_from_errno(-EOPNOTSUPP);
}

int vcx_lag_event(struct vcx_card *card, unsigned long event, void *ptr)
{
	struct vcx_lag *lag = card->lag;
	struct vcx_tracker tracker;
	bool changed;

	if (event == NETDEV_PRECHANGEUPPER)
		return vcx_lag_prechangeupper(lag, ptr);
	if (event != NETDEV_CHANGEUPPER && event != NETDEV_CHANGELOWERSTATE)
		return NOTIFY_DONE;
	tracker = vcx_lag_tracker(lag);
	if (event == NETDEV_CHANGEUPPER)
		changed = vcx_lag_changeupper(lag, &tracker, ptr);
	else
		changed = vcx_lag_changelowerstate(lag, &tracker, ptr);
	spin_lock(&lag->tracker_lock);
	lag->tracker = tracker;
	spin_unlock(&lag->tracker_lock);
	if (changed)
		mod_delayed_work(system_wq, &lag->work, 0);
	return NOTIFY_DONE;
}

/* --- debugfs mlx5/<bdf>/lag ------------------------------------------------ */

static struct vcx_lag *vcx_lag_show_begin(struct seq_file *file)
{
	struct vcx_lag *lag = file->private;

	mutex_lock(&lag->lock);
	return lag;
}

static int state_show(struct seq_file *file, void *priv)
{
	struct vcx_lag *lag = vcx_lag_show_begin(file);

	seq_printf(file, "%s\n", lag->mode == VCX_LAG_NONE ? "disabled" : "active");
	mutex_unlock(&lag->lock);
	return 0;
}

static int type_show(struct seq_file *file, void *priv)
{
	static const char * const types[] = {
		[VCX_LAG_ROCE] = "roce",
		[VCX_LAG_SRIOV] = "switchdev",
		[VCX_LAG_MULTIPORT] = "multiport_eswitch",
	};
	struct vcx_lag *lag = vcx_lag_show_begin(file);
	enum vcx_lag_mode mode = lag->mode;

	mutex_unlock(&lag->lock);
	if (mode == VCX_LAG_NONE)
		return -EINVAL;
	seq_printf(file, "%s\n", types[mode]);
	return 0;
}

static int port_sel_mode_show(struct seq_file *file, void *priv)
{
	struct vcx_lag *lag = vcx_lag_show_begin(file);
	enum vcx_lag_mode mode = lag->mode;
	bool hash = lag->hash;

	mutex_unlock(&lag->lock);
	if (mode == VCX_LAG_NONE)
		return -EINVAL;
	if (mode == VCX_LAG_MULTIPORT)
		seq_puts(file, "mpesw\n");
	else
		seq_printf(file, "%s\n", hash ? "hash" : "queue_affinity");
	return 0;
}

static int flags_show(struct seq_file *file, void *priv)
{
	struct vcx_lag *lag = vcx_lag_show_begin(file);
	enum vcx_lag_mode mode = lag->mode;

	mutex_unlock(&lag->lock);
	if (mode == VCX_LAG_NONE)
		return -EINVAL;
	seq_printf(file, "shared_fdb:%s\n", mode == VCX_LAG_SRIOV ? "on" : "off");
	seq_printf(file, "fdb_selection_mode:%s\n", mode == VCX_LAG_ROCE ? "affinity" : "native");
	return 0;
}

static int mapping_show(struct seq_file *file, void *priv)
{
	struct vcx_lag *lag = vcx_lag_show_begin(file);
	enum vcx_lag_mode mode = lag->mode;
	u8 ports[VCX_MAX_PORTS];
	int i, n;

	if (lag->hash) {
		n = vcx_lag_active_ports(lag->map, ports);
		for (i = 0; i < n; i++)
			seq_printf(file, "%d\n", ports[i]);
	} else {
		seq_printf(file, "1:%d\n2:%d\n", lag->map[0], lag->map[1]);
	}
	mutex_unlock(&lag->lock);
	return mode == VCX_LAG_NONE ? -EINVAL : 0;
}

static int members_show(struct seq_file *file, void *priv)
{
	struct vcx_lag *lag = vcx_lag_show_begin(file);
	int i;

	for (i = 0; i < lag->card->nports; i++)
		if (lag->port[i])
			seq_printf(file, "%s\n", pci_name(lag->port[i]->pdev));
	mutex_unlock(&lag->lock);
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(state);
DEFINE_SHOW_ATTRIBUTE(type);
DEFINE_SHOW_ATTRIBUTE(port_sel_mode);
DEFINE_SHOW_ATTRIBUTE(flags);
DEFINE_SHOW_ATTRIBUTE(mapping);
DEFINE_SHOW_ATTRIBUTE(members);

static struct dentry *vcx_lag_debugfs_add(struct vcx_port *port)
{
	struct vcx_lag *lag = port->card->lag;
	struct dentry *dev, *dir;

	dev = debugfs_create_dir(pci_name(port->pdev), vcx_mlx5_debugfs());
	/* A card of one port, and a DPU's host side, have no LAG. */
	if (!READ_ONCE(vcx_lag_debugfs) || port->card->nports < 2 || port->card->preset->dpu)
		return dev;
	dir = debugfs_create_dir("lag", dev);
	debugfs_create_file("state", 0444, dir, lag, &state_fops);
	debugfs_create_file("type", 0444, dir, lag, &type_fops);
	debugfs_create_file("port_sel_mode", 0444, dir, lag, &port_sel_mode_fops);
	debugfs_create_file("flags", 0444, dir, lag, &flags_fops);
	debugfs_create_file("mapping", 0444, dir, lag, &mapping_fops);
	debugfs_create_file("members", 0444, dir, lag, &members_fops);
	return dev;
}

/* --- life ------------------------------------------------------------------ */

/* At the end of a PF's probe. */
void vcx_lag_add_port(struct vcx_port *port)
{
	struct vcx_lag *lag = port->card->lag;

	mutex_lock(&lag->lock);
	lag->port[port->port] = port;
	mutex_unlock(&lag->lock);
	lag->debugfs[port->port] = vcx_lag_debugfs_add(port);
	mod_delayed_work(system_wq, &lag->work, 0);
}

/* At the start of a PF's removal, its VFs gone already. */
void vcx_lag_remove_port(struct vcx_port *port)
{
	struct vcx_lag *lag = port->card->lag;

	debugfs_remove(lag->debugfs[port->port]);
	lag->debugfs[port->port] = NULL;
	mutex_lock(&lag->lock);
	if (lag->mode != VCX_LAG_NONE)
		vcx_lag_deactivate(lag);
	lag->port[port->port] = NULL;
	/* The driver restart that a failed deactivation asked for. */
	if (!lag->port[0] && !lag->port[1])
		lag->in_firmware = false;
	mutex_unlock(&lag->lock);
}

int vcx_lag_init(struct vcx_card *card)
{
	struct vcx_lag *lag = kzalloc(sizeof(*lag), GFP_KERNEL);

	if (!lag)
		return -ENOMEM;
	lag->card = card;
	mutex_init(&lag->lock);
	spin_lock_init(&lag->tracker_lock);
	INIT_DELAYED_WORK(&lag->work, vcx_lag_work);
	card->lag = lag;
	return 0;
}

/* No port has a driver and no event comes any more. */
void vcx_lag_exit(struct vcx_card *card)
{
	cancel_delayed_work_sync(&card->lag->work);
	kfree(card->lag);
	card->lag = NULL;
}
