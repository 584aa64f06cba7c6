# SPDX-License-Identifier: Apache-2.0

resource "juju_application" "nic_firmware" {
  name       = var.app_name
  model_uuid = var.model_uuid
  config     = var.config
  resources  = var.resources

  charm {
    name     = "nic-firmware"
    base     = var.base
    channel  = var.channel
    revision = var.revision
  }
}
