import { expect, test } from "vitest";
import { isRejectionFinal } from "./health.ts";

test.each([
  { url: "http://127.0.0.1:18100", driver: "kubernetes", means: true, because: "the node is in the same pod" },
  { url: "http://[::1]:18100", driver: undefined, means: true, because: "the node is on the same machine" },
  { url: "http://node:18100", driver: "compose", means: true, because: "the name is that of the node's container" },
  { url: "http://10.0.0.7:18100", driver: "ops", means: true, because: "the address is the machine's own" },
  {
    url: "http://node.chain.svc:18100",
    driver: "kubernetes",
    means: false,
    because: "a Service may have no ready pod",
  },
  { url: "https://rpc.example.org", driver: "none", means: false, because: "a load balancer may have no healthy node" },
])("treats a refused connection to $url with the driver $driver as a stopped node: $means, because $because", (row) => {
  expect(isRejectionFinal(row.url, row.driver)).toBe(row.means);
});
