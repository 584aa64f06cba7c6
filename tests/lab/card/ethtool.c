// SPDX-License-Identifier: GPL-2.0-only
/*
 * What ethtool shows and sets: channels, rings, coalescing, RSS, private flags,
 * pause frames.
 *
 * A change of the eswitch mode gives the uplink another profile, which clears
 * the driver's private data (mlx5e_netdev_change_profile() in en_main.c of 5.15
 * to 6.12): all of these begin anew but the pause frames, which are the port's
 * own. In switchdev mode an uplink has one channel, like a representor
 * (mlx5e_build_rep_params() in en_rep.c: MLX5E_REP_PARAMS_DEF_NUM_CHANNELS).
 */
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include "card.h"

/* MLX5E_PARAMS_*_LOG_*_SIZE of en.h, 6.1 */
#define RING_DEFAULT	1024
#define REP_TX_RING	128
#define RING_MAX	8192
#define RX_RING_MIN	2
#define TX_RING_MIN	64
/* MLX5_MAX_CQ_PERIOD and MLX5_MAX_CQ_COUNT */
#define COALESCE_MAX_USECS	0xfff
#define COALESCE_MAX_FRAMES	0xffff

static const char vcx_flag_names[][ETH_GSTRING_LEN] = {
	"rx_cqe_moder", "tx_cqe_moder", "rx_cqe_compress", "rx_striding_rq", "rx_no_csum_complete",
	"xdp_tx_mpwqe", "skb_tx_mpwqe", "tx_port_ts",
};

#define FLAGS_REP	(BIT(0) | BIT(3))
#define FLAGS_NIC	(FLAGS_REP | BIT(5) | BIT(6))

static struct vcx_settings *vcx_settings_of(struct net_device *dev)
{
	return &((struct vcx_ndev *)netdev_priv(dev))->settings;
}

/* mlx5e_get_max_num_channels(): an interrupt for each processor, if the function has as many. */
unsigned int vcx_max_channels(void)
{
	return min(num_online_cpus(), 62U);
}

static void vcx_spread(struct vcx_settings *set, unsigned int num)
{
	int i;

	for (i = 0; i < VCX_INDIR; i++)
		set->indir[i] = ethtool_rxfh_indir_default(i, num);
}

/* mlx5e_num_channels_changed(): a table that was ever set stays as it is. */
static void vcx_set_num_channels(struct net_device *dev, unsigned int num)
{
	struct vcx_settings *set = vcx_settings_of(dev);

	set->channels = num;
	if (!netif_is_rxfh_configured(dev))
		vcx_spread(set, num);
	if (netif_set_real_num_queues(dev, num, num))
		netdev_warn(dev, "cannot set %u queues\n", num);
}

/* As a netdev begins; under rtnl if it is registered. */
void vcx_settings_reset(struct net_device *dev, bool rep)
{
	struct vcx_settings *set = vcx_settings_of(dev);
	const struct vcx_ndev *nd = netdev_priv(dev);

	memset(set, 0, sizeof(*set));
	netdev_rss_key_fill(set->key, sizeof(set->key));
	set->rx_ring = RING_DEFAULT;
	set->tx_ring = nd->kind == VCX_REP ? REP_TX_RING : RING_DEFAULT;
	/* What dynamic moderation starts from; mlx5e_build_rep_params() knows none for sending. */
	set->coalesce.use_adaptive_rx_coalesce = 1;
	set->coalesce.rx_coalesce_usecs = 8;
	set->coalesce.rx_max_coalesced_frames = 128;
	if (!rep) {
		set->coalesce.use_adaptive_tx_coalesce = 1;
		set->coalesce.tx_coalesce_usecs = 8;
		set->coalesce.tx_max_coalesced_frames = 128;
	}
	set->flags = rep ? FLAGS_REP : FLAGS_NIC;
	vcx_spread(set, rep ? 1 : vcx_max_channels());
	vcx_set_num_channels(dev, rep ? 1 : vcx_max_channels());
}

/* mlx5e_switch_priv_channels(): the carrier is off meanwhile, but the link stays trained. */
static void vcx_switch_channels(struct net_device *dev, unsigned int num)
{
	bool carrier = netif_carrier_ok(dev);

	netif_carrier_off(dev);
	vcx_set_num_channels(dev, num);
	if (carrier)
		netif_carrier_on(dev);
}

static void vcx_get_channels(struct net_device *dev, struct ethtool_channels *ch)
{
	ch->max_combined = vcx_max_channels();
	ch->combined_count = vcx_settings_of(dev)->channels;
}

/* mlx5e_ethtool_set_channels(); what is above the maximum ethtool itself refuses. */
static int vcx_set_channels(struct net_device *dev, struct ethtool_channels *ch)
{
	if (!ch->combined_count) {
		netdev_info(dev, "mlx5e_ethtool_set_channels: combined_count=0 not supported\n");
		return -EINVAL;
	}
	if (ch->combined_count != vcx_settings_of(dev)->channels)
		vcx_switch_channels(dev, ch->combined_count);
	return 0;
}

static void vcx_get_ringparam(struct net_device *dev, struct ethtool_ringparam *ring VCX_RING_MORE)
{
	const struct vcx_settings *set = vcx_settings_of(dev);

	ring->rx_max_pending = RING_MAX;
	ring->tx_max_pending = RING_MAX;
	ring->rx_pending = set->rx_ring;
	ring->tx_pending = set->tx_ring;
}

/* mlx5e_ethtool_set_ringparam() rounds up to powers of two. */
static int vcx_set_ringparam(struct net_device *dev, struct ethtool_ringparam *ring VCX_RING_MORE)
{
	u32 rx = roundup_pow_of_two(max(ring->rx_pending, 1U));
	u32 tx = roundup_pow_of_two(max(ring->tx_pending, 1U));
	struct vcx_settings *set = vcx_settings_of(dev);

	if (ring->rx_pending < RX_RING_MIN || ring->tx_pending < TX_RING_MIN) {
		netdev_info(dev, "mlx5e_ethtool_set_ringparam: pending (%u, %u) < min (%u, %u)\n",
			    ring->rx_pending, ring->tx_pending, RX_RING_MIN, TX_RING_MIN);
		return -EINVAL;
	}
	if (rx == set->rx_ring && tx == set->tx_ring)
		return 0;
	set->rx_ring = rx;
	set->tx_ring = tx;
	vcx_switch_channels(dev, set->channels);
	return 0;
}

static int vcx_get_coalesce(struct net_device *dev, struct ethtool_coalesce *coal,
			    struct kernel_ethtool_coalesce *kernel_coal,
			    struct netlink_ext_ack *extack)
{
	*coal = vcx_settings_of(dev)->coalesce;
	return 0;
}

/* mlx5e_ethtool_set_coalesce() */
static int vcx_set_coalesce(struct net_device *dev, struct ethtool_coalesce *coal,
			    struct kernel_ethtool_coalesce *kernel_coal,
			    struct netlink_ext_ack *extack)
{
	if (max(coal->rx_coalesce_usecs, coal->tx_coalesce_usecs) > COALESCE_MAX_USECS ||
	    max(coal->rx_max_coalesced_frames, coal->tx_max_coalesced_frames) > COALESCE_MAX_FRAMES)
		return -ERANGE;
	vcx_settings_of(dev)->coalesce = *coal;
	return 0;
}

/* mlx5e_get_rxnfc(): how many rings the table may name */
static int vcx_get_rxnfc(struct net_device *dev, struct ethtool_rxnfc *info, u32 *rules)
{
	if (info->cmd != ETHTOOL_GRXRINGS)
		return -EOPNOTSUPP;
	info->data = vcx_settings_of(dev)->channels;
	return 0;
}

static u32 vcx_get_rxfh_key_size(struct net_device *dev)
{
	return VCX_RSS_KEY;
}

static u32 vcx_get_rxfh_indir_size(struct net_device *dev)
{
	return VCX_INDIR;
}

static int vcx_rss_get(struct net_device *dev, u32 *indir, u8 *key, u8 *hfunc)
{
	const struct vcx_settings *set = vcx_settings_of(dev);

	if (indir)
		memcpy(indir, set->indir, sizeof(set->indir));
	if (key)
		memcpy(key, set->key, sizeof(set->key));
	if (hfunc)
		*hfunc = set->xor ? ETH_RSS_HASH_XOR : ETH_RSS_HASH_TOP;
	return 0;
}

/* mlx5e_rss_set_rxfh() */
static int vcx_rss_set(struct net_device *dev, const u32 *indir, const u8 *key, u8 hfunc)
{
	struct vcx_settings *set = vcx_settings_of(dev);

	if (hfunc != ETH_RSS_HASH_NO_CHANGE && hfunc != ETH_RSS_HASH_XOR &&
	    hfunc != ETH_RSS_HASH_TOP)
		return -EINVAL;
	if (hfunc != ETH_RSS_HASH_NO_CHANGE)
		set->xor = hfunc == ETH_RSS_HASH_XOR;
	if (indir)
		memcpy(set->indir, indir, sizeof(set->indir));
	if (key)
		memcpy(set->key, key, sizeof(set->key));
	return 0;
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#define vcx_get_rxfh vcx_rss_get
#define vcx_set_rxfh vcx_rss_set
#else
static int vcx_get_rxfh(struct net_device *dev, struct ethtool_rxfh_param *rxfh)
{
	return vcx_rss_get(dev, rxfh->indir, rxfh->key, &rxfh->hfunc);
}

static int vcx_set_rxfh(struct net_device *dev, struct ethtool_rxfh_param *rxfh,
			struct netlink_ext_ack *extack)
{
	return vcx_rss_set(dev, rxfh->indir, rxfh->key, rxfh->hfunc);
}
#endif

static int vcx_get_sset_count(struct net_device *dev, int set)
{
	if (set == ETH_SS_STATS)
		return vcx_stats_count(dev);
	return set == ETH_SS_PRIV_FLAGS ? ARRAY_SIZE(vcx_flag_names) : -EOPNOTSUPP;
}

/* mlx5e_rep_get_sset_count() */
static int vcx_rep_get_sset_count(struct net_device *dev, int set)
{
	return set == ETH_SS_STATS ? vcx_stats_count(dev) : -EOPNOTSUPP;
}

static void vcx_get_strings(struct net_device *dev, u32 set, u8 *data)
{
	if (set == ETH_SS_STATS)
		vcx_stats_names(dev, data);
	else if (set == ETH_SS_PRIV_FLAGS)
		memcpy(data, vcx_flag_names, sizeof(vcx_flag_names));
}

static u32 vcx_get_priv_flags(struct net_device *dev)
{
	return vcx_settings_of(dev)->flags;
}

static int vcx_set_priv_flags(struct net_device *dev, u32 flags)
{
	vcx_settings_of(dev)->flags = flags;
	return 0;
}

static void vcx_get_pauseparam(struct net_device *dev, struct ethtool_pauseparam *pause)
{
	const struct vcx_port *port = vcx_port_of(dev);

	pause->rx_pause = port->rx_pause;
	pause->tx_pause = port->tx_pause;
}

/* mlx5e_ethtool_set_pauseparam() of 5.15 to 6.12; the link stays up. */
static int vcx_set_pauseparam(struct net_device *dev, struct ethtool_pauseparam *pause)
{
	struct vcx_port *port = vcx_port_of(dev);

	if (pause->autoneg)
		return -EINVAL;
	port->rx_pause = pause->rx_pause;
	port->tx_pause = pause->tx_pause;
	return 0;
}

/* mlx5e_get_drvinfo() and mlx5e_rep_get_drvinfo() */
static void vcx_get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	const struct vcx_ndev *nd = netdev_priv(dev);
	const struct vcx_preset *preset = nd->port->card->preset;

	strscpy(info->driver, nd->kind == VCX_REP ? "mlx5e_rep" : KBUILD_MODNAME,
		sizeof(info->driver));
	snprintf(info->fw_version, sizeof(info->fw_version), "%s (%s)", preset->fw_version,
		 preset->psid);
	if (nd->kind != VCX_REP)
		strscpy(info->bus_info, dev_name(dev->dev.parent), sizeof(info->bus_info));
}

static int vcx_get_link_ksettings(struct net_device *dev, struct ethtool_link_ksettings *ks)
{
	const struct vcx_ndev *nd = netdev_priv(dev);
	bool up = netif_carrier_ok(dev);

	ks->base.speed = !up ? SPEED_UNKNOWN : vcx_speed ?: nd->port->card->preset->speed;
	ks->base.duplex = up ? DUPLEX_FULL : DUPLEX_UNKNOWN;
	ks->base.port = PORT_DA;
	ks->base.autoneg = AUTONEG_DISABLE;
	return 0;
}

/*
 * mlx5e_get_module_eeprom_by_page() of 6.1 to 6.12: a QSFP28 module for 100GBASE-SR4, with
 * SFF-8636's memory as far as `ethtool -m` needs it to show the temperature.
 */
static int vcx_module_eeprom(struct net_device *dev, const struct ethtool_module_eeprom *page,
			     struct netlink_ext_ack *extack)
{
	const struct vcx_ndev *nd = netdev_priv(dev);
	u8 memory[256] = {
		[0] = 0x11, [1] = 8, [2] = 4,		/* QSFP28, its revision, no further pages */
		[22] = vcx_fault(nd->port, VCX_MODULE_TEMPERATURE),	/* °C; then 1/256 of it */
		[26] = 33000 >> 8, [27] = 33000 & 0xff,	/* 3.3 V in 100 µV */
		[128] = 0x11, [130] = 0x0c, [131] = 0x80, [192] = 2,
	};
	int err = vcx_command(nd->port, "ACCESS_REG", 0x805);

	if (err) {
		NL_SET_ERR_MSG_MOD(extack, "Query module eeprom by page failed");
		return err;
	}
	if (page->page || page->bank || page->i2c_address != 0x50)
		return -EINVAL;
	memcpy(memory + 148, "NVIDIA          ", 16);
	memcpy(memory + 168, "MMA1B00-C100D   ", 16);
	memcpy(page->data, memory + page->offset, page->length);
	return page->length;
}

#define VCX_REP_OPS \
	.supported_coalesce_params = ETHTOOL_COALESCE_USECS | ETHTOOL_COALESCE_MAX_FRAMES | \
				     ETHTOOL_COALESCE_USE_ADAPTIVE, \
	.get_drvinfo = vcx_get_drvinfo, \
	.get_link = ethtool_op_get_link, \
	.get_link_ksettings = vcx_get_link_ksettings, \
	.get_channels = vcx_get_channels, \
	.set_channels = vcx_set_channels, \
	.get_ringparam = vcx_get_ringparam, \
	.set_ringparam = vcx_set_ringparam, \
	.get_coalesce = vcx_get_coalesce, \
	.set_coalesce = vcx_set_coalesce, \
	.get_rxfh_key_size = vcx_get_rxfh_key_size, \
	.get_rxfh_indir_size = vcx_get_rxfh_indir_size, \
	.get_strings = vcx_get_strings, \
	.get_ethtool_stats = vcx_stats

#define VCX_NIC_OPS \
	VCX_REP_OPS, \
	.get_rxnfc = vcx_get_rxnfc, \
	.get_rxfh = vcx_get_rxfh, \
	.set_rxfh = vcx_set_rxfh, \
	.get_sset_count = vcx_get_sset_count, \
	.get_priv_flags = vcx_get_priv_flags, \
	.set_priv_flags = vcx_set_priv_flags

const struct ethtool_ops vcx_ethtool_ops[] = {
	[VCX_UPLINK] = {
		VCX_NIC_OPS,
		.get_pauseparam = vcx_get_pauseparam,
		.set_pauseparam = vcx_set_pauseparam,
		.get_module_eeprom_by_page = vcx_module_eeprom,
	},
	[VCX_VF] = { VCX_NIC_OPS },
	[VCX_REP] = {
		VCX_REP_OPS,
		.get_sset_count = vcx_rep_get_sset_count,
	},
};
