#!/usr/bin/env bash
# Shows what an update would do, checked by the policies: scripts/preview.sh <environment>
# Writes reports/preview-<environment>.md, a comment for the pull request. Exits with 0, or 1 if the preview or a policy failed.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

environment=$(environment_of "${1-}")
mkdir -p "$report_directory"
log="$report_directory/preview-$environment.txt"
mapfile -t judged < <(policies)
status=0
kept_in "$log" on_stack "$environment" preview --diff "${judged[@]}" || status=$?

# Lines from standard input, if there are any, in a separate section.
section() {
  local title=$1 found="$log.section"
  sort -u >"$found"
  if [ -s "$found" ]; then
    printf '### %s\n\n' "$title"
    fenced "$found" 5000
    printf '\n'
  fi
  rm -f -- "$found"
}

{
  printf '<!-- gatehouse-preview: %s -->\n' "$environment"
  if [ "$status" -eq 0 ]; then
    printf '## Preview of %s\n\n' "$environment"
  else
    printf '## Preview of %s failed\n\nPulumi ended with %s.\n\n' "$environment" "$status"
  fi
  # Pulumi prints the URN, which ends in the name, a line or two after the operation.
  awk '/^ *[-+]+ ?[^ ]+: \((replace|delete)\)|^ *~ kubernetes:apps\/[^ ]+: \(update\)/ { sub(/^ +/, ""); operation = $0 }
    operation && sub(/.*\[urn=.*::/, "") { sub(/\]$/, ""); print $0 ": " operation; operation = "" }' "$log" |
    section "Replaced, deleted or rolled"
  awk '/\[(mandatory|advisory)\]/ { sub(/^ +/, ""); print }' "$log" | section "Policies"
  if [ "$status" -ne 0 ]; then
    # Pulumi prints errors last, after all changes, where a comment would be truncated.
    sed -n '/^Diagnostics:/,$p' "$log" >"$log.error"
    [ -s "$log.error" ] || tail -n 40 -- "$log" >"$log.error"
    printf '### Error\n\n'
    fenced "$log.error" 8000
    rm -f -- "$log.error"
    printf '\n'
  fi
  printf '<details><summary>What would change</summary>\n\n'
  fenced "$log" 37000
  printf '\n</details>\n'
} >"$report_directory/preview-$environment.md"
[ "$status" -eq 0 ] || exit "$failed"
