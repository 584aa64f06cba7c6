// SPDX-License-Identifier: GPL-2.0-only
/*
 * The card as the PCI core sees it: a root bus of its own in domain 0, PFs at
 * functions 0 and 1, VFs behind them, all in configuration space held in memory.
 * There are no BARs, no interrupts and no root port.
 */
#include <linux/bitfield.h>
#include <linux/etherdevice.h>
#include "card.h"

/* Vendor-specific capability: position and length as ConnectX has them. */
#define VSC_POS		0xc0
#define VSC_LEN		0x18
#define VPD_POS		0x48		/* vital product data, also where ConnectX has it */
#define VPD_NAME	127		/* its longest product name here */
#define VPD_TAG		3		/* bytes of a large resource's tag and length */
#define VPD_END		0x78		/* the small resource that ends it */
#define EXP_POS		0x60		/* PCI Express capability */
#define ARI_POS		0x100		/* extended capabilities */
#define SRIOV_POS	0x180

static void put16(u8 *cfg, int where, u16 val)
{
	put_unaligned_le16(val, cfg + where);
}

static void put32(u8 *cfg, int where, u32 val)
{
	put_unaligned_le32(val, cfg + where);
}

static u16 get16(const u8 *cfg, int where)
{
	return get_unaligned_le16(cfg + where);
}

/* What PFs and VFs have in common */
static void vcx_fill_header(u8 *cfg, const struct vcx_preset *preset, bool vf)
{
	u8 gen = preset->pcie_gen, width = preset->pcie_width;

	/* The VF's ids read as all ones; the PCI core takes them from the PF. */
	put16(cfg, PCI_VENDOR_ID, vf ? 0xffff : PCI_VENDOR_ID_MELLANOX);
	put16(cfg, PCI_DEVICE_ID, vf ? 0xffff : preset->device);
	put16(cfg, PCI_STATUS, PCI_STATUS_CAP_LIST);
	put16(cfg, PCI_CLASS_DEVICE, PCI_CLASS_NETWORK_ETHERNET);
	put16(cfg, PCI_SUBSYSTEM_VENDOR_ID, PCI_VENDOR_ID_MELLANOX);
	put16(cfg, PCI_SUBSYSTEM_ID, 0x0083);
	cfg[PCI_CAPABILITY_LIST] = EXP_POS;

	cfg[EXP_POS] = PCI_CAP_ID_EXP;
	cfg[EXP_POS + 1] = vf ? 0 : VPD_POS;
	put16(cfg, EXP_POS + PCI_EXP_FLAGS, 2 | PCI_EXP_TYPE_ENDPOINT << 4);
	put32(cfg, EXP_POS + PCI_EXP_DEVCAP, PCI_EXP_DEVCAP_FLR | PCI_EXP_DEVCAP_RBER | 2);
	put16(cfg, EXP_POS + PCI_EXP_DEVCTL, FIELD_PREP(PCI_EXP_DEVCTL_READRQ, 2));
	put32(cfg, EXP_POS + PCI_EXP_LNKCAP, gen | width << 4);
	put16(cfg, EXP_POS + PCI_EXP_LNKSTA, gen | width << 4);
	put32(cfg, EXP_POS + PCI_EXP_LNKCAP2, GENMASK(gen, 1));
}

static void vcx_fill_sriov(struct vcx_port *port)
{
	u16 before = port->port ? port->card->port[0].total_vfs : 0;
	u16 total = port->total_vfs;
	u8 *cap = port->cfg + SRIOV_POS;

	put32(cap, 0, PCI_EXT_CAP_ID_SRIOV | 1 << 16);
	put16(cap, PCI_SRIOV_INITIAL_VF, total);
	put16(cap, PCI_SRIOV_TOTAL_VF, total);
	cap[PCI_SRIOV_FUNC_LINK] = port->port;
	/* The VFs of a port follow the PFs and the VFs of the port before it. */
	put16(cap, PCI_SRIOV_VF_OFFSET, port->card->nports - port->port + before);
	put16(cap, PCI_SRIOV_VF_STRIDE, 1);
	put16(cap, PCI_SRIOV_VF_DID, port->card->preset->vf_device);
	put32(cap, PCI_SRIOV_SUP_PGSIZE, 0x553);
	put32(cap, PCI_SRIOV_SYS_PGSIZE, 1);
}

static u8 *vcx_vpd_field(u8 *at, const char *keyword, const char *value)
{
	u8 len = strlen(value);

	*at++ = keyword[0];
	*at++ = keyword[1];
	*at++ = len;
	return memcpy(at, value, len) + len;
}

/*
 * The vital product data that both ports show, in the order of PCI Local Bus 3.0,
 * appendix I: the product's name; part number, serial number, and a byte that
 * makes the sum of all so far 0. No two cards have the same serial number.
 */
static void vcx_fill_vpd(struct vcx_card *card)
{
	const char *name = card->preset->description;
	u16 len = min_t(size_t, strlen(name), VPD_NAME);
	u8 *fields = card->vpd + VPD_TAG + len, *end, *at;
	char serial[16];

	snprintf(serial, sizeof(serial), "MT2116X0%02X%02X", card->system_image_guid[4], card->bus);
	card->vpd[0] = PCI_VPD_LRDT_ID_STRING;
	put16(card->vpd, 1, len);
	memcpy(card->vpd + VPD_TAG, name, len);
	fields[0] = PCI_VPD_LRDT_RO_DATA;
	end = vcx_vpd_field(fields + VPD_TAG, "PN", card->preset->part);
	end = vcx_vpd_field(end, "SN", serial);
	end = vcx_vpd_field(end, "RV", "?");
	put16(fields, 1, end - fields - VPD_TAG);
	end[-1] = 0;
	for (at = card->vpd; at < end - 1; at++)
		end[-1] -= *at;
	*end = VPD_END;
}

/*
 * pci_vpd_read() and pci_vpd_write() of the PCI core write an address, and wait
 * until its flag has turned. All fields are read-only, and what is written is lost.
 */
static void vcx_vpd_access(struct vcx_port *port, u16 address)
{
	u16 from = address & PCI_VPD_ADDR_MASK;
	u8 *cap = port->cfg + VPD_POS;

	put16(cap, PCI_VPD_ADDR, address ^ PCI_VPD_ADDR_F);
	if (!(address & PCI_VPD_ADDR_F))
		put32(cap, PCI_VPD_DATA, from > VCX_VPD_LEN - sizeof(u32) ? 0 :
					 get_unaligned_le32(port->card->vpd + from));
}

/* A PF and its VFs as they are after a bus reset. Ports in order, firmware first. */
void vcx_pci_init_config(struct vcx_port *port)
{
	u8 *cfg = port->cfg;
	int i;

	port->total_vfs = vcx_fw_total_vfs(port);
	vcx_fill_header(cfg, port->card->preset, false);
	if (port->card->nports > 1)
		cfg[PCI_HEADER_TYPE] = 0x80;
	cfg[VPD_POS] = PCI_CAP_ID_VPD;
	cfg[VPD_POS + 1] = VSC_POS;
	cfg[VSC_POS] = PCI_CAP_ID_VNDR;
	cfg[VSC_POS + 2] = VSC_LEN;
	put32(cfg, ARI_POS, PCI_EXT_CAP_ID_ARI | 1 << 16 | (port->total_vfs ? SRIOV_POS << 20 : 0));
	if (port->port + 1 < port->card->nports)
		put16(cfg, ARI_POS + PCI_ARI_CAP, (port->port + 1) << 8);
	if (port->total_vfs)
		vcx_fill_sriov(port);
	for (i = 0; i < VCX_MAX_VFS; i++)
		vcx_fill_header(port->vf[i].cfg, port->card->preset, true);
}

/*
 * The function at @devfn: its port, and its VF in @vf (NULL for the PF). VFs
 * are there only while the PF's VF Enable is set.
 */
static struct vcx_port *vcx_find_function(struct vcx_card *card, unsigned int devfn,
					  struct vcx_vf **vf)
{
	struct vcx_port *port;
	unsigned int first;
	const u8 *cap;

	*vf = NULL;
	if (devfn < card->nports)
		return &card->port[devfn];
	vcx_for_each_port(card, port) {
		cap = port->cfg + SRIOV_POS;
		if (!port->total_vfs || !(get16(cap, PCI_SRIOV_CTRL) & PCI_SRIOV_CTRL_VFE))
			continue;
		first = port->port + get16(cap, PCI_SRIOV_VF_OFFSET);
		if (devfn < first ||
		    devfn >= first + min(get16(cap, PCI_SRIOV_NUM_VF), port->total_vfs))
			continue;
		*vf = &port->vf[devfn - first];
		return port;
	}
	return NULL;
}

/* Where the VF lies on the card's bus */
unsigned int vcx_vf_devfn(const struct vcx_port *port, unsigned int index)
{
	return port->port + get16(port->cfg + SRIOV_POS, PCI_SRIOV_VF_OFFSET) + index;
}

/* The offset of a register of the vendor-specific capability, or 0; its header is plain memory. */
static int vcx_vsc_offset(const struct vcx_vf *vf, int where)
{
	where &= ~3;
	return !vf && where > VSC_POS && where < VSC_POS + VSC_LEN ?
	       where - VSC_POS : 0;
}

static int vcx_cfg_read(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *val)
{
	struct vcx_card *card = container_of(bus->sysdata, struct vcx_card, sysdata);
	struct vcx_port *port;
	struct vcx_vf *vf;
	const u8 *cfg;
	int i;

	*val = ~0;
	port = vcx_find_function(card, devfn, &vf);
	if (!port || vcx_fault(port, VCX_SURPRISE_REMOVE))
		return PCIBIOS_DEVICE_NOT_FOUND;
	*val = 0;
	if (vcx_vsc_offset(vf, where)) {
		*val = vcx_vsc_read(port, vcx_vsc_offset(vf, where)) >> (where % 4 * 8);
	} else if (!vf || where < PCI_CFG_SPACE_SIZE) {
		cfg = vf ? vf->cfg : port->cfg;
		for (i = 0; i < size; i++)
			*val |= (u32)cfg[where + i] << (8 * i);
	}
	return PCIBIOS_SUCCESSFUL;
}

/* The bits of a byte that the host may write; everything else is read only. */
static u8 vcx_writable(const struct vcx_port *port, bool vf, int where)
{
	switch (where) {
	case PCI_COMMAND:
		return PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY;
	case PCI_COMMAND + 1:
		return (PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE) >> 8;
	case PCI_CACHE_LINE_SIZE:
	case PCI_INTERRUPT_LINE:
	case EXP_POS + PCI_EXP_DEVCTL:
	case EXP_POS + PCI_EXP_LNKCTL:
	case EXP_POS + PCI_EXP_DEVCTL2:
		return 0xff;
	case EXP_POS + PCI_EXP_DEVCTL + 1:
		return 0x7f;		/* bit 15 starts an FLR and reads as 0 */
	}
	if (vf || !port->total_vfs)
		return 0;
	switch (where - SRIOV_POS) {
	case PCI_SRIOV_CTRL:
		return PCI_SRIOV_CTRL_VFE | PCI_SRIOV_CTRL_MSE | PCI_SRIOV_CTRL_ARI;
	case PCI_SRIOV_NUM_VF:
	case PCI_SRIOV_NUM_VF + 1:
	case PCI_SRIOV_SYS_PGSIZE ... PCI_SRIOV_SYS_PGSIZE + 3:
		return 0xff;
	}
	return 0;
}

static int vcx_cfg_write(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 val)
{
	struct vcx_card *card = container_of(bus->sysdata, struct vcx_card, sysdata);
	struct vcx_port *port;
	struct vcx_vf *vf;
	u8 *cfg, mask;
	int i;

	port = vcx_find_function(card, devfn, &vf);
	if (!port || vcx_fault(port, VCX_SURPRISE_REMOVE))
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (vcx_vsc_offset(vf, where)) {
		if (size == 4 && !vcx_fault(port, VCX_LOCKDOWN))
			vcx_vsc_write(port, vcx_vsc_offset(vf, where), val);
		return PCIBIOS_SUCCESSFUL;
	}
	if (!vf && where == VPD_POS + PCI_VPD_ADDR && size == 2) {
		vcx_vpd_access(port, val);
		return PCIBIOS_SUCCESSFUL;
	}
	if (vf && where >= PCI_CFG_SPACE_SIZE)
		return PCIBIOS_SUCCESSFUL;
	cfg = vf ? vf->cfg : port->cfg;
	for (i = 0; i < size; i++, where++, val >>= 8) {
		mask = vcx_writable(port, vf, where);
		cfg[where] = (cfg[where] & ~mask) | (val & mask);
		if (where == EXP_POS + PCI_EXP_DEVCTL + 1 && (val & 0x80))
			put16(cfg, PCI_COMMAND, 0);
	}
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops vcx_pci_ops = {
	.read = vcx_cfg_read,
	.write = vcx_cfg_write,
};

int vcx_pci_add(struct vcx_card *card, int node)
{
	struct resource busn = {
		.name = "vcx", .start = card->bus, .end = card->bus, .flags = IORESOURCE_BUS,
	};
	LIST_HEAD(windows);

	if (pci_find_bus(0, card->bus)) {
		pr_err("mlx5_core: cards: bus %02x exists already\n", card->bus);
		return -EEXIST;
	}
	if (node != NUMA_NO_NODE && !(node >= 0 && node < MAX_NUMNODES && node_online(node))) {
		pr_err("mlx5_core: numa: node %d is not online\n", node);
		return -EINVAL;
	}
	card->busn = busn;
	card->sysdata.domain = 0;
	card->sysdata.node = node;
	vcx_fill_vpd(card);
	pci_add_resource(&windows, &card->busn);

	pci_lock_rescan_remove();
	card->root = pci_create_root_bus(NULL, card->bus, &vcx_pci_ops, &card->sysdata, &windows);
	if (!card->root) {
		pci_unlock_rescan_remove();
		pci_free_resource_list(&windows);
		return -ENODEV;
	}
	pci_scan_child_bus(card->root);
	pci_bus_add_devices(card->root);
	pci_unlock_rescan_remove();
	return 0;
}

void vcx_pci_remove(struct vcx_card *card)
{
	pci_lock_rescan_remove();
	pci_stop_root_bus(card->root);
	pci_remove_root_bus(card->root);
	card->root = NULL;
	pci_unlock_rescan_remove();
}
