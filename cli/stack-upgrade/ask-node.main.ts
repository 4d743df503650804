import { formatAuthority } from "#daemon/http/address.ts";
import { defaultPorts } from "#daemon/default-ports.ts";
import { createStackQueries } from "./node-status.ts";

/** Queries the sidecar from within its pod, and the node through that pod's gateway; prints JSON, or `null` if there is no response. */
const [kind, number] = process.argv.slice(2);
const ports = defaultPorts.sidecar;
const formatAddress = (port: number) => `http://${formatAuthority("127.0.0.1", port)}`;
const queries = createStackQueries(formatAddress(ports.status), formatAddress(ports.rpc));
process.stdout.write(`${JSON.stringify((await query()) ?? null)}\n`);

function query(): Promise<unknown> {
  if (kind === "look") return queries.checkNode();
  if (kind === "peers") return queries.peers();
  if (kind === "block" && number !== undefined) return queries.blockHash(Number(number));
  throw new Error("usage: ask-node.main.ts look | block <number> | peers");
}
