// SPDX-License-Identifier: GPL-2.0-only
/* The module: its parameters, the models of card, and the cards' life. */
#include <linux/etherdevice.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/numa.h>
#include <linux/slab.h>
#include "card.h"

/*
 * LAG by hash needs port_select_flow_table, and shared FDB lag_native_fdb_selection
 * and esw_shared_ingress_acl: firmware of ConnectX-6 Dx and later has them.
 */
#define LAG_SINCE_6DX	.shared_fdb = true, .port_select = true, .lag_allocation = true

static const struct vcx_preset presets[] = {
	{ .name = "cx5", .device = 0x1017, .vf_device = 0x1018, .hw_id = 0x20d,
	  .psid = "MT_0000000012", .part = "MCX516A-CCA_Ax",
	  .description = "ConnectX-5 EN network interface card; 100GbE dual-port QSFP28; PCIe3.0 x16; tall bracket; ROHS R6",
	  .fw_version = "16.35.2000", .pcie_gen = 3, .pcie_width = 16, .speed = 100000 },
	{ .name = "cx6dx", .device = 0x101d, .vf_device = 0x101e, .hw_id = 0x212,
	  .psid = "MT_0000000359", .part = "MCX623106AC-CDA_Ax",
	  .description = "ConnectX-6 Dx EN adapter card; 100GbE; Dual-port QSFP56; PCIe 4.0 x16; Crypto and Secure Boot",
	  .fw_version = "22.35.2000", .pcie_gen = 4, .pcie_width = 16, .speed = 100000,
	  LAG_SINCE_6DX },
	{ .name = "cx6lx", .device = 0x101f, .vf_device = 0x101e, .hw_id = 0x216,
	  .psid = "MT_0000000532", .part = "MCX631102AN-ADA_Ax",
	  .description = "ConnectX-6 Lx EN adapter card; 25GbE; Dual-port SFP28; PCIe 4.0 x8; No Crypto",
	  .fw_version = "26.35.2000", .pcie_gen = 4, .pcie_width = 8, .speed = 25000,
	  LAG_SINCE_6DX },
	{ .name = "cx7", .device = 0x1021, .vf_device = 0x101e, .hw_id = 0x218,
	  .psid = "MT_0000000842", .part = "MCX713106AS-VEA_Ax",
	  .description = "NVIDIA ConnectX-7 HHHL Adapter card; 200GbE; Dual-port QSFP112; PCIe 5.0 x16; Crypto Disabled; Secure Boot Enabled",
	  .fw_version = "28.35.2000", .pcie_gen = 5, .pcie_width = 16, .speed = 200000,
	  LAG_SINCE_6DX },
	{ .name = "bf2", .device = 0xa2d6, .vf_device = 0x101e, .hw_id = 0x214,
	  .psid = "MT_0000000560", .part = "MBF2M516A-CEEO_Ax_Bx",
	  .description = "BlueField-2 DPU 100GbE Dual-Port QSFP56; integrated BMC; PCIe 4.0 x16",
	  .fw_version = "24.35.2000", .pcie_gen = 4, .pcie_width = 16, .speed = 100000,
	  LAG_SINCE_6DX, .dpu = true },
	{ .name = "cx6dx-oem", .device = 0x101d, .vf_device = 0x101e, .hw_id = 0x212,
	  .psid = "DEL0000000027", .part = "0F6FXM_08P2T2_Ax",
	  .description = "Mellanox ConnectX-6 Dx Dual Port 100 GbE QSFP56 Network Adapter",
	  .fw_version = "22.35.2000", .pcie_gen = 4, .pcie_width = 16, .speed = 100000,
	  LAG_SINCE_6DX },
};

#define VCX_MAX_CARDS 4

static char *cards[VCX_MAX_CARDS] = { "3b:cx6dx:2" };
static int num_cards = 1;
module_param_array(cards, charp, &num_cards, 0444);
MODULE_PARM_DESC(cards, "Cards, each <bus hex>:<preset>[:ports]; presets cx5, cx6dx, cx6lx, cx7, bf2, cx6dx-oem");

static char *wires[VCX_MAX_CARDS * VCX_MAX_PORTS];
static int num_wires;
module_param_array(wires, charp, &num_wires, 0444);
MODULE_PARM_DESC(wires, "Netdevs that the ports are cabled to, one per port in the order of cards");

static int numa[VCX_MAX_CARDS] = { [0 ... VCX_MAX_CARDS - 1] = NUMA_NO_NODE };
module_param_array(numa, int, NULL, 0444);
MODULE_PARM_DESC(numa, "NUMA node of each card");

unsigned int vcx_speed;
module_param_named(speed, vcx_speed, uint, 0444);
MODULE_PARM_DESC(speed, "Link speed of all ports in Mb/s; 0: as the preset has it");
unsigned int vcx_link_up_ms = 200;
module_param_named(link_up_ms, vcx_link_up_ms, uint, 0644);
MODULE_PARM_DESC(link_up_ms, "How long a link is trained before it comes up");
static u8 serial;
module_param(serial, byte, 0444);
MODULE_PARM_DESC(serial, "Byte in the cards' MAC addresses and GUIDs that is this machine's own");

bool vcx_strict_bound = true;
module_param_named(strict_bound, vcx_strict_bound, bool, 0644);
MODULE_PARM_DESC(strict_bound, "The firmware refuses switchdev with encapsulation while VFs are bound");
bool vcx_strict_bond;
module_param_named(strict_bond, vcx_strict_bond, bool, 0644);
MODULE_PARM_DESC(strict_bond, "Refuse an eswitch mode change while the PF is in a bond (as MLNX_OFED did)");
bool vcx_strict_rules = true;
module_param_named(strict_rules, vcx_strict_rules, bool, 0644);
MODULE_PARM_DESC(strict_rules, "Refuse an eswitch mode change while rules are offloaded");
bool vcx_strict_vf64 = true;
module_param_named(strict_vf64, vcx_strict_vf64, bool, 0644);
MODULE_PARM_DESC(strict_vf64, "No LAG when the firmware offers more than 64 VFs");
bool vcx_lag_debugfs = true;
module_param_named(lag_debugfs, vcx_lag_debugfs, bool, 0644);
MODULE_PARM_DESC(lag_debugfs, "Show mlx5/<bdf>/lag in debugfs (N: as kernels before 5.19); read when a PF is bound");

bool vcx_esw_none = LINUX_VERSION_CODE < KERNEL_VERSION(5, 16, 0);
EXPORT_SYMBOL_GPL(vcx_esw_none);
module_param_named(esw_none, vcx_esw_none, bool, 0444);
MODULE_PARM_DESC(esw_none, "As Linux 5.15: no eswitch without VFs, whose end ends switchdev; no LAG in debugfs");

LIST_HEAD(vcx_cards);
EXPORT_SYMBOL_GPL(vcx_cards);

BLOCKING_NOTIFIER_HEAD(vcx_changes);
EXPORT_SYMBOL_GPL(vcx_changes);

/* "3b:cx6dx:2" */
static int vcx_parse_card(struct vcx_card *card, const char *text)
{
	char buf[32], *rest = buf, *bus, *preset, *ports;
	struct vcx_card *other;
	int i;

	if (strscpy(buf, text, sizeof(buf)) < 0)
		goto bad;
	bus = strsep(&rest, ":");
	preset = strsep(&rest, ":");
	ports = strsep(&rest, ":");
	if (rest || !preset || kstrtou8(bus, 16, &card->bus) || !card->bus)
		goto bad;
	for (i = 0; i < ARRAY_SIZE(presets); i++)
		if (!strcmp(presets[i].name, preset))
			card->preset = &presets[i];
	card->nports = VCX_MAX_PORTS;
	if (!card->preset || (ports && kstrtouint(ports, 10, &card->nports)) ||
	    !card->nports || card->nports > VCX_MAX_PORTS)
		goto bad;
	list_for_each_entry(other, &vcx_cards, node)
		if (other->bus == card->bus)
			goto bad;
	return 0;
bad:
	pr_err("mlx5_core: cards: \"%s\" is not <bus hex>:<preset>[:ports] of its own bus\n", text);
	return -EINVAL;
}

static void vcx_port_init(struct vcx_card *card, unsigned int n)
{
	const u8 mac[ETH_ALEN] = { 0x0c, 0x42, 0xa1, serial, card->bus, n };
	struct vcx_port *port = &card->port[n];
	static unsigned int wire;
	int i;

	port->card = card;
	port->port = n;
	port->smfs = true;
	port->encap = DEVLINK_ESWITCH_ENCAP_MODE_BASIC;
	port->metadata = true;
	port->rx_pause = true;
	port->tx_pause = true;
	INIT_DELAYED_WORK(&port->link_up, vcx_link_trained);
	port->fault[VCX_VF_NO_PROBE] = -1;
	port->fault[VCX_MODULE_TEMPERATURE] = 35;
	ether_addr_copy(port->mac, mac);
	if (wire < num_wires)
		strscpy(port->wire.name, wires[wire++], sizeof(port->wire.name));
	INIT_DELAYED_WORK(&port->late_vfs, vcx_late_vfs);
	INIT_WORK(&port->health, vcx_health);
	for (i = 0; i < VCX_MAX_VFS; i++) {
		port->vf[i].port = port;
		port->vf[i].index = i;
	}
	vcx_pci_init_config(port);
}

/* All of a card but its PCI bus, which goes in last and brings the driver to it. */
static int vcx_card_create(unsigned int index)
{
	const u8 guid[] = { 0x0c, 0x42, 0xa1, 0x03, serial };
	struct vcx_card *card;
	int i, err;

	card = kvzalloc(sizeof(*card), GFP_KERNEL);
	if (!card)
		return -ENOMEM;
	card->index = index;
	err = vcx_parse_card(card, cards[index]) ?: vcx_fw_init(card);
	if (err) {
		kvfree(card);
		return err;
	}
	memcpy(card->system_image_guid, guid, sizeof(guid));
	card->system_image_guid[5] = card->bus;
	for (i = 0; i < card->nports; i++)
		vcx_port_init(card, i);
	vcx_lag_init(card);
	list_add_tail(&card->node, &vcx_cards);
	return 0;
}

static void vcx_destroy_cards(void)
{
	struct vcx_card *card, *next;

	list_for_each_entry_safe(card, next, &vcx_cards, node) {
		vcx_lag_exit(card);
		vcx_fw_exit(card);
		list_del(&card->node);
		kvfree(card);
	}
}

static void vcx_remove_pci(void)
{
	struct vcx_card *card;

	list_for_each_entry(card, &vcx_cards, node)
		if (card->root)
			vcx_pci_remove(card);
	pci_unregister_driver(&vcx_driver);
}

static int __init vcx_init(void)
{
	struct vcx_card *card;
	int i, err;

	err = vcx_flower_init();
	if (err)
		return err;
	for (i = 0; i < num_cards && !err; i++)
		err = vcx_card_create(i);
	err = err ?: vcx_wire_init();
	if (err)
		goto destroy_cards;
	vcx_debugfs_init();
	err = pci_register_driver(&vcx_driver);
	if (err)
		goto exit_wires;
	list_for_each_entry(card, &vcx_cards, node) {
		err = vcx_pci_add(card, numa[card->index]);
		if (err)
			goto remove_pci;
	}
	return 0;

remove_pci:
	vcx_remove_pci();
exit_wires:
	/* Nobody may ask to look at the wires any more when they go. */
	vcx_debugfs_exit();
	vcx_wire_exit();
destroy_cards:
	vcx_destroy_cards();
	vcx_flower_exit();
	return err;
}

static void __exit vcx_exit(void)
{
	vcx_remove_pci();
	vcx_debugfs_exit();
	vcx_wire_exit();
	vcx_destroy_cards();
	vcx_flower_exit();
}

module_init(vcx_init);
module_exit(vcx_exit);

MODULE_DESCRIPTION("A virtual ConnectX: PCI, SR-IOV, eswitch, VF-LAG and firmware store without hardware");
MODULE_LICENSE("GPL");
