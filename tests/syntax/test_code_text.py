"""What is left of a text where only code that runs at import may count: never too little."""

import pytest

from placement_lint.syntax.code_text import outside_functions


@pytest.mark.parametrize(
    "text",
    [
        "x = f()",
        "x = (lambda: 0, f())",
        "x = (lambda: 0) or f()",
        "x = [lambda: 0 for _ in f()]",
        "x = lambda y=f(): y",
        "x = {'a': lambda: 0, 'b': f()}",
        "x = {lambda: {1}, f()}",
        "x = (lambda: 0)\ny = f()",
        "x = lambda: 0; y = f()",
        'x = "lambda: 0" + f()',
        'x = f"lambda: " + f()',
        'x = f"lambda: {f()}"',
        "x = g(lambda: ((h(i()))), f())",
        "x = lambda: \\\n 0\ny = f()",
        "def g(x=f()): pass",
        "@f()\ndef g(): pass",
        "class A:\n    x = f()",
        "# lambda: 0\nx = f()",
        "if __name__ == '__main__':\n    g()\nelse:\n    f()",
        "if __name__ == '__main__':\n    g()\nf()",
        "if __name__ == '__main__': g()\nf()",
        "if __name__ == 'worker':\n    f()",
        "if __name__ != '__main__':\n    f()",
        "if __name__ == '__main__' or x:\n    f()",
        "if f():\n    if __name__ == '__main__':\n        g()",
        'x = f"""\nif __name__ == "__main__":\n    {f()}\n"""',
        'x = f"""\nif __name__ == \'__main__\':\n    """; y = f()',
        'x = """\nif __name__ == "__main__":\n    """; y = f()',
        '# if __name__ == "__main__":\nx = f()',
        "if __name__ == '__main__':\n    g(\n0)\nx = f()",
    ],
)
def test_what_runs_at_import_is_left(text: str) -> None:
    assert "f()" in outside_functions(text)


@pytest.mark.parametrize(
    "text",
    [
        "x = lambda: f()",
        "x = lambda: 1 + f() if y else 2",
        "x = g(lambda y: f(), 1)",
        "x = g(\n    lambda y:\n        f(y, f()),\n    1,\n)",
        "x = lambda: g(f())[0]",
        "def g():\n    return f()",
        "def g():\n    return 0\n\n    x = f()\ny = 1",
        "# f()",
        'x = """f()"""',
        'if __name__ == "__main__":\n    f()',
        'if __name__ == "__main__":\n    f()\n\n    # done\n    g(f())\n',
        "if (__name__ == '__main__'):  # run\n\tf()\nx = 1",
        "if __name__ == '__main__': f()\n",
    ],
)
def test_what_does_not_run_at_import_is_not_left(text: str) -> None:
    assert "f(" not in outside_functions(text)
