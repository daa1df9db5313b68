#!/usr/bin/env bash
# Copies the parts of Debian's packages that the book needs offline into FOLDER: the
# part of MathJax that converts TeX to HTML (1.6 MB of 56), and the viewer's fonts.
#
#   book/assets.bash FOLDER
set -euo pipefail
mathjax=/usr/share/javascript/mathjax
into=${1:?"usage: book/assets.bash FOLDER"}
for needed in $mathjax/MathJax.js /usr/share/fonts/opentype/inter/Inter-Regular.otf \
    /usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-Regular.ttf; do
  if [[ ! -e $needed ]]; then
    echo "book: $needed is missing; fix: ./lockstep book installs it, or apt-get" \
      "install libjs-mathjax fonts-inter fonts-jetbrains-mono" >&2
    exit 1
  fi
done
if [[ -f $into/.complete ]]; then exit; fi

mkdir -p "$into"/mathjax/{config,jax/output,jax/input,fonts/HTML-CSS/TeX} "$into/fonts"
cp -L $mathjax/MathJax.js "$into/mathjax/"
cp -L $mathjax/config/TeX-AMS_CHTML.js "$into/mathjax/config/"
cp -rL $mathjax/jax/output/CommonHTML "$into/mathjax/jax/output/"
cp -rL $mathjax/jax/element "$into/mathjax/jax/"
cp -rL $mathjax/jax/input/TeX "$into/mathjax/jax/input/"
cp -rL $mathjax/extensions "$into/mathjax/"
cp -rL $mathjax/fonts/HTML-CSS/TeX/woff "$into/mathjax/fonts/HTML-CSS/TeX/"
for weight in Regular Italic SemiBold Bold; do
  cp /usr/share/fonts/opentype/inter/Inter-$weight.otf "$into/fonts/"
done
for weight in Regular Italic SemiBold; do
  cp /usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-$weight.ttf "$into/fonts/"
done
touch "$into/.complete"
