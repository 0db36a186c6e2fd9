"""A migration as a series of patches for review, each for ``git am`` and ``git apply``.

What is mechanical comes first, so that the patches that need thought are short. Each patch is
made of whole hunks of the migration's own outcome: after the last one, the tree is the one that
an in-place rewrite makes.
"""

from __future__ import annotations

import enum
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from flmigrate.documents import Document, read_document, write_document
from flmigrate.encoding import UndecodableError
from flmigrate.findings import Applicability, Finding, Outcome, Result
from flmigrate.git import GitError, ask
from flmigrate.hunks import Hunk, hunks_of, taken
from flmigrate.migration import for_a_human
from flmigrate.patches import PatchError, diff_bytes, name_below, verify
from flmigrate.rules import RULES


class Group(enum.Enum):
    """What a patch of a series is about: its subject, and what its reviewer should look at."""

    API = (
        "Move device API and device strings to {target}",
        "Each hunk stands for itself: the new name should mean what the old one did. Strings\n"
        "were changed for where they flow, so look at values that leave the program (logs,\n"
        "checkpoints, command lines).",
    )
    BRANCHES = (
        "Take out branches that told vendors apart",
        "The arm that stays is the canonical vendor's. Look for work-arounds in the arms that\n"
        "go, and read with `git show -w`: kept lines only lost an indent.",
    )
    IMPORTS = (
        "Import {target} and drop vendor plug-ins",
        "The import has to run before the first use of a device, and nobody else may need the\n"
        "plug-ins that go.",
    )
    NOTES = (
        "Mark what is left for a human",
        "Comments only. Each names a place that could not be moved, and why; a later run takes\n"
        "the note away when the place is settled.",
    )
    TESTS = (
        "Move the tests to {target}",
        "Skips and parametrised devices decide what still runs where: a test that is skipped\n"
        "everywhere fails nowhere.",
    )


@dataclass(frozen=True, slots=True)
class Patch:
    """One patch: its file name, the whole mail, and the files after it, by name."""

    name: str
    mail: bytes
    after: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class _Step:
    """What one patch does to one file."""

    before: bytes
    after: bytes
    reasons: tuple[Finding, ...]


def series(
    results: Iterable[Result], root: Path, target: str, holds: Callable[[str, str], bool]
) -> tuple[Patch, ...]:
    """The patches of a migration, in the order in which they apply at ``root``.

    ``target`` is what the target is called in subjects. ``holds(before, after)`` says whether
    a text between the two ends of a file is one to leave a reader with; where it is not, the
    file's fixes are not divided. Every patch is read back by unidiff and applied to a copy of
    the files. Raises ``PatchError``.
    """
    steps: dict[Group, dict[str, _Step]] = {group: {} for group in Group}
    originals: dict[str, bytes] = {}
    for result in results:
        if result.outcome is Outcome.CHANGED:
            name = name_below(result.path, root)
            originals[name], found = _steps(result, is_test(name), holds)
            for group, step in found:
                steps[group][name] = step
    used = [(group, dict(sorted(files.items()))) for group, files in steps.items() if files]
    author = _author(root)
    patches = []
    for number, (group, files) in enumerate(used, 1):
        subject, advice = (text.format(target=target) for text in group.value)
        diff = b"".join(diff_bytes(name, step.before, step.after) for name, step in files.items())
        verify(diff)
        head = f"From {'0' * 40} Mon Sep 17 00:00:00 2001\nFrom: {author}\n"
        head += f"Subject: [PATCH {number}/{len(used)}] {subject}\n"
        head += "MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\n"
        head += f"Content-Transfer-Encoding: 8bit\n\n{_summary(files)}\n{advice}\n---\n"
        mail = head.encode("utf-8") + diff + b"-- \nflmigrate\n"
        slug = re.sub(r"[^a-z0-9]+", "-", subject.lower()).strip("-")
        after = {name: step.after for name, step in files.items()}
        patches.append(Patch(f"{number:04}-{slug}.patch", mail, after))
    _apply_to_copy(originals, patches)
    return tuple(patches)


def is_test(name: str) -> bool:
    """Whether a file, by its name from the root, belongs to the tests."""
    path = PurePosixPath(name)
    if {"test", "tests"} & set(path.parts[:-1]):
        return True
    return path.name == "conftest.py" or bool(re.fullmatch(r"test_.*|.*_test", path.stem))


def _steps(
    result: Result, test: bool, holds: Callable[[str, str], bool]
) -> tuple[bytes, list[tuple[Group, _Step]]]:
    """The bytes of a file, and what each group of patches makes of them."""
    data, document = _read(result)
    if test:
        reasons = (*result.fixed, *_noted(result))
        whole = _Step(data, write_document(document, result.after), reasons)
        return data, [(Group.TESTS, whole)]
    hunks = hunks_of(result)
    groups = {hunk: _group(hunk.reasons) for hunk in hunks.hunks}
    order = (Group.API, Group.BRANCHES, Group.IMPORTS)

    def upto(group: Group) -> str:
        wanted = order[: order.index(group) + 1]
        return taken(hunks, [hunk for hunk in hunks.hunks if groups[hunk] in wanted])

    present = [group for group in order if group in groups.values()]
    if not all(holds(result.before, upto(group)) for group in present[:-1]):
        groups = dict.fromkeys(groups, present[-1])
        present = present[-1:]
    found: list[tuple[Group, _Step]] = []
    at = data
    for group in present:
        after = write_document(document, upto(group))
        found.append((group, _Step(at, after, _reasons(groups, group))))
        at = after
    end = write_document(document, result.after)
    if end != at:
        found.append((Group.NOTES, _Step(at, end, _noted(result))))
    return data, found


def _group(reasons: Sequence[Finding]) -> Group:
    families = {finding.code[:3] for finding in reasons}
    if "FL2" in families:
        return Group.BRANCHES
    return Group.IMPORTS if families == {"FL3"} else Group.API


def _reasons(groups: Mapping[Hunk, Group], group: Group) -> tuple[Finding, ...]:
    """The findings that the hunks of a group settle, each where its first hunk is."""
    found: dict[int, Finding] = {}
    counted: set[int] = set()
    for hunk, its_group in groups.items():
        for finding in hunk.reasons:
            if id(finding) not in counted and its_group is group:
                found[id(finding)] = finding
            counted.add(id(finding))
    return tuple(found.values())


def _noted(result: Result) -> tuple[Finding, ...]:
    return tuple(finding for finding in result.left if for_a_human(finding))


def _read(result: Result) -> tuple[bytes, Document]:
    try:
        data = Path(os.path.realpath(result.path)).read_bytes()
        document = read_document(result.path, data)
    except UndecodableError as error:
        raise PatchError(f"{result.path}: {error}") from None
    except OSError as error:
        raise PatchError(f"{result.path}: {error.strerror}") from None
    if document.text != result.before:
        raise PatchError(f"{result.path}: changed on disk since it was read")
    return data, document


def _summary(files: Mapping[str, _Step]) -> str:
    """How many places of each rule a patch is about."""
    reasons = [finding for step in files.values() for finding in step.reasons]
    counts = Counter(finding.code for finding in reasons)
    lines = [f"  {count:>4}  {code} {RULES[code]}\n" for code, count in sorted(counts.items())]
    noun = "file" if len(files) == 1 else "files"
    text = (
        f"{len(files)} {noun}, by rule:\n\n{''.join(lines)}" if lines else f"{len(files)} {noun}.\n"
    )
    unsafe = sum(
        finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
        for finding in reasons
    )
    if unsafe:
        text += f"\n{unsafe} of these fixes may change what the program means.\n"
    return text


def _author(root: Path) -> str:
    """Who the patches are from, as git would name the author of a commit here."""
    from email.header import Header

    try:
        found = re.match(r"(.*) (<.*>) \d+ ", os.fsdecode(ask(root, "var", "GIT_AUTHOR_IDENT")))
    except (GitError, FileNotFoundError):
        found = None
    if found is None:
        return "flmigrate <flmigrate@localhost>"
    name = found[1] if found[1].isascii() else Header(found[1], "utf-8", maxlinelen=998).encode()
    return f"{name} {found[2]}"


def _apply_to_copy(originals: Mapping[str, bytes], patches: Sequence[Patch]) -> None:
    """Apply the patches in order to a copy of the files, and compare each byte."""
    if not patches:
        return
    with tempfile.TemporaryDirectory(prefix="flmigrate-") as folder:
        root = Path(folder)
        for name, data in originals.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        expected = dict(originals)
        _git(root, "init", "--quiet")  # no repository above the copy has a say then
        for patch in patches:
            _git_apply(root, patch)
            expected.update(patch.after)
            for name, data in _contents(root, expected):
                if data != expected[name]:
                    raise PatchError(f"{patch.name}: gives other bytes than the rewrite: {name}")


def _git_apply(root: Path, patch: Patch) -> None:
    settings = ("core.autocrlf=false", "apply.whitespace=nowarn", "apply.ignoreWhitespace=no")
    options = [part for setting in settings for part in ("-c", setting)]
    try:
        _git(root, *options, "apply", "-", data=patch.mail)
    except GitError as error:
        raise PatchError(f"{patch.name}: does not apply: {error}") from None


def _git(root: Path, *arguments: str, data: bytes = b"") -> None:
    try:
        ask(root, *arguments, data=data)
    except FileNotFoundError:
        raise PatchError("git, which tries every patch out, is not installed") from None


def _contents(root: Path, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    for name in names:
        yield name, (root / name).read_bytes()
