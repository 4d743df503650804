import { z } from "zod";
import { DriverError } from "../upkeep/drivers/driver.ts";
import { kubernetesMessage, type KubernetesApi } from "../upkeep/drivers/kubernetes-api.ts";
import { quantityBytes } from "./plan-growth.ts";

/** A PersistentVolumeClaim: how large it is to be, and is. */
export type VolumeClaim = Readonly<{
  look: (signal: AbortSignal) => Promise<Readonly<{ requestedBytes: number; capacityBytes: number }>>;
  /** Asks for another size; the cluster resizes the volume and its file system while it is in use. */
  resize: (gibibytes: number, signal: AbortSignal) => Promise<void>;
}>;

const quantity = z.string().transform((text, context) => {
  const found = quantityBytes(text);
  if (found !== undefined) return found;
  context.addIssue("expected a quantity");
  return z.NEVER;
});

const claimSchema = z.object({
  spec: z.object({ resources: z.object({ requests: z.object({ storage: quantity }) }) }),
  status: z.object({ capacity: z.object({ storage: quantity }) }),
});

/** The claim of that name, as the pod's own service account may see and patch it. Calls throw {@link DriverError}. */
export function volumeClaim(name: string, api: KubernetesApi): VolumeClaim {
  const path = `/persistentvolumeclaims/${encodeURIComponent(name)}`;
  return {
    look: async (signal) => {
      const response = await api.request("GET", path, signal);
      const parsed = claimSchema.safeParse(response.body);
      if (response.status === 200 && parsed.success) {
        const { spec, status } = parsed.data;
        return { requestedBytes: spec.resources.requests.storage, capacityBytes: status.capacity.storage };
      }
      const found = response.status === 200 ? "it is not bound yet" : kubernetesMessage(response);
      throw new DriverError(`the claim ${name} can't be looked at: ${found}; grant get on it.`);
    },
    resize: async (gibibytes, signal) => {
      const body = { spec: { resources: { requests: { storage: `${gibibytes}Gi` } } } };
      const response = await api.request("PATCH", path, signal, { body });
      if (response.status === 200) return;
      throw new DriverError(
        `the claim ${name} did not grow to ${gibibytes} GiB: ${kubernetesMessage(response)}; grant patch on it, and let its storage class say allowVolumeExpansion: true.`,
      );
    },
  };
}
