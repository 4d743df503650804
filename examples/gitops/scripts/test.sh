#!/usr/bin/env bash
# Runs the unit tests of the deployed code, at the deployed version, and your own tests: scripts/test.sh
# Your own tests are executable files in tests/, each of which exits with 0 if it passes.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

(cd "$gatehouse_directory" && npx vitest run --project unit infra policies node)
for own in "$repository"/tests/*; do
  if [ -f "$own" ] && [ -x "$own" ]; then
    printf '== tests/%s\n' "${own##*/}"
    "$own" || die "tests/${own##*/} ended with $?"
  fi
done
