"""Runs the tests of one class: run_class.py FILE CLASS. Exits 77 if all were skipped,
so that ctest does not count them as passed."""

import importlib.util
import pathlib
import sys
import unittest


def load(path):
    """Imports a file as its folder's, so that its tests find their helpers."""
    sys.path[0] = str(path.parent)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def main(file, name):
    module = load(pathlib.Path(file).resolve())
    tests = unittest.defaultTestLoader.loadTestsFromName(name, module)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(tests)
    skipped = [test for test, _ in result.skipped
               if not isinstance(test, unittest.case._SubTest)]
    if not result.wasSuccessful() or not result.testsRun and not skipped:
        return 1
    return 77 if len(skipped) >= max(1, result.testsRun) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
