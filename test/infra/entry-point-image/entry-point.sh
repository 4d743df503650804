#!/bin/sh
set -e
kept=/tmp/schedule
if [ -f bin/VERSION ]; then cp bin/VERSION "$kept"; fi
rm -rf bin
cp -R /app/bin bin
if [ -f "$kept" ]; then mv "$kept" bin/VERSION; fi
test -f "$PHAROS_CONF"
test -n "$CONSENSUS_KEY_PWD"
for key in domain stabilizing; do
  if [ ! -f "$KEYS_DIR/$key.key" ]; then mkdir -p "$KEYS_DIR"; echo "another identity" > "$KEYS_DIR/$key.key"; fi
done
cd bin
if [ ! -d ../data/meta_store ]; then ./pharos_cli genesis -c "$PHAROS_CONF" -g "$GENESIS_CONF"; fi
exec ./pharos_light -c "$PHAROS_CONF"
