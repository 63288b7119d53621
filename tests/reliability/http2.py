"""Just enough HTTP/2 over TLS to misbehave towards a server."""

import json
import socket
import ssl
import struct
from contextlib import suppress

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS = 0, 1, 3, 4
END_HEADERS = 4
TRAIN = "/ballast.v1.ParameterServer/Train"
WATCH = "/grpc.health.v1.Health/Watch"


def frame(kind, stream, payload=b"", flags=0):
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(
        ">I", stream) + payload


def text(value):
    """Of HPACK, without compression."""
    data = value.encode()
    assert len(data) < 127
    return bytes((len(data),)) + data


def headers(path):
    fields = ((":method", "POST"), (":scheme", "https"), (":path", path), (":authority", "server"),
              ("content-type", "application/grpc"), ("te", "trailers"))
    return b"".join(b"\0" + text(name) + text(value) for name, value in fields)


def message(body):
    """Of gRPC."""
    return struct.pack(">BI", 0, len(body)) + body


def number(value):
    """A varint of protobuf."""
    out = b""
    while value > 127:
        out += bytes((value & 127 | 128,))
        value >>= 7
    return out + bytes((value,))


def schema_hash(model):
    """Of the tensors in a safetensors file, as the protocol has it."""
    with open(model, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        tensors = {name: entry for name, entry in json.loads(file.read(size)).items()
                   if name != "__metadata__"}
    value = 0xCBF29CE484222325

    def add(data):
        nonlocal value
        for byte in data:
            value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1

    def add_number(count):
        add(struct.pack("<Q", count))

    add_number(len(tensors))
    dim = 0
    for name, entry in sorted(tensors.items(), key=lambda item: item[1]["data_offsets"]):
        add_number(len(name))
        add(name.encode())
        add_number(len(entry["shape"]))
        for extent in entry["shape"]:
            add_number(extent)
        dim += (entry["data_offsets"][1] - entry["data_offsets"][0]) // 4
    return value, dim


def join(schema, dim):
    """A WorkerMessage that joins and remembers nothing."""
    body = (b"\x08\x01" + b"\x11" + struct.pack("<Q", schema) + b"\x18" + number(dim) +
            b"\x28\x01")
    return message(b"\x0a" + number(len(body)) + body)


class Connection:
    """TLS with the certificate of a worker, as its flags name it."""

    def __init__(self, port, credentials, host="127.0.0.1", source=None, receive_bytes=None):
        _, authority, _, certificate, _, key = map(str, credentials)
        context = ssl.create_default_context(cafile=authority)
        context.load_cert_chain(certificate, key)
        context.set_alpn_protocols(["h2"])
        context.check_hostname = False
        plain = socket.socket()
        plain.settimeout(5)
        if receive_bytes:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        if source:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            plain.bind(source)
        try:
            plain.connect((host, int(port)))
            self.socket = context.wrap_socket(plain)
        except OSError:
            plain.close()
            raise
        # Windows as large as they can be: what the peer may send is not our limit.
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, struct.pack(">HI", 4, (1 << 31) - 1)) +
                            frame(8, 0, struct.pack(">I", (1 << 31) - 1 - 65535)))
        self.next_stream = 1

    def call(self, path, data=b""):
        stream = self.next_stream
        self.next_stream += 2
        payload = frame(HEADERS, stream, headers(path), END_HEADERS)
        if data:
            payload += frame(DATA, stream, data)
        self.socket.sendall(payload)
        return stream

    def is_ended(self):
        """Whether the server has ended it; reads what there is."""
        self.socket.settimeout(0.01)
        try:
            for _ in range(20):
                if not self.socket.recv(65536):
                    return True
        except (TimeoutError, ssl.SSLWantReadError):
            return False
        except OSError:
            return True
        return False

    def close(self):
        with suppress(OSError):
            self.socket.close()
