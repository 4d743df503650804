import type { Registry } from "prom-client";
import type { z } from "zod";
import { formatFailure } from "#daemon/command-line/start-failure.ts";
import { createActiveFiles } from "#daemon/files/active-files.ts";
import { findUserStateDirectory } from "#daemon/files/user-state-directory.ts";
import { createLog } from "#daemon/log/log.ts";
import { createMetrics } from "#daemon/metrics.ts";
import { createMask } from "#daemon/secrets/mask.ts";
import type { Service } from "#daemon/service.ts";
import type { Environment } from "#daemon/settings/environment.ts";
import { digestSettings } from "#daemon/settings/settings.ts";
import { readWithConstants } from "#daemon/testing/read-with-constants.ts";
import { version } from "#daemon/version.ts";
import { replaceConstants, type ConstantOverrides } from "./constant-overrides.ts";
import type { ServiceProcess } from "./service-process.ts";

export type ServiceInProcess = Pick<ServiceProcess, "urls" | "output"> &
  AsyncDisposable &
  Readonly<{ metrics: Registry }>;

/** Starts a service in this process, which takes a tenth of the command's CPU time, for tests that do not kill it. `output` is its log. */
export async function startInProcess<Schema extends z.ZodObject>(
  { definition, start }: Service<Schema>,
  env: Environment,
  constants: ConstantOverrides = {},
): Promise<ServiceInProcess> {
  const { service } = definition;
  if (env["NODE_OPTIONS"] !== undefined) throw new Error("NODE_OPTIONS is for a process of its own");
  using _replaced = replaceConstants(definition.schema, constants);
  const settings = readWithConstants(definition, env);
  const mask = createMask();
  mask.hide(settings);
  let output = "";
  const { level } = (settings as Readonly<{ log: { level: string } }>).log;
  const log = createLog({ service, level, mask }, { write: (line: string) => void (output += line) });
  const metrics = createMetrics(service);
  const files = createActiveFiles(metrics);
  const settingsSha256 = digestSettings(definition, env);
  await using resources = new AsyncDisposableStack();
  const stop = new AbortController();
  const parts = resources.use(new AsyncDisposableStack());
  resources.defer(() => stop.abort());
  const { urls } = await start(settings, {
    log,
    metrics,
    files,
    configuration: () => ({ service, version, settingsSha256, files: files.list() }),
    mask,
    resources: parts,
    signal: stop.signal,
    userStateDirectory: findUserStateDirectory(process.env),
    finishes: () => undefined,
    yields: () => undefined,
    isHandedOver: false,
    leaves: () => undefined,
  });
  const owned = resources.move();
  return { urls, metrics, output: () => output, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Starts a service that must fail to start, and returns the reasons that its command would print. */
export async function explainStartFailure<Schema extends z.ZodObject>(
  service: Service<Schema>,
  env: Environment,
): Promise<string> {
  try {
    await using _started = await startInProcess(service, env);
  } catch (error) {
    return formatFailure(error).join("\n");
  }
  throw new Error(`the ${service.definition.service} started`);
}
