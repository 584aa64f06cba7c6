/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What Linux 5.15 lacks. Devlink has no lock for drivers before 5.18, and holds none
 * around the operations that change the eswitch, reload, or recover a device: a lock of
 * the card's own stands for it, which these operations take by vcx_devlink_enter().
 */
#ifndef VCX_COMPAT_H
#define VCX_COMPAT_H

#include <linux/mutex.h>
#include <linux/version.h>

struct devlink;

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 18, 0)
extern struct mutex vcx_devlink_mutex;

#define devl_lock(devlink) mutex_lock(&vcx_devlink_mutex)
#define devl_unlock(devlink) mutex_unlock(&vcx_devlink_mutex)
#define devl_port_register devlink_port_register
#define devl_port_unregister devlink_port_unregister
#define vcx_devlink_enter() mutex_lock(&vcx_devlink_mutex)
#define vcx_devlink_leave() mutex_unlock(&vcx_devlink_mutex)
#else
static inline void vcx_devlink_enter(void) {}
static inline void vcx_devlink_leave(void) {}
#endif

/* The parameters of ethtool's operations on rings, after the first two: since 5.17. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 17, 0)
#define VCX_RING_MORE
#else
#define VCX_RING_MORE , struct kernel_ethtool_ringparam *kernel_ring, struct netlink_ext_ack *extack
#endif

#endif
