#!/usr/bin/env python3
"""A second opinion on the scheduler: FCFS and EASY, slow and plain, written on their own.

    make_schedules.py                     writes schedules.json beside itself: random lists of jobs and their starts
    make_schedules.py FILE.swf[.gz] PROCS prints jobs, mean wait, bounded slowdown, utilisation and makespan of both

At one instant first all completions, then all submissions, then starts. A job runs for as long as its trace says; the
scheduler goes by the time asked for (by the run time where none was). One that has overrun it may end any moment.
"""
import gzip
import json
import os
import random
import sys


def schedule(jobs, procs, easy):
    """jobs: (submit, run, asked, procs) by submit. Their starts."""
    free, queue, running, starts, coming = procs, [], [], [None] * len(jobs), 0

    def start(k):
        nonlocal free
        starts[k] = now
        free -= jobs[k][3]
        running.append(k)

    def expected(k):
        return max(now, starts[k] + jobs[k][2])

    while coming < len(jobs) or running:
        moments = [starts[k] + jobs[k][1] for k in running]
        if coming < len(jobs):
            moments.append(jobs[coming][0])
        now = min(moments)
        for k in [k for k in running if starts[k] + jobs[k][1] <= now]:
            running.remove(k)
            free += jobs[k][3]
        while coming < len(jobs) and jobs[coming][0] <= now:
            queue.append(coming)
            coming += 1
        while queue and jobs[queue[0]][3] <= free:
            start(queue.pop(0))
        if not easy or not queue:
            continue
        head, free_then, when = queue[0], free, now
        for k in sorted(running, key=expected):
            if free_then >= jobs[head][3]:
                break
            free_then, when = free_then + jobs[k][3], expected(k)
        free_then = free + sum(jobs[k][3] for k in running if expected(k) <= when)
        spare = free_then - jobs[head][3]
        for k in queue[1:]:
            in_time = now + jobs[k][2] <= when
            if jobs[k][3] <= free and (in_time or jobs[k][3] <= spare):
                if not in_time:
                    spare -= jobs[k][3]
                queue.remove(k)
                start(k)
    return starts


def figures(jobs, procs, starts):
    n = len(jobs)
    wait = sum(starts[k] - jobs[k][0] for k in range(n)) / n
    slow = sum(max(1, (starts[k] - jobs[k][0] + jobs[k][1]) / max(10, jobs[k][1])) for k in range(n)) / n
    span = max(starts[k] + jobs[k][1] for k in range(n)) - jobs[0][0]
    return n, wait, slow, sum(j[1] * j[3] for j in jobs) / procs / span, span


def read(path):
    jobs = []
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as f:
        for line in f:
            if line.startswith(";") or not line.strip():
                continue
            v = [float(x) for x in line.split()]
            procs = int(v[7] if v[7] > 0 else v[4])
            if v[3] >= 0 and procs > 0:
                jobs.append((v[1], v[3], v[8] if v[8] > 0 else v[3], procs))
    return jobs


def main():
    if len(sys.argv) > 2:
        jobs, procs = read(sys.argv[1]), int(sys.argv[2])
        for name, easy in (("fifo", False), ("easy", True)):
            n, wait, slow, use, span = figures(jobs, procs, schedule(jobs, procs, easy))
            print(f"{name}: {n} jobs, mean wait {wait:.4f} s, bounded slowdown {slow:.6f}, "
                  f"utilisation {use:.6f}, makespan {span:.0f} s")
        return
    draw, cases = random.Random(5), []
    for procs in (1, 2, 5, 16, 16, 64, 100):
        at, jobs = 0, []
        for _ in range(40):
            at += draw.choice((0, 0, 1, 2, 5, 20))
            run = draw.choice((0, 1, 3, 10, 30, 100))
            asked = max(1, run * draw.choice((1, 1, 2, 3)) - draw.choice((0, 0, 0, 2)))
            jobs.append((at, run, asked, draw.randint(1, max(1, procs // draw.choice((1, 2, 4))))))
        cases.append({"procs": procs, "jobs": jobs, "fifo": schedule(jobs, procs, False),
                      "easy": schedule(jobs, procs, True)})
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "schedules.json"), "w") as f:
        json.dump(cases, f, separators=(",", ":"))
        f.write("\n")


main()
