#!/usr/bin/python3
"""Writes batches of two images in the Python version of CIFAR-10 to the folder cifar:
as Python 2 wrote the published ones, and as Python 3 does. Needs python3-numpy."""

import pathlib
import pickle
import struct

import numpy

FOLDER = pathlib.Path(__file__).resolve().parent / "cifar"
DATA = numpy.array([[(7 * i + k) % 251 for k in range(3072)] for i in range(2)],
                   dtype=numpy.uint8)
LABELS = [3, 9]

PYTHON2 = (
    b"\x80\x02}q\x01("
    b"U\x0bbatch_labelq\x02U\x15training batch 1 of 5q\x03"
    b"U\x06labelsq\x04]q\x05(K\x03K\teU\x04dataq\x06"
    b"cnumpy.core.multiarray\n_reconstruct\nq\x07cnumpy\nndarray\nq\x08"
    b"K\x00\x85q\tU\x01bq\n\x87q\x0bRq\x0c(K\x01K\x02M\x00\x0c\x86q\r"
    b"cnumpy\ndtype\nq\x0eU\x02u1q\x0fK\x00K\x01\x87q\x10Rq\x11(K\x03U\x01|"
    b"q\x12NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tq\x13b\x89T" +
    struct.pack("<I", DATA.size) + DATA.tobytes() + b"q\x14tq\x15bu.")


def main():
    batch = {"batch_label": "training batch 1 of 5", "labels": LABELS, "data": DATA}
    for name, content in (("python2", PYTHON2), ("protocol2", pickle.dumps(batch, 2)),
                          ("protocol4", pickle.dumps(batch, 4))):
        read = pickle.loads(content, encoding="latin1")
        assert read["labels"] == LABELS and (read["data"] == DATA).all(), name
        (FOLDER / f"{name}.pickle").write_bytes(content)


main()
