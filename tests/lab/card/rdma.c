// SPDX-License-Identifier: GPL-2.0-only
/*
 * mlx5_ib, a module of its own: the RDMA devices of ports in switchdev mode, by
 * the rules of drivers/infiniband/hw/mlx5/ib_rep.c of 6.1 to 6.12. Each port has
 * one; a LAG whose ports share one FDB has one for both. Its port 1 is that of the
 * uplink, the others are those of the representors. They are for raw Ethernet
 * alone, so that they have no GIDs. Nothing can be sent: there are no verbs.
 */
#include <rdma/ib_verbs.h>
#include "card.h"

struct vcx_rdma {
	struct ib_device ibdev;		/* first: ib_alloc_device() */
	struct list_head node;		/* on vcx_rdmas */
	struct vcx_port *port;
	bool both;			/* has the representors of both ports */
};

static LIST_HEAD(vcx_rdmas);		/* of the work alone */

/* vport_basic_q_cnts and vport_extended_err_cnts of counters.c, since 6.4 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 16, 0)
#define VCX_RDMA_STAT(name) name
static const char * const vcx_rdma_counters[VCX_VPORT_RDMA] = {
#else
#define VCX_RDMA_STAT(stat) { .name = stat }
static const struct rdma_stat_desc vcx_rdma_counters[VCX_VPORT_RDMA] = {
#endif
	VCX_RDMA_STAT("vport_out_of_buffer"),
	VCX_RDMA_STAT("vport_out_of_sequence"),
	VCX_RDMA_STAT("vport_local_ack_timeout_err"),
};

/* The VF whose representor has this port of the device; NULL for the uplink. */
static struct vcx_vf *vcx_rdma_vf(const struct vcx_rdma *rdma, u32 number)
{
	struct vcx_port *port = rdma->port, *end = port + (rdma->both ? port->card->nports : 1);
	u32 index = number - 2;

	for (; number > 1 && port < end; index -= READ_ONCE(port->num_vfs), port++)
		if (index < READ_ONCE(port->num_vfs))
			return &port->vf[index];
	return NULL;
}

static struct net_device *vcx_rdma_get_netdev(struct ib_device *ibdev, u32 number)
{
	struct vcx_rdma *rdma = container_of(ibdev, struct vcx_rdma, ibdev);
	struct vcx_vf *vf = vcx_rdma_vf(rdma, number);
	struct net_device *dev = NULL;

	rcu_read_lock();
	if (vf)
		dev = rcu_dereference(vf->rep);
	else if (number == 1)
		dev = READ_ONCE(rdma->port->netdev);
	/* The end of a netdev waits for readers that have seen it registered. */
	if (dev && dev->reg_state != NETREG_REGISTERED)
		dev = NULL;
	dev_hold(dev);
	rcu_read_unlock();
	return dev;
}

static int vcx_rdma_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
				 struct ib_udata *udata)
{
	attr->sys_image_guid = ibdev->node_guid;
	attr->vendor_id = PCI_VENDOR_ID_MELLANOX;
	return 0;
}

static int vcx_rdma_query_port(struct ib_device *ibdev, u32 number, struct ib_port_attr *attr)
{
	struct net_device *dev = vcx_rdma_get_netdev(ibdev, number);
	bool up = dev && netif_running(dev) && netif_carrier_ok(dev);

	dev_put(dev);
	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_EDR;
	return 0;
}

/* mlx5_port_rep_immutable() of main.c */
static int vcx_rdma_immutable(struct ib_device *ibdev, u32 number,
			      struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_RAW_PACKET;
	return 0;
}

static enum rdma_link_layer vcx_rdma_link_layer(struct ib_device *ibdev, u32 number)
{
	return IB_LINK_LAYER_ETHERNET;
}

static struct rdma_hw_stats *vcx_rdma_alloc_stats(struct ib_device *ibdev, u32 number)
{
	return rdma_alloc_hw_stats_struct(vcx_rdma_counters, ARRAY_SIZE(vcx_rdma_counters),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static int vcx_rdma_get_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 number,
			      int index)
{
	struct vcx_vf *vf = vcx_rdma_vf(container_of(ibdev, struct vcx_rdma, ibdev), number);
	int i;

	for (i = 0; i < stats->num_counters; i++)
		stats->value[i] = vf ? atomic64_read(&vf->counter[VCX_VPORT_NETDEV + i]) : 0;
	return stats->num_counters;
}

static const struct ib_device_ops vcx_rdma_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_MLX5,
	.uverbs_abi_ver = 1,
	.get_link_layer = vcx_rdma_link_layer,
	.get_netdev = vcx_rdma_get_netdev,
	.get_port_immutable = vcx_rdma_immutable,
	.query_device = vcx_rdma_query_device,
	.query_port = vcx_rdma_query_port,
};

static const struct ib_device_ops vcx_rdma_stats_ops = {
	.alloc_hw_port_stats = vcx_rdma_alloc_stats,
	.get_hw_stats = vcx_rdma_get_stats,
};

static void vcx_rdma_add(struct vcx_port *port, u32 ports, bool both)
{
	struct vcx_rdma *rdma = ib_alloc_device(vcx_rdma, ibdev);
	struct ib_device *ibdev;

	if (!rdma)
		return;
	rdma->port = port;
	rdma->both = both;
	ibdev = &rdma->ibdev;
	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = ports;
	ibdev->num_comp_vectors = 1;
	ibdev->dev.parent = &port->pdev->dev;
	memcpy(&ibdev->node_guid, port->card->system_image_guid, sizeof(ibdev->node_guid));
	ib_set_device_ops(ibdev, &vcx_rdma_ops);
	if (vcx_since_6_4())
		ib_set_device_ops(ibdev, &vcx_rdma_stats_ops);
	if (ib_register_device(ibdev, both ? "mlx5_bond_%d" : "mlx5_%d", NULL)) {
		ib_dealloc_device(ibdev);
		return;
	}
	list_add(&rdma->node, &vcx_rdmas);
}

static void vcx_rdma_remove(struct vcx_rdma *rdma)
{
	list_del(&rdma->node);
	ib_unregister_device(&rdma->ibdev);
	ib_dealloc_device(&rdma->ibdev);
}

/* How many ports the port's device has; 0 if it has no device. */
static u32 vcx_rdma_ports(struct vcx_port *port, bool *both)
{
	struct vcx_card *card = port->card;
	struct vcx_port *each;
	u32 ports = 1;

	*both = READ_ONCE(card->lag.mode) != VCX_LAG_NONE && READ_ONCE(card->lag.shared_fdb);
	if (!READ_ONCE(port->netdev) || !vcx_switchdev(port) || (*both && port->port))
		return 0;
	vcx_for_each_port(card, each)
		if (each == port || *both)
			ports += READ_ONCE(each->num_vfs);
	return ports;
}

static struct vcx_rdma *vcx_rdma_of(const struct vcx_port *port)
{
	struct vcx_rdma *rdma;

	list_for_each_entry(rdma, &vcx_rdmas, node)
		if (rdma->port == port)
			return rdma;
	return NULL;
}

/* Devices that are no longer as they should be go first: a LAG takes that of its second port. */
static void vcx_rdma_update(struct work_struct *work)
{
	struct vcx_rdma *rdma, *next;
	struct vcx_card *card;
	struct vcx_port *port;
	bool both;
	u32 ports;

	list_for_each_entry_safe(rdma, next, &vcx_rdmas, node) {
		ports = vcx_rdma_ports(rdma->port, &both);
		if (ports != rdma->ibdev.phys_port_cnt || both != rdma->both)
			vcx_rdma_remove(rdma);
	}
	list_for_each_entry(card, &vcx_cards, node)
		vcx_for_each_port(card, port) {
			ports = vcx_rdma_ports(port, &both);
			if (ports && !vcx_rdma_of(port))
				vcx_rdma_add(port, ports, both);
		}
}

static DECLARE_DELAYED_WORK(vcx_rdma_work, vcx_rdma_update);

/* Not at once: representors come and go one by one, and whoever tells may hold the LAG's lock. */
static int vcx_rdma_changed(struct notifier_block *block, unsigned long action, void *data)
{
	mod_delayed_work(system_wq, &vcx_rdma_work, HZ / 10);
	return NOTIFY_DONE;
}

static struct notifier_block vcx_rdma_block = { .notifier_call = vcx_rdma_changed };

static int __init vcx_rdma_init(void)
{
	mod_delayed_work(system_wq, &vcx_rdma_work, 0);
	return blocking_notifier_chain_register(&vcx_changes, &vcx_rdma_block);
}

static void __exit vcx_rdma_exit(void)
{
	struct vcx_rdma *rdma, *next;

	blocking_notifier_chain_unregister(&vcx_changes, &vcx_rdma_block);
	cancel_delayed_work_sync(&vcx_rdma_work);
	list_for_each_entry_safe(rdma, next, &vcx_rdmas, node)
		vcx_rdma_remove(rdma);
}

module_init(vcx_rdma_init);
module_exit(vcx_rdma_exit);
MODULE_DESCRIPTION("The virtual ConnectX's RDMA devices in switchdev mode, with the RoCE counters of VFs");
MODULE_LICENSE("GPL");
