// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cable of a port: a lower netdev of the initial namespace (veth, virtio)
 * whose frames and carrier are the port's. Named by wires=, plugged whenever a
 * netdev of this name exists.
 */
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include "card.h"

static rx_handler_result_t vcx_wire_rx(struct sk_buff **pskb)
{
	struct sk_buff *skb = *pskb;
	struct vcx_port *port = rcu_dereference(skb->dev->rx_handler_data);

	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb)
		return RX_HANDLER_CONSUMED;
	skb_push_rcsum(skb, ETH_HLEN);
	vcx_uplink_rx(port, skb);
	return RX_HANDLER_CONSUMED;
}

/* Under rcu_read_lock_bh. */
void vcx_wire_tx(struct vcx_port *port, struct sk_buff *skb)
{
	struct net_device *lower = rcu_dereference_bh(port->wire.lower);

	if (!lower || vcx_fault(port, VCX_LINK_DOWN)) {
		kfree_skb(skb);
		return;
	}
	vcx_count_frame(port, skb, false);
	skb->dev = lower;
	dev_queue_xmit(skb);
}

static bool vcx_wire_cut(const struct vcx_port *port)
{
	return vcx_fault(port, VCX_LINK_DOWN) || vcx_fault(port, VCX_SURPRISE_REMOVE);
}

bool vcx_wire_carrier(const struct vcx_port *port)
{
	const struct net_device *lower = rtnl_dereference(port->wire.lower);

	return lower && netif_running(lower) && netif_carrier_ok(lower) && !vcx_wire_cut(port);
}

static void vcx_wire_detach(struct vcx_port *port)
{
	struct vcx_wire *wire = &port->wire;
	struct net_device *lower = rtnl_dereference(wire->lower);

	if (!lower)
		return;
	RCU_INIT_POINTER(wire->lower, NULL);
	netdev_rx_handler_unregister(lower);
	dev_set_promiscuity(lower, -1);
	synchronize_net();
	dev_put(lower);
	vcx_carrier_update(port);
}

static void vcx_wire_attach(struct vcx_port *port, struct net_device *lower)
{
	if (netdev_rx_handler_register(lower, vcx_wire_rx, port)) {
		netdev_err(lower, "mlx5_core: in use, cannot be a wire\n");
		return;
	}
	dev_set_promiscuity(lower, 1);
	dev_hold(lower);
	rcu_assign_pointer(port->wire.lower, lower);
}

/* A cut wire is switched off: the far end loses its carrier, too. */
static void vcx_wire_power(struct vcx_port *port)
{
	struct net_device *lower = rtnl_dereference(port->wire.lower);

	if (!lower)
		return;
	if (vcx_wire_cut(port))
		dev_close(lower);
	else
		dev_open(lower, NULL);
}

static void vcx_wire_update(struct work_struct *work)
{
	struct net_device *want;
	struct vcx_card *card;
	struct vcx_port *port;

	rtnl_lock();
	list_for_each_entry(card, &vcx_cards, node)
		vcx_for_each_port(card, port) {
			want = __dev_get_by_name(&init_net, port->wire.name);
			if (want != rtnl_dereference(port->wire.lower)) {
				vcx_wire_detach(port);
				if (want && want->reg_state == NETREG_REGISTERED)
					vcx_wire_attach(port, want);
			}
			vcx_wire_power(port);
			vcx_dcb_set_ops(port);
			vcx_carrier_update(port);
		}
	rtnl_unlock();
}

static DECLARE_WORK(vcx_wire_work, vcx_wire_update);

/* After a fault changed. */
void vcx_wire_check(void)
{
	schedule_work(&vcx_wire_work);
	flush_work(&vcx_wire_work);
}

static int vcx_netdev_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct vcx_card *card;
	struct vcx_port *port;

	list_for_each_entry(card, &vcx_cards, node) {
		vcx_for_each_port(card, port) {
			if (rcu_access_pointer(port->wire.lower) != dev)
				continue;
			if (event == NETDEV_UNREGISTER)
				vcx_wire_detach(port);
			if (event == NETDEV_UP || event == NETDEV_DOWN || event == NETDEV_CHANGE)
				vcx_carrier_update(port);
		}
		vcx_lag_event(card, event, ptr);
	}
	if (event == NETDEV_REGISTER || event == NETDEV_CHANGENAME)
		schedule_work(&vcx_wire_work);
	return NOTIFY_DONE;
}

static struct notifier_block vcx_netdev_nb = {
	.notifier_call = vcx_netdev_event,
};

int vcx_wire_init(void)
{
	int err = register_netdevice_notifier_net(&init_net, &vcx_netdev_nb);

	if (!err)
		vcx_wire_check();
	return err;
}

void vcx_wire_exit(void)
{
	struct vcx_card *card;
	struct vcx_port *port;

	unregister_netdevice_notifier_net(&init_net, &vcx_netdev_nb);
	cancel_work_sync(&vcx_wire_work);
	rtnl_lock();
	list_for_each_entry(card, &vcx_cards, node)
		vcx_for_each_port(card, port)
			vcx_wire_detach(port);
	rtnl_unlock();
}
