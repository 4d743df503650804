import { expect, test } from "vitest";
import { isRefusalAnEnd } from "./health.ts";

test.each([
  { url: "http://127.0.0.1:18100", driver: "kubernetes", tells: true, because: "the node is in the same pod" },
  { url: "http://[::1]:18100", driver: undefined, tells: true, because: "the node is on the same machine" },
  { url: "http://node:18100", driver: "compose", tells: true, because: "the name is that of the node's container" },
  { url: "http://10.0.0.7:18100", driver: "ops", tells: true, because: "the address is the machine's own" },
  {
    url: "http://node.chain.svc:18100",
    driver: "kubernetes",
    tells: false,
    because: "a Service may have no pod that is ready",
  },
  { url: "https://rpc.example.org", driver: "none", tells: false, because: "a load balancer may know of no node" },
])("a refused connection to $url with the driver $driver tells the node's end: $tells, because $because", (row) => {
  expect(isRefusalAnEnd(row.url, row.driver)).toBe(row.tells);
});
