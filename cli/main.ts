import { maskUncaughtErrors } from "#daemon/process/end-process.ts";
import { createMask } from "#daemon/secrets/mask.ts";
import { createProgram } from "./program.ts";

/** Secrets that this process must not print, for any command. */
const mask = createMask();
maskUncaughtErrors(mask);
await createProgram({ mask }).parseAsync();
