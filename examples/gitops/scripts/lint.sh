#!/usr/bin/env bash
# Lints every node.conf in the repository: scripts/lint.sh
# A file `node-version` next to a node.conf contains its node's version.
# Exits with 0 (no findings), 2 (findings) or 1 (a file can't be read).
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

cd "$repository"
format=text
if [ "${GITHUB_ACTIONS-}" = true ]; then format=github; fi
worst=0
count=0
while IFS= read -r -d '' file; do
  options=(--format "$format")
  version="$(dirname "$file")/node-version"
  if [ -f "$version" ]; then options+=(--node-version "$(tr -d '[:space:]' <"$version")"); fi
  status=0
  # The path can't be mistaken for an option or for standard input.
  gatehouse config lint "${options[@]}" "./$file" || status=$?
  # A file that can't be read is worse than one with findings.
  if [ "$status" -ne 0 ] && [ "$worst" -ne "$failed" ]; then worst=$status; fi
  count=$((count + 1))
done < <(git ls-files -z -- node.conf '*/node.conf' '*.node.conf')
printf 'Judged %s node.conf in this repository.\n' "$count"
exit "$worst"
