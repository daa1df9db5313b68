# What all plots have in common. Expects: name, width, height. Alone it draws the PNG
# again; `kind` asks for the SVG or the PNG on standard output.
if (!exists('kind')) { kind = 'png'; set output name.'.png' }
look = "font 'Inter,11' background rgb 'white'"
if (kind eq 'svg') { set terminal svg size width,height @look }
if (kind eq 'png') { set terminal pngcairo size 2*width,2*height @look \
                         fontscale 2 linewidth 2 pointscale 2 }
set encoding utf8
set border 3 linecolor rgb '#8A93A3'
set tics nomirror scale 0.5 textcolor rgb '#3B4252'
set grid ytics linecolor rgb '#E3E7ED' linetype 1
set title textcolor rgb '#1F2633' font ',12' noenhanced
set key textcolor rgb '#3B4252'
set style fill solid 1 noborder
