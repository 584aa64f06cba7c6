/* SPDX-License-Identifier: GPL-2.0-only */
/* What main, pci, driver, esw, netdev, wire, devlink, lag and faults share. */
#ifndef VCX_CORE_H
#define VCX_CORE_H

#include "card.h"

/* As mlx5 writes to the kernel log: errors carry (its own) function, line and pid. */
#define vcx_err(port, func, fmt, ...) \
	dev_err(&(port)->pdev->dev, func ":%d:(pid %d): " fmt, \
		__LINE__, current->pid, ##__VA_ARGS__)
#define vcx_info(port, fmt, ...) dev_info(&(port)->pdev->dev, fmt, ##__VA_ARGS__)
/* A command that the firmware refuses. */
#define vcx_cmd_err(port, cmd, op, status, code, syndrome, err) \
	vcx_err(port, "mlx5_cmd_out_err", \
		"%s(0x%x) op_mod(0x0) failed, status %s(0x%x), syndrome (0x%x), err(%d)\n", \
		cmd, op, status, code, syndrome, err)

struct vcx_vf {
	struct vcx_port *port;
	u16 index;
	bool bound;			/* this driver has probed it */
	u8 mac[ETH_ALEN];		/* set through the PF; zero: the VF chooses */
	struct net_device __rcu *netdev;
	struct net_device __rcu *rep;
};

/* Lives as long as the card, so that the datapath needs no reference to it. */
struct vcx_esw {
	u16 mode;			/* changed under the PF's devlink lock */
	enum devlink_eswitch_encap_mode encap;
	bool smfs;
	u16 num_vfs;			/* VFs that the eswitch knows: devlink lock */
	u16 pending_vfs;		/* VFs to come after vf_delay_ms */
	struct delayed_work late_vfs;
	struct vcx_vf vf[VCX_MAX_VFS];
};

struct vcx_wire {
	char name[IFNAMSIZ];		/* rtnl; empty: no cable */
	struct net_device *lower;	/* rtnl */
	struct net_device __rcu *tx;	/* the same, for the datapath */
	bool dark;			/* rtnl; a fault closed the lower netdev */
	netdevice_tracker tracker;
};

enum vcx_kind { VCX_UPLINK, VCX_VF, VCX_REP };

/* private data of every netdev of the card */
struct vcx_ndev {
	enum vcx_kind kind;
	struct vcx_port *port;
	struct vcx_vf *vf;		/* NULL for the uplink */
	struct devlink_port dl_port;
};

/* private data of a function's devlink instance */
struct vcx_fn {
	struct vcx_port *port;
	struct vcx_vf *vf;		/* NULL for the PF */
};

/* main.c: parameters */
extern bool vcx_strict_bound, vcx_strict_bond, vcx_strict_rules, vcx_strict_vf64;
extern bool vcx_lag_debugfs;

/* pci.c */
void vcx_pci_init_config(struct vcx_port *port);
void vcx_pci_power_on(struct vcx_port *port);
int vcx_pci_add(struct vcx_card *card, int node);
void vcx_pci_remove(struct vcx_card *card);

/* driver.c */
extern struct pci_driver vcx_driver;
void vcx_late_vfs(struct work_struct *work);

/* devlink.c */
struct devlink *vcx_devlink_create(struct vcx_port *port, struct vcx_vf *vf, struct device *dev);
void vcx_devlink_destroy(struct devlink *devlink);
int vcx_rep_port_register(struct devlink *devlink, struct devlink_port *dlp, unsigned int index);

/* esw.c: all under the PF's devlink lock */
int vcx_esw_set_mode(struct vcx_port *port, u16 mode, struct netlink_ext_ack *extack);
int vcx_esw_add_vfs(struct vcx_port *port, u16 num);
void vcx_esw_remove_vfs(struct vcx_port *port);
bool vcx_esw_vf_bound(const struct vcx_port *port);

/* netdev.c */
struct net_device *vcx_netdev_create(struct devlink *devlink, struct device *dev,
				     enum vcx_kind kind, struct vcx_port *port, struct vcx_vf *vf);
void vcx_netdev_destroy(struct net_device *dev);
void vcx_carrier_update(struct vcx_port *port);
void vcx_uplink_rx(struct vcx_port *port, struct sk_buff *skb);

/* wire.c */
int vcx_wire_init(void);
void vcx_wire_exit(void);
int vcx_wire_set(struct vcx_port *port, const char *name);
void vcx_wire_check(void);
bool vcx_wire_carrier(const struct vcx_port *port);
void vcx_wire_tx(struct vcx_port *port, struct sk_buff *skb);

/* lag.c */
int vcx_lag_init(struct vcx_card *card);
void vcx_lag_exit(struct vcx_card *card);
void vcx_lag_add_port(struct vcx_port *port);
void vcx_lag_remove_port(struct vcx_port *port);
void vcx_lag_disable_change(struct vcx_card *card);
void vcx_lag_enable_change(struct vcx_card *card);
int vcx_lag_event(struct vcx_card *card, unsigned long event, void *ptr);
bool vcx_lag_multiport(const struct vcx_card *card);
int vcx_lag_set_multiport(struct vcx_port *port, bool on);

/* faults.c: debugfs */
void vcx_debugfs_init(void);
void vcx_debugfs_exit(void);
void vcx_debugfs_add(struct vcx_port *port);
void vcx_debugfs_remove(struct vcx_port *port);
struct dentry *vcx_mlx5_debugfs(void);

#endif
