import { createHash } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

/**
 * A node that keeps a chain of hashes in its data directory; the chain grows by two blocks per second. Its build determines its behaviour:
 * `good`, `silent` (accepts calls but never responds) or `corrupts` (overwrites the existing chain with another).
 */
const { storage } = JSON.parse(readFileSync("./node.conf", "utf8"));
const version = readFileSync("VERSION", "utf8").trim();
const behaviour = readFileSync("BEHAVIOUR", "utf8").trim();
const path = join(storage.mygrid_env.storage_data_path, "chain");
const hashOf = (text) => `0x${createHash("sha256").update(text).digest("hex")}`;

const before = existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
const chain = behaviour === "corrupts" ? before.map((_, number) => hashOf(`another ${number}`)) : before;
if (behaviour === "corrupts") writeFileSync(path, chain.map((hash) => `${hash}\n`).join(""));
appendFileSync(join(storage.mygrid_env.storage_data_path, "starts"), `${version}\n`);

function addBlock() {
  const hash = hashOf(`${chain.at(-1) ?? "genesis"} by ${version}`);
  chain.push(hash);
  appendFileSync(path, `${hash}\n`);
}

const quantity = (number) => `0x${number.toString(16)}`;
const numberOf = (block) => (typeof block === "string" && block.startsWith("0x") ? Number(block) : chain.length - 1);
const block = (number) => {
  const hash = chain[number];
  if (hash === undefined) return null;
  const parentHash = chain[number - 1] ?? hashOf("genesis");
  return {
    number: quantity(number),
    hash,
    parentHash,
    timestamp: quantity(Math.floor(Date.now() / 1_000)),
    baseFeePerGas: quantity(1_000_000_000),
    transactions: [],
  };
};
const methods = {
  eth_blockNumber: () => quantity(chain.length - 1),
  eth_chainId: () => quantity(1_672),
  net_version: () => "1672",
  net_peerCount: () => quantity(3),
  eth_syncing: () => false,
  web3_clientVersion: () => `chain-node/v${version}`,
  debug_protocolVersion: () => ({ binaryVersion: version }),
  // What a facilitator queries before it is ready.
  eth_getBalance: () => "0xde0b6b3a7640000",
  eth_getTransactionCount: () => quantity(0),
  eth_maxPriorityFeePerGas: () => quantity(1_000_000_000),
  eth_gasPrice: () => quantity(1_000_000_000),
  eth_getLogs: () => [],
  eth_getBlockByNumber: ([number]) => block(numberOf(number)),
};

function answer({ id, method, params }) {
  const known = methods[method];
  if (known === undefined) return { jsonrpc: "2.0", id, error: { code: -32_601, message: "no such method" } };
  return { jsonrpc: "2.0", id, result: known(params ?? []) };
}

addBlock();
setInterval(addBlock, 500);
createServer((request, response) => {
  let body = "";
  request.on("data", (chunk) => (body += chunk));
  request.on("end", () => {
    if (behaviour === "silent") return;
    const asked = JSON.parse(body);
    const told = Array.isArray(asked) ? asked.map(answer) : answer(asked);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(told));
  });
}).listen(18_100);
process.once("SIGTERM", () => process.exit(0));
