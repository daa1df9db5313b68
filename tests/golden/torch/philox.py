"""Philox4x32-10 (Salmon et al., SC'11; Random123) as a source of named streams.

Number i of stream s is a pure function of (KEY, s, i), so Python and C++ generate the
same tensors without exchanging data. `python3 philox.py` checks Random123's known
answers.
"""

import numpy as np

KEY = 20261121
M0, M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)  # round multipliers
W0, W1 = 0x9E3779B9, 0xBB67AE85  # Weyl increments of the two key words
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
BLOCKS = 1 << 14  # blocks per part: the working set fits in the cache

KNOWN_ANSWERS = [  # (counter, key, output), from Random123's kat_vectors
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    (
        [0xFFFFFFFF] * 4,
        [0xFFFFFFFF] * 2,
        [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
    ),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


def philox4x32_10(counter, key):
    """counter: four uint64 arrays (or scalars) below 2**32; key: two ints."""
    c0, c1, c2, c3 = (np.asarray(word, dtype=np.uint64) for word in counter)
    k0, k1 = key
    for _ in range(10):
        p0, p1 = c0 * M0, c2 * M1
        c0 = (p1 >> HALF) ^ c1 ^ np.uint64(k0)
        c1 = p1 & LOW
        c2 = (p0 >> HALF) ^ c3 ^ np.uint64(k1)
        c3 = p0 & LOW
        k0, k1 = (k0 + W0) & 0xFFFFFFFF, (k1 + W1) & 0xFFFFFFFF
    return c0, c1, c2, c3


def fnv1a64(name):
    """The stream number of a name: 64-bit FNV-1a of its UTF-8 bytes."""
    h = 0xCBF29CE484222325
    for byte in name.encode("utf-8"):
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def uniform(stream, count, start=0, key=KEY):
    """u_start … u_(start+count-1) in (0, 1): (word + 0.5) * 2**-32, exact in double.

    `start` must be a multiple of 4 (a block holds four numbers)."""
    assert start % 4 == 0
    words = np.empty(((count + 3) // 4, 4))
    low, high = np.uint64(stream & 0xFFFFFFFF), np.uint64(stream >> 32)
    for first in range(0, len(words), BLOCKS):
        piece = words[first : first + BLOCKS]
        block = np.arange(len(piece), dtype=np.uint64) + np.uint64(start // 4 + first)
        out = philox4x32_10(
            (block & LOW, block >> HALF, low, high), (key & 0xFFFFFFFF, key >> 32)
        )
        for lane in range(4):
            piece[:, lane] = (out[lane] + 0.5) * 2.0**-32
    return words.reshape(-1)[:count]


def signed(name, count, start=0):
    """2u - 1 of the stream called `name`: in (-1, 1), exact in double."""
    return 2.0 * uniform(fnv1a64(name), count, start) - 1.0


def self_check():
    for counter, key, expected in KNOWN_ANSWERS:
        assert [int(w) for w in philox4x32_10(counter, key)] == expected
    assert fnv1a64("") == 0xCBF29CE484222325
    assert fnv1a64("a") == 0xAF63DC4C8601EC8C
    assert fnv1a64("foobar") == 0x85944171F73967E8
    assert np.array_equal(uniform(7, 9, start=8), uniform(7, 17)[8:])


if __name__ == "__main__":
    self_check()
    print("Philox4x32-10 and FNV-1a: all known answers match")
