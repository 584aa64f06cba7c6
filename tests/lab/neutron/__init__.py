# SPDX-License-Identifier: Apache-2.0
"""A real Neutron on a real northd and OVSDB, and Nova's own parser of PCI whitelists, without root or guest.

`install` brings the programs into the cache: of PyPI and Debian, or of Ubuntu's packages; `processes`
starts and ends them, `services` is Neutron with OVN. `region` puts it into the simulated OpenStack of
`lab.openstack` in place of the simulated Neutron. `nova` asks the parser. `server`, `schema` and
`whitelist` run in the environments of Neutron and Nova.
"""
