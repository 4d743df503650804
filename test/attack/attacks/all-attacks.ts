import type { Attack } from "./attack.ts";
import { expensiveCalls, gasCalls, hugeBatches } from "./expensive-calls.ts";
import { deafReaders, idleConnections, oneByteChunks, slowHeads } from "./held-connections.ts";
import { largeMessages } from "./large-messages.ts";
import { oddRequests } from "./odd-requests.ts";
import { subscriptionFlood, webSocketFlood } from "./websocket-floods.ts";

const single: readonly Attack[] = [
  largeMessages,
  hugeBatches,
  expensiveCalls,
  gasCalls,
  oneByteChunks,
  deafReaders,
  slowHeads,
  webSocketFlood,
  subscriptionFlood,
  oddRequests,
  idleConnections,
];

/** Every attack, and all of them at once. */
export const allAttacks: readonly Attack[] = [
  ...single,
  {
    name: "all at once",
    what: "all of these at the same time",
    attackers: single.reduce((sum, { attackers }) => sum + attackers, 0),
    run: async (target, signal) => void (await Promise.all(single.map((attack) => attack.run(target, signal)))),
  },
];
