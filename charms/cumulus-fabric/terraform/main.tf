# SPDX-License-Identifier: Apache-2.0

resource "juju_application" "cumulus_fabric" {
  name        = var.app_name
  model_uuid  = var.model_uuid
  config      = var.config
  constraints = var.constraints
  units       = 1 # one for each site
  resources   = var.resources

  charm {
    name     = "cumulus-fabric"
    base     = var.base
    channel  = var.channel
    revision = var.revision
  }
}
