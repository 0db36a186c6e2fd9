"""Options of the test run."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--oracle-programs N``: how many drawn programs are run before and after."""
    parser.addoption(
        "--oracle-programs",
        type=int,
        default=300,
        metavar="N",
        help="programs that the execution oracle draws (default: %(default)s)",
    )
