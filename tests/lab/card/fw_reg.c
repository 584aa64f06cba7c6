// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers of the firmware that mstconfig accesses. Layouts follow the PRM as
 * mstflint packs them: big-endian dwords, numbered here from the register's
 * start.
 */
#include <linux/bitfield.h>
#include "fw.h"

#define REG_MGIR	0x9020	/* general information */
#define REG_MNVDA	0x9024	/* data of one TLV */
#define REG_MFRL	0x9028	/* reset level */
#define REG_MNVQC	0x9030	/* is a TLV supported */
#define REG_MNVIA	0x9033	/* back to default: all TLVs */
#define REG_MNVGC	0x9034	/* can default and current be read */
#define REG_MNVGN	0x9035	/* the next TLV that has been set */
#define REG_MQIS	0x9064	/* name and description of the device */

/* Operation TLV: dwords 0 to 3 of the mailbox; register TLV: dword 4. */
#define OP_STATUS	GENMASK(14, 8)
#define OP_REGISTER	GENMASK(31, 16)	/* dword 1 */
#define OP_METHOD	GENMASK(14, 8)	/* dword 1 */
#define METHOD_SET	2		/* or get, 1 */
#define REG_DWORD	5

/* MGIR, dword 1 */
#define MGIR_PORTS	GENMASK(23, 16)
/* MNVDA: header in dwords 0 to 2; MNVGN has the same from dword 4 */
#define NV_LENGTH	GENMASK(8, 0)
#define NV_READ_CURRENT	BIT(22)
#define NV_DEFAULT	BIT(23)
#define NV_DATA		3
#define MNVGN_HEADER	4
/* MNVQC, dword 1 */
#define NVQC_READ	BIT(0)
#define NVQC_WRITE	BIT(1)
#define NVQC_VERSION	GENMASK(7, 4)
/* MNVGC, dword 0 */
#define MNVGC_DEFAULT	BIT(0)
#define MNVGC_CURRENT	BIT(1)
/* MFRL, dword 1 */
#define MFRL_TRIGGER	GENMASK(7, 0)
#define MFRL_FIRMWARE	(BIT(0) | BIT(3))	/* restarts the firmware now */
#define MFRL_WARM	BIT(6)			/* at the next warm reboot */
/* MQIS */
#define MQIS_TYPE	GENMASK(7, 0)		/* dword 0: 1 name, 2 description */
#define MQIS_LENGTH	GENMASK(15, 0)		/* dwords 1 and 2 */
#define MQIS_OFFSET	GENMASK(31, 16)		/* dword 2 */
#define MQIS_STRING	4
#define MQIS_MAX	8

void vcx_reg_set_status(u32 *mbox, enum vcx_reg_status status)
{
	mbox[0] = (mbox[0] & ~(u32)OP_STATUS) | FIELD_PREP(OP_STATUS, status);
}

/* mstconfig wants the number of ports of it. */
static enum vcx_reg_status vcx_reg_mgir(struct vcx_port *port, u32 *reg)
{
	reg[0] = port->card->preset->device;
	reg[1] = FIELD_PREP(MGIR_PORTS, port->card->nports);
	reg[2] = port->card->preset->hw_id;
	return VCX_REG_OK;
}

static enum vcx_reg_status vcx_reg_mqis(struct vcx_port *port, u32 *reg)
{
	const struct vcx_preset *preset = port->card->preset;
	const char *text = FIELD_GET(MQIS_TYPE, reg[0]) == 1 ? preset->part : preset->description;
	u32 offset = FIELD_GET(MQIS_OFFSET, reg[2]), read = FIELD_GET(MQIS_LENGTH, reg[2]);
	u32 length = strlen(text), i;

	if (offset > length)
		return VCX_REG_BAD_PARAM;
	read = min3(read, length - offset, (u32)MQIS_MAX);
	reg[1] = length;
	reg[2] = FIELD_PREP(MQIS_OFFSET, offset) | read;
	memset(reg + MQIS_STRING, 0, MQIS_MAX);
	for (i = 0; i < read; i++)
		reg[MQIS_STRING + i / 4] |= (u32)text[offset + i] << (24 - i % 4 * 8);
	return VCX_REG_OK;
}

static enum vcx_reg_status vcx_reg_mnvqc(struct vcx_port *port, u32 *reg)
{
	const struct vcx_tlv *tlv;
	unsigned int instance;

	/* Type 0 asks whether there is this register at all. */
	if (!reg[0])
		return VCX_REG_OK;
	tlv = vcx_tlv_find(port, reg[0], &instance);
	if (!tlv)
		return VCX_REG_BAD_PARAM;
	reg[1] = NVQC_READ | FIELD_PREP(NVQC_VERSION, tlv->version);
	if (!tlv->cap)
		reg[1] |= NVQC_WRITE;
	return VCX_REG_OK;
}

static enum vcx_reg_status vcx_reg_mnvda_get(struct vcx_port *port, u32 *reg)
{
	enum vcx_tlv_when when = VCX_TLV_NEXT;
	const struct vcx_tlv *tlv;
	unsigned int instance;

	tlv = vcx_tlv_find(port, reg[1], &instance);
	if (!tlv)
		return VCX_REG_RES_NOT_AVAILABLE;
	if (reg[0] & NV_DEFAULT)
		when = VCX_TLV_DEFAULT;
	else if (reg[0] & NV_READ_CURRENT)
		when = VCX_TLV_CURRENT;
	reg[0] = (reg[0] & ~(u32)NV_LENGTH) | tlv->size;
	vcx_tlv_get(port->card, tlv, instance, when, reg + NV_DATA);
	return VCX_REG_OK;
}

static enum vcx_reg_status vcx_reg_mnvda_set(struct vcx_port *port, const u32 *reg)
{
	const struct vcx_tlv *tlv;
	unsigned int instance;

	tlv = vcx_tlv_find(port, reg[1], &instance);
	if (!tlv)
		return VCX_REG_RES_NOT_AVAILABLE;
	if (FIELD_GET(NV_LENGTH, reg[0]) != tlv->size)
		return VCX_REG_BAD_PARAM;
	return vcx_tlv_set(port->card, tlv, instance, reg + NV_DATA);
}

/* Walks through the store for "backup": dword 0 is where to go on, 0 at both ends. */
static enum vcx_reg_status vcx_reg_mnvgn(struct vcx_port *port, u32 *reg)
{
	u32 *header = reg + MNVGN_HEADER;
	const struct vcx_tlv *tlv;
	bool first = !reg[0];
	unsigned int instance;

	header[0] = 0;
	header[1] = vcx_tlv_next_stored(port, &reg[0]);
	if (header[1]) {
		tlv = vcx_tlv_find(port, header[1], &instance);
		header[0] = tlv->size;
		vcx_tlv_get(port->card, tlv, instance, VCX_TLV_NEXT, header + NV_DATA);
		return VCX_REG_OK;
	}
	reg[0] = 0;
	return first ? VCX_REG_RES_NOT_AVAILABLE : VCX_REG_OK;
}

/* mstconfig asks for "warm" after each set; refused, it says "Please power cycle machine". */
static enum vcx_reg_status vcx_reg_mfrl(struct vcx_port *port, const u32 *reg)
{
	u32 trigger = FIELD_GET(MFRL_TRIGGER, reg[1]);

	if (trigger & MFRL_WARM && !vcx_fw_warm_reboot_applies(port->card))
		return VCX_REG_BAD_PARAM;
	if (trigger & MFRL_FIRMWARE)
		vcx_fw_latch(port->card);
	return VCX_REG_OK;
}

bool vcx_reg_access(struct vcx_port *port, u32 *mbox)
{
	bool set = FIELD_GET(OP_METHOD, mbox[1]) == METHOD_SET;
	enum vcx_reg_status status = VCX_REG_NOT_SUPPORTED;
	u32 *reg = mbox + REG_DWORD;

	switch (FIELD_GET(OP_REGISTER, mbox[1]) << 1 | set) {
	case REG_MGIR << 1:
		status = vcx_reg_mgir(port, reg);
		break;
	case REG_MQIS << 1:
		status = vcx_reg_mqis(port, reg);
		break;
	case REG_MNVQC << 1:
		status = vcx_reg_mnvqc(port, reg);
		break;
	case REG_MNVGC << 1:
		reg[0] |= MNVGC_DEFAULT | MNVGC_CURRENT;
		status = VCX_REG_OK;
		break;
	case REG_MNVGN << 1:
		status = vcx_reg_mnvgn(port, reg);
		break;
	case REG_MNVDA << 1:
		status = vcx_reg_mnvda_get(port, reg);
		break;
	case REG_MNVDA << 1 | 1:
		status = vcx_reg_mnvda_set(port, reg);
		break;
	case REG_MNVIA << 1 | 1:
		vcx_tlv_reset(port->card);
		status = VCX_REG_OK;
		break;
	case REG_MFRL << 1 | 1:
		status = vcx_reg_mfrl(port, reg);
		break;
	}
	vcx_reg_set_status(mbox, status);
	return set && status == VCX_REG_OK;
}
