"""The innermost loops of assembly text, and what they keep on the stack.

    .LBB0_3:                                the block that ends in a jump back to its own label,
        vmovups (%rdi,%rax,4), %ymm0        and the blocks on any way between: one loop
        vmovaps %ymm1, 32(%rsp)             a spill, of a vector register
        ..
        jl      .LBB0_3

Blocks that are reached from the loop but seldom, as for what does not fit, are part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

BLOCK = re.compile(r"^(\.LBB\d+_\d+):|^# %bb\.\d+|^// %bb\.\d+")
JUMP = re.compile(r"^\s+(?:j\w+|b(?:\.\w+)?|cbn?z|tbn?z)\s.*?(\.LBB\d+_\d+)\s*$")
ENDS = re.compile(r"^\s+(?:jmp\w*|b|br|ret\w*|ud2)(?:\s|$)")
X86_SPILL = re.compile(
    r"^\s+v?mov\w*\s+(?:%[xyz]mm\d+, -?\d*\(%rsp\)|-?\d*\(%rsp\), %[xyz]mm\d+)"
)
ARM_SPILL = re.compile(r"^\s+(?:st|ld)[rup]+\s+q\d+,.*\[(?:sp|x29)\b")


@dataclass(frozen=True)
class Loop:
    """A loop that has no other inside, by its function and the label of its first block."""

    function: str
    label: str
    lines: Sequence[str]

    def spills(self) -> list[str]:
        """Moves of vector registers to the stack and back."""
        return [line for line in self.lines if X86_SPILL.match(line) or ARM_SPILL.match(line)]


def innermost_loops(assembly: str) -> Iterator[Loop]:
    """Those of all functions."""
    for text in re.split(r"^\.Lfunc_end\d+:", assembly, flags=re.MULTILINE):
        blocks, following = _blocks(text.splitlines())
        found = {head: _loop(following, head) for head in following}
        loops = {head: body for head, body in found.items() if body}
        names = re.findall(r"^([A-Za-z_][\w.$]*):", text, re.MULTILINE)
        for head, body in loops.items():
            if not any(other in body for other in loops if other != head):
                lines = [line for name in blocks if name in body for line in blocks[name]]
                yield Loop(names[0] if names else "", head, lines)


def _blocks(lines: Sequence[str]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The lines of each block, and the blocks that may come after it."""
    blocks: dict[str, list[str]] = {"entry": []}
    for line in lines:
        begins = BLOCK.match(line)
        if begins:
            blocks[begins.group(1) or f"{line.split()[1]}"] = []
        else:
            blocks[[*blocks][-1]].append(line)
    names, following = [*blocks], {}
    for place, name in enumerate(names):
        targets = [m.group(1) for m in map(JUMP.match, blocks[name]) if m]
        code = [line for line in blocks[name] if re.match(r"^\s+[a-z]", line)]
        if not (code and ENDS.match(code[-1])) and place + 1 < len(names):
            targets.append(names[place + 1])
        following[name] = [target for target in targets if target in blocks]
    return blocks, following


def _loop(following: Mapping[str, Sequence[str]], head: str) -> set[str]:
    """The blocks from which a jump back to this one is reached without passing it."""
    order = {name: place for place, name in enumerate(following)}
    ends = [b for b, targets in following.items() if head in targets and order[b] >= order[head]]
    before: dict[str, list[str]] = {name: [] for name in following}
    for name, targets in following.items():
        for target in targets:
            before[target].append(name)
    body, todo = {head} if ends else set(), ends
    while todo:
        name = todo.pop()
        if name not in body:
            body.add(name)
            todo.extend(before[name])
    return body
