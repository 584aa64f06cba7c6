/* SPDX-License-Identifier: GPL-2.0-only */
/* The firmware's two halves: the store (fw.c) and the tools' door to it (fw_vsc.c, fw_reg.c). */
#ifndef VCX_FW_H
#define VCX_FW_H

#include "card.h"

#define VCX_TLV_DWORDS	17	/* nv_roce_cc_ecn, the longest: 68 bytes */

/* Status of a register access, as the PRM numbers them. */
enum vcx_reg_status {
	VCX_REG_OK = 0x0,
	VCX_REG_NOT_SUPPORTED = 0x4,
	VCX_REG_BAD_PARAM = 0x7,
	VCX_REG_RES_NOT_AVAILABLE = 0x8,
	VCX_REG_INTERNAL_ERROR = 0x70,
};

enum vcx_tlv_when { VCX_TLV_DEFAULT, VCX_TLV_CURRENT, VCX_TLV_NEXT };

/* A configuration TLV, or one that tells what can be configured. */
struct vcx_tlv {
	u8 class;
	u32 index;
	u8 size;			/* bytes */
	u8 version;
	bool cap;			/* read-only: what the device can do */
	bool dpu;			/* BlueField only */
	bool lag;			/* only with LAG_RESOURCE_ALLOCATION */
	u32 data[VCX_TLV_DWORDS];	/* default */
};

#define VCX_MBOX_BYTES	0x300

/* A PF's vendor-specific capability and the ICMD mailbox behind it */
struct vcx_vsc {
	struct vcx_port *port;
	struct work_struct save;
	u32 ctrl, counter, semaphore, addr, data;
	u32 icmd_semaphore;
	u32 icmd_ctrl;
	u32 mbox[VCX_MBOX_BYTES / 4];
};

/* fw.c: from any context, all but vcx_fw_save() */
struct vcx_vsc *vcx_vsc_of(struct vcx_port *port);
const struct vcx_tlv *vcx_tlv_find(struct vcx_port *port, u32 type, unsigned int *instance);
void vcx_tlv_get(struct vcx_card *card, const struct vcx_tlv *tlv, unsigned int instance,
		 enum vcx_tlv_when when, u32 *data);
enum vcx_reg_status vcx_tlv_set(struct vcx_card *card, const struct vcx_tlv *tlv,
				unsigned int instance, const u32 *data);
/* Type of the first TLV unlike its default at or after *@at, which moves behind it; 0: none */
u32 vcx_tlv_next_stored(struct vcx_port *port, u32 *at);
/* All back to their defaults. */
void vcx_tlv_reset(struct vcx_card *card);
/* A restart of the firmware: next becomes current. */
void vcx_fw_latch(struct vcx_card *card);
/* Whether a warm reboot of the host restarts the firmware. */
bool vcx_fw_warm_reboot_applies(struct vcx_card *card);
/* Writes the card's store to fwstore=; sleeps. 0 or a negative errno. */
int vcx_fw_save(struct vcx_card *card);

/* fw_vsc.c */
void vcx_vsc_init(struct vcx_vsc *vsc, struct vcx_port *port);

/*
 * fw_reg.c: carries out the access-register command in @mbox (operation TLV,
 * register TLV, register: dwords in the CPU's order) and puts the answer
 * there. True: the store has changed and is to be saved before the tool hears
 * of it.
 */
bool vcx_reg_access(struct vcx_port *port, u32 *mbox);
void vcx_reg_set_status(u32 *mbox, enum vcx_reg_status status);

#endif
