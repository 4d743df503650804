import { existsSync, utimesSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { extract } from "tar";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { announceService, listKilledServices } from "#daemon/running-services.ts";
import { version } from "#daemon/version.ts";
import {
  runDoctor,
  facilitator,
  key,
  startNodeThat,
  serve,
  startServiceThat,
  listFindings,
} from "./testing/doctor-fixture.ts";

test("exits with 0 for a healthy sidecar, and skips the settings that it can't read", async () => {
  const url = await startServiceThat({
    service: "sidecar",
    conditions: [{ type: "RpcResponding", status: "True", reason: "Responding", message: "" }],
  });
  const run = await runDoctor({ urls: { sidecar: url } });
  expect(run.status).toBe(0);
  expect(listFindings(run, "service")).toEqual([`ok: runs at ${url} and is ready`]);
  expect(listFindings(run, "versions")).toEqual([`ok: runs ${version}, the same as this command`]);
  expect(listFindings(run, "conditions")).toEqual(["ok: 1 of 1 conditions of its node are True"]);
  expect(listFindings(run, "settings")).toEqual([expect.stringMatching(/^skipped: /)]);
});

test("reports a service's faults with the service's own messages", async () => {
  const url = await startServiceThat({
    service: "sidecar",
    version: "0.0.9",
    checks: { rpc: { ok: false, message: "no answer" }, facilitator: { ok: false, tolerated: true, message: "away" } },
    conditions: [{ type: "DiskSpaceSufficient", status: "False", reason: "Low", message: "Free some." }],
  });
  const run = await runDoctor({ urls: { sidecar: url } });
  expect(run.status).toBe(2);
  expect(listFindings(run, "service")).toEqual([
    "failed: is not ready: rpc: no answer",
    "failed: is degraded: facilitator: away",
  ]);
  expect(listFindings(run, "versions")[0]).toMatch(/^failed: runs 0\.0\.9, .*run gatehouse doctor of 0\.0\.9$/);
  expect(listFindings(run, "conditions")).toEqual(["failed: DiskSpaceSufficient: Free some."]);
});

test("distinguishes an unknown program, a different service and an address where nothing listens", async () => {
  const other = await serve((_, response) => response.writeHead(404).end("<html>"));
  expect(listFindings(await runDoctor({ urls: { sidecar: other } }), "service")[0]).toMatch(
    /^failed: .* returned HTTP 404, but doesn.t look like a Gatehouse service.*ss -ltnp/,
  );
  const seller = await startServiceThat({ service: "resource-server" });
  const wrong = await runDoctor({ urls: { facilitator: seller } });
  expect(listFindings(wrong, "service")[0]).toContain("belongs to the resource-server");
  expect(listFindings(wrong, "versions")).toEqual([]);
  const noServices = await runDoctor({ urls: { facilitator: "http://127.0.0.1:1" } });
  expect([noServices.status, listFindings(noServices, "service")[0]]).toEqual([
    1,
    expect.stringMatching(/^unknown: nothing listens/),
  ]);
});

test("checks the settings, keys, ports and signer of a stopped service", async () => {
  const rpcUrl = await startNodeThat({ eth_getBalance: "0x8ac7230489e80000" });
  const run = await runDoctor({
    env: facilitator(rpcUrl, { GATEHOUSE_FACILITATOR_OPERATIONS_PORT: "1", GATEHOUSE_FACILITATOR_LISTEN_PORT: "2" }),
  });
  expect(run.status).toBe(2);
  expect(listFindings(run, "service")[0]).toMatch(/^failed: is not running: /);
  expect(listFindings(run, "service")[0]).toContain(`start it: ${formatOwnCommand()} facilitator`);
  expect(listFindings(run, "settings")).toEqual(["ok: can be read (the environment)"]);
  expect(listFindings(run, "keys")).toEqual([
    "ok: signer.privateKey is set by the variable GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY",
  ]);
  expect(listFindings(run, "ports")).toEqual([
    expect.stringContaining(") is free"),
    expect.stringContaining(") is free"),
  ]);
  expect(listFindings(run, "signer")[0]).toMatch(
    /^ok: its signer 0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A holds 10 in native currency, enough for 100/,
  );
  expect(JSON.stringify(run)).not.toContain(key.slice(2));
});

test("reports a low signer balance, with the account and the amount to send", async () => {
  const rpcUrl = await startNodeThat({ eth_getBalance: "0x2386f26fc10000" });
  const run = await runDoctor({ env: facilitator(rpcUrl) });
  expect(listFindings(run, "signer")[0]).toMatch(
    /^failed: its signer 0x19E7.* holds 0\.01 in native currency, enough for 50 settlements at the current gas price; top it up: 0\.02 is enough for 100$/,
  );
});

test("reports the signer's balance as unknown while the node is down", async () => {
  const run = await runDoctor({ env: facilitator("http://127.0.0.1:1") });
  expect(listFindings(run, "signer")[0]).toMatch(/^unknown: /);
});

test("reports a port used by a different program, or claimed by two listeners", async () => {
  const taken = new URL(await serve((_, response) => response.end("other"))).port;
  const run = await runDoctor({
    env: facilitator("http://127.0.0.1:1", {
      GATEHOUSE_FACILITATOR_LISTEN_PORT: taken,
      GATEHOUSE_FACILITATOR_OPERATIONS_PORT: "1",
      GATEHOUSE_RESOURCE_SERVER_OPERATIONS_PORT: "1",
      GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: "routes.json5",
      GATEHOUSE_RESOURCE_SERVER_PAY_TO: `0x${"33".repeat(20)}`,
      GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: `0x${"22".repeat(20)}`,
    }),
  });
  const ports = listFindings(run, "ports").join("\n");
  expect(ports).toContain(
    `127.0.0.1:${taken} (GATEHOUSE_FACILITATOR_LISTEN_PORT) is used by another process; find it with \`ss -ltnp 'sport = :${taken}'\``,
  );
  expect(ports).toContain(
    "GATEHOUSE_FACILITATOR_OPERATIONS_PORT and GATEHOUSE_RESOURCE_SERVER_OPERATIONS_PORT both use port 1",
  );
});

test("reports each setting that a service would reject, by name", async () => {
  const run = await runDoctor({ env: { GATEHOUSE_FACILITATOR_LISTEN_PORT: "many" } });
  expect(run.status).toBe(2);
  expect(listFindings(run, "settings")).toContainEqual(
    expect.stringContaining("GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY"),
  );
  expect(listFindings(run, "settings")).toContainEqual(
    expect.stringContaining('GATEHOUSE_FACILITATOR_LISTEN_PORT: found "many"'),
  );
  expect(listFindings(run, "service")[0]).toMatch(/^unknown: /);
});

test("reports a key file that others can read, with the command that fixes it", async () => {
  const folder = await makeTestDirectory();
  const file = join(folder, "signer");
  await writeFile(file, key, { mode: 0o600 });
  const { GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: _, ...env } = facilitator("http://127.0.0.1:1");
  const checkSigner = async () =>
    listFindings(await runDoctor({ env: { ...env, GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY_FILE: file } }), "keys");
  expect(await checkSigner()).toEqual([`ok: signer.privateKey is in ${file}, which other users can't read`]);
  await chmod(file, 0o644);
  expect(await checkSigner()).toEqual([expect.stringContaining(`\`chmod o= ${file}\``)]);
});

test("finds all services running on this machine, even two of the same kind", async () => {
  const folder = await makeTestDirectory();
  const env = { XDG_RUNTIME_DIR: folder, XDG_STATE_HOME: folder };
  const conditions = [{ type: "RpcResponding", status: "True", reason: "Responding", message: "" }];
  const [url, secondUrl] = [
    await startServiceThat({ service: "gateway", conditions }),
    await startServiceThat({ service: "gateway", conditions }),
  ];
  using _running = announceService({ service: "gateway", pid: process.pid, stopPid: process.pid, url }, env);
  using _second = announceService(
    { service: "gateway", pid: process.ppid, stopPid: process.ppid, url: secondUrl },
    env,
  );
  const bundle = join(folder, "bundle.tgz");
  const run = await runDoctor({ env, bundle });
  expect(run.status).toBe(0);
  const found = run.findings.filter(({ check }) => check === "service");
  const expected = [url, secondUrl].map((each) => [`gateway ${new URL(each).host}`, `runs at ${each} and is ready`]);
  expect(found.map(({ subject, message }) => [subject, message]).toSorted()).toEqual(expected.toSorted());
  const skippedMessage =
    "skipped: they were checked only at startup, because only the address is known (found on this machine); to check them, run this with its GATEHOUSE_GATEWAY_… variables, or pass --settings gateway=<file>";
  expect(listFindings(run, "settings")).toEqual([skippedMessage, skippedMessage]);
  await extract({ file: bundle, cwd: folder });
  for (const each of [url, secondUrl]) {
    expect(existsSync(join(folder, `gateway-${new URL(each).host.replace(":", "-")}/readyz.json`))).toBe(true);
  }
  const { out } = await runDoctor({ env, json: false });
  expect(out).toMatch(/\n0 failed, 0 unknown, 2 skipped, 6 ok\n$/);
});

test("reports a killed service until it is running again", async () => {
  const folder = await makeTestDirectory();
  const env = { XDG_RUNTIME_DIR: folder, XDG_STATE_HOME: folder };
  const url = await startServiceThat({ service: "facilitator" });
  const pid = 2 ** 22 + 1;
  using _killed = announceService({ service: "facilitator", pid, stopPid: pid, url }, env);
  const path = join(folder, "gatehouse", `facilitator-${pid}.json`);
  const run = await runDoctor({ env });
  expect([run.status, listFindings(run, "service")]).toEqual([
    2,
    [
      `failed: announced at ${url}, but its process ${pid} exited without removing its announcement; start it: ${formatOwnCommand()} facilitator, or, if it was killed on purpose, remove ${path}`,
    ],
  ]);
  using _restarted = announceService({ service: "facilitator", pid: process.pid, stopPid: process.pid, url }, env);
  expect(listFindings(await runDoctor({ env }), "service")).toEqual([`ok: runs at ${url} and is ready`]);
});

test("reports a killed service although another one starts", async () => {
  const folder = await makeTestDirectory();
  const env = { XDG_RUNTIME_DIR: folder, XDG_STATE_HOME: folder };
  const pid = 2 ** 22 + 1;
  const sidecar = { service: "sidecar", pid, stopPid: pid, url: "http://127.0.0.1:1", stateDirectory: folder };
  using _killed = announceService(sidecar, env);
  const url = await startServiceThat({ service: "facilitator" });
  using _other = announceService({ service: "facilitator", pid: process.pid, stopPid: process.pid, url }, env);
  expect(listFindings(await runDoctor({ env }), "service")).toEqual([
    expect.stringMatching(/^failed: announced at http:\/\/127\.0\.0\.1:1, but its process/),
    `ok: runs at ${url} and is ready`,
  ]);
  const moved = { ...sidecar, pid: process.ppid, stopPid: process.ppid, url: "http://127.0.0.1:2" };
  using _restarted = announceService(moved, env);
  expect(listKilledServices(env)).toEqual([]);
});

test("keeps the announcements of at most 32 other killed services, the newest", async () => {
  const folder = await makeTestDirectory();
  const env = { XDG_RUNTIME_DIR: folder, XDG_STATE_HOME: folder };
  for (let index = 0; index <= 33; index += 1) {
    const pid = 2 ** 22 + 1 + index;
    announceService({ service: "gateway", pid, stopPid: pid, url: `http://127.0.0.1:${index + 1}` }, env);
    utimesSync(join(folder, "gatehouse", `gateway-${pid}.json`), index + 1, index + 1);
  }
  const left = listKilledServices(env).map(({ service }) => service.url);
  expect(left).toHaveLength(33);
  expect(left).not.toContain("http://127.0.0.1:1");
});

test("reports conditions that should be known, and counts the others as expected", async () => {
  const conditions = [
    { type: "RpcResponding", status: "True", reason: "Responding", message: "" },
    { type: "RollbackReady", status: "Unknown", reason: "NotYet", message: "" },
    { type: "NodeSynced", status: "Unknown", reason: "CheckFailed", message: "The check failed." },
  ];
  const url = await startServiceThat({ service: "sidecar", conditions });
  const run = await runDoctor({ urls: { sidecar: url } });
  expect([run.status, listFindings(run, "conditions")]).toEqual([
    1,
    [
      "unknown: NodeSynced: The check failed.",
      "ok: 1 of 3 conditions of its node are True; expected to be unknown: RollbackReady",
    ],
  ]);
});
