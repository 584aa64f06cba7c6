// SPDX-License-Identifier: GPL-2.0-only
/* /sys/kernel/debug: faults and counters in vcx/<bdf>, the state of LAG in mlx5/<bdf>/lag. */
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
	[VCX_ESW_LOCKED] = "fault_esw_locked",
	[VCX_FW_SYNDROME] = "fault_fw",
	[VCX_FW_FATAL] = "fault_fw_fatal",
	[VCX_TX_ERROR] = "fault_tx",
	[VCX_RX_ERROR] = "fault_rx",
	[VCX_DCB_FAULT] = "dcb_fault",
	[VCX_CMD_TIMEOUT_MS] = "fault_cmd_timeout_ms",
	[VCX_MODULE_TEMPERATURE] = "module_temperature",
	[VCX_SLOW_PATH] = "fault_slow_path",
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
	struct vcx_card *card;
	struct vcx_port *port;
	bool flag;
	int val;

	if (kstrtoint_from_user(buf, len, 10, &val)) {
		if (kstrtobool_from_user(buf, len, &flag))
			return -EINVAL;
		val = flag;
	}
	WRITE_ONCE(*fault, val);
	list_for_each_entry(card, &vcx_cards, node)
		vcx_for_each_port(card, port)
			if (fault >= &port->fault[VCX_FW_SYNDROME] &&
			    fault <= &port->fault[VCX_RX_ERROR]) {
				schedule_work(&port->health);
				/* All but a recovery are over when the write returns. */
				if (fault != &port->fault[VCX_FW_FATAL])
					flush_work(&port->health);
			}
	vcx_wire_check();
	return len;
}

static const struct file_operations vcx_fault_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = vcx_fault_read,
	.write = vcx_fault_write,
};

/* The files of mlx5/<bdf>/lag, as lag/debugfs.c of 6.1 to 6.12 writes them. */
enum { LAG_STATE, LAG_TYPE, LAG_PORT_SEL_MODE, LAG_FLAGS, LAG_MAPPING, LAG_MEMBERS };

static const char *const lag_files[] = {
	[LAG_STATE] = "state",
	[LAG_TYPE] = "type",
	[LAG_PORT_SEL_MODE] = "port_sel_mode",
	[LAG_FLAGS] = "flags",
	[LAG_MAPPING] = "mapping",
	[LAG_MEMBERS] = "members",
};

static void lag_mapping_show(struct seq_file *file, const struct vcx_lag *lag)
{
	int i;

	for (i = 0; i < VCX_MAX_PORTS; i++)
		if (!lag->hash)
			seq_printf(file, "%d:%d\n", i + 1, lag->map[i]);
		else if (lag->map[i] == i + 1)
			seq_printf(file, "%d\n", i + 1);
}

static int lag_show(struct seq_file *file, void *priv)
{
	static const char *const types[] = { NULL, "roce", "switchdev", "multiport_eswitch" };
	int which = match_string(lag_files, ARRAY_SIZE(lag_files),
				 file->file->f_path.dentry->d_name.name);
	struct vcx_lag *lag = file->private;
	int i, err = 0;

	mutex_lock(&lag->lock);
	if (which == LAG_STATE) {
		seq_printf(file, "%s\n", lag->mode == VCX_LAG_NONE ? "disabled" : "active");
	} else if (which == LAG_MEMBERS) {
		for (i = 0; i < VCX_MAX_PORTS; i++)
			if (lag->port[i])
				seq_printf(file, "%s\n", pci_name(lag->port[i]->pdev));
	} else if (lag->mode == VCX_LAG_NONE) {
		err = -EINVAL;
	} else if (which == LAG_TYPE) {
		seq_printf(file, "%s\n", types[lag->mode]);
	} else if (which == LAG_PORT_SEL_MODE) {
		seq_printf(file, "%s\n", vcx_lag_port_sel_mode(lag));
	} else if (which == LAG_FLAGS) {
		seq_printf(file, "shared_fdb:%s\nfdb_selection_mode:%s\n",
			   lag->shared_fdb ? "on" : "off", lag->shared_fdb ? "native" : "affinity");
	} else {
		lag_mapping_show(file, lag);
	}
	mutex_unlock(&lag->lock);
	return err;
}
DEFINE_SHOW_ATTRIBUTE(lag);

/* While a driver is bound to the PF, that is until debugfs_remove(port->debugfs). */
void vcx_debugfs_add_port(struct vcx_port *port)
{
	struct vcx_lag *lag = &port->card->lag;
	struct dentry *dir;
	int i;

	port->debugfs = debugfs_create_dir(pci_name(port->pdev), mlx5_root);
	/* mlx5_ldev_add_debugfs() of 6.1 to 6.12 adds nothing without a LAG object. */
	if (!READ_ONCE(vcx_lag_debugfs) || vcx_esw_none || !vcx_lag_object(port->card))
		return;
	dir = debugfs_create_dir("lag", port->debugfs);
	for (i = 0; i < ARRAY_SIZE(lag_files); i++)
		debugfs_create_file(lag_files[i], 0444, dir, lag, &lag_fops);
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
			debugfs_create_file("counters", 0644, dir, port, &vcx_counters_fops);
		}
}

void vcx_debugfs_exit(void)
{
	debugfs_remove(mlx5_root);
	debugfs_remove(vcx_root);
}
