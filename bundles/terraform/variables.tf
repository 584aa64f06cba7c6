# SPDX-License-Identifier: Apache-2.0

variable "base" {
  description = "Base of the machines: ubuntu@22.04 or ubuntu@24.04."
  type        = string
  default     = "ubuntu@22.04"
}

variable "channel" {
  description = "Channel of the charms on Charmhub."
  type        = string
  default     = "latest/stable"
}

variable "config" {
  description = "Further options by charm and name, each as text; they come before what this module sets."
  type        = map(map(string))
  default     = {}
}

variable "credentials" {
  description = "URI of the Juju secret with the switches' credentials, as juju add-secret prints it."
  type        = string
  default     = null
}

variable "intent" {
  description = "The fabric's intent as text, such as file(\"intent.yaml\"); null for a site without cumulus-fabric."
  type        = string
  default     = null
}

variable "model_uuid" {
  description = "UUID of the model."
  type        = string
}

variable "nova_compute" {
  description = "Name of nova-compute in the model."
  type        = string
  default     = "nova-compute"
}

variable "num_vfs" {
  description = "VFs on each port."
  type        = number
  default     = 8
}
