#!/usr/bin/env python3
"""Decodes a TensorBoard event file by the published format and nothing of ours, for the tests.

Usage: tests/decode_events.py EVENTS OUT.json

Writes a list of events: {"wall_time", "step", "file_version", "scalars": {tag: value}}, each with
the fields it has. Fails on a wrong checksum, a cut-off record or a field it does not know.
"""

import json
import struct
import sys


def crc32c(data):
    """Bit by bit, as in the definition."""
    rest = 0xFFFFFFFF
    for byte in data:
        rest ^= byte
        for _ in range(8):
            rest = (rest >> 1) ^ (0x82F63B78 if rest & 1 else 0)
    return rest ^ 0xFFFFFFFF


def check(data, stored):
    checksum = crc32c(data)
    masked = (((checksum >> 15) | (checksum << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    if masked != stored:
        sys.exit(f"checksum {stored:#x} instead of {masked:#x}")


def records(data):
    while data:
        length, stored = struct.unpack_from("<QI", data)
        check(data[:8], stored)
        body = data[12:12 + length]
        check(body, *struct.unpack_from("<I", data, 12 + length))
        yield body
        data = data[16 + length:]


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Yields (number, value) of each field of a message; bytes stay bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            layout, size = {1: ("<d", 8), 5: ("<f", 4)}[kind]
            value, at = struct.unpack_from(layout, data, at)[0], at + size
        yield number, value


def scalars(summary):
    for number, value in fields(summary):
        parts = dict(fields(value))
        if number != 1 or set(parts) != {1, 2}:
            sys.exit(f"a summary with unknown fields: {number}, {sorted(parts)}")
        yield parts[1].decode("utf-8"), parts[2]


def event(body):
    names = {1: "wall_time", 2: "step", 3: "file_version", 5: "scalars"}
    found = {names[number]: value for number, value in fields(body)}
    if "file_version" in found:
        found["file_version"] = found["file_version"].decode("utf-8")
    if "scalars" in found:
        found["scalars"] = dict(scalars(found["scalars"]))
    return found


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as file:
        events = [event(body) for body in records(file.read())]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(events, file)


if __name__ == "__main__":
    main()
