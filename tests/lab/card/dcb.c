// SPDX-License-Identifier: GPL-2.0-only
/*
 * Data centre bridging of an uplink with mlx5's semantics (en_dcbnl.c of 6.1):
 * which settings it refuses, what it reads back, when trust changes, what a
 * change of the eswitch mode resets. Nothing here shapes traffic.
 */
#include <linux/rtnetlink.h>
#include <net/dcbnl.h>
#include "card.h"

#define DEFAULT_CABLE_LEN	7	/* metres */
#define MAX_CABLE_LEN		1000
#define MAX_BW_ALLOC		100	/* percent: what classes without a share have */
#define TOTAL_BUFFER		1027728	/* bytes */

/* Values of VCX_DCB_FAULT: operations are missing, or setters give EINVAL. */
enum { DCB_GOOD, DCB_NO_BUFFER_NO_MAXRATE, DCB_NO_OPS, DCB_REFUSE };

static struct vcx_dcb *vcx_dcb_of(struct net_device *dev)
{
	return &vcx_port_of(dev)->dcb;
}

static bool vcx_dcb_refuses(struct net_device *dev)
{
	return vcx_fault(vcx_port_of(dev), VCX_DCB_FAULT) == DCB_REFUSE;
}

static int vcx_getets(struct net_device *dev, struct ieee_ets *ets)
{
	*ets = vcx_dcb_of(dev)->ets;
	return 0;
}

static int vcx_ets_refused(struct net_device *dev, const char *why, int err)
{
	netdev_err(dev, "Failed to validate ETS: %s\n", why);
	return err;
}

static int vcx_validate_ets(struct net_device *dev, const struct ieee_ets *ets)
{
	unsigned int sum = 0;
	bool any = false;
	int i;

	for (i = 0; i < IEEE_8021QAZ_MAX_TCS; i++) {
		if (ets->prio_tc[i] >= IEEE_8021QAZ_MAX_TCS)
			return vcx_ets_refused(dev, "priority value greater than max(8)", -EINVAL);
		if (ets->tc_tsa[i] == IEEE_8021QAZ_TSA_CB_SHAPER)
			return vcx_ets_refused(dev, "CB Shaper is not supported", -EOPNOTSUPP);
		if (ets->tc_tsa[i] == IEEE_8021QAZ_TSA_ETS) {
			any = true;
			sum += ets->tc_tx_bw[i];
		}
	}
	return any && sum != 100 ? vcx_ets_refused(dev, "BW sum is illegal", -EINVAL) : 0;
}

static int vcx_setets(struct net_device *dev, struct ieee_ets *ets)
{
	struct vcx_dcb *dcb = vcx_dcb_of(dev);
	int i, err;

	if (vcx_dcb_refuses(dev))
		return -EINVAL;
	err = vcx_validate_ets(dev, ets);
	if (err)
		return err;
	for (i = 0; i < IEEE_8021QAZ_MAX_TCS; i++) {
		dcb->ets.prio_tc[i] = ets->prio_tc[i];
		dcb->ets.tc_tsa[i] = ets->tc_tsa[i];
		dcb->ets.tc_tx_bw[i] =
			ets->tc_tsa[i] == IEEE_8021QAZ_TSA_ETS ? ets->tc_tx_bw[i] : MAX_BW_ALLOC;
	}
	return 0;
}

static int vcx_getpfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct vcx_dcb *dcb = vcx_dcb_of(dev);

	pfc->pfc_cap = IEEE_8021QAZ_MAX_TCS;
	pfc->pfc_en = dcb->pfc_en;
	pfc->delay = dcb->cable_len;
	return 0;
}

static int vcx_setpfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct vcx_dcb *dcb = vcx_dcb_of(dev);
	int i;

	if (vcx_dcb_refuses(dev))
		return -EINVAL;
	if (pfc->pfc_en != dcb->pfc_en) {
		dcb->pfc_en = pfc->pfc_en;
		for (i = 0; i < IEEE_8021QAZ_MAX_TCS; i++)	/* the firmware's choice */
			dcb->buffer.prio2buffer[i] = dcb->pfc_en >> i & 1;
		vcx_link_toggle(vcx_port_of(dev));
	}
	if (pfc->delay && pfc->delay < MAX_CABLE_LEN)
		dcb->cable_len = pfc->delay;
	return 0;
}

static bool vcx_app_acceptable(struct net_device *dev, const struct dcb_app *app)
{
	return !vcx_dcb_refuses(dev) && app->selector == IEEE_8021QAZ_APP_SEL_DSCP &&
	       app->protocol < VCX_DSCPS;
}

/* The first DSCP entry makes the port trust DSCP. */
static int vcx_setapp(struct net_device *dev, struct dcb_app *app)
{
	struct vcx_dcb *dcb = vcx_dcb_of(dev);
	struct dcb_app old = *app;
	bool is_new;
	int err;

	if (!vcx_app_acceptable(dev, app))
		return -EINVAL;
	dcb->trust_dscp = true;
	old.priority = dcb->dscp2prio[app->protocol];
	dcb->dscp2prio[app->protocol] = app->priority;
	is_new = dcb_ieee_delapp(dev, &old);
	err = dcb_ieee_setapp(dev, app);
	if (!err && is_new)
		dcb->dscp_apps++;
	return err;
}

/* The last one that goes makes it trust PCP again. */
static int vcx_delapp(struct net_device *dev, struct dcb_app *app)
{
	struct vcx_dcb *dcb = vcx_dcb_of(dev);
	int err;

	if (!vcx_app_acceptable(dev, app))
		return -EINVAL;
	if (!dcb->dscp_apps || app->priority != dcb->dscp2prio[app->protocol])
		return -ENOENT;
	err = dcb_ieee_delapp(dev, app);
	if (err)
		return err;
	dcb->dscp2prio[app->protocol] = 0;
	if (!--dcb->dscp_apps)
		dcb->trust_dscp = false;
	return 0;
}

static int vcx_getmaxrate(struct net_device *dev, struct ieee_maxrate *maxrate)
{
	*maxrate = vcx_dcb_of(dev)->maxrate;
	return 0;
}

static int vcx_setmaxrate(struct net_device *dev, struct ieee_maxrate *maxrate)
{
	if (vcx_dcb_refuses(dev))
		return -EINVAL;
	vcx_dcb_of(dev)->maxrate = *maxrate;
	return 0;
}

static int vcx_getbuffer(struct net_device *dev, struct dcbnl_buffer *buffer)
{
	*buffer = vcx_dcb_of(dev)->buffer;
	return 0;
}

static int vcx_setbuffer(struct net_device *dev, struct dcbnl_buffer *buffer)
{
	struct vcx_dcb *dcb = vcx_dcb_of(dev);
	u64 total = 0;
	int i;

	if (vcx_dcb_refuses(dev))
		return -EINVAL;
	for (i = 0; i < DCBX_MAX_BUFFERS; i++)
		total += buffer->buffer_size[i];
	if (total > TOTAL_BUFFER)
		return -EINVAL;
	for (i = 0; i < IEEE_8021QAZ_MAX_TCS; i++)
		if (buffer->prio2buffer[i] >= DCBX_MAX_BUFFERS ||
		    (dcb->pfc_en & BIT(i) && !buffer->buffer_size[buffer->prio2buffer[i]]))
			return -EINVAL;
	dcb->buffer = *buffer;
	dcb->buffer.total_size = TOTAL_BUFFER;
	return 0;
}

static u8 vcx_getdcbx(struct net_device *dev)
{
	return vcx_dcb_of(dev)->dcbx_cap;
}

/* 0 hands DCBX to the firmware; the HOST bit takes it back. Returns 1 for a refusal. */
static u8 vcx_setdcbx(struct net_device *dev, u8 mode)
{
	struct vcx_dcb *dcb = vcx_dcb_of(dev);

	if (vcx_dcb_refuses(dev) || mode & DCB_CAP_DCBX_LLD_MANAGED)
		return 1;
	if (!mode) {
		dcb->firmware_dcbx = true;
		dcb->dcbx_cap &= ~DCB_CAP_DCBX_HOST;
		return 0;
	}
	if (!(mode & DCB_CAP_DCBX_HOST))
		return 1;
	dcb->firmware_dcbx = false;
	dcb->dcbx_cap = mode;
	return 0;
}

#define VCX_DCB_COMMON_OPS \
	.ieee_getets = vcx_getets, \
	.ieee_setets = vcx_setets, \
	.ieee_getpfc = vcx_getpfc, \
	.ieee_setpfc = vcx_setpfc, \
	.ieee_setapp = vcx_setapp, \
	.ieee_delapp = vcx_delapp, \
	.getdcbx = vcx_getdcbx, \
	.setdcbx = vcx_setdcbx

static const struct dcbnl_rtnl_ops vcx_dcb_ops = {
	VCX_DCB_COMMON_OPS,
	.ieee_getmaxrate = vcx_getmaxrate,
	.ieee_setmaxrate = vcx_setmaxrate,
	.dcbnl_getbuffer = vcx_getbuffer,
	.dcbnl_setbuffer = vcx_setbuffer,
};

static const struct dcbnl_rtnl_ops vcx_dcb_small_ops = { VCX_DCB_COMMON_OPS };

void vcx_dcb_set_ops(struct vcx_port *port)
{
	int fault = vcx_fault(port, VCX_DCB_FAULT);

	if (port->netdev)
		port->netdev->dcbnl_ops = fault == DCB_NO_OPS ? NULL :
			fault == DCB_NO_BUFFER_NO_MAXRATE ? &vcx_dcb_small_ops : &vcx_dcb_ops;
}

static void vcx_dcb_defaults(struct vcx_dcb *dcb)
{
	int i;

	memset(&dcb->ets, 0, sizeof(dcb->ets));
	dcb->ets.ets_cap = IEEE_8021QAZ_MAX_TCS;
	for (i = 0; i < IEEE_8021QAZ_MAX_TCS; i++) {
		dcb->ets.tc_tx_bw[i] = MAX_BW_ALLOC;
		dcb->ets.tc_tsa[i] = IEEE_8021QAZ_TSA_VENDOR;
		dcb->ets.prio_tc[i] = i;
	}
	swap(dcb->ets.prio_tc[0], dcb->ets.prio_tc[1]);

	dcb->cable_len = DEFAULT_CABLE_LEN;
	dcb->dcbx_cap = DCB_CAP_DCBX_VER_CEE | DCB_CAP_DCBX_VER_IEEE;
	if (!dcb->firmware_dcbx)
		dcb->dcbx_cap |= DCB_CAP_DCBX_HOST;
}

void vcx_dcb_init(struct vcx_port *port)
{
	struct vcx_dcb *dcb = &port->dcb;
	int i;

	memset(dcb, 0, sizeof(*dcb));
	for (i = 0; i < VCX_DSCPS; i++)
		dcb->dscp2prio[i] = i >> 3;
	dcb->buffer.buffer_size[0] = 20016;
	dcb->buffer.buffer_size[1] = 156096;
	dcb->buffer.total_size = TOTAL_BUFFER;
	dcb->firmware_dcbx = vcx_fw_dcbx(port);
	vcx_dcb_defaults(dcb);
}

/* mlx5 starts its uplink anew; what it then reads from the port is what the port still has. */
void vcx_dcb_reset(struct vcx_port *port)
{
	struct dcb_app app = { .selector = IEEE_8021QAZ_APP_SEL_DSCP };
	struct vcx_dcb *dcb = &port->dcb;

	vcx_dcb_defaults(dcb);
	if (!dcb->trust_dscp)
		return;
	for (app.protocol = 0; app.protocol < VCX_DSCPS; app.protocol++) {
		app.priority = dcb->dscp2prio[app.protocol];
		dcb_ieee_delapp(port->netdev, &app);
		dcb_ieee_setapp(port->netdev, &app);
	}
	dcb->dscp_apps = VCX_DSCPS;
}
