import { z } from "zod";
import type { Recorded } from "./recording-mocks.ts";

const uploads = z.tuple([z.object({ content: z.string() })]);
const files = z.record(z.string(), z.string());
const secret = z.object({
  metadata: z.object({ name: z.string() }),
  // Pulumi marks a Secret's content.
  stringData: z.union([z.looseObject({ value: files }).transform(({ value }) => value), files]),
});

/** Reads the settings file that a stack passes to a service: on Docker from a file delivery, on Kubernetes from a Secret. */
export function readHotRestartSettings(recorded: readonly Recorded[], service = "sidecar"): unknown {
  for (const { name, inputs } of recorded) {
    if (!name.endsWith(`-${service}-live`)) continue;
    const [delivered] = uploads.safeParse(inputs["uploads"]).data ?? [];
    const text =
      (delivered && files.parse(JSON.parse(delivered.content))["settings.json5"]) ??
      secret.safeParse(inputs).data?.stringData["settings.json5"];
    if (text !== undefined) return JSON.parse(text);
  }
  return undefined;
}
