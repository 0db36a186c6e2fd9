"""Programs drawn at random: what vendors are told apart by, around statements with effects.

A program is a module. What it does at module level runs first; then ``run`` is called with a
tensor ``x``, a device ``device``, its type ``device_type`` and a text ``target_device``. The
names ``trace`` (an effect), ``ask`` (a question whose asking is an effect) and ``args`` are
given to it. An arm for another vendor uses that vendor's API, as real ones do.

What is drawn comes from a ``random.Random``, so that hypothesis can draw it and shrink it, and
a seed can repeat it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from tests.oracle import questions
from tests.oracle.questions import Question
from tests.oracle.trace import OTHERS

Lines = list[str]

_BACKENDS = {"cuda": "nccl", "npu": "hccl", "musa": "mccl", "mlu": "cncl", "gcu": "eccl"}
_UNSERVED = ("mps", "xpu")


@dataclass(slots=True)
class _Place:
    """Where the next statement stands, and what can be named and asked there."""

    rng: Random
    vendor: str
    in_run: bool = True
    in_loop: bool = False
    may_return: bool = True
    depth: int = 2
    helpers: Sequence[Question] = ()
    labels: list[int] = field(default_factory=lambda: [0])

    def chance(self, percent: int) -> bool:
        return self.rng.randrange(100) >= 100 - percent

    def label(self) -> str:
        """A text that no other statement of the program has."""
        self.labels[0] += 1
        return f"s{self.labels[0]}"

    def inner(self, **changes: bool) -> _Place:
        return replace(self, depth=self.depth - 1, **changes)  # type: ignore[arg-type]


def program(rng: Random) -> str:
    """The text of a program."""
    at = _Place(rng, rng.choice(OTHERS))
    definitions: Lines = []
    asked: list[Question] = []
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        definition, question = rng.choice(questions.HELPERS)
        definition, question = _of(definition, at.vendor), _named(question, at.vendor)
        if definition not in definitions:
            definitions.append(definition)
            asked.append(question)
    at.helpers = tuple(asked)
    body = _suite(at, rng.choice((1, 2, 2, 3)))
    top: Lines = []
    if at.chance(35):
        outside = replace(at, in_run=False, may_return=False, depth=1)
        top = _suite(outside, rng.choice((1, 2)))
        top = ['mode = "none"', "out = []", *top, 'trace("top", mode, out)']
    # So that cuda is the vendor that the program is written for, whatever else it names.
    body = ["torch.cuda.init()", *body]
    run = [
        "def run(x, device: torch.device, device_type: str, target_device: str):",
        *_indented(['mode = "none"', "out = []", *body, "return mode, out, x"]),
    ]
    text = "\n".join(["import importlib.util", "import torch", "", *definitions, *top, "", *run])
    return text + "\n"


# --- conditions ------------------------------------------------------------------------------


def _of(text: str, vendor: str) -> str:
    return text.format(v=vendor, V=vendor.upper())


def _named(question: Question, vendor: str) -> Question:
    return replace(question, text=_of(question.text, vendor), vendor=_of(question.vendor, vendor))


def _pools(at: _Place) -> list[Sequence[Question]]:
    """What may be asked here; pools that come more often stand more often."""
    pools: list[Sequence[Question]] = [
        *(questions.ACCELERATOR_ANYWHERE,) * 3,
        *(questions.OTHER_ANYWHERE,) * 3,
        questions.OTHER_UNGUARDED,
        questions.BOTH_ANYWHERE,
        questions.BOTH_UNGUARDED,
        questions.ANY_OF,
        questions.UNSERVED_ANYWHERE,
        questions.OPTIONS,
    ]
    if at.in_run:
        pools += [
            *(questions.ACCELERATOR_IN_RUN,) * 3,
            *(questions.OTHER_IN_RUN,) * 3,
            *(questions.BOTH_IN_RUN,) * 2,
            questions.UNSERVED_IN_RUN,
        ]
    if at.helpers:
        pools += [at.helpers] * 4
    if at.chance(10):
        pools.append(questions.NVIDIA_ONLY)
    return pools


def _question(at: _Place) -> Question:
    return _named(at.rng.choice(at.rng.choice(_pools(at))), at.vendor)


def _condition(at: _Place) -> Question:
    """A question, its negation, or several joined."""
    first = _question(at)
    kind = at.rng.randrange(10)
    if kind < 6:
        return first
    if kind == 6:
        return Question(f"not {_operand(first)}", "", first.about)
    second = _question(at)
    word = at.rng.choice(("and", "or"))
    vendor = first.vendor if word == "and" else ""
    text = f"{_operand(first)} {word} {_operand(second)}"
    if kind == 9:
        third = _question(at)
        # "An accelerator, and not NVIDIA's" stays whole and is reported (FL111), so it is not
        # drawn: which of its halves is meant on the target is for a human to say.
        if word == "or" or third not in questions.NVIDIA_ONLY:
            text = f"{text} {word} not {_operand(third)}"
    return Question(text, vendor, first.about)


def _operand(question: Question) -> str:
    text = question.text
    return f"({text})" if " " in text else text


def _tests(at: _Place, count: int) -> list[Question]:
    """The tests of a chain: often all about one thing."""
    if at.chance(70):
        about = at.rng.choice(("probe", "device") if at.in_run else ("probe",))
        pool = [q for some in _pools(at) for q in some if q.about == about and q.vendor]
        if pool:
            return [_named(at.rng.choice(pool), at.vendor) for _ in range(count)]
    return [_condition(at) for _ in range(count)]


# --- what arms do ----------------------------------------------------------------------------


def _effect(at: _Place, vendor: str, style: str) -> str:
    """One statement of an arm for a vendor; a style is what the arms of a chain share."""
    if style == "label":
        return f'mode = "{at.label()}"'
    if style == "count":
        return f"mode = {at.rng.randrange(3)}"
    if style == "trace":
        return f'trace("{at.label()}")'
    if style == "name":
        return f'mode = "{vendor or "cpu"}"'
    if style == "backend":
        return f'mode = "{_BACKENDS.get(vendor, "gloo")}"'
    if style == "append":
        return f'out.append("{vendor or at.label()}")'
    if vendor in ("", *_UNSERVED):
        return f'out.append("{at.label()}")'
    if style == "call":
        name = at.rng.choice(("synchronize()", "empty_cache()", "manual_seed(7)", "set_device(1)"))
        return f"torch.{vendor}.{name}"
    if not at.in_run:
        return f'mode = torch.zeros(1, device="{vendor}").device.type'
    move = at.rng.choice(
        ('x.to("{0}")', 'x.to("{0}:1")', "x.{0}()", "x.{0}(1)", 'torch.ones(2, device="{0}")')
    )
    return f"x = {move.format(vendor)}"


_STYLES = ("label", "count", "trace", "name", "backend", "append", "call", "call", "move", "move")


def _arm(at: _Place, vendor: str, style: str) -> Lines:
    """The suite of an arm."""
    if at.depth > 0 and at.chance(20):
        return _suite(at.inner(), 1)
    lines = [_effect(at, vendor, style)]
    if at.chance(20):
        lines.append(_effect(at, vendor, at.rng.choice(_STYLES)))
    if at.chance(6):
        lines.append("pass")
    if at.may_return and at.in_run and at.chance(12):
        lines.append("return mode, out, x")
    if at.in_loop and at.chance(15):
        lines.append(at.rng.choice(("break", "continue")))
    return lines


def _value(at: _Place, vendor: str) -> str:
    """A value of an arm, without an effect."""
    return at.rng.choice(
        (
            f'"{at.label()}"',
            str(at.rng.randrange(3)),
            f'"{vendor or "cpu"}"',
            f'"{_BACKENDS.get(vendor, "gloo")}"',
            f'torch.device("{vendor or "cpu"}")',
        )
    )


# --- constructs ------------------------------------------------------------------------------


def _suite(at: _Place, count: int) -> Lines:
    lines: Lines = []
    for _ in range(count):
        lines += at.rng.choice(_CONSTRUCTS)(at)
    return lines


def _indented(lines: Sequence[str]) -> Lines:
    return [f"    {line}" if line else line for text in lines for line in text.split("\n")]


def _chain(at: _Place) -> Lines:
    long = 20 if at.chance(4) else 3
    tests = _tests(at, 1 + at.rng.randrange(long))
    style = at.rng.choice(_STYLES)
    lines: Lines = []
    for number, test in enumerate(tests):
        lines.append(f"{'elif' if number else 'if'} {test.text}:")
        if at.chance(10):
            lines.append(f"    # {at.label()}")
        lines += _indented(_arm(at, test.vendor, style))
    if at.chance(60):
        vendor = "cuda" if at.chance(20) else ""
        lines += ["else:", *_indented(_arm(at, vendor, style))]
    return lines


def _early_return(at: _Place) -> Lines:
    if not (at.may_return and at.in_run):
        return _chain(at)
    lines: Lines = []
    for test in _tests(at, 1 + at.rng.randrange(2)):
        lines += [f"if {test.text}:", f"    return {_value(at, test.vendor)}"]
    return lines


def _ternary(at: _Place) -> Lines:
    test = _condition(at)
    other = _value(at, "")
    if at.chance(30):
        second = _condition(at)
        other = f"({_value(at, second.vendor)} if {second.text} else {other})"
    return [f"mode = {_value(at, test.vendor)} if {test.text} else {other}"]


def _flag(at: _Place) -> Lines:
    test = _condition(at)
    name = at.rng.choice(("flag", "use_cuda", "_is_vendor", "on_gpu"))
    style = at.rng.choice(_STYLES)
    lines = [f"{name} = {test.text}", f"if {name}:", *_indented(_arm(at, test.vendor, style))]
    if at.chance(50):
        lines += ["else:", *_indented(_arm(at, "", style))]
    if at.chance(30):
        lines.append(f"trace(bool({name}))")
    return lines


def _walrus(at: _Place) -> Lines:
    test = _condition(at)
    return [
        f"if (found := {test.text}):",
        *_indented(_arm(at, test.vendor, "trace")),
        "trace(bool(found))",
    ]


def _assertion(at: _Place) -> Lines:
    test = _condition(at)
    if at.chance(50):
        return [f'assert {_operand(test)} or ask("{at.label()}"), "no device"']
    return [f'assert {test.text}, "no device"']


def _traced_condition(at: _Place) -> Lines:
    return [f"trace(bool({_condition(at).text}))"]


def _while(at: _Place) -> Lines:
    test = _condition(at)
    if at.chance(30):  # as little as may go with a loop that is never entered
        calls = _arm(replace(at, in_loop=False), test.vendor, "call")  # "continue" would not end
        return [f"while {test.text}:", *_indented(calls), "    break"]
    lines = [f"while {test.text}:", f'    trace("{at.label()}")']
    lines += _indented(_arm(replace(at, in_loop=True), test.vendor, "trace"))
    lines.append("    break")
    if at.chance(40):
        lines += ["else:", f'    trace("{at.label()}")']
    return lines


def _for(at: _Place) -> Lines:
    test = _condition(at)
    inner = replace(at, in_loop=True)
    lines = ["for step in range(2):", f"    if {test.text}:"]
    lines += _indented(_indented(_arm(inner, test.vendor, at.rng.choice(_STYLES))))
    if at.chance(40):
        lines.append(f"        {at.rng.choice(('break', 'continue'))}")
    if at.chance(40):
        lines += ["    else:", *_indented(_indented(_arm(inner, "", "trace")))]
    lines.append(f'    trace("{at.label()}", step)')
    if at.chance(40):
        lines += ["else:", f'    trace("{at.label()}")']
    return lines


def _comprehension(at: _Place) -> Lines:
    if at.in_run and at.chance(40):
        kinds = at.rng.choice(
            (f'("cuda", "{at.vendor}", "cpu")', '("cpu", "cuda")', f'("{at.vendor}", "mps")')
        )
        return [f"out += [kind for kind in {kinds} if device.type == kind]"]
    test = _condition(at)
    text = _operand(test)
    if ":=" in text or (not at.in_run and "(lambda" in text):
        return _chain(at)
    return [f"out += [k for k in ('{at.label()}', '{at.label()}') if {text}]"]


def _match(at: _Place) -> Lines:
    if not at.in_run:
        return _chain(at)
    lines = [f"match {at.rng.choice(('device.type', 'device_type', 'x.device.type'))}:"]
    style = at.rng.choice(_STYLES)
    cases = [
        ("cuda", '"cuda"'),
        (at.vendor, f'"{at.vendor}"'),
        ("", '"cpu"'),
        ("mps", '"mps"'),
        ("", f'"cuda" | "{at.vendor}"'),
        ("", f'"{at.vendor}" | "mps"'),
    ]
    count = 1 + at.rng.randrange(4)
    for _ in range(count):
        vendor, pattern = at.rng.choice(cases)
        guard = f" if {_question(at).text}" if at.chance(20) else ""
        lines += [f"    case {pattern}{guard}:", *_indented(_indented(_arm(at, vendor, style)))]
    if at.chance(50):
        lines += ["    case _:", *_indented(_indented(_arm(at, "", style)))]
    return lines


def _table(at: _Place) -> Lines:
    if not at.in_run:
        return _ternary(at)
    same = _value(at, "")
    keys = at.rng.sample(("cuda", at.vendor, "cpu", "mps", "musa"), 1 + at.rng.randrange(4))
    called = at.chance(30)
    entries = []
    for key in dict.fromkeys(keys):
        value = same if at.chance(50) else _value(at, key if key != "mps" else "")
        if called:
            served = key in _BACKENDS
            value = f"lambda: torch.{key}.synchronize()" if served else f'lambda: trace("{key}")'
        entries.append(f'"{key}": {value}')
    kind = at.rng.choice(("device.type", "device_type", "x.device.type"))
    lines = [f"table = {{{', '.join(entries)}}}"]
    if called:
        return [*lines, f'table.get({kind}, lambda: trace("{at.label()}"))()']
    default = f"{kind}, {_value(at, '')}"
    return [*lines, f"out.append(table.get({default}))"]


def _lambda(at: _Place) -> Lines:
    test = _condition(at)
    if ":=" in test.text:
        return _ternary(at)
    value = f"{_value(at, test.vendor)} if {test.text} else {_value(at, '')}"
    return [f"pick = lambda: {value}", "out.append(pick())"]


def _picked_device(at: _Place) -> Lines:
    """A device that one place chooses and another one asks about or uses."""
    test = _condition(at)
    vendor = test.vendor if test.vendor in _BACKENDS else "cuda"
    lines = [f'chosen = "{vendor}" if {test.text} else "cpu"']
    if at.chance(50):
        lines = [f"if {test.text}:", f'    chosen = "{vendor}"', "else:", '    chosen = "cpu"']
    use = at.rng.randrange(4)
    if use == 0:
        return [*lines, "out.append(torch.zeros(1, device=chosen))"]
    if use == 1:
        return [*lines, "kind = torch.device(chosen)", 'out.append(kind.type == "cuda")']
    if use == 2 and at.in_run:
        return [*lines, "x = x.to(chosen)", "out.append(x.is_cuda)"]
    return [
        *lines,
        'if torch.device(chosen).type == "cuda":',
        *_indented(_arm(at, "cuda", "call")),
        "else:",
        *_indented(_arm(at, "", "trace")),
    ]


def _picking_function(at: _Place) -> Lines:
    tests = _tests(at, 1 + at.rng.randrange(3))
    lines: Lines = []
    for test in tests:
        vendor = test.vendor if test.vendor in _BACKENDS else "cuda"
        lines += [f"if {test.text}:", f'    return "{vendor}"']
    lines.append('return "cpu"')
    use = at.rng.choice(("torch.zeros(1, device=pick())", "torch.device(pick())", "pick()"))
    return ["def pick():", *_indented(lines), f"out.append({use})"]


def _functions(at: _Place) -> Lines:
    test = _condition(at)
    inside = at.inner(may_return=False)
    one = _effect(inside, test.vendor, at.rng.choice(("trace", "call")))
    return [
        f"if {test.text}:",
        *_indented(["def act():", f"    {one}", f'    return "{at.label()}"']),
        "else:",
        *_indented(["def act():", f'    return "{at.label()}"']),
        "out.append(act())",
    ]


def _class(at: _Place) -> Lines:
    test = _condition(at)
    if at.in_run and ("(" in test.text or ":=" in test.text) and "lambda" in test.text:
        return _chain(at)
    return [
        "class Config:",
        f"    if {test.text}:",
        f"        name = {_value(at, test.vendor)}",
        "    else:",
        f"        name = {_value(at, '')}",
        f"    kind = {_value(at, test.vendor)} if {_operand(test)} else {_value(at, '')}",
        "out.append((Config.name, Config.kind))",
    ]


def _try_finally(at: _Place) -> Lines:
    if at.depth < 1:
        return _chain(at)
    lines = ["try:", *_indented(_suite(at.inner(), 1))]
    return [*lines, "finally:", f'    trace("{at.label()}")']


def _plugin_import(at: _Place) -> Lines:
    package = f"torch_{at.vendor}"
    kind = at.rng.randrange(4)
    if kind == 0:
        return ["try:", f"    import {package}", "except ImportError:", "    pass"]
    if kind == 1:
        return [
            *("try:", f"    import {package}", f'    mode = "{at.vendor}"'),
            *("except ImportError:", f'    mode = "{at.label()}"'),
        ]
    if kind == 2:
        return [
            *("try:", f"    import {package}", "    there = True"),
            *("except ImportError:", "    there = False"),
            *("if there:", *_indented(_arm(at, at.vendor, "call"))),
            *("else:", *_indented(_arm(at, "cuda", "call"))),
        ]
    return [
        *("try:", f"    import {package}", "except ImportError:"),
        *(f"    {package} = None", f"trace({package} is not None)"),
    ]


def _context(at: _Place) -> Lines:
    if at.depth < 1:
        return _chain(at)
    manager = at.rng.choice(
        ("torch.no_grad()", 'torch.autocast("cuda")', "torch.cuda.amp.autocast(dtype=None)")
    )
    return [f"with {manager}:", *_indented(_suite(at.inner(), 1))]


def _late(at: _Place) -> Lines:
    """A name that arms bind and a later statement reads."""
    tests = _tests(at, 1 + at.rng.randrange(2))
    lines: Lines = []
    for number, test in enumerate(tests):
        word = "elif" if number else "if"
        lines += [f"{word} {test.text}:", f"    late = {_value(at, test.vendor)}"]
    if at.chance(60):
        lines += ["else:", f"    late = {_value(at, '')}"]
    return [*lines, "out.append(late)"]


def _nested(at: _Place) -> Lines:
    if at.depth < 1:
        return _chain(at)
    test = _condition(at)
    lines = [f"if {test.text}:", *_indented(_suite(at.inner(), at.rng.choice((1, 2))))]
    if at.chance(40):
        lines += ["else:", *_indented(_suite(at.inner(), 1))]
    return lines


def _generator(at: _Place) -> Lines:
    """A generator of which arms yield, and what is made of it."""
    inside = at.inner(may_return=False)
    lines: Lines = []
    for test in _tests(inside, 1 + at.rng.randrange(2)):
        arm = [f"yield {_value(at, test.vendor)}"]
        if at.chance(30):
            arm.insert(0, _effect(inside, test.vendor, at.rng.choice(("trace", "call"))))
        if at.chance(30):
            arm.append("return")
        if at.chance(20):
            arm = [f"yield from ({_value(at, test.vendor)}, {_value(at, test.vendor)})"]
        lines += [f"{'elif' if lines and at.chance(50) else 'if'} {test.text}:", *_indented(arm)]
    if at.chance(60):
        lines.append(f"yield {_value(at, '')}")
    lines.append(f'trace("{at.label()}")')
    whole = ["def produce():", *_indented(lines)]
    use = at.rng.choice(("out += list(produce())", "out.append(next(produce(), None))"))
    return [*whole, use if any("yield" in line for line in lines) else "produce()"]


def _filtered(at: _Place) -> Lines:
    """Filters of generators, sets and dictionaries, and members of ``any`` and ``all``."""
    test, other = _condition(at), _condition(at)
    if any(":=" in t.text or "(lambda" in t.text for t in (test, other)):
        return _chain(at)
    text, more = _operand(test), _operand(other)
    filters = at.rng.choice(
        (f"if {text}", f"if {text} if k", f"if k if {text}", f"if k and {text}")
    )
    kind = at.rng.randrange(5)
    if kind == 0:
        return [f"out.append(sum(k for k in range(3) {filters}))"]
    if kind == 1:
        return [f"out.append({{k for k in (1, 2) {filters}}})"]
    if kind == 2:
        return [f"out.append({{k: k for k in (1, 2) {filters}}})"]
    if kind == 3:
        return [f"numbers = (k for k in (1, 2) {filters})", "out += list(numbers)"]
    joined = at.rng.choice(("any([{}, {}])", "all(({}, {}))", "any([{}, len(out) > 1, {}])"))
    asked = joined.format(text, more)
    return [f"if {asked}:", *_indented(_arm(at, "", "trace")), f"trace({asked})"]


def _process_group(at: _Place) -> Lines:
    """A process group that is started by vendor, with a backend in place or by name."""
    tests = _tests(at, 1 + at.rng.randrange(3))
    start = "torch.distributed.init_process_group"
    by_name = at.chance(40)
    lines: Lines = []
    for number, test in enumerate(tests):
        backend = f'"{_BACKENDS.get(test.vendor, "gloo")}"'
        named = at.rng.choice((f"{start}({backend})", f"{start}(backend={backend})"))
        arm = [f"backend = {backend}" if by_name else named]
        if at.chance(30) and test.vendor in _BACKENDS:
            arm.insert(0, f"torch.{test.vendor}.set_device(1)")
        lines += [f"{'elif' if number else 'if'} {test.text}:", *_indented(arm)]
    if by_name or at.chance(70):
        arm = ['backend = "gloo"' if by_name else f'{start}("gloo")']
        lines += ["else:", *_indented(arm)]
    return [*lines, *([f"{start}(backend)"] if by_name else ())]


def _try_except(at: _Place) -> Lines:
    """A ``try`` of which a part raises, with handlers, ``else`` and ``finally``."""
    if at.depth < 1:
        return _chain(at)
    inner = at.inner()
    test = _condition(at)
    lines = ["try:", *_indented(_suite(inner, 1))]
    if at.chance(60):
        lines += _indented([f"if {test.text}:", f'    raise ValueError("{at.label()}")'])
    # Not every error: that a probe of another vendor raises is no effect of the program.
    lines += ["except ValueError:", *_indented(_arm(inner, test.vendor, "trace"))]
    if at.chance(40):
        lines += ["else:", *_indented(_suite(inner, 1))]
    if at.chance(40):
        lines += ["finally:", *_indented([f'trace("{at.label()}")'])]
    return lines


def _named_index(at: _Place) -> Lines:
    """An index that is given a vendor's name, and used as a device."""
    test = _condition(at)
    vendor = test.vendor if test.vendor in _BACKENDS else "cuda"
    name = at.rng.choice((f'f"{vendor}:{{place}}"', f'"{vendor}:" + str(place)'))
    lines = [f"if {test.text}:", f"    place = {name}"]
    if at.chance(40):
        lines = ["if isinstance(place, int):", *_indented(lines)]
    if at.chance(30) and lines[0].startswith("if isinstance"):
        lines += ["else:", f'    trace("{at.label()}")']
    return ["place = 1", *lines, "out.append(torch.device(place))"]


def _private_functions(at: _Place) -> Lines:
    """A function that does what an arm would do itself."""
    test = _condition(at)
    if test.vendor not in _BACKENDS:
        return _functions(at)
    body = at.rng.choice(("synchronize()", "empty_cache()", "set_device(1)"))
    told = f'return "{at.label()}"' if at.chance(40) else f'return torch.device("{test.vendor}")'
    lines = [
        *("def _wait():", f"    torch.{test.vendor}.{body}"),
        *("def _pick():", f"    {told}"),
        *(f"if {test.text}:", "    _wait()"),
    ]
    if at.chance(50):
        lines += [f"if {test.text}:", "    mode = _pick()", "else:", f"    mode = {_value(at, '')}"]
    return lines


def _plain(at: _Place) -> Lines:
    return [_effect(at, "cuda", at.rng.choice(_STYLES))]


_CONSTRUCTS: Sequence[Callable[[_Place], Lines]] = (
    *(_chain,) * 6,
    *(_early_return,) * 2,
    *(_ternary,) * 2,
    *(_flag,) * 2,
    *(_nested,) * 2,
    *(_match, _table, _picked_device, _picking_function),
    *(_walrus, _assertion, _traced_condition, _while, _for, _comprehension),
    *(_lambda, _functions, _class, _try_finally, _plugin_import, _context, _late, _plain),
    *(_generator, _filtered, _process_group, _try_except, _named_index, _private_functions),
)
