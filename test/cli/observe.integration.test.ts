import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { freePorts } from "../support/free-ports.ts";
import { runGatehouse } from "../support/run-command.ts";
import { spawnStack } from "../support/running-stack.ts";
import { generousMs, until } from "../support/until.ts";
import { hasPrometheus, withoutPrometheus } from "../observability/live/prometheus.ts";

type Answer<Data> = Readonly<{ data: Data }>;
type Targets = Readonly<{ activeTargets: readonly Readonly<{ labels: Record<string, string>; health: string }>[] }>;
type Rules = Readonly<{
  groups: readonly Readonly<{ rules: readonly Readonly<{ health: string; lastError?: string }>[] }>[];
}>;

const root = join(import.meta.dirname, "../..");
const program = join(import.meta.dirname, "../../cli/gatehouse.js");

async function ask<Data>(url: string): Promise<Data> {
  const response = await fetch(url, { signal: AbortSignal.timeout(generousMs) });
  return ((await response.json()) as Answer<Data>).data;
}

describe.skipIf(!hasPrometheus)(`npm start -- --observe${withoutPrometheus}`, () => {
  it("scrapes every service, judges them by the rules, and ends with the stack", { timeout: 240_000 }, async () => {
    const [port = 0] = await freePorts(1);
    await using stack = await spawnStack(["--observe", String(port)]);
    await until("the stack is up", 120_000, () => {
      if (stack.process.exitCode !== null) throw new Error(`the stack ended: ${stack.output()}`);
      return stack.output().includes("Ctrl-C stops everything.");
    });
    const url = `http://127.0.0.1:${port}`;
    expect(stack.output()).toContain(`${url}/alerts`);
    const healthy = await until("all targets are scraped", 60_000, async () => {
      const { activeTargets } = await ask<Targets>(`${url}/api/v1/targets`);
      return activeTargets.length === 4 && activeTargets.every(({ health }) => health === "up") && activeTargets;
    });
    expect(healthy.map(({ labels }) => labels["job"]).toSorted()).toEqual([
      "gatehouse/facilitator",
      "gatehouse/pushgateway",
      "gatehouse/resource-server",
      "gatehouse/sidecar",
    ]);
    const judged = await until("all rules are evaluated", 60_000, async () => {
      const rules = (await ask<Rules>(`${url}/api/v1/rules`)).groups.flatMap((group) => group.rules);
      return rules.every(({ health }) => health !== "unknown") && rules;
    });
    expect(judged.length).toBeGreaterThan(30);
    expect(judged.filter(({ health }) => health !== "ok")).toEqual([]);
    const doctor = ["doctor", "--state-dir", stack.stateDirectory, "--prometheus", url];
    const found = await until("the doctor finds nothing wrong", generousMs, async () => {
      const { status, stdout } = await runGatehouse(doctor, stack.env);
      return status === 0 && stdout;
    });
    expect(found).toContain(`right: prometheus: Prometheus: ${url} scrapes 4 targets, all of them up`);
    expect(found).toMatch(/right: signer: facilitator: its signer 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 holds /);
    expect(found).not.toMatch(/^(wrong|unknown|unasked): /m);
    expect(await stack.stop()).toBe(0);
    await expect(fetch(`${url}/-/ready`, { signal: AbortSignal.timeout(generousMs) })).rejects.toThrow();
  });
});

/** Starts Prometheus as the stack does, in a process that then does nothing but live. */
const starter = `
  const { startStackPrometheus } = await import(process.argv[1]);
  const [, , port, folder] = process.argv;
  const options = { targets: [], port: Number(port), directory: folder, logDirectory: folder, startDeadlineMs: 60_000, stopDeadlineMs: 1_500 };
  await startStackPrometheus({ ...options, signal: new AbortController().signal });
  setInterval(() => undefined, 1_000);
`;

describe.skipIf(!hasPrometheus)(`the Prometheus of a stack that is killed${withoutPrometheus}`, () => {
  it("ends as well", { timeout: 120_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "gatehouse-observe-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const [port = 0] = await freePorts(1);
    const module = join(import.meta.dirname, "../../cli/stack/stack-prometheus.ts");
    const args = ["--input-type=module", "--eval", starter, module, String(port), folder];
    const parent = spawn(process.execPath, args, { cwd: root, stdio: "ignore" });
    onTestFinished(() => void parent.kill("SIGKILL"));
    const answers = () =>
      fetch(`http://127.0.0.1:${port}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until("Prometheus answers", 60_000, answers);
    parent.kill("SIGKILL");
    await until("Prometheus is gone", generousMs, async () => !(await answers()));
    expect(parent.exitCode).toBeNull();
  });
});

describe("npm start -- --observe on a machine without Prometheus", () => {
  it("starts nothing, and says what to install", () => {
    const folder = mkdtempSync(join(tmpdir(), "gatehouse-observe-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const { status, stderr } = spawnSync(process.execPath, [program, "stack", "--observe", "--state-dir", folder], {
      env: { PATH: folder, HOME: folder },
      encoding: "utf8",
    });
    expect(stderr).toMatch(
      /`prometheus`, which is not on PATH\. Install it \(Debian and Ubuntu: `apt install prometheus`/,
    );
    expect(status).toBe(1);
  });

  it("refuses an invalid port", () => {
    const { status, stderr } = spawnSync(process.execPath, [program, "stack", "--observe", "70000"], {
      encoding: "utf8",
    });
    expect(stderr).toMatch(/--observe.*expected a port/);
    expect(status).not.toBe(0);
  });
});
