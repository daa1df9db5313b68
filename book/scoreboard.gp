# Efficiency as published and as predicted, with 90 % intervals, for each mode. Expects:
# rows, the file that `emulate --scoreboard … --csv` writes; out, the PNG.
set terminal pngcairo size 1840,1640 font 'Inter,11' fontscale 2 linewidth 2 \
    pointscale 1.4 background rgb 'white'
set output out
set encoding utf8
set datafile separator ','
set border 3 linecolor rgb '#8A93A3'
set tics nomirror scale 0.5 textcolor rgb '#3B4252'
set grid linecolor rgb '#E3E7ED' linetype 1
set key off
set logscale xy
froms = '0.25 0.75 0.4 0.45'
set xtics (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
set ytics (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
# Values are times or speeds; either way, the efficiency of a value is its ratio to that
# of perfect scaling.
is_time(metric) = metric[1:3] eq 'sec' || metric[1:2] eq 'ms'
efficiency(value, perfect, metric) = \
    is_time(metric) ? perfect / value : value / perfect
# Columns by name.
e(name) = efficiency(column(name), column('perfect'), strcol('metric'))
of(role, name) = strcol('role') eq role && column('anomaly') == 0 ? e(name) : NaN
roles = 'validate-dp validate-ddp validate-allreduce validate-ps'
titles = 'DataParallel|DistributedDataParallel|all-reduce (TensorFlow, MXNet)|'. \
    'parameter servers'
colours = '#F2A33A #2F6FDE #6B4FA0 #3E9B6E'
title_of(i) = system(sprintf("echo '%s' | cut -d'|' -f%d", titles, i))
set multiplot layout 2,2
do for [i=1:4] {
  set xrange [word(froms, i)+0:1.1]
  set yrange [word(froms, i)+0:1.1]
  set title title_of(i) font ',12' textcolor rgb '#1F2633'
  set xlabel 'efficiency, published' textcolor rgb '#3B4252'
  set ylabel 'efficiency, predicted' textcolor rgb '#3B4252'
  plot x with lines linecolor rgb '#8A93A3' dashtype 2, \
      rows using (of(word(roles, i), 'measured')):(of(word(roles, i), 'predicted')): \
          (of(word(roles, i), 'low')):(of(word(roles, i), 'high')) \
          with yerrorbars pointtype 7 pointsize 0.5 linecolor rgb word(colours, i)
}
unset multiplot
