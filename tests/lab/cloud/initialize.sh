#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs in the root, with MariaDB up: creates the databases, Keystone's keys and first user, and Nova's cell.
# usage: initialize.sh KEYSTONE-URL PASSWORD REGION DATABASE-URL-OF-CELL-0 DATABASE-URL-OF-CELL-1 RABBIT-URL
set -eu
keystone=$1 password=$2 region=$3 cell0=$4 cell1=$5 rabbit=$6
for name in keystone glance placement nova_api nova nova_cell0 neutron; do
    echo "CREATE DATABASE $name CHARACTER SET utf8mb3;"
done | mariadb
keystone() {
    keystone-manage db_sync
    for keys in fernet credential; do
        keystone-manage "${keys}_setup" --keystone-user root --keystone-group root
    done
    keystone-manage bootstrap --bootstrap-password "$password" --bootstrap-region-id "$region" \
        --bootstrap-public-url "$keystone" --bootstrap-internal-url "$keystone" --bootstrap-admin-url "$keystone"
    glance-manage db_sync
    placement-manage db sync
}
nova() {
    nova-manage api_db sync
    nova-manage cell_v2 map_cell0 --database_connection "$cell0"
    nova-manage cell_v2 create_cell --name cell1 --transport-url "$rabbit" --database_connection "$cell1"
    nova-manage db sync
}
# Nova's takes about as long as the others together.
nova &
keystone
neutron-db-manage --config-file /etc/neutron/neutron.conf \
    --config-file /etc/neutron/plugins/ml2/ml2_conf.ini upgrade heads
wait $!
