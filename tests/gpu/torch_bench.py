"""PyTorch's training steps on this machine's GPU, for tests/gpu/bench. Answers each
line of standard input, a JSON object with arch, batch, size, steps, warmup-seconds, amp
and kind, with a line of JSON: {"samples": seconds of each step} or {"error": reason}.

Kinds: `eager`, which reads the loss on the host in each step; `no-item`, which does
not; `graph`, the whole step as one CUDA graph; `compiled`, torch.compile in mode
reduce-overhead. Forward, cross entropy, backward and SGD, channels last."""

import json
import sys
import time

import torch

import torch_nets


def make_step(arch, batch, size, amp, kind):
    classes = 1000 if size > 64 else 10
    net = torch_nets.make(arch, classes, size).cuda().train()
    net = net.to(memory_format=torch.channels_last)
    sgd = torch.optim.SGD(net.parameters(), 0.001, 0.9, weight_decay=1e-4, fused=True)
    images = torch.randn(batch, 3, size, size, device="cuda")
    images = images.to(memory_format=torch.channels_last)
    labels = torch.arange(batch, device="cuda") % classes

    def forward():
        with torch.autocast("cuda", torch.bfloat16, enabled=amp):
            return torch.nn.functional.cross_entropy(net(images), labels)
    if kind == "compiled":
        forward = torch.compile(forward, mode="reduce-overhead")

    def enqueue():
        sgd.zero_grad(set_to_none=kind != "graph")
        loss = forward()
        loss.backward()
        sgd.step()
        return loss

    if kind == "graph":
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                enqueue()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = enqueue()

    def step():
        if kind == "graph":
            graph.replay()
            loss.item()
        elif kind == "no-item":
            enqueue()
        else:
            enqueue().item()
        torch.cuda.synchronize()
    return step


def answer(request):
    step = make_step(request["arch"], request["batch"], request["size"],
                     request["amp"], request["kind"])
    start = time.perf_counter()
    while time.perf_counter() - start < request["warmup-seconds"]:
        step()
    samples = []
    for _ in range(request["steps"]):
        start = time.perf_counter()
        step()
        samples.append(time.perf_counter() - start)
    return {"samples": samples, "torch": torch.__version__,
            "gpu": torch.cuda.get_device_name()}


def main():
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = True
    for line in sys.stdin:
        try:
            said = answer(json.loads(line))
        except Exception as error:  # pylint: disable=broad-except
            said = {"error": f"{type(error).__name__}: {error}"}
        torch.cuda.empty_cache()
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
