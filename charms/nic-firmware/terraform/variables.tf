# SPDX-License-Identifier: Apache-2.0

variable "app_name" {
  description = "Name of the application in the model."
  type        = string
  default     = "nic-firmware"
}

variable "base" {
  description = "Base of the machines: ubuntu@22.04 or ubuntu@24.04."
  type        = string
  default     = "ubuntu@22.04"

  validation {
    condition     = contains(["ubuntu@22.04", "ubuntu@24.04"], var.base)
    error_message = "base is ubuntu@22.04 or ubuntu@24.04."
  }
}

variable "channel" {
  description = "Channel of the charm on Charmhub."
  type        = string
  default     = "latest/stable"
}

variable "config" {
  description = "Options of charmcraft.yaml by name, each as text."
  type        = map(string)
  default     = {}
}

variable "model_uuid" {
  description = "UUID of the model."
  type        = string
}

variable "resources" {
  description = "Revisions of the resources on Charmhub by name: firmware."
  type        = map(string)
  default     = {}
}

variable "revision" {
  description = "Revision of the charm; null for the newest one of the channel."
  type        = number
  default     = null
}
