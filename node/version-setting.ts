import { z } from "zod";
import { nodeVersionText } from "./versions.ts";

/** Node version as users set it: a semantic version, with or without a leading `v` and with or without a patch number. */
export const nodeVersion = z
  .string()
  .regex(nodeVersionText)
  .meta({ expected: "a version such as 0.16.2, v0.11 or 0.16.0-rc.1" });
