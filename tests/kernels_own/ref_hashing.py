"""Ciphers, digests, checksums, codes: against Python's own libraries where it has them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
import struct
import zlib

import numpy as np

from tests.kernels_own.kit import Array, Case, Launch, kernel, rng, u32, words


def _gf_times(a: int, b: int) -> int:
    product = 0
    for bit in range(8):
        product ^= (a << bit) * (b >> bit & 1)
    for bit in range(14, 7, -1):
        product ^= (0x11B << (bit - 8)) * (product >> bit & 1)
    return product


def _sbox() -> list[int]:
    inverse = [0] * 256
    for a in range(1, 256):
        inverse[a] = next(b for b in range(1, 256) if _gf_times(a, b) == 1)
    turned = [[(v << n | v >> (8 - n)) & 255 for n in range(5)] for v in inverse]
    return [t[0] ^ t[1] ^ t[2] ^ t[3] ^ t[4] ^ 0x63 for t in turned]


def _round_keys(key: bytes, sbox: list[int]) -> bytes:
    words = [list(key[i : i + 4]) for i in range(0, 16, 4)]
    constant = 1
    for i in range(4, 44):
        word = list(words[-1])
        if i % 4 == 0:
            word = [sbox[b] for b in word[1:] + word[:1]]
            word[0] ^= constant
            constant = _gf_times(constant, 2)
        words.append([a ^ b for a, b in zip(word, words[i - 4], strict=True)])
    return bytes(b for word in words for b in word)


MIX = ((2, 3, 1, 1), (1, 2, 3, 1), (1, 1, 2, 3), (3, 1, 1, 2))


def _encrypt(block: bytes, keys: bytes, sbox: list[int]) -> bytes:
    """FIPS 197 by the letter: the state is a 4 by 4 matrix in columns."""
    state = [a ^ b for a, b in zip(block, keys, strict=False)]
    for number in range(1, 11):
        state = [sbox[b] for b in state]
        state = [state[(i + 4 * (i % 4)) % 16] for i in range(16)]
        if number < 10:
            columns = [state[i : i + 4] for i in range(0, 16, 4)]
            state = [
                _gf_times(row[0], c[0])
                ^ _gf_times(row[1], c[1])
                ^ _gf_times(row[2], c[2])
                ^ _gf_times(row[3], c[3])
                for c in columns
                for row in MIX
            ]
        state = [a ^ b for a, b in zip(state, keys[16 * number :], strict=False)]
    return bytes(state)


@kernel("sm_50", "sm_52-line")
def aes128() -> Case:
    g, sbox = rng("aes"), _sbox()
    key = bytes.fromhex("000102030405060708090a0b0c0d0e0f")
    first = bytes.fromhex("00112233445566778899aabbccddeeff")
    keys = _round_keys(key, sbox)
    plain = np.frombuffer(first + g.bytes(63 * 16), np.uint8)
    secret = b"".join(_encrypt(plain[i : i + 16].tobytes(), keys, sbox) for i in range(0, 1024, 16))
    assert secret[:16].hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"  # FIPS 197, appendix C.1
    a, b = g.integers(0, 256, (2, 64), dtype=np.uint8)
    products = np.array([_gf_times(int(x), int(y)) for x, y in zip(a, b, strict=True)], np.uint8)
    return Case(
        {"in": plain, "out": np.zeros(1024, np.uint8), "a": a, "b": b, "c": np.zeros(64, np.uint8)},
        [Launch("aes128", 2, 32, ["in", "out"]), Launch("gf_products", 1, 64, ["a", "b", "c"])],
        {"out": np.frombuffer(secret, np.uint8), "c": products},
        symbols={"round_keys": np.frombuffer(keys, np.uint8)},
    )


def _digests(name: str, messages: list[bytes]) -> Array:
    return np.frombuffer(b"".join(hashlib.new(name, m).digest() for m in messages), np.uint32)


@kernel("sm_50-line", "sm_60")
def sha1() -> Case:
    g = rng("sha1")
    messages = [g.bytes(n) for n in [0, 1, 3, 54, 55, 56, 63, 64, 65, *range(70, 116, 2)]]
    offsets = np.cumsum([0] + [len(m) for m in messages]).astype(np.uint32)
    text = np.frombuffer(b"".join(messages), np.uint8)
    return Case(
        {"text": text, "at": offsets, "out": np.zeros(5 * len(messages), np.uint32)},
        [Launch("sha1", 1, len(messages), ["text", "at", "out"])],
        {"out": _digests("sha1", messages)},
    )


def _padded(message: bytes) -> bytes:
    return message + b"\x80" + bytes(55 - len(message)) + struct.pack("<Q", 8 * len(message))


@kernel("sm_50", "sm_53-line")
def md5() -> Case:
    g = rng("md5")
    messages = [g.bytes(n) for n in range(56)] + [b"abc"] * 8
    sines = np.array([int(abs(math.sin(i + 1)) * 2**32) for i in range(64)], np.uint32)
    blocks = np.frombuffer(b"".join(map(_padded, messages)), np.uint32)
    return Case(
        {"m": blocks, "out": np.zeros(4 * 64, np.uint32)},
        [Launch("md5", 1, 64, ["m", "out"])],
        {"out": _digests("md5", messages)},
        symbols={"sines": sines},
    )


@kernel("sm_50", "sm_61-line")
def keccak() -> Case:
    length = 85
    messages = [rng(f"keccak{i}").bytes(length) for i in range(32)]
    return Case(
        {
            "text": np.frombuffer(b"".join(messages), np.uint8),
            "out": np.zeros(128, np.uint64),
        },
        [Launch("keccak", 1, 32, ["text", np.int32(length), "out"])],
        {"out": _digests("sha3_256", messages).view(np.uint64)},
    )


def _chacha_block(key: list[int], counter: int, nonce: list[int]) -> list[int]:
    """RFC 8439, section 2.3."""
    first = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *key, counter, *nonce]
    x = list(first)
    rows = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
    diagonals = ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))
    for _ in range(10):
        for a, b, c, d in rows + diagonals:
            for into, add, turn, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                x[into] = (x[into] + x[add]) & 0xFFFFFFFF
                v = x[turn] ^ x[into]
                x[turn] = (v << n | v >> (32 - n)) & 0xFFFFFFFF
    return [(a + b) & 0xFFFFFFFF for a, b in zip(x, first, strict=True)]


@kernel("sm_50-line", "sm_62")
def chacha20() -> Case:
    g = rng("chacha")
    key, nonce = u32(g, 8), u32(g, 3)
    counter = 0xFFFFFFF8
    text = u32(g, 16 * 32)
    stream: list[int] = []
    for block in range(32):
        now = (counter + block) & 0xFFFFFFFF
        stream += _chacha_block(key.tolist(), now, nonce.tolist())
    packed = key.tobytes() + nonce.tobytes() + struct.pack("<I", counter)
    return Case(
        {"in": text, "out": np.zeros_like(text)},
        [Launch("chacha20", 2, 64, [packed, "in", "out"])],
        {"out": text ^ np.array(stream, np.uint32)},
    )


def _crc(data: bytes, bits: int, poly: int, init: int, xor: int, reflect: bool) -> int:
    """A CRC as the remainder of a polynomial division over big integers."""
    stream = [(b >> (i if reflect else 7 - i)) & 1 for b in data for i in range(8)]
    value = int("".join(map(str, stream)), 2) << bits
    value ^= init << (8 * len(data))
    full = poly | 1 << bits
    for at in range(8 * len(data) + bits - 1, bits - 1, -1):
        if value >> at & 1:
            value ^= full << (at - bits)
    if reflect:
        value = int(f"{value:0{bits}b}"[::-1], 2)
    return value ^ xor


@kernel("sm_50-G", "sm_52")
def crc_variants() -> Case:
    n = 13
    rows = rng("crc").integers(0, 256, (32, n), dtype=np.uint8)
    messages = [row.tobytes() for row in rows]
    ones = (1 << 64) - 1
    return Case(
        {
            "text": rows,
            "c8": np.zeros(32, np.uint8),
            "c16": np.zeros(32, np.uint16),
            "c32": np.zeros(32, np.uint32),
            "c64": np.zeros(32, np.uint64),
        },
        [Launch("crc_variants", 1, 32, ["text", np.int32(n), "c8", "c16", "c32", "c64"])],
        {
            "c8": np.array([_crc(m, 8, 7, 0, 0, False) for m in messages], np.uint8),
            "c16": np.array([binascii.crc_hqx(m, 0xFFFF) for m in messages], np.uint16),
            "c32": np.array([zlib.crc32(m) for m in messages], np.uint32),
            "c64": np.array(
                [_crc(m, 64, 0x42F0E1EBA9EA3693, ones, ones, True) for m in messages], np.uint64
            ),
        },
    )


@kernel("sm_50", "sm_60-G")
def base64_codec() -> Case:
    n = 200
    raw = rng("base64").bytes(n)
    text = np.frombuffer(base64.b64encode(raw), np.uint8)
    spoilt = text.copy()
    spoilt[[5, 90]] = [ord("*"), 200]
    size = np.int32(n)
    return Case(
        {
            "raw": np.frombuffer(raw, np.uint8),
            "text": np.zeros(text.size, np.uint8),
            "spoilt": spoilt,
            "back": np.zeros(n, np.uint8),
            "waste": np.zeros(n, np.uint8),
        },
        [
            Launch("encode", 2, 64, ["raw", size, "text"]),
            Launch("decode", 2, 64, ["text", size, "back"]),
            Launch("decode", 2, 64, ["spoilt", size, "waste"]),
        ],
        {"text": text, "back": np.frombuffer(raw, np.uint8)},
        symbols={"bad": words([0])},
        expect_symbols={"bad": words([2])},
    )


@kernel("sm_50", "sm_61-G")
def blake2s() -> Case:
    length = 50
    messages = [rng(f"blake{i}").bytes(length) for i in range(32)]
    blocks = b"".join(m + bytes(64 - length) for m in messages)
    return Case(
        {"m": np.frombuffer(blocks, np.uint32), "out": np.zeros(256, np.uint32)},
        [Launch("blake2s", 1, 32, ["m", np.uint32(length), "out"])],
        {"out": _digests("blake2s", messages)},
    )
