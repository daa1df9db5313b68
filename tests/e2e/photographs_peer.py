"""The outputs of torchvision's models for photographs, in float32:

    photographs_peer.py ARCH CLASSES WEIGHTS.pth PHOTOGRAPH...

Creates random weights and running statistics, writes them, and prints the
log-probabilities of each photograph as JSON. Photographs are opened by PIL, and cropped
and normalized by torchvision like in the ImageNet example's evaluation."""

import json
import sys

import torch
import torchvision
from PIL import Image
from torchvision import transforms

WINDOW = transforms.Compose([
    transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(),
    transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])


def main():
    arch, classes, weights = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    torch.manual_seed(7)
    net = getattr(torchvision.models, arch)(num_classes=classes)
    images = torch.stack([WINDOW(Image.open(path).convert("RGB"))
                          for path in sys.argv[4:]])
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            if name.endswith("bias"):
                parameter.uniform_(-0.1, 0.1)
        if list(net.buffers()):
            net.train()(images[:2])  # updates the running statistics
        torch.save(net.state_dict(), weights)
        logits = net.eval()(images)
    assert logits.std(0).mean() > 1e-3, "the photographs look alike to this net"
    print(json.dumps(torch.log_softmax(logits, 1).tolist()))


if __name__ == "__main__":
    main()
