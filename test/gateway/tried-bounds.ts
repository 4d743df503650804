/** Where a bound is tried: by file, the resource as the table of docs/security.md names it, and the title of the test or how it begins. */
type TriedBounds = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The tests of test/bounds/ and what each tries: a title is the resource's name. Each runs a real process with a heap that a bound which does not hold would use up. */
const inSmallProcesses: Readonly<Record<string, readonly string[]>> = {
  "gateway-node": [
    "connections to the node",
    "connections to the node of one caller",
    "calls that wait for the node",
    "the same, of one caller",
    "connections to the node whose answers wait for slow clients",
    "reads of a client's batch that go to the node as one batch",
    "the node's answer to such a batch",
  ],
  "gateway-messages": [
    "bytes of a request body",
    "bytes of one call",
    "values, keys and escaped characters of one call",
    "bytes of a method's params",
    "chunks of a body",
    "depth of a call",
    "calls of a batch",
    "bytes of a WebSocket message",
    "frames of a WebSocket message",
    "time on the thread",
  ],
  "gateway-websockets": [
    "different subscriptions at the node",
    "the same, begun by one caller",
    "bytes that wait for a WebSocket client besides answers",
    "calls of one WebSocket client under way",
    "WebSocket clients of one listener",
    "WebSockets of one caller",
    "subscriptions of one WebSocket",
    "blocks that a subscriber is sent after a gap",
  ],
  "gateway-callers": [
    "bytes that a caller may send",
    "bytes of answers to a caller",
    "calls of one caller under way, public listener",
    "the same, private listener",
    "calls to the node under way in all",
    "callers whose rates are remembered",
    "verified tokens that are remembered",
    "spans that wait to be sent",
  ],
  "gateway-connections": [
    "clients' connections in all",
    "connections of one listener",
    "connections of one address (IPv6: /64)",
    "new connections of one address (IPv6: /64)",
    "connections of the operators' listener",
    "first bytes of a trusted proxy with `proxyProtocol`",
    "time in which a request has to be whole",
    "time in which a client has to take 64 KiB of what waits for it, or all",
  ],
  "gateway-answers": [
    "bytes of one batch's answers, or of one answer over WebSocket",
    "bytes of one answer",
    "bytes of the cache",
    "bytes of one cached or shared answer",
    "files that are read",
  ],
  payments: [
    "verdicts on payments that a facilitator remembers",
    "former offers of a route that payments may accept",
    "bytes of a request to the facilitator",
    "settlements under way at a facilitator",
    "connections of one address to a facilitator or a resource server",
    "payments under way at a resource server",
  ],
  "engine-proxy": [
    "bytes of a request to the engine proxy",
    "bytes of the engine's answer to the engine proxy",
    "time in which a request to the engine proxy has to be whole",
    "requests to the engine proxy at one time, and its connections",
    "time in which the engine has to answer the engine proxy",
    "restarts of the node by the engine proxy",
    "runs of the node's tool by the engine proxy",
  ],
};

/** Every bound of the table, and the test that goes up to it and beyond. */
export const triedBounds: TriedBounds = {
  ...Object.fromEntries(
    Object.entries(inSmallProcesses).map(([name, resources]) => [
      `test/bounds/${name}.integration.test.ts`,
      Object.fromEntries(resources.map((resource) => [resource, resource])),
    ]),
  ),
  "daemon/audit/audit-log.test.ts": {
    "the audit log": "as many files are kept as the settings say, each within its size",
    "changes that wait for the audit log's disk": "a disk that hangs is left alone until it answers",
  },
  "facilitator/settlement/comparison/ledger-comparison.test.ts": {
    "receipts that one look of the comparison of ledger and chain asks for":
      "of more settlements than one look takes, each is compared",
    "mismatches of ledger and chain that are remembered": "of a chain that has lost everything a thousand mismatches",
  },
  "sidecar/overview/payment-figures.test.ts": {
    "what the overview remembers of a target's payments":
      "an hour of payments, and how many days the signer's balance lasts at that rate",
  },
  "sidecar/overview/targets.test.ts": {
    "targets of the overview": "an overview has sixty-four targets, and with one more it is refused",
  },
  "sidecar/page/history.test.ts": {
    "what the page remembers": "each range keeps 121 looks, and calls are counted over the last minute",
  },
  "sidecar/upkeep/upgrade/data-copy.test.ts": {
    "time of a copy of the data at an upgrade, while the node stands still":
      "one time limit bounds the copies of all directories together",
  },
  "sidecar/upkeep/upgrade/next-stage.test.ts": {
    "tries of an upgrade's way back": "a way back that fails is tried again from its beginning",
  },
  "sidecar/upkeep/upgrade/program-files.test.ts": {
    "programs of a release": "a release has a thousand files, and with one more it is refused",
  },
  "test/sidecar/overview-bounds.integration.test.ts": {
    "time of the overview's look at a target": "the overview waits four seconds for a target, and says so",
    "bytes of a target's answer to the overview": "the overview reads 4 MiB of a target's answer and no byte more",
  },
  "test/gateway/memory-bounds.integration.test.ts": {
    "bytes held for all clients, with the cache": "lets the cache give way, and has lost nothing of itself at the end",
    "bytes held for one address (IPv6: /64)": "bounds what one address holds while another's answers come through",
    "bytes held for one connection": "answers batches of a hundred large answers within the bounds, read or not",
  },
};
