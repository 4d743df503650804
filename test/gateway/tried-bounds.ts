/** Where a bound is tried: by file, the resource as the table of docs/security.md names it, and the title of the test or how it begins. */
type TriedBounds = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Every bound of the table, and the test that goes up to it and beyond. */
export const triedBounds: TriedBounds = {
  "daemon/audit/audit-log.test.ts": {
    "the audit log": "as many files are kept as the settings say, each within its size",
    "changes that wait for the audit log's disk": "a disk that hangs is left alone until it answers",
  },
  "gateway/callers/tokens.test.ts": {
    "verified tokens that are remembered": "remembers as many verified tokens as may be",
  },
  "gateway/calls/message-handler.test.ts": {
    "bytes that a caller may send": "charges each whole KiB of a call, and a long message before any of it is read",
    "bytes of a method's params": "refuses parameters that are longer than the method can need",
  },
  "gateway/json-rpc/read-message.test.ts": {
    "bytes of one call": "refuses a call with too many %s, alone and in a batch",
    "values, keys and escaped characters of one call": "refuses a call with too many %s, alone and in a batch",
    "depth of a call": "reads a call that is nested as deep as may be, and no deeper one",
  },
  "gateway/limits/load-gate.test.ts": {
    "calls of one caller under way, public listener":
      "lets each caller have as many calls under way as its tier allows",
    "the same, private listener": "lets each caller have as many calls under way as its tier allows",
  },
  "gateway/limits/rate-limiter.test.ts": {
    "callers whose rates are remembered": "keeps callers apart and remembers a bounded number of them",
  },
  "gateway/listener/websocket/client-sender.test.ts": {
    "bytes that wait for a WebSocket client besides answers":
      "closes a client with 1013 when too many notifications wait for it",
  },
  "gateway/memory/memory-budget.test.ts": {
    "bytes held for one connection": "is bounded by connection and by address, and refused beyond",
    "bytes held for one address (IPv6: /64)": "is bounded by connection and by address, and refused beyond",
    "bytes held for all clients, with the cache": "is taken in all from the cache first, then from the slowest client",
  },
  "gateway/reads/cache/answer-cache.test.ts": {
    "bytes of the cache": "over its bytes, the cache gives up what was not used",
    "bytes of one cached or shared answer": "a text over the limit of one entry is not kept",
  },
  "gateway/upstream/answer-body.test.ts": {
    "bytes of one answer": "has no more bytes than it may, in one read or several",
  },
  "gateway/upstream/connection-shares.test.ts": {
    "connections to the node of one caller": "leaves some free for who comes next, however many are greedy",
  },
  "gateway/wire/shared-turns.test.ts": {
    "time on the thread": "let work go on until the turn's time is over",
  },
  "daemon/files/regular-file.test.ts": {
    "files that are read": "reads %s up to its limit",
  },
  "daemon/http/connections/connection-budget.test.ts": {
    "clients' connections in all": "a listener for anybody leaves a quarter to the others",
    "connections of one listener": "where nothing bounds descriptors, the setting alone",
    "connections of one address (IPv6: /64)": "has at most what the setting says, and a proxy's is nobody's own",
    "new connections of one address (IPv6: /64)": "makes so many connections a second, and is closed without a word",
    "connections of the operators' listener": "has thirty-two connections: its own idle ones give way",
  },
  "facilitator/payment/recent-verdicts.test.ts": {
    "verdicts on payments that a facilitator remembers": "no more is kept than its bound, the newest",
  },
  "facilitator/settlement/comparison/ledger-comparison.test.ts": {
    "receipts that one look of the comparison of ledger and chain asks for":
      "of more settlements than one look takes, each is compared",
    "mismatches of ledger and chain that are remembered": "of a chain that has lost everything a thousand mismatches",
  },
  "resource-server/routes/live-routes.test.ts": {
    "former offers of a route that payments may accept": "takes sixty-four former offers of a route, the latest",
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
  "test/gateway/behind-proxies.integration.test.ts": {
    "first bytes of a trusted proxy with `proxyProtocol`": "is closed when no whole header comes in time",
  },
  "test/gateway/limits/limits.integration.test.ts": {
    "calls of a batch": "refuse a batch that is too large and cut one whose answers are",
    "bytes of one batch's answers, or of one answer over WebSocket":
      "refuse a batch that is too large and cut one whose answers are",
    "bytes of answers to a caller": "have a long answer paid before the next call",
  },
  "test/gateway/limits/load.integration.test.ts": {
    "calls to the node under way in all": "refuses all calls to the node from a number on",
    "WebSocket clients of one listener": "holds for all its clients together",
    "WebSockets of one caller": "hold for messages, connections and subscriptions, each tier its own",
    "subscriptions of one WebSocket": "hold for messages, connections and subscriptions, each tier its own",
  },
  "test/gateway/listener/large-bodies.integration.test.ts": {
    "bytes of a request body": "is refused by its head when it is longer than the limit",
  },
  "test/gateway/listener/slow-reader.integration.test.ts": {
    "time in which a client has to take 64 KiB of what waits for it, or all":
      "is let go when it takes nothing for too long",
  },
  "test/gateway/listener/small-chunks.integration.test.ts": {
    "chunks of a body": "is refused when it goes on byte by byte, and the connection is closed",
  },
  "test/gateway/listener/stop.integration.test.ts": {
    "time in which a request has to be whole":
      "is told 408 when a request does not become whole within requestTimeoutMs",
  },
  "test/gateway/listener/websocket/answers.integration.test.ts": {
    "calls of one WebSocket client under way": "are under way for no more calls of a client than may be",
  },
  "test/gateway/listener/websocket/gap.integration.test.ts": {
    "blocks that a subscriber is told after a gap": "closes clients when more blocks were missed than may be told",
  },
  "test/gateway/listener/websocket/upstream-subscriptions.integration.test.ts": {
    "different subscriptions at the node": "subscriptions at the node are bounded in all and by caller",
    "the same, begun by one caller": "subscriptions at the node are bounded in all and by caller",
  },
  "test/gateway/listener/websocket/websocket.integration.test.ts": {
    "bytes of a WebSocket message":
      "answers of many pings that come at once the last, and takes no message of more than",
    "frames of a WebSocket message":
      "answers of many pings that come at once the last, and takes no message of more than 1,024 frames",
  },
  "test/gateway/observe/tracing.integration.test.ts": {
    "spans that wait to be sent": "are dropped beyond those that may wait for a collector that does not answer",
  },
  "test/gateway/upstream/node-batches.integration.test.ts": {
    "reads of a client's batch that go to the node as one batch": "comes in pieces of the setting's size",
    "the node's answer to such a batch": "is read up to a bound; the calls whose answers are beyond it are asked alone",
  },
  "test/gateway/upstream/turns.integration.test.ts": {
    "connections to the node": "are served by turns: one caller's thousand delay another's by one",
    "calls that wait for the node": "are bounded in all: more are refused, whoever's they are",
    "the same, of one caller": "are bounded by caller: more are refused, and another's are taken",
    "connections to the node whose answers wait for slow clients": "are not kept from the node by clients",
  },
};
