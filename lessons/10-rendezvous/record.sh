# Regenerates trace.json.gz: one step of four ranks. Run from the repository's root.
./lockstep train --mode ddp --devices 4 -a resnet18 --dataset generated \
    --device-type null -b 16 --steps 1 --trace lessons/10-rendezvous/trace.json.gz
