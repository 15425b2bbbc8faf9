"""Building recursive access clusters: every conjunction is filed under its most selective predicates.

A node takes a list of conjunctions. Each is filed under the predicate that the fewest events pass, given what
the path has tested already; conjunctions that agree on a column share a branch. Equality becomes a direct table
or a hash, ranges a grid whose cells a conjunction may occupy several of (bounded replication; an event is in
one cell only, so no pair comes twice). Where no predicate is worth a branch, pages are written.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.filters.kernels.cluster_choice import (
    HIGHEST,
    ClusterSettings,
    ColumnFrequencies,
    NodePath,
    choose,
    mass,
    weigh,
)
from vedette.filters.kernels.cluster_pages import PAGES, ClusterPages, no_pages, write_pages
from vedette.filters.kernels.clusters import GRID, HASH, NO_CHILD, TOKEN, hash_place
from vedette.kernels.bundles import PredicateTable
from vedette.kernels.compile import kernel
from vedette.kernels.growing_arrays import grown, grown_rows

DEEPEST = 40
CROWD = 64.0  # events that fill a page's lanes: from there on, verifying costs the least per event
NODES, BRANCHES, CHILDREN = range(3)


class ClusterLayout(NamedTuple):
    """Nodes and branches being written (see `ClusterArrays`); `used` counts the elements in use."""

    nodes: NDArray[np.int32]
    branches: NDArray[np.int32]
    children: NDArray[np.int32]
    used: NDArray[np.int64]


class ClusterTask(NamedTuple):
    """A list of conjunctions that is still to become a node or a page."""

    first: int  # of its list
    last: int
    slot: int  # among the children: where the number of its node or page is written
    step: int  # the last step of its path
    steps: int  # how many steps are in use below it
    depth: int
    copies: float  # of a conjunction, on average, made by the path
    reach: float  # the share of events that are expected to arrive here


class ClusterWork(NamedTuple):
    """The stack of tasks; a task's list is freed when all tasks above it are done."""

    lists: NDArray[np.int32]
    tasks: NDArray[np.int64]  # the six integers of a ClusterTask
    weights: NDArray[np.float64]  # the two floats of a ClusterTask
    steps: NDArray[np.int64]  # of paths: column, low, high, the step before
    waiting: NDArray[np.int64]


@kernel
def push(work: ClusterWork, task: ClusterTask) -> ClusterWork:
    """Push a task onto the stack."""
    n = work.waiting[0]
    tasks = grown_rows(work.tasks, n + 1)
    weights = grown_rows(work.weights, n + 1)
    tasks[n, 0] = task.first
    tasks[n, 1] = task.last
    tasks[n, 2] = task.slot
    tasks[n, 3] = task.step
    tasks[n, 4] = task.steps
    tasks[n, 5] = task.depth
    weights[n, 0] = task.copies
    weights[n, 1] = task.reach
    work.waiting[0] += 1
    return ClusterWork(work.lists, tasks, weights, work.steps, work.waiting)


@kernel
def pop(work: ClusterWork) -> ClusterTask:
    """Pop the task that was pushed last."""
    work.waiting[0] -= 1
    t = work.tasks[work.waiting[0]]
    w = work.weights[work.waiting[0]]
    return ClusterTask(t[0], t[1], t[2], t[3], t[4], t[5], w[0], w[1])


@kernel
def with_step(work: ClusterWork, step: int, column: int, low: int, high: int, before: int) -> ClusterWork:
    """Write step number `step` of a path."""
    steps = grown_rows(work.steps, step + 1)
    steps[step, 0] = column
    steps[step, 1] = low
    steps[step, 2] = high
    steps[step, 3] = before
    return ClusterWork(work.lists, work.tasks, work.weights, steps, work.waiting)


@kernel
def walk(path: NodePath, steps: NDArray[np.int64], step: int, frequencies: ColumnFrequencies) -> None:
    """Narrow the path's ranges by its steps."""
    while step >= 0:
        column = steps[step, 0]
        path.low[column] = max(path.low[column], steps[step, 1])
        path.high[column] = min(path.high[column], steps[step, 2])
        weigh(path, frequencies, column)
        step = steps[step, 3]


@kernel
def walk_back(path: NodePath, steps: NDArray[np.int64], step: int, frequencies: ColumnFrequencies) -> None:
    """Undo `walk`: reset the ranges that the steps narrowed."""
    while step >= 0:
        column = steps[step, 0]
        path.low[column] = -1
        path.high[column] = HIGHEST
        weigh(path, frequencies, column)
        step = steps[step, 3]


@kernel
def page_limit(settings: ClusterSettings, reach: float) -> int:
    """The most conjunctions that a page may hold; the more events are matched together, the cheaper verifying is."""
    crowd = min(reach * settings.batch, CROWD)
    return np.int64(settings.page * max(1.0, crowd / 16.0))


@kernel
def grid_shift(
    lows: NDArray[np.int64], highs: NDArray[np.int64], extent: tuple[int, int], replication: float, most: int
) -> int:
    """The finest grid (as a shift of ranks) that stays within the allowed replication and has at most `most` cells."""
    base, span = extent
    shift = 0
    while True:
        cells = (span >> shift) + 1
        if cells <= 2:
            return shift
        if cells <= most:
            copies = 0
            for i in range(lows.shape[0]):
                copies += ((highs[i] - base) >> shift) - ((lows[i] - base) >> shift) + 1
            if copies <= replication * lows.shape[0]:
                return shift
        shift += 1


@kernel
def add_branch(
    layout: ClusterLayout, column: int, kind: int, base: int, shift: int, size: int, slots: int
) -> ClusterLayout:
    """Append a branch with `slots` empty slots for children."""
    used = layout.used
    branches = grown_rows(layout.branches, used[BRANCHES] + 1)
    children = grown(layout.children, used[CHILDREN] + slots)
    branches[used[BRANCHES], 0] = column
    branches[used[BRANCHES], 1] = kind
    branches[used[BRANCHES], 2] = base
    branches[used[BRANCHES], 3] = shift
    branches[used[BRANCHES], 4] = size
    branches[used[BRANCHES], 5] = used[CHILDREN]
    for i in range(used[CHILDREN], used[CHILDREN] + slots):
        children[i] = NO_CHILD
    used[BRANCHES] += 1
    used[CHILDREN] += slots
    return ClusterLayout(layout.nodes, branches, children, used)


@kernel
def grid_tasks(
    work: ClusterWork,
    task: ClusterTask,
    members: NDArray[np.int32],
    lows: NDArray[np.int64],
    highs: NDArray[np.int64],
    frequencies: ColumnFrequencies,
    branch: NDArray[np.int32],
    path: NodePath,
) -> tuple[ClusterWork, ClusterTask]:
    """Push a task per occupied cell; the returned `task.last` and `task.steps` are behind what was written."""
    column = np.int64(branch[0])
    base = np.int64(branch[2])
    shift = np.int64(branch[3])
    cells = np.int64(branch[4])
    starts = np.zeros(cells + 1, np.int64)
    for i in range(lows.shape[0]):
        for cell in range((lows[i] - base) >> shift, ((highs[i] - base) >> shift) + 1):
            starts[cell + 1] += 1
    for cell in range(cells):
        starts[cell + 1] += starts[cell]
    total = starts[cells]
    lists = grown(work.lists, task.last + total)
    at = np.empty(cells, np.int64)
    for cell in range(cells):
        at[cell] = task.last + starts[cell]
    for i in range(lows.shape[0]):
        for cell in range((lows[i] - base) >> shift, ((highs[i] - base) >> shift) + 1):
            lists[at[cell]] = members[i]
            at[cell] += 1
    work = ClusterWork(lists, work.tasks, work.weights, work.steps, work.waiting)
    copies = task.copies * total / lows.shape[0]
    steps = task.steps
    # Ascending, so that the list popped next always lies above all others on the stack.
    for cell in range(cells):
        if starts[cell + 1] == starts[cell]:
            continue
        low = base + (cell << shift)
        high = min(base + ((cell + 1) << shift) - 1, path.high[column])
        work = with_step(work, steps, column, low, high, task.step)
        reach = task.reach * mass(frequencies, column, low, high) / path.reaching[column]
        first = task.last + starts[cell]
        last = task.last + starts[cell + 1]
        slot = np.int64(branch[5]) + cell
        work = push(work, ClusterTask(first, last, slot, steps, steps + 1, task.depth + 1, copies, reach))
        steps += 1
    return work, ClusterTask(
        task.first, task.last + total, task.slot, task.step, steps, task.depth, task.copies, task.reach
    )


@kernel
def hash_tasks(
    work: ClusterWork,
    task: ClusterTask,
    members: NDArray[np.int32],
    keys: NDArray[np.int64],
    children: NDArray[np.int32],
    branch: NDArray[np.int32],
    frequencies: ColumnFrequencies,
) -> tuple[ClusterWork, ClusterTask]:
    """Push a task per distinct key (ranks or tokens); otherwise as `grid_tasks`."""
    ranks = frequencies.largest.shape[0]
    column = np.int64(branch[0])
    size = np.int64(branch[4])
    slots = np.int64(branch[5])
    n = members.shape[0]
    lists = grown(work.lists, task.last + n)
    work = ClusterWork(lists, work.tasks, work.weights, work.steps, work.waiting)
    spots = np.empty(n, np.int64)
    starts = np.zeros(size + 1, np.int64)
    for i in range(n):
        spot = hash_place(keys[i], size)
        while children[slots + spot] != NO_CHILD and children[slots + spot] != keys[i]:
            spot = (spot + 1) & (size - 1)
        children[slots + spot] = keys[i]
        spots[i] = spot
        starts[spot + 1] += 1
    for spot in range(size):
        starts[spot + 1] += starts[spot]
    at = np.empty(size, np.int64)
    for spot in range(size):
        at[spot] = task.last + starts[spot]
    for i in range(n):
        lists[at[spots[i]]] = members[i]
        at[spots[i]] += 1
    steps = task.steps
    for spot in range(size):
        if starts[spot + 1] == starts[spot]:
            continue
        key = np.int64(children[slots + spot])
        step = task.step
        if column < ranks:
            step = steps
            work = with_step(work, steps, column, key, key, task.step)
            steps += 1
            reach = task.reach * np.float64(mass(frequencies, column, key, key))
        else:
            reach = task.reach * np.float64(frequencies.token[frequencies.token_at[column - ranks] + key])
        first = task.last + starts[spot]
        last = task.last + starts[spot + 1]
        slot = slots + size + spot
        work = push(work, ClusterTask(first, last, slot, step, steps, task.depth + 1, task.copies, reach))
    return work, ClusterTask(
        task.first, task.last + n, task.slot, task.step, steps, task.depth, task.copies, task.reach
    )


@kernel
def split(
    layout: ClusterLayout,
    work: ClusterWork,
    task: ClusterTask,
    table: PredicateTable,
    chosen: NDArray[np.int64],
    members: NDArray[np.int32],
    knowledge: tuple[ColumnFrequencies, NodePath, ClusterSettings],
) -> tuple[ClusterLayout, ClusterWork, ClusterTask]:
    """Make one branch of the conjunctions whose access predicates are in the same group."""
    frequencies, path, settings = knowledge
    ranks = path.low.shape[0]
    n = members.shape[0]
    column = np.int64(table.column[chosen[0]])
    lows = np.empty(n, np.int64)
    highs = np.empty(n, np.int64)
    low_of, width_of = table.low, table.width
    for i in range(n):
        lows[i] = low_of[chosen[i]]
        highs[i] = lows[i] + np.int64(width_of[chosen[i]])
        if column < ranks:
            lows[i] = max(lows[i], path.low[column])
            highs[i] = min(highs[i], path.high[column])
    base = lows[0]
    top = highs[0]
    ranges = False
    for i in range(n):
        base = min(base, lows[i])
        top = max(top, highs[i])
        ranges = ranges or highs[i] > lows[i]
    span = top - base
    if column < ranks and (ranges or span <= 16 * n + 1024):
        shift = 0
        if ranges:
            allowed = max(min(settings.replication, settings.replication_in_all / task.copies), 1.25)
            most = max(4 * n // page_limit(settings, task.reach), 8)
            shift = grid_shift(lows, highs, (base, span), allowed, most)
        cells = (span >> shift) + 1
        layout = add_branch(layout, column, GRID, base, shift, cells, cells)
        branch = layout.branches[layout.used[BRANCHES] - 1]
        work, task = grid_tasks(work, task, members, lows, highs, frequencies, branch, path)
        return layout, work, task
    # At most half full even if all keys differ, without counting the distinct ones.
    size = 4
    while size < 2 * min(n, span + 1):
        size *= 2
    layout = add_branch(layout, column, HASH if column < ranks else TOKEN, 0, 0, size, 2 * size)
    branch = layout.branches[layout.used[BRANCHES] - 1]
    work, task = hash_tasks(work, task, members, lows, layout.children, branch, frequencies)
    return layout, work, task


@kernel
def build(
    table: PredicateTable, columns: int, ranks: int, frequencies: ColumnFrequencies, settings: ClusterSettings
) -> tuple[ClusterLayout, ClusterPages]:
    """Build the clusters of all conjunctions."""
    n = table.start.shape[0] - 1
    groups = 2 * columns
    layout = ClusterLayout(
        np.empty((64, 4), np.int32), np.empty((64, 6), np.int32), np.empty(1024, np.int32), np.zeros(3, np.int64)
    )
    pages = no_pages(ranks)
    path = NodePath(
        np.full(ranks, -1, np.int64),
        np.full(ranks, HIGHEST, np.int64),
        np.empty(ranks, np.float32),
        np.empty(ranks, np.float32),
    )
    for column in range(ranks):
        weigh(path, frequencies, column)
    work = ClusterWork(
        np.arange(n).astype(np.int32),
        np.empty((256, 6), np.int64),
        np.empty((256, 2), np.float64),
        np.empty((256, 4), np.int64),
        np.zeros(1, np.int64),
    )
    sizes = np.zeros(groups, np.int64)
    work = push(
        work, ClusterTask(np.int64(0), np.int64(n), np.int64(-1), np.int64(-1), np.int64(0), np.int64(0), 1.0, 1.0)
    )
    while work.waiting[0] > 0:
        task = pop(work)
        step = task.step
        walk(path, work.steps, step, frequencies)
        here = work.lists[task.first : task.last].copy()
        limit = page_limit(settings, task.reach)
        chosen = np.empty(0, np.int64)
        group_of = np.full(here.shape[0], -1, np.int32)
        for group in range(groups):
            sizes[group] = 0
        if here.shape[0] > limit and task.depth < DEEPEST:
            chosen, group_of = choose(table, here, frequencies, path, settings, max(limit // 4, 8), sizes)
        place = np.zeros(groups + 1, np.int64)
        for group in range(groups):
            place[group + 1] = place[group] + sizes[group]
        branching = place[groups]
        # Sort the list by group; conjunctions that no branch takes are verified in pages of this node.
        rest = np.empty(here.shape[0] - branching, np.int32)
        members = np.empty(branching, np.int32)
        access = np.empty(branching, np.int64)
        resting = 0
        fill = np.empty(groups, np.int64)
        for group in range(groups):
            fill[group] = place[group]
        for i in range(here.shape[0]):
            group = group_of[i]
            if group < 0:
                rest[resting] = here[i]
                resting += 1
            else:
                members[fill[group]] = here[i]
                access[fill[group]] = chosen[i]
                fill[group] += 1
        page = pages.used[PAGES]
        pages = write_pages(pages, table, rest, frequencies, path, limit)
        many = pages.used[PAGES] - page
        if branching == 0 and many == 1 and task.slot >= 0:
            layout.children[task.slot] = -2 - page
            walk_back(path, work.steps, step, frequencies)
            continue
        node = layout.used[NODES]
        nodes = grown_rows(layout.nodes, node + 1)
        layout = ClusterLayout(nodes, layout.branches, layout.children, layout.used)
        layout.used[NODES] += 1
        first_branch = layout.used[BRANCHES]
        if task.slot >= 0:
            layout.children[task.slot] = node
        for group in range(groups):
            if sizes[group] > 0:
                part = slice(place[group], place[group + 1])
                layout, work, task = split(
                    layout, work, task, table, access[part], members[part], (frequencies, path, settings)
                )
        nodes[node, 0] = first_branch
        nodes[node, 1] = layout.used[BRANCHES] - first_branch
        nodes[node, 2] = page
        nodes[node, 3] = many
        walk_back(path, work.steps, step, frequencies)
    return layout, pages
