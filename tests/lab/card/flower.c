// SPDX-License-Identifier: GPL-2.0-only
/*
 * tc flower rules that the card takes ("in_hw"): on uplinks, representors and,
 * through indirect blocks, tunnel devices and Open vSwitch's internal ports.
 * A bond needs nothing: Open vSwitch binds its block to the uplinks in it.
 *
 * Rules are checked as mlx5 does and kept, to be counted. Frames go on through
 * tc's software path, which also counts them: FLOW_CLS_STATS adds no packets,
 * for tc would show each of them twice.
 */
#include <linux/if_vlan.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/flow_offload.h>
#include <net/geneve.h>
#include <net/gre.h>
#include <net/pkt_cls.h>
#include <net/vxlan.h>
#include "card.h"

#define ELSEWHERE "devices are not on same switch HW, can't offload forwarding"

struct vcx_rule {
	struct list_head node;
	const struct vcx_port *port;	/* whose eswitch it uses */
	const struct net_device *dev;
	const struct net_device *to;	/* where it forwards to; only to be compared */
	unsigned long cookie;
	__be16 protocol;
	u8 source[ETH_ALEN];		/* that it writes into frames */
	u8 dest[ETH_ALEN];		/* of the frames that it takes */
	struct rcu_head rcu;
};

static LIST_HEAD(rules);
static DEFINE_MUTEX(rules_lock);
static LIST_HEAD(block_cbs);

static char flower_reject[64];
module_param_string(flower_reject, flower_reject, sizeof(flower_reject), 0644);
MODULE_PARM_DESC(flower_reject, "Matches that no rule may have: any of vlan,ipv4,ipv6,ports,tcp,tos,ct,tunnel");

#define KEY(name) BIT_ULL(FLOW_DISSECTOR_KEY_##name)

/* What mlx5 can match, and by what word in flower_reject it cannot. */
static const struct {
	u64 keys;
	const char *name;
} matches[] = {
	{ KEY(CONTROL) | KEY(BASIC) | KEY(META) | KEY(ETH_ADDRS) | KEY(ICMP) },
	{ KEY(VLAN) | KEY(CVLAN), "vlan" },
	{ KEY(IPV4_ADDRS), "ipv4" },
	{ KEY(IPV6_ADDRS), "ipv6" },
	{ KEY(PORTS), "ports" },
	{ KEY(TCP), "tcp" },
	{ KEY(IP), "tos" },
	{ KEY(CT), "ct" },
	{ KEY(ENC_KEYID) | KEY(ENC_IPV4_ADDRS) | KEY(ENC_IPV6_ADDRS) | KEY(ENC_PORTS) |
	  KEY(ENC_CONTROL) | KEY(ENC_IP) | KEY(ENC_OPTS), "tunnel" },
};

static int vcx_flower_check_keys(const struct flow_rule *rule, struct netlink_ext_ack *extack)
{
	u64 left = rule->match.dissector->used_keys;
	int i;

	for (i = 0; i < ARRAY_SIZE(matches); i++)
		if (!matches[i].name || !strstr(flower_reject, matches[i].name))
			left &= ~matches[i].keys;
	if (!left)
		return 0;
	NL_SET_ERR_MSG_MOD(extack, "Unsupported key");
	return -EOPNOTSUPP;
}

static bool vcx_is_tunnel(const struct net_device *dev)
{
	return netif_is_vxlan(dev) || netif_is_geneve(dev) || netif_is_gretap(dev) ||
	       netif_is_ip6gretap(dev);
}

/* The port that stands for a bond: one of its members'. Under rtnl. */
static struct vcx_port *vcx_bond_port(struct net_device *bond)
{
	struct net_device *lower;
	struct list_head *iter;

	netdev_for_each_lower_dev(bond, lower, iter)
		if (vcx_port_of(lower))
			return vcx_port_of(lower);
	return NULL;
}

/* A port that can take a rule of a tunnel's, or NULL. */
static struct vcx_port *vcx_any_switchdev(void)
{
	struct vcx_card *card;
	struct vcx_port *port;

	list_for_each_entry(card, &vcx_cards, node)
		vcx_for_each_port(card, port)
			if (vcx_switchdev(port) && READ_ONCE(port->netdev))
				return port;
	return NULL;
}

/* In legacy mode a NIC takes rules, too, but not each action: tc_acts_nic[] of 5.19 to 6.12. */
static bool vcx_nic_action(enum flow_action_id id)
{
	switch (id) {
	case FLOW_ACTION_ACCEPT:
	case FLOW_ACTION_DROP:
	case FLOW_ACTION_GOTO:
	case FLOW_ACTION_REDIRECT:
	case FLOW_ACTION_MANGLE:
	case FLOW_ACTION_ADD:
	case FLOW_ACTION_CSUM:
	case FLOW_ACTION_MARK:
	case FLOW_ACTION_CT:
		return true;
	default:
		return false;
	}
}

/*
 * Checks the actions of a rule on a device of @port, NULL for a tunnel's, whose
 * port is the one that the rule forwards to. Puts the port in @port, and the
 * device that the rule forwards to in @target.
 */
static int vcx_flower_check_actions(const struct flow_rule *rule, struct vcx_port **port,
				    const struct net_device **target,
				    struct netlink_ext_ack *extack)
{
	const struct flow_action_entry *act;
	struct vcx_port *to;
	bool encap = false;
	int i;

	flow_action_for_each(i, act, &rule->action) {
		if (*port && !vcx_switchdev(*port)) {
			if (!vcx_nic_action(act->id)) {
				NL_SET_ERR_MSG_MOD(extack, "Not implemented offload action");
				return -EOPNOTSUPP;
			}
			if (act->id != FLOW_ACTION_REDIRECT)
				continue;
			to = act->dev ? vcx_port_of(act->dev) : NULL;
			if (to && to->card == (*port)->card)
				continue;
			NL_SET_ERR_MSG_MOD(extack, ELSEWHERE);
			return -EOPNOTSUPP;
		}
		switch (act->id) {
		case FLOW_ACTION_ACCEPT:
		case FLOW_ACTION_DROP:
		case FLOW_ACTION_VLAN_PUSH:
		case FLOW_ACTION_VLAN_POP:
		case FLOW_ACTION_VLAN_MANGLE:
		case FLOW_ACTION_TUNNEL_DECAP:
		case FLOW_ACTION_MANGLE:
		case FLOW_ACTION_ADD:
		case FLOW_ACTION_CSUM:
		case FLOW_ACTION_PTYPE:
		case FLOW_ACTION_CT:
			break;
		case FLOW_ACTION_GOTO:
			/* mlx5 has a tunnel's block on each uplink, so it takes this without a target. */
			if (!*port)
				*port = vcx_any_switchdev();
			break;
		case FLOW_ACTION_TUNNEL_ENCAP:
			encap = true;
			break;
		case FLOW_ACTION_REDIRECT:
		case FLOW_ACTION_MIRRED:
		case FLOW_ACTION_REDIRECT_INGRESS:
			/* A rule replayed to a module that came back may have lost its device. */
			if (!act->dev)
				return -EINVAL;
			if ((encap && vcx_is_tunnel(act->dev)) || netif_is_ovs_master(act->dev))
				break;
			to = netif_is_lag_master(act->dev) ? vcx_bond_port(act->dev) :
							     vcx_port_of(act->dev);
			if (!to || (*port && to->card != (*port)->card)) {
				NL_SET_ERR_MSG_MOD(extack, ELSEWHERE);
				return -EOPNOTSUPP;
			}
			if (!*port)
				*port = to;
			*target = act->dev;
			break;
		default:
			NL_SET_ERR_MSG_MOD(extack, "Not implemented offload action");
			return -EOPNOTSUPP;
		}
	}
	return 0;
}

/* The protocol of the frames that a rule takes, behind a VLAN's header; ETH_P_ALL for any. */
static __be16 vcx_flower_protocol(const struct flow_cls_offload *f)
{
	struct flow_rule *flow = f->rule;
	struct flow_match_basic match;

	if (flow_rule_match_key(flow, FLOW_DISSECTOR_KEY_BASIC)) {
		flow_rule_match_basic(flow, &match);
		if (match.mask->n_proto)
			return match.key->n_proto;
	}
	return eth_type_vlan(f->common.protocol) ? htons(ETH_P_ALL) : f->common.protocol;
}

/* The addresses of a router, between whose ports a rule forwards frames of VFs: zeros for a bridge's. */
static void vcx_flower_addresses(const struct flow_rule *flow, struct vcx_rule *rule)
{
	u8 header[ETH_HLEN + 2] __aligned(4) = {};
	const struct flow_action_entry *act;
	struct flow_match_eth_addrs match;
	int i;

	flow_action_for_each(i, act, &flow->action)
		if (act->id == FLOW_ACTION_MANGLE &&
		    act->mangle.htype == FLOW_ACT_MANGLE_HDR_TYPE_ETH &&
		    act->mangle.offset + sizeof(u32) <= sizeof(header))
			*(u32 *)(header + act->mangle.offset) |= act->mangle.val & ~act->mangle.mask;
	ether_addr_copy(rule->source, header + ETH_ALEN);
	if (is_zero_ether_addr(rule->source) || !flow_rule_match_key(flow, FLOW_DISSECTOR_KEY_ETH_ADDRS))
		return;
	flow_rule_match_eth_addrs(flow, &match);
	if (is_broadcast_ether_addr(match.mask->dst))
		ether_addr_copy(rule->dest, match.key->dst);
}

static int vcx_flower_replace(struct net_device *dev, struct flow_cls_offload *f)
{
	struct flow_rule *flow = flow_cls_offload_flow_rule(f);
	struct netlink_ext_ack *extack = f->common.extack;
	struct vcx_port *port = vcx_port_of(dev);
	const struct net_device *to = NULL;
	struct vcx_rule *rule;
	int err;

	if (port && !tc_can_offload_extack(dev, extack))
		return -EOPNOTSUPP;
	err = vcx_flower_check_keys(flow, extack) ?: vcx_flower_check_actions(flow, &port, &to, extack);
	if (err)
		return err;
	/* A tunnel's rule that forwards to no card of ours. */
	if (!port)
		return -EOPNOTSUPP;

	rule = kzalloc(sizeof(*rule), GFP_KERNEL);
	if (!rule)
		return -ENOMEM;
	rule->port = port;
	rule->dev = dev;
	rule->to = to;
	rule->cookie = f->cookie;
	rule->protocol = vcx_flower_protocol(f);
	vcx_flower_addresses(flow, rule);
	mutex_lock(&rules_lock);
	list_add_rcu(&rule->node, &rules);
	mutex_unlock(&rules_lock);
	return 0;
}

static int vcx_flower_destroy(const struct net_device *dev, unsigned long cookie)
{
	struct vcx_rule *rule;
	int err = -ENOENT;

	mutex_lock(&rules_lock);
	list_for_each_entry(rule, &rules, node)
		if (rule->dev == dev && rule->cookie == cookie) {
			list_del_rcu(&rule->node);
			kfree_rcu(rule, rcu);
			err = 0;
			break;
		}
	mutex_unlock(&rules_lock);
	return err;
}

/* esw->user_count: mlx5e_configure_flower() of 5.15 to 6.12 takes the eswitch of its own device. */
int vcx_flower_rules(const struct vcx_port *port)
{
	struct vcx_rule *rule;
	int num = 0;

	mutex_lock(&rules_lock);
	list_for_each_entry(rule, &rules, node)
		num += rule->port == port;
	mutex_unlock(&rules_lock);
	return num;
}

/* mlx5e_tc_esw_cleanup(): also a tunnel's rules, whose device stays, end with the port. */
void vcx_flower_forget(const struct vcx_port *port)
{
	struct vcx_rule *rule, *next;

	mutex_lock(&rules_lock);
	list_for_each_entry_safe(rule, next, &rules, node)
		if (rule->port == port) {
			list_del_rcu(&rule->node);
			kfree_rcu(rule, rcu);
		}
	mutex_unlock(&rules_lock);
}

/*
 * Whether the card forwards a frame of such a protocol from the VF behind @rep
 * (@from), or to it: it has a rule there. A real one looks at all of a frame.
 */
bool vcx_flower_takes(const struct net_device *rep, __be16 protocol, bool from)
{
	const struct vcx_rule *rule;
	bool takes = false;

	rcu_read_lock();
	list_for_each_entry_rcu(rule, &rules, node)
		if ((from ? rule->dev : rule->to) == rep &&
		    (rule->protocol == protocol || rule->protocol == htons(ETH_P_ALL))) {
			takes = true;
			break;
		}
	rcu_read_unlock();
	return takes;
}

/*
 * The same for a frame on an uplink that has a router's address @mac instead of its
 * VF's: as the source of what the VF sends (@from), or as the destination.
 */
bool vcx_flower_routes(const u8 *mac, __be16 protocol, bool from)
{
	const struct vcx_rule *rule;
	bool takes = false;

	rcu_read_lock();
	list_for_each_entry_rcu(rule, &rules, node)
		if (ether_addr_equal(from ? rule->source : rule->dest, mac) &&
		    (rule->protocol == protocol || rule->protocol == htons(ETH_P_ALL)) &&
		    !vcx_fault(rule->port, VCX_SLOW_PATH)) {
			takes = true;
			break;
		}
	rcu_read_unlock();
	return takes;
}

/* Under rtnl, since no block says unlocked_driver_cb. */
static int vcx_flower_cb(enum tc_setup_type type, void *data, void *cb_priv)
{
	struct flow_cls_offload *f = data;

	if (type != TC_SETUP_CLSFLOWER)
		return -EOPNOTSUPP;
	switch (f->command) {
	case FLOW_CLS_REPLACE:
		return vcx_flower_replace(cb_priv, f);
	case FLOW_CLS_DESTROY:
		return vcx_flower_destroy(cb_priv, f->cookie);
	case FLOW_CLS_STATS:
		flow_stats_update(&f->stats, 0, 0, 0, 0, FLOW_ACTION_HW_STATS_DELAYED);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

int vcx_flower_setup(struct net_device *dev, enum tc_setup_type type, void *data)
{
	if (type != TC_SETUP_BLOCK)
		return -EOPNOTSUPP;
	return flow_block_cb_setup_simple(data, &block_cbs, vcx_flower_cb, dev, dev, true);
}

static void vcx_indr_release(void *cb_priv)
{
}

static int vcx_indr_setup(struct net_device *dev, struct Qdisc *sch, void *cb_priv,
			  enum tc_setup_type type, void *type_data, void *data,
			  void (*cleanup)(struct flow_block_cb *block_cb))
{
	struct flow_block_offload *f = type_data;
	struct flow_block_cb *block_cb;

	if (!dev || type != TC_SETUP_BLOCK ||
	    f->binder_type != FLOW_BLOCK_BINDER_TYPE_CLSACT_INGRESS ||
	    !(vcx_is_tunnel(dev) || netif_is_ovs_master(dev)))
		return -EOPNOTSUPP;
	f->driver_block_list = &block_cbs;
	switch (f->command) {
	case FLOW_BLOCK_BIND:
		if (flow_block_cb_is_busy(vcx_flower_cb, dev, &block_cbs))
			return -EBUSY;
		block_cb = flow_indr_block_cb_alloc(vcx_flower_cb, dev, dev, vcx_indr_release, f,
						    dev, sch, data, cb_priv, cleanup);
		if (IS_ERR(block_cb))
			return PTR_ERR(block_cb);
		flow_block_cb_add(block_cb, f);
		list_add_tail(&block_cb->driver_list, &block_cbs);
		return 0;
	case FLOW_BLOCK_UNBIND:
		block_cb = flow_block_cb_lookup(f->block, vcx_flower_cb, dev);
		if (!block_cb)
			return -ENOENT;
		flow_indr_block_cb_remove(block_cb, f);
		list_del(&block_cb->driver_list);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

int vcx_flower_init(void)
{
	return flow_indr_dev_register(vcx_indr_setup, &rules);
}

void vcx_flower_exit(void)
{
	flow_indr_dev_unregister(vcx_indr_setup, &rules, vcx_indr_release);
}
