# SPDX-License-Identifier: Apache-2.0

resource "juju_application" "roce_qos" {
  name       = var.app_name
  model_uuid = var.model_uuid
  config     = var.config

  charm {
    name     = "roce-qos"
    base     = var.base
    channel  = var.channel
    revision = var.revision
  }
}
