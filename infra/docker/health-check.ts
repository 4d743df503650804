import type * as docker from "@pulumi/docker";
import { healthTimes, type HealthSpec, type PortHealth } from "../services/probes.ts";
import { findPort, type ServiceSpec } from "../services/service-spec.ts";
import { formatEngineDuration } from "./engine.ts";

type Healthcheck = docker.types.input.ContainerHealthcheck;

/** Health check that runs inside the service's container, the only kind an engine supports. */
type InnerHealth = Exclude<HealthSpec, PortHealth>;

/**
 * Timing properties of a container's health check. Changing them would replace the container, so a running container keeps its timing until
 * something else replaces it.
 */
export const healthTimeProperties: readonly string[] = ["interval", "startInterval", "timeout", "retries"].map(
  (time) => `healthcheck.${time}`,
);

/** Program in Gatehouse's images that probes the service without a shell. */
const program = ["node", "/app/infra/images/health-check.mjs"] as const;

/**
 * Translates a health check; `undefined` if nothing in the container could run it.
 *
 * @param startInterval whether the engine supports a separate interval during start.
 */
export function buildHealthcheck(spec: ServiceSpec, startInterval = false): Healthcheck | undefined {
  const inner = spec.health === undefined ? undefined : findInnerHealth(spec.health);
  if (inner === undefined) return undefined;
  const command = buildCommand(spec, inner);
  return {
    tests: ["CMD", ...command],
    startPeriod: formatEngineDuration(inner.startWithinSeconds),
    ...(startInterval ? timesWithStartInterval : buildTimesWithoutStartInterval(command[1] === program[1])),
  };
}

type Times = Pick<Healthcheck, "interval" | "startInterval" | "timeout" | "retries">;

const { process: times, startingEvery, timeout } = healthTimes;

const timesWithStartInterval: Times = {
  interval: formatEngineDuration(times.every),
  startInterval: formatEngineDuration(startingEvery),
  timeout: formatEngineDuration(timeout),
  retries: times.failures,
};

/**
 * Builds timing that has a single interval for both startup and steady state. Gatehouse's program runs often, but sleeps before probing a
 * service that was healthy.
 */
function buildTimesWithoutStartInterval(rests: boolean): Times {
  const { every, failures } = rests ? times.withoutStartInterval.rests : times.withoutStartInterval.others;
  return {
    interval: formatEngineDuration(every),
    timeout: formatEngineDuration(rests ? times.every + timeout : timeout),
    retries: failures,
  };
}

function findInnerHealth(health: HealthSpec): InnerHealth | undefined {
  if (health.kind !== "port") return health;
  const { command, startWithinSeconds } = health;
  return command === undefined ? undefined : { kind: "command", command, startWithinSeconds };
}

function buildCommand(spec: ServiceSpec, health: InnerHealth): readonly string[] {
  if (health.kind === "command") return health.command;
  if (health.kind !== "socket" && health.command !== undefined) return health.command;
  if (health.kind === "socket") return [...program, health.kind, health.socketPath];
  const { number } = findPort(spec, health.port);
  const { readyPath, livePath, awaited } = health;
  const path = health.kind === "rpc" ? "/" : awaited === "live" ? livePath : readyPath;
  return [...program, health.kind, `http://127.0.0.1:${number}${path}`];
}
