# SPDX-License-Identifier: Apache-2.0
"""The region's settings, its images, and the kernels that machines may have for them."""

from lab.maas.refusal import RefusedError, get

SETTINGS = {"upstream_dns": None, "commissioning_distro_series": "jammy", "enable_http_proxy": True}


def image(number, kernel, series="jammy", *, complete=True):
    """An image as `boot-resources/` lists it; the versions of one are only told of that one."""
    own = {"id": number, "type": "Synced", "name": f"ubuntu/{series}", "architecture": f"amd64/{kernel}"}
    own |= {"subarches": "generic,hwe-p,hwe-v,ga-20.04,ga-22.04", "last_deployed": None}
    return {**own, "sets": {"20240912": {"version": "20240912", "label": "stable", "complete": complete}}}


class Settings:
    """The parts of the region that are no object of a network or a machine."""

    def __init__(self):
        self.config = dict(SETTINGS)
        kernels = ("ga-22.04", "hwe-22.04", "hwe-22.04-edge")
        self.boot_resources = [image(number, kernel) for number, kernel in enumerate(kernels, 1)]
        self.racks_have_images = True
        """Whether the rack controllers have got them from the region."""
        self.rack_status = {}
        """By host name, what a rack controller is that is not `synced`; `unknown` if it is not connected."""

    def setting(self, op, name, value=None):
        """Answer `get_config` or `set_config`."""
        if name not in self.config:
            known = f"valid settings are: {', '.join(self.config)}"
            raise RefusedError(400, {name: [f"{name} is not a valid config setting ({known})."]})
        self.config[name] = value if op == "set_config" else self.config[name]
        return "OK" if op == "set_config" else self.config[name]

    def images(self, number=""):
        """All without their versions, or one with them."""
        if number:
            return get("BootResource", self.boot_resources, "id", number)
        return [{k: v for k, v in each.items() if k != "sets"} for each in self.boot_resources]

    def rack_images(self, rack):
        """Return a rack controller's images: list_boot_images in models/node.py of MAAS 3.4."""
        status = self.rack_status.get(rack["hostname"], "synced" if self.racks_have_images else "out-of-sync")
        found = {}
        for each in self.boot_resources if self.racks_have_images and status != "unknown" else ():
            architecture, _, kernel = each["architecture"].partition("/")
            if any(version["complete"] for version in each["sets"].values()):
                levels = found.setdefault((each["name"], architecture), set())
                levels |= {kernel, *each["subarches"].split(",")}
        images = [
            {"name": name, "architecture": architecture, "subarches": sorted(levels)}
            for (name, architecture), levels in found.items()
        ]
        return {"images": images, "connected": status != "unknown", "status": status}

    def architectures(self):
        """Those of which there is an image."""
        return sorted({each["architecture"].partition("/")[0] for each in self.boot_resources})

    def kernels(self):
        """Those of complete images, and those that they stand for."""
        whole = [each for each in self.boot_resources if any(v["complete"] for v in each["sets"].values())]
        known = {each["architecture"].partition("/")[2] for each in whole}
        known |= {level for each in whole for level in each["subarches"].split(",")}
        return {kernel for kernel in known if kernel.startswith(("ga-", "hwe-"))}
