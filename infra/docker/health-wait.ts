import { ResourceHook, RunError, runtime } from "@pulumi/pulumi";
import { z } from "zod";
import { operatorPaths } from "#daemon/http/operator-paths.ts";
import { waitUntil } from "#daemon/time.ts";
import { type EngineClient, runInContainer } from "./engine.ts";

const state = z.object({
  State: z.object({
    Status: z.string(),
    Health: z.object({ Status: z.string(), Log: z.array(z.object({ Output: z.string() })).nullish() }).optional(),
  }),
  Config: z.object({ Healthcheck: z.object({ Test: z.array(z.string()) }).optional() }),
});

type ContainerState = z.output<typeof state>;

const pollMs = 500;

/** How long a container may be stopped in total, because the sidecar restarts the node while `pulumi up` waits for it. */
const stoppedMaxMs = 10_000;

const responseCharactersMax = 300;

const waitingContainer = z.object({ name: z.string(), wait: z.literal(true), waitTimeout: z.number() });

/** Engine of a stack's containers, and whether liveness is enough: a service isn't ready before its node has synced. */
export type HealthWaitOptions = Readonly<{ engine: EngineClient; acceptsLive: boolean }>;

/**
 * Replaces the provider's wait for healthy containers, whose message includes neither the check nor the response to it. Call this before
 * registering any resource. Returns a function that waits for all containers, including unchanged ones that an earlier update left
 * unhealthy.
 */
export function replaceHealthWait(options: HealthWaitOptions): () => Promise<void> {
  const all: ReturnType<typeof waitingContainer.parse>[] = [];
  runtime.registerStackTransformation(({ type, props, opts }) => {
    const container = type === "docker:index/container:Container" ? waitingContainer.safeParse(props).data : undefined;
    if (container === undefined) return undefined;
    all.push(container);
    const afterCreate = [new ResourceHook(`${container.name}-healthy`, () => waitForHealth(options, container))];
    const { wait: _, waitTimeout: __, ...others } = props;
    return { props: { ...others, mustRun: true }, opts: { ...opts, hooks: { ...opts.hooks, afterCreate } } };
  });
  return async () => {
    const waits = await Promise.allSettled(all.map((container) => waitForHealth(options, container)));
    const failed = waits.flatMap((wait) => (wait.status === "rejected" ? [(wait.reason as Error).message] : []));
    if (failed.length > 0) throw new RunError(failed.join("\n"));
  };
}

/**
 * Waits until a container is healthy or, if that is enough, until its service is live.
 *
 * @throws {Error} if the container is unhealthy, stays stopped, or the wait times out: one line with the check, its last response and the
 * command to investigate.
 */
export async function waitForHealth(
  { engine, acceptsLive }: HealthWaitOptions,
  { name: containerName, waitTimeout: startWithinSeconds }: Readonly<{ name: string; waitTimeout: number }>,
): Promise<void> {
  const read = async () => {
    const found = state.safeParse((await engine(`/containers/${containerName}/json`)).body).data;
    const status = found?.State.Health?.Status ?? "none";
    const isLive = status !== "healthy" && acceptsLive && (await checkLive(engine, containerName, found));
    return { found, status: isLive ? "healthy" : status, failure: undefined };
  };
  // An engine busy building images may take longer than the request timeout.
  const poll = () => read().catch((error: Error) => ({ found: undefined, status: "none", failure: error.message }));
  let stoppedMs = 0;
  const isFinal = ({ found, status }: Awaited<ReturnType<typeof poll>>) => {
    if (status !== "unhealthy" || found?.State.Status === "running") return ["healthy", "unhealthy"].includes(status);
    stoppedMs += pollMs;
    return stoppedMs > stoppedMaxMs;
  };
  const { found, status, failure } = await waitUntil(poll, isFinal, {
    everyMs: pollMs,
    withinMs: startWithinSeconds * 1_000,
  });
  if (status !== "healthy") throw new Error(describeUnhealthy(containerName, found, failure));
}

/** Checks the liveness of a service whose container health check tests readiness. */
async function checkLive(
  engine: EngineClient,
  containerName: string,
  found: ContainerState | undefined,
): Promise<boolean> {
  const [, ...command] = found?.Config.Healthcheck?.Test ?? [];
  const url = command.at(-1);
  if (url?.endsWith(operatorPaths.ready) !== true) return false;
  const live = url.slice(0, -operatorPaths.ready.length) + operatorPaths.live;
  return (await runInContainer(engine, containerName, [...command.slice(0, -1), live, "0"])) === "";
}

function describeUnhealthy(name: string, found: ContainerState | undefined, failure: string | undefined): string {
  if (failure !== undefined)
    return `the health of ${name} is unknown because the engine is not responding: ${failure}.`;
  const [, ...command] = found?.Config.Healthcheck?.Test ?? [];
  const output = found?.State.Health?.Log?.at(-1)?.Output ?? "";
  const response = output.replaceAll(/\s+/g, " ").trim().slice(0, responseCharactersMax);
  const said = response === "" ? "it has not responded yet" : `last response: ${response}`;
  const isRunning = found === undefined || found.State.Status === "running";
  const what = isRunning ? "is not healthy" : `is ${found.State.Status} and not healthy`;
  return `${name} ${what}; health check \`${command.join(" ")}\`, ${said}. See \`docker logs ${name}\`.`;
}
