# Images per second, and speed-ups: measured, emulated, the seed's. Expects: heading;
# columns, those of $runs with speed-ups that are known ('3 4 5' or fewer); $runs, a row
# `name images/s measured emulated seed's` per run, with – where there is none.
set datafile missing '–'
shown = words(columns)
column_of(k) = int(word(columns, k))
names = "'the runs' 'emulated: hardware of its own' 'the original study, 4 GPUs'"
colours = '#2F6FDE #F2A33A #8A93A3'
name_of(k) = word(names, column_of(k) - 2)
colour_of(k) = word(colours, column_of(k) - 2)
# A bar's number stands above it; of several bars in a cluster it is moved aside.
aside(k) = (k - (shown + 1) / 2.0) / (shown + 1)

set yrange [0:*]
set offsets 0,0,graph 0.14,0
set boxwidth 0.9
set style data histogram
set style histogram clustered gap 1
set xtics noenhanced
set multiplot title heading font ',13' noenhanced

set size 0.36,0.92
set origin 0,0
set title 'images per second of the runs'
plot $runs using 2:xtic(1) linecolor rgb '#2F6FDE' notitle, \
    $runs using 0:2:(sprintf('%.1f', $2)) with labels offset 0,0.6 \
        font ',8' textcolor rgb '#3B4252' notitle

set size 0.64,0.92
set origin 0.36,0
set title 'speed-up in images per second, over the first'
set key top left Left reverse
set offsets 0,0,graph 0.35,0
plot $runs using 3:xtic(1) title name_of(1) linecolor rgb colour_of(1), \
    for [k=2:shown] $runs using column_of(k) title name_of(k) \
        linecolor rgb colour_of(k), \
    for [k=1:shown] $runs \
        using ($0+aside(k)):column_of(k):(sprintf('%.2f', column(column_of(k)))) \
        with labels offset 0,0.6 font ',8' textcolor rgb '#3B4252' notitle

unset multiplot
