#!/usr/bin/env bash
# Installs what Gatehouse needs, from its lock file: scripts/setup.sh
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

[ -f "$gatehouse_directory/package-lock.json" ] || die "no Gatehouse in $gatehouse_directory; run: git submodule update --init"
cd "$gatehouse_directory"
npm ci --no-audit --no-fund
