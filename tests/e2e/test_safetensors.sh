#!/bin/bash
# Our checkpoints as others read them: a reader of a few lines that follows the published format, and, where they are
# installed, the published Python package and PyTorch, which must compute with the weights what we do.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/runs.sh"
if ! have_mpi || ! command -v python3 >/dev/null; then
    skip "safetensors" "mpirun or python3 is not installed"
    exit
fi
expect "a training" 0 "$ringside" train --model mlp --ranks 1 --steps 30 --json --label keep
loss=$(sed -nE '/"ev":"eval"/s/.*"loss":([0-9.]+).*/\1/p' <<<"$out")
file=$(echo "$runs"/*-keep/checkpoints/step-30.safetensors)

cat >"$scratch/plain.py" <<'PYTHON'
import json, struct, sys

def read(path):
    """The published format: a length of 8 bytes, a header in JSON, the data."""
    data = open(path, "rb").read()
    (length,) = struct.unpack("<Q", data[:8])
    assert length % 8 == 0 and data[8:9] == b"{", "the header is aligned and begins with {"
    header = json.loads(data[8:8 + length])
    metadata, data = header.pop("__metadata__"), data[8 + length:]
    assert all(isinstance(x, str) for x in metadata.values()), "metadata are texts"
    at, tensors = 0, {}
    for name, t in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = t["data_offsets"]
        count = 1
        for extent in t["shape"]:
            count *= extent
        assert begin == at and end - begin == 4 * count and t["dtype"] == "F32", name
        tensors[name] = t["shape"], struct.unpack("<%df" % count, data[begin:end])
        at = end
    assert at == len(data), "the tensors cover the data"
    return tensors, metadata

if __name__ == "__main__":
    tensors, metadata = read(sys.argv[1])
    shapes = {name: shape for name, (shape, _) in tensors.items() if not name.startswith("optimizer.")}
    assert shapes == {"1.weight": [128, 784], "1.bias": [128], "3.weight": [10, 128], "3.bias": [10]}, shapes
    assert tensors["optimizer.exp_avg.1.weight"][0] == [128, 784]
    assert metadata["step"] == "30" and json.loads(metadata["job"])["kind"] == "train", metadata
    weights = tensors["1.weight"][1]
    assert all(abs(w) < 1 for w in weights) and any(w != 0 for w in weights)
PYTHON
check "a reader of the published format finds the model's tensors" python3 "$scratch/plain.py" "$file"

# The other way: a file as plain as others write them, without a word of ours, in an order of its own.
cat >"$scratch/foreign.py" <<'PYTHON'
import json, struct, sys
sys.path.insert(0, sys.argv[2])
from plain import read

tensors, _ = read(sys.argv[1])
header, data = {}, b""
for name in sorted((n for n in tensors if not n.startswith("optimizer.")), reverse=True):
    shape, values = tensors[name]
    part = struct.pack("<%dd" % len(values), *values) # in float64
    header[name] = {"dtype": "F64", "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
    data += part
header = json.dumps(header).encode()
open(sys.argv[3], "wb").write(struct.pack("<Q", len(header)) + header + data)
PYTHON
figures() { sed -nE '/"ev":"eval"/s/.*("loss":[^,]*,"accuracy":[^,]*,"hash":"[0-9a-f]+").*/\1/p'; }
before=$(figures <<<"$out")
python3 "$scratch/foreign.py" "$file" "$scratch" "${file/step-30/step-31}"
expect "weights that others wrote are tested" 0 "$ringside" train --eval keep --json
check "and are the same" test -n "$before" -a "$before" = "$(figures <<<"$out")"
check "it was their file" grep -q '"ev":"eval","step":31,' <<<"$out"
expect "but they tell nothing of a training to go on with" 2 "$ringside" train --resume keep --steps 40
check "one sentence says so" grep -q "holds the state of no optimiser" <<<"$err"
rm "${file/step-30/step-31}"

cat >"$scratch/package.py" <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[2])
from plain import read
from safetensors import safe_open

tensors, metadata = read(sys.argv[1])
with safe_open(sys.argv[1], "numpy") as file:
    assert file.metadata() == metadata
    assert set(file.keys()) == set(tensors)
    for name, (shape, values) in tensors.items():
        theirs = file.get_tensor(name)
        assert list(theirs.shape) == shape and theirs.ravel().tolist() == list(values), name
PYTHON
name="the published package reads the same numbers"
if python3 -c "import safetensors, numpy" 2>/dev/null; then
    check "$name" python3 "$scratch/package.py" "$file" "$scratch"
else
    skip "$name" "Python has no safetensors and numpy here"
fi

cat >"$scratch/torch_test.py" <<'PYTHON'
import gzip, sys
sys.path.insert(0, sys.argv[2])
import torch
from plain import read

model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
tensors, _ = read(sys.argv[1])
model.load_state_dict({name: torch.tensor(values).reshape(shape) for name, (shape, values) in tensors.items()
                       if not name.startswith("optimizer.")})
def idx(name, head):
    data = bytearray(gzip.open("exercises/data/mnist/" + name).read()[head:])
    return torch.frombuffer(data, dtype=torch.uint8)
images = (idx("t10k-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28).float() / 255 - 0.1307) / 0.3081
with torch.no_grad():
    loss = torch.nn.functional.cross_entropy(model(images), idx("t10k-labels-idx1-ubyte.gz", 8).long()).item()
print(loss, "in PyTorch,", sys.argv[3], "here")
assert abs(loss - float(sys.argv[3])) < 1e-5
PYTHON
name="PyTorch has the same loss on the test set with our weights"
for python in python3 /usr/bin/python3; do
    "$python" -c "import torch" 2>/dev/null && break
done
if "$python" -c "import torch" 2>/dev/null; then
    check "$name" "$python" "$scratch/torch_test.py" "$file" "$scratch" "$loss"
else
    skip "$name" "PyTorch is not installed"
fi
