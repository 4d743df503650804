/** Name that the command line of every node in the family contains. */
export const pharosProcess = "pharos_light";

/**
 * The public family's node program: with `-d`, it continues in the background. It prints the commit from which it was built, and exits if
 * another process has locked its data. The kernel releases the lock when the process exits; `../lock-lingers-seconds` delays the release by
 * that time, simulating a kernel that is still writing a large process's pages.
 */
export const pharosLauncher = (node: string) => `
case " $* " in *" --version "*)
  printf '%s' "$(cat "$(dirname "$0")/../version")" | sha256sum | cut -c 1-9
  exit 0 ;;
esac
case " $* " in *" -d "*)
  if [ -z "$FORKED" ]; then
    FORKED=1 setsid "$0" "$@" &
    exit 0
  fi ;;
esac
config=
for word in "$@"; do
  [ "$last" = -c ] && config=$word
  last=$word
done
[ -n "$CONSENSUS_KEY_PWD" ] || { echo "CONSENSUS_KEY_PWD, the password of the keys, is missing" >&2; exit 1; }
data=$(sed -n 's/.*"storage_data_path" *: *"\\([^"]*\\)".*/\\1/p' "$config" | head -n 1)
mkdir -p "\${data:=../data}" || exit 1
exec 9>>"$data/LOCK"
if ! flock -n 9; then
  printf x >>../locked-out.log
  echo "$data is in use by another process" >&2
  exit 1
fi
if [ -e ../lock-lingers-seconds ]; then
  seconds=$(cat ../lock-lingers-seconds)
  cd / && setsid sh -c 'while readlink "/proc/$1/exe"; do sleep 0.02; done; sleep "$2"' keeper $$ "$seconds" >/dev/null 2>&1 &
fi
exec '${node}' "$0.cjs" "$@"
`;

/** Time for which the node keeps running after a stop signal and produces new blocks. */
const stopsAfterMs = 300;

/** Behavior of the node itself: prints a line per block to its standard output, and exits slowly. */
export const pharosManners = (blockTimeMs: number) => `
// Behaves like a non-Node program: dies on SIGPIPE, which Node ignores, and stalls on a pipe without a reader.
const print = (line) => {
  try { writeSync(1, line + "\\n"); } catch { process.exit(141); }
};
setInterval(() => print("block " + advance()), ${blockTimeMs});
const stopsAfter = existsSync("../stops-after") ? Number(readFileSync("../stops-after", "utf8")) : ${stopsAfterMs};
process.once("SIGTERM", () => {
  writeFileSync("../stopping", "");
  setTimeout(() => process.exit(0), stopsAfter);
});
`;

/**
 * The public family's start and stop commands. The start command returns status 0 at once, even if the node exits at once, and passes its
 * own standard output on to the node. The stop command signals every process whose command line contains the node's name, waits for none of
 * them, and exits with 0. In tests, it signals only processes within the directory in `./host`, which simulates the machine, because other
 * tests' nodes run on the same machine.
 */
export const pharosOps = `
case $1 in
start)
  config=$(readlink -f "\${3:-./conf/pharos.conf}")
  [ -f "$config" ] || { echo "no configuration at $config" >&2; exit 1; }
  [ -x ./bin/${pharosProcess} ] || { echo "no program at ./bin/${pharosProcess}" >&2; exit 1; }
  [ -f ./.password ] && CONSENSUS_KEY_PWD=$(cat ./.password) && export CONSENSUS_KEY_PWD
  echo "starting: $config"
  bash -c "cd ./bin && ./${pharosProcess} -c $config -d" &
  echo "started" ;;
stop)
  signal=TERM
  case $2 in --force|-f) signal=KILL ;; esac
  for file in $(grep -lsF ${pharosProcess} /proc/[0-9]*/cmdline | xargs -r grep -lsF "$(cat ./host)"); do
    pid=\${file#/proc/}
    kill -$signal "\${pid%/cmdline}" 2>/dev/null && echo "$signal sent to \${pid%/cmdline}"
  done
  exit 0 ;;
generate-keys)
  for name in domain stabilizing; do head -c 32 /dev/urandom | od -An -tx1 >"$3/$name.key"; done ;;
*)
  echo "start, stop or generate-keys?" >&2
  exit 1 ;;
esac
`;

/**
 * The public family's command-line tool, which runs in the directory of the node's program. It prints no version. Its genesis command
 * creates a new node's data, and exits if there is no fork schedule.
 */
export const pharosCli = `
if [ "$1" = genesis ]; then
  [ -f ./VERSION ] && [ -f "$5" ] || { echo "no VERSION or no genesis" >&2; exit 1; }
  mkdir -p ../data/meta_store ../data/public
  exit 0
fi
[ "$1" = prune ] && [ "$2" = --c ] || { echo "usage: prune --c FILE --get|--enable_auto_prune" >&2; exit 1; }
[ -x ./${pharosProcess} ] || { echo "run it in the directory of the programs" >&2; exit 1; }
[ -f "$3" ] || { echo "no configuration at $3" >&2; exit 1; }
[ "$4" = --enable_auto_prune ] && printf 1 >../pruning
on=0
[ -e ../pruning ] && on=1
printf 'PruneInfo:\\nenable_auto_prune: %s\\nauto_prune_reserved_window: 100000\\nprune_reserved_version: 1\\nflushed_version: 2\\nreal_prune_reserved_version: 1\\n' $on
`;

/** Fork schedule in the format that the family's network publishes. */
export const pharosForks = `{ "Test-250101": { "version": 1, "epoch": 0 } }\n`;

/**
 * Entry point of the public family's image. At each start, it replaces the programs in `/data/bin` with the image's own, and keeps the
 * operator's VERSION. If there are no keys, it creates new ones, which give the node a new identity.
 */
export const pharosEntryPoint = `
set -e
keys=\${KEYS_DIR:-/data/keys}
config=\${PHAROS_CONF:-/data/pharos.conf}
genesis=\${GENESIS_CONF:-/data/genesis.conf}
[ ! -f /data/bin/VERSION ] || cp /data/bin/VERSION /tmp/VERSION
rm -rf /data/bin
cp -r /app/bin /data/bin
cp /app/ops /data/ops
[ ! -f /tmp/VERSION ] || mv /tmp/VERSION /data/bin/VERSION
[ -f "$config" ] || { echo "no configuration at $config" >&2; exit 1; }
[ -n "$CONSENSUS_KEY_PWD" ] || { echo "CONSENSUS_KEY_PWD is missing" >&2; exit 1; }
export PORTAL_SSL_PWD="\${PORTAL_SSL_PWD:-$CONSENSUS_KEY_PWD}"
if [ ! -f "$keys/domain.key" ] || [ ! -f "$keys/stabilizing.key" ]; then
  mkdir -p "$keys"
  /data/ops generate-keys -o "$keys"
fi
cd /data/bin
if [ ! -d "\${DATA_DIR:-/data/data}/meta_store" ]; then
  [ -f "$genesis" ] || { echo "no genesis at $genesis" >&2; exit 1; }
  ./pharos_cli genesis -c "$config" -g "$genesis"
fi
exec ./${pharosProcess} -c "$config"
`;
