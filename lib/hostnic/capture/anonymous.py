# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for what identifies a host: the same one for the same thing, everywhere in one capture.

MAC addresses keep their order, IP addresses their common prefixes (as Crypto-PAn does it), so that what is
compared stays equal or different. The key is random and not kept.
"""

import hashlib
import ipaddress
import re
import secrets
import struct
from collections import Counter
from collections.abc import Iterable

_PAIR = "[0-9A-Fa-f]{2}"
_MAC = re.compile(rf"(?<![0-9A-Fa-f:-]){_PAIR}([:-])(?:{_PAIR}\1){{4}}{_PAIR}(?![0-9A-Fa-f:-])")
_NAMED = re.compile(r"(?<=enx)[0-9a-f]{12}(?![0-9a-f])")
"""A netdev that udev named after its MAC address."""
_UUID = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9A-Za-z])")
_IPV4 = re.compile(r"(?<![\w.])(\d{1,3}(?:\.\d{1,3}){3})(/\d{1,2})?(?![\w.]*\d)")
_IPV6 = re.compile(r"(?<![\w:.])([0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})(/\d{1,3})?(?![\w:])")
_SERIAL = re.compile(r"(?<![0-9A-Za-z_])MT[0-9]{4}[A-Z][A-Z0-9]{4,7}(?![0-9A-Za-z])")
"""The serial number of a card of NVIDIA's: MT, year and week, plant, number."""
_URL = re.compile(r"\b[a-z][a-z0-9+]*://[^\s\"'\\]+")
_KEPT_MACS = ("000000000000", "ffffffffffff")
_KEPT_BITS = {4: 5, 6: 16}
"""How many leading bits of an address stay, so that a private, link-local or multicast one remains that."""


def macs(text: str) -> set[str]:
    """The MAC addresses in ``text``, as twelve digits in lower case."""
    found = {_digits(match[0]) for match in _MAC.finditer(text)} | set(_NAMED.findall(text))
    return found.difference(_KEPT_MACS)


class Anonymous:
    """Replaces what identifies a host in texts.

    Args:
        macs: those of :func:`macs` of all texts.
        words: what is replaced as a whole word, by its kind: host names, serial numbers, switch ids.
        key: random; tests fix it.

    """

    def __init__(self, macs: Iterable[str], words: Iterable[tuple[str, str]], key: bytes = b"") -> None:
        self._key = key or secrets.token_bytes(16)
        self._macs = {mac: f"0200{number:08x}" for number, mac in enumerate(sorted(set(macs)), 1)}
        self._words: dict[str, str] = {}
        counts: Counter[str] = Counter()
        for kind, word in words:
            if word.lower() not in self._words:
                counts[kind] += 1
                self._words[word.lower()] = f"{kind}{counts[kind]:03d}"
        longest = sorted(self._words, key=len, reverse=True)
        choice = "|".join(map(re.escape, longest))
        whole = rf"(?<![0-9A-Za-z])(?:{choice})(?![0-9A-Za-z])"
        self._word = re.compile(whole, re.IGNORECASE) if choice else None

    def text(self, text: str) -> str:
        """``text`` with its stand-ins."""
        text = _URL.sub("https://left-out.invalid/", text)
        if self._word:
            text = self._word.sub(lambda match: self._words[match[0].lower()], text)
        text = _SERIAL.sub("serial", text)
        text = _UUID.sub(lambda match: self._uuid(match[0]), text)
        text = _MAC.sub(lambda match: self._mac(match[0], match[1]), text)
        text = _NAMED.sub(lambda match: self._macs.get(match[0], match[0]), text)
        text = _IPV4.sub(lambda match: self._address(match[1], match[2] or ""), text)
        return _IPV6.sub(lambda match: self._address(match[1], match[2] or ""), text)

    def number(self, address: int, bits: int) -> int:
        """The stand-in of an address of 32 or 128 bits; zero and all ones stay."""
        if address in (0, (1 << bits) - 1) or (bits == 128 and address == 1):
            return address
        found = 0
        for place in range(bits):
            above = address >> (bits - place)
            flip = self._bit(f"{bits}/{place}/{above}") if place >= _KEPT_BITS[4 if bits == 32 else 6] else 0
            found = found << 1 | (address >> (bits - 1 - place) & 1 ^ flip)
        return found

    def route(self, text: str) -> str:
        """``/proc/net/route``: addresses in hexadecimal, in the CPU's byte order."""
        rows = [line.split() for line in text.splitlines()]
        rows = [row for row in rows if len(row) == 11 and _are_hex(8, row[1], row[2], row[7])]
        for row in rows:
            row[1] = f"{self._swapped(row[1]) & int(row[7], 16):08X}"
            row[2] = f"{self._swapped(row[2]):08X}"
        return "".join("\t".join(row) + "\n" for row in rows)

    def route6(self, text: str) -> str:
        """``/proc/net/ipv6_route``: addresses in hexadecimal, each before its prefix' length."""
        rows = [line.split() for line in text.splitlines()]
        rows = [
            row
            for row in rows
            if len(row) == 10 and _are_hex(32, row[0], row[2], row[4]) and _are_hex(2, row[1], row[3])
        ]
        for row in rows:
            for column, length in ((0, int(row[1], 16)), (2, int(row[3], 16)), (4, 128)):
                mask = (1 << 128) - (1 << 128 - min(length, 128))
                row[column] = f"{self.number(int(row[column], 16), 128) & mask:032x}"
        return "".join(" ".join(row) + "\n" for row in rows)

    def _swapped(self, text: str) -> int:
        (address,) = struct.unpack(">I", struct.pack("=I", int(text, 16)))
        (found,) = struct.unpack("=I", struct.pack(">I", self.number(address, 32)))
        return found

    def _address(self, text: str, length: str) -> str:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return text + length
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:  # a GID has the address so
            mapped = self.number(int(address.ipv4_mapped), 32)
            return f"::ffff:{mapped >> 16:x}:{mapped & 0xFFFF:x}{length}"
        if int(address) == 0 or address.is_loopback:
            return text + length
        bits = address.max_prefixlen
        number = self.number(int(address), bits)
        host = bits - int(length[1:] or bits)
        if host > 0 and not int(address) & (1 << host) - 1:
            number = number >> host << host  # a network stays one
        return f"{type(address)(number)}{length}"

    def _mac(self, text: str, separator: str) -> str:
        digits = self._macs.get(_digits(text), _digits(text))
        found = separator.join(digits[place : place + 2] for place in range(0, 12, 2))
        return found.upper() if text.isupper() else found

    def _uuid(self, text: str) -> str:
        digits = hashlib.sha256(self._key + text.lower().encode()).hexdigest()[:32]
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def _bit(self, place: str) -> int:
        return hashlib.sha256(self._key + place.encode()).digest()[0] & 1


def _are_hex(digits: int, *texts: str) -> bool:
    return all(re.fullmatch(f"[0-9a-fA-F]{{{digits}}}", text) for text in texts)


def _digits(mac: str) -> str:
    return mac.replace(":", "").replace("-", "").lower()
