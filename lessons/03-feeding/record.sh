# Regenerates trace.json.gz: a device fed by four workers. Run from the repository's root.
./lockstep train -a resnet18 --gpu 0 --device-type null --dataset generated -b 16 \
    --steps 3 -j 4 --trace lessons/03-feeding/trace.json.gz
