# shellcheck shell=bash disable=SC2034
# Code that the scripts share; sourced, not run. All of the scripts work both on a laptop and in a pipeline.
set -euo pipefail

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# The submodule with Gatehouse's program, and where reports are written.
gatehouse_directory=${GATEHOUSE_DIRECTORY:-$repository/gatehouse}
report_directory=${REPORT_DIRECTORY:-$repository/reports}

# The exit codes of all scripts, the same as those of gatehouse config lint and gatehouse config plan.
readonly failed=1 differs=2

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit "$failed"
}

gatehouse() {
  [ -f "$gatehouse_directory/cli/gatehouse.js" ] ||
    die "no Gatehouse in $gatehouse_directory; run: git submodule update --init"
  node "$gatehouse_directory/cli/gatehouse.js" "$@"
}

# Prints the requested environment after checking that it exists.
environment_of() {
  [[ ${1-} =~ ^[a-z0-9][a-z0-9-]*$ ]] || die "which environment? One of: $(environments)"
  [ -f "$repository/stacks/Pulumi.$1.yaml" ] || die "no stacks/Pulumi.$1.yaml; there are: $(environments)"
  printf '%s\n' "$1"
}

environments() {
  local file names=()
  for file in "$repository"/stacks/Pulumi.*.yaml; do
    file=${file##*/Pulumi.}
    names+=("${file%.yaml}")
  done
  printf '%s\n' "${names[*]}"
}

# Prints the node version that an environment's stack specifies; nothing if it specifies none.
node_version_of() {
  sed -nE 's/^ +gatehouse:nodeVersion: *"?([^"# ]+).*/\1/p' "$repository/stacks/Pulumi.$1.yaml" | head -n 1
}

# Prints the configuration that the last update of an environment's stack deployed to its services, and their URLs.
outputs_of() {
  pulumi stack output --json \
    --cwd "$gatehouse_directory" \
    --stack "${PULUMI_ORGANIZATION:+$PULUMI_ORGANIZATION/gatehouse/}$1" \
    --non-interactive --color never
}

# Runs Pulumi on the stack of an environment: on_stack <environment> <command> <options>…
on_stack() {
  local environment=$1
  shift
  pulumi "$@" \
    --cwd "$gatehouse_directory" \
    --stack "${PULUMI_ORGANIZATION:+$PULUMI_ORGANIZATION/gatehouse/}$environment" \
    --config-file "$repository/stacks/Pulumi.$environment.yaml" \
    --non-interactive --color never
}

# Options that make the policies check a preview or an update.
policies() {
  printf '%s\n' --policy-pack "$gatehouse_directory/policies" --policy-pack-config "$repository/policies.json"
}

# Runs a command, shows its output, and saves it: kept_in <file> <command>… Returns the command's status.
kept_in() {
  local file=$1 mark="" status
  shift
  # The output may contain text from a pull request, none of which may act as a command to the runner.
  if [ "${GITHUB_ACTIONS-}" = true ]; then
    mark=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    printf '::stop-commands::%s\n' "$mark"
  fi
  set +e
  "$@" 2>&1 | tee -- "$file"
  status=${PIPESTATUS[0]}
  set -e
  [ -z "$mark" ] || printf '::%s::\n' "$mark"
  return "$status"
}

# Prints the start of a saved text between fences that it can't close: fenced <file> [<bytes>]. GitHub rejects a comment or an issue of
# more than 65536 characters, so all texts of one may have at most about 60000 bytes in total.
fenced() {
  local limit_bytes=${2:-50000} fence='~~~~' cut="$1.cut"
  # A long run of fence characters is shortened, so that the fences stay short.
  head -c "$limit_bytes" -- "$1" | iconv -c -f UTF-8 -t UTF-8 | sed -E 's/~{16,}/~~~~~~~~~~~~~~~/g' >"$cut"
  while grep -qF -- "$fence" "$cut"; do fence+='~'; done
  printf '%stext\n' "$fence"
  cat -- "$cut"
  printf '\n%s\n' "$fence"
  if [ "$(wc -c <"$1")" -gt "$limit_bytes" ]; then printf '\nThe rest is in the log of the run.\n'; fi
  rm -f -- "$cut"
}
