#!/usr/bin/env bash
# Runs the unit tests of what is deployed, at the version that is deployed, and your own: scripts/test.sh
# Your own are executable files in tests/, each of which ends with 0 when it is content.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

(cd "$gatehouse_directory" && npx vitest run --project unit infra policies node)
for own in "$repository"/tests/*; do
  if [ -f "$own" ] && [ -x "$own" ]; then
    printf '== tests/%s\n' "${own##*/}"
    "$own" || die "tests/${own##*/} ended with $?"
  fi
done
