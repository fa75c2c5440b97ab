#!/usr/bin/env python3
"""Runs oversubscribed programs under stock Linux and under Roost and prints one table."""

import argparse
import sys

from runner import cases, machine, render, session


def main() -> None:
    parser = session.parser(__doc__)
    parser.add_argument("--full", action="store_true",
                        help="all cases, at length: an hour and a half, not two minutes")
    parser.add_argument("--quick", action="store_true", help=argparse.SUPPRESS)  # the default
    options = parser.parse_args()
    quick = not options.full
    place = session.place(options, quick)
    session.check_json(options.json)
    if not options.list:
        session.check_built(place)
    chosen = session.select(cases.all_cases(place), options)
    if options.list:
        print("\n".join(case.name for case in chosen))
        return

    rounds = options.rounds or 5
    for line in (machine.busy_warning(), announcement(len(chosen), rounds, quick)):
        if line:
            print(line, file=sys.stderr)
    limit = session.QUICK_LIMIT_SECONDS if quick else options.limit
    results, complete = session.measure(chosen, rounds, quick, limit)

    print(render.text(render.HEAD, render.rows(results, limit)))
    print(f"\n{render.LEGEND}\n")
    if complete < rounds:
        print(f"Time allowed {complete} of {rounds} rounds.")
    print(render.closing_words(results))
    if options.json:
        session.write_json(options.json, results, complete, quick=quick)


def announcement(cases_count: int, rounds: int, quick: bool) -> str:
    much = "about two minutes" if quick else "an hour and a half"
    plural = "" if cases_count == 1 else "s"
    return (f"{cases_count} case{plural}, ideal, Linux and Roost in turn, {rounds} rounds; {much}.")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
