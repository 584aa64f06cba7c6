# SPDX-License-Identifier: Apache-2.0
# The four charms beside a nova-compute that is in the model, related and set as in the bundles.

locals {
  num_vfs = tostring(var.num_vfs)
  fabric  = var.intent != null
  given = {
    for name, value in { intent = var.intent, credentials = var.credentials } : name => value if value != null
  }

  defaults = {
    # One charm requests the one reboot of a node: sriov-switchdev.
    "nic-firmware"    = { num-vfs = local.num_vfs, reboot-owner = "sriov-switchdev" }
    "sriov-switchdev" = { num-vfs = local.num_vfs }
    "roce-qos"        = {}
    "cumulus-fabric"  = local.given
  }
  config = { for charm, options in local.defaults : charm => merge(options, lookup(var.config, charm, {})) }
}

module "nic_firmware" {
  source     = "../../charms/nic-firmware/terraform"
  model_uuid = var.model_uuid
  base       = var.base
  channel    = var.channel
  config     = local.config["nic-firmware"]
}

module "sriov_switchdev" {
  source     = "../../charms/sriov-switchdev/terraform"
  model_uuid = var.model_uuid
  base       = var.base
  channel    = var.channel
  config     = local.config["sriov-switchdev"]
}

module "roce_qos" {
  source     = "../../charms/roce-qos/terraform"
  model_uuid = var.model_uuid
  base       = var.base
  channel    = var.channel
  config     = local.config["roce-qos"]
}

module "cumulus_fabric" {
  source     = "../../charms/cumulus-fabric/terraform"
  count      = local.fabric ? 1 : 0
  model_uuid = var.model_uuid
  base       = var.base
  channel    = var.channel
  config     = local.config["cumulus-fabric"]
}

resource "juju_access_secret" "credentials" {
  count        = local.fabric && var.credentials != null ? 1 : 0
  model_uuid   = var.model_uuid
  secret_id    = trimprefix(var.credentials, "secret:")
  applications = [module.cumulus_fabric[0].app_name]
}

resource "juju_integration" "nova_compute" {
  for_each = {
    nic_firmware    = module.nic_firmware
    sriov_switchdev = module.sriov_switchdev
    roce_qos        = module.roce_qos
  }
  model_uuid = var.model_uuid

  application {
    name     = each.value.app_name
    endpoint = each.value.requires.juju_info
  }

  application {
    name     = var.nova_compute
    endpoint = "juju-info"
  }
}

resource "juju_integration" "fabric" {
  count      = local.fabric ? 1 : 0
  model_uuid = var.model_uuid

  application {
    name     = module.roce_qos.app_name
    endpoint = module.roce_qos.requires.fabric
  }

  application {
    name     = module.cumulus_fabric[0].app_name
    endpoint = module.cumulus_fabric[0].provides.fabric
  }
}
