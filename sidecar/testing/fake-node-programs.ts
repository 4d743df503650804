import { pharosManners } from "./fake-pharos-programs.ts";
import type { NodeProfile } from "./node-profile.ts";

/** Options for a fake node's programs. The programs read their port from the workspace, so that a release can be deployed to several nodes. */
export type FakePrograms = Readonly<{ profile: NodeProfile }>;

/** A chain so fast that the many blocks needed for a verification or a rate take only a second or two. */
export const blockTimeMs = 25;

/** Time before a strict node opens its port, and before it reports its protocol version. */
const strictOpensAfterMs = 400;
const strictReportsAfterMs = 700;

/** Max calls per batch on a public-family node. */
const pharosBatchMax = 20;

/** Results by method, for the program below. */
const answers = `const answers = {
  eth_blockNumber: () => "0x" + (frozen ? 5 : advance()).toString(16),
  eth_getBlockByNumber: ([asked]) => {
    const latest = frozen ? 5 : advance();
    const number = /^0x/.test(asked) ? Number(asked) : latest;
    const timestamp = frozen ? 1 : Math.floor(Date.now() / 1000);
    const hex = (value) => value.toString(16);
    const fill = number > 0 && existsSync("../data/forked") ? "6" : "5";
    return { number: "0x" + hex(number), hash: "0x" + hex(number).padStart(64, fill), timestamp: "0x" + hex(timestamp) };
  },
  eth_chainId: () => "0x688",
  eth_syncing: () => false,
  web3_clientVersion: () => (pharos ? "pharos/" + commit + "/linux" : strict ? "Reth/v1.3.12-abc/x86_64-linux" : "fake/v" + version + "/test"),
  debug_protocolVersion: protocolVersion,
};
`;

/** The node: JSON-RPC with an automatically rising height. It reads node.conf only at startup. */
export const nodeProgram = ({ profile }: FakePrograms) => `
const { appendFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync, writeSync } = require("node:fs");
const { createServer } = require("node:http");
const strict = ${profile === "strict"};
const pharos = ${profile === "pharos"};
const beganMs = performance.now();
const config = readFileSync(pharos ? process.argv[process.argv.indexOf("-c") + 1] : "node.conf", "utf8");
// In a container, as in the public family's image, the node listens on the port in its configuration.
const isAlone = !existsSync("../port");
const port = Number(isAlone ? /"http_port": *"(\\d+)"/.exec(config)[1] : readFileSync("../port", "utf8"));
const version = readFileSync("../version", "utf8");
const commit = pharos ? require("node:crypto").createHash("sha256").update(version).digest("hex").slice(0, 9) : undefined;
appendFileSync("../starts.log", "x");
if (config.includes("crash")) process.exit(3);
if (existsSync("../data/chain") && readFileSync("../data/chain", "utf8") === "ruined") process.exit(4);
writeFileSync("../node.pid", String(process.pid));
for (const mark of ["../stalled", "../stopping"]) rmSync(mark, { force: true });
const frozen = config.includes("frozen");
let height = 0;
const advance = () => {
  if (!existsSync("../stalled")) height = Math.floor(Date.now() / ${blockTimeMs}) % 1e9;
  return height;
};
const ofPharos = () => ({ binaryVersion: commit, protocolVersion: "0x1", currentSpecVersion: "0x1", currentStableBlock: answers.eth_blockNumber(), higherSpecVersions: [] });
const protocolVersion = () => (pharos ? ofPharos() : strict && performance.now() - beganMs < ${strictReportsAfterMs} ? undefined : { binaryVersion: version });
${answers}const server = createServer(async (request, response) => {
  // The node has no WebSocket.
  if (request.method !== "POST") return response.writeHead(404).end();
  let body = "";
  for await (const chunk of request) body += chunk;
  const message = JSON.parse(body);
  if (!Array.isArray(message)) {
    const answer = answerCall(message);
    if (strict && answer.error !== undefined) response.statusCode = answer.error.code === -32601 ? 404 : 503;
    return response.end(JSON.stringify(answer));
  }
  const isTooLarge = message.length > (pharos ? ${pharosBatchMax} : 1000);
  const rejection = { jsonrpc: "2.0", id: null, error: { code: -32600, message: "the batch has too many calls" } };
  response.end(JSON.stringify(isTooLarge ? rejection : message.map(answerCall)));
});
const answerCall = ({ method, id, params = [] }) => {
  const result = answers[method]?.(params);
  if (result !== undefined) return { jsonrpc: "2.0", id, result };
  return { jsonrpc: "2.0", id, error: { code: answers[method] === undefined ? -32601 : -32000, message: "not available" } };
};
// Atomic, because tests read the file while it is being written.
const show = () => {
  writeFileSync("../running.new", config);
  renameSync("../running.new", "../running.conf");
  if (pharos) appendFileSync("../ran.log", JSON.stringify(config) + "\\n");
};
const open = () => server.listen(port, isAlone ? "0.0.0.0" : "127.0.0.1", show);
const opensAfter = existsSync("../opens-after") ? Number(readFileSync("../opens-after", "utf8")) : 0;
setTimeout(open, Math.max(opensAfter, strict ? ${strictOpensAfterMs} : 0));
${profile === "pharos" ? pharosManners(blockTimeMs) : ""}
`;

/**
 * The node's start and stop commands. A strict node's start command does not wait until the node responds, and both commands exit with 0
 * even if they did nothing; only standard error reports the failure. A shell script, like the tool, for the same reason.
 */
export const opsProgram = ({ profile }: FakePrograms) => `
strict=${profile === "strict" ? "yes" : "no"}
port=$(<../port)
answers() { { true </dev/tcp/127.0.0.1/$port; } 2>/dev/null; }
pid() { cat ../node.pid 2>/dev/null; }
fail() {
  echo "$1" >&2
  [ $strict = yes ] && exit 0
  exit 1
}
if [ "$1" = stop ]; then
  running=$(pid)
  [ -n "$running" ] || fail "error: the node is not running"
  kill -9 $running || failed="error: $running is not running"
  rm -f ../node.pid
  while answers; do sleep 0.01; done
  [ -z "$failed" ] || fail "$failed"
  exit 0
fi
setsid '${process.execPath}' node-process.cjs </dev/null >/dev/null 2>&1 &
has_started() { if [ $strict = yes ]; then [ "$(pid)" = $! ]; else answers; fi; }
until has_started; do
  kill -0 $! 2>/dev/null || { wait $!; fail "node exited with $?"; }
  sleep 0.01
done
`;

/**
 * The command-line tool. It is a shell script because it runs at every check, and Node's startup would dominate its cost. A strict tool
 * does not support `--version`, queries the running node, and prints two of PruneInfo's five fields.
 */
export const nodeCliProgram = ({ profile }: FakePrograms) => `
strict=${profile === "strict" ? "yes" : "no"}
fail() {
  echo "$1" >&2
  [ $strict = yes ] && exit 0
  exit 2
}
if [ "$1" = --version ] && [ $strict = no ]; then
  # The file has no end of line.
  read -r version <../version || :
  echo "node_cli v$version"
  exit 0
fi
[ "$1" = prune ] && [ "$2" = --c ] || fail "error: usage: node_cli prune --c <config_path> --get|--enable_auto_prune"
[ $strict = yes ] && [ ! -e ../node.pid ] && fail "error: the node does not run"
[ "$4" = --enable_auto_prune ] && printf 1 >../pruning
on=0
[ -e ../pruning ] && on=1
if [ $strict = yes ]; then
  printf '\\n PruneInfo\\n\\tenable_auto_prune\\t   %s\\n   auto_prune_reserved_window   =100000 \\n\\n' $on
else
  printf 'PruneInfo:\\nenable_auto_prune: %s\\nauto_prune_reserved_window: 100000\\nprune_reserved_version: 1\\nflushed_version: 2\\nreal_prune_reserved_version: 1\\n' $on
fi
`;
