// SPDX-License-Identifier: GPL-2.0-only
/* Stands in for fw*.c, dcb.c and flower.c until they exist. */
#include "card.h"

int vcx_fw_init(struct vcx_card *card) { return 0; }
void vcx_fw_exit(struct vcx_card *card) { }
bool vcx_fw_cfg_read(struct vcx_port *port, int where, int size, u32 *val) { return false; }
bool vcx_fw_cfg_write(struct vcx_port *port, int where, int size, u32 val) { return false; }
u16 vcx_fw_total_vfs(struct vcx_port *port) { return 8; }
bool vcx_fw_sriov_en(struct vcx_port *port) { return true; }
u32 vcx_fw_lag_prealloc(struct vcx_card *card) { return 0; }
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
