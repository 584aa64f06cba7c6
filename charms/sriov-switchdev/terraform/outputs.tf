# SPDX-License-Identifier: Apache-2.0

output "app_name" {
  description = "Name of the application in the model."
  value       = juju_application.sriov_switchdev.name
}

output "provides" {
  description = "Endpoints that the charm provides."
  value = {
    cos_agent        = "cos-agent"
    metrics_endpoint = "metrics-endpoint"
  }
}

output "requires" {
  description = "Endpoints that the charm requires."
  value = {
    juju_info = "juju-info"
  }
}
