"""Tests of operators that compute, on the unmodified `torch_npu`.

`cargo xtask test-torch` runs this file on several schedules and under the checker. Results are compared with those of
the CPU. The kernels are in python/softacl/torch.
"""

import os
import subprocess
import sys
import time

import torch
import torch.nn as nn
import torch_npu  # noqa: F401  (registers the device "npu")

import softacl.torch


def assert_close(found, expected, tolerance=1e-5):
    found = found.cpu()
    assert found.dtype == expected.dtype and found.shape == expected.shape, (found.dtype, found.shape, expected.shape)
    assert torch.allclose(found, expected, atol=tolerance, rtol=tolerance, equal_nan=True), (found, expected)


def random_tensor(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_basic_operators_match_the_cpu():
    x, y = random_tensor(16, 32), random_tensor(16, 32, seed=2)
    for operator in (
        lambda a, b: a + b,
        lambda a, b: a * 2 - b / 3,
        lambda a, b: a @ b.t(),
        lambda a, b: torch.softmax(a, -1),
        lambda a, b: a[:, 3:9].t() + b[:, :6].t(),
        lambda a, b: torch.where(a > b, a, b),
        lambda a, b: a.sum(0) + b.mean(0),
        lambda a, b: torch.cat([a, b], 1).flip(0),
        lambda a, b: torch.nn.functional.layer_norm(a, (32,)),
        lambda a, b: a.max(1).values,
        lambda a, b: a.sort(1).indices,
        lambda a, b: a.double().float() if a.is_cpu else a,
        lambda a, b: (a > 0) & (b > 0),
        lambda a, b: torch.arange(5, device=a.device) * 2,
        lambda a, b: torch.einsum("ij,kj->ik", a, b),
        lambda a, b: a.to(torch.complex64) * (1 + 2j),
        lambda a, b: torch.complex(a, b).to(torch.float32),
    ):
        assert_close(operator(x.npu(), y.npu()), operator(x, y))


def test_in_place_and_out_arguments_match_the_cpu():
    x = random_tensor(4, 5)
    device = x.npu()
    device.add_(1).mul_(2)
    device[1:3].zero_()
    expected = x.clone().add_(1).mul_(2)
    expected[1:3].zero_()
    assert_close(device, expected)
    out = torch.empty(0, device="npu")
    torch.add(device, 1, out=out)
    assert_close(out, expected + 1)


def test_indexing_matches_the_cpu():
    x = random_tensor(10, 6)
    device = x.npu()
    rows = torch.tensor([4, 0, 9])
    assert_close(device[rows.npu()], x[rows])
    assert_close(device[rows], x[rows])
    assert_close(device[device > 0], x[x > 0])
    assert_close(device.index_select(0, rows.npu()), x[rows])
    assert_close(torch.nonzero(device > 0), torch.nonzero(x > 0))
    device[device > 1] = -5
    x[x > 1] = -5
    device[rows.npu(), 2] = 7
    x[rows, 2] = 7
    assert_close(device, x)
    assert_close(device.unique(), x.unique())


def test_a_failed_task_fails_its_stream_by_name():
    script = (
        "import torch, torch_npu\n"
        "table, index = torch.zeros(4, 2).npu(), torch.tensor([9]).npu()\n"
        "torch.nn.functional.embedding(index, table)\n"
        "torch.npu.synchronize()\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert ended.returncode == 1, ended
    assert "softacl: aten::index_select failed on the device: index out of range" in ended.stderr, ended.stderr
    assert "RuntimeError" in ended.stderr and "507015" in ended.stderr, ended.stderr


def test_values_reach_the_host():
    x = torch.arange(8.0).npu()
    assert "npu:0" in str(x) and "7." in str(x)
    assert (x + 1).sum().item() == 36
    assert torch.equal(x + x, x * 2) and not torch.equal(x, x + 1)
    assert (x * 2).tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
    assert bool((x >= 0).all())


def test_gradients_match_the_cpu():
    def gradients(device):
        x = random_tensor(6, 8).to(device).requires_grad_()
        w = random_tensor(8, 3, seed=2).to(device).requires_grad_()
        loss = torch.relu(x @ w).pow(2).sum() + torch.nn.functional.softplus(x).mean()
        loss.backward()
        return x.grad, w.grad

    for found, expected in zip(gradients("npu"), gradients("cpu")):
        assert_close(found, expected)


def test_gradients_of_composed_operators_match_the_cpu():
    def gradient(device, operator):
        x = random_tensor(5, 6).to(device).requires_grad_()
        operator(x).square().sum().backward()
        return x.grad

    def covariance(x):
        centered = x - x.mean(1, keepdim=True)
        return centered @ centered.t() / 5

    def correlation(x):
        deviation = covariance(x).diag().sqrt()
        return covariance(x) / deviation / deviation[:, None]

    # Other formulas, because torch_npu replaces `true_divide` on the CPU as well, where its gradient is lost.
    for operator, expected in (
        (lambda x: torch.true_divide(x, 3), lambda x: x / 3),
        (lambda x: torch.true_divide(2, x), lambda x: 2 / x),
        (lambda x: (x * 1).true_divide_(x.exp()), lambda x: x / x.exp()),
        (torch.cov, covariance),
        (torch.corrcoef, correlation),
    ):
        assert_close(gradient("npu", operator), gradient("cpu", expected))


def test_no_operator_loses_its_gradient():
    keys = ("AutogradCPU", "AutogradXLA", "AutogradPrivateUse1")
    for name in softacl.torch.operators("computed") + softacl.torch.operators("composed"):
        table = dict(line.split(": ", 1) for line in torch._C._dispatch_dump_table(name).splitlines() if ": " in line)
        here, other, device = ("backend fallback" in table[key] for key in keys)
        assert not device or (here and other), f"{name} is differentiated for other devices, not for this one"


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(32, 5)

    def forward(self, x):
        return self.head(self.layer(x).mean(1))


def convnet():
    # No bias before the normalization: its gradient is rounding noise, which Adam would scale up.
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3), nn.GELU(),
        nn.Flatten(), nn.Linear(8 * 36, 5),
    )


def losses(device, make, *shape, steps=5):
    torch.manual_seed(1)
    model = make().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    x, y = random_tensor(*shape).to(device), torch.tensor([0, 3, 1, 4]).to(device)
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    model.eval()
    with torch.no_grad():
        return torch.tensor(found), model(x).cpu()


def test_training_a_transformer_matches_the_cpu():
    for found, expected in zip(losses("npu", Transformer, 4, 10, 32), losses("cpu", Transformer, 4, 10, 32)):
        assert_close(found, expected, 1e-4)


def test_training_a_convnet_matches_the_cpu():
    for found, expected in zip(losses("npu", convnet, 4, 3, 16, 16), losses("cpu", convnet, 4, 3, 16, 16)):
        assert_close(found, expected, 1e-4)


def test_autocast_computes_in_half_precision():
    x, w = random_tensor(8, 8), random_tensor(8, 8, seed=2)
    with torch.autocast("npu", dtype=torch.bfloat16):
        y = x.npu() @ w.npu()
    assert y.dtype == torch.bfloat16
    assert_close(y, x.bfloat16() @ w.bfloat16(), 1e-1)


def test_seeds_repeat_and_leave_the_host_alone():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    torch.npu.manual_seed(7)
    first = [torch.randn(9, device="npu").cpu(), torch.rand(3, device="npu").cpu(), torch.randperm(9, device="npu").cpu()]
    assert torch.equal(before, torch.get_rng_state())
    torch.npu.manual_seed(7)
    again = [torch.randn(9, device="npu").cpu(), torch.rand(3, device="npu").cpu(), torch.randperm(9, device="npu").cpu()]
    assert all(torch.equal(*pair) for pair in zip(first, again))
    assert not torch.equal(torch.randn(9, device="npu").cpu(), first[0])


def test_dropout_scales_and_repeats():
    x = torch.ones(1000).npu()
    torch.npu.manual_seed(3)
    y = nn.functional.dropout(x, 0.25).cpu()
    kept = (y > 0).float().mean().item()
    assert 0.68 < kept < 0.82 and torch.allclose(y[y > 0], torch.tensor(1 / 0.75))
    torch.npu.manual_seed(3)
    assert torch.equal(nn.functional.dropout(x, 0.25).cpu(), y)


def test_operators_of_two_devices_match_the_cpu():
    x = random_tensor(20, 20)
    for device in ("npu:0", "npu:1"):
        assert_close(x.to(device) @ x.to(device), x @ x, 1e-4)
    try:
        x.to("npu:0") + x.to("npu:1")
    except RuntimeError as error:
        assert "same device" in str(error)
    else:
        raise AssertionError("tensors of two devices were added")
    try:
        x.npu() + x
    except RuntimeError as error:
        assert "same device" in str(error)
    else:
        raise AssertionError("tensors of the host and of a device were added")


def test_captured_operators_can_be_replayed():
    x, w = random_tensor(8, 8).npu(), random_tensor(8, 8, seed=2)
    device = w.npu()
    torch.npu.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = torch.relu(x @ device) + 1
    for seed in (3, 4):
        x.copy_(random_tensor(8, 8, seed=seed))
        graph.replay()
        torch.npu.synchronize()
        assert_close(y, torch.relu(random_tensor(8, 8, seed=seed) @ w) + 1, 1e-4)


def test_errors_are_those_of_the_cpu():
    x = random_tensor(3, 4).npu()
    try:
        x @ x
    except RuntimeError as error:
        assert "shapes cannot be multiplied" in str(error), error
    else:
        raise AssertionError("matrices that do not fit were multiplied")


def main():
    names = sys.argv[1:] or [name for name in globals() if name.startswith("test")]
    for name in names:
        start = time.time()
        globals()[name]()
        if os.environ.get("VERBOSE"):
            print(f"{name:<56} {time.time() - start:6.2f} s", flush=True)
    print(f"{len(names)} tests passed")


if __name__ == "__main__":
    main()
