"""The examples in docstrings, each run as a reader would, in a folder of its own where what it names is there."""

import doctest
import os
import shutil
import tempfile
from pathlib import Path


class Checker(doctest.OutputChecker):
    """What an example does not say may be anything."""

    def check_output(self, want, got, flags):
        return not want or super().check_output(want, got, flags)


def check(case, module, world, names, makes):
    """`names()` gives what examples may use, anew for each docstring; the files of `world` are around them, but for
    those that `makes` says that a docstring's examples make themselves. Every function and class of the module has
    some."""
    found = [doctest.DocTestParser().get_doctest(module.__doc__, {}, module.__name__, None, None)]
    for name in module.__all__:
        if not getattr(getattr(module, name), "__module__", "").startswith(module.__name__):
            continue
        own = [one for one in doctest.DocTestFinder().find(getattr(module, name), name, module=False) if one.examples]
        case.assertTrue(own, f"{name} has no example")
        found += own
    before = os.getcwd()
    for one in found:
        with case.subTest(one.name), tempfile.TemporaryDirectory() as folder:
            here = Path(folder) / "here"
            shutil.copytree(world, here, ignore=shutil.ignore_patterns(*makes.get(one.name, ())))
            os.chdir(here)
            try:
                one.globs.update(names())
                said = []
                doctest.DocTestRunner(Checker(), verbose=False).run(one, out=said.append, clear_globs=False)
                case.assertEqual("".join(said), "")
            finally:
                os.chdir(before)
