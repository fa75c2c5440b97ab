"""A process pool and a thread pool at work at once; prints their results in order."""

import hashlib
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor


def digest(number):
    value = str(number).encode()
    for _ in range(2000):
        value = hashlib.sha256(value).digest()
    return value.hex()


if __name__ == "__main__":
    with ProcessPoolExecutor(4) as processes, ThreadPoolExecutor(8) as threads:
        from_processes = processes.map(digest, range(40), chunksize=2)
        from_threads = threads.map(digest, range(40, 80))
        print("\n".join([*from_processes, *from_threads]))
