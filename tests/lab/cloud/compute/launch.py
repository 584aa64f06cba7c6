# SPDX-License-Identifier: Apache-2.0
"""nova-compute as a lab's node starts it: the command's own package brings a host's services.

Nova and os-vif would start a daemon each for what needs privileges, and each daemon imports all of Nova
again: minutes, under emulation. Here nova-compute is root and does it itself.
"""

import sys

from nova.cmd import compute  # first: it decides about eventlet, before anything else is imported
from nova.privsep import sys_admin_pctxt
from vif_plug_ovs.privsep import vif_plug

if __name__ == "__main__":
    for context in (sys_admin_pctxt, vif_plug):
        context.set_client_mode(False)
    sys.exit(compute.main())
