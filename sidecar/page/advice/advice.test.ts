import { expect, test } from "vitest";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { conditionReasons } from "#status/condition-reasons.ts";
import type { Condition, ConditionType } from "#status/condition.ts";
import { sidecarSettings } from "../../settings.ts";
import { listSteps } from "./advice.ts";
import { buildDeployment } from "./deployment.ts";
import { findRunbook } from "#status/runbook.ts";
import { readRunbooks } from "../start-page.ts";

function deployment(env: Readonly<Record<string, string>>) {
  const settings = readSettings(sidecarSettings, {
    env: { GATEHOUSE_SIDECAR_NODE_WORKSPACE: "/srv/my node", ...env },
  });
  return buildDeployment(settings, {
    command: (verb) => `gatehouse ${verb}`,
    statusUrl: "http://127.0.0.1:9600",
    ops: { directory: "/srv/my node/bin", start: ["./ops", "start", "--config", "./node.conf"] },
    configPath: "/srv/my node/bin/node.conf",
    dataPath: "/srv/my node/data",
  });
}

/** All reasons for which a condition can be False. */
const wrong = Object.entries(conditionReasons).flatMap(([type, { False: reasons }]) =>
  // The table ties each reason to its type, which the compiler can't follow through the loop.
  reasons.map(
    (reason) => ({ type: type as ConditionType, status: "False", reason, message: "-", since: "" }) as Condition,
  ),
);

/** Reasons of `NoRestartPending` that need no action, or that follow from another condition, which has its own steps. */
const waits = new Set([
  "Running",
  "Settling",
  "WaitingForWindow",
  "StateNotWritable",
  "Contested",
  "StartRewrites",
  "Paused",
  "Observing",
  "WaitingForApproval",
]);

test("lists next steps and a runbook for every possible fault", () => {
  const here = deployment({});
  const reasonsWithoutAdvice = wrong
    .filter((one) => listSteps(one, here).length === 0)
    .map(({ type, reason }) => `${type} ${reason}`);
  expect(reasonsWithoutAdvice).toEqual([...waits].map((reason) => `NoRestartPending ${reason}`));
  const runbooks = readRunbooks();
  expect(wrong.map(findRunbook).filter((name) => !runbooks.has(name))).toEqual([]);
});

/** The steps for a `ConfigReconciled` reason, as one string. */
function adviseOnConfig(reason: string): string {
  const found = wrong.filter((one) => one.type === "ConfigReconciled" && one.reason === reason);
  return found.flatMap((one) => listSteps(one, deployment({})).map(({ text }) => text)).join(" ");
}

test("promises to restore node.conf only if Gatehouse does so", () => {
  for (const reason of ["Unreadable", "TooLarge", "NotAFile", "Unresponsive"]) {
    expect(adviseOnConfig(reason)).toContain("Gatehouse does not replace this file");
  }
  for (const reason of ["FileMissing", "Empty", "Truncated"]) {
    expect(adviseOnConfig(reason)).toContain("restores the last good version");
  }
});

test("prints commands for this deployment, ready to paste into a shell", () => {
  expect(deployment({})).toMatchObject({
    showProcess: "ss -ltnp 'sport = :18100'",
    start: "cd '/srv/my node/bin' && ./ops start --config ./node.conf",
    showDisk: "df -h '/srv/my node/data'",
    lint: `${formatOwnCommand()} config lint '/srv/my node/bin/node.conf'`,
    resume: "gatehouse resume",
  });
  const docker = { GATEHOUSE_SIDECAR_RESTART_DRIVER: "docker", GATEHOUSE_SIDECAR_DOCKER_CONTAINER: "node-7" };
  expect(deployment(docker)).toMatchObject({ showLog: "docker logs --tail 50 node-7", start: "docker start node-7" });
  const pod = {
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "kubernetes",
    GATEHOUSE_SIDECAR_KUBERNETES_POD: "node-0",
    GATEHOUSE_SIDECAR_KUBERNETES_NAMESPACE: "eth",
  };
  expect(deployment(pod)).toMatchObject({ showLog: "kubectl -n eth logs node-0 -c node --tail 50" });
  expect(deployment(pod).start).toBeUndefined();
  const compose = { GATEHOUSE_SIDECAR_RESTART_DRIVER: "compose", GATEHOUSE_SIDECAR_COMPOSE_SERVICE: "node" };
  expect(deployment(compose)).toMatchObject({ start: "cd '/srv/my node' && docker compose start node" });
});

test("if only the sidecar can reach the node, queries it from the sidecar's host", () => {
  const commandPrefix = "docker exec -it gatehouse-sidecar node /app/cli/gatehouse.js";
  const { queryRpc } = deployment({
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: "http://node:18100",
    GATEHOUSE_SIDECAR_UPKEEP_COMMAND_PREFIX: commandPrefix,
  });
  expect(queryRpc).toBe(`${commandPrefix} doctor`);
});

test("explains what this deployment does about a hung node", () => {
  const timeoutReason = wrong.find(({ type, reason }) => type === "RpcResponding" && reason === "TimedOut")!;
  const lastStep = (driver: string) =>
    listSteps(
      timeoutReason,
      deployment({ GATEHOUSE_SIDECAR_RESTART_DRIVER: driver, GATEHOUSE_SIDECAR_DOCKER_CONTAINER: "n" }),
    ).at(-1);
  expect(lastStep("docker")?.text).toMatch(/^Wait: Gatehouse restarts/);
  expect(lastStep("ops")).toMatchObject({
    text: expect.stringContaining("stop it, then start it"),
    command: expect.stringContaining("./ops start"),
  });
  expect(lastStep("none")?.command).toBeUndefined();
});

test("links to a runbook for a node on the wrong chain", () => {
  const name = findRunbook({ type: "ChainIdMatches", reason: "WrongChain" });
  expect(readRunbooks().get(name)).toContain("chain id");
});

test("shows only the origin of a URL in commands", () => {
  const { queryRpc } = deployment({
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: "http://operator:hunter2@10.0.0.7:8545/v1/secret-key",
  });
  expect(queryRpc).toContain(" http://10.0.0.7:8545");
  expect(queryRpc).not.toMatch(/hunter2|secret-key/);
});
