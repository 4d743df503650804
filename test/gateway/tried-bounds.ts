/** Tests of bounds: by file, the resource as the list of test/bounds/README.md names it, and the test's title or its beginning. */
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
    "bytes of requests that are not whole at a resource server",
    "settlements under way at a facilitator",
    "settlements under way of one seller",
    "verifications under way at a facilitator",
    "verifications under way of one seller",
    "time of a facilitator's call to its node",
    "bytes of the node's answer to a facilitator",
    "connections of one address to a facilitator or a resource server",
    "payments under way at a resource server",
    "payments of one address whose verdict is awaited",
  ],
  "held-responses": [
    "bytes of an upstream's response",
    "bytes of responses held for all clients of a resource server",
    "bytes of responses held for the clients of one address (IPv6: /64)",
  ],
  "engine-proxy": [
    "bytes of a request to the engine proxy",
    "bytes of the engine's answer to the engine proxy",
    "time in which a request to the engine proxy has to be whole",
    "requests to the engine proxy at one time, and its connections",
    "time in which the engine has to answer the engine proxy",
    "lines about calls that are refused",
    "restarts of the node by the engine proxy",
    "runs of the node's tool by the engine proxy",
  ],
  ledger: [
    "receipts that one look of the comparison of ledger and chain requests",
    "mismatches of ledger and chain that are remembered",
    "notes of verified payments that nobody settles",
  ],
  sidecar: [
    "what the page remembers",
    "time of a copy of the data at an upgrade, while the node stands still",
    "programs of a release",
    "tries of an upgrade's way back",
  ],
  overview: [
    "targets of the overview",
    "time of the overview's look at a target",
    "bytes of a target's answer to the overview",
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
  "test/daemon/log-reader.integration.test.ts": {
    "lines of a service's log that wait for a reader": "a reader that takes nothing costs a bounded memory",
  },
  "test/sidecar/upgrade/pre-copy.integration.test.ts": {
    "copy of the data by rsync, while the node runs": "a stop, and the end of the time, end rsync at once",
  },
  "test/gateway/callers/callers.integration.test.ts": {
    "new tokens of one address (IPv6: /64) that are verified":
      "have so many new tokens of one address verified, and no more",
  },
  "status/page/payment-figures.test.ts": {
    "what a page remembers of payments":
      "an hour of payments, and how many days the signer's balance lasts at that rate",
  },
  "facilitator/chain/batching-client.test.ts": {
    "calls that wait for a facilitator's node": "no more calls wait than may",
  },
  "test/gateway/memory-bounds.integration.test.ts": {
    "bytes held for all clients, with the cache": "lets the cache give way, and has lost nothing of itself at the end",
    "bytes held for one address (IPv6: /64)": "bounds what one address holds while another's answers come through",
    "bytes held for one connection": "bounds what one connection holds, and what does not fit is refused",
  },
};
