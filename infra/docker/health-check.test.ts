import { describe, expect, it } from "vitest";
import { daemonHealth, type HealthSpec } from "../services/probes.ts";
import { buildEngineProxySpec } from "../services/engine-proxy-spec.ts";
import type { ServiceSpec } from "../services/service-spec.ts";
import { buildHealthcheck } from "./health-check.ts";

const proxy = buildEngineProxySpec({ container: "node", binDirectory: undefined }).spec;
const asked = (health: HealthSpec): ServiceSpec => ({
  ...proxy,
  ports: [{ name: "http", number: 4_022, audience: "system" }],
  health,
});
const foreign: HealthSpec = { kind: "command", command: ["pg_isready"], startWithinSeconds: 120 };

describe("a container's health check", () => {
  it("runs every 2 s only during startup if the engine supports a start interval", () => {
    const times = { interval: "30s", startInterval: "2s", timeout: "5s", retries: 3 };
    expect(buildHealthcheck(proxy, true)).toEqual({
      tests: ["CMD", "node", "/app/infra/images/health-check.mjs", "socket", "/run/gatehouse/engine/engine.sock"],
      startPeriod: "1m0s",
      ...times,
    });
    expect(buildHealthcheck(asked(foreign), true)).toEqual({
      tests: ["CMD", "pg_isready"],
      startPeriod: "2m0s",
      ...times,
    });
  });

  it("runs every 2 s for Gatehouse images and every 5 s for others on older engines", () => {
    expect(buildHealthcheck(asked(daemonHealth))).toEqual({
      tests: ["CMD", "node", "/app/infra/images/health-check.mjs", "http", "http://127.0.0.1:4022/readyz"],
      startPeriod: "1m0s",
      interval: "2s",
      timeout: "35s",
      retries: 5,
    });
    expect(buildHealthcheck(asked(foreign))).toMatchObject({ interval: "5s", timeout: "5s", retries: 3 });
    expect(buildHealthcheck(asked(foreign))).not.toHaveProperty("startInterval");
  });

  it("uses the same command on every engine, so an engine upgrade replaces no container", () => {
    for (const health of [daemonHealth, foreign]) {
      expect(buildHealthcheck(asked(health), true)?.tests).toEqual(buildHealthcheck(asked(health))?.tests);
    }
  });

  it("is absent without a known command", () => {
    const port: HealthSpec = { kind: "port", port: "http", command: undefined, startWithinSeconds: 60 };
    expect(buildHealthcheck(asked(port), true)).toBeUndefined();
    expect(buildHealthcheck({ ...proxy, health: undefined }, true)).toBeUndefined();
  });
});
