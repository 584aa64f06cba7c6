// SPDX-License-Identifier: GPL-2.0-only
/* /sys/kernel/debug/vcx/<bdf>: faults on demand and the port's wire. */
#include <linux/debugfs.h>
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include <linux/uaccess.h>
#include "core.h"

static struct dentry *vcx_root, *mlx5_root;

struct dentry *vcx_mlx5_debugfs(void)
{
	return mlx5_root;
}

static const struct {
	const char *name;
	size_t offset;
	bool flag;		/* Y or N, else a number */
} faults[] = {
	{ "fault_vf_delay_ms", offsetof(struct vcx_faults, vf_delay_ms), false },
	{ "fault_vf_no_probe", offsetof(struct vcx_faults, vf_no_probe), false },
	{ "fault_mode_fail", offsetof(struct vcx_faults, mode_fail), true },
	{ "fault_numvfs_enomem", offsetof(struct vcx_faults, numvfs_enomem), true },
	{ "fault_lag_never", offsetof(struct vcx_faults, lag_never), true },
	{ "fault_link_down", offsetof(struct vcx_faults, link_down), true },
	{ "fault_surprise_remove", offsetof(struct vcx_faults, surprise_remove), true },
	{ "fault_lockdown", offsetof(struct vcx_faults, lockdown), true },
};

/* The fault that @file is: its index in faults[], by the file's name. */
static int vcx_fault_of(const struct file *file)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(faults) - 1; i++)
		if (!strcmp(faults[i].name, file->f_path.dentry->d_name.name))
			break;
	return i;
}

static ssize_t vcx_fault_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	struct vcx_port *port = file->private_data;
	int i = vcx_fault_of(file);
	int val = READ_ONCE(*(int *)((void *)&port->faults + faults[i].offset));
	char text[16];
	int n;

	if (faults[i].flag)
		n = scnprintf(text, sizeof(text), "%c\n", val ? 'Y' : 'N');
	else
		n = scnprintf(text, sizeof(text), "%d\n", val);
	return simple_read_from_buffer(buf, len, pos, text, n);
}

static ssize_t vcx_fault_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	struct vcx_port *port = file->private_data;
	int i = vcx_fault_of(file);
	bool flag, removed = port->faults.surprise_remove;
	int err, val;

	if (faults[i].flag) {
		err = kstrtobool_from_user(buf, len, &flag);
		val = flag;
	} else {
		err = kstrtoint_from_user(buf, len, 10, &val);
	}
	if (err)
		return err;
	WRITE_ONCE(*(int *)((void *)&port->faults + faults[i].offset), val);
	if (removed && !port->faults.surprise_remove)
		vcx_pci_power_on(port);
	if (!removed && port->faults.surprise_remove)
		pr_err("mlx5_core 0000:%02x:00.%u: poll_health: device's health compromised - reached miss count\n",
		       port->card->bus, port->port);
	vcx_wire_check();
	return len;
}

static const struct file_operations vcx_fault_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = vcx_fault_read,
	.write = vcx_fault_write,
};

static ssize_t vcx_wire_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	struct vcx_port *port = file->private_data;
	char text[IFNAMSIZ + 1];
	int n;

	rtnl_lock();
	n = scnprintf(text, sizeof(text), "%s\n", port->wire->name);
	rtnl_unlock();
	return simple_read_from_buffer(buf, len, pos, text, n);
}

static ssize_t vcx_wire_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	struct vcx_port *port = file->private_data;
	char text[IFNAMSIZ + 1] = {};
	int err;

	if (len > IFNAMSIZ || copy_from_user(text, buf, len))
		return -EINVAL;
	err = vcx_wire_set(port, strim(text));
	return err ?: len;
}

static const struct file_operations vcx_wire_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = vcx_wire_read,
	.write = vcx_wire_write,
};

void vcx_debugfs_add(struct vcx_port *port)
{
	char bdf[16];
	int i;

	snprintf(bdf, sizeof(bdf), "0000:%02x:00.%u", port->card->bus, port->port);
	port->debugfs = debugfs_create_dir(bdf, vcx_root);
	for (i = 0; i < ARRAY_SIZE(faults); i++)
		debugfs_create_file(faults[i].name, 0644, port->debugfs, port, &vcx_fault_fops);
	debugfs_create_file("wire", 0644, port->debugfs, port, &vcx_wire_fops);
}

void vcx_debugfs_remove(struct vcx_port *port)
{
	debugfs_remove(port->debugfs);
	port->debugfs = NULL;
}

void vcx_debugfs_init(void)
{
	vcx_root = debugfs_create_dir("vcx", NULL);
	mlx5_root = debugfs_create_dir("mlx5", NULL);
}

void vcx_debugfs_exit(void)
{
	debugfs_remove(mlx5_root);
	debugfs_remove(vcx_root);
}
