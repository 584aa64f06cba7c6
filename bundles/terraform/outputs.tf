# SPDX-License-Identifier: Apache-2.0

output "app_names" {
  description = "Names of the applications in the model, by charm."
  value = merge(
    {
      "nic-firmware"    = module.nic_firmware.app_name
      "sriov-switchdev" = module.sriov_switchdev.app_name
      "roce-qos"        = module.roce_qos.app_name
    },
    { for each in module.cumulus_fabric : "cumulus-fabric" => each.app_name }
  )
}
