# SPDX-License-Identifier: Apache-2.0

output "app_name" {
  description = "Name of the application in the model."
  value       = juju_application.roce_qos.name
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
    fabric    = "fabric"
    juju_info = "juju-info"
  }
}
