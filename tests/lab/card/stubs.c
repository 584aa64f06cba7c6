// SPDX-License-Identifier: GPL-2.0-only
/* Stands in for dcb.c and flower.c until they exist. */
#include "card.h"

void vcx_dcb_init(struct vcx_port *port) { }
void vcx_dcb_reset(struct vcx_port *port) { }
void vcx_dcb_exit(struct vcx_port *port) { }
int vcx_flower_init(void) { return 0; }
void vcx_flower_exit(void) { }
int vcx_flower_setup(struct net_device *dev, enum tc_setup_type type, void *data)
{
	return -EOPNOTSUPP;
}
int vcx_flower_rules(struct vcx_card *card) { return 0; }
