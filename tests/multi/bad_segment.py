"""Segments that roost must not touch, and a /dev/shm that cannot hold one: one clear sentence, exit
status 125, and what was there stays as it was."""

import os
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
    "no magic": (lambda good: b"\0" * 8 + good[8:], ["segment"]),
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


def test_empty_file_is_a_segment_that_was_never_made(world: World):
    """Its creator died before it wrote anything: the next one makes it."""
    instance = world.roost.new_instance("empty")
    world.roost.segment(instance).touch(0o600)
    require_success(world.run(["true"], instance), "true")
    world.require_gone(instance)


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
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    if world.run_plain([*unshare, "true"]).status != 0:
        raise Skip("no mount namespace can be made here")
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
