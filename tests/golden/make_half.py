"""Golden values of float16: numpy's rounding of chosen float32 values, and its sums.

    /usr/bin/python3 tests/golden/make_half.py

Writes tests/golden/half.json: "round": pairs of float32 bits and the float16 bits they become; "sum": triples of float16
bits a, b and a + b, computed by numpy in float16. NaNs are left out of the sums (their bits are nobody's business).
"""
import json
import pathlib

import numpy as np

rng = np.random.default_rng(1)
halves = np.concatenate([
    np.arange(0, 40), np.arange(0x3e0, 0x420), np.arange(0x3bf8, 0x3c08), np.arange(0x7bf0, 0x7c00),
    rng.integers(0, 0x7c00, 100)]).astype(np.uint16)
exact = halves.view(np.float16).astype(np.float32)
above = np.concatenate([exact[1:], exact[:1]])
ties = ((exact.astype(np.float64) + np.nextafter(exact.astype(np.float16), np.float16(np.inf)).astype(np.float64)) / 2)
ties = ties[np.isfinite(ties)].astype(np.float32)
values = np.concatenate([
    exact, ties, np.nextafter(ties, np.float32(0)), np.nextafter(ties, np.float32(np.inf)), above,
    np.float32([65504, 65519.996, 65520, 65520.004, 65535, 65536, 1e5, 3.4e38, np.inf, np.nan]),
    np.float32([2.0 ** -24, 2.0 ** -25, 2.0 ** -25 * 1.0000001, 2.0 ** -26, 1e-45, 1e-40, 2.0 ** -126]),
    np.float32(rng.standard_normal(200) * 10.0 ** rng.uniform(-8, 5, 200))]).astype(np.float32)
values = np.concatenate([values, -values])
with np.errstate(over="ignore"):
    rounded = values.astype(np.float16)
a = rng.integers(0, 65536, 400).astype(np.uint16).view(np.float16)
b = rng.integers(0, 65536, 400).astype(np.uint16).view(np.float16)
with np.errstate(all="ignore"):
    c = a + b
keep = ~np.isnan(c)
out = {
    "numpy": np.__version__,
    "round": [[int(x), int(y)] for x, y in zip(values.view(np.uint32), rounded.view(np.uint16))],
    "sum": [[int(x), int(y), int(z)] for x, y, z in
            zip(a[keep].view(np.uint16), b[keep].view(np.uint16), c[keep].view(np.uint16))],
}
path = pathlib.Path(__file__).with_name("half.json")
path.write_text(json.dumps(out, separators=(",", ":")) + "\n")
print(path, len(out["round"]), len(out["sum"]))
