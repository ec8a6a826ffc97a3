"""Offloads blocks of a KV cache to pinned host memory and reloads them, on a dedicated stream.

    softacl run -- python kv_offload.py

It works like a serving engine. The cache of a layer is one tensor of blocks. When a request has to wait, its
blocks are copied to a pool of pinned memory; later they are copied back to other slots. The copies run
concurrently with the compute stream, and events mark when a block may be reused. Every byte is verified.
"""

import random
import sys

import torch
import torch_npu  # noqa: F401  (registers the device "npu")

LAYERS, BLOCKS, TOKENS, HEADS, WIDTH = 4, 64, 16, 8, 64
DEVICE = "npu:0"


class Cache:
    """Keys and values of all layers as blocks on the device, with a pool of blocks on the host."""

    def __init__(self, blocks):
        shape = (2, blocks, TOKENS, HEADS, WIDTH)
        self.device = [torch.zeros(shape, dtype=torch.float16, device=DEVICE) for _ in range(LAYERS)]
        self.host = [torch.zeros(shape, dtype=torch.float16, pin_memory=True) for _ in range(LAYERS)]
        self.stream = torch.npu.Stream(DEVICE)

    def offload(self, pairs):
        """Copies blocks to the host, after all work queued on the current stream."""
        return self._move(pairs, self.device, self.host)

    def reload(self, pairs):
        """Copies blocks back, after all work queued on the current stream."""
        return self._move(pairs, self.host, self.device)

    def _move(self, pairs, source, target):
        self.stream.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(self.stream):
            for layer in range(LAYERS):
                for kind in range(2):
                    for source_block, target_block in pairs:
                        target[layer][kind, target_block].copy_(source[layer][kind, source_block], non_blocking=True)
            done = torch.npu.Event()
            done.record()
        return done


def main():
    random.seed(7)
    cache = Cache(BLOCKS)
    contents = [torch.randn(2, BLOCKS, TOKENS, HEADS, WIDTH).half() for _ in range(LAYERS)]
    for layer in range(LAYERS):
        cache.device[layer].copy_(contents[layer])

    waiting = random.sample(range(BLOCKS), BLOCKS // 2)
    slots = random.sample(range(BLOCKS), len(waiting))
    offloaded = cache.offload(list(zip(waiting, slots)))

    # The blocks may be overwritten only after the copies are done.
    torch.npu.current_stream().wait_event(offloaded)
    for layer in range(LAYERS):
        for block in waiting:
            cache.device[layer][:, block].zero_()

    back = random.sample(waiting, len(waiting))
    reloaded = cache.reload(list(zip(slots, back)))
    torch.npu.current_stream().wait_event(reloaded)

    for layer in range(LAYERS):
        expected = contents[layer].clone()
        for was, now in zip(waiting, back):
            expected[:, now] = contents[layer][:, was]
        if not torch.equal(cache.device[layer].cpu(), expected):
            sys.exit(f"layer {layer} has the wrong contents")
    moved = 2 * LAYERS * len(waiting)
    print(f"{moved} blocks of {TOKENS * HEADS * WIDTH * 2} bytes went to the host and came back")


if __name__ == "__main__":
    main()
