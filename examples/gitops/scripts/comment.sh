#!/usr/bin/env bash
# Posts a preview's report as a comment on a GitHub pull request, replacing the last one: scripts/comment.sh <environment> <number>
# Needs gh, GH_TOKEN and GH_REPO.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

environment=$(environment_of "${1-}")
[[ ${2-} =~ ^[0-9]+$ ]] || die "which pull request? Expected its number."
report="$report_directory/preview-$environment.md"
[ -f "$report" ] || die "no $report; run scripts/preview.sh $environment first"
comments="repos/${GH_REPO:?}/issues/$2/comments"
last=$(gh api "$comments" --paginate \
  --jq ".[] | select(.user.type == \"Bot\" and (.body | startswith(\"<!-- gatehouse-preview: $environment -->\"))) | .id" | tail -n 1)
if [ -n "$last" ]; then
  gh api --method PATCH "repos/$GH_REPO/issues/comments/$last" --field body=@"$report" --silent
else
  gh api --method POST "$comments" --field body=@"$report" --silent
fi
