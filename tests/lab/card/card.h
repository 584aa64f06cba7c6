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

#include <linux/version.h>
#include <linux/types.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/workqueue.h>
#include <net/devlink.h>
#include <asm/pci.h>

#define VCX_MAX_PORTS	2
/* Two ports of 127 VFs fill one bus: 2 PFs + 254 VFs = 256 functions. */
#define VCX_MAX_VFS	127

/* Vendor-specific capability: position and length as ConnectX has them. */
#define VCX_VSC_POS	0xc0
#define VCX_VSC_LEN	0x18

struct vcx_card;
struct vcx_esw;
struct vcx_lag;

/* What differs between the models of card; see presets[] in main.c. */
struct vcx_preset {
	const char *name;		/* in the cards= parameter: "cx6dx" */
	u16 device;			/* PCI device id of the PF */
	u16 vf_device;
	u16 hw_id;			/* CR space 0xf0014: 0x212 for ConnectX-6 Dx */
	const char *psid;		/* 16 characters at most */
	const char *part;		/* MQIS name: "MCX623106AC-CDA_Ax" */
	const char *description;	/* MQIS description */
	u16 fw_version[3];		/* major, minor, sub-minor */
	bool dpu;			/* BlueField: INTERNAL_CPU_OFFLOAD_ENGINE = ENABLED */
};

/* Faults of one port, set through /sys/kernel/debug/vcx/<bdf>/fault_*. */
struct vcx_faults {
	int vf_delay_ms;
	int vf_no_probe;		/* VF index, -1: none */
	int mode_fail;
	int numvfs_enomem;
	int lag_never;
	int link_down;
	int surprise_remove;
	int lockdown;			/* VSC writes refused before they reach fw*.c */
};

/* One PF and the network port behind it. */
struct vcx_port {
	struct vcx_card *card;
	unsigned int port;		/* 0 or 1: function number and port number */
	u8 cfg[PCI_CFG_SPACE_EXP_SIZE];	/* the PF's configuration space */
	u8 (*vf_cfg)[PCI_CFG_SPACE_SIZE];	/* one per VF */
	u16 total_vfs;
	u8 mac[ETH_ALEN];
	struct vcx_faults faults;
	struct dentry *debugfs;		/* /sys/kernel/debug/vcx/<bdf>: add your own files here */
	struct vcx_esw *esw;		/* eswitch: mode, VFs, representors (esw.c) */
	struct vcx_wire *wire;		/* wire.c */

	/* Below: NULL or empty while no driver is bound to the PF. */
	struct pci_dev *pdev;
	struct net_device *netdev;	/* the uplink */
	struct devlink *devlink;

	/* Owned by fw*.c and dcb.c. */
	void *fw;
	void *dcb;
};

struct vcx_card {
	struct list_head node;		/* on vcx_cards, in the order of cards= */
	unsigned int index;		/* 0 for the first of cards= */
	const struct vcx_preset *preset;
	u8 bus;
	unsigned int nports;
	struct vcx_port port[VCX_MAX_PORTS];
	u8 system_image_guid[8];	/* the switch id of all ports */
	struct pci_sysdata sysdata;
	struct resource busn;
	struct pci_bus *root;
	struct vcx_lag *lag;
	void *fw;			/* owned by fw*.c */
};

extern struct list_head vcx_cards;	/* fixed between module load and unload */

/* --- for fw*.c, dcb.c and flower.c ------------------------------------- */

/* The port whose uplink or representor @dev is; NULL for any other netdev (VF netdevs too). */
struct vcx_port *vcx_port_of(const struct net_device *dev);
bool vcx_is_uplink(const struct net_device *dev);
bool vcx_is_rep(const struct net_device *dev);
/* DEVLINK_ESWITCH_MODE_LEGACY or _SWITCHDEV */
u16 vcx_esw_mode(const struct vcx_port *port);
bool vcx_lag_is_active(const struct vcx_card *card);
/* Mb/s, from speed= */
u32 vcx_speed(void);

/* --- implemented by fw*.c ---------------------------------------------- */

/*
 * Called at module load before the PCI bus exists and at unload after it is
 * gone. A failing init leaves nothing behind.
 */
int vcx_fw_init(struct vcx_card *card);
void vcx_fw_exit(struct vcx_card *card);

/*
 * Configuration space inside [VCX_VSC_POS, VCX_VSC_POS + VCX_VSC_LEN), @size 1,
 * 2 or 4. Return false for "not mine": then the bytes of port->cfg answer (the
 * capability's header is there). Called with the PCI core's raw spinlock held
 * and interrupts off: do not sleep; write files from a work item.
 * Not called while surprise_remove is set, nor (write) while lockdown is.
 */
bool vcx_fw_cfg_read(struct vcx_port *port, int where, int size, u32 *val);
bool vcx_fw_cfg_write(struct vcx_port *port, int where, int size, u32 val);

/* As current in the firmware store; read once at module load. */
u16 vcx_fw_total_vfs(struct vcx_port *port);
bool vcx_fw_sriov_en(struct vcx_port *port);
/* LAG_RESOURCE_ALLOCATION as current: 0 or 1; may be called under rtnl. */
u32 vcx_fw_lag_prealloc(struct vcx_card *card);

/* --- implemented by dcb.c ---------------------------------------------- */

/* Before register_netdev() of the uplink: sets port->netdev->dcbnl_ops. */
void vcx_dcb_init(struct vcx_port *port);
/* At each change of the eswitch mode, under rtnl. */
void vcx_dcb_reset(struct vcx_port *port);
/* After unregister_netdev(), before free_netdev(). */
void vcx_dcb_exit(struct vcx_port *port);

/* --- implemented by flower.c ------------------------------------------- */

/* Module load (before any card) and unload (after all): indirect blocks. */
int vcx_flower_init(void);
void vcx_flower_exit(void);
/* ndo_setup_tc of uplinks and representors, under rtnl. */
int vcx_flower_setup(struct net_device *dev, enum tc_setup_type type, void *data);
/* Offloaded rules on the card's netdevs and through its bond; any context that may sleep. */
int vcx_flower_rules(struct vcx_card *card);

#endif
