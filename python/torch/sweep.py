"""Compares every operator of PyTorch's own OpInfo database on the device with the CPU.

    softacl run --schedule late -- python sweep.py run --type float32 --output DIRECTORY [--shard 0/2] [--blocking]
    python sweep.py table DIRECTORY [--check] [--write docs/pytorch.md]

`run` starts one process for a few operators at a time, with a time limit, and writes one line of JSON for each operator
to a file of the output directory. It goes on where it stopped. `table` prints what the files contain; `--check` fails
if a run is incomplete, if an operator differs that is not expected to, or if too few are right; `--write` replaces the
table in a document.

An operator is `equal` if all of its samples are, forward and backward; `random` if its values depend on the seed or are
not defined, so that only shapes and types were compared; `refused` if the call says so; `absent` if the CPU does not
compute it; else `different`. Floats of 64 bits are compared in 32, as torch_npu stores them.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import time
import warnings

CHUNK = 48
SECONDS_PER_OPERATOR = 60
# Samples of one operator. Some have hundreds, which differ in details that the CPU kernel sees alone.
SAMPLES = 24

# Operators whose result has no defined values.
EMPTY = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided")
# Operators that draw numbers, which may be the same by chance for the two seeds that are compared on the CPU.
DRAWN = (
    "bernoulli",
    "multinomial",
    "nn.functional.fractional_max_pool2d",
    "nn.functional.fractional_max_pool3d",
    "pca_lowrank",
    "svd_lowrank",
)
# Operators that may differ from the CPU, and why.
EXPECTED: "dict[str, str]" = {}
STATES = ("equal", "random", "refused", "absent", "different")
# Of a complete run, at least this many operators are equal, random, refused or absent.
FLOOR = 660
BEGIN, END = "<!-- sweep: begin -->", "<!-- sweep: end -->"
# Tensors among the arguments, but not the input, must be on the host for every device.
HOST_ARGUMENTS = ("tensor_split",)


def entries():
    from torch.testing._internal import common_methods_invocations as database

    # Random entries set the seed before each call, which would make them look like functions of their arguments.
    database.wrapper_set_seed = lambda operator, *arguments, **named: operator(*arguments, **named)
    return database.op_db


def label(entry):
    return f"{entry.name}.{entry.variant_test_name}" if entry.variant_test_name else entry.name


def moved(value, device):
    import torch

    if isinstance(value, torch.Tensor):
        copy = value.detach().to(device) if value.device.type != device else value.detach().clone()
        return copy.requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        items = [moved(item, device) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: moved(item, device) for key, item in value.items()}
    if isinstance(value, (str, torch.device)) and str(value) == "cpu":
        return torch.device(device)
    return value


def tensors(value):
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for item in value for tensor in tensors(item)] if isinstance(value, (list, tuple)) else []


def compare(found, expected, has_values, what):
    import torch

    assert len(found) == len(expected), f"{what}: {len(found)} tensors instead of {len(expected)}"
    for one, other in zip(found, expected):
        assert (one is None) == (other is None), f"{what}: a tensor is missing"
        if one is None:
            continue
        # torch_npu has no type of 64 bits for floats.
        narrow = {torch.float64: torch.float32, torch.complex128: torch.complex64}
        other = other.to(one.dtype) if one.dtype == narrow.get(other.dtype) else other
        is_alike = one.dtype == other.dtype and one.shape == other.shape
        assert is_alike, f"{what}: {one.dtype} {tuple(one.shape)} instead of {other.dtype} {tuple(other.shape)}"
        if has_values:
            tolerance = 1e-2 if one.dtype in (torch.float16, torch.bfloat16) else 1e-4
            torch.testing.assert_close(one.detach().cpu(), other.detach(), equal_nan=True, rtol=tolerance, atol=tolerance)


def gradients(result, inputs):
    import torch

    results = [tensor for tensor in tensors(result) if tensor.requires_grad]
    leaves = [tensor for tensor in inputs if tensor.requires_grad]
    if not results or not leaves:
        return []
    weights = [torch.ones_like(tensor) for tensor in results]
    return list(torch.autograd.grad(results, leaves, weights, allow_unused=True))


def compute(entry, values, seed):
    import torch

    torch.manual_seed(seed)
    result = entry.op(values[0], *values[1], **values[2])
    return tensors(result), gradients(result, tensors(values))


def attempt(entry, sample):
    """Compares one sample. Returns "equal", "random", or None if the CPU does not compute it."""
    import torch

    def values(device, others):
        return moved(sample.input, device), moved(list(sample.args), others), moved(dict(sample.kwargs), others)

    try:
        expected = compute(entry, values("cpu", "cpu"), 1)
        again = compute(entry, values("cpu", "cpu"), 2)
    except Exception:
        return None
    has_values = entry.name not in (*EMPTY, *DRAWN) and not sample.kwargs.get("dropout_p")
    for one, other in zip((*expected[0], *expected[1]), (*again[0], *again[1])):
        if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
            # What depends on the seed cannot be compared.
            has_values = has_values and one.shape == other.shape and torch.allclose(one, other, equal_nan=True)
    found = compute(entry, values("npu", "cpu" if entry.name in HOST_ARGUMENTS else "npu"), 1)
    torch.npu.synchronize()
    compare(found[0], expected[0], has_values, "result")
    compare(found[1], expected[1], has_values, "gradient")
    return "equal" if has_values else "random"


def examine(entry, dtype):
    """Returns the state of an operator, and why."""
    import itertools

    if dtype not in entry.supported_dtypes("cpu"):
        return "absent", "the CPU does not have this type"
    needs_gradient = dtype.is_floating_point and entry.supports_autograd and dtype in entry.supported_backward_dtypes("cpu")
    states = []
    try:
        samples = entry.sample_inputs("cpu", dtype, requires_grad=needs_gradient)
        for sample in itertools.islice(samples, SAMPLES):
            states.append(attempt(entry, sample))
    except Exception as error:
        # torch_npu refuses some calls on every device, for example channels_last.
        reasons = ("feature not supported", "unsupported tensor layout")
        is_refused = isinstance(error, NotImplementedError) or any(reason in str(error) for reason in reasons)
        return "refused" if is_refused else "different", f"{type(error).__name__}: {str(error).strip()[:300]}"
    found = [state for state in states if state is not None]
    if not found:
        return "absent", "the CPU computes no sample"
    return ("equal" if "equal" in found else "random"), f"{len(found)} samples"


def work(names, type_name):
    """Examines operators and prints a line for each. The state of a device that has failed is not used again."""
    import torch
    import torch_npu  # noqa: F401

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dtype = getattr(torch, type_name)
    by_name = {label(entry): entry for entry in entries()}
    for name in names:
        print(json.dumps({"starts": name}), flush=True)
        start = time.time()
        state, why = examine(by_name[name], dtype)
        print(json.dumps({"name": name, "state": state, "why": why, "seconds": round(time.time() - start, 1)}), flush=True)
        if state == "different":
            return  # The device may have failed, and then it stays failed.


def run_chunk(names, arguments, output):
    """Runs one process for some operators. Returns the names that it did not reach."""
    environment = dict(os.environ)
    if arguments.blocking:
        environment["ASCEND_LAUNCH_BLOCKING"] = "1"
    command = [sys.executable, __file__, "work", "--type", arguments.type, *names]
    limit = SECONDS_PER_OPERATOR * len(names) + 60
    try:
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit)
        text, end = ended.stdout, f"the process ended with {ended.returncode}: {ended.stderr.strip()[-300:]}"
    except subprocess.TimeoutExpired as error:
        text, end = (error.stdout or b"").decode(), f"not finished after {limit} s"
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    done = {line["name"]: line for line in lines if "name" in line}
    started = [line["starts"] for line in lines if "starts" in line]
    if started and started[-1] not in done:
        done[started[-1]] = {"name": started[-1], "state": "different", "why": end, "seconds": 0}
    if not started:
        raise SystemExit(f"the process for {names} did not start: {end}")
    with open(output, "a") as file:
        for line in done.values():
            file.write(json.dumps(line) + "\n")
    return [name for name in names if name not in done]


def run(arguments):
    from torch.testing._internal.common_methods_invocations import op_db

    index, count = map(int, arguments.shard.split("/"))
    names = [label(entry) for entry in op_db][index::count]
    schedule = os.environ.get("SOFTACL_SCHEDULE", "threads").replace(":", "-")
    mode = "blocking" if arguments.blocking else schedule
    directory = pathlib.Path(arguments.output)
    directory.mkdir(parents=True, exist_ok=True)
    output = directory / f"{arguments.type}-{mode}-{index}of{count}.jsonl"
    known = {json.loads(line)["name"] for line in open(output)} if output.exists() else set()
    left = [name for name in names if name not in known]
    start = time.time()
    total = len(left)
    while left:
        chunk, rest = left[:CHUNK], left[CHUNK:]
        left = run_chunk(chunk, arguments, output) + rest
        print(f"{arguments.type} {mode} {arguments.shard}: {total - len(left)} of {total} operators, {time.time() - start:.0f} s", flush=True)


def read_runs(directory):
    """The operators of each run, by name."""
    runs = collections.defaultdict(dict)
    for path in sorted(pathlib.Path(directory).glob("*.jsonl")):
        for line in open(path):
            entry = json.loads(line)
            runs[path.name.rsplit("-", 1)[0]][entry["name"]] = entry
    return runs


def counts(found):
    return collections.Counter(entry["state"] for entry in found.values())


def markdown(runs):
    """The table of all runs, and the operators that are refused or different."""
    lines = ["| run | operators | " + " | ".join(STATES) + " |", "| --- " * (len(STATES) + 2) + "|"]
    for name, found in runs.items():
        states = counts(found)
        lines.append(f"| {name} | {len(found)} | " + " | ".join(str(states[state]) for state in STATES) + " |")
    for state in ("refused", "different"):
        names = collections.defaultdict(list)
        for run, found in runs.items():
            for entry in found.values():
                if entry["state"] == state:
                    names[entry["name"]].append(run)
        if names:
            listed = (f"`{name}`" + (f" ({', '.join(of)})" if len(runs) > 1 else "") for name, of in sorted(names.items()))
            lines += ["", f"{state.capitalize()}: {', '.join(listed)}."]
    return "\n".join(lines)


def failures(runs):
    """What a run must not contain."""
    expected = {label(entry) for entry in entries()}
    found = [] if runs else ["there is no run"]
    for name, operators in runs.items():
        if missing := expected - operators.keys():
            found.append(f"{name}: {len(missing)} operators were not examined, among them {min(missing)}")
        for entry in operators.values():
            if entry["state"] == "different" and entry["name"] not in EXPECTED:
                found.append(f"{name}: {entry['name']} differs: {entry['why']}")
        right = sum(counts(operators)[state] for state in STATES if state != "different")
        if right < FLOOR:
            found.append(f"{name}: {right} operators are equal, random, refused or absent, fewer than {FLOOR}")
    return found


def replace_table(path, text):
    """Replaces what is between the marks of a document."""
    document = pathlib.Path(path).read_text()
    before, mark, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise SystemExit(f"{path} has no table between {BEGIN} and {END}")
    pathlib.Path(path).write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def table(arguments):
    runs = read_runs(arguments.output)
    text = markdown(runs)
    print(text)
    if arguments.verbose:
        for name, found in runs.items():
            for entry in found.values():
                if entry["state"] in ("refused", "different"):
                    print(f"\n{entry['state']} {name} {entry['name']}: {entry['why']}")
    if arguments.write:
        replace_table(arguments.write, text)
    if arguments.check and (wrong := failures(runs)):
        raise SystemExit("\n".join(wrong))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("run", "work", "table"):
        command = commands.add_parser(name)
        if name != "table":
            command.add_argument("--type", default="float32")
    commands.choices["run"].add_argument("--output", required=True)
    commands.choices["run"].add_argument("--shard", default="0/1")
    commands.choices["run"].add_argument("--blocking", action="store_true")
    commands.choices["work"].add_argument("names", nargs="+")
    commands.choices["table"].add_argument("output")
    commands.choices["table"].add_argument("--verbose", action="store_true")
    commands.choices["table"].add_argument("--check", action="store_true")
    commands.choices["table"].add_argument("--write", metavar="DOCUMENT")
    arguments = parser.parse_args()
    if arguments.command == "work":
        work(arguments.names, arguments.type)
    else:
        {"run": run, "table": table}[arguments.command](arguments)


if __name__ == "__main__":
    main()
