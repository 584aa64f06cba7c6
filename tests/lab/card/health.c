// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devlink's health reporters, as health.c, diag/reporter_vnic.c and
 * en/reporter_{tx,rx}.c of 6.1 to 7.0 have them: fw, fw_fatal and, since 6.4, vnic
 * of the device; tx and rx of the uplink's port, in legacy mode only
 * (mlx5e_nic_init(); the uplink's profile of switchdev mode has none).
 */
#include <linux/err.h>
#include "card.h"

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)	/* they take no lock of devlink */
#define devl_port_health_reporter_create devlink_port_health_reporter_create
#define devl_health_reporter_destroy devlink_port_health_reporter_destroy
#endif

/* mlx5_health_try_recover(); under the devlink lock */
static int vcx_recover(struct vcx_port *port)
{
	int err;

	dev_warn(&port->pdev->dev, "handling bad device here\n");
	vcx_unload(port);
	if (vcx_fault(port, VCX_SURPRISE_REMOVE)) {
		vcx_err(port, "mlx5_health_try_recover",
			"health recovery flow aborted, PCI reads still not working\n");
		return -EIO;
	}
	vcx_err(port, "mlx5_health_try_recover", "starting health recovery flow\n");
	vcx_lag_forget(port->card);
	err = vcx_load(port);
	if (err)
		vcx_err(port, "mlx5_health_try_recover", "health recovery failed\n");
	else
		vcx_info(port, "health recovery succeeded\n");
	return err;
}

/* Of the reporter fw_fatal */
static int vcx_recover_fatal(struct devlink_health_reporter *reporter, void *context,
			     struct netlink_ext_ack *extack)
{
	int err;

	vcx_devlink_enter();
	err = vcx_recover(devlink_health_reporter_priv(reporter));
	vcx_devlink_leave();
	return err;
}

/* Of tx and rx: without a context it is the operator who asks, and all queues are opened anew. */
static int vcx_recover_queue(struct devlink_health_reporter *reporter, void *context,
			     struct netlink_ext_ack *extack)
{
	const int *fault = context;

	return fault && *fault == VCX_LASTING ? -EIO : 0;
}

/* mlx5_reporter_vnic_diagnose(), which shows its counters even if the firmware does not answer */
static int vcx_diagnose_vnic(struct devlink_health_reporter *reporter, struct devlink_fmsg *fmsg,
			     struct netlink_ext_ack *extack)
{
	const struct vcx_port *port = devlink_health_reporter_priv(reporter);

	vcx_command(port, "QUERY_VNIC_ENV", 0x76f);
	devlink_fmsg_pair_nest_start(fmsg, "vNIC env counters");
	devlink_fmsg_obj_nest_start(fmsg);
	devlink_fmsg_u64_pair_put(fmsg, "nic_receive_steering_discard",
				  atomic64_read(&port->counter[VCX_RX_STEER_MISSED]));
	devlink_fmsg_obj_nest_end(fmsg);
	devlink_fmsg_pair_nest_end(fmsg);
	return 0;
}

/* Since 6.18 the period without a second recovery is among a reporter's operations. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
struct vcx_reporter_kind {
	struct devlink_health_reporter_ops ops;
	u64 graceful_ms;
};

#define VCX_REPORTER(ms, ...) { { __VA_ARGS__ }, (ms) }
#define VCX_REPORTED(reporter) &(reporter).ops, (reporter).graceful_ms
#else
struct vcx_reporter_kind {
	struct devlink_health_reporter_ops ops;
};

#define VCX_REPORTER(ms, ...) { { __VA_ARGS__, .default_graceful_period = (ms) } }
#define VCX_REPORTED(reporter) &(reporter).ops
#endif

/* Their periods are MLX5_FW_REPORTER_PF_GRACEFUL_PERIOD … */
static const struct vcx_reporter_kind reporters[] = {
	[VCX_VNIC] = VCX_REPORTER(0, .name = "vnic", .diagnose = vcx_diagnose_vnic),
	[VCX_FW] = VCX_REPORTER(0, .name = "fw"),
	[VCX_FATAL] = VCX_REPORTER(60000, .name = "fw_fatal", .recover = vcx_recover_fatal),
	[VCX_TX] = VCX_REPORTER(500, .name = "tx", .recover = vcx_recover_queue),
	[VCX_RX] = VCX_REPORTER(500, .name = "rx", .recover = vcx_recover_queue),
};

/* mlx5 does without a reporter that cannot be made, too. */
static void vcx_reporter_set(struct vcx_port *port, int which, struct devlink_health_reporter *made)
{
	WRITE_ONCE(port->reporter[which], IS_ERR(made) ? NULL : made);
}

void vcx_reporters_create(struct vcx_port *port)
{
	struct devlink_health_reporter *made;
	int i;

	for (i = vcx_since_6_4() ? VCX_VNIC : VCX_FW; i <= VCX_FATAL; i++) {
		made = devlink_health_reporter_create(port->devlink, VCX_REPORTED(reporters[i]),
						      port);
		vcx_reporter_set(port, i, made);
	}
}

void vcx_reporters_destroy(struct vcx_port *port)
{
	int i;

	for (i = VCX_VNIC; i <= VCX_FATAL; i++)
		if (port->reporter[i])
			devlink_health_reporter_destroy(port->reporter[i]);
	memset(port->reporter, 0, sizeof(port->reporter));
}

/* Under the devlink lock, while the uplink's netdev is there */
void vcx_port_reporters_create(struct vcx_port *port)
{
	struct vcx_ndev *nd = netdev_priv(port->netdev);
	struct devlink_health_reporter *made;
	int i;

	for (i = VCX_TX; i <= VCX_RX; i++) {
		if (port->reporter[i])
			continue;
		made = devl_port_health_reporter_create(&nd->dl_port,
							VCX_REPORTED(reporters[i]), port);
		vcx_reporter_set(port, i, made);
	}
}

void vcx_port_reporters_destroy(struct vcx_port *port)
{
	struct devlink_health_reporter *made;
	int i;

	for (i = VCX_TX; i <= VCX_RX; i++) {
		made = port->reporter[i];
		WRITE_ONCE(port->reporter[i], NULL);
		if (made)
			devl_health_reporter_destroy(made);
	}
}

/* VCX_FW_FATAL: mlx5_fw_fatal_reporter_err_work() of 6.1 to 6.12 */
static void vcx_report_fatal(struct vcx_port *port, struct devlink_health_reporter *reporter)
{
	vcx_err(port, "poll_health", "Fatal error 1 detected\n");
	if (devlink_health_report(reporter, "FW fatal error reported", NULL) != -ECANCELED)
		return;
	vcx_err(port, "mlx5_fw_fatal_reporter_err_work",
		"Driver is in error state. Unloading\n");
	devl_lock(port->devlink);
	vcx_unload(port);
	devl_unlock(port->devlink);
}

/* What the lab has written; a mode change at the same moment is the lab's own fault. */
void vcx_health(struct work_struct *work)
{
	static const enum vcx_fault faults[] = {
		[VCX_FW] = VCX_FW_SYNDROME, [VCX_FATAL] = VCX_FW_FATAL,
		[VCX_TX] = VCX_TX_ERROR, [VCX_RX] = VCX_RX_ERROR,
	};
	struct vcx_port *port = container_of(work, struct vcx_port, health);
	struct devlink_health_reporter *reporter;
	int i, fault;

	for (i = VCX_FW; i < VCX_REPORTERS; i++) {
		fault = xchg(&port->fault[faults[i]], 0);
		reporter = READ_ONCE(port->reporter[i]);
		if (!fault || !reporter || READ_ONCE(port->stopped))
			continue;
		if (i == VCX_FATAL) {
			vcx_report_fatal(port, reporter);
		} else if (i == VCX_FW) {	/* … and mlx5_fw_reporter_err_work() */
			vcx_err(port, "print_health_info",
				"Health issue observed, firmware internal error, severity(3) ERROR:\n");
			devlink_health_report(reporter, "FW syndrome reported", NULL);
		} else if (i == VCX_TX) {	/* mlx5e_reporter_tx_timeout() */
			netdev_err(port->netdev,
				   "TX timeout on queue: 0, SQ: 0x11b0, CQ: 0x12a, SQ Cons: 0x1 SQ Prod: 0x2, usecs since last trans: 15010000\n");
			devlink_health_report(reporter, "TX timeout on queue: 0", &fault);
		} else {			/* mlx5e_reporter_rq_cqe_err() */
			netdev_err(port->netdev, "ERR CQE on RQ: 0x11b1\n");
			devlink_health_report(reporter, "ERR CQE on RQ: 0x11b1", &fault);
		}
	}
}

/* Before the PF's driver goes */
void vcx_health_stop(struct vcx_port *port)
{
	WRITE_ONCE(port->stopped, true);
	cancel_work_sync(&port->health);
}
