// SPDX-License-Identifier: GPL-2.0-only
/* /sys/kernel/debug: faults on demand in vcx/<bdf>, the state of LAG in mlx5/<bdf>/lag. */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include "card.h"

static struct dentry *vcx_root, *mlx5_root;

static const char *const faults[] = {
	[VCX_VF_DELAY_MS] = "fault_vf_delay_ms",
	[VCX_VF_NO_PROBE] = "fault_vf_no_probe",
	[VCX_MODE_FAIL] = "fault_mode_fail",
	[VCX_NUMVFS_ENOMEM] = "fault_numvfs_enomem",
	[VCX_LAG_NEVER] = "fault_lag_never",
	[VCX_LINK_DOWN] = "fault_link_down",
	[VCX_SURPRISE_REMOVE] = "fault_surprise_remove",
	[VCX_LOCKDOWN] = "fault_lockdown",
	[VCX_DCB_FAULT] = "dcb_fault",
};

static ssize_t vcx_fault_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	int *fault = file->private_data;
	char text[16];
	int n;

	n = scnprintf(text, sizeof(text), "%d\n", READ_ONCE(*fault));
	return simple_read_from_buffer(buf, len, pos, text, n);
}

/* A number, or as for a module's parameter: Y, N, on, off. */
static ssize_t vcx_fault_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	int *fault = file->private_data;
	bool flag;
	int val;

	if (kstrtoint_from_user(buf, len, 10, &val)) {
		if (kstrtobool_from_user(buf, len, &flag))
			return -EINVAL;
		val = flag;
	}
	WRITE_ONCE(*fault, val);
	vcx_wire_check();
	return len;
}

static const struct file_operations vcx_fault_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = vcx_fault_read,
	.write = vcx_fault_write,
};

/* What each file says in each mode; without a text it answers EINVAL. */
static const struct {
	const char *name;
	const char *text[VCX_LAG_MODES];
} lag_files[] = {
	{ "state", { "disabled", "active", "active", "active", "active" } },
	{ "type", { NULL, "roce", "switchdev", "switchdev", "multiport_eswitch" } },
	{ "port_sel_mode", { NULL, "queue_affinity", "queue_affinity", "hash", "mpesw" } },
	{ "flags", { NULL,
		     "shared_fdb:off\nfdb_selection_mode:affinity",
		     "shared_fdb:on\nfdb_selection_mode:native",
		     "shared_fdb:on\nfdb_selection_mode:native",
		     "shared_fdb:off\nfdb_selection_mode:native" } },
};

static int lag_show(struct seq_file *file, void *priv)
{
	const char *name = file->file->f_path.dentry->d_name.name;
	struct vcx_lag *lag = file->private;
	const char *text = NULL;
	int i;

	for (i = 0; i < ARRAY_SIZE(lag_files); i++)
		if (!strcmp(name, lag_files[i].name))
			text = lag_files[i].text[READ_ONCE(lag->mode)];
	if (!text)
		return -EINVAL;
	seq_printf(file, "%s\n", text);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(lag);

/* While a driver is bound to the PF, that is until debugfs_remove(port->debugfs). */
void vcx_debugfs_add_port(struct vcx_port *port)
{
	struct vcx_lag *lag = &port->card->lag;
	struct dentry *dir;
	int i;

	port->debugfs = debugfs_create_dir(pci_name(port->pdev), mlx5_root);
	/* A card of one port, and a DPU's host side, have no LAG. */
	if (!READ_ONCE(vcx_lag_debugfs) || port->card->nports < 2 || port->card->preset->dpu)
		return;
	dir = debugfs_create_dir("lag", port->debugfs);
	for (i = 0; i < ARRAY_SIZE(lag_files); i++)
		debugfs_create_file(lag_files[i].name, 0444, dir, lag, &lag_fops);
}

void vcx_debugfs_init(void)
{
	struct vcx_card *card;
	struct vcx_port *port;
	struct dentry *dir;
	char bdf[16];
	int i;

	mlx5_root = debugfs_create_dir("mlx5", NULL);
	vcx_root = debugfs_create_dir("vcx", NULL);
	list_for_each_entry(card, &vcx_cards, node)
		vcx_for_each_port(card, port) {
			snprintf(bdf, sizeof(bdf), "0000:%02x:00.%u", card->bus, port->port);
			dir = debugfs_create_dir(bdf, vcx_root);
			for (i = 0; i < VCX_FAULTS; i++)
				debugfs_create_file(faults[i], 0644, dir, &port->fault[i],
						    &vcx_fault_fops);
		}
}

void vcx_debugfs_exit(void)
{
	debugfs_remove(mlx5_root);
	debugfs_remove(vcx_root);
}
