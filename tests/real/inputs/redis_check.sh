#!/usr/bin/env bash
# A Redis server of its own, filled by many clients, saved by a child, read back, and compared.
set -e
redis-server --port 0 --unixsocket "$PWD/socket" --save '' --enable-debug-command yes > log &
server=$!
ask() { redis-cli -s "$PWD/socket" "$@"; }
for ((i = 0; i < 200; ++i)); do
  [[ $(ask ping 2> /dev/null) == PONG ]] && break
  sleep 0.05
done
redis-benchmark -s "$PWD/socket" -c 10 -n 3000 -q -t set,incr,lpush,sadd,zadd > /dev/null
ask dbsize
ask get counter:__rand_int__
ask llen mylist
before=$(ask debug digest)
printf '%s\n' "$before"
last=$(ask lastsave)
sleep 1  # the time of a save is in whole seconds
ask bgsave
for ((i = 0; i < 200; ++i)); do
  [[ $(ask lastsave) != "$last" ]] && break
  sleep 0.05
done
ask flushall
ask debug reload nosave
[[ $(ask debug digest) == "$before" ]] && echo 'read back'
ask shutdown nosave
wait "$server"
