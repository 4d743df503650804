import { stat } from "node:fs/promises";
import { join } from "node:path";
import { createDirectory } from "#daemon/files/create-directory.ts";
import { createProcessLock } from "#daemon/files/process-lock.ts";
import { systemClock } from "#daemon/clock.ts";
import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { pause } from "#daemon/time.ts";
import { UpgradeError } from "#sidecar/upgrade/progress.ts";
import { beginUpgrade, findStack, type StackUpgradeOptions } from "./begin-upgrade.ts";
import { createDockerPlatform } from "./docker/docker-platform.ts";
import { createEngine } from "./docker/engine.ts";
import { createKubernetesPlatform } from "./kubernetes/kubernetes-platform.ts";
import { createPodQueries } from "./kubernetes/pod-queries.ts";
import { createStackQueries } from "./node-status.ts";
import { createKubectlCluster, findCurrentContext } from "./kubernetes/kubectl.ts";
import { createPulumiCli, type PulumiCli } from "./pulumi/pulumi-cli.ts";
import { createPulumiProcess, PulumiError } from "./pulumi/pulumi-process.ts";
import {
  findRecordPath,
  readRecord,
  removeRecord,
  writeRecord,
  type StackRecord,
  type StackTarget,
} from "./stack-record.ts";
import { runStackUpgrade } from "./stack-stages.ts";
import { formatContinueCommand, type CommandLocation } from "./stack-commands.ts";
import { describeRecord, formatEnd } from "./stack-plan.ts";
import { urlOnKubernetes } from "./deployed-stack.ts";
import type { StackTask } from "./stack-platform.ts";

function connectStack(prefix: string, target: StackTarget): Pick<StackTask, "platform" | "queries"> {
  if (target.kind === "kubernetes") {
    const cluster = createKubectlCluster(target);
    return { platform: createKubernetesPlatform(prefix, target, cluster), queries: createPodQueries(cluster) };
  }
  return {
    platform: createDockerPlatform(prefix, target, createEngine(target.engine)),
    queries: createStackQueries(target.statusUrl, target.rpcUrl),
  };
}

const defaults = {
  pulumi: (location: CommandLocation): PulumiCli =>
    createPulumiCli(location, { run: createPulumiProcess(location.directory) }),
  connect: connectStack,
  currentContext: (): Promise<string | undefined> => findCurrentContext(),
  clock: systemClock,
  pause,
  // The node must stay healthy for a while, because a crash-looping node responds between crashes.
  proof: { everyMs: 2_000, steadyMs: 30_000 },
};

export type StackUpgradeDependencies = Partial<typeof defaults> &
  Pick<StackTask, "signal" | "rollbackLimits"> &
  Readonly<{ output: CommandOutput }>;

/** Upgrades a stack's node, or resumes that. Returns 0 if the new version is verified (dry run: if the upgrade could start), else 1. */
export async function runStackUpgradeCommand(
  options: StackUpgradeOptions,
  dependencies: StackUpgradeDependencies,
): Promise<number> {
  try {
    return await runStack(options, { ...defaults, ...dependencies });
  } catch (error) {
    if (!(error instanceof UpgradeError)) throw error;
    dependencies.output.error(`upgrade: ${error.message}\n`);
    return exitStatus.error;
  }
}

async function runStack(
  options: StackUpgradeOptions,
  dependencies: StackUpgradeDependencies & typeof defaults,
): Promise<number> {
  const { stack, directory, requested, stateDirectory } = options;
  const path = findRecordPath(directory, stack);
  const known = readRecord(path);
  const noUpgrade = new UpgradeError(`no upgrade of ${stack} is in progress in ${directory}`);
  if (known === undefined && requested === undefined) throw noUpgrade;
  const configFile = await findConfigFile(options, known);
  const pulumi = dependencies.pulumi({ stack: known?.stack ?? stack, directory, configFile });
  const location = known ?? (await findStack(options, { ...dependencies, pulumi }));
  using _lock = lockStack(stateDirectory, location.prefix);
  // Another run that had the lock until now may have started an upgrade or finished this one.
  const currentRecord = readRecord(path);
  if (currentRecord?.id !== known?.id) {
    throw new UpgradeError(
      `another gatehouse upgrade of ${stack} was running; check its outcome, then run the command again`,
    );
  }
  const say = (line: string) => dependencies.output.out(`${line}\n`);
  const connect = (target: StackTarget) => ({
    ...dependencies,
    say,
    pulumi,
    ...dependencies.connect(location.prefix, target),
  });
  if (currentRecord !== undefined) {
    await requireBackend(currentRecord, pulumi);
    const record = resumeRequested(currentRecord, { ...options, configFile });
    return await runSteps(record, path, true, connect(record.target));
  }
  if (requested === undefined) throw noUpgrade;
  const work = connect(location.target);
  const record = await beginUpgrade(location, { ...options, requested, configFile }, work);
  return typeof record === "number" ? record : await runSteps(record, path, false, work);
}

/**
 * Another backend may have a stack of the same name. If Pulumi can't be run, that is not an error, because starting the node doesn't need
 * it.
 */
async function requireBackend(known: StackRecord, pulumi: PulumiCli): Promise<void> {
  const backend = await pulumi.readBackend().catch((error: unknown) => {
    if (error instanceof PulumiError) return known.backend;
    throw error;
  });
  if (backend === known.backend) return;
  throw new UpgradeError(
    `${describeRecord(known)}; it was started with the backend ${known.backend}, but Pulumi is logged in to ${backend}: log in to the former (pulumi login)`,
  );
}

/** Only the same request or --continue resumes an upgrade; time limits and the sidecar's URL may change. */
function resumeRequested(
  known: StackRecord,
  options: StackUpgradeOptions & Readonly<{ configFile: string }>,
): StackRecord {
  const { stack, directory, configFile, requested, dryRun, statusUrl } = options;
  const record = { ...known, directory, configFile, limits: { ...known.limits, ...options.limits } };
  const isSame = requested === undefined || requested.image === known.to.image;
  // A name without an organization means Pulumi's default one.
  const isSameStack = stack === known.stack || !stack.includes("/") || !known.stack.includes("/");
  if (!isSame || dryRun || !isSameStack) {
    throw new UpgradeError(`${describeRecord(known)}; continue it: ${formatContinueCommand(record)}`);
  }
  if (statusUrl === undefined) return record;
  if (known.target.kind === "kubernetes") throw new UpgradeError(urlOnKubernetes);
  return { ...record, target: { ...known.target, statusUrl } };
}

/** @throws {UpgradeError} if another of this user's processes holds the lock, or the file can't be locked. */
function lockStack(stateDirectory: string, prefix: string): Disposable {
  const path = join(stateDirectory, `stack-upgrade-${prefix}.lock`);
  try {
    createDirectory(stateDirectory);
  } catch (cause) {
    throw new UpgradeError(`${stateDirectory} can't be created (${(cause as Error).message})`, "failed", { cause });
  }
  const lock = createProcessLock(path, prefix);
  const taken = lock.acquire();
  if (taken.ok) return lock;
  if (taken.reason === "Locked") throw new UpgradeError(`another gatehouse upgrade of ${prefix} is running`);
  throw new UpgradeError(`${path} can't be locked; make it and its directory writable for this user`);
}

/** @throws {UpgradeError} if there is no such file. */
async function findConfigFile(
  { stack, directory, configFile }: Pick<StackUpgradeOptions, "stack" | "directory" | "configFile">,
  known: StackRecord | undefined,
): Promise<string> {
  const path = configFile ?? known?.configFile ?? join(directory, `Pulumi.${stack.split("/").at(-1) ?? stack}.yaml`);
  if ((await stat(path).catch(() => undefined))?.isFile() === true) return path;
  throw new UpgradeError(
    `${path} is not a readable file; specify it by --config-file, or the program's directory by --cwd`,
  );
}

async function runSteps(
  startedRecord: StackRecord,
  path: string,
  isResumed: boolean,
  { output, ...work }: StackTask & Readonly<{ output: CommandOutput }>,
): Promise<number> {
  if (isResumed) work.say(`Resuming ${describeRecord(startedRecord)}.`);
  const remember = (record: StackRecord) => writeRecord(path, record);
  const { record, waits } = await runStackUpgrade(startedRecord, { isResumed, remember }, work);
  if (waits !== undefined) {
    output.error(`upgrade: not finished: ${waits}\nThe node may be down. Continue: ${formatContinueCommand(record)}\n`);
    return exitStatus.error;
  }
  if (record.end !== "stranded") await removeRecord(path);
  const isVerified = record.end === "committed";
  (isVerified ? output.out : output.error)(`${formatEnd(record, work.platform)}\n`);
  return isVerified ? exitStatus.clean : exitStatus.error;
}
