"""What `print(model)` prints of the models, and of models in wrappers."""

import torch
import torch.distributed as dist
import torchvision.models as models
from torch.nn.parallel import DistributedDataParallel

from rules import provenance


class Model(torch.nn.Module):
    """The notebook's."""

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(5, 2)

    def forward(self, x):
        return self.fc(x)


def with_wrapped_features(net):
    """The ImageNet example's way for AlexNet and VGG."""
    net.features = torch.nn.DataParallel(net.features)
    return net


def distributed(net):
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    text = repr(DistributedDataParallel(net))
    dist.destroy_process_group()
    return text


def printed():
    meta = {"init_weights": False}
    synced = torch.nn.SyncBatchNorm.convert_sync_batchnorm(models.resnet18())
    return {
        **provenance(),
        "classes": 1000,
        "single": {
            "alexnet": repr(models.alexnet()),
            "resnet18": repr(models.resnet18()),
            "resnet34": repr(models.resnet34()),
            "resnet50": repr(models.resnet50()),
            "vgg16": repr(models.vgg16(**meta)),
            "vgg16_bn": repr(models.vgg16_bn(**meta)),
            "toy": repr(Model()),
        },
        "synchronized": {"resnet18": repr(synced)},
        "dp": {
            "resnet18": repr(torch.nn.DataParallel(models.resnet18())),
            "toy": repr(torch.nn.DataParallel(Model())),
        },
        "dp-features": {
            "alexnet": repr(with_wrapped_features(models.alexnet())),
            "vgg16": repr(with_wrapped_features(models.vgg16(**meta))),
        },
        "ddp": {"toy": distributed(Model())},
    }
