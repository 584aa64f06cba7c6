// SPDX-License-Identifier: GPL-2.0-only
/* Temperatures of the chip and of the port's module: hwmon.c of 6.8 and 6.12 (new in 6.7). */
#include <linux/hwmon.h>
#include "card.h"

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)

/* mlx5_hwmon_read(): the firmware is asked each time. */
static int vcx_hwmon_read(struct device *dev, enum hwmon_sensor_types type, u32 attr, int channel,
			  long *val)
{
	const struct vcx_port *port = dev_get_drvdata(dev);
	int err = vcx_command(port, "ACCESS_REG", 0x805);

	if (err)
		return err;
	if (attr == hwmon_temp_crit)
		*val = channel ? 75000 : 105000;
	else
		*val = channel ? 1000 * vcx_fault(port, VCX_MODULE_TEMPERATURE) : 55000;
	return 0;
}

static int vcx_hwmon_read_string(struct device *dev, enum hwmon_sensor_types type, u32 attr,
				 int channel, const char **str)
{
	const struct vcx_port *port = dev_get_drvdata(dev);
	static const char *const modules[] = { "Module0", "Module1" };

	*str = channel ? modules[port->port] : "asic";
	return 0;
}

static umode_t vcx_hwmon_is_visible(const void *data, enum hwmon_sensor_types type, u32 attr,
				    int channel)
{
	return 0444;
}

static const struct hwmon_ops vcx_hwmon_ops = {
	.read = vcx_hwmon_read,
	.read_string = vcx_hwmon_read_string,
	.is_visible = vcx_hwmon_is_visible,
};

#define VCX_TEMP	(HWMON_T_INPUT | HWMON_T_CRIT | HWMON_T_LABEL)

static const struct hwmon_channel_info *const vcx_hwmon_channels[] = {
	HWMON_CHANNEL_INFO(temp, VCX_TEMP, VCX_TEMP),
	NULL
};

static const struct hwmon_chip_info vcx_hwmon_chip = {
	.ops = &vcx_hwmon_ops,
	.info = vcx_hwmon_channels,
};

void vcx_hwmon_add(struct vcx_port *port)
{
	struct device *made = ERR_PTR(-EOPNOTSUPP);

	if (!vcx_esw_none)
		made = hwmon_device_register_with_info(&port->pdev->dev, "mlx5", port,
						       &vcx_hwmon_chip, NULL);
	port->hwmon = IS_ERR(made) ? NULL : made;
}

void vcx_hwmon_remove(struct vcx_port *port)
{
	if (port->hwmon)
		hwmon_device_unregister(port->hwmon);
	port->hwmon = NULL;
}

#else

void vcx_hwmon_add(struct vcx_port *port)
{
}

void vcx_hwmon_remove(struct vcx_port *port)
{
}

#endif
