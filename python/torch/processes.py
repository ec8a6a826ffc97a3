"""Shares a device tensor between two processes with torch.multiprocessing."""

import torch
import torch.multiprocessing as processes
import torch_npu  # noqa: F401


def write(tensors, answers):
    tensor = tensors.get()
    answers.put(tensor.cpu().tolist())
    tensor.copy_(torch.full((1000,), 3.0))
    torch.npu.synchronize()
    del tensor
    answers.put("written")
    tensors.get()


def main():
    processes.set_start_method("spawn")
    tensors, answers = processes.Queue(), processes.Queue()
    child = processes.Process(target=write, args=(tensors, answers))
    child.start()
    tensor = torch.ones(1000).npu()
    tensors.put(tensor)
    assert answers.get(timeout=120) == [1.0] * 1000
    assert answers.get(timeout=120) == "written"
    assert tensor.cpu().tolist() == [3.0] * 1000
    tensors.put(None)
    child.join(120)
    assert child.exitcode == 0
    print("shared with another process")


if __name__ == "__main__":
    main()
