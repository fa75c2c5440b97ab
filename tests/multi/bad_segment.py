"""Segments that roost must not touch, and a /dev/shm that cannot hold one: one clear sentence, exit
status 125, and what was there stays as it was."""

import mmap
import os
import shlex
import signal
import struct

from bad_input import CANNOT_RUN, require_one_sentence, require_refused
from world import BOUND, Skip, World, cases, require, require_success

# Where the header has what (src/segment/header.h).
VERSION_AT, TOTAL_BYTES_AT, CORES_AT = 8, 24, 44


def good_segment(world: World) -> bytes:
    """The bytes of an instance in use."""
    instance = world.roost.new_instance("good")
    idle = world.start_idle(instance)
    segment = world.roost.segment(instance).read_bytes()
    idle.send(signal.SIGTERM)
    require_success(idle.wait(BOUND), "idle")
    return segment


def patched(segment: bytes, at: int, form: str, value: int) -> bytes:
    changed = bytearray(segment)
    struct.pack_into(form, changed, at, value)
    return bytes(changed)


# What is wrong: how the good bytes are spoilt, words the sentence must hold.
DAMAGE = {
    "another version": (lambda good: patched(good, VERSION_AT, "<I", 9999), ["version"]),
    "another magic": (lambda good: b"\1" * 8 + good[8:], ["segment"]),
    "text": (lambda good: b"this is no segment\n" * 1000, ["segment"]),
    "cut header": (lambda good: good[:100], ["damaged"]),
    "cut tables": (lambda good: good[:len(good) // 2], ["damaged"]),
    "no cores": (lambda good: patched(good, CORES_AT, "<H", 0), ["damaged"]),
    "wrong size": (lambda good: patched(good, TOTAL_BYTES_AT, "<Q", 1 << 40), ["damaged"]),
}


@cases(*DAMAGE)
def test_damaged_segment(world: World, damage: str):
    spoil, words = DAMAGE[damage]
    content = spoil(good_segment(world))
    instance = world.roost.new_instance("bad")
    segment = world.roost.segment(instance)
    segment.write_bytes(content)
    segment.chmod(0o600)
    # Somebody uses it: else one of another version is taken for left over.
    with segment.open("r+b") as file, mmap.mmap(file.fileno(), 0):
        require_refused(world, instance, [], *words, status=CANNOT_RUN)
    require(segment.read_bytes() == content, "roost changed it")


@cases("0644", "0660", "0666")
def test_segment_that_others_may_open(world: World, mode: str):
    instance = world.roost.new_instance("mode")
    segment = world.roost.segment(instance)
    segment.write_bytes(good_segment(world))
    segment.chmod(int(mode, 8))
    require_refused(world, instance, [], "mode", status=CANNOT_RUN)


def test_segment_of_another_user(world: World):
    if os.geteuid() != 0:
        raise Skip("needs root, to make a file of another user")
    instance = world.roost.new_instance("user")
    segment = world.roost.segment(instance)
    segment.write_bytes(good_segment(world))
    segment.chmod(0o600)
    os.chown(segment, 65534, 65534)
    require_refused(world, instance, [], "user", status=CANNOT_RUN)


def test_symbolic_link_is_not_followed(world: World):
    target = world.directory / "target"
    target.touch()
    instance = world.roost.new_instance("link")
    world.roost.segment(instance).symlink_to(target)
    require_refused(world, instance, [], "link", status=CANNOT_RUN)
    require(target.stat().st_size == 0, "roost wrote through the link")


@cases(0, 100_000, 4_000_000)
def test_a_file_of_zeroes_is_a_segment_that_was_never_made(world: World, size: int):
    """Its creator died before it had finished: the next one makes it."""
    instance = world.roost.new_instance("empty")
    segment = world.roost.segment(instance)
    segment.touch(0o600)
    os.truncate(segment, size)
    require_success(world.run(["true"], instance), "true")
    world.require_gone(instance)


def test_a_limit_under_which_there_can_be_no_segment(world: World):
    """The program runs unmanaged, and leaves nothing in the way of the next."""
    instance = world.roost.new_instance("limits")
    command = world.roost.command(["/bin/true"], instance)
    outcome = world.run_plain(["sh", "-c", 'ulimit -f 100; exec "$@"', "sh", *command])
    require(outcome.status == 0, f"{outcome.verdict()}\n{outcome.stderr!r}")
    require(outcome.stderr.count(b"\n") == 1 and b"unmanaged" in outcome.stderr,
            f"it says {outcome.stderr!r}")
    require(not world.roost.segment(instance).exists(), "the segment stays")


def own_mounts(world: World) -> list[str]:
    """A command that runs another one in a mount namespace of its own."""
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    if world.run_plain([*unshare, "true"]).status != 0:
        raise Skip("no mount namespace can be made here")
    return unshare


# Each runs the command given to it with another /dev/shm, in a mount namespace of its own.
OTHER_SHARED_MEMORY = {
    "missing": """
        dev=$(mktemp -d -p "$1") && shift || exit 99
        for name in null zero full random urandom tty; do
          touch "$dev/$name" && mount --bind "/dev/$name" "$dev/$name" || exit 99
        done
        mount --rbind "$dev" /dev || exit 99
        exec "$@" """,
    "read-only": "shift; mount -t tmpfs -o ro none /dev/shm || exit 99; exec \"$@\"",
    "too small": "shift; mount -t tmpfs -o size=16k none /dev/shm || exit 99; exec \"$@\"",
}


@cases(*OTHER_SHARED_MEMORY)
def test_shared_memory_that_is(world: World, state: str):
    unshare = own_mounts(world)
    instance = world.roost.new_instance("shm")
    marker = world.directory / "it-ran"
    command = world.roost.command(["touch", str(marker)], instance)
    outcome = world.run_plain([*unshare, "sh", "-c", OTHER_SHARED_MEMORY[state], "sh",
                               str(world.directory), *command])
    if outcome.status == 99:
        raise Skip(f"/dev/shm cannot be replaced here: {outcome.stderr!r}")
    require(outcome.status == CANNOT_RUN, f"{outcome.verdict()}: {outcome.stderr!r}")
    require(not marker.exists(), "the command ran all the same")
    require_one_sentence(outcome, "/dev/shm")


def test_shared_memory_that_fills_up_later(world: World):
    """What the instance may need it has from the beginning."""
    instance = world.roost.new_instance("filled")
    idle = shlex.join(world.roost.command(world.program("idle"), instance))
    mix = shlex.join(world.roost.command(world.program("sync_mix", 4, 200), instance))
    outcome = world.run_plain([*own_mounts(world), "sh", "-c", f"""
        mount -t tmpfs -o size=16m none /dev/shm || exit 99
        {idle} > "$1" &
        until grep -qs idle "$1"; do sleep 0.02; done
        cat /dev/zero > /dev/shm/filler
        {mix} && {mix} && kill $! && wait""", "sh", str(world.directory / "said")])
    if outcome.status == 99:
        raise Skip(f"/dev/shm cannot be replaced here: {outcome.stderr!r}")
    require_success(outcome, "an instance whose /dev/shm is full")


def test_shared_memory_too_small_for_whoever_joins_later(world: World):
    """It runs unmanaged."""
    instance = world.roost.new_instance("small")
    mix = shlex.join(world.program("sync_mix", 4, 200))
    command = ["sh", "-c", f"mount -t tmpfs -o size=1m none /dev/shm || exit 99; {mix}; exit"]
    outcome = world.run_plain([*own_mounts(world), *world.roost.command(command, instance)])
    if outcome.status == 99:
        raise Skip(f"/dev/shm cannot be replaced here: {outcome.stderr!r}")
    require_success(outcome, "a program for which there is no room")
    require_one_sentence(outcome, "unmanaged")
