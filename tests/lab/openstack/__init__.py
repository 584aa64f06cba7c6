# SPDX-License-Identifier: Apache-2.0
"""An OpenStack for tests: Keystone, Nova, Neutron and Glance behind one HTTP server, as far as tools ask.

Bodies, statuses, microversions and messages are those of the services in 2022.1 (Yoga) and 2024.1:
keystone/api/auth.py, nova/api/openstack/wsgi.py, neutron_lib/exceptions, glance/api/v2/images.py. machines.py
has the servers and their compute nodes, behind ssh and juju.
"""
