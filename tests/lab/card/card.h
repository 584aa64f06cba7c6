/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The virtual ConnectX: what its parts know of each other.
 *
 * A card is the hardware: configuration space, firmware, faults. It lives from
 * module load to module unload. Its ports (one PF each) carry what the driver
 * makes of them while it is bound: netdevs, devlink, eswitch, VF-LAG.
 */
#ifndef VCX_CARD_H
#define VCX_CARD_H

#include <linux/dcbnl.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/notifier.h>
#include <linux/pci.h>
#include <linux/version.h>
#include <linux/workqueue.h>
#include <net/devlink.h>
#include <asm/pci.h>
#include "compat.h"

#define VCX_MAX_PORTS	2
/* Two ports of 127 VFs fill one bus: 2 PFs + 254 VFs = 256 functions. */
#define VCX_MAX_VFS	127
#define VCX_DSCPS	64
#define VCX_PRIOS	8
#define VCX_INDIR	256		/* entries of an RSS table: MLX5E_INDIR_RQT_SIZE */
#define VCX_RSS_KEY	40
#define VCX_VPD_LEN	256		/* of the vital product data; a multiple of 4 */

struct vcx_card;
struct vcx_fw;

/* What differs between the models of card; see presets[] in main.c. */
struct vcx_preset {
	const char *name;		/* in the cards= parameter: "cx6dx" */
	u16 device;			/* PCI device id of the PF */
	u16 vf_device;			/* … and of its VFs */
	u8 pcie_gen;			/* 3 for 8 GT/s, 4, 5 */
	u8 pcie_width;
	unsigned int speed;		/* Mb/s */
	u16 hw_id;			/* CR space 0xf0014: 0x212 for ConnectX-6 Dx */
	const char *psid;		/* 16 characters at most */
	const char *part;		/* MQIS name: "MCX623106AC-CDA_Ax" */
	const char *description;	/* MQIS description */
	const char *fw_version;		/* "22.35.2000" */
	bool dpu;			/* BlueField: INTERNAL_CPU_OFFLOAD_ENGINE = ENABLED */
	bool shared_fdb;		/* LAG: lag_native_fdb_selection, esw_shared_ingress_acl */
	bool port_select;		/* LAG: port_select_flow_table, that is by hash */
	bool lag_allocation;		/* has LAG_RESOURCE_ALLOCATION */
};

/* Faults of a port; the files of debugfs are named in debugfs.c. */
enum vcx_fault {
	VCX_VF_DELAY_MS, VCX_VF_NO_PROBE, VCX_MODE_FAIL, VCX_NUMVFS_ENOMEM, VCX_LAG_NEVER,
	VCX_LINK_DOWN, VCX_SURPRISE_REMOVE, VCX_LOCKDOWN, VCX_ESW_LOCKED,
	VCX_FW_SYNDROME, VCX_FW_FATAL, VCX_TX_ERROR, VCX_RX_ERROR,
	VCX_DCB_FAULT, VCX_CMD_TIMEOUT_MS, VCX_MODULE_TEMPERATURE, VCX_SLOW_PATH, VCX_FAULTS
};

/* Devlink's health reporters, of the device and of its port; all but vnic have a fault. */
enum vcx_reporter { VCX_VNIC, VCX_FW, VCX_FATAL, VCX_TX, VCX_RX, VCX_REPORTERS };
#define VCX_LASTING	2		/* the value of an error of tx or rx that stays */

/* Counters of a port; stats.c has their names, and those of priorities, pauses and module. */
enum vcx_counter {
	VCX_RX_ECN_MARK, VCX_RX_OUT_OF_BUFFER, VCX_RX_STEER_MISSED,
	VCX_TX_PACKETS_PHY, VCX_RX_PACKETS_PHY, VCX_RX_CRC_ERRORS,
	VCX_TX_BYTES_PHY, VCX_RX_BYTES_PHY,
	VCX_RX_DISCARDS, VCX_TX_DISCARDS, VCX_TX_ERRORS,
	VCX_LINK_DOWN_EVENTS, VCX_RX_PCS_SYMBOL_ERR, VCX_RX_CORRECTED_BITS,
	VCX_PCI_SIGNAL_RX, VCX_PCI_SIGNAL_TX, VCX_PCI_STALLED_RD, VCX_PCI_STALLED_WR,
	VCX_PCI_STALLED_RD_EVENTS, VCX_PCI_STALLED_WR_EVENTS,
	VCX_FIXED_COUNTERS,
};

#define VCX_TRAFFIC	5		/* counters of each priority */
#define VCX_PAUSE	5		/* … and of its pause frames, and of the global ones */
#define VCX_COUNTERS	(VCX_FIXED_COUNTERS + VCX_PRIOS * VCX_TRAFFIC + \
			 (VCX_PRIOS + 1) * VCX_PAUSE + 4)

/* Counters of a VF's vport that no frame of the kernel changes: its representor's, then its RDMA port's */
#define VCX_VPORT_NETDEV	9
#define VCX_VPORT_RDMA		3
#define VCX_VPORT		(VCX_VPORT_NETDEV + VCX_VPORT_RDMA)

struct vcx_vf {
	struct vcx_port *port;
	u16 index;
	atomic64_t counter[VCX_VPORT];
	u8 mac[ETH_ALEN];		/* that the PF's administrator gave it; under rtnl */
	int min_rate, max_rate;		/* Mb/s, 0 for none; under rtnl, too */
	struct net_device __rcu *netdev;
	struct net_device __rcu *rep;
	u8 cfg[PCI_CFG_SPACE_SIZE];
};

/* The cable of a port: a netdev of the initial namespace; see wire.c. */
struct vcx_wire {
	char name[IFNAMSIZ];		/* empty: no cable */
	struct net_device __rcu *lower;
};

/* All under rtnl. */
struct vcx_dcb {
	/* The port's hardware: kept over a change of the eswitch mode. */
	bool trust_dscp;
	u8 dscp2prio[VCX_DSCPS];
	u8 pfc_en;
	bool firmware_dcbx;

	/* The driver's: begins anew at a change of the eswitch mode. */
	struct ieee_ets ets;
	struct ieee_maxrate maxrate;
	struct dcbnl_buffer buffer;
	u16 cable_len;
	u8 dcbx_cap;
	unsigned int dscp_apps;
};

/* One PF and the network port behind it. */
struct vcx_port {
	struct vcx_card *card;
	unsigned int port;		/* 0 or 1: function number and port number */
	u8 cfg[PCI_CFG_SPACE_EXP_SIZE];	/* the PF's configuration space */
	u16 total_vfs;
	u8 mac[ETH_ALEN];
	int fault[VCX_FAULTS];
	atomic64_t counter[VCX_COUNTERS];
	struct vcx_wire wire;
	struct delayed_work link_up;	/* the end of the link's training */
	bool rx_pause, tx_pause;	/* under rtnl */
	struct vcx_dcb dcb;

	u16 mode;			/* DEVLINK_ESWITCH_MODE_*; changed under the devlink lock */
	bool fdb;			/* the eswitch has its forwarding database: devlink lock */
	bool smfs;			/* devlink flow_steering_mode */
	u8 encap;			/* DEVLINK_ESWITCH_ENCAP_MODE_* */
	bool metadata;			/* devlink esw_port_metadata */
	u16 num_vfs;			/* VFs that the eswitch knows: devlink lock */
	u16 pending_vfs;		/* VFs to come after VCX_VF_DELAY_MS */
	struct delayed_work late_vfs;
	struct work_struct health;	/* reports the faults of enum vcx_reporter */
	bool stopped;			/* … but not any more */
	struct vcx_vf vf[VCX_MAX_VFS];

	/* NULL while no driver is bound to the PF. */
	struct pci_dev *pdev;
	struct net_device *netdev;	/* the uplink; NULL also while the driver is unloaded */
	struct devlink *devlink;
	struct devlink_health_reporter *reporter[VCX_REPORTERS];
	struct device *hwmon;		/* since Linux 6.7 */
	struct dentry *debugfs;		/* mlx5/<bdf> */
};

enum vcx_lag_mode { VCX_LAG_NONE, VCX_LAG_ROCE, VCX_LAG_SRIOV, VCX_LAG_MPESW };

/* The lock is taken inside rtnl and inside devlink's. */
struct vcx_lag {
	struct mutex lock;		/* everything below */
	struct vcx_port *port[VCX_MAX_PORTS];	/* ports with a driver */
	enum vcx_lag_mode mode;
	bool shared_fdb;		/* of an active LAG: both ports forward by one database */
	bool hash;			/* … and hash, not queue affinity, selects the port */
	u8 map[VCX_MAX_PORTS];		/* … and the port that stands for each, from 1 */
	bool in_firmware;		/* the firmware has a LAG; outlives a failed deactivation */
	int changing;			/* mode changes in progress */
	struct delayed_work work;

	/* What the events say of the bond. */
	bool bonded;
	enum netdev_lag_tx_type tx_type;
	struct netdev_lag_lower_state_info state[VCX_MAX_PORTS];
};

struct vcx_card {
	struct list_head node;		/* on vcx_cards, in the order of cards= */
	unsigned int index;		/* 0 for the first of cards= */
	const struct vcx_preset *preset;
	u8 bus;
	unsigned int nports;
	struct vcx_port port[VCX_MAX_PORTS];
	u8 system_image_guid[8];	/* the switch id of all ports */
	u8 vpd[VCX_VPD_LEN];
	struct pci_sysdata sysdata;
	struct resource busn;
	struct pci_bus *root;
	struct vcx_lag lag;
	struct vcx_fw *fw;
};

enum vcx_kind { VCX_UPLINK, VCX_VF, VCX_REP };

/* What ethtool sets; under rtnl */
struct vcx_settings {
	unsigned int channels;
	u32 rx_ring, tx_ring;
	struct ethtool_coalesce coalesce;
	u32 indir[VCX_INDIR];
	u8 key[VCX_RSS_KEY];
	bool xor;			/* the hash function; else Toeplitz */
	u32 flags;			/* private flags */
};

/* private data of every netdev of the card */
struct vcx_ndev {
	enum vcx_kind kind;
	struct vcx_port *port;
	struct vcx_vf *vf;		/* NULL for the uplink */
	struct devlink_port dl_port;
	struct vcx_settings settings;
	/* A representor's and an uplink's that no rule takes: packets, bytes received, then sent */
	atomic64_t software[4];
};

#define vcx_for_each_port(card, each) \
	for ((each) = (card)->port; (each) < (card)->port + (card)->nports; (each)++)

static inline int vcx_fault(const struct vcx_port *port, enum vcx_fault fault)
{
	return READ_ONCE(port->fault[fault]);
}

static inline bool vcx_switchdev(const struct vcx_port *port)
{
	return READ_ONCE(port->mode) == DEVLINK_ESWITCH_MODE_SWITCHDEV;
}

/* As mlx5 writes to the kernel log: errors carry (its own) function, line and pid. */
#define vcx_err(port, func, fmt, ...) \
	dev_err(&(port)->pdev->dev, func ":%d:(pid %d): " fmt, \
		__LINE__, current->pid, ##__VA_ARGS__)
#define vcx_warn(port, func, fmt, ...) \
	dev_warn(&(port)->pdev->dev, func ":%d:(pid %d): " fmt, \
		 __LINE__, current->pid, ##__VA_ARGS__)
#define vcx_info(port, fmt, ...) dev_info(&(port)->pdev->dev, fmt, ##__VA_ARGS__)
/* A command that the firmware refuses with EINVAL: its name(number), status(number), syndrome. */
#define vcx_cmd_err(port, cmd, status, syndrome) \
	vcx_err(port, "mlx5_cmd_out_err", \
		"%s op_mod(0x0) failed, status %s, syndrome (0x%x), err(-22)\n", \
		cmd, status, syndrome)

/* main.c */
extern struct list_head vcx_cards;	/* fixed between module load and unload */
extern unsigned int vcx_speed;		/* Mb/s; 0: the preset's */
extern unsigned int vcx_link_up_ms;
extern bool vcx_strict_bound, vcx_strict_bond, vcx_strict_rules, vcx_strict_vf64;
extern bool vcx_lag_debugfs, vcx_esw_none;
/* Called when a netdev of the cards has come or gone, and when a LAG has. */
extern struct blocking_notifier_head vcx_changes;

/* Whether the kernel's mlx5 has what came with 6.4, and the driver is not that of 5.15 */
static inline bool vcx_since_6_4(void)
{
	return LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0) && !vcx_esw_none;
}

/* pci.c */
void vcx_pci_init_config(struct vcx_port *port);
unsigned int vcx_vf_devfn(const struct vcx_port *port, unsigned int index);
int vcx_pci_add(struct vcx_card *card, int node);
void vcx_pci_remove(struct vcx_card *card);

/* driver.c */
extern struct pci_driver vcx_driver;
/* A command to the firmware: 0, or after a while ETIMEDOUT. Sleeps. */
int vcx_command(const struct vcx_port *port, const char *name, u16 opcode);
void vcx_late_vfs(struct work_struct *work);
/* Under the devlink lock: mlx5_load_one() and mlx5_unload_one() of a PF with a driver */
int vcx_load(struct vcx_port *port);
void vcx_unload(struct vcx_port *port);

/* health.c: the first two with a devlink, the port's under its lock and with a netdev */
void vcx_reporters_create(struct vcx_port *port);
void vcx_reporters_destroy(struct vcx_port *port);
void vcx_port_reporters_create(struct vcx_port *port);
void vcx_port_reporters_destroy(struct vcx_port *port);
void vcx_health(struct work_struct *work);
void vcx_health_stop(struct vcx_port *port);

/* hwmon.c, while the PF has a driver */
void vcx_hwmon_add(struct vcx_port *port);
void vcx_hwmon_remove(struct vcx_port *port);

/* devlink.c */
struct devlink *vcx_devlink_create(struct vcx_port *port, struct device *dev);
void vcx_devlink_register(struct devlink *devlink);
void vcx_devlink_unregister(struct devlink *devlink);
void vcx_devlink_destroy(struct devlink *devlink);

/* esw.c: all but the last two under the PF's devlink lock; vcx_esw_vf_bound() may sleep */
int vcx_esw_set_mode(struct vcx_port *port, u16 mode, struct netlink_ext_ack *extack);
int vcx_esw_add_vfs(struct vcx_port *port, u16 num);
void vcx_esw_remove_vfs(struct vcx_port *port);
bool vcx_esw_is_none(const struct vcx_port *port);
bool vcx_esw_vf_bound(const struct vcx_port *port);

/* netdev.c; create and destroy under the PF's devlink lock (but a VF's), not under rtnl */
struct net_device *vcx_netdev_create(struct device *parent, enum vcx_kind kind,
				     struct vcx_port *port, struct vcx_vf *vf);
void vcx_netdev_destroy(struct net_device *dev);
/* The port whose uplink or representor @dev is; NULL for any other netdev (VF netdevs too). */
struct vcx_port *vcx_port_of(const struct net_device *dev);
/* Under rtnl, whenever wire, faults or the mode may have changed */
void vcx_carrier_update(struct vcx_port *port);
/* Under rtnl: the port's link goes down and is trained anew. */
void vcx_link_toggle(struct vcx_port *port);
void vcx_link_trained(struct work_struct *work);

/* frames.c */
netdev_tx_t vcx_xmit(struct sk_buff *skb, struct net_device *dev);
void vcx_uplink_rx(struct vcx_port *port, struct sk_buff *skb);

/* vfsettings.c: the first four are operations of a netdev, the others take rtnl themselves */
int vcx_set_vf_mac(struct net_device *dev, int index, u8 *mac);
int vcx_set_vf_vlan(struct net_device *dev, int index, u16 vlan, u8 qos, __be16 proto);
int vcx_set_vf_rate(struct net_device *dev, int index, int min_rate, int max_rate);
int vcx_get_vf_config(struct net_device *dev, int index, struct ifla_vf_info *ivi);
void vcx_forget_vf_settings(struct vcx_port *port, int num);
void vcx_forget_vf_rates(struct vcx_port *port, int num);

/* ethtool.c; the operations are an array by vcx_kind */
extern const struct ethtool_ops vcx_ethtool_ops[];
unsigned int vcx_max_channels(void);
void vcx_settings_reset(struct net_device *dev, bool rep);

/* stats.c: the operations under rtnl; counting from any context */
int vcx_stats_count(const struct net_device *dev);
void vcx_stats_names(const struct net_device *dev, u8 *data);
void vcx_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *data);
void vcx_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *stats);
bool vcx_has_offload_stats(const struct net_device *dev, int id);
int vcx_get_offload_stats(int id, const struct net_device *dev, void *stats);
void vcx_count(struct vcx_port *port, unsigned int counter, u64 num);
unsigned int vcx_frames(const struct sk_buff *skb);
void vcx_count_frame(struct vcx_port *port, const struct sk_buff *skb, bool rx);
extern const struct file_operations vcx_counters_fops;

/* wire.c */
int vcx_wire_init(void);
void vcx_wire_exit(void);
void vcx_wire_check(void);
bool vcx_wire_carrier(const struct vcx_port *port);
void vcx_wire_tx(struct vcx_port *port, struct sk_buff *skb);

/* lag.c */
bool vcx_lag_object(const struct vcx_card *card);
/* Of an active LAG; under its lock. */
const char *vcx_lag_port_sel_mode(const struct vcx_lag *lag);
void vcx_lag_init(struct vcx_card *card);
void vcx_lag_exit(struct vcx_card *card);
void vcx_lag_add_port(struct vcx_port *port);
void vcx_lag_remove_port(struct vcx_port *port);
/* The firmware has restarted: it has no LAG any more. */
void vcx_lag_forget(struct vcx_card *card);
void vcx_lag_disable_change(struct vcx_card *card);
void vcx_lag_enable_change(struct vcx_card *card);
void vcx_lag_event(struct vcx_card *card, unsigned long event, void *ptr);
int vcx_lag_set_multiport(struct vcx_port *port, bool on);

/* debugfs.c */
void vcx_debugfs_init(void);
void vcx_debugfs_exit(void);
void vcx_debugfs_add_port(struct vcx_port *port);

/* dcb.c, under rtnl: the uplink's operations, as the fault leaves them */
void vcx_dcb_set_ops(struct vcx_port *port);
/* Before register_netdev() of the uplink, and at each change of the eswitch mode (rtnl) */
void vcx_dcb_init(struct vcx_port *port);
void vcx_dcb_reset(struct vcx_port *port);

/* flower.c; setup is ndo_setup_tc of uplinks and representors */
int vcx_flower_init(void);
void vcx_flower_exit(void);
int vcx_flower_setup(struct net_device *dev, enum tc_setup_type type, void *data);
/* Offloaded rules that use the port's eswitch; may sleep. */
int vcx_flower_rules(const struct vcx_port *port);
void vcx_flower_forget(const struct vcx_port *port);
bool vcx_flower_takes(const struct net_device *rep, __be16 protocol, bool from);
bool vcx_flower_routes(const u8 *mac, __be16 protocol, bool from);

/* fw.c; before the card's PCI bus exists and after it is gone. A failing init leaves nothing. */
int vcx_fw_init(struct vcx_card *card);
void vcx_fw_exit(struct vcx_card *card);
/* As current in the firmware store; 0 without SRIOV_EN. */
u16 vcx_fw_total_vfs(struct vcx_port *port);
/* LAG_RESOURCE_ALLOCATION as current: 0 or 1 */
u32 vcx_fw_lag_prealloc(struct vcx_card *card);
/* Whether the firmware runs DCBX on the port itself: LLDP_NB_DCBX as current */
bool vcx_fw_dcbx(struct vcx_port *port);

/*
 * fw_vsc.c: 32-bit registers of the vendor-specific capability at @offset.
 * Called with the PCI core's raw spinlock held and interrupts off.
 */
u32 vcx_vsc_read(struct vcx_port *port, int offset);
void vcx_vsc_write(struct vcx_port *port, int offset, u32 val);

#endif
