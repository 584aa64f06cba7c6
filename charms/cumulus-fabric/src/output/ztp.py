# SPDX-License-Identifier: Apache-2.0
"""The script that a switch from the factory runs at its first boot (zero touch provisioning). Pure.

It has no password: the factory's stays, and has expired, until ``first-password`` replaces it. Key and
certificate are made on the switch. Each step looks first, so that the script may run again.

Facts: Cumulus Linux user guide, "Zero Touch Provisioning" (DHCP option 239, the mark
CUMULUS-AUTOPROVISIONING, the script runs as root) and "NVUE API" (``system api`` from 5.6 on, nginx's site
before, and the files of the certificate that each switch makes for itself).
"""

import ipaddress
import shlex

from intent.model import Switch

SCRIPT = r"""#!/bin/bash
# CUMULUS-AUTOPROVISIONING
# First boot of @SWITCH@.
#
# Put this file on a web server of the management network as @SWITCH@.sh, and have DHCP lead the switch to
# it. The MAC address is that of eth0, on the label of the switch.
#
# ISC dhcpd:  option cumulus-provision-url code 239 = text;
#             host @SWITCH@ { hardware ethernet MAC; @FIXED@option host-name "@SWITCH@";
#               option cumulus-provision-url "http://SERVER/@SWITCH@.sh"; }
# dnsmasq:    dhcp-host=MAC,@LEASE@set:@SWITCH@
#             dhcp-option=tag:@SWITCH@,239,"http://SERVER/@SWITCH@.sh"
set -euo pipefail

name=@NAME@
address=@ADDRESS@
port=@PORT@
certificate=/etc/ssl/certs/cumulus.pem
key=/etc/ssl/private/cumulus.key
site=/etc/nginx/sites-available/nvue.conf
enabled=/etc/nginx/sites-enabled/nvue.conf

say() { echo "$*"; logger -t ztp-fabric -- "$*"; }
trap 'say "failed in line $LINENO; run it again with: ztp --run FILE"' ERR

presented() { timeout 20 openssl s_client -connect "localhost:$port" </dev/null 2>/dev/null | fingerprint; }
fingerprint() { openssl x509 -noout -fingerprint -sha256 "$@" | sed 's/.*=//'; }

# NVUE starts after ZTP on some releases.
for _ in $(seq 60); do
    if nv show system >/dev/null 2>&1; then break; fi
    sleep 5
done
nv show system >/dev/null

# 1. The certificate: for the address that cumulus-fabric connects to.
fits() {
    [ -s "$key" ] && openssl x509 -in "$certificate" -noout -checkend 86400 >/dev/null 2>&1 &&
        openssl x509 -in "$certificate" -noout @CHECK@ "$address" | grep -q 'does match' &&
        [ "$(openssl x509 -in "$certificate" -noout -pubkey)" = "$(openssl pkey -in "$key" -pubout)" ]
}
renewed=no
if ! fits; then
    made=$(umask 077; mktemp -d)
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj "/CN=$name" \
        -addext "subjectAltName=@KIND@:$address,DNS:$name" \
        -keyout "$made/key" -out "$made/certificate" 2>/dev/null
    # Onto the files that are there: these keep their owner and mode.
    (umask 077; cp --no-preserve=mode "$made/key" "$key")
    cp --no-preserve=mode "$made/certificate" "$certificate"
    chmod 644 "$certificate"
    rm -rf "$made"
    renewed=yes
    say "made a certificate for $address"
fi

# 2. The name, and NVUE's REST API.
listens() { [ -n "$(presented || true)" ]; }
changed=no
if [ "$(hostname)" != "$name" ]; then
    nv set system hostname "$name"
    changed=yes
fi
if ! listens; then
    if [ -f "$site" ] && ! nv show system api >/dev/null 2>&1; then
        # 5.5 has no system api.
        ln -sfn "$site" "$enabled"
        sed -i "s/listen localhost:8765 ssl;/listen [::]:$port ipv6only=off ssl;/" "$site"
        renewed=yes
    else
        nv set system api state enabled
        nv set system api port "$port"
        changed=yes
    fi
fi
if [ "$changed" = yes ]; then
    nv config apply -y
    say "set name and REST API"
fi
# Up to 5.8 an apply does not save.
unsaved=$(nv config diff startup applied)
if [ -n "$unsaved" ]; then nv config save; fi

# 3. What answers now has to be this certificate: cumulus-fabric trusts it by its fingerprint.
if [ "$renewed" = yes ] || [ "$(presented || true)" != "$(fingerprint -in "$certificate")" ]; then
    systemctl restart nginx
fi
for _ in $(seq 30); do
    if [ "$(presented || true)" = "$(fingerprint -in "$certificate")" ]; then break; fi
    sleep 2
done
[ "$(presented)" = "$(fingerprint -in "$certificate")" ]

# 4. For the first login: compare with what first-password and pins show.
say "certificate: $name=$(fingerprint -in "$certificate")"
for public in /etc/ssh/ssh_host_*_key.pub; do
    say "host key: $(ssh-keygen -lf "$public")"
done
say "ready: run first-password, which replaces the factory's password"
exit 0
"""


def script(switch: Switch) -> str:
    """The script of a switch that has NVUE and a management address, ending in a newline."""
    address = switch.management
    try:
        version = ipaddress.ip_address(address).version
    except ValueError:
        version = 0  # a host name
    words = {
        "@SWITCH@": switch.name,
        "@FIXED@": f"fixed-address {address}; " if version == 4 else "",
        "@LEASE@": f"{address}," if version == 4 else "",
        "@NAME@": shlex.quote(switch.name),
        "@ADDRESS@": shlex.quote(address),
        "@PORT@": str(switch.api_port),
        "@CHECK@": "-checkip" if version else "-checkhost",
        "@KIND@": "IP" if version else "DNS",
    }
    text = SCRIPT
    for mark, word in words.items():
        text = text.replace(mark, word)
    return text
