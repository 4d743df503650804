import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { hasPrometheus, withoutPrometheus } from "../support/prometheus/prometheus.ts";
import { gatehouseProgram } from "../support/programs/place.ts";

const root = join(import.meta.dirname, "../..");

/** Starts Prometheus as the stack does, in a process that then only stays alive. */
const starter = `
  const { startStackPrometheus } = await import(process.argv[1]);
  const [, , port, folder] = process.argv;
  const options = { targets: [], port: Number(port), directory: folder, logDirectory: folder, startDeadlineMs: 60_000, stopDeadlineMs: 1_500 };
  const { alertsUrl } = await startStackPrometheus({ ...options, signal: new AbortController().signal });
  process.stdout.write(alertsUrl);
  setInterval(() => undefined, 1_000);
`;

describe.skipIf(!hasPrometheus)(`the Prometheus of a killed stack${withoutPrometheus}`, () => {
  it("exits with the stack", async () => {
    const folder = await makeTestDirectory();
    const [port = 0] = await findFreePorts(1);
    const module = join(import.meta.dirname, "../../cli/stack/stack-prometheus.ts");
    const args = ["--input-type=module", "--eval", starter, module, String(port), folder];
    const parent = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "ignore"] });
    onTestFinished(() => void parent.kill("SIGKILL"));
    const isReady = () =>
      fetch(`http://127.0.0.1:${port}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until("Prometheus answers", 60_000, isReady);
    const [alertsUrl] = await once(parent.stdout, "data");
    expect((await fetch(String(alertsUrl))).status).toBe(200);
    parent.kill("SIGKILL");
    await until("Prometheus is gone", generousMs, async () => !(await isReady()));
    expect(parent.exitCode).toBeNull();
  });
});

describe("npm start -- --observe on a machine without Prometheus", () => {
  it("starts nothing, and explains what to install", async () => {
    const folder = await makeTestDirectory();
    const { status, stderr } = spawnSync(
      process.execPath,
      [gatehouseProgram, "stack", "--observe", "--state-dir", folder],
      {
        env: { PATH: folder, HOME: folder },
        encoding: "utf8",
      },
    );
    expect(stderr).toMatch(
      /`prometheus`, which is not on PATH\. Install it \(Debian and Ubuntu: `apt install prometheus`/,
    );
    expect(status).toBe(1);
  });

  it("rejects an invalid port", () => {
    const { status, stderr } = spawnSync(process.execPath, [gatehouseProgram, "stack", "--observe", "70000"], {
      encoding: "utf8",
    });
    expect(stderr).toMatch(/--observe.*Expected a port/);
    expect(status).not.toBe(0);
  });
});
