import { z } from "zod";
import { StartupError } from "#daemon/process/startup-error.ts";
import { watchFile, type FileReading, type WatchedFileDependencies } from "#daemon/files/watched-file.ts";
import { describeFileIssues } from "#daemon/settings/describe-issue.ts";
import {
  buildAddedMethod,
  createCatalogue,
  selectServed,
  type Catalogue,
  type ServedMethods,
} from "./catalogue/catalogue.ts";
import type { ListenerName, Method } from "./catalogue/method.ts";
import { formatOpenRpcDocuments } from "./catalogue/openrpc.ts";
import { type PolicySettings, type Tier, policyFields } from "./settings/policy.ts";
import type { SettingNames } from "./settings/names.ts";

/** Basis for every decision that the gateway makes. Replaced as a whole when settings change; a call keeps the policy that it started with. */
export type Policy = Readonly<{
  settings: PolicySettings;
  catalogue: Catalogue;
  served: ServedMethods;
  tiers: ReadonlyMap<string, Tier>;
  openRpc: (listener: ListenerName) => string;
}>;

/** Returns the active policy; read it once per call. */
export type PolicySource = () => Policy;

export function createPolicy(settings: PolicySettings): Policy {
  const catalogue = createCatalogue(settings.methods);
  const served = selectServed(catalogue);
  const tiers = new Map(Object.entries(settings.tiers));
  return { settings, catalogue, served, tiers, openRpc: formatOpenRpcDocuments(served) };
}

/** Limits of a caller whose tier no longer exists: the strictest with which it still gets an error that says so. */
const fallbackTier: Tier = {
  requestsPerSecond: 1,
  requestBurst: 1,
  computeUnitsPerSecond: 10,
  computeUnitBurst: 10,
  concurrency: 1,
  webSockets: 0,
  subscriptions: 0,
};

export function findTier({ tiers }: Policy, { tierName }: Readonly<{ tierName: string }>): Tier {
  return tiers.get(tierName) ?? fallbackTier;
}

const unlistedMethod = /^[a-zA-Z][\w.]{0,63}$/;
/** Methods that make the node trace; their limits and costs come only from the catalogue. */
const tracingMethod = /^(?:debug_trace|trace_)/;

/** Returns the method with this name if a caller in this tier may call it on this listener, otherwise undefined. */
export function findMethod(policy: Policy, tier: Tier, name: string, listener: ListenerName): Method | undefined {
  const method = policy.served[listener].get(name);
  if (method === undefined) {
    const forward =
      !policy.catalogue.has(name) && listener !== "public" && policy.settings.unknownMethods[listener] === "forward";
    if (!forward || !unlistedMethod.test(name) || tracingMethod.test(name)) return undefined;
    return buildAddedMethod(name);
  }
  return tier.methods === undefined || tier.methods.includes(name) ? method : undefined;
}

/**
 * Matches JSON text (as a binary string) that may specify gas: such a key, an escape, which may encode one, or an array in an array,
 * because nodes written in Rust also accept an object as an array of its values.
 */
const gasKey = /"ga(?:s|\xc5\xbf)(?:limit)?"|\\|[[,]\s*\[/i;

/** Whether parameters, as JSON text, may specify gas: few calls do. */
export function maySpecifyGas(params: string): boolean {
  return gasKey.test(params);
}

/** Whether a method's limit may apply to these parameters; a plain call that specifies no gas is not limited. */
export function isLimited({ limit }: Method, params: string): boolean {
  if (limit?.kind === "gas" && limit.isRepeated !== true) return maySpecifyGas(params);
  return limit !== undefined;
}

/**
 * Whether calls to a method that cost this much are batched with similar calls on the way to the node: this applies to methods that are
 * repeatable and not heavy. A node may process a batch sequentially, so heavy calls would wait for each other.
 */
export function isBatchable({ settings }: Policy, { repeatable }: Method, costUnits: number): boolean {
  return repeatable && costUnits < settings.overload.heavyCostUnits;
}

/** Returns the max blocks that one eth_getLogs call in this tier may cover (specification, Limits). */
export function findLogsCap({ settings }: Policy, tier: Tier): number {
  if (!settings.rateLimit.enabled) return settings.ranges.logsFallbackBlocks;
  return tier.logsBlocks ?? settings.ranges.logsBlocks;
}

/** Returns the max blocks that one trace_filter call in this tier may cover (specification, Limits). */
export function findTraceCap({ settings }: Policy, tier: Tier): number {
  return tier.traceBlocks ?? settings.ranges.traceBlocks;
}

export type LivePolicy = AsyncDisposable & Readonly<{ current: PolicySource }>;

/** The policy's settings, the file that changes them, and the tiers that listeners assign to all their callers. */
export type LivePolicySettings = PolicySettings &
  Readonly<{
    policyPath?: string | undefined;
    public: Readonly<{ enabled: boolean }>;
    internal: Readonly<{ enabled: boolean }>;
  }>;

/** Any of the policy's sections. Keys omitted in a section get their defaults; sections omitted in the file come from the settings. */
const fileSchema = z.strictObject(policyFields).partial();

/**
 * Starts the policy from the settings and from the hot-reloaded file, if there is one.
 *
 * @throws {StartupError} when the file can't be used at startup, or a listener refers to an unknown tier.
 */
export async function startLivePolicy(
  settings: LivePolicySettings,
  { settingNames, ...dependencies }: WatchedFileDependencies & Readonly<{ settingNames: SettingNames }>,
): Promise<LivePolicy> {
  const { policyPath } = settings;
  const state: { policy: Policy } = { policy: createPolicy(settings) };
  const missingTier = findMissingTier(state.policy, settings, settingNames);
  if (missingTier !== undefined && policyPath === undefined) throw new StartupError(missingTier);
  const current = () => state.policy;
  if (policyPath === undefined) return { current, [Symbol.asyncDispose]: async () => undefined };
  const read = (content: unknown): FileReading<Policy> => {
    const fileResult = readPolicyFile(content, settings);
    const problem = fileResult.ok ? findMissingTier(fileResult.value, settings, settingNames) : undefined;
    return problem === undefined ? fileResult : { ok: false, problems: [problem] };
  };
  const apply = (policy: Policy) => void (state.policy = policy);
  const file = { path: policyPath, setting: settingNames.key("policyPath"), read, apply };
  return { current, ...(await watchFile(file, dependencies)) };
}

/**
 * Describes a listener whose tier is missing, or returns undefined. A listener that identifies no caller uses the tier of its own name.
 */
function findMissingTier({ tiers }: Policy, settings: LivePolicySettings, { key }: SettingNames): string | undefined {
  for (const listener of ["public", "internal"] as const) {
    if (!settings[listener].enabled || tiers.has(listener)) continue;
    return `${key("tiers")} has no tier ${listener}, which the ${listener} listener needs; add it, or set ${key(`${listener}.enabled`)} to false.`;
  }
  return undefined;
}

function readPolicyFile(content: unknown, base: PolicySettings): FileReading<Policy> {
  if (typeof content !== "object" || content === null) {
    return { ok: false, problems: ["expected one object with sections of the policy."] };
  }
  const parsed = fileSchema.safeParse(content);
  if (!parsed.success) return { ok: false, problems: describeFileIssues(parsed.error.issues) };
  const given = Object.entries(parsed.data).filter(([name]) => Object.hasOwn(content, name));
  return { ok: true, value: createPolicy({ ...base, ...Object.fromEntries(given) }) };
}
