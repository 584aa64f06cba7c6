// SPDX-License-Identifier: GPL-2.0-only
/* What `devlink` shows and sets: information, eswitch, parameters, VF functions. */
#include <linux/etherdevice.h>
#include "core.h"

static struct vcx_port *vcx_devlink_port(struct devlink *devlink)
{
	struct vcx_fn *fn = devlink_priv(devlink);

	return fn->port;
}

/* The port whose eswitch this function manages, or NULL: VFs and a DPU's host PFs manage none. */
static struct vcx_port *vcx_eswitch_manager(struct devlink *devlink)
{
	struct vcx_fn *fn = devlink_priv(devlink);

	return fn->vf || fn->port->card->preset->dpu ? NULL : fn->port;
}

static int vcx_info_get(struct devlink *devlink, struct devlink_info_req *req,
			struct netlink_ext_ack *extack)
{
	const struct vcx_preset *preset = vcx_devlink_port(devlink)->card->preset;
	const u16 *fw = preset->fw_version;
	char version[32];
	int err;

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	err = devlink_info_driver_name_put(req, KBUILD_MODNAME);
	if (err)
		return err;
#endif
	err = devlink_info_version_fixed_put(req, "fw.psid", preset->psid);
	if (err)
		return err;
	snprintf(version, sizeof(version), "%u.%u.%04u", fw[0], fw[1], fw[2]);
	err = devlink_info_version_running_put(req, "fw.version", version);
	if (err)
		return err;
	err = devlink_info_version_running_put(req, DEVLINK_INFO_VERSION_GENERIC_FW, version);
	if (err)
		return err;
	err = devlink_info_version_stored_put(req, "fw.version", version);
	if (err)
		return err;
	return devlink_info_version_stored_put(req, DEVLINK_INFO_VERSION_GENERIC_FW, version);
}

/* --- eswitch ------------------------------------------------------------ */

static int vcx_mode_get(struct devlink *devlink, u16 *mode)
{
	struct vcx_port *port = vcx_eswitch_manager(devlink);

	if (!port)
		return -EOPNOTSUPP;
	*mode = vcx_esw_mode(port);
	return 0;
}

static int vcx_mode_set(struct devlink *devlink, u16 mode, struct netlink_ext_ack *extack)
{
	struct vcx_port *port = vcx_eswitch_manager(devlink);

	return port ? vcx_esw_set_mode(port, mode, extack) : -EOPNOTSUPP;
}

static int vcx_inline_get(struct devlink *devlink, u8 *mode)
{
	if (!vcx_eswitch_manager(devlink))
		return -EOPNOTSUPP;
	*mode = DEVLINK_ESWITCH_INLINE_MODE_NONE;
	return 0;
}

static int vcx_inline_set(struct devlink *devlink, u8 mode, struct netlink_ext_ack *extack)
{
	if (!vcx_eswitch_manager(devlink))
		return -EOPNOTSUPP;
	if (mode == DEVLINK_ESWITCH_INLINE_MODE_NONE)
		return 0;
	NL_SET_ERR_MSG_MOD(extack, "Inline mode can't be set");
	return -EOPNOTSUPP;
}

static int vcx_encap_get(struct devlink *devlink, enum devlink_eswitch_encap_mode *mode)
{
	struct vcx_port *port = vcx_eswitch_manager(devlink);

	if (!port)
		return -EOPNOTSUPP;
	*mode = port->esw->encap;
	return 0;
}

static int vcx_encap_set(struct devlink *devlink, enum devlink_eswitch_encap_mode mode,
			 struct netlink_ext_ack *extack)
{
	struct vcx_port *port = vcx_eswitch_manager(devlink);

	if (!port)
		return -EOPNOTSUPP;
	port->esw->encap = mode;
	return 0;
}

/* --- VF functions, seen from their representors' ports ------------------- */

static int vcx_hw_addr_get(struct devlink_port *dlp, u8 *addr, int *len,
			   struct netlink_ext_ack *extack)
{
	struct vcx_ndev *nd = container_of(dlp, struct vcx_ndev, dl_port);

	if (nd->kind != VCX_REP)
		return -EOPNOTSUPP;
	ether_addr_copy(addr, nd->vf->mac);
	*len = ETH_ALEN;
	return 0;
}

static int vcx_hw_addr_set(struct devlink_port *dlp, const u8 *addr, int len,
			   struct netlink_ext_ack *extack)
{
	struct vcx_ndev *nd = container_of(dlp, struct vcx_ndev, dl_port);

	if (nd->kind != VCX_REP)
		return -EOPNOTSUPP;
	ether_addr_copy(nd->vf->mac, addr);
	return 0;
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#define VCX_PORT_OPS .port_function_hw_addr_get = vcx_hw_addr_get, \
		     .port_function_hw_addr_set = vcx_hw_addr_set,

int vcx_rep_port_register(struct devlink *devlink, struct devlink_port *dlp, unsigned int index)
{
	return devl_port_register(devlink, dlp, index);
}
#else
#define VCX_PORT_OPS

static const struct devlink_port_ops vcx_rep_port_ops = {
	.port_fn_hw_addr_get = vcx_hw_addr_get,
	.port_fn_hw_addr_set = vcx_hw_addr_set,
};

int vcx_rep_port_register(struct devlink *devlink, struct devlink_port *dlp, unsigned int index)
{
	return devl_port_register_with_ops(devlink, dlp, index, &vcx_rep_port_ops);
}
#endif

static const struct devlink_ops vcx_devlink_ops = {
	.info_get = vcx_info_get,
	.eswitch_mode_get = vcx_mode_get,
	.eswitch_mode_set = vcx_mode_set,
	.eswitch_inline_mode_get = vcx_inline_get,
	.eswitch_inline_mode_set = vcx_inline_set,
	.eswitch_encap_mode_get = vcx_encap_get,
	.eswitch_encap_mode_set = vcx_encap_set,
	VCX_PORT_OPS
};

/* --- parameters of a PF -------------------------------------------------- */

enum {
	VCX_PARAM_STEERING = DEVLINK_PARAM_GENERIC_ID_MAX + 1,
	VCX_PARAM_MULTIPORT,
};

static int vcx_steering_get(struct devlink *devlink, u32 id, struct devlink_param_gset_ctx *ctx)
{
	strscpy(ctx->val.vstr, vcx_devlink_port(devlink)->esw->smfs ? "smfs" : "dmfs",
		sizeof(ctx->val.vstr));
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
	if (vcx_esw_mode(vcx_devlink_port(devlink)) == DEVLINK_ESWITCH_MODE_SWITCHDEV) {
		NL_SET_ERR_MSG_MOD(extack,
				   "Software managed steering is not supported when eswitch offloads enabled.");
		return -EOPNOTSUPP;
	}
	return 0;
}

static int vcx_multiport_get(struct devlink *devlink, u32 id, struct devlink_param_gset_ctx *ctx)
{
	ctx->val.vbool = vcx_lag_multiport(vcx_devlink_port(devlink)->card);
	return 0;
}

static int vcx_steering_store(struct devlink *devlink, const struct devlink_param_gset_ctx *ctx)
{
	vcx_devlink_port(devlink)->esw->smfs = !strcmp(ctx->val.vstr, "smfs");
	return 0;
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
static int vcx_steering_set(struct devlink *devlink, u32 id, struct devlink_param_gset_ctx *ctx)
{
	return vcx_steering_store(devlink, ctx);
}

static int vcx_multiport_set(struct devlink *devlink, u32 id, struct devlink_param_gset_ctx *ctx)
{
	return vcx_lag_set_multiport(vcx_devlink_port(devlink), ctx->val.vbool);
}
#else
static int vcx_steering_set(struct devlink *devlink, u32 id, struct devlink_param_gset_ctx *ctx,
			    struct netlink_ext_ack *extack)
{
	return vcx_steering_store(devlink, ctx);
}

static int vcx_multiport_set(struct devlink *devlink, u32 id, struct devlink_param_gset_ctx *ctx,
			     struct netlink_ext_ack *extack)
{
	return vcx_lag_set_multiport(vcx_devlink_port(devlink), ctx->val.vbool);
}
#endif

static const struct devlink_param vcx_params[] = {
	DEVLINK_PARAM_DRIVER(VCX_PARAM_STEERING, "flow_steering_mode", DEVLINK_PARAM_TYPE_STRING,
			     BIT(DEVLINK_PARAM_CMODE_RUNTIME),
			     vcx_steering_get, vcx_steering_set, vcx_steering_validate),
	DEVLINK_PARAM_DRIVER(VCX_PARAM_MULTIPORT, "esw_multiport", DEVLINK_PARAM_TYPE_BOOL,
			     BIT(DEVLINK_PARAM_CMODE_RUNTIME),
			     vcx_multiport_get, vcx_multiport_set, NULL),
};

/* --- life ---------------------------------------------------------------- */

/* For a PF or, with @vf, a VF. Not registered yet. Returns an ERR_PTR on failure. */
struct devlink *vcx_devlink_create(struct vcx_port *port, struct vcx_vf *vf, struct device *dev)
{
	struct devlink *devlink;
	struct vcx_fn *fn;
	int err;

	devlink = devlink_alloc(&vcx_devlink_ops, sizeof(*fn), dev);
	if (!devlink)
		return ERR_PTR(-ENOMEM);
	fn = devlink_priv(devlink);
	fn->port = port;
	fn->vf = vf;
	if (!vf) {
		err = devlink_params_register(devlink, vcx_params, ARRAY_SIZE(vcx_params));
		if (err) {
			devlink_free(devlink);
			return ERR_PTR(err);
		}
	}
	return devlink;
}

void vcx_devlink_destroy(struct devlink *devlink)
{
	struct vcx_fn *fn = devlink_priv(devlink);

	if (!fn->vf)
		devlink_params_unregister(devlink, vcx_params, ARRAY_SIZE(vcx_params));
	devlink_free(devlink);
}
