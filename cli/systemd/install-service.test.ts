import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { formatEnvironmentFile } from "./unit.ts";
import { applyInstallation, buildPlanDocument, planInstallation, formatPlan, planRemoval } from "./installation.ts";
import { InstallError, readServiceFacts, type InstallRequest } from "./service-facts.ts";

const directory = mkdtempSync(join(tmpdir(), "gatehouse-systemd-"));
const root = join(directory, "root");
/** A path with what systemd reads in its own way. */
const workspace = join(directory, "node's \\ data, 100%");
const gatehouse = join(import.meta.dirname, "../gatehouse.js");
const key = `0x${"4c".repeat(32)}`;
const hasAnalyze = spawnSync("systemd-analyze", ["--version"]).status === 0;

const unitPath = (service: string) => join(root, `etc/systemd/system/gatehouse-${service}.service`);
const environmentPath = (service: string) => join(root, `etc/gatehouse/${service}.env`);

function request(service: InstallRequest["service"], env: Readonly<Record<string, string>>): InstallRequest {
  return { service, user: undefined, settings: undefined, env, program: [process.execPath, gatehouse] };
}

const gateway = request("gateway", {
  GATEHOUSE_GATEWAY_NODE_HTTP_URL: "http://127.0.0.1:8545",
  GATEHOUSE_GATEWAY_NODE_CHAIN_ID: "1",
  GATEHOUSE_GATEWAY_PUBLIC_PORT: "443",
  GATEHOUSE_SIDECAR_NODE_WORKSPACE: "/not/its/own",
});
const facilitator = request("facilitator", {
  GATEHOUSE_FACILITATOR_CHAIN_RPC_URL: "http://127.0.0.1:8545",
  GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY_FILE: join(directory, "signer's key"),
  GATEHOUSE_FACILITATOR_ASSETS:
    '[{"address":"0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2","name":"USDC","version":"2"}]',
});
const sidecar = (driver: string) =>
  request("sidecar", {
    GATEHOUSE_SIDECAR_NODE_WORKSPACE: workspace,
    GATEHOUSE_SIDECAR_RESTART_DRIVER: driver,
    ...(driver === "docker" ? { GATEHOUSE_SIDECAR_DOCKER_CONTAINER: "node" } : {}),
  });

/** Installs it, and gives its unit as lines. */
function install(asked: InstallRequest): readonly string[] {
  applyInstallation(planInstallation(readServiceFacts(asked), root));
  return readFileSync(unitPath(asked.service), "utf8").split("\n");
}

beforeEach(() => {
  rmSync(root, { recursive: true, force: true });
  mkdirSync(join(workspace, "bin"), { recursive: true });
  writeFileSync(join(workspace, "bin/node.conf"), "{}");
  writeFileSync(join(directory, "signer's key"), key);
  chmodSync(join(directory, "signer's key"), 0o600);
});
afterAll(() => rmSync(directory, { recursive: true }));

describe("gatehouse install-service", () => {
  it("writes a unit, and the service's own variables to a file that root alone reads", () => {
    const unit = install(gateway);
    expect(unit).toContain(`ExecStart="${process.execPath}" "${gatehouse}" "gateway"`);
    expect(unit).toEqual(expect.arrayContaining(["DynamicUser=yes", "ProtectSystem=strict", "MemoryMax=512M"]));
    expect(unit).toContain("AmbientCapabilities=CAP_NET_BIND_SERVICE");
    expect(statSync(environmentPath("gateway")).mode & 0o777).toBe(0o600);
    const variables = readFileSync(environmentPath("gateway"), "utf8");
    expect(variables).toContain('GATEHOUSE_GATEWAY_NODE_HTTP_URL="http://127.0.0.1:8545"\n');
    expect(variables).not.toContain("SIDECAR");
  });

  it("hands a secret's file over by systemd, which alone has to be able to read it", () => {
    const unit = install(facilitator);
    const name = "gatehouse-facilitator-signer-private-key-file";
    expect(unit).toContain(`LoadCredential=${name}:${join(directory, "signer's key")}`);
    expect(unit).toContain("AmbientCapabilities=");
    expect(readFileSync(environmentPath("facilitator"), "utf8")).toContain(
      `SIGNER_PRIVATE_KEY_FILE="/run/credentials/gatehouse-facilitator.service/${name}"\n`,
    );
  });

  it("names the node.conf that is not where the settings have it", () => {
    rmSync(workspace, { recursive: true });
    expect(() => readServiceFacts(sidecar("ops"))).toThrow(
      `there is no ${join(workspace, "bin/node.conf")}, whose owner the node runs as; correct GATEHOUSE_SIDECAR_NODE_WORKSPACE`,
    );
  });

  it("shows the same to a program, and no value", () => {
    const { steps } = buildPlanDocument(planInstallation(readServiceFacts(gateway), root));
    expect(steps.map(({ do: what, path }) => [what, path])).toEqual([
      ["write", environmentPath("gateway")],
      ["write", unitPath("gateway")],
    ]);
    expect(JSON.stringify(steps)).toContain("GATEHOUSE_GATEWAY_NODE_HTTP_URL=…");
    expect(JSON.stringify(steps)).toContain("gatehouse gateway --help --all");
  });

  it("shows all of it but values, and changes nothing by that", () => {
    const env = {
      ...facilitator.env,
      GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: key,
      GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY_FILE: "",
    };
    const lines = formatPlan(planInstallation(readServiceFacts(request("facilitator", env)), root)).join("\n");
    expect(lines).toContain(`write ${environmentPath("facilitator")}, mode 0600:`);
    expect(lines).toContain("GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY=…");
    expect(lines).not.toContain(key.slice(2));
    expect(lines).toContain("NoNewPrivileges=yes");
    expect(existsSync(root)).toBe(false);
  });

  it("keeps settings that are there, and does nothing the second time", () => {
    install(gateway);
    writeFileSync(environmentPath("gateway"), "MINE=1\n");
    const again = planInstallation(readServiceFacts(gateway), root);
    expect(again.steps).toEqual([]);
    expect(formatPlan(again)).toEqual([
      `${environmentPath("gateway")} is there and is kept.`,
      `${unitPath("gateway")} is as it should be.`,
    ]);
  });

  it("runs a sidecar as the owner of node.conf, and bounds nothing of a node that it starts", () => {
    const light = install(sidecar("ops"));
    expect(light).toContain(`User=${statSync(workspace).uid}`);
    expect(light).toEqual(expect.arrayContaining(["KillMode=process", "TasksMax=infinity", "ProtectSystem=full"]));
    expect(light.filter((line) => /^(MemoryMax|SystemCallFilter|PrivateTmp|ReadWritePaths)=/.test(line))).toEqual([]);
    const strict = install(sidecar("docker"));
    expect(strict).toEqual(expect.arrayContaining(["KillMode=mixed", "ProtectSystem=strict"]));
    expect(strict).toContain(`ReadWritePaths="${directory}/node's \\\\ data, 100%%"`);
  });

  it("removes the unit, and names what it leaves", () => {
    install(gateway);
    const removal = planRemoval("gateway", root);
    expect(formatPlan(removal)).toEqual([
      `remove ${unitPath("gateway")}`,
      `${environmentPath("gateway")} is kept; remove it yourself.`,
    ]);
    applyInstallation(removal);
    expect(existsSync(unitPath("gateway"))).toBe(false);
    expect(existsSync(environmentPath("gateway"))).toBe(true);
    expect(planRemoval("gateway", root).steps).toEqual([]);
  });

  it("refuses what would not last, or be another file in the service's directory", () => {
    const routes = { ...gateway.env, GATEHOUSE_GATEWAY_POLICY_PATH: "policy.json5" };
    const message = `GATEHOUSE_GATEWAY_POLICY_PATH=policy.json5; here that is ${join(process.cwd(), "policy.json5")}`;
    expect(() => readServiceFacts({ ...gateway, env: routes })).toThrow(message);
    const passing = join(directory, "_npx/gatehouse.js");
    mkdirSync(join(directory, "_npx"), { recursive: true });
    writeFileSync(passing, "");
    expect(() => readServiceFacts({ ...gateway, program: [process.execPath, passing] })).toThrow(
      "install it first (`npm install --global` with the package's file)",
    );
    const quoted = join(directory, "node's");
    writeFileSync(quoted, "");
    expect(() => readServiceFacts({ ...gateway, program: [quoted] })).toThrow(
      `systemd starts no program whose path has a quote or a backslash in it, as ${quoted} has; install it in another directory`,
    );
    expect(() =>
      readServiceFacts(request("sidecar", { GATEHOUSE_SIDECAR_NODE_CONFIG_PATH: "/data/node.conf" })),
    ).toThrow(InstallError);
  });

  it("writes values that systemd reads as they were", () => {
    const text = formatEnvironmentFile("gateway", { A: 'say "$HOME" `x` \\ and\nmore' });
    expect(text).toContain('A="say \\"\\$HOME\\" \\`x\\` \\\\ and\nmore"\n');
  });
});

describe.skipIf(!hasAnalyze)(
  `the units, as systemd judges them${hasAnalyze ? "" : " (skipped: no systemd-analyze; apt-get install systemd)"}`,
  () => {
    it.each([
      [gateway, 2],
      [facilitator, 2],
      [sidecar("docker"), 3],
      [sidecar("ops"), 7],
    ] as const)("%#: are read without a complaint, and leave little exposed", (asked, most) => {
      install(asked);
      const { status, stderr } = spawnSync("systemd-analyze", ["verify", unitPath(asked.service)], {
        encoding: "utf8",
      });
      const about = stderr.split("\n").filter((line) => line.includes(`gatehouse-${asked.service}`));
      expect({ status, about }).toEqual({ status: 0, about: [] });
      expect(measureExposure(asked.service)).toBeLessThanOrEqual(most);
    });
  },
);

/** Measures the exposure of a unit, from 0 to 10. */
function measureExposure(service: InstallRequest["service"]): number {
  const args = ["security", "--offline=yes", "--no-pager", unitPath(service)];
  const { stdout, stderr } = spawnSync("systemd-analyze", args, { encoding: "utf8" });
  const [, level] = /Overall exposure level for \S+: ([\d.]+)/.exec(stdout) ?? [];
  if (level === undefined) throw new Error(`systemd-analyze security said: ${stdout}${stderr}`);
  return Number(level);
}
