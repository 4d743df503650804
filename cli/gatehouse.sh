#!/bin/sh
# What is installed as `gatehouse`. The variables make the C library keep one heap for all threads, and give freed memory back. They can't
# stand in the first line of the program itself: pnpm's launcher takes the first word after `env -S` for the name of a program. In a clone
# the project's own Node runs it, because another on PATH may be too old.
here=$(dirname "$(readlink -f "$0")")
node=$here/../node_modules/.bin/node
[ -x "$node" ] || node=node
exec env MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=131072 "$node" "$here/gatehouse.js" "$@"
