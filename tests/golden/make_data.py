#!/usr/bin/python3
"""Writes data.json and the folders cifar10/ and cifar100/: what tests/unit/data is held against.

    python3 tests/golden/make_data.py
data.json has, of each task on the embedded corpus and each part of it, the number of samples and CRC-32s of
all inputs and of all classes as little-endian int32, by the rules of engine/data/{corpus,vocabulary,text}.h
written once more here. The two folders are tiny sets in the binary format of CIFAR: the byte of record n of a
folder (from 0, training files first), channel c, row y and column x is (7n + 50c + 3y + x) mod 256; its
class is 3n mod 10, or fine 17n mod 100 (coarse n mod 20).
"""
import collections
import gzip
import json
import os
import re
import struct
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.path.join(HERE, "../../exercises/data/text/corpus.gz")
CHARACTERS = "\n abcdefghijklmnopqrstuvwxyz0123456789.,;:!?'\"()[]<>{}-_/\\|*+=&#%"
MASK = (1 << 64) - 1


def fnv(name):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 & MASK
    return h


def read_pages():
    pages = []
    for part in gzip.open(CORPUS, "rt", encoding="ascii").read().split("\f")[1:]:
        name, text = part.split("\n", 1)
        pages.append({"name": name, "text": text, "calls": name.rsplit(".", 1)[1][0] in "23", "test": False})
    for calls in (False, True):
        kind = [p for p in pages if p["calls"] == calls]
        left = sum(len(p["text"]) for p in kind) // 10
        for p in sorted(kind, key=lambda p: fnv(p["name"])):
            if len(p["text"]) <= left:
                left -= len(p["text"])
                p["test"] = True
    return pages


def words_of(text):
    return re.findall("[a-z0-9_]+", text.lower())


def samples(task, page, vocabulary):
    """(inputs, classes) of one page, in order."""
    if task == "text-chars":
        text = page["text"].lower().replace("`", "'")
        t = [CHARACTERS.index(c) if c in CHARACTERS else 1 for c in text]
        return [(t[k:k + 64], t[k + 1:k + 65]) for k in range(0, len(t) - 64, 64)]
    t = [vocabulary.get(w, 1) for w in words_of(page["text"])]
    if task == "text-words":
        return [(t[k:k + 50], [t[k + 50]]) for k in range(0, len(t) - 50, 3) if t[k + 50] != 1]
    label = [int(page["calls"])]
    if len(t) < 100:
        return [([0] * (100 - len(t)) + t, label)] if len(t) >= 20 else []
    return [(t[k:k + 100], label) for k in range(0, len(t) - 99, 25)]


def text_facts():
    pages = read_pages()
    count = collections.Counter(w for p in pages if not p["test"] for w in words_of(p["text"]))
    ranked = sorted(count, key=lambda w: (-count[w], w))[:9998]
    vocabulary = {w: i + 2 for i, w in enumerate(ranked)}
    facts = {}
    for task in ("text-classes", "text-words", "text-chars"):
        for test in (False, True):
            inputs, classes, n = 0, 0, 0
            for p in pages:
                for x, y in samples(task, p, vocabulary) if p["test"] == test else []:
                    inputs = zlib.crc32(struct.pack("<%di" % len(x), *x), inputs)
                    classes = zlib.crc32(struct.pack("<%di" % len(y), *y), classes)
                    n += 1
            facts[task + (" test" if test else " train")] = {"rows": n, "inputs": inputs, "classes": classes}
    return facts


def write_cifar(folder, files, label):
    os.makedirs(os.path.join(HERE, folder), exist_ok=True)
    n = 0
    for name, records in files:
        with open(os.path.join(HERE, folder, name), "wb") as f:
            for _ in range(records):
                f.write(bytes(label(n)))
                f.write(bytes((7 * n + 50 * c + 3 * y + x) % 256
                              for c in range(3) for y in range(32) for x in range(32)))
                n += 1


write_cifar("cifar10", [("data_batch_%d.bin" % k, 1) for k in range(1, 6)] + [("test_batch.bin", 2)],
            lambda n: [3 * n % 10])
write_cifar("cifar100", [("train.bin", 2), ("test.bin", 1)], lambda n: [n % 20, 17 * n % 100])
with open(os.path.join(HERE, "data.json"), "w") as out:
    json.dump(text_facts(), out, indent=1)
    out.write("\n")
