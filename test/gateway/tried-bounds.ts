/** Tests of limits: by file, the resource as named in test/bounds/README.md, and the test's title or its start. */
type TriedBounds = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * The tests in test/bounds/ and their subjects: a title is the resource's name. Each runs a real process whose heap
 * would be exhausted if the limit did not work.
 */
const inSmallProcesses: Readonly<Record<string, readonly string[]>> = {
  "gateway-node": [
    "connections to the node",
    "connections to the node per caller",
    "calls queued for the node",
    "the same, of one caller",
    "connections to the node held by slow clients",
    "reads per batch to the node",
    "response size of such a batch",
  ],
  "gateway-messages": [
    "request body size",
    "call size",
    "values, keys and escaped characters per call",
    "params size",
    "chunks per body",
    "nesting depth of a call",
    "calls per batch",
    "WebSocket message size",
    "frames per WebSocket message",
    "time per event-loop tick",
  ],
  "gateway-websockets": [
    "distinct subscriptions at the node",
    "the same, begun by one caller",
    "queued notification bytes per WebSocket client",
    "concurrent calls per WebSocket client",
    "WebSocket clients per listener",
    "WebSockets per caller",
    "subscriptions per WebSocket",
    "blocks backfilled per subscriber",
  ],
  "gateway-callers": [
    "bytes sent per caller",
    "response bytes per caller",
    "the node's time for contract code per caller",
    "concurrent calls per caller, public listener",
    "the same, private listener",
    "concurrent calls to the node in total",
    "callers with a stored rate",
    "cached verified tokens",
    "queued spans",
  ],
  "gateway-connections": [
    "client connections in total",
    "connections per listener",
    "connections per address (IPv6: /64)",
    "new connections per address (IPv6: /64)",
    "connections of the admin listener",
    "first bytes of a trusted proxy with `proxyProtocol`",
    "time to receive a request",
    "time for a client to read 64 KiB",
  ],
  "gateway-answers": [
    "response size of a batch, or over WebSocket",
    "response size",
    "cache size",
    "size of a cached or shared response",
    "sizes of files read",
  ],
  payments: [
    "cached verdicts of a facilitator",
    "former offers per route that payments may accept",
    "request size at the facilitator",
    "partial request bodies at a resource server",
    "concurrent settlements of a facilitator",
    "concurrent settlements per seller of a facilitator",
    "concurrent verifications of a facilitator",
    "concurrent verifications per seller of a facilitator",
    "time of a facilitator's call to its node",
    "response size of a facilitator's node",
    "connections per address to a facilitator or resource server",
    "concurrent payments at a resource server",
    "unverified payments per address",
  ],
  "held-responses": [
    "size of an upstream's response",
    "memory for a resource server's responses",
    "the same, per address (IPv6: /64)",
  ],
  "engine-proxy": [
    "request size at the engine proxy",
    "response size of the engine at the engine proxy",
    "time to receive a request at the engine proxy",
    "concurrent requests to the engine proxy, and its connections",
    "engine's response time to the engine proxy",
    "engine proxy's log lines about rejected calls",
    "restarts of the node by the engine proxy",
    "runs of the node's tool by the engine proxy",
  ],
  ledger: [
    "receipts per comparison of ledger and chain",
    "stored mismatches of ledger and chain",
    "facilitator's notes of verified, unsettled payments",
  ],
  sidecar: [
    "history of the status page",
    "time to copy the data in an upgrade",
    "programs of a release",
    "rollback attempts of an upgrade",
  ],
  overview: ["overview targets", "time of the overview's check of a target", "response size of an overview target"],
};

/** Every limit in the table, and the test that reaches and exceeds it. */
export const triedBounds: TriedBounds = {
  ...Object.fromEntries(
    Object.entries(inSmallProcesses).map(([name, resources]) => [
      `test/bounds/${name}.integration.test.ts`,
      Object.fromEntries(resources.map((resource) => [resource, resource])),
    ]),
  ),
  "test/daemon/log-reader.integration.test.ts": {
    "queued log lines of a service": "a reader that takes nothing costs a bounded memory",
  },
  "test/gateway/callers/callers.integration.test.ts": {
    "new tokens verified per address (IPv6: /64)": "have so many new tokens of one address verified, and no more",
  },
  "status/page/payment-figures.test.ts": {
    "payment history of a page": "an hour of payments, and how many days the signer's balance lasts at that rate",
  },
  "facilitator/chain/batching-client.test.ts": {
    "calls queued for a facilitator's node": "no more calls wait than may",
  },
  "test/gateway/memory-bounds.integration.test.ts": {
    "memory for all clients and the cache": "lets the cache give way, and has lost nothing of itself at the end",
    "memory per address (IPv6: /64)": "bounds what one address holds while another's answers come through",
    "memory per connection": "bounds what one connection holds, and what does not fit is refused",
  },
};
