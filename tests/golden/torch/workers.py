"""Workers that share one model, as PyTorch's examples write it.

`hogwild`: pytorch/examples, mnist_hogwild: the model is in shared memory
(`share_memory()`), and each process has an optimizer of its own. Here with one process,
since what several compute depends on the machine.

`batch_parameter_server`: PyTorch's tutorial "Implementing Batch RPC Processing Using
Asynchronous Executions": trainers send gradients to a server, which adds them up; when
`batch_update_size` have come, it divides by that number, makes a step, clears the
gradients and returns the model to all. Here with threads, and without RPC."""

import threading

import torch
import torch.multiprocessing as mp
import torch.nn.functional as F

from nets import SGD, digests
from pipelines import LR, linear_layers
from rules import fill, images, labels, provenance

BATCH, SHAPE, CLASSES, STEPS, TRAINERS = 12, (5,), 3, 3, 4


def made():
    net = linear_layers().to(torch.float64).train()
    fill(net, torch.float64)
    return net


def sgd(net):
    return torch.optim.SGD(
        net.parameters(), LR, SGD["momentum"], 0, SGD["weight_decay"]
    )


def data():
    return images((BATCH, *SHAPE), torch.float64), labels(BATCH, CLASSES)


def gradients_of(net, x, y):
    net.zero_grad(set_to_none=True)
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    return loss.item(), {n: p.grad.clone() for n, p in net.named_parameters()}


def facts(**more):
    return {
        **provenance(),
        **{"net": "linear", "batch": BATCH, "image": list(SHAPE), "classes": CLASSES},
        **{"dtype": "float64", "sgd": {**SGD, "lr": LR}, **more},
    }


def train(net, queue):
    optimizer, (x, y) = sgd(net), data()
    losses, first = [], None
    for _ in range(STEPS):
        loss, gradients = gradients_of(net, x, y)
        losses.append(loss)
        first = first or digests(gradients)
        optimizer.step()
    queue.put((losses, first))


def hogwild():
    net = made()
    net.share_memory()
    queue = mp.get_context("fork").SimpleQueue()
    process = mp.get_context("fork").Process(target=train, args=(net, queue))
    process.start()
    losses, first = queue.get()
    process.join()
    state = digests(net.state_dict())  # as the other process left it
    return facts(losses=losses, gradients=first, state=state)


class Server:
    def __init__(self, net, batch_update_size):
        self.net, self.size = net, batch_update_size
        self.lock, self.count = threading.Lock(), 0
        self.future = torch.futures.Future()
        self.optimizer = sgd(net)
        for parameter in net.parameters():
            parameter.grad = torch.zeros_like(parameter)

    def update_and_fetch(self, gradients):
        with self.lock:
            self.count += 1
            for name, parameter in self.net.named_parameters():
                parameter.grad += gradients[name]
            future = self.future
            if self.count >= self.size:
                for parameter in self.net.parameters():
                    parameter.grad /= self.size
                self.count = 0
                self.optimizer.step()
                self.optimizer.zero_grad(set_to_none=False)
                future.set_result(self.net.state_dict())
                self.future = torch.futures.Future()
        return future


def batch_parameter_server():
    server = Server(made(), TRAINERS)
    x, y = data()
    losses = [[0.0] * TRAINERS for _ in range(STEPS)]
    first = [None] * TRAINERS

    def trainer(i):
        net, mine = made(), (x.chunk(TRAINERS)[i], y.chunk(TRAINERS)[i])
        for step in range(STEPS):
            loss, gradients = gradients_of(net, *mine)
            losses[step][i] = loss
            first[i] = first[i] or gradients
            net.load_state_dict(server.update_and_fetch(gradients).wait())

    threads = [threading.Thread(target=trainer, args=(i,)) for i in range(TRAINERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    mean = {n: sum(f[n] for f in first) / TRAINERS for n in first[0]}
    return facts(
        trainers=TRAINERS,
        losses=[sum(of) / TRAINERS for of in losses],
        gradients=digests(mean),
        state=digests(server.net.state_dict()),
    )


JOBS = (hogwild, batch_parameter_server)
