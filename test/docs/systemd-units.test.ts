import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadDefinition, serviceNames } from "../../cli/service-definitions.ts";
import { readSettings } from "#daemon/settings/settings.ts";

const folder = join(import.meta.dirname, "../../examples/systemd");
const paths = globSync("**/*.service", { cwd: folder }).toSorted();
const hasAnalyze = spawnSync("systemd-analyze", ["--version"]).status === 0;
const readLines = (path: string) => readFileSync(join(folder, path), "utf8").split("\n");
const findService = (path: string) => basename(path, ".service").replace("gatehouse-", "");

/** The max exposure, out of 10, that `systemd-analyze security` may report. */
const exposures: Readonly<Record<string, number>> = {
  "gatehouse-facilitator.service": 2,
  "gatehouse-gateway.service": 2,
  "gatehouse-resource-server.service": 2,
  "gatehouse-sidecar.service": 3,
  "sidecar-with-ops/gatehouse-sidecar.service": 7,
};

describe("the systemd units", () => {
  it("exist for every long-running service", () => {
    expect(paths).toEqual(Object.keys(exposures));
  });

  it.each(paths)("%s runs an existing command in its own directories, without privileges", (path) => {
    const service = findService(path);
    expect(serviceNames).toContain(service);
    expect(readLines(path)).toEqual(
      expect.arrayContaining([
        `ExecStart=/usr/local/bin/gatehouse ${service}`,
        `EnvironmentFile=/etc/gatehouse/${service}.env`,
        `StateDirectory=gatehouse-${service}`,
        `RuntimeDirectory=gatehouse/${service}`,
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=",
        "AmbientCapabilities=",
      ]),
    );
  });

  it.each(paths.filter((path) => !path.includes("ops")))("%s limits memory, files and system calls", (path) => {
    expect(readLines(path)).toEqual(
      expect.arrayContaining([
        "KillMode=mixed",
        "ProtectSystem=strict",
        "MemoryMax=512M",
        "SystemCallFilter=@system-service",
      ]),
    );
    expect(readLines(path)).toContain(path.includes("sidecar") ? "ReadWritePaths=/data/node" : "DynamicUser=yes");
  });

  it("passes the signer's key, which only root can read, as a facilitator setting", async () => {
    const lines = readLines("gatehouse-facilitator.service");
    expect(lines).toContain("LoadCredential=signer-key:/etc/gatehouse/signer-key");
    const [, path] = /_SIGNER_PRIVATE_KEY_FILE=(.+)/.exec(lines.join("\n")) ?? [];
    expect(path).toBe("/run/credentials/gatehouse-facilitator.service/signer-key");
    const env = { GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY_FILE: path };
    const facilitator = await loadDefinition("facilitator");
    expect(() => readSettings(facilitator, { env, file: undefined })).toThrow(`${path}`);
  });

  it("neither limit nor stop the node with the sidecar", () => {
    const lines = readLines("sidecar-with-ops/gatehouse-sidecar.service");
    expect(lines).toEqual(expect.arrayContaining(["KillMode=process", "TasksMax=infinity", "ProtectSystem=full"]));
    expect(lines.filter((line) => /^(MemoryMax|SystemCallFilter|PrivateTmp|ReadWritePaths)=/.test(line))).toEqual([]);
  });

  it("give a service 15 s to stop", () => {
    for (const path of paths) {
      const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(readLines(path).join("\n")) ?? [];
      expect(Number(seconds), path).toBe(15);
    }
  });
});

describe.skipIf(!hasAnalyze)(
  `the units, verified by systemd${hasAnalyze ? "" : " (skipped: no systemd-analyze; apt-get install systemd)"}`,
  () => {
    it.each(paths)("%s passes systemd-analyze verify and security", (path) => {
      using stage = stageUnit(path);
      const { status, stderr } = spawnSync("systemd-analyze", ["verify", stage.path], { encoding: "utf8" });
      expect({ status, about: stderr.split("\n").filter((line) => line.includes(basename(path))) }).toEqual({
        status: 0,
        about: [],
      });
      const args = ["security", "--offline=yes", "--no-pager", stage.path];
      const { stdout } = spawnSync("systemd-analyze", args, { encoding: "utf8" });
      const [, level] = /Overall exposure level for \S+: ([\d.]+)/.exec(stdout) ?? [];
      expect(Number(level)).toBeLessThanOrEqual(exposures[path] ?? 0);
    });
  },
);

/** Copies a unit, with an existing program, because systemd-analyze rejects a missing one. */
function stageUnit(path: string): Disposable & Readonly<{ path: string }> {
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-systemd-"));
  const stagedPath = join(directory, basename(path));
  writeFileSync(stagedPath, readLines(path).join("\n").replace("/usr/local/bin/gatehouse", process.execPath));
  return { path: stagedPath, [Symbol.dispose]: () => rmSync(directory, { recursive: true }) };
}
