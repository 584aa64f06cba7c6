// SPDX-License-Identifier: GPL-2.0-only
/* What `devlink` shows and sets: information, eswitch, parameters, VF functions. */
#include <linux/etherdevice.h>
#include "card.h"

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 18, 0)
DEFINE_MUTEX(vcx_devlink_mutex);
#endif

static struct vcx_port *vcx_devlink_port(struct devlink *devlink)
{
	struct vcx_port **port = devlink_priv(devlink);

	return *port;
}

/* A DPU's host manages no eswitch. */
static bool vcx_eswitch_manager(struct devlink *devlink)
{
	return !vcx_devlink_port(devlink)->card->preset->dpu;
}

/* eswitch_devlink_esw_mode_check() of 5.15: nothing can be asked for, but a mode can be set. */
static bool vcx_eswitch_shown(struct devlink *devlink)
{
	return vcx_eswitch_manager(devlink) && !vcx_esw_is_none(vcx_devlink_port(devlink));
}

static int vcx_info_get(struct devlink *devlink, struct devlink_info_req *req,
			struct netlink_ext_ack *extack)
{
	const struct vcx_preset *preset = vcx_devlink_port(devlink)->card->preset;
	static const char *const names[] = { "fw.version", DEVLINK_INFO_VERSION_GENERIC_FW };
	int i, err;

	/* mlx5_fw_version_query() */
	err = vcx_command(vcx_devlink_port(devlink), "ACCESS_REG", 0x805);
	if (err)
		return err;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	err = devlink_info_driver_name_put(req, KBUILD_MODNAME);
	if (err)
		return err;
#endif
	err = devlink_info_version_fixed_put(req, "fw.psid", preset->psid);
	if (err)
		return err;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		err = devlink_info_version_running_put(req, names[i], preset->fw_version) ?:
		      devlink_info_version_stored_put(req, names[i], preset->fw_version);
		if (err)
			return err;
	}
	return 0;
}

static int vcx_mode_get(struct devlink *devlink, u16 *mode)
{
	if (!vcx_eswitch_shown(devlink))
		return -EOPNOTSUPP;
	*mode = READ_ONCE(vcx_devlink_port(devlink)->mode);
	return 0;
}

static int vcx_mode_set(struct devlink *devlink, u16 mode, struct netlink_ext_ack *extack)
{
	int err;

	if (!vcx_eswitch_manager(devlink))
		return -EOPNOTSUPP;
	vcx_devlink_enter();
	err = vcx_esw_set_mode(vcx_devlink_port(devlink), mode, extack);
	vcx_devlink_leave();
	return err;
}

static int vcx_inline_get(struct devlink *devlink, u8 *mode)
{
	if (!vcx_eswitch_shown(devlink))
		return -EOPNOTSUPP;
	*mode = DEVLINK_ESWITCH_INLINE_MODE_NONE;
	return 0;
}

static int vcx_inline_set(struct devlink *devlink, u8 mode, struct netlink_ext_ack *extack)
{
	if (!vcx_eswitch_shown(devlink))
		return -EOPNOTSUPP;
	if (mode == DEVLINK_ESWITCH_INLINE_MODE_NONE)
		return 0;
	NL_SET_ERR_MSG_MOD(extack, "Inline mode can't be set");
	return -EOPNOTSUPP;
}

static int vcx_encap_get(struct devlink *devlink, enum devlink_eswitch_encap_mode *encap)
{
	if (!vcx_eswitch_shown(devlink))
		return -EOPNOTSUPP;
	*encap = vcx_devlink_port(devlink)->encap;
	return 0;
}

/* mlx5_devlink_eswitch_encap_mode_set() of 5.15 to 6.12 */
static int vcx_encap_set(struct devlink *devlink, enum devlink_eswitch_encap_mode encap,
			 struct netlink_ext_ack *extack)
{
	struct vcx_port *port = vcx_devlink_port(devlink);

	if (!vcx_eswitch_shown(devlink))
		return -EOPNOTSUPP;
	if (vcx_switchdev(port) && port->encap != encap && vcx_flower_rules(port)) {
		NL_SET_ERR_MSG_MOD(extack, "Can't set encapsulation when flows are configured");
		return -EOPNOTSUPP;
	}
	port->encap = encap;
	return 0;
}

/* mlx5_devlink_reload_down() of 6.1 to 6.12 */
static int vcx_reload_down(struct devlink *devlink, bool netns_change,
			   enum devlink_reload_action action, enum devlink_reload_limit limit,
			   struct netlink_ext_ack *extack)
{
	struct vcx_port *port = vcx_devlink_port(devlink);

	if (READ_ONCE(port->card->lag.mode) != VCX_LAG_NONE) {
		NL_SET_ERR_MSG_MOD(extack, "reload is unsupported in Lag mode");
		return -EOPNOTSUPP;
	}
	if (pci_num_vf(port->pdev))
		NL_SET_ERR_MSG_MOD(extack, "reload while VFs are present is unfavorable");
	vcx_devlink_enter();
	vcx_unload(port);
	vcx_devlink_leave();
	return 0;
}

static int vcx_reload_up(struct devlink *devlink, enum devlink_reload_action action,
			 enum devlink_reload_limit limit, u32 *actions_performed,
			 struct netlink_ext_ack *extack)
{
	int err;

	*actions_performed = BIT(action);
	vcx_devlink_enter();
	err = vcx_load(vcx_devlink_port(devlink));
	vcx_devlink_leave();
	return err;
}

static const struct devlink_ops vcx_devlink_ops = {
	.reload_actions = BIT(DEVLINK_RELOAD_ACTION_DRIVER_REINIT),
	.reload_down = vcx_reload_down,
	.reload_up = vcx_reload_up,
	.info_get = vcx_info_get,
	.eswitch_mode_get = vcx_mode_get,
	.eswitch_mode_set = vcx_mode_set,
	.eswitch_inline_mode_get = vcx_inline_get,
	.eswitch_inline_mode_set = vcx_inline_set,
	.eswitch_encap_mode_get = vcx_encap_get,
	.eswitch_encap_mode_set = vcx_encap_set,
};

enum {
	VCX_PARAM_STEERING = DEVLINK_PARAM_GENERIC_ID_MAX + 1,
	VCX_PARAM_METADATA,
	VCX_PARAM_MULTIPORT,
};

/* What a parameter's get and set take differs between kernels: 6.10 gave set an extack, 6.19 get. */
#define VCX_PARAM_OLD(name) \
	static int name(struct devlink *devlink, u32 id, struct devlink_param_gset_ctx *ctx)
#define VCX_PARAM_NEW(name) \
	static int name(struct devlink *devlink, u32 id, struct devlink_param_gset_ctx *ctx, \
			struct netlink_ext_ack *extack)
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define VCX_PARAM_SET VCX_PARAM_OLD
#else
#define VCX_PARAM_SET VCX_PARAM_NEW
#endif
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 19, 0)
#define VCX_PARAM_GET VCX_PARAM_OLD
#else
#define VCX_PARAM_GET VCX_PARAM_NEW
#endif

VCX_PARAM_GET(vcx_steering_get)
{
	strscpy(ctx->val.vstr, vcx_devlink_port(devlink)->smfs ? "smfs" : "dmfs",
		sizeof(ctx->val.vstr));
	return 0;
}

VCX_PARAM_SET(vcx_steering_set)
{
	vcx_devlink_port(devlink)->smfs = !strcmp(ctx->val.vstr, "smfs");
	return 0;
}

static int vcx_steering_validate(struct devlink *devlink, u32 id, union devlink_param_value val,
				 struct netlink_ext_ack *extack)
{
	if (!strcmp(val.vstr, "dmfs"))
		return 0;
	if (strcmp(val.vstr, "smfs")) {
		NL_SET_ERR_MSG_MOD(extack,
				   "Bad parameter: supported values are [\"dmfs\", \"smfs\"]");
		return -EINVAL;
	}
	if (vcx_switchdev(vcx_devlink_port(devlink))) {
		NL_SET_ERR_MSG_MOD(extack,
				   "Software managed steering is not supported when eswitch offloads enabled.");
		return -EOPNOTSUPP;
	}
	return 0;
}

VCX_PARAM_GET(vcx_metadata_get)
{
	ctx->val.vbool = vcx_devlink_port(devlink)->metadata;
	return 0;
}

VCX_PARAM_SET(vcx_metadata_set)
{
	WRITE_ONCE(vcx_devlink_port(devlink)->metadata, ctx->val.vbool);
	return 0;
}

/* mlx5_devlink_esw_port_metadata_validate() of 5.15 and 6.1, in eswitch_offloads.c since 6.3 */
static int vcx_metadata_validate(struct devlink *devlink, u32 id, union devlink_param_value val,
				 struct netlink_ext_ack *extack)
{
	if (!vcx_switchdev(vcx_devlink_port(devlink)))
		return 0;
	NL_SET_ERR_MSG_MOD(extack, "E-Switch must either disabled or non switchdev mode");
	return -EBUSY;
}

/* esw_multiport came with 6.3: mlx5_eswitch_params of 6.8 and 6.12, eswitch.c. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
VCX_PARAM_GET(vcx_multiport_get)
{
	ctx->val.vbool = READ_ONCE(vcx_devlink_port(devlink)->card->lag.mode) == VCX_LAG_MPESW;
	return 0;
}

VCX_PARAM_SET(vcx_multiport_set)
{
	return vcx_lag_set_multiport(vcx_devlink_port(devlink), ctx->val.vbool);
}
#endif

static const struct devlink_param vcx_params[] = {
	DEVLINK_PARAM_DRIVER(VCX_PARAM_STEERING, "flow_steering_mode", DEVLINK_PARAM_TYPE_STRING,
			     BIT(DEVLINK_PARAM_CMODE_RUNTIME),
			     vcx_steering_get, vcx_steering_set, vcx_steering_validate),
	DEVLINK_PARAM_DRIVER(VCX_PARAM_METADATA, "esw_port_metadata", DEVLINK_PARAM_TYPE_BOOL,
			     BIT(DEVLINK_PARAM_CMODE_RUNTIME),
			     vcx_metadata_get, vcx_metadata_set, vcx_metadata_validate),
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	DEVLINK_PARAM_DRIVER(VCX_PARAM_MULTIPORT, "esw_multiport", DEVLINK_PARAM_TYPE_BOOL,
			     BIT(DEVLINK_PARAM_CMODE_RUNTIME),
			     vcx_multiport_get, vcx_multiport_set, NULL),
#endif
};

/* Without the last one, esw_multiport, in the personality of 5.15 */
static unsigned int vcx_num_params(void)
{
	return ARRAY_SIZE(vcx_params) -
	       (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0) && vcx_esw_none);
}

/* Not registered yet. Returns an ERR_PTR on failure. */
struct devlink *vcx_devlink_create(struct vcx_port *port, struct device *dev)
{
	struct devlink *devlink;
	struct vcx_port **priv;
	int err;

	devlink = devlink_alloc(&vcx_devlink_ops, sizeof(*priv), dev);
	if (!devlink)
		return ERR_PTR(-ENOMEM);
	priv = devlink_priv(devlink);
	*priv = port;
	err = devlink_params_register(devlink, vcx_params, vcx_num_params());
	if (err) {
		devlink_free(devlink);
		return ERR_PTR(err);
	}
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 16, 0) && LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	devlink_set_features(devlink, DEVLINK_F_RELOAD);
#endif
	return devlink;
}

/*
 * From here on it answers. Before 5.16 a driver makes its parameters readable and
 * allows a reload itself: mlx5_devlink_register() and probe_one() of 5.15.
 */
void vcx_devlink_register(struct devlink *devlink)
{
	devlink_register(devlink);
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 16, 0)
	devlink_params_publish(devlink);
	devlink_reload_enable(devlink);
#endif
}

void vcx_devlink_unregister(struct devlink *devlink)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 16, 0)
	devlink_reload_disable(devlink);
#endif
	devlink_unregister(devlink);
}

void vcx_devlink_destroy(struct devlink *devlink)
{
	devlink_params_unregister(devlink, vcx_params, vcx_num_params());
	devlink_free(devlink);
}
