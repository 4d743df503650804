import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { respondToRpc, goodResponses, risingHeight, serveNode } from "#sidecar/testing/watched-node.ts";
import { pause } from "#daemon/time.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import type { Fault, FaultyNode } from "./fault.ts";

/** Starts a server in place of the node's RPC, or of another node's, and returns its URL. */
async function serveRpc({ resources }: FaultyNode, response: Parameters<typeof serveNode>[0]): Promise<string> {
  return resources.use(await serveNode(response)).url;
}

const rpcIs = (response: Parameters<typeof serveNode>[0]) => async (struck: FaultyNode) => ({
  GATEHOUSE_SIDECAR_NODE_HTTP_URL: await serveRpc(struck, response),
  GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
});

/** Builds the responses of a node whose chain does not advance. */
const buildBlockAnswers = (height: number) => {
  const number = `0x${height.toString(16)}`;
  const timestamp = `0x${Math.floor(Date.now() / 1_000).toString(16)}`;
  return {
    eth_blockNumber: () => number,
    eth_getBlockByNumber: () => ({ number, hash: `0x${"5".repeat(64)}`, timestamp }),
  };
};

/** Interval between two calls of a steady caller. */
const betweenCallsMs = 50;

/** Reads one account after the other through the gateway, for as long as it is running. */
async function keepReading(gatewayUrl: string, signal: AbortSignal): Promise<void> {
  for (let id = 0; !signal.aborted; id += 1) {
    const params = [`0x${id.toString(16).padStart(40, "0")}`, "latest"];
    const body = JSON.stringify({ jsonrpc: "2.0", id, method: "eth_getBalance", params });
    const request = { method: "POST", headers: { "content-type": "application/json" }, body };
    const text = await fetch(gatewayUrl, request).then(
      (response) => response.text(),
      () => undefined,
    );
    // No response: the gateway has exited along with its sidecar.
    if (text === undefined) return;
    await pause(betweenCallsMs, signal);
  }
}

const farAhead = respondToRpc({ eth_blockNumber: () => "0x7fffffff" });

async function sendSignal({ node }: FaultyNode, signal: NodeJS.Signals): Promise<void> {
  process.kill(Number(await readFile(join(node.workspace, "node.pid"), "utf8")), signal);
}

async function findFreeUrl(scheme: string): Promise<string> {
  const [port] = await findFreePorts(1);
  return `${scheme}://127.0.0.1:${port}`;
}

/** Faults of the node itself and of its chain. */
export const nodeFaults: readonly Fault[] = [
  {
    what: "The node's process is dead",
    strike: ({ node }) => node.stop(),
    condition: ["RpcResponding", "ConnectionRefused"],
    reads: "http://… can't be reached (ECONNREFUSED); check that the node is running and that this is its address.",
  },
  {
    what: "The node hangs: it accepts calls but never responds",
    strike: async (struck) => {
      await sendSignal(struck, "SIGSTOP");
      struck.resources.defer(() => sendSignal(struck, "SIGCONT"));
    },
    condition: ["RpcResponding", "TimedOut"],
    reads: "http://… did not respond",
  },
  {
    what: "The node's port accepts connections and closes them without a response",
    settings: rpcIs((request) => void request.socket.destroy()),
    condition: ["RpcResponding", "ConnectionClosed"],
    reads: "http://… accepted the connection but closed it before its response was complete (ECONNRESET)",
  },
  {
    what: "A different program responds on the node's port",
    settings: rpcIs((_, response) => response.end("<html>Welcome</html>")),
    condition: ["RpcResponding", "NotJsonRpc"],
    reads: "eth_blockNumber on http://… returned",
  },
  {
    what: "The node responds to every call with an error",
    settings: rpcIs(respondToRpc({})),
    condition: ["RpcResponding", "RpcError"],
    reads: "http://… returned an error for eth_blockNumber",
  },
  {
    what: "The node is on the wrong chain",
    settings: () => ({ GATEHOUSE_SIDECAR_NODE_CHAIN_ID: "5" }),
    condition: ["ChainIdMatches", "WrongChain"],
    reads: "The node is on chain 1672; expected 5; correct node.httpUrl or node.chainId.",
  },
  {
    what: "The chain produces no blocks, and no references are set",
    settings: rpcIs(respondToRpc({ ...goodResponses, ...buildBlockAnswers(5) })),
    condition: ["HeightAdvancing", "Quiet"],
    reads: "No new blocks: height has been 5 for more than … s, since …. Calls are served. Set lag.references to tell",
  },
  {
    what: "The node stalls while its references advance",
    settings: async (struck) => ({
      ...(await rpcIs(respondToRpc({ ...goodResponses, ...buildBlockAnswers(5) }))(struck)),
      GATEHOUSE_SIDECAR_LAG_REFERENCES: await serveRpc(struck, farAhead),
      GATEHOUSE_SIDECAR_LAG_MAX_BLOCKS: "2147483640",
    }),
    condition: ["HeightAdvancing", "Stalled"],
    reads:
      "No new blocks on the node, although the chain may have some: height has been 5 for more than … s, since …. Check the node's peers and its log.",
  },
  {
    what: "The node's height decreases",
    settings: (() => {
      let asked = 0;
      return rpcIs(respondToRpc({ ...goodResponses, eth_blockNumber: () => ((asked += 1) < 20 ? "0x64" : "0x5") }));
    })(),
    condition: ["HeightAdvancing", "WentBackwards"],
    reads:
      "The height dropped from 100 to 5; the node lost blocks or its data was replaced. Check the node's log and its data directory.",
  },
  {
    what: "The node is behind its references",
    settings: async (struck) => ({ GATEHOUSE_SIDECAR_LAG_REFERENCES: await serveRpc(struck, farAhead) }),
    verdict: "down",
    condition: ["NodeSynced", "Behind"],
    reads: "The node is at …, … blocks behind the references (limit: 50); check its peers and its disk.",
  },
  {
    what: "No reference responds",
    settings: async () => ({ GATEHOUSE_SIDECAR_LAG_REFERENCES: await findFreeUrl("http") }),
    condition: ["NodeSynced", "NoReference"],
    reads: "No reference endpoint responded: http://… can't be reached (ECONNREFUSED)",
  },
  {
    what: "The node's WebSocket port is closed while HTTP responds",
    settings: async () => ({
      GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "true",
      GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: await findFreeUrl("ws"),
    }),
    condition: ["WebSocketResponding", "ConnectionRefused"],
    reads:
      "ws://… can't be reached (ECONNREFUSED); subscribers are not served. Enable the node's WebSocket, or correct node.webSocketUrl.",
  },
  {
    what: "The node responds to health checks but fails client reads",
    settings: rpcIs(
      respondToRpc({ ...goodResponses, ...buildBlockAnswers(5), eth_blockNumber: risingHeight }, (response) =>
        response.writeHead(500).end("disk I/O error"),
      ),
    ),
    strike: ({ resources }, gatewayUrl) => {
      const stop = new AbortController();
      const calling = keepReading(gatewayUrl, stop.signal);
      resources.defer(() => (stop.abort(), calling));
      return Promise.resolve();
    },
    condition: ["CallsSucceeding", "UpstreamFailing"],
    reads:
      "… of … calls of the last … s got no response from the node (eth_getBalance …), although it responds to health checks. Send such a call directly to the node, and check its log.",
  },
  {
    what: "No source reports the node's version",
    settings: async (struck) => ({
      GATEHOUSE_SIDECAR_NODE_HTTP_URL: await serveRpc(
        struck,
        respondToRpc({ ...goodResponses, ...buildBlockAnswers(5), eth_blockNumber: risingHeight }),
      ),
    }),
    prepare: ({ node }) => writeFile(node.programs.tool, "#!/bin/sh\nexit 3\n"),
    condition: ["VersionConsistent", "VersionUnknown"],
    reads: "The node's version is unknown (",
  },
  {
    what: "The node's version differs from the setting",
    settings: () => ({ GATEHOUSE_SIDECAR_NODE_VERSION: "0.17.0" }),
    condition: ["VersionConsistent", "Mismatch"],
    reads: "The node's version is 0.16.2 (debug_protocolVersion). But ",
  },
];
