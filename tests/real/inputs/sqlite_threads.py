"""Four threads write to one SQLite database, each over a connection of its own; prints the sums."""

import sqlite3
import threading

ROWS = 200


def write(number):
    connection = sqlite3.connect("test.db", timeout=60)
    connection.execute("pragma synchronous = off")  # locks are what is tested, not the disk
    for row in range(ROWS):
        with connection:
            connection.execute("insert into entries values (?, ?)", (number, row))
    connection.close()


with sqlite3.connect("test.db") as database:
    database.execute("create table entries (thread integer, value integer)")
threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(database.execute("select thread, count(*), sum(value) from entries group by 1").fetchall())
print(database.execute("pragma integrity_check").fetchall())
