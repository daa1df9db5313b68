# Accuracies against epochs, a curve per run; at the end, against the batch size, a line
# per recipe. Expects: heading; runs, and of each its label, batch and recipe (numbers
# from 1); $curves, a block of `epoch train test` per run; $gaps, a block of
# `batch gap test` per recipe.
batch_colours = '#8FB8F6 #2F6FDE #0B2E6F #F2A33A #B4552D'  # from light to dark
recipes = "'constant rate' 'scaled rate' 'scaled, warm-up'"
recipe_dashes = '1 2 4'
recipe_points = '7 5 9'
recipe_colours = '#8A93A3 #2F6FDE #F2A33A'
colour_of(run) = word(batch_colours, 1 + (batch[run] - 1) % words(batch_colours))
dash_of(run) = int(word(recipe_dashes, recipe[run]))

set multiplot layout 2,2 title heading font ',13' noenhanced

set xlabel 'epochs'
stats $curves using 1 nooutput
set xtics ceil(STATS_max / 10.0)  # whole epochs
set yrange [0:100]
set title 'training Acc@1, % (each epoch''s batches as they were trained)'
unset key
plot for [run=1:runs] $curves index run-1 using 1:2 with lines linewidth 2 \
    dashtype dash_of(run) linecolor rgb colour_of(run) title label[run]

set title 'test Acc@1, %'
set key top left Left reverse opaque font ',9'
plot for [run=1:runs] $curves index run-1 using 1:3 with lines linewidth 2 \
    dashtype dash_of(run) linecolor rgb colour_of(run) title label[run]

set xlabel 'batch'
set xtics autofreq
set logscale x 2
set offsets graph 0.05, graph 0.05, graph 0.1, graph 0.1
unset yrange
set yrange [*:*]
set key top left
set title 'training minus test Acc@1 at the end, points'
plot for [r=1:3] $gaps index r-1 using 1:2:xtic(1) with linespoints \
    pointtype int(word(recipe_points, r)) linewidth 2 \
    linecolor rgb word(recipe_colours, r) title word(recipes, r)

set title 'test Acc@1 at the end, %'
set key bottom left
plot for [r=1:3] $gaps index r-1 using 1:3:xtic(1) with linespoints \
    pointtype int(word(recipe_points, r)) linewidth 2 \
    linecolor rgb word(recipe_colours, r) title word(recipes, r)

unset multiplot
