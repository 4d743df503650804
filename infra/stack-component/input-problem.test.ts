import { expect, it } from "vitest";
import { ConfigError, describeProblem, type ConfigProblem } from "../config/config-problem.ts";
import { findMissingValues } from "../preflight/preflight.ts";
import { parseConfig } from "../stack-config.ts";
import { toInputProblem } from "./input-problem.ts";

const kubernetes = { target: "kubernetes", gatehouseImage: "registry.example/gatehouse:1" };
const realNode = { nodeImage: "registry.example/node:1", nodeUser: "1000", nodeVersion: "0.16.2" };

function problemsOf(raw: Readonly<Record<string, string>>): readonly ConfigProblem[] {
  try {
    return findMissingValues(parseConfig(raw));
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

it.each([
  [{ chainId: "0" }, "chainId: found 0; expected an EIP-155 chain id, a whole number, 1 or more. Correct it."],
  [{ chainID: "1" }, "chainID: unknown input. Correct the name or remove it."],
  [
    kubernetes,
    "devnetImage: missing; on Kubernetes, images must come from a registry. Push the image and set the input",
  ],
  [
    { ...kubernetes, devnetImage: "registry.example/devnet:1", facilitatorReplicas: '{"min":2,"max":2}' },
    "Set the input `databaseUrl` to `postgresql://<user>:<password>@<host>:5432/<database>`.",
  ],
  [{ ...realNode, hostIp: "192.0.2.1" }, "domainKey: missing; expected the node's key for"],
  [{ ...realNode, hostIp: "192.0.2.1" }, "and set the input `nodeKeysDirectory` to `/that/directory`."],
  [
    { observability: '{"grafana":{}}' },
    "Set the input `observability.prometheus.retentionDays` to `15`, or remove it.",
  ],
  [{ observability: '{"existing":{"namespace":"monitoring"}}' }, "Remove it, and have your Prometheus scrape"],
])("advises what to do with an input, not with a stack's configuration: %j", (raw, advice) => {
  const before = problemsOf(raw);
  const after = before.map(toInputProblem).map(({ key, message }) => `${key}: ${message}`);
  expect(JSON.stringify(before)).toMatch(/pulumi config/i);
  expect(after.join("\n")).toContain(advice);
  expect(after.join("\n")).not.toContain("pulumi config");
});

it("names the other input that would do as well", () => {
  const problem = describeProblem("a", {
    wrong: "missing.",
    remedy: [
      "Set it",
      { kind: "set", key: "a", secret: true },
      ", or use the devnet's",
      { kind: "set", key: "b" },
      ".",
    ],
  });
  expect(toInputProblem(problem).message).toBe("missing. Set it, or use the devnet's with the input `b`.");
});
