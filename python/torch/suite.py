"""Tests of NPU memory in PyTorch, on the unmodified `torch_npu`.

`cargo xtask test-torch` runs this file on several schedules and under the checker. Every function whose name
starts with `test` is a test. Results are compared with those of the CPU, byte by byte. The tests contain no
computations, because softacl implements only operators that copy.
"""

import os
import sys
import time

import torch
import torch_npu  # noqa: F401  (registers the device "npu")

TYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.float16, torch.bfloat16, torch.float32,
]


def assert_same(found, expected):
    """Asserts that two tensors are equal in type, shape and every byte."""
    found, expected = found.cpu().contiguous(), expected.contiguous()
    assert found.dtype == expected.dtype and found.shape == expected.shape, (found.dtype, found.shape, expected.shape)
    as_bytes = [tensor.reshape(-1).view(torch.uint8) for tensor in (found, expected)]
    assert torch.equal(*as_bytes), (found, expected)


def random_tensor(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * 50


def test_devices_can_be_queried_and_selected():
    assert torch.npu.is_available()
    assert torch.npu.device_count() == 2
    assert torch.npu.get_device_name(0).startswith("Ascend910B")
    assert torch.npu.current_device() == 0
    with torch.npu.device(1):
        assert torch.npu.current_device() == 1
        assert torch.empty(1, device="npu").device.index == 1
    free, total = torch.npu.mem_get_info()
    assert 0 < free <= total


def test_tensors_round_trip():
    for dtype in TYPES:
        x = (random_tensor(33, 7).abs() % 2).to(dtype)
        assert_same(x.to("npu"), x)
        assert_same(x.npu(), x)
        assert_same(x.to("npu:1"), x)
    x = torch.arange(8.0).to("npu")
    assert x.device.type == "npu" and x.device.index == 0
    assert x.cpu().tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert x[3].item() == 3
    assert_same(torch.empty(0, device="npu"), torch.empty(0))
    assert_same(torch.tensor(5).npu(), torch.tensor(5))


def test_non_blocking_copies_round_trip():
    x = random_tensor(1 << 16)
    pinned = x.pin_memory()
    assert pinned.is_pinned() and not x.is_pinned()
    device = pinned.to("npu", non_blocking=True)
    back = torch.empty_like(x, pin_memory=True)
    back.copy_(device, non_blocking=True)
    torch.npu.synchronize()
    assert_same(back, x)
    # With pageable memory the call blocks.
    assert_same(x.to("npu", non_blocking=True), x)


def test_copies_within_a_device_match_the_cpu():
    x = random_tensor(1000, 10)
    source, target = x.npu(), torch.empty(1000, 10, device="npu")
    target.copy_(source)
    assert_same(target, x)
    target[10:20].copy_(source[20:30])
    expected = x.clone()
    expected[10:20] = x[20:30]
    assert_same(target, expected)
    assert_same(source.clone(), x)


def test_copies_between_devices_match_the_cpu():
    x = random_tensor(500, 3)
    first = x.to("npu:0")
    second = torch.empty(500, 3, device="npu:1")
    second.copy_(first)
    torch.npu.synchronize("npu:0")
    torch.npu.synchronize("npu:1")
    assert_same(second, x)
    assert_same(first.to("npu:1"), x)
    assert_same(second.to("npu:0"), x)


def test_events_order_streams():
    x = random_tensor(1 << 14).pin_memory()
    upload, download = torch.npu.Stream(), torch.npu.Stream()
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    back = torch.empty_like(x, pin_memory=True)
    with torch.npu.stream(upload):
        begin.record()
        device = x.to("npu", non_blocking=True)
        end.record()
    download.wait_event(end)
    with torch.npu.stream(download):
        back.copy_(device, non_blocking=True)
    download.synchronize()
    assert_same(back, x)
    end.synchronize()
    assert begin.query() and end.query() and upload.query()
    assert begin.elapsed_time(end) >= 0
    assert torch.npu.current_stream() != upload


def test_wait_stream_orders_streams():
    side = torch.npu.Stream()
    x = random_tensor(4096).pin_memory()
    with torch.npu.stream(side):
        device = x.to("npu", non_blocking=True)
    torch.npu.current_stream().wait_stream(side)
    copied = device.clone()
    side.wait_stream(torch.npu.current_stream())
    assert_same(copied, x)
    device.record_stream(side)


def test_memory_statistics_follow_allocations():
    torch.npu.empty_cache()
    before = torch.npu.memory_allocated()
    held = torch.empty(1 << 20, dtype=torch.uint8, device="npu")
    assert torch.npu.memory_allocated() >= before + (1 << 20)
    assert torch.npu.memory_reserved() >= torch.npu.memory_allocated()
    assert torch.npu.max_memory_allocated() >= torch.npu.memory_allocated()
    del held
    assert torch.npu.memory_allocated() == before
    torch.npu.empty_cache()
    big = torch.empty(200 << 20, dtype=torch.uint8, device="npu")
    reserved = torch.npu.memory_reserved()
    del big
    torch.npu.empty_cache()
    assert torch.npu.memory_reserved() < reserved


def test_casts_match_the_cpu():
    values = torch.cat([
        random_tensor(2000),
        torch.tensor([0.0, -0.0, 0.5, -0.5, 1.5, 2.5, 65504.0, 65520.0, 1e-8, 6e-8, 3.14159, 127.0, 255.0, -128.0]),
    ])
    for from_type in TYPES:
        x = values.abs().to(from_type) if from_type == torch.uint8 else values.to(from_type)
        device = x.npu()
        for to_type in TYPES:
            # A cast to a narrow integer is undefined if out of range, in C and in PyTorch.
            narrow = to_type in (torch.int8, torch.uint8, torch.int16) and from_type.is_floating_point
            if narrow:
                kept = x[(x.float() >= 0) & (x.float() < 127)]
                assert_same(kept.npu().to(to_type), kept.to(to_type))
            else:
                assert_same(device.to(to_type), x.to(to_type))
    special = torch.tensor([float("inf"), float("-inf"), 1e38, -1e38])
    for to_type in (torch.float16, torch.bfloat16):
        assert_same(special.npu().to(to_type), special.to(to_type))
    nan = torch.tensor([float("nan")]).npu()
    assert all(nan.to(kind).cpu().isnan().all() for kind in (torch.float16, torch.bfloat16))
    assert_same(random_tensor(10).npu().half().float(), random_tensor(10).half().float())


def test_casting_copies_match_the_cpu():
    x = random_tensor(64, 5)
    for to_type in (torch.float16, torch.bfloat16, torch.int32):
        target = torch.empty(64, 5, dtype=to_type, device="npu")
        target.copy_(x.npu())
        assert_same(target, x.to(to_type))
        target.copy_(x)
        assert_same(target, x.to(to_type))
        host = torch.empty(64, 5, dtype=to_type)
        host.copy_(x.npu())
        assert_same(host, x.to(to_type))


def test_contiguous_views_match_the_cpu():
    for dtype in TYPES:
        x = random_tensor(6, 10, 14).to(dtype)
        device = x.npu()
        for view in (
            lambda t: t.transpose(0, 1),
            lambda t: t.transpose(0, 2),
            lambda t: t.permute(2, 0, 1),
            lambda t: t[1:4],
            lambda t: t[:, 2:5],
            lambda t: t[:, :, 3:9],
            lambda t: t[1:5, 2:8, 3:9],
            lambda t: t[::2],
            lambda t: t[:, 1::3],
            lambda t: t[..., ::2],
            lambda t: t[2, :, 4],
            lambda t: t[:, 3],
            lambda t: t[:, :, 5],
            lambda t: t[:1].expand(6, 10, 14),
            lambda t: t[:, :, :1].expand(6, 10, 14),
            lambda t: t.reshape(6, 140).t(),
            lambda t: t.as_strided((5, 7), (13, 3), 11),
            lambda t: t[3:4].squeeze(0).t().unsqueeze(1),
        ):
            assert_same(view(device).contiguous(), view(x).contiguous())
            assert_same(view(device).cpu(), view(x))
            assert_same(view(device).clone(), view(x).clone())


def test_strided_copies_match_the_cpu():
    x, y = random_tensor(12, 20), random_tensor(12, 20, seed=2)
    for to, of in (
        (lambda t: t[:, 3:9], lambda t: t[:, 10:16]),
        (lambda t: t[::2], lambda t: t[1::2]),
        (lambda t: t[:, ::4], lambda t: t[:, 1::4]),
        (lambda t: t.t(), lambda t: t.t()),
        (lambda t: t[2:8, 2:8], lambda t: t[6:12, 10:16].t()),
        (lambda t: t[3], lambda t: t[5]),
        (lambda t: t[:, 3], lambda t: t[:, 5]),
        (lambda t: t.view(2, 6, 4, 5)[:, 3], lambda t: t.view(2, 6, 4, 5)[:, 1]),
        (lambda t: t.view(2, 6, 4, 5)[:, :, 2], lambda t: t.view(2, 6, 4, 5)[:, :, 3]),
    ):
        expected = x.clone()
        to(expected).copy_(of(y))
        target = x.npu()
        to(target).copy_(of(y.npu()))
        assert_same(target, expected)
        # From the host, and with a cast.
        target = x.npu()
        to(target).copy_(of(y))
        assert_same(target, expected)
        halves, whole = x.half(), x.half().npu()
        to(halves).copy_(of(y))
        to(whole).copy_(of(y.npu()))
        assert_same(whole, halves)


def test_copy_to_a_view_leaves_other_elements_unchanged():
    x = random_tensor(64, 64)
    device = x.npu()
    device[:, 7].copy_(torch.zeros(64).npu())
    expected = x.clone()
    expected[:, 7] = 0
    assert_same(device, expected)


def test_fills_match_the_cpu():
    assert_same(torch.zeros(3, 5, device="npu"), torch.zeros(3, 5))
    assert_same(torch.ones(3, 5, dtype=torch.float16, device="npu"), torch.ones(3, 5, dtype=torch.float16))
    assert_same(torch.full((4,), 7, dtype=torch.int32, device="npu"), torch.full((4,), 7, dtype=torch.int32))
    x = random_tensor(9).npu()
    assert_same(x.zero_(), torch.zeros(9))
    assert_same(x.fill_(2.5), torch.full((9,), 2.5))
    x[2:4] = 8
    assert_same(x, torch.tensor([2.5, 2.5, 8, 8, 2.5, 2.5, 2.5, 2.5, 2.5]))
    cache, expected = random_tensor(2, 8, 4, 6), random_tensor(2, 8, 4, 6)
    device = cache.npu()
    device[:, 5].zero_()
    expected[:, 5].zero_()
    assert_same(device, expected)


def test_concatenation_matches_the_cpu():
    x, y = random_tensor(3, 4), random_tensor(5, 4, seed=3)
    assert_same(torch.cat([x.npu(), y.npu()]), torch.cat([x, y]))
    assert_same(torch.cat([x.npu().t(), y.npu().t()], dim=1), torch.cat([x.t(), y.t()], dim=1))


def test_captured_copies_can_be_replayed():
    # torch_npu refuses operators such as casts in a graph; plain copies are captured.
    x, copied = random_tensor(64).npu(), torch.zeros(64).npu()
    torch.npu.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        copied.copy_(x)
    assert_same(copied, torch.zeros(64))
    for seed in (1, 2):
        x.copy_(random_tensor(64, seed=seed))
        graph.replay()
        torch.npu.synchronize()
        assert_same(copied, random_tensor(64, seed=seed))


def test_many_small_copies_arrive():
    host = torch.arange(2000, dtype=torch.int32).pin_memory()
    device = torch.empty(2000, dtype=torch.int32, device="npu")
    for at in range(0, 2000, 4):
        device[at:at + 4].copy_(host[at:at + 4], non_blocking=True)
    torch.npu.synchronize()
    assert_same(device, host)


def test_large_tensors_match_the_cpu():
    x = torch.arange(8 << 20, dtype=torch.int32)
    device = x.npu()
    assert_same(device, x)
    assert_same(device.view(2048, -1).t().contiguous()[:64], x.view(2048, -1).t()[:64])
    assert_same(device.to(torch.float32), x.to(torch.float32))


def test_tensors_can_be_saved_and_loaded():
    import io

    x = random_tensor(10, 10).npu()
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    assert_same(torch.load(file, weights_only=True), x.cpu())
    model = torch.nn.Linear(16, 8)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    model.to("npu")
    for name, value in model.state_dict().items():
        assert value.device.type == "npu"
        assert_same(value, weights[name])


def main():
    names = sys.argv[1:] or [name for name in globals() if name.startswith("test")]
    for name in names:
        start = time.time()
        globals()[name]()
        if os.environ.get("VERBOSE"):
            print(f"{name:<48} {time.time() - start:6.2f} s", flush=True)
    print(f"{len(names)} tests passed")


if __name__ == "__main__":
    main()
