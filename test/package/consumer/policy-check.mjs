// Checks a root container against the package's policies, and prints the findings, one per line.
import { gatehousePolicies } from "gatehouse-evm/policies";

const container = {
  type: "docker:index/container:Container",
  name: "shop",
  urn: "urn",
  opts: { protect: false },
  props: { image: "shop:latest", user: "root", labels: [{ label: "io.gatehouse.service", value: "facilitator" }] },
  getConfig: () => ({}),
};
for (const { name, validateResource } of gatehousePolicies()) {
  validateResource?.(container, (message) => process.stdout.write(`${name}: ${message}\n`));
}
