"""The book's own directives: it shows the sources that run, and never copies of them.

    ```{region} path name           the lines between `// [name]` and `// [/name]`
    ```{function} path name …       whole functions or types, found by name
    ```{file} path                  a whole file
    ```{output} path                what a program printed, kept by book/capture.sh
    ```{trace-figure} path          a picture of a trace, made by book/figures.sh
    ```{rosetta} path               a table PyTorch ⇄ lockstep, checked
    :::{answer}                     what a question keeps shut until a click
    ```{coverage}                   which lines of the engine no page shows
    ```{lessons}                    links to the chapters that are there
    {src}`path`                     the name of a file that exists

Paths count from the repository's root. Whatever is missing, ambiguous, unclosed, empty
or unused is a warning, and a warning fails the build. README.md tells the options.
"""


def setup(app):
    # Here, so that what needs no Sphinx (cxx, regions) can be used without it.
    from . import answer, coverage, evidence, lessons, rosetta, show, shown

    for part in (shown, show, answer, evidence, lessons, rosetta, coverage):
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
