// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tools' door to the firmware, as mstflint's mtcr uses it: the functional
 * vendor-specific capability of each PF gives 32-bit accesses to address
 * spaces, of which three are here: the configuration registers (only the
 * device's hardware id), the semaphores, and the ICMD mailbox.
 */
#include "fw.h"

/* Registers of the capability */
#define VSC_CTRL	0x04	/* address space, and in the top bits whether it exists */
#define VSC_COUNTER	0x08	/* a new ticket at each read */
#define VSC_SEMAPHORE	0x0c	/* the ticket of the holder, 0: free */
#define VSC_ADDR	0x10
#define VSC_DATA	0x14

#define VSC_SPACE	GENMASK(15, 0)
#define VSC_SUPPORTED	BIT(29)
#define VSC_FLAG	BIT(31)	/* of the address: a write begins with 1, a read ends with 1 */

#define SPACE_ICMD_EXT	0x1
#define SPACE_CR	0x2
#define SPACE_ICMD	0x3
#define SPACE_SEMAPHORE	0xa
#define VSC_SPACES \
	(BIT(SPACE_ICMD_EXT) | BIT(SPACE_CR) | BIT(SPACE_ICMD) | BIT(SPACE_SEMAPHORE))

#define CR_HW_ID	0xf0014
#define SEMAPHORE_ICMD	0x0

#define ICMD_CTRL	0x0
#define ICMD_SIZE	0x1000
#define ICMD_MBOX	0x100000

#define ICMD_BUSY	BIT(0)
#define ICMD_STATUS	GENMASK(15, 8)
#define ICMD_STATUS_INVALID_OPCODE	BIT(8)
#define ICMD_OPCODE_SHIFT	16
#define ICMD_ACCESS_REGISTER	0x9001

/*
 * A command that changes the store is done when the file is on the disk, so
 * that a power cycle right after "Done!" loses nothing: until then the mailbox
 * stays busy, and the tool polls.
 */
static void vcx_vsc_save(struct work_struct *work)
{
	struct vcx_vsc *vsc = container_of(work, struct vcx_vsc, save);

	if (vcx_fw_save(vsc->port->card))
		vcx_reg_set_status(vsc->mbox, VCX_REG_INTERNAL_ERROR);
	/* The mailbox's status before the end of busy; pairs with the loads below. */
	smp_store_release(&vsc->icmd_ctrl, vsc->icmd_ctrl & ~ICMD_BUSY);
}

static void vcx_icmd_go(struct vcx_vsc *vsc, u32 ctrl)
{
	ctrl &= ~(u32)ICMD_STATUS;
	if (ctrl >> ICMD_OPCODE_SHIFT != ICMD_ACCESS_REGISTER) {
		vsc->icmd_ctrl = (ctrl & ~ICMD_BUSY) | ICMD_STATUS_INVALID_OPCODE;
		return;
	}
	vsc->icmd_ctrl = ctrl;
	if (vcx_reg_access(vsc->port, vsc->mbox))
		schedule_work(&vsc->save);
	else
		vsc->icmd_ctrl &= ~ICMD_BUSY;
}

static void vcx_icmd_write(struct vcx_vsc *vsc, u32 addr, u32 val)
{
	/* Pairs with the release in vcx_vsc_save(). */
	if (smp_load_acquire(&vsc->icmd_ctrl) & ICMD_BUSY)
		return;
	if (addr == ICMD_CTRL) {
		if (val & ICMD_BUSY)
			vcx_icmd_go(vsc, val);
		else
			vsc->icmd_ctrl = val;
	} else if (addr >= ICMD_MBOX && addr - ICMD_MBOX < VCX_MBOX_BYTES) {
		vsc->mbox[(addr - ICMD_MBOX) / 4] = val;
	}
}

static u32 vcx_icmd_read(struct vcx_vsc *vsc, u32 addr)
{
	if (addr == ICMD_CTRL)
		return smp_load_acquire(&vsc->icmd_ctrl);	/* pairs with vcx_vsc_save() */
	if (addr == ICMD_SIZE)
		return VCX_MBOX_BYTES;
	if (addr >= ICMD_MBOX && addr - ICMD_MBOX < VCX_MBOX_BYTES)
		return vsc->mbox[(addr - ICMD_MBOX) / 4];
	return 0;
}

static u32 vcx_space_read(struct vcx_vsc *vsc, u32 addr)
{
	switch (vsc->ctrl & VSC_SPACE) {
	case SPACE_CR:
		return addr == CR_HW_ID ? vsc->port->card->preset->hw_id : 0;
	case SPACE_ICMD:
	case SPACE_ICMD_EXT:
		return vcx_icmd_read(vsc, addr);
	case SPACE_SEMAPHORE:
		return addr == SEMAPHORE_ICMD ? vsc->icmd_semaphore : 0;
	}
	return 0;
}

static void vcx_space_write(struct vcx_vsc *vsc, u32 addr, u32 val)
{
	switch (vsc->ctrl & VSC_SPACE) {
	case SPACE_ICMD:
	case SPACE_ICMD_EXT:
		vcx_icmd_write(vsc, addr, val);
		break;
	case SPACE_SEMAPHORE:
		if (addr == SEMAPHORE_ICMD && (!vsc->icmd_semaphore || !val))
			vsc->icmd_semaphore = val;
		break;
	}
}

static void vcx_vsc_access(struct vcx_vsc *vsc, u32 addr)
{
	vsc->addr = addr ^ VSC_FLAG;
	if (addr & VSC_FLAG)
		vcx_space_write(vsc, addr & ~VSC_FLAG, vsc->data);
	else
		vsc->data = vcx_space_read(vsc, addr);
}

u32 vcx_vsc_read(struct vcx_port *port, int offset)
{
	struct vcx_vsc *vsc = vcx_vsc_of(port);

	switch (offset) {
	case VSC_CTRL:
		return vsc->ctrl;
	case VSC_COUNTER:
		return ++vsc->counter ?: ++vsc->counter;
	case VSC_SEMAPHORE:
		return vsc->semaphore;
	case VSC_ADDR:
		return vsc->addr;
	}
	return vsc->data;
}

void vcx_vsc_write(struct vcx_port *port, int offset, u32 val)
{
	struct vcx_vsc *vsc = vcx_vsc_of(port);

	switch (offset) {
	case VSC_CTRL:
		val &= VSC_SPACE;
		vsc->ctrl = val | (val < 32 && BIT(val) & VSC_SPACES ? VSC_SUPPORTED : 0);
		break;
	case VSC_SEMAPHORE:
		if (!vsc->semaphore || !val)
			vsc->semaphore = val;
		break;
	case VSC_ADDR:
		vcx_vsc_access(vsc, val);
		break;
	case VSC_DATA:
		vsc->data = val;
		break;
	}
}

void vcx_vsc_init(struct vcx_vsc *vsc, struct vcx_port *port)
{
	vsc->port = port;
	INIT_WORK(&vsc->save, vcx_vsc_save);
}
