# Speed-ups against the number of devices, a curve per combination of the other options.
# Expects: heading; label, an array of the curves' names; $curves, a block per curve of
# rows `devices speed-up`.
colours = '#2F6FDE #F2A33A #B4352D #6B4FA0 #2E8B57 #7A8CA8'
set title heading
set logscale x 2
set xlabel 'devices'
set ylabel 'speed-up in images per second'
set yrange [0:*]
set key top left Left reverse noenhanced opaque font ',9'
stats $curves using 1:2 nooutput
set xrange [STATS_min_x:STATS_max_x*1.05]
set yrange [0:STATS_max_y*1.25]
plot x title 'each device adds one' with lines dashtype 2 linecolor rgb '#8A93A3', \
    for [c=1:|label|] $curves index c-1 using 1:2 with linespoints pointtype 7 \
        linewidth 2 linecolor rgb word(colours, 1 + (c - 1) % words(colours)) \
        dashtype 1 + (c - 1) / words(colours) title label[c]
