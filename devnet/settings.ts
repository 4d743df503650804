import { z } from "zod";
import { defineShutdown } from "#daemon/settings/common-settings.ts";
import { section, derived, fixed } from "#daemon/settings/section.ts";
import { defineSettings } from "#daemon/settings/settings.ts";
import { secret } from "#daemon/secrets/secret.ts";
import { chainId, filePath, host, port, seconds } from "#daemon/settings/types.ts";
import { defaultPorts } from "#daemon/default-ports.ts";
import { nodeVersion } from "#node/version-setting.ts";
import { devnetVersion } from "#node/versions.ts";
import { nodeProfile } from "./node-profile.ts";

/** A port in node.conf. Other programs read it there, so the operating system can't choose it. */
const fixedPort = port.min(1).meta({ expected: "a port number from 1 to 65535" });

const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/, "expected an address: 0x and 40 hexadecimal digits");

const usual = ["profile", "node.version", "workspace.directory", "node.httpPort"];

/** Settings of the devnet node: its profile and version, and the content of a new `node.conf`. */
export const devnetSettings = defineSettings("devnet", usual, {
  profile: nodeProfile
    .default("standard")
    .describe(
      "strict: a node that reports its version, errors and pruning as sparsely as the specification allows; pharos: a node with the names, paths and behaviour of the public family",
    )
    .meta({ expected: "standard, strict or pharos" }),
  workspace: section({
    directory: filePath.default(".gatehouse/devnet").describe("Workspace directory of the node; created if absent"),
  }),
  node: section({
    version: nodeVersion
      .default(devnetVersion)
      .describe("Node version; determines the layout, node_cli and the metrics keys"),
    /** Delay from the node's start until its ports open: none, or two minutes with the strict profile. */
    opensAfterSeconds: derived(),
    listenHost: host.default("127.0.0.1").describe("Listen address for JSON-RPC"),
    httpPort: fixedPort
      .default(defaultPorts.node.http)
      .describe("Port for JSON-RPC over HTTP in a new node.conf (http_port)"),
    webSocketPort: fixedPort
      .default(defaultPorts.node.webSocket)
      .describe("Port for JSON-RPC over WebSocket in a new node.conf (ws_port)"),
    rpcPort: fixed(defaultPorts.node.rpc),
    tcpPort: fixed(defaultPorts.node.peers),
  }),
  chain: section({
    id: chainId.default(1_672).describe("Chain ID of a new chain"),
    blockTimeSeconds: z
      .number()
      .min(0.05)
      .max(3_600)
      .default(1)
      .describe("Block time; fractions allowed")
      .meta({ expected: "seconds from 0.05 to 3600" }),
    mnemonic: secret(
      z
        .string()
        .regex(/^\p{L}+( \p{L}+){11,23}$/u)
        .meta({ expected: "12 to 24 words with one space between them" }),
    )
      .optional()
      .describe(
        "BIP-39 mnemonic whose first accounts are funded with native currency and tokens on a new chain; none by default",
      ),
    /** Number of mnemonic accounts to fund. */
    accounts: fixed(10),
    fund: z
      .array(address)
      .max(100)
      .default([])
      .describe("Additional addresses to fund with native currency and tokens on a new chain")
      .meta({ expected: "addresses, separated by commas" }),
  }),
  start: section({
    /** The strict profile's ports open after two minutes. */
    deadlineMs: fixed(300_000),
  }),
  /** Its chain writes its state before it exits. */
  shutdown: defineShutdown(60_000),
  monitor: section({
    jobName: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe("Metrics job name in a new node.conf; without it, monitor_config is omitted")
      .meta({ expected: "a name of 1 to 200 characters" }),
    pushAddress: host.default("127.0.0.1").describe("Pushgateway host or IP in a new node.conf, without protocol"),
    pushPort: fixedPort.default(defaultPorts.pushgateway.http).describe("Pushgateway port in a new node.conf"),
    pushIntervalSeconds: seconds.default(10).describe("Metrics push interval in a new node.conf, in seconds"),
  }),
});
