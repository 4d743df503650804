#!/usr/bin/env bash
# Updates the stack of an environment, and checks that nothing is left to do: scripts/deploy.sh <environment>
# Exits with 0, 1 if the update failed, or 2 if it succeeded but a preview would still change something.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

environment=$(environment_of "${1-}")
mkdir -p "$report_directory"
log="$report_directory/deploy-$environment.txt"
mapfile -t judged < <(policies)
status=0
kept_in "$log" on_stack "$environment" up --yes "${judged[@]}" || status=$?
if [ "$status" -ne 0 ]; then
  if grep -q 'currently locked' "$log"; then
    die "another update holds the lock of $environment, or one was killed. If nobody is updating: pulumi cancel --yes, then run this again (docs/gitops.md, \"A killed run\")"
  fi
  die "pulumi up ended with $status; what was done stays done, and running this again goes on from there"
fi
kept_in "$log.after" on_stack "$environment" preview --expect-no-changes || status=$?
case $status in
  0) ;;
  7) exit "$differs" ;;
  *) if grep -q 'no changes were expected' "$log.after"; then exit "$differs"; else die "the preview after the update ended with $status"; fi ;;
esac
