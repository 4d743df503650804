#!/usr/bin/env bash
# Checks whether an environment still matches the repository: scripts/drift.sh <environment>
# Queries the provider (pulumi preview --refresh); with SERVICE_URLS, the running services (gatehouse doctor --drift), e.g.
# SERVICE_URLS="sidecar=http://127.0.0.1:9600 resource-server=http://127.0.0.1:9601"; and, with NODE_CONF_COMMAND, the node's own node.conf
# (gatehouse config plan). That command prints the file of $ENVIRONMENT (docs/gitops.md has it for Docker and Kubernetes); its version is
# the nodeVersion of the environment's stack unless NODE_VERSION specifies another, and the sidecar's settings come from
# stacks/<environment>.sidecar.json5 if that exists. Changes nothing.
# Writes reports/drift-<environment>.{md,status}. Exits with 0 (no drift), 2 (drift) or 1 (the check failed).
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

environment=$(environment_of "${1-}")
mkdir -p "$report_directory"
log="$report_directory/drift-$environment.txt"
verdict=0

# Detected drift takes precedence over a check that failed.
take() {
  if [ "$1" -eq "$differs" ] || [ "$verdict" -eq 0 ]; then verdict=$1; fi
}

status=0
kept_in "$log" on_stack "$environment" preview --refresh --expect-no-changes --diff || status=$?
case $status in
  0) ;;
  # 7 since Pulumi 3.226.1; before that, only the message distinguishes it from an error.
  7) take "$differs" ;;
  *) if grep -q 'no changes were expected' "$log"; then take "$differs"; else take "$failed"; fi ;;
esac

if [ -n "${SERVICE_URLS-}" ]; then
  outputs="$report_directory/$environment.outputs.json"
  status=0
  outputs_of "$environment" >"$outputs" || status=$?
  if [ "$status" -ne 0 ]; then
    printf 'drift: pulumi stack output ended with %s, so the services were not asked.\n' "$status" | tee -a -- "$log" >&2
    take "$failed"
  else
    options=(--drift --outputs "$outputs")
    for url in $SERVICE_URLS; do options+=(--url "$url"); done
    kept_in "$log.doctor" gatehouse doctor "${options[@]}" || status=$?
    cat -- "$log.doctor" >>"$log"
    rm -f -- "$log.doctor"
    take "$status"
  fi
fi

if [ -n "${NODE_CONF_COMMAND-}" ]; then
  conf="$report_directory/$environment.running.node.conf"
  settings="$repository/stacks/$environment.sidecar.json5"
  # It may contain secrets: only this user can read it, and it is removed when this script exits.
  trap 'rm -f -- "$conf"' EXIT
  status=0
  (umask 077 && ENVIRONMENT=$environment bash -c "$NODE_CONF_COMMAND" >"$conf") || status=$?
  if [ "$status" -ne 0 ]; then
    printf 'drift: NODE_CONF_COMMAND ended with %s, so node.conf was not looked at.\n' "$status" | tee -a -- "$log" >&2
    take "$failed"
  else
    version=${NODE_VERSION:-$(node_version_of "$environment")}
    options=(--config "$conf" --node-version "${version:?is needed with NODE_CONF_COMMAND: set gatehouse:nodeVersion of the stack, or NODE_VERSION}")
    if [ -f "$settings" ]; then options+=(--settings "$settings"); fi
    status=0
    kept_in "$log.plan" gatehouse config plan "${options[@]}" || status=$?
    cat -- "$log.plan" >>"$log"
    rm -f -- "$log.plan"
    take "$status"
  fi
fi

{
  printf '<!-- gatehouse-drift: %s -->\n' "$environment"
  printf 'What runs in **%s** is not what the repository says. What to do is in docs/gitops.md of Gatehouse, "Drift".\n\n' "$environment"
  fenced "$log"
} >"$report_directory/drift-$environment.md"
printf '%s\n' "$verdict" >"$report_directory/drift-$environment.status"
exit "$verdict"
