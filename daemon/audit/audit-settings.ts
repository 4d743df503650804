import { z } from "zod";
import { filePath } from "../settings/types.ts";
import { section } from "../settings/settings.ts";

/** Defines the settings of a service's audit log; `where` says what the default of its path is. */
export function auditSettings(where: string) {
  return section({
    path: filePath
      .optional()
      .describe(`File of the audit log, for this service alone, one JSON line a change; default: ${where}`),
    fileBytes: z
      .int()
      .min(65_536)
      .max(1_073_741_824)
      .default(16_777_216)
      .describe("Size from which the audit log's file is put aside as <path>.1, and another begun")
      .meta({ expected: "bytes, a whole number from 65536 to 1073741824" }),
    files: z
      .int()
      .min(2)
      .max(1_000)
      .default(10)
      .describe(
        "Files of the audit log that are kept, with the one that is written; the oldest is deleted for a new one",
      )
      .meta({ expected: "a whole number from 2 to 1000" }),
  });
}

export type AuditSettings = z.output<ReturnType<typeof auditSettings>>;
