# SPDX-License-Identifier: Apache-2.0

output "app_name" {
  description = "Name of the application in the model."
  value       = juju_application.cumulus_fabric.name
}

output "provides" {
  description = "Endpoints that the charm provides."
  value = {
    fabric           = "fabric"
    metrics_endpoint = "metrics-endpoint"
  }
}

output "requires" {
  description = "Endpoints that the charm requires."
  value       = {}
}
