// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cable of a port: a lower netdev of the initial namespace (veth, virtio)
 * whose frames and carrier are the port's. Named by wires= or debugfs, plugged
 * whenever a netdev of this name exists.
 */
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include "core.h"

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
	struct net_device *lower = rcu_dereference_bh(port->wire->tx);

	if (!lower || READ_ONCE(port->faults.link_down)) {
		kfree_skb(skb);
		return;
	}
	skb->dev = lower;
	dev_queue_xmit(skb);
}

bool vcx_wire_carrier(const struct vcx_port *port)
{
	const struct net_device *lower = port->wire->lower;

	return lower && netif_running(lower) && netif_carrier_ok(lower) &&
	       !READ_ONCE(port->faults.link_down) && !READ_ONCE(port->faults.surprise_remove);
}

static void vcx_wire_detach(struct vcx_port *port)
{
	struct vcx_wire *wire = port->wire;
	struct net_device *lower = wire->lower;

	if (!lower)
		return;
	RCU_INIT_POINTER(wire->tx, NULL);
	wire->lower = NULL;
	netdev_rx_handler_unregister(lower);
	dev_set_promiscuity(lower, -1);
	synchronize_net();
	netdev_put(lower, &wire->tracker);
	vcx_carrier_update(port);
}

static void vcx_wire_attach(struct vcx_port *port, struct net_device *lower)
{
	struct vcx_wire *wire = port->wire;

	if (netdev_rx_handler_register(lower, vcx_wire_rx, port)) {
		netdev_err(lower, "mlx5_core: in use, cannot be a wire\n");
		return;
	}
	dev_set_promiscuity(lower, 1);
	netdev_hold(lower, &wire->tracker, GFP_KERNEL);
	wire->lower = lower;
	rcu_assign_pointer(wire->tx, lower);
}

/*
 * A new wire is switched on; link_down and surprise_remove switch it off, so
 * that the far end loses its carrier too. Otherwise its state is the user's.
 */
static void vcx_wire_power(struct vcx_port *port, bool plugged)
{
	struct vcx_wire *wire = port->wire;
	bool dark = READ_ONCE(port->faults.link_down) || READ_ONCE(port->faults.surprise_remove);

	if (!wire->lower || (dark == wire->dark && !plugged))
		return;
	wire->dark = dark;
	if (dark)
		dev_close(wire->lower);
	else
		dev_open(wire->lower, NULL);
}

/* Brings every port's wire in line with its name and with the netdevs there are. */
static void vcx_wire_update(struct work_struct *work)
{
	struct net_device *want;
	struct vcx_card *card;
	struct vcx_port *port;
	bool plugged;
	int i;

	rtnl_lock();
	list_for_each_entry(card, &vcx_cards, node)
		for (i = 0; i < card->nports; i++) {
			port = &card->port[i];
			want = NULL;
			if (port->wire->name[0])
				want = __dev_get_by_name(&init_net, port->wire->name);
			plugged = false;
			if (want != port->wire->lower) {
				vcx_wire_detach(port);
				if (want && want->reg_state == NETREG_REGISTERED) {
					vcx_wire_attach(port, want);
					plugged = true;
				}
			}
			vcx_wire_power(port, plugged);
			vcx_carrier_update(port);
		}
	rtnl_unlock();
}

static DECLARE_WORK(vcx_wire_work, vcx_wire_update);

/* After a fault or a wire's name changed. */
void vcx_wire_check(void)
{
	schedule_work(&vcx_wire_work);
	flush_work(&vcx_wire_work);
}

int vcx_wire_set(struct vcx_port *port, const char *name)
{
	if (*name && !dev_valid_name(name))
		return -EINVAL;
	rtnl_lock();
	strscpy(port->wire->name, name, sizeof(port->wire->name));
	rtnl_unlock();
	vcx_wire_check();
	return 0;
}

static void vcx_wire_lower_event(struct vcx_port *port, unsigned long event,
				 struct net_device *dev)
{
	switch (event) {
	case NETDEV_UNREGISTER:
		vcx_wire_detach(port);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		vcx_carrier_update(port);
	}
}

static int vcx_netdev_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct vcx_card *card;
	int i, ret = NOTIFY_DONE;

	list_for_each_entry(card, &vcx_cards, node) {
		for (i = 0; i < card->nports; i++)
			if (card->port[i].wire->lower == dev)
				vcx_wire_lower_event(&card->port[i], event, dev);
		if (!(ret & NOTIFY_STOP_MASK))
			ret = vcx_lag_event(card, event, ptr);
	}
	if (event == NETDEV_REGISTER || event == NETDEV_CHANGENAME)
		schedule_work(&vcx_wire_work);
	return ret;
}

static struct notifier_block vcx_netdev_nb = {
	.notifier_call = vcx_netdev_event,
};

int vcx_wire_init(void)
{
	return register_netdevice_notifier_net(&init_net, &vcx_netdev_nb);
}

void vcx_wire_exit(void)
{
	struct vcx_card *card;
	int i;

	unregister_netdevice_notifier_net(&init_net, &vcx_netdev_nb);
	cancel_work_sync(&vcx_wire_work);
	rtnl_lock();
	list_for_each_entry(card, &vcx_cards, node)
		for (i = 0; i < card->nports; i++)
			vcx_wire_detach(&card->port[i]);
	rtnl_unlock();
}
