import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { runSidecar } from "../support/run-sidecar.ts";
import { readStatus } from "#sidecar/testing/sidecar-status.ts";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { announceService } from "#daemon/running-services.ts";
import { createFakeNode, driftedConfig, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { buildEnvironment } from "#sidecar/testing/sidecar-environment.ts";
import { waitForReason, waitUntilSettled } from "#sidecar/testing/sidecar-status.ts";
import { startOwnedNode } from "../support/node/owned-node.ts";
import { runInProcess } from "../support/command-in-process.ts";
import { startService } from "../support/service-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const token = "a-token-of-thirty-two-characters-or-more";

/** A sidecar as started by an operator who has read only the README, without a mode. */
const firstContact = (node: FakeNode) => buildEnvironment(node, withoutMode);
const withoutMode = { GATEHOUSE_SIDECAR_UPKEEP_MODE: undefined };
/** Settings of a sidecar in the test's own process. */
const restarting = { GATEHOUSE_SIDECAR_RESTART_DRIVER: "ops" };

/** Reads the changes made to a node. */
const readDeeds = async (node: FakeNode) => ({
  config: await node.config(),
  starts: await node.starts(),
  isPruning: existsSync(join(node.workspace, "pruning")),
});

test("changes nothing on first contact, shows the plan everywhere, applies it after adopt, and remembers the approval after kill -9", async () => {
  await using node = await createFakeNode();
  await node.start();
  const state = join(node.workspace, ".gatehouse");
  const command = `${formatOwnCommand()} adopt`;
  await using first = await startService("sidecar", firstContact(node));
  const url = first.urls["sidecar"];
  const waitingReason = await waitForReason(url, "NotPaused", "WaitingForApproval");
  await until("the plan contains the pruning", generousMs, async () => {
    const plan = (await readStatus(url)).plan?.steps ?? [];
    return plan.some((step) => step.startsWith("auto-pruning is enabled (")) && plan;
  });
  const untouched = { config: driftedConfig, starts: 1, isPruning: false };
  expect(await readDeeds(node)).toEqual(untouched);
  expect(waitingReason.message).toContain(`To approve, run \`${command}\`.`);
  expect(first.output()).toContain(command);
  expect(await (await fetch(`${url}/metrics`)).text()).toContain(
    `gatehouse_command_info{verb="adopt",command="${command}"} 1`,
  );
  await until("the first check is complete", generousMs, async () => (await fetch(`${url}/startupz`)).status === 200);
  const { verdict, plan } = await readStatus(url);
  expect(verdict.level).toBe("waiting");
  const file = RegExp.escape(basename(node.configPath));
  expect(plan?.steps).toEqual([
    expect.stringMatching(/^auto-pruning is enabled .*this can't be undone.*GATEHOUSE_SIDECAR_PRUNE_ENABLED=false/),
    expect.stringMatching(new RegExp(`^${file}: enable_pamir_cetina renamed to storage_enable_cetina`)),
    ...Array<unknown>(4).fill(
      expect.stringMatching(new RegExp(`^${file}: pamir_cetina_\\w+ renamed to storage_cetina_`)),
    ),
    expect.stringMatching(new RegExp(`^the node is restarted \\(${file} differs from what the node loaded`)),
  ]);
  const unsaid = await runInProcess(["adopt", "--state-directory", state]);
  expect([unsaid.status, unsaid.stderr]).toEqual([1, "adopt: nothing was changed. Without a terminal, pass --yes.\n"]);
  expect(unsaid.stdout).toContain(`${node.configPath} (data ${node.workspace}/data, chain 1672, machine `);
  for (const step of plan?.steps ?? []) expect(unsaid.stdout).toContain(step);
  expect(await readDeeds(node)).toEqual(untouched);

  const shown = await runInProcess(["adopt", "--json", "--state-directory", state]);
  expect([shown.status, JSON.parse(shown.stdout)]).toMatchObject([1, { result: "waits", view: { mode: "adopt" } }]);
  const unheldYet = await runInProcess(["resume", "--state-directory", state]);
  expect([unheldYet.status, unheldYet.stdout]).toEqual([
    0,
    expect.stringContaining(
      `It is waiting for your approval: run ${formatOwnCommand(process.cwd())} adopt --state-directory ${state}.`,
    ),
  ]);
  const said = await runInProcess(["adopt", "--yes"], firstContact(node));
  expect([said.status, said.stderr]).toEqual([0, ""]);
  expect(said.stdout).toContain(`(process ${first.pid} on host `);
  await first.end("SIGKILL");
  await using sidecar = await startService("sidecar", firstContact(node));
  await waitUntilSettled(sidecar.urls["sidecar"]);
  const done = await readDeeds(node);
  expect([done.isPruning, done.config.includes("storage_cetina_job_name")]).toEqual([true, true]);
  expect((await readStatus(sidecar.urls["sidecar"])).events.map(({ kind }) => kind)).toContain("adopt");
  const already = await runInProcess(["adopt", "--json"], firstContact(node));
  expect([already.status, JSON.parse(already.stdout)]).toMatchObject([0, { result: "already" }]);
  const unheld = await runInProcess(["resume", "--json"], firstContact(node));
  expect([unheld.status, JSON.parse(unheld.stdout)]).toMatchObject([0, { result: "none" }]);
  const again = await runInProcess(["adopt"], firstContact(node));
  expect([again.status, again.stdout]).toEqual([0, expect.stringContaining("already acts on this node")]);
});

test("adopts only the plan that was shown: shows it again and does nothing if it has changed", async () => {
  await using node = await createFakeNode();
  await node.start();
  await using sidecar = await runSidecar(node, {
    ...withoutMode,
    ...restarting,
    GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN: token,
    GATEHOUSE_SIDECAR_PRUNE_ENABLED: "false",
  });
  const url = sidecar.urls["sidecar"];
  await waitForReason(url, "NotPaused", "WaitingForApproval");
  const ask = (path: string, body?: object) =>
    fetch(`${url}/control${path}`, {
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      headers: { authorization: `Bearer ${token}` },
    });
  const { plan } = (await (await ask("")).json()) as { plan: { digest: string } };
  await writeFile(
    node.configPath,
    driftedConfig
      .replace('"node-7"', '"node-8"')
      .replace("127.0.0.1", "127.0.0.2")
      .replace('"pamir_cetina_push_interval": 5,', ""),
  );
  await until("the plan has changed", generousMs, async () => {
    const now = (await (await ask("")).json()) as { plan: { digest: string } };
    return now.plan.digest !== plan.digest;
  });
  expect(await (await ask("/adopt", { digest: plan.digest })).json()).toMatchObject({
    result: "another",
    view: { authority: "waits" },
  });
  expect(await node.starts()).toBe(1);
  expect(await node.config()).toContain("pamir_cetina_job_name");
});

test("asks for approval again if the state does not record its node", async () => {
  await using node = await startOwnedNode("node-7");
  {
    await using sidecar = await runSidecar(node, restarting);
    await waitUntilSettled(sidecar.urls["sidecar"]);
    await writeFile(node.configPath, (await node.config()).replace("storage_cetina_job_name", "pamir_cetina_job_name"));
    await until("it was corrected", generousMs, async () => (await node.config()).includes("storage_cetina_job_name"));
    await waitUntilSettled(sidecar.urls["sidecar"]);
  }
  {
    // The mode `enforce` persists when the setting is removed.
    await using sidecar = await runSidecar(node, { ...restarting, ...withoutMode });
    expect((await waitForReason(sidecar.urls["sidecar"], "NotPaused", "NotPaused")).message).toContain("was enforce");
  }
  {
    using database = new DatabaseSync(join(node.workspace, ".gatehouse/upkeep.sqlite"));
    database.exec("DELETE FROM fact WHERE name = 'identity'");
  }
  await using sidecar = await runSidecar(node, { ...restarting, ...withoutMode });
  await waitForReason(sidecar.urls["sidecar"], "NotPaused", "WaitingForApproval");
});

test("resume fails if no sidecar responds, and requires the token with a URL", async () => {
  await using node = await startOwnedNode("node-7");
  const nobody = await runInProcess(["resume"], firstContact(node));
  expect(nobody.status).toBe(1);
  expect(nobody.stderr).toContain(
    `resume: no running sidecar has its state in ${join(node.workspace, ".gatehouse")} or in `,
  );
  const runtime = { XDG_RUNTIME_DIR: join(node.workspace, "run") };
  const none = await runInProcess(["resume"], runtime);
  expect([none.status, none.stderr]).toEqual([
    1,
    expect.stringContaining("resume: no running sidecar found for this user. Specify one with --state-directory"),
  ]);
  {
    const service = { service: "sidecar", stopPid: process.pid };
    const first = { ...service, pid: process.pid, url: "http://127.0.0.1:1", stateDirectory: "/srv/a" };
    const secondService = { ...service, pid: process.ppid, url: "http://127.0.0.1:1", stateDirectory: "/srv/b" };
    using _first = announceService(first, runtime);
    // As under systemd with the example units: in its own network namespace, it listens at the same address.
    using _second = announceService(secondService, {
      RUNTIME_DIRECTORY: join(runtime.XDG_RUNTIME_DIR, "gatehouse", "sidecar"),
    });
    const which = await runInProcess(["resume"], runtime);
    expect(which.status).toBe(1);
    expect(which.stderr.split("\n").toSorted()).toEqual([
      "",
      `  ${formatOwnCommand()} resume --state-directory /srv/a`,
      `  ${formatOwnCommand()} resume --state-directory /srv/b`,
      "resume: several sidecars run here; choose one:",
    ]);
  }

  const withToken = { GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN: token };
  await using sidecar = await startService("sidecar", buildEnvironment(node, withToken));
  const url = sidecar.urls["sidecar"] ?? "";
  await waitUntilSettled(url);
  const found = await runInProcess(["resume"]);
  expect([found.status, found.stderr]).toEqual([0, ""]);
  expect((await runInProcess(["status"])).stdout).toContain(new URL(node.httpUrl).host);
  const unheld = await runInProcess(["resume"], buildEnvironment(node));
  expect([unheld.status, unheld.stdout]).toEqual([
    0,
    expect.stringMatching(new RegExp(`^Gatehouse is not paused on ${node.configPath} \\(data `)),
  ]);
  const byUrl = await runInProcess(["resume", "--url", url], withToken);
  expect([byUrl.status, byUrl.stderr]).toEqual([0, ""]);
  const wrong = await runInProcess(["resume", "--url", url], { GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN: `${token}x` });
  expect([wrong.status, wrong.stderr]).toEqual([1, expect.stringContaining("rejected the token")]);
  expect(await (await fetch(`${url}/control`)).text()).not.toContain(node.configPath);
  expect((await fetch(`${url}/control/resume`, { method: "POST" })).status).toBe(401);
  const untold = await runInProcess(["resume", "--url", url]);
  expect([untold.status, untold.stderr]).toEqual([1, expect.stringContaining("--url needs the token")]);
});

test("offers no control on the status listener, and no actions on its page, without a token", async () => {
  await using node = await startOwnedNode("node-7");
  await using sidecar = await runSidecar(node, restarting);
  const url = sidecar.urls["sidecar"] ?? "";
  for (const [path, method] of [
    ["/control", "GET"],
    ["/control/resume", "POST"],
    ["/control/adopt", "POST"],
    ["/control/restart", "POST"],
  ] as const) {
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${url}${path}`, { method, headers })).status).toBe(404);
  }
  expect(await readStatus(url)).not.toHaveProperty("actions");
  const rejected = await runInProcess(["resume", "--url", url], { GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN: token });
  expect([rejected.status, rejected.stderr]).toEqual([
    1,
    expect.stringContaining("accepts no commands: set the sidecar's upkeep.controlToken"),
  ]);
});
