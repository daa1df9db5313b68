# Regenerates trace.json.gz: ResNet18 on two ranks that share their batch norms'
# statistics. Run from the repository's root.
./lockstep train -a resnet18 --device-type null --dataset generated --mode ddp \
    --devices 2 -b 4 --steps 1 --sync-bn --trace lessons/08-batchnorm/trace.json.gz
