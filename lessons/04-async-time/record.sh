# Regenerates trace.json.gz: the host runs ahead of a device. Run from the repository's root.
./lockstep train -a resnet18 --gpu 0 --dataset generated -b 4 --length 8 --steps 2 \
    --trace lessons/04-async-time/trace.json.gz
