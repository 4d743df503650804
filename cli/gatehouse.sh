#!/bin/sh
# Installed as `gatehouse`. The variables make the C library use one heap for all threads, and return freed memory. They can't be in the
# program's own first line, because pnpm's launcher mistakes the first word after `env -S` for a program's name. In a clone, the project's
# own Node runs it, because the one on PATH may be too old.
here=$(dirname "$(readlink -f "$0")")
node=$here/../node_modules/.bin/node
[ -x "$node" ] || node=node
exec env MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=131072 "$node" "$here/gatehouse.js" "$@"
