import { z } from "zod";
import { DriverError } from "../upkeep/drivers/driver.ts";
import { readKubernetesMessage, type KubernetesApi } from "../upkeep/drivers/kubernetes-api.ts";

export type VolumeClaim = ReturnType<typeof createVolumeClaim>;

const quantity = z.string().transform((text, context) => {
  const found = parseQuantityBytes(text);
  if (found !== undefined) return found;
  context.addIssue("expected a quantity");
  return z.NEVER;
});

const claimSchema = z.object({
  spec: z.object({ resources: z.object({ requests: z.object({ storage: quantity }) }) }),
  status: z.object({ capacity: z.object({ storage: quantity }) }),
});

/** Creates access to the named claim, with the pod's own service account. Calls throw {@link DriverError}. */
export function createVolumeClaim(name: string, api: KubernetesApi) {
  const path = `/persistentvolumeclaims/${encodeURIComponent(name)}`;
  return {
    readSize: async (signal: AbortSignal) => {
      const response = await api.request("GET", path, signal);
      const parsed = claimSchema.safeParse(response.body);
      if (response.status === 200 && parsed.success) {
        const { spec, status } = parsed.data;
        return { requestedBytes: spec.resources.requests.storage, capacityBytes: status.capacity.storage };
      }
      const found = response.status === 200 ? "it is not bound yet" : readKubernetesMessage(response);
      throw new DriverError(`The claim ${name} can't be read: ${found}; grant get on it.`);
    },
    resize: async (gibibytes: number, signal: AbortSignal): Promise<void> => {
      const body = { spec: { resources: { requests: { storage: `${gibibytes}Gi` } } } };
      const response = await api.request("PATCH", path, signal, { body });
      if (response.status === 200) return;
      throw new DriverError(
        `The claim ${name} could not be expanded to ${gibibytes} GiB: ${readKubernetesMessage(response)}; grant patch on it, and set allowVolumeExpansion: true in its storage class.`,
      );
    },
  };
}

export type VolumeState = Readonly<{
  freeRatio: number;
  requestedBytes: number;
  capacityBytes: number;
  grownMsAgo: number | undefined;
}>;

export type GrowthLimits = Readonly<{
  growBelowFreeRatio: number;
  stepGibibytes: number;
  ceilingGibibytes: number;
  pauseMs: number;
}>;

export type GrowthPlan =
  | Readonly<{ kind: "enough" | "growing" | "at-ceiling" }>
  | Readonly<{ kind: "paused"; forMs: number }>
  | Readonly<{ kind: "grow"; toGibibytes: number }>;

const gibibyte = 2 ** 30;

/** Determines whether a volume grows, and to what size: one step at a time, up to the ceiling, never shrinking. Pure. */
export function planGrowth(volume: VolumeState, limits: GrowthLimits): GrowthPlan {
  if (volume.freeRatio >= limits.growBelowFreeRatio) return { kind: "enough" };
  if (volume.requestedBytes > volume.capacityBytes) return { kind: "growing" };
  const nowGibibytes = Math.ceil(volume.requestedBytes / gibibyte);
  const toGibibytes = Math.min(nowGibibytes + limits.stepGibibytes, limits.ceilingGibibytes);
  if (toGibibytes * gibibyte <= volume.requestedBytes) return { kind: "at-ceiling" };
  const pausedForMs = limits.pauseMs - (volume.grownMsAgo ?? Infinity);
  if (pausedForMs > 0) return { kind: "paused", forMs: pausedForMs };
  return { kind: "grow", toGibibytes };
}

const suffixes: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};

/** Parses a Kubernetes quantity such as `500Gi`, `1T` or `1e12` to bytes; returns undefined if it is invalid. */
export function parseQuantityBytes(text: string): number | undefined {
  const found = /^(\d+(?:\.\d+)?(?:[eE]\d+)?)(|[kMGTP]|[KMGTP]i)$/.exec(text);
  const factor = suffixes[found?.[2] ?? "?"];
  return found === null || factor === undefined ? undefined : Number(found[1]) * factor;
}
