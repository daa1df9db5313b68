# A step of each run as a stack of its parts, and the speed-ups reached and predicted; a
# row of two plots per clock. Expects: heading; part, the names of the parts from bottom
# to top; clock, the clocks' names; $steps, a block per clock of rows `name ms …`, one
# device first; $speedups, a block per clock of rows `name reached predicted devices`,
# with – where a figure is unknown.
set datafile missing '–'
colours = '#F2A33A #E2672B #2F6FDE #C9A227 #7A8CA8 #5B93EA'. \
    ' #B4352D #6B4FA0 #8A93A3 #C5CBD5 #DDE1E8 #E9B3C7'
colour_of(p) = word(colours, 1 + (p - 1) % words(colours))
high = 1.0 / |clock|
# `DP, 256 on 2` in two lines.
comma(name) = strstrt(name, ', ')
label_of(name) = comma(name) ? name[1:comma(name)-1]."\n".name[comma(name)+2:*] : name

set style data histogram
set xtics noenhanced font ',9'
set boxwidth 0.8
set bmargin 3
set multiplot title heading font ',13' noenhanced
do for [c=1:|clock|] {
  unset arrow
  set yrange [0:*]

  set size 0.62,0.94*high
  set origin 0,(|clock|-c)*0.95*high
  set style histogram rowstacked
  set title 'ms per step, '.clock[c].': what a step waits for (dashes: one device)'
  set key outside right center Left reverse invert font ',8' samplen 1 noenhanced
  set offsets 0,0,0,0
  stats $steps index c-1 using (sum [p=2:|part|+1] column(p)) every ::0::0 nooutput
  set arrow from graph 0,first STATS_max to graph 1,first STATS_max nohead \
      dashtype 2 linecolor rgb '#3B4252' front
  plot for [p=1:|part|] $steps index c-1 using p+1:xtic(label_of(strcol(1))) \
      title part[p] linecolor rgb colour_of(p)
  unset arrow

  set size 0.38,0.94*high
  set origin 0.62,(|clock|-c)*0.95*high
  set style histogram clustered gap 1
  set title 'speed-up in images per second, '.clock[c]
  set key inside top left Left reverse font ',9' vertical noinvert
  set offsets 0,0,graph 0.3,0
  plot $speedups index c-1 using 2:xtic(label_of(strcol(1))) title 'reached' \
          linecolor rgb '#2F6FDE', \
      $speedups index c-1 using 3 title 'predicted from the proportions' \
          linecolor rgb '#C5CBD5', \
      $speedups index c-1 using ($0-0.17):2:(sprintf('%.2f', $2)) \
          with labels offset 0,0.6 font ',8' textcolor rgb '#3B4252' notitle, \
      $speedups index c-1 using ($0+0.17):3:(sprintf('%.2f', $3)) \
          with labels offset 0,0.6 font ',8' textcolor rgb '#3B4252' notitle
}
unset multiplot
