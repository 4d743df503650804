import { z } from "zod";
import type { Recorded } from "./recording-mocks.ts";

const uploads = z.array(z.object({ file: z.string(), content: z.string() }));
const files = z.record(z.string(), z.string());
const secret = z.object({
  metadata: z.object({ name: z.literal("sidecar-live") }),
  // Pulumi marks what a Secret holds.
  stringData: z.union([z.looseObject({ value: files }).transform(({ value }) => value), files]),
});

/** The settings file that a stack gives its sidecar, on Docker by a file delivery and on Kubernetes as a Secret. */
export function readHandedSettings(recorded: readonly Recorded[]): unknown {
  for (const { name, inputs } of recorded) {
    const delivered = name.endsWith("-sidecar-live") ? uploads.safeParse(inputs["uploads"]).data : undefined;
    const text =
      delivered?.find(({ file }) => file.endsWith("/settings.json5"))?.content ??
      secret.safeParse(inputs).data?.stringData["settings.json5"];
    if (text !== undefined) return JSON.parse(text);
  }
  return undefined;
}
