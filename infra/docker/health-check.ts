import type * as docker from "@pulumi/docker";
import { healthTimes, type HealthSpec } from "../services/probes.ts";
import { findPort, type ServiceSpec } from "../services/service-spec.ts";
import { formatEngineDuration } from "./engine.ts";

type Healthcheck = docker.types.input.ContainerHealthcheck;

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
  const command = spec.health && findCommand(spec, spec.health);
  if (spec.health === undefined || command === undefined) return undefined;
  return {
    tests: ["CMD", ...command],
    startPeriod: formatEngineDuration(spec.health.startWithinSeconds),
    ...(startInterval ? timesFromStartInterval : buildTimesWithoutStartInterval(command[1] === program[1])),
  };
}

type Times = Pick<Healthcheck, "interval" | "startInterval" | "timeout" | "retries">;

const { process: times, startingEvery, timeout } = healthTimes;

const timesFromStartInterval: Times = {
  interval: formatEngineDuration(times.every),
  startInterval: formatEngineDuration(startingEvery),
  timeout: formatEngineDuration(timeout),
  retries: times.failures,
};

/**
 * Builds timings with a single interval for startup and steady state. Gatehouse's program runs often, but sleeps before probing a
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

/** Returns the command that probes a service from within its container, the only kind of probe that an engine supports. */
function findCommand(spec: ServiceSpec, health: HealthSpec): readonly string[] | undefined {
  if (health.kind === "socket") return [...program, health.kind, health.socketPath];
  if (health.kind === "port" || health.kind === "command") return health.command;
  const url = `http://127.0.0.1:${findPort(spec, health.port).number}`;
  if (health.kind === "rpc") return [...program, health.kind, `${url}/`];
  const path = health.waitFor === "live" ? health.livePath : health.readyPath;
  return health.command ?? [...program, health.kind, url + path];
}
