#!/bin/sh
# What is installed as `gatehouse`. The variables make the C library keep one heap for all threads, and give freed memory back. They can't
# stand in the first line of the program itself: pnpm's launcher takes the first word after `env -S` for the name of a program.
exec env MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=131072 node "$(dirname "$(readlink -f "$0")")/gatehouse.js" "$@"
