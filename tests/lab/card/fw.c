// SPDX-License-Identifier: GPL-2.0-only
/*
 * The firmware store: what mstconfig reads and sets.
 *
 * Each configuration TLV has a default, a current and a next value. Tools
 * write next; it becomes current when the firmware restarts, which is at the
 * first load of this module after a reboot of the guest. The store outlives
 * the guest's reboots in the file fwstore=, one record per card.
 *
 * Types, sizes and bits are those of mstflint's mlxconfig_host.db.
 */
#include <linux/bitfield.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "fw.h"

static char *fwstore = "";
module_param(fwstore, charp, 0444);
MODULE_PARM_DESC(fwstore, "File that keeps the firmware stores of all cards over reboots");
static bool power_cycle;
module_param(power_cycle, bool, 0444);
MODULE_PARM_DESC(power_cycle, "This boot followed a power cycle, not a warm reboot");
static bool warm_reboot_applies = true;
module_param(warm_reboot_applies, bool, 0644);
MODULE_PARM_DESC(warm_reboot_applies, "A warm reboot makes next-boot values current");

enum vcx_tlv_class { GLOBAL = 0, PORT = 1, HOST_FUNCTION = 3, HOST = 7 };

/* nv_global_pci_conf, dword 0; NUM_OF_VFS is void while it is set. */
#define PF_NUM_OF_VF_VALID	BIT(14)
/* nv_pf_pci_conf, dword 2 */
#define PF_TOTAL_VF	GENMASK(15, 0)
/* nv_global_pci_conf and nv_global_pci_cap, dwords 1 and 2 */
#define TOTAL_VFS	GENMASK(15, 0)
#define NUM_PFS		GENMASK(23, 16)
#define SRIOV_EN	BIT(31)
/* nv_internal_cpu_conf, dword 0 */
#define ENGINE_DISABLED	BIT(8)
/* nv_power_conf, dword 0 */
#define LAG_ALLOCATION	GENMASK(21, 20)
/* nv_lldp_nb_conf, dword 0 */
#define LLDP_NB_DCBX	BIT(27)

/* What all functions share: 64 VFs of each of two PFs fit it at NUM_VF_MSIX=63. */
#define MAX_TOTAL_MSIX	8192
#define MAX_PF_MSIX	63
#define MAX_VF_MSIX	127

/* Those that the card itself heeds come first. */
enum { GLOBAL_PCI_CONF, PF_PCI_CONF, POWER_CONF, CPU_CONF, LLDP_CONF };

static const struct vcx_tlv tlvs[] = {
	/* nv_global_pci_conf: valid bits; FPP_EN, SRIOV_EN, NUM_OF_VFS; NUM_VF_MSIX, NUM_PF_MSIX */
	[GLOBAL_PCI_CONF] = { GLOBAL, 128, 12, .data = {
		BIT(31) | BIT(29) | BIT(28) | BIT(27) | BIT(26),
		SRIOV_EN | BIT(29) | 8,
		11 << 22 | 63 << 12 } },
	/* nv_pf_pci_conf: PF_NUM_OF_VF of each PF, which counts while PF_NUM_OF_VF_VALID is set */
	[PF_PCI_CONF] = { HOST_FUNCTION, 128, 16 },
	/* nv_power_conf: LAG_RESOURCE_ALLOCATION */
	[POWER_CONF] = { GLOBAL, 136, 4, .lag = true },
	/* nv_internal_cpu_conf: INTERNAL_CPU_MODEL EMBEDDED_CPU, INTERNAL_CPU_OFFLOAD_ENGINE */
	[CPU_CONF] = { GLOBAL, 12, 16, .dpu = true, .data = { 1 } },
	/* nv_lldp_nb_conf: LLDP_NB_DCBX, LLDP_NB_RX_MODE, LLDP_NB_TX_MODE */
	[LLDP_CONF] = { PORT, 266, 12, .version = 1 },
	/* nv_global_pci_cap: MAX_ACC_OUT_READ, PF_NUM_OF_VF, MSI-X, SR-IOV; max_total_msix */
	{ GLOBAL, 129, 20, .cap = true, .data = {
		BIT(31) | BIT(30) | BIT(28) | BIT(27) | BIT(26) | BIT(17) | BIT(11),
		BIT(31) | BIT(29) | VCX_MAX_VFS,
		MAX_VF_MSIX << 22 | MAX_PF_MSIX << 12,
		MAX_TOTAL_MSIX } },
	/* nv_global_pci_conf_2: MAX_ACC_OUT_READ */
	{ GLOBAL, 132, 4 },
	/* nv_power_cap: LAG_RESOURCE_ALLOCATION */
	{ GLOBAL, 137, 4, .cap = true, .lag = true, .data = { BIT(21) } },
	/* nv_sw_offload_conf: CQE_COMPRESSION, RDMA_SELECTIVE_REPEAT_EN; LRO timeouts */
	{ GLOBAL, 266, 8, .version = 1, .data = { 0, 0xd876 } },
	{ GLOBAL, 267, 4, .version = 1, .cap = true, .data = { BIT(18) } },
	/* nv_internal_cpu_cap */
	{ GLOBAL, 13, 16, .dpu = true, .cap = true, .data = { BIT(30) | BIT(25) } },
	/* nv_pci_conf: ADVANCED_PCI_SETTINGS, ATS_ENABLED, and nv_pci_cap */
	{ HOST, 128, 4 },
	{ HOST, 129, 4, .cap = true, .data = { BIT(31) | BIT(22) } },
	/* nv_hca_conf: PCI_WR_ORDERING, and nv_hca_cap */
	{ HOST_FUNCTION, 274, 4 },
	{ HOST_FUNCTION, 275, 4, .cap = true, .data = { BIT(28) } },
	/* nv_vpi_link_type: LINK_TYPE ETH */
	{ PORT, 18, 4, .data = { 2 << 2 } },
	/* nv_roce_cc: ROCE_CC_PRIO_MASK */
	{ PORT, 263, 4, .data = { 0xff } },
	/* nv_roce_cc_ecn: CNP_DSCP 48, CNP_802P_PRIO 6 in the last dword, DCQCN's before */
	{ PORT, 264, 68, .data = {
		BIT(30), 300, 32767, 1, 0, 5, 50, 11, 50, 1, 0, 1019, 1, 4, 1023, 4,
		48 << 8 | 6 } },
	/* nv_lldp_nb_cap */
	{ PORT, 267, 12, .version = 1, .cap = true, .data = { 2u << 30 | 2 << 28 | BIT(27) } },
	/* nv_lldp_nb_dcbx: DCBX_WILLING, DCBX_CEE, DCBX_IEEE */
	{ PORT, 398, 4, .data = { 7 } },
	/* nv_keep_link_up: KEEP_ETH_LINK_UP */
	{ PORT, 400, 4, .version = 3, .data = { 1 } },
};

struct vcx_fw_value {
	u32 now[VCX_TLV_DWORDS];
	u32 next[VCX_TLV_DWORDS];
};

/* As in the file: at card->index times its size. Bus and size tell whether it is this card's. */
struct vcx_fw_record {
	u32 size;
	u32 bus;
	char boot_id[UUID_STRING_LEN + 1];	/* the boot that wrote it */
	struct vcx_fw_value value[ARRAY_SIZE(tlvs)][VCX_MAX_PORTS];
};

/* Written at load, and then in configuration cycles only, which the PCI core serializes. */
struct vcx_fw {
	struct mutex save_lock;		/* one writer of the file at a time */
	struct vcx_fw_record record;
	struct vcx_vsc vsc[VCX_MAX_PORTS];
};

struct vcx_vsc *vcx_vsc_of(struct vcx_port *port)
{
	return &port->card->fw->vsc[port->port];
}

static void vcx_tlv_default(const struct vcx_card *card, const struct vcx_tlv *tlv, u32 *data)
{
	memcpy(data, tlv->data, tlv->size);
	if (tlv->class == GLOBAL && (tlv->index == 128 || tlv->index == 129))
		data[1] |= FIELD_PREP(NUM_PFS, card->nports);
}

/*
 * @type is the TLV type of the PRM: class in the top byte, port, host and
 * function below it. mstconfig always names host 0 and function 0: the PF that
 * it talks through.
 */
const struct vcx_tlv *vcx_tlv_find(struct vcx_port *port, u32 type, unsigned int *instance)
{
	u32 index = type & GENMASK(23, 0);
	u8 class = type >> 24;
	int i;

	*instance = 0;
	if (class == PORT) {
		index = type & GENMASK(15, 0);
		*instance = (u8)(type >> 16) - 1;
	} else if (class == HOST_FUNCTION) {
		index = type & GENMASK(9, 0);
		*instance = port->port;
	} else if (class == HOST) {
		index = type & GENMASK(17, 0);
	}
	for (i = 0; i < ARRAY_SIZE(tlvs); i++)
		if (tlvs[i].class == class && tlvs[i].index == index &&
		    (port->card->preset->dpu || !tlvs[i].dpu) &&
		    (port->card->preset->lag_allocation || !tlvs[i].lag) &&
		    *instance < port->card->nports)
			return &tlvs[i];
	return NULL;
}

void vcx_tlv_get(struct vcx_card *card, const struct vcx_tlv *tlv, unsigned int instance,
		 enum vcx_tlv_when when, u32 *data)
{
	struct vcx_fw_value *value = &card->fw->record.value[tlv - tlvs][instance];

	if (when == VCX_TLV_DEFAULT)
		vcx_tlv_default(card, tlv, data);
	else
		memcpy(data, when == VCX_TLV_CURRENT ? value->now : value->next, tlv->size);
}

enum vcx_reg_status vcx_tlv_set(struct vcx_card *card, const struct vcx_tlv *tlv,
				unsigned int instance, const u32 *data)
{
	if (tlv->cap)
		return VCX_REG_RES_NOT_AVAILABLE;
	memcpy(card->fw->record.value[tlv - tlvs][instance].next, data, tlv->size);
	return VCX_REG_OK;
}

u32 vcx_tlv_next_stored(struct vcx_port *port, u32 *at)
{
	u32 data[VCX_TLV_DWORDS], instance;
	struct vcx_fw_value *value;
	const struct vcx_tlv *tlv;

	while (*at < ARRAY_SIZE(tlvs) * VCX_MAX_PORTS) {
		tlv = &tlvs[*at / VCX_MAX_PORTS];
		instance = (*at)++ % VCX_MAX_PORTS;
		if (tlv->class == HOST_FUNCTION && instance != port->port)
			continue;
		vcx_tlv_default(port->card, tlv, data);
		value = &port->card->fw->record.value[tlv - tlvs][instance];
		if (memcmp(data, value->next, tlv->size))
			return tlv->class << 24 | tlv->index |
			       (tlv->class == PORT ? (instance + 1) << 16 : 0);
	}
	return 0;
}

void vcx_tlv_reset(struct vcx_card *card)
{
	int i, n;

	for (i = 0; i < ARRAY_SIZE(tlvs); i++)
		for (n = 0; n < VCX_MAX_PORTS; n++)
			vcx_tlv_default(card, &tlvs[i], card->fw->record.value[i][n].next);
}

void vcx_fw_latch(struct vcx_card *card)
{
	struct vcx_fw_record *record = &card->fw->record;
	struct vcx_fw_value *value;

	for (value = record->value[0]; value < record->value[ARRAY_SIZE(tlvs)]; value++)
		memcpy(value->now, value->next, sizeof(value->now));
}

/* A BlueField in DPU mode restarts its firmware with its own CPU, not with the host. */
bool vcx_fw_warm_reboot_applies(struct vcx_card *card)
{
	bool nic_mode = card->fw->record.value[CPU_CONF][0].now[0] & ENGINE_DISABLED;

	return warm_reboot_applies && (nic_mode || !card->preset->dpu);
}

/* mlxconfig_host.db: NUM_OF_VFS is "valid when PF_NUM_OF_VF_VALID is FALSE". */
u16 vcx_fw_total_vfs(struct vcx_port *port)
{
	struct vcx_fw_record *record = &port->card->fw->record;
	const u32 *conf = record->value[GLOBAL_PCI_CONF][0].now;
	const u32 *of_pf = record->value[PF_PCI_CONF][port->port].now;
	u16 vfs = FIELD_GET(TOTAL_VFS, conf[1]);

	if (!(conf[1] & SRIOV_EN))
		return 0;
	if (conf[0] & PF_NUM_OF_VF_VALID)
		vfs = FIELD_GET(PF_TOTAL_VF, of_pf[2]);
	return min_t(u16, vfs, VCX_MAX_VFS);
}

u32 vcx_fw_lag_prealloc(struct vcx_card *card)
{
	u32 conf = READ_ONCE(card->fw->record.value[POWER_CONF][0].now[0]);

	return FIELD_GET(LAG_ALLOCATION, conf);
}

bool vcx_fw_dcbx(struct vcx_port *port)
{
	u32 conf = READ_ONCE(port->card->fw->record.value[LLDP_CONF][port->port].now[0]);

	return conf & LLDP_NB_DCBX;
}

/*
 * Whoever sets a value while the record is written saves it himself
 * afterwards: the file always ends as the record is.
 */
int vcx_fw_save(struct vcx_card *card)
{
	struct vcx_fw *fw = card->fw;
	loff_t pos = card->index * sizeof(fw->record);
	struct file *file;
	ssize_t done;

	if (!*fwstore)
		return 0;
	mutex_lock(&fw->save_lock);
	file = filp_open(fwstore, O_WRONLY | O_CREAT, 0600);
	done = PTR_ERR_OR_ZERO(file);
	if (!done) {
		done = kernel_write(file, &fw->record, sizeof(fw->record), &pos);
		if (done >= 0)
			done = done == sizeof(fw->record) ? vfs_fsync(file, 0) : -EIO;
		filp_close(file, NULL);
	}
	mutex_unlock(&fw->save_lock);
	if (done)
		pr_err("mlx5_core: cannot write %s: %zd\n", fwstore, done);
	return done;
}

/* Returns how many bytes there were. */
static ssize_t vcx_read_file(const char *path, void *buf, size_t len, loff_t pos)
{
	struct file *file = filp_open(path, O_RDONLY, 0);
	ssize_t done;

	if (IS_ERR(file))
		return 0;
	done = kernel_read(file, buf, len, &pos);
	filp_close(file, NULL);
	return done;
}

/* Loads the store; after a reboot that restarts the firmware, next becomes current. */
static void vcx_fw_load(struct vcx_card *card, struct vcx_fw_record *stored)
{
	struct vcx_fw_record *record = &card->fw->record;
	loff_t pos = card->index * sizeof(*stored);

	record->size = sizeof(*record);
	record->bus = card->bus;
	vcx_read_file("/proc/sys/kernel/random/boot_id", record->boot_id, UUID_STRING_LEN, 0);
	vcx_tlv_reset(card);
	vcx_fw_latch(card);
	if (vcx_read_file(fwstore, stored, sizeof(*stored), pos) != sizeof(*stored) ||
	    stored->size != record->size || stored->bus != record->bus)
		return;		/* a new card */
	memcpy(record->value, stored->value, sizeof(stored->value));
	if (memcmp(stored->boot_id, record->boot_id, sizeof(stored->boot_id)) &&
	    (power_cycle || vcx_fw_warm_reboot_applies(card)))
		vcx_fw_latch(card);
}

int vcx_fw_init(struct vcx_card *card)
{
	struct vcx_fw_record *stored = kvzalloc(sizeof(*stored), GFP_KERNEL);
	int i;

	card->fw = kvzalloc(sizeof(*card->fw), GFP_KERNEL);
	if (card->fw && stored) {
		mutex_init(&card->fw->save_lock);
		vcx_fw_load(card, stored);
		for (i = 0; i < card->nports; i++)
			vcx_vsc_init(&card->fw->vsc[i], &card->port[i]);
		kvfree(stored);
		return 0;
	}
	kvfree(card->fw);
	kvfree(stored);
	return -ENOMEM;
}

void vcx_fw_exit(struct vcx_card *card)
{
	int i;

	for (i = 0; i < card->nports; i++)
		flush_work(&card->fw->vsc[i].save);
	kvfree(card->fw);
}
