// SPDX-License-Identifier: GPL-2.0-only
/*
 * Data centre bridging of an uplink with mlx5's semantics (en_dcbnl.c of 6.1):
 * which settings it refuses, what it reads back, when trust changes, what a
 * change of the eswitch mode resets. Nothing here shapes traffic.
 */
#include <linux/debugfs.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/dcbnl.h>
#include "core.h"
#include "fw.h"

#define VCX_DSCPS		64
#define DEFAULT_CABLE_LEN	7	/* metres */
#define MAX_CABLE_LEN		1000
#define TOTAL_BUFFER		1027728	/* bytes */
#define KBIT_100M		100000ULL
#define KBIT_1G			1000000ULL
/* How long the link is down when the PFC mask changes */
#define LINK_BOUNCE_MS		300

/* What is wrong, through debugfs dcb_fault: operations are missing, or setters give EINVAL. */
enum { DCB_GOOD, DCB_NO_BUFFER_NO_MAXRATE, DCB_NO_OPS, DCB_REFUSE };

/* All under rtnl. */
struct vcx_dcb {
	struct vcx_port *port;
	struct dentry *fault_file;
	unsigned int fault;
	struct delayed_work link_up;

	/* The port's hardware: kept over a change of the eswitch mode. */
	bool trust_dscp;
	u8 dscp2prio[VCX_DSCPS];
	u8 pfc_en;
	bool firmware_dcbx;

	/* The driver's: begins anew at a change of the eswitch mode. */
	struct ieee_ets ets;
	struct ieee_maxrate maxrate;
	struct dcbnl_buffer buffer;
	bool manual_buffer;
	u16 cable_len;
	u8 dcbx_cap;
	unsigned int dscp_apps;
};

static struct vcx_dcb *vcx_dcb_of(struct net_device *dev)
{
	return vcx_port_of(dev)->dcb;
}

static int vcx_getets(struct net_device *dev, struct ieee_ets *ets)
{
	*ets = vcx_dcb_of(dev)->ets;
	return 0;
}

static int vcx_validate_ets(struct net_device *dev, const struct ieee_ets *ets)
{
	unsigned int sum = 0;
	bool any = false;
	int i;

	for (i = 0; i < IEEE_8021QAZ_MAX_TCS; i++) {
		if (ets->prio_tc[i] >= IEEE_8021QAZ_MAX_TCS) {
			netdev_err(dev, "Failed to validate ETS: priority value greater than max(%d)\n",
				   IEEE_8021QAZ_MAX_TCS);
			return -EINVAL;
		}
		if (ets->tc_tsa[i] == IEEE_8021QAZ_TSA_CB_SHAPER) {
			netdev_err(dev, "Failed to validate ETS: CB Shaper is not supported\n");
			return -EOPNOTSUPP;
		}
		if (ets->tc_tsa[i] == IEEE_8021QAZ_TSA_ETS) {
			any = true;
			sum += ets->tc_tx_bw[i];
		}
	}
	if (any && sum != 100) {
		netdev_err(dev, "Failed to validate ETS: BW sum is illegal\n");
		return -EINVAL;
	}
	return 0;
}

static int vcx_setets(struct net_device *dev, struct ieee_ets *ets)
{
	struct vcx_dcb *dcb = vcx_dcb_of(dev);
	int i, err;

	if (dcb->fault == DCB_REFUSE)
		return -EINVAL;
	err = vcx_validate_ets(dev, ets);
	if (err)
		return err;
	for (i = 0; i < IEEE_8021QAZ_MAX_TCS; i++) {
		dcb->ets.prio_tc[i] = ets->prio_tc[i];
		dcb->ets.tc_tsa[i] = ets->tc_tsa[i];
		dcb->ets.tc_tx_bw[i] =
			ets->tc_tsa[i] == IEEE_8021QAZ_TSA_ETS ? ets->tc_tx_bw[i] : 0;
	}
	return 0;
}

/* Unless told otherwise, lossless priorities have a buffer of their own. */
static void vcx_auto_buffer(struct vcx_dcb *dcb)
{
	int prio;

	if (dcb->manual_buffer)
		return;
	for (prio = 0; prio < IEEE_8021QAZ_MAX_TCS; prio++)
		dcb->buffer.prio2buffer[prio] = dcb->pfc_en & BIT(prio) ? 1 : 0;
}

static int vcx_getpfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct vcx_dcb *dcb = vcx_dcb_of(dev);

	pfc->pfc_cap = IEEE_8021QAZ_MAX_TCS;
	pfc->pfc_en = dcb->pfc_en;
	pfc->delay = dcb->cable_len;
	return 0;
}

static void vcx_dcb_link_up(struct work_struct *work)
{
	struct vcx_dcb *dcb = container_of(to_delayed_work(work), struct vcx_dcb, link_up);

	rtnl_lock();
	vcx_carrier_update(dcb->port);
	rtnl_unlock();
}

static int vcx_setpfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct vcx_dcb *dcb = vcx_dcb_of(dev);

	if (dcb->fault == DCB_REFUSE)
		return -EINVAL;
	if (pfc->pfc_en != dcb->pfc_en) {
		dcb->pfc_en = pfc->pfc_en;
		netif_carrier_off(dev);
		mod_delayed_work(system_wq, &dcb->link_up, msecs_to_jiffies(LINK_BOUNCE_MS));
	}
	if (pfc->delay && pfc->delay < MAX_CABLE_LEN)
		dcb->cable_len = pfc->delay;
	vcx_auto_buffer(dcb);
	return 0;
}

static bool vcx_app_acceptable(const struct vcx_dcb *dcb, const struct dcb_app *app)
{
	return dcb->fault != DCB_REFUSE && app->selector == IEEE_8021QAZ_APP_SEL_DSCP &&
	       app->protocol < VCX_DSCPS;
}

/* The first DSCP entry makes the port trust DSCP. */
static int vcx_setapp(struct net_device *dev, struct dcb_app *app)
{
	struct vcx_dcb *dcb = vcx_dcb_of(dev);
	struct dcb_app old = *app;
	bool is_new;
	int err;

	if (!vcx_app_acceptable(dcb, app))
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

	if (!vcx_app_acceptable(dcb, app))
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

/* In units of 100 Mb/s up to 25.5 Gb/s, of 1 Gb/s up to 255 Gb/s; 0: no limit */
static int vcx_setmaxrate(struct net_device *dev, struct ieee_maxrate *maxrate)
{
	struct vcx_dcb *dcb = vcx_dcb_of(dev);
	int i;

	if (dcb->fault == DCB_REFUSE)
		return -EINVAL;
	for (i = 0; i < IEEE_8021QAZ_MAX_TCS; i++) {
		u64 rate = maxrate->tc_maxrate[i];
		u64 unit = rate <= 255 * KBIT_100M ? KBIT_100M : KBIT_1G;

		if (rate > 255 * KBIT_1G) {
			netdev_err(dev, "tc_%d maxrate %llu Kbps exceeds limit %llu\n",
				   i, rate, 255 * KBIT_1G);
			return -EINVAL;
		}
		dcb->maxrate.tc_maxrate[i] = rate ? max(rate / unit, 1ULL) * unit : 0;
	}
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

	if (dcb->fault == DCB_REFUSE)
		return -EINVAL;
	for (i = 0; i < DCBX_MAX_BUFFERS; i++)
		total += buffer->buffer_size[i];
	if (total > TOTAL_BUFFER)
		return -EINVAL;
	for (i = 0; i < IEEE_8021QAZ_MAX_TCS; i++)
		if (buffer->prio2buffer[i] >= DCBX_MAX_BUFFERS ||
		    (dcb->pfc_en & BIT(i) && !buffer->buffer_size[buffer->prio2buffer[i]]))
			return -EINVAL;
	dcb->manual_buffer = true;
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

	if (dcb->fault == DCB_REFUSE || mode & DCB_CAP_DCBX_LLD_MANAGED)
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

static int vcx_dcb_fault_get(void *data, u64 *val)
{
	struct vcx_dcb *dcb = data;

	*val = dcb->fault;
	return 0;
}

static int vcx_dcb_fault_set(void *data, u64 val)
{
	static const struct dcbnl_rtnl_ops *const ops[] = {
		[DCB_GOOD] = &vcx_dcb_ops,
		[DCB_NO_BUFFER_NO_MAXRATE] = &vcx_dcb_small_ops,
		[DCB_NO_OPS] = NULL,
		[DCB_REFUSE] = &vcx_dcb_ops,
	};
	struct vcx_dcb *dcb = data;

	if (val >= ARRAY_SIZE(ops))
		return -EINVAL;
	rtnl_lock();
	dcb->fault = val;
	dcb->port->netdev->dcbnl_ops = ops[val];
	rtnl_unlock();
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(vcx_dcb_fault_fops, vcx_dcb_fault_get, vcx_dcb_fault_set, "%llu\n");

static void vcx_dcb_defaults(struct vcx_dcb *dcb)
{
	int i;

	memset(&dcb->ets, 0, sizeof(dcb->ets));
	dcb->ets.ets_cap = IEEE_8021QAZ_MAX_TCS;
	for (i = 0; i < IEEE_8021QAZ_MAX_TCS; i++) {
		dcb->ets.tc_tsa[i] = IEEE_8021QAZ_TSA_VENDOR;
		dcb->ets.prio_tc[i] = i;
	}
	dcb->ets.prio_tc[0] = 1;
	dcb->ets.prio_tc[1] = 0;

	dcb->cable_len = DEFAULT_CABLE_LEN;
	dcb->manual_buffer = false;
	vcx_auto_buffer(dcb);
	dcb->dcbx_cap = DCB_CAP_DCBX_VER_CEE | DCB_CAP_DCBX_VER_IEEE;
	if (!dcb->firmware_dcbx)
		dcb->dcbx_cap |= DCB_CAP_DCBX_HOST;
}

void vcx_dcb_init(struct vcx_port *port)
{
	struct vcx_dcb *dcb = kzalloc(sizeof(*dcb), GFP_KERNEL);
	int i;

	if (!dcb)
		return;		/* an uplink without dcbnl */
	dcb->port = port;
	INIT_DELAYED_WORK(&dcb->link_up, vcx_dcb_link_up);
	for (i = 0; i < VCX_DSCPS; i++)
		dcb->dscp2prio[i] = i >> 3;
	dcb->buffer.buffer_size[0] = 20016;
	dcb->buffer.buffer_size[1] = 156096;
	dcb->buffer.total_size = TOTAL_BUFFER;
	dcb->firmware_dcbx = vcx_fw_dcbx(port);
	vcx_dcb_defaults(dcb);
	port->dcb = dcb;
	port->netdev->dcbnl_ops = &vcx_dcb_ops;
	dcb->fault_file = debugfs_create_file_unsafe("dcb_fault", 0644, port->debugfs, dcb,
						     &vcx_dcb_fault_fops);
}

/* mlx5 starts its uplink anew; what it then reads from the port is what the port still has. */
void vcx_dcb_reset(struct vcx_port *port)
{
	struct dcb_app app = { .selector = IEEE_8021QAZ_APP_SEL_DSCP };
	struct vcx_dcb *dcb = port->dcb;

	if (!dcb)
		return;
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

void vcx_dcb_exit(struct vcx_port *port)
{
	struct vcx_dcb *dcb = port->dcb;

	if (!dcb)
		return;
	debugfs_remove(dcb->fault_file);
	cancel_delayed_work_sync(&dcb->link_up);
	port->dcb = NULL;
	kfree(dcb);
}
