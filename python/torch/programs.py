"""Habits of training and serving programs on the unmodified `torch_npu`: what people write around their operators.

`cargo xtask test-torch` runs this file on several schedules and under the checker. Results are compared with those of
the CPU.
"""

import copy
import io
import os
import sys
import time

import torch
import torch.nn as nn
import torch_npu
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset


def random_tensor(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def assert_close(found, expected, tolerance=1e-5):
    found = found.detach().cpu()
    assert found.dtype == expected.dtype and found.shape == expected.shape, (found.dtype, found.shape, expected.shape)
    assert torch.allclose(found, expected.detach(), atol=tolerance, rtol=tolerance), (found, expected)


def assert_raises(error, words, call):
    try:
        call()
    except error as raised:
        assert words in str(raised), raised
    else:
        raise AssertionError(f"expected {error}: {words}")


def compare_module(module, *inputs, tolerance=1e-5):
    """Compares forward and backward of a module on both devices."""
    results = []
    for device in ("cpu", "npu"):
        each = copy.deepcopy(module).to(device)
        leaves = [x.clone().to(device).requires_grad_(x.is_floating_point()) for x in inputs]
        result = each(*leaves)
        result = result[0] if isinstance(result, tuple) else result
        (result * result).sum().backward()
        gradients = [parameter.grad for parameter in each.parameters()] + [x.grad for x in leaves if x.is_floating_point()]
        results.append([result, *gradients])
    for expected, found in zip(*results):
        assert_close(found, expected, tolerance)


def test_recurrent_layers_match_the_cpu():
    torch.manual_seed(1)
    x = random_tensor(5, 2, 4)
    for module in (nn.LSTM(4, 3, 2), nn.GRU(4, 3, bidirectional=True), nn.RNN(4, 3), nn.LSTM(4, 6, proj_size=2)):
        compare_module(module, x, tolerance=1e-4)


def test_layers_that_differ_between_devices_match_the_cpu():
    torch.manual_seed(1)
    indices = torch.tensor([[1, 2, 4], [0, 3, 3]])
    compare_module(nn.EmbeddingBag(5, 4, mode="sum"), indices)
    compare_module(nn.EmbeddingBag(5, 4, mode="mean"), indices)
    compare_module(nn.BatchNorm1d(4).eval(), random_tensor(3, 4))
    compare_module(nn.BatchNorm2d(3), random_tensor(2, 3, 4, 4), tolerance=1e-4)
    compare_module(nn.Conv2d(4, 4, 3, groups=4), random_tensor(2, 4, 6, 6), tolerance=1e-4)
    compare_module(nn.MultiheadAttention(8, 2), *[random_tensor(4, 2, 8, seed=seed) for seed in (1, 2, 3)], tolerance=1e-4)


def test_complex_numbers_and_transforms():
    x = random_tensor(4, 8)
    device = x.npu()
    assert_close(torch.view_as_real(torch.fft.fft(device)), torch.view_as_real(torch.fft.fft(x)), 1e-4)
    assert_close(torch.fft.irfft(torch.fft.rfft(device)), x, 1e-5)
    z, device = torch.complex(x, -x), torch.complex(x.npu(), -x.npu())
    assert_close(torch.view_as_real((device * device.conj()).resolve_conj()), torch.view_as_real((z * z.conj()).resolve_conj()))
    assert_close(device.abs(), z.abs())
    assert_close(torch.view_as_real(x.npu().to(torch.complex64)), torch.view_as_real(x.to(torch.complex64)))


def test_splits_and_memory_formats():
    x = random_tensor(7, 3)
    for found, expected in zip(torch.tensor_split(x.npu(), 3), torch.tensor_split(x, 3)):
        assert_close(found, expected)
    image = random_tensor(2, 3, 4, 4)
    device = image.npu().to(memory_format=torch.channels_last)
    assert device.is_contiguous(memory_format=torch.channels_last)
    assert_close(torch.relu(device), torch.relu(image))


def test_copies_broadcast():
    x, row = random_tensor(4, 5), random_tensor(5, seed=2)
    device = x.npu()
    device.copy_(row.npu())
    assert_close(device, row.expand(4, 5).contiguous())
    assert_close(row.npu().expand(4, 5).contiguous(), row.expand(4, 5).contiguous())
    device[:] = x.npu()
    device[1:3, ::2] = 7
    x[1:3, ::2] = 7
    assert_close(device, x)
    assert_close(nn.functional.pad(device, (1, 2), value=3.0), nn.functional.pad(x, (1, 2), value=3.0))


def test_sparse_tensors_are_refused():
    assert_raises((NotImplementedError, RuntimeError), "", lambda: random_tensor(3, 3).npu().to_sparse().coalesce().values().cpu())


def test_dropout_in_attention_repeats():
    query, key, value = (random_tensor(1, 2, 5, 8, seed=seed).npu() for seed in (1, 2, 3))
    before = torch.get_rng_state()

    def attend():
        torch.npu.manual_seed(3)
        return nn.functional.scaled_dot_product_attention(query, key, value, dropout_p=0.5).cpu()

    first = attend()
    assert torch.equal(first, attend())
    assert torch.equal(before, torch.get_rng_state())
    assert not torch.equal(first, nn.functional.scaled_dot_product_attention(query, key, value).cpu())


def test_loaders_with_pinned_memory():
    data = TensorDataset(random_tensor(12, 4), torch.arange(12))
    loader = DataLoader(data, batch_size=4, pin_memory=True)
    total = 0
    for x, y in loader:
        assert x.is_pinned()
        x, y = x.to("npu", non_blocking=True), y.to("npu", non_blocking=True)
        total += (x.sum(1) * y).sum().item()
    expected = (data.tensors[0].sum(1) * data.tensors[1]).sum().item()
    assert abs(total - expected) < 1e-3, (total, expected)


def test_scaled_gradients_in_half_precision():
    torch.manual_seed(1)
    model = nn.Linear(8, 2).npu()
    reference = copy.deepcopy(model).cpu()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.npu.amp.GradScaler(init_scale=1024.0)
    x = random_tensor(4, 8)
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("npu", dtype=torch.float16):
            loss = model(x.npu()).float().pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    other = torch.optim.SGD(reference.parameters(), 0.1)
    for _ in range(3):
        other.zero_grad()
        reference(x).pow(2).mean().backward()
        other.step()
    assert_close(model.weight, reference.weight, 1e-2)


def test_checkpoints_recompute_and_restore():
    torch.manual_seed(1)
    module = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2))
    x = random_tensor(3, 4)
    device = copy.deepcopy(module).npu()
    checkpoint(device, x.npu(), use_reentrant=False).sum().backward()
    module(x).sum().backward()
    assert_close(device[0].weight.grad, module[0].weight.grad)
    file = io.BytesIO()
    torch.save(device.state_dict(), file)
    file.seek(0)
    restored = torch.load(file, map_location="npu:0")
    assert all(torch.equal(value.cpu(), module.state_dict()[name]) for name, value in restored.items())


def test_compiled_functions_run_eagerly():
    function = torch.compile(lambda x: torch.relu(x @ x) + 1, backend="eager")
    x = random_tensor(4, 4)
    assert_close(function(x.npu()), torch.relu(x @ x) + 1)


def test_graphs_replay_many_times():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
    device = copy.deepcopy(model).npu()
    x = torch.zeros(4, 8).npu()
    with torch.no_grad():
        device(x)
        torch.npu.synchronize()
        graph = torch.npu.NPUGraph()
        with torch.npu.graph(graph):
            y = device(x)
        for seed in range(20):
            x.copy_(random_tensor(4, 8, seed=seed))
            graph.replay()
            assert_close(y, model(random_tensor(4, 8, seed=seed)), 1e-5)


def test_memory_that_the_host_swaps():
    x = random_tensor(256)
    swapped = torch_npu.empty_with_swapped_memory([256], dtype=torch.float32, device=torch.device("npu:0"))
    swapped.copy_(x.npu())
    assert_close(swapped.npu() if swapped.is_cpu else swapped + 0, x)


def test_streams_of_a_training_loop():
    """Uploads on one stream, trains on another, downloads the losses on a third, in order."""
    torch.manual_seed(1)
    model, reference = nn.Linear(16, 4), None
    reference = copy.deepcopy(model)
    model = model.npu()
    upload, download, main = torch.npu.Stream(), torch.npu.Stream(), torch.npu.current_stream()
    batches = [random_tensor(8, 16, seed=seed).pin_memory() for seed in range(4)]
    losses = torch.empty(4, pin_memory=True)
    optimizer, other = (torch.optim.SGD(each.parameters(), 0.05) for each in (model, reference))
    for index, batch in enumerate(batches):
        with torch.npu.stream(upload):
            x = batch.to("npu", non_blocking=True)
        main.wait_stream(upload)
        x.record_stream(main)
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        download.wait_stream(main)
        with torch.npu.stream(download):
            losses[index].copy_(loss.detach(), non_blocking=True)
        loss.record_stream(download)
    torch.npu.synchronize()
    for index, batch in enumerate(batches):
        other.zero_grad()
        loss = reference(batch).pow(2).mean()
        loss.backward()
        other.step()
        assert abs(losses[index].item() - loss.item()) < 1e-4


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
