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
#include <linux/spinlock.h>
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

/* nv_global_pci_conf and nv_global_pci_cap, dwords 1 and 2 */
#define TOTAL_VFS	GENMASK(15, 0)
#define NUM_PFS		GENMASK(23, 16)
#define SRIOV_EN	BIT(31)
#define NUM_PF_MSIX	GENMASK(21, 12)
#define NUM_VF_MSIX	GENMASK(31, 22)
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
enum { GLOBAL_PCI_CONF, POWER_CONF, CPU_CONF, LLDP_CONF };

static const struct vcx_tlv tlvs[] = {
	/* nv_global_pci_conf: valid bits; FPP_EN, SRIOV_EN, NUM_OF_VFS; NUM_VF_MSIX, NUM_PF_MSIX */
	[GLOBAL_PCI_CONF] = { GLOBAL, 128, 12, .data = {
		BIT(31) | BIT(29) | BIT(28) | BIT(27) | BIT(26),
		SRIOV_EN | BIT(29) | 8,
		11 << 22 | 63 << 12 } },
	/* nv_power_conf: LAG_RESOURCE_ALLOCATION */
	[POWER_CONF] = { GLOBAL, 136, 4 },
	/* nv_internal_cpu_conf: INTERNAL_CPU_MODEL EMBEDDED_CPU, INTERNAL_CPU_OFFLOAD_ENGINE */
	[CPU_CONF] = { GLOBAL, 12, 16, .dpu = true, .data = { 1 } },
	/* nv_lldp_nb_conf: LLDP_NB_DCBX, LLDP_NB_RX_MODE, LLDP_NB_TX_MODE */
	[LLDP_CONF] = { PORT, 266, 12, .version = 1 },
	/* nv_global_pci_cap: MAX_ACC_OUT_READ, MSI-X, SR-IOV; dword 3 max_total_msix */
	{ GLOBAL, 129, 20, .cap = true, .data = {
		BIT(31) | BIT(30) | BIT(28) | BIT(27) | BIT(26) | BIT(17),
		BIT(31) | BIT(29) | VCX_MAX_VFS,
		MAX_VF_MSIX << 22 | MAX_PF_MSIX << 12,
		MAX_TOTAL_MSIX } },
	/* nv_global_pci_conf_2: MAX_ACC_OUT_READ */
	{ GLOBAL, 132, 4 },
	/* nv_power_cap: LAG_RESOURCE_ALLOCATION */
	{ GLOBAL, 137, 4, .cap = true, .data = { BIT(21) } },
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

struct vcx_fw {
	spinlock_t lock;		/* value; taken under the PCI core's lock too */
	struct mutex save_lock;
	struct vcx_fw_record record;
};

static unsigned int vcx_tlv_instances(const struct vcx_card *card, const struct vcx_tlv *tlv)
{
	return tlv->class == PORT || tlv->class == HOST_FUNCTION ? card->nports : 1;
}

static void vcx_tlv_default(const struct vcx_card *card, const struct vcx_tlv *tlv, u32 *data)
{
	memcpy(data, tlv->data, sizeof(tlv->data));
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
	u8 class = type >> 24;
	u32 index;
	int i;

	*instance = 0;
	switch (class) {
	case GLOBAL:
		index = type & GENMASK(23, 0);
		break;
	case PORT:
		index = type & GENMASK(15, 0);
		*instance = (u8)(type >> 16) - 1;
		break;
	case HOST_FUNCTION:
		index = type & GENMASK(9, 0);
		*instance = port->port;
		break;
	case HOST:
		index = type & GENMASK(17, 0);
		break;
	default:
		return NULL;
	}
	for (i = 0; i < ARRAY_SIZE(tlvs); i++)
		if (tlvs[i].class == class && tlvs[i].index == index &&
		    (port->card->preset->dpu || !tlvs[i].dpu) &&
		    *instance < vcx_tlv_instances(port->card, &tlvs[i]))
			return &tlvs[i];
	return NULL;
}

static struct vcx_fw_value *vcx_fw_value(struct vcx_card *card, const struct vcx_tlv *tlv,
					 unsigned int instance)
{
	struct vcx_fw *fw = card->fw;

	return &fw->record.value[tlv - tlvs][instance];
}

void vcx_tlv_get(struct vcx_card *card, const struct vcx_tlv *tlv, unsigned int instance,
		 enum vcx_tlv_when when, u32 *data)
{
	struct vcx_fw_value *value = vcx_fw_value(card, tlv, instance);
	struct vcx_fw *fw = card->fw;
	unsigned long flags;

	if (when == VCX_TLV_DEFAULT) {
		vcx_tlv_default(card, tlv, data);
		return;
	}
	spin_lock_irqsave(&fw->lock, flags);
	memcpy(data, when == VCX_TLV_CURRENT ? value->now : value->next, sizeof(value->now));
	spin_unlock_irqrestore(&fw->lock, flags);
}

/* What the firmware itself refuses, also when the tool is told to force it. */
static bool vcx_tlv_acceptable(const struct vcx_card *card, const struct vcx_tlv *tlv,
			       const u32 *data)
{
	u32 vfs, msix;

	if (tlv != &tlvs[GLOBAL_PCI_CONF])
		return true;
	vfs = FIELD_GET(TOTAL_VFS, data[1]);
	msix = FIELD_GET(NUM_PF_MSIX, data[2]) + vfs * FIELD_GET(NUM_VF_MSIX, data[2]);
	return vfs <= VCX_MAX_VFS && card->nports * msix <= MAX_TOTAL_MSIX;
}

enum vcx_reg_status vcx_tlv_set(struct vcx_card *card, const struct vcx_tlv *tlv,
				unsigned int instance, const u32 *data)
{
	struct vcx_fw *fw = card->fw;
	unsigned long flags;

	if (tlv->cap)
		return VCX_REG_RES_NOT_AVAILABLE;
	if (!vcx_tlv_acceptable(card, tlv, data))
		return VCX_REG_BAD_CONFIG;
	spin_lock_irqsave(&fw->lock, flags);
	memcpy(vcx_fw_value(card, tlv, instance)->next, data, tlv->size);
	spin_unlock_irqrestore(&fw->lock, flags);
	return VCX_REG_OK;
}

void vcx_tlv_reset(struct vcx_card *card, const struct vcx_tlv *tlv, unsigned int instance)
{
	struct vcx_fw *fw = card->fw;
	unsigned long flags;
	int i, n;

	spin_lock_irqsave(&fw->lock, flags);
	for (i = 0; i < ARRAY_SIZE(tlvs); i++)
		for (n = 0; n < VCX_MAX_PORTS; n++)
			if (!tlv || (tlv == &tlvs[i] && instance == n))
				vcx_tlv_default(card, &tlvs[i], fw->record.value[i][n].next);
	spin_unlock_irqrestore(&fw->lock, flags);
}

void vcx_fw_latch(struct vcx_card *card)
{
	struct vcx_fw *fw = card->fw;
	struct vcx_fw_value *value;
	unsigned long flags;

	spin_lock_irqsave(&fw->lock, flags);
	for (value = fw->record.value[0]; value < fw->record.value[ARRAY_SIZE(tlvs)]; value++)
		memcpy(value->now, value->next, sizeof(value->now));
	spin_unlock_irqrestore(&fw->lock, flags);
}

static u32 vcx_fw_current(struct vcx_card *card, unsigned int tlv, unsigned int instance,
			  unsigned int dword)
{
	u32 data[VCX_TLV_DWORDS];

	vcx_tlv_get(card, &tlvs[tlv], instance, VCX_TLV_CURRENT, data);
	return data[dword];
}

/* A BlueField in DPU mode restarts its firmware with its own CPU, not with the host. */
bool vcx_fw_warm_reboot_applies(struct vcx_card *card)
{
	bool nic_mode = vcx_fw_current(card, CPU_CONF, 0, 0) & ENGINE_DISABLED;

	return warm_reboot_applies && (nic_mode || !card->preset->dpu);
}

u16 vcx_fw_total_vfs(struct vcx_port *port)
{
	if (!vcx_fw_sriov_en(port))
		return 0;
	return FIELD_GET(TOTAL_VFS, vcx_fw_current(port->card, GLOBAL_PCI_CONF, 0, 1));
}

bool vcx_fw_sriov_en(struct vcx_port *port)
{
	return vcx_fw_current(port->card, GLOBAL_PCI_CONF, 0, 1) & SRIOV_EN;
}

u32 vcx_fw_lag_prealloc(struct vcx_card *card)
{
	return FIELD_GET(LAG_ALLOCATION, vcx_fw_current(card, POWER_CONF, 0, 0));
}

bool vcx_fw_dcbx(struct vcx_port *port)
{
	return vcx_fw_current(port->card, LLDP_CONF, port->port, 0) & LLDP_NB_DCBX;
}

/* Opens fwstore= for the card's record: returns its position, NULL or an ERR_PTR in @file. */
static loff_t vcx_fw_open(struct vcx_card *card, int flags, struct file **file)
{
	*file = *fwstore ? filp_open(fwstore, flags, 0600) : NULL;
	return card->index * sizeof(struct vcx_fw_record);
}

int vcx_fw_save(struct vcx_card *card)
{
	struct vcx_fw *fw = card->fw;
	struct vcx_fw_record *record;
	struct file *file;
	ssize_t done;
	loff_t pos;

	mutex_lock(&fw->save_lock);
	record = kvmalloc(sizeof(*record), GFP_KERNEL);
	pos = vcx_fw_open(card, O_WRONLY | O_CREAT, &file);
	done = record ? PTR_ERR_OR_ZERO(file) : -ENOMEM;
	if (!done && file) {
		spin_lock_irq(&fw->lock);
		*record = fw->record;
		spin_unlock_irq(&fw->lock);
		done = kernel_write(file, record, sizeof(*record), &pos);
		if (done >= 0)
			done = done == sizeof(*record) ? vfs_fsync(file, 0) : -EIO;
	}
	if (!IS_ERR_OR_NULL(file))
		filp_close(file, NULL);
	kvfree(record);
	mutex_unlock(&fw->save_lock);
	if (done)
		pr_err("mlx5_core: cannot write %s: %zd\n", fwstore, done);
	return done;
}

static void vcx_read_boot_id(char *id)
{
	struct file *file = filp_open("/proc/sys/kernel/random/boot_id", O_RDONLY, 0);
	loff_t pos = 0;

	if (IS_ERR(file))
		return;
	kernel_read(file, id, UUID_STRING_LEN, &pos);
	filp_close(file, NULL);
}

/* Loads the store; after a reboot that restarts the firmware, next becomes current. */
static int vcx_fw_load(struct vcx_card *card)
{
	struct vcx_fw *fw = card->fw;
	struct vcx_fw_record *stored;
	struct file *file;
	loff_t pos;

	fw->record.size = sizeof(fw->record);
	fw->record.bus = card->bus;
	vcx_read_boot_id(fw->record.boot_id);
	vcx_tlv_reset(card, NULL, 0);
	vcx_fw_latch(card);
	pos = vcx_fw_open(card, O_RDONLY, &file);
	if (IS_ERR_OR_NULL(file))
		return 0;		/* a new card */
	stored = kvmalloc(sizeof(*stored), GFP_KERNEL);
	if (stored && kernel_read(file, stored, sizeof(*stored), &pos) == sizeof(*stored) &&
	    stored->size == fw->record.size && stored->bus == fw->record.bus) {
		memcpy(fw->record.value, stored->value, sizeof(stored->value));
		if (memcmp(stored->boot_id, fw->record.boot_id, sizeof(stored->boot_id)) &&
		    (power_cycle || vcx_fw_warm_reboot_applies(card)))
			vcx_fw_latch(card);
	}
	filp_close(file, NULL);
	kvfree(stored);
	return stored ? 0 : -ENOMEM;
}

int vcx_fw_init(struct vcx_card *card)
{
	struct vcx_fw *fw = kvzalloc(sizeof(*fw), GFP_KERNEL);
	int i = 0, err;

	if (!fw)
		return -ENOMEM;
	spin_lock_init(&fw->lock);
	mutex_init(&fw->save_lock);
	card->fw = fw;
	err = vcx_fw_load(card);
	for (; !err && i < card->nports; i++)
		err = vcx_vsc_init(&card->port[i]);
	if (err)
		vcx_fw_exit(card);
	return err;
}

void vcx_fw_exit(struct vcx_card *card)
{
	int i;

	for (i = 0; i < card->nports; i++)
		vcx_vsc_exit(&card->port[i]);
	kvfree(card->fw);
	card->fw = NULL;
}
