#!/usr/bin/env bash
# Opens, updates or closes the issue about an environment's drift on GitHub: scripts/report-drift.sh <environment>
# Needs gh, GH_TOKEN and GH_REPO. Exits with 1 if drift.sh failed to check; the issue is then left unchanged.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

environment=$(environment_of "${1-}")
[ -f "$report_directory/drift-$environment.status" ] || die "drift.sh left no report for $environment; see its job"
verdict=$(cat -- "$report_directory/drift-$environment.status")
report="$report_directory/drift-$environment.md"
label=gatehouse-drift
title="Drift in $environment"
open=$(gh issue list --state open --label "$label" --limit 200 --json number,title \
  --jq ".[] | select(.title == \"$title\") | .number" | head -n 1)
case $verdict in
  0)
    if [ -n "$open" ]; then gh issue close "$open" --comment "The last look found no drift."; fi
    ;;
  "$differs")
    if [ -n "$open" ]; then
      gh issue edit "$open" --body-file "$report"
    else
      gh label create "$label" --force --description "What runs is not what the repository says"
      gh issue create --title "$title" --label "$label" --body-file "$report"
    fi
    ;;
  *) die "whether $environment drifted is not known: see the log of drift.sh" ;;
esac
