// SPDX-License-Identifier: GPL-2.0-only
/* The PCI driver: PFs and VFs are bound and unbound, VFs come and go. */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include "card.h"

static struct vcx_port *vcx_pdev_port(struct pci_dev *pdev)
{
	struct vcx_card *card = container_of(pdev->bus->sysdata, struct vcx_card, sysdata);

	return &card->port[pci_physfn(pdev)->devfn];
}

/* wait_func() of cmd.c, 5.15 to 6.12: the firmware is silent, although the link may be up. */
int vcx_command(const struct vcx_port *port, const char *name, u16 opcode)
{
	unsigned int ms = vcx_fault(port, VCX_CMD_TIMEOUT_MS);

	if (!ms)
		return 0;
	msleep(ms);
	vcx_warn(port, "wait_func",
		 "cmd[0]: %s(0x%x) timeout. Will cause a leak of a command resource\n",
		 name, opcode);
	return -ETIMEDOUT;
}

/* Like the rest of SR-IOV under the PF's device lock. */
static int vcx_vfs_enable(struct vcx_port *port, u16 num)
{
	int err;

	devl_lock(port->devlink);
	err = vcx_esw_add_vfs(port, num);
	devl_unlock(port->devlink);
	if (err)
		return err;
	err = pci_enable_sriov(port->pdev, num);
	if (err) {
		vcx_err(port, "mlx5_sriov_enable", "pci_enable_sriov failed : %d\n", err);
		devl_lock(port->devlink);
		vcx_esw_remove_vfs(port);
		devl_unlock(port->devlink);
	}
	return err;
}

static void vcx_vfs_disable(struct vcx_port *port)
{
	int num = pci_num_vf(port->pdev);

	cancel_delayed_work_sync(&port->late_vfs);
	port->pending_vfs = 0;
	pci_disable_sriov(port->pdev);
	devl_lock(port->devlink);
	vcx_esw_remove_vfs(port);
	vcx_forget_vf_settings(port, num);
	devl_unlock(port->devlink);
}

/* VCX_VF_DELAY_MS: the VFs that sriov_numvfs promised appear now */
void vcx_late_vfs(struct work_struct *work)
{
	struct vcx_port *port = container_of(to_delayed_work(work), struct vcx_port, late_vfs);
	u16 num = port->pending_vfs;

	/* Whoever holds the device may wait for this work: try again later. */
	if (!device_trylock(&port->pdev->dev)) {
		schedule_delayed_work(&port->late_vfs, 1);
		return;
	}
	port->pending_vfs = 0;
	vcx_vfs_enable(port, num);
	device_unlock(&port->pdev->dev);
}

static int vcx_sriov_configure(struct pci_dev *pdev, int num)
{
	struct vcx_port *port = vcx_pdev_port(pdev);
	int delay = vcx_fault(port, VCX_VF_DELAY_MS);

	if (!num) {
		vcx_vfs_disable(port);
		return 0;
	}
	if (!port->netdev)
		return -EIO;
	if (port->pending_vfs)
		return -EBUSY;
	if (vcx_fault(port, VCX_NUMVFS_ENOMEM)) {
		dev_err(&pdev->dev, "not enough MMIO resources for SR-IOV\n");
		return -ENOMEM;
	}
	if (delay > 0) {
		port->pending_vfs = num;
		schedule_delayed_work(&port->late_vfs, msecs_to_jiffies(delay));
		return num;
	}
	return vcx_vfs_enable(port, num) ?: num;
}

static int vcx_probe_vf(struct pci_dev *pdev, struct vcx_port *port)
{
	struct vcx_vf *vf = &port->vf[pdev->devfn - vcx_vf_devfn(port, 0)];
	struct net_device *netdev;

	if (vcx_fault(port, VCX_VF_NO_PROBE) == vf->index) {
		dev_err(&pdev->dev,
			"mlx5_function_setup:%d:(pid %d): Firmware over %d MS in pre-initializing state, aborting\n",
			__LINE__, current->pid, 120000);
		return -EBUSY;
	}
	netdev = vcx_netdev_create(&pdev->dev, VCX_VF, port, vf);
	if (IS_ERR(netdev))
		return PTR_ERR(netdev);
	pci_set_drvdata(pdev, netdev);
	return 0;
}

static void vcx_remove_vf(struct pci_dev *pdev)
{
	vcx_netdev_destroy(pci_get_drvdata(pdev));
}

/*
 * mlx5_load_one() of 6.1 to 6.12: a new netdev, and mlx5_sriov_attach() for VFs
 * that the PCI core still has, in legacy mode.
 */
int vcx_load(struct vcx_port *port)
{
	struct net_device *netdev;

	if (vcx_fault(port, VCX_SURPRISE_REMOVE))
		return -EIO;
	netdev = vcx_netdev_create(&port->pdev->dev, VCX_UPLINK, port, NULL);
	if (IS_ERR(netdev))
		return PTR_ERR(netdev);
	vcx_port_reporters_create(port);
	vcx_lag_add_port(port);
	return pci_num_vf(port->pdev) ? vcx_esw_add_vfs(port, pci_num_vf(port->pdev)) : 0;
}

/*
 * mlx5_unload_one() of 6.1 to 6.12: mlx5_eswitch_disable() ends switchdev mode,
 * the netdev goes. VFs stay where the PCI core has them, without a switch.
 */
void vcx_unload(struct vcx_port *port)
{
	if (!port->netdev)
		return;
	vcx_lag_remove_port(port);
	vcx_esw_remove_vfs(port);
	WRITE_ONCE(port->mode, DEVLINK_ESWITCH_MODE_LEGACY);
	WRITE_ONCE(port->fdb, false);
	vcx_port_reporters_destroy(port);
	vcx_netdev_destroy(port->netdev);
	vcx_flower_forget(port);
}

static int vcx_probe_pf(struct pci_dev *pdev, struct vcx_port *port)
{
	int err;

	dev_info(&pdev->dev, "firmware version: %s\n", port->card->preset->fw_version);
	port->devlink = vcx_devlink_create(port, &pdev->dev);
	if (IS_ERR(port->devlink)) {
		err = PTR_ERR(port->devlink);
		goto no_devlink;
	}
	port->pdev = pdev;
	WRITE_ONCE(port->stopped, false);
	vcx_reporters_create(port);
	devl_lock(port->devlink);
	err = vcx_load(port);
	devl_unlock(port->devlink);
	if (err)
		goto not_loaded;
	vcx_hwmon_add(port);
	vcx_devlink_register(port->devlink);
	return 0;

not_loaded:
	vcx_reporters_destroy(port);
	vcx_devlink_destroy(port->devlink);
	port->pdev = NULL;
no_devlink:
	port->devlink = NULL;
	return err;
}

static void vcx_remove_pf(struct pci_dev *pdev, struct vcx_port *port)
{
	vcx_health_stop(port);
	vcx_hwmon_remove(port);
	vcx_vfs_disable(port);
	vcx_devlink_unregister(port->devlink);
	devl_lock(port->devlink);
	vcx_unload(port);
	port->encap = DEVLINK_ESWITCH_ENCAP_MODE_BASIC;
	port->metadata = true;
	devl_unlock(port->devlink);
	vcx_reporters_destroy(port);
	vcx_devlink_destroy(port->devlink);
	port->devlink = NULL;
	port->pdev = NULL;
}

static int vcx_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct vcx_port *port = vcx_pdev_port(pdev);
	int err;

	err = pci_enable_device(pdev);
	if (err)
		return err;
	if (vcx_fault(port, VCX_SURPRISE_REMOVE))
		err = -ENODEV;
	else if (pdev->is_virtfn)
		err = vcx_probe_vf(pdev, port);
	else
		err = vcx_probe_pf(pdev, port);
	if (err)
		pci_disable_device(pdev);
	return err;
}

static void vcx_remove(struct pci_dev *pdev)
{
	struct vcx_port *port = vcx_pdev_port(pdev);

	if (pdev->is_virtfn)
		vcx_remove_vf(pdev);
	else
		vcx_remove_pf(pdev, port);
	pci_disable_device(pdev);
}

static const struct pci_device_id vcx_ids[] = {
	{ PCI_VDEVICE(MELLANOX, 0x1017) },
	{ PCI_VDEVICE(MELLANOX, 0x1018) },
	{ PCI_VDEVICE(MELLANOX, 0x101d) },
	{ PCI_VDEVICE(MELLANOX, 0x101e) },
	{ PCI_VDEVICE(MELLANOX, 0x101f) },
	{ PCI_VDEVICE(MELLANOX, 0x1021) },
	{ PCI_VDEVICE(MELLANOX, 0xa2d6) },
	{ }
};
MODULE_DEVICE_TABLE(pci, vcx_ids);

struct pci_driver vcx_driver = {
	.name = "mlx5_core",
	.id_table = vcx_ids,
	.probe = vcx_probe,
	.remove = vcx_remove,
	.sriov_configure = vcx_sriov_configure,
};
