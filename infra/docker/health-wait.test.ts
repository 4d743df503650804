import { expect, it } from "vitest";
import type { EngineClient } from "./engine.ts";
import { waitForHealth } from "./health-wait.ts";
import { listUnreadyServices } from "../unready-services.ts";

const test = ["CMD", "node", "/app/infra/images/health-check.mjs", "http", "http://127.0.0.1:9602/livez"];

/** An engine that reports a container's states one after the other, and repeats the last one. */
function createEngine(states: readonly Readonly<{ status?: string; health: string; output?: string }>[]): EngineClient {
  let at = 0;
  return async () => {
    const { status = "running", health, output } = states[Math.min(at++, states.length - 1)] ?? { health: "none" };
    const Log = output === undefined ? null : [{ Output: "an older one" }, { Output: output }];
    const body = {
      State: { Status: status, Health: { Status: health, Log } },
      Config: { Healthcheck: { Test: test } },
    };
    return { status: 200, headers: {}, body };
  };
}

const wait = (engine: EngineClient, waitTimeout: number) =>
  waitForHealth({ engine, acceptsLive: false }, { name: "gh-facilitator", waitTimeout });

const check = (container: string, port: number) =>
  `docker exec ${container} node /app/infra/images/health-check.mjs http http://127.0.0.1:${port}/readyz 0`;

it("the wait for health resolves once a container is healthy", async () => {
  await wait(createEngine([{ health: "starting" }, { health: "healthy", output: "" }]), 60);
});

const silent: EngineClient = async () => Promise.reject(new Error("The operation was aborted"));

it("the wait for health retries while the engine is not responding, and reports a persistent outage", async () => {
  const healthy = createEngine([{ health: "healthy" }]);
  let requests = 0;
  const busy: EngineClient = async (...request) => {
    if (++requests === 1) throw new Error("The operation was aborted");
    return healthy(...request);
  };
  await wait(busy, 60);
  expect(requests).toBe(2);
  await expect(wait(silent, 0)).rejects.toThrow(
    new Error(
      "the health of gh-facilitator is unknown because the engine is not responding: The operation was aborted.",
    ),
  );
});

it("the wait for health rejects with the failed check and its last response", async () => {
  const output = "no answer from http://127.0.0.1:9602/livez:\n connect ECONNREFUSED";
  const line =
    "gh-facilitator is not healthy; health check `node /app/infra/images/health-check.mjs http http://127.0.0.1:9602/livez`, last response: no answer from http://127.0.0.1:9602/livez: connect ECONNREFUSED. See `docker logs gh-facilitator`.";
  await expect(wait(createEngine([{ health: "starting", output }]), 0)).rejects.toThrow(new Error(line));
  await expect(wait(createEngine([{ health: "unhealthy", output }]), 60)).rejects.toThrow(new Error(line));
  await expect(wait(createEngine([{ status: "restarting", health: "unhealthy" }]), 0)).rejects.toThrow(
    /^gh-facilitator is restarting and not healthy; .* it has not responded yet\. See `docker logs gh-facilitator`\.$/,
  );
});

it("the wait for health survives a restart by the sidecar, but not a container that stays stopped", async () => {
  const stopped = { status: "exited", health: "unhealthy" };
  await wait(createEngine([stopped, stopped, { health: "starting" }, { health: "healthy" }]), 60);
  await expect(wait(createEngine([stopped]), 600)).rejects.toThrow(/^gh-facilitator is exited and not healthy; /);
});

it("the wait for health accepts a live service that is not ready if acceptsLive is set", async () => {
  const ran: unknown[] = [];
  const Healthcheck = { Test: [...test.slice(0, -1), "http://127.0.0.1:9602/readyz"] };
  const responses = ["no answer", ""];
  const engine: EngineClient = async (path, how) => {
    if (path.endsWith("/json")) {
      const body = { State: { Status: "running", Health: { Status: "starting" } }, Config: { Healthcheck } };
      return { status: 200, headers: {}, body };
    }
    if (path.startsWith("/containers/")) ran.push(how?.body);
    return { status: 200, headers: {}, body: path.startsWith("/exec/") ? responses.shift() : { Id: "one" } };
  };
  const container = { name: "gh-facilitator", waitTimeout: 60 };
  await waitForHealth({ engine, acceptsLive: true }, container);
  expect(ran).toHaveLength(2);
  expect(ran[0]).toMatchObject({ Cmd: [...test.slice(1), "0"] });
  await expect(waitForHealth({ engine, acceptsLive: false }, { ...container, waitTimeout: 0 })).rejects.toThrow(
    /is not healthy/,
  );
});

it("lists unready containers with their reasons and the command that checks them", async () => {
  const checks = {
    chain: { ok: true, message: "chain 1672 answers" },
    signer: { ok: false, message: "0x01 holds 0 to pay for gas; send it more" },
  };
  const printed: Readonly<Record<string, unknown>> = {
    "/exec/gh-facilitator/start": `HTTP 503: ${JSON.stringify({ status: "error", checks })}\r\n`,
    "/exec/gh-sidecar/start": "",
    "/exec/gh-resource-server/start": "no answer from http://127.0.0.1:9601/readyz:\r\n rejected",
  };
  const engine: EngineClient = async (path) => {
    const [, , container = ""] = path.split("/");
    return { status: 200, headers: {}, body: path.startsWith("/containers/") ? { Id: container } : printed[path] };
  };
  expect(await listUnreadyServices(engine, "gh")).toEqual([
    {
      service: "facilitator",
      reason: "signer: 0x01 holds 0 to pay for gas; send it more",
      check: check("gh-facilitator", 9_602),
    },
    {
      service: "resource-server",
      reason: "no answer from http://127.0.0.1:9601/readyz: rejected",
      check: check("gh-resource-server", 9_601),
    },
  ]);
});
