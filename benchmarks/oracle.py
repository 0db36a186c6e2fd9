"""``python -m benchmarks.oracle --programs N``: do rewritten programs still do what they did?

Draws programs by seed, rewrites them, and runs both on fake devices; see ``tests/oracle``.
Prints how many do something else, and the first few of those, made as small as they get.
"""

from __future__ import annotations

import argparse
import ast
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from random import Random

from tests.oracle.comparison import compare, rewritten, vendor_of
from tests.oracle.programs import program
from tests.oracle.shrinking import shrunk

_CHUNK = 200  # seeds of one task


@dataclass(frozen=True, slots=True)
class Count:
    """What a range of seeds gave; ``differing`` are the seeds whose programs differ."""

    programs: int
    refused: int
    differing: tuple[int, ...]


def count(seeds: range) -> Count:
    """Draw, rewrite and run the programs of some seeds."""
    refused, differing = 0, []
    for seed in seeds:
        text = program(Random(seed))
        result = rewritten(text)
        if result.reason is not None:
            refused += 1  # the file stays as it is, and its name is printed
        elif compare(text, result) is not None:
            differing.append(seed)
    return Count(len(seeds), refused, tuple(differing))


def example(seed: int) -> str:
    """The difference that a seed gives, on the smallest program that still has it."""
    text = program(Random(seed))
    vendor = vendor_of(text)

    def still(candidate: str) -> bool:
        try:
            if _may_hang(candidate) or vendor_of(candidate) != vendor:
                return False
            found = compare(candidate, rewritten(candidate))
        except SyntaxError:
            return False
        return found is not None and found.is_sound

    smallest = shrunk(text, still) if still(text) else text
    return str(compare(smallest, rewritten(smallest)))


def _may_hang(text: str) -> bool:
    """Whether a loop has lost what ends it; such a program would run for ever."""
    loops = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.While))
    ends = (ast.Break, ast.Return, ast.Raise)
    return any(not any(isinstance(part, ends) for part in ast.walk(loop)) for loop in loops)


def main() -> None:
    """Run and print. The exit code is 1 where a program differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=20_000, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the first seed")
    parser.add_argument("--examples", type=int, default=5, metavar="N", help="how many to print")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.programs)
    chunks = [seeds[at : at + _CHUNK] for at in range(0, len(seeds), _CHUNK)]
    with ProcessPoolExecutor(options.jobs) as pool:
        counts = list(pool.map(count, chunks))
    differing = [seed for part in counts for seed in part.differing]
    print(f"{sum(part.programs for part in counts)} programs, {len(differing)} differences")
    print(f"{sum(part.refused for part in counts)} programs were refused and stay as they are")
    for seed in differing[: options.examples]:
        print(f"\nseed {seed}\n{example(seed)}")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
